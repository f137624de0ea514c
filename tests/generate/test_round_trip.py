"""What ``generate`` finds happens again, tick for tick and with the same verdict, when ``drive`` drives the case."""

from pathlib import Path

import numpy as np
import pytest

import giveway
from giveway.generate.failures import stored_campaigns, stored_failures


@pytest.mark.parametrize(
    ("road", "planner", "budget"),
    [("straight", "idm", 60), ("straight", "lattice-2", 60), ("merge", "lattice-2", 60), ("merge", "default", 160)],
)
def test_every_failure_happens_again_tick_for_tick(tmp_path: Path, road: str, planner: str, budget: int) -> None:
    found = giveway.find_failures(
        tmp_path / "found",
        planner=planner,
        road=road,
        budget=budget,
        driver="cut_in",
        engine=giveway.LocalEngine(workers=0),
    )
    (campaign,) = stored_campaigns(tmp_path / "found")
    failures = {f.id: f for f in stored_failures(tmp_path / "found", campaign) if f.result.outcome == "collision"}
    assert len(failures) >= 3, "too few collisions to say anything"
    again = giveway.run_drive(
        out=tmp_path / "again",
        cases=found.cases(outcome="collision"),
        predictors=["constant_velocity"],
        planner=planner,
        engine=giveway.LocalEngine(workers=0),
    )
    for name, failure in failures.items():
        log = again.log(case=name, predictor="constant_velocity")
        ticks = failure.tracks.num_instants
        for car in ("ego", failure.result.other):
            was, now = failure.tracks.index_of(car), log.tracks.index_of(car)
            assert np.array_equal(log.tracks.xy[now, :ticks], failure.tracks.xy[was]), f"{name}: {car} drives elsewhere"
        hits = [c for c in log.collisions if "ego" in (c.first, c.second)]
        assert hits and abs(hits[0].start_tick - (ticks - 1)) <= 1, f"{name}: no contact where there was one"
        (hit,) = [c for c in hits if c.second == failure.result.other][:1]
        said = failure.result.grade, failure.result.violators, failure.result.conflict, failure.result.avoidable
        assert (str(hit.grade), hit.violators, hit.conflict, hit.avoidable) == said, f"{name}: another verdict"
