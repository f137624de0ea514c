"""How long a grid will take."""

from __future__ import annotations

from pathlib import Path

import pytest

from giveway.cli.gaps_plan import EXPERIMENTS
from giveway.gaps import estimate as module
from giveway.gaps.cells import cells_of
from giveway.gaps.estimate import PUBLISHED_SIZES, Estimate, FamilyCost, estimate
from giveway.gaps.presets import preset
from giveway.gaps.sources import Source
from giveway.models.protocol import FitCost


def published_cells(*names: str, profile: str = "clean"):
    cells = []
    for name in names:
        spec = preset(name, profile=profile)
        sources = {a: Source(dataset=a, root=Path(), data="", is_synthetic=False) for a in spec.adapters()}
        cells += cells_of(spec, sources)
    return cells


@pytest.fixture
def uncalibrated(monkeypatch: pytest.MonkeyPatch) -> None:
    """One millisecond per sample and step for everybody, and no generated recordings."""
    monkeypatch.setattr(module, "_measure", lambda recipe, samples: FitCost(fixed_s=0.0, per_step_s=0.001))
    monkeypatch.setattr(module._Bench, "samples", lambda self, dataset, t0: None)
    monkeypatch.setattr(module._Bench, "_calibration", lambda self, dataset: None)


@pytest.mark.parametrize(("profile", "conditional"), [("clean", 330), ("paper", 30)])
def test_the_second_experiment_has_the_published_number_of_fits(uncalibrated, profile, conditional):
    found = {f.name: f.fits for f in estimate(published_cells("experiment-2", profile=profile)).families}
    assert found["T++"] == 396
    assert found["T++ (conditional paths)"] == conditional


def test_the_published_grids_have_2816_cognitive_fits(uncalibrated):
    found = {f.name: f.fits for f in estimate(published_cells(*EXPERIMENTS)).families}
    assert found["CM"] == 2816


def test_costs_follow_the_published_sample_counts(uncalibrated):
    cells = [
        c for c in published_cells("experiment-3") if c.params["dataset"] == "lgap" and c.params["t0"] == "constant"
    ]
    (cognitive,) = (f for f in estimate(cells).families if f.name == "CM")
    num = sum(PUBLISHED_SIZES["lgap", "constant"])
    assert cognitive.longest_s == pytest.approx(0.8 * num * module.STEPS_IF_UNKNOWN * 0.001)


def test_more_workers_help_until_the_longest_fit():
    made = Estimate(
        cells=4, families=(FamilyCost(name="CM", fits=4, seconds=400.0, longest_s=150.0),), calibration_s=1.0
    )
    assert (made.seconds(1), made.seconds(2), made.seconds(100)) == (400.0, 200.0, 150.0)
