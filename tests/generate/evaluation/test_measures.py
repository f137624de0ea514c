import math
from dataclasses import replace

import numpy as np
import pytest

from giveway.core.errors import DataError
from giveway.experiments.files import plain
from giveway.generate.evaluation.results import TestResult as Result
from giveway.generate.evaluation.results import failure_kind, result_from
from giveway.generate.protocol import Outcome
from giveway.metrics import measure_campaign, metrics_of
from giveway.metrics.failures import pair_distance
from giveway.metrics.failures import tests_until as until
from giveway.testing.worlds import car, tracks_of


def straight_tracks(starts, *, speed_mps, instants, ids):
    """Cars that drive along +x from the given places."""
    movers = [car([(x, y), (x + 1000.0, y)], speed_mps) for x, y in starts]
    return replace(tracks_of(*movers, duration_s=0.1 * (instants - 1)), ids=np.array(ids))


def result(number=0, *, failed=False, grade="", avoidable=False, **more):
    values = {
        "number": number,
        "genes": (0.1 * number, 0.5),
        "scene": {"road": "straight"},
        "outcome": "collision" if failed else "time_out",
        "grade": grade,
        "violators": ("ego",) if grade == "A" else (),
        "conflict": "longitudinal" if failed else "",
        "sentence": "",
        "failed": failed,
        "avoidable": avoidable,
        "avoidable_plus": avoidable,
        "near_miss": False,
        "other": "car1" if failed else "",
        "kind": "front-braking-8" if failed else "",
        "finding": "",
        "steps": 100,
        "min_ttc_s": math.inf,
        "min_escape_ratio": 1.0,
        "impact_speed_mps": 4.0 if failed else math.nan,
        "infeasible_share": 0.01,
        "off_road_share": 0.0,
        "responsibility_per_100_s": 2.0,
    }
    return Result(**{**values, **more})


COUNTS = {"failed": True, "grade": "A", "avoidable": True}


def test_rates_are_shares_of_all_tests():
    found = measure_campaign(
        [
            result(0, **COUNTS),
            result(1, failed=True, grade="A"),
            result(2, failed=True, grade="D"),
            result(3),
            result(4, near_miss=True, grade="near miss", min_ttc_s=0.4),
        ]
    )
    assert found["violation_rate"] == 0.6
    assert found["at_fault_rate"] == 0.4
    assert found["grade_a_avoidable_rate"] == found["grade_d_rate"] == 0.2
    assert found["grade_b_rate"] == found["grade_c_rate"] == 0.0
    assert found["avoidable_rate"] == 0.2
    assert found["avoidable_share"] == pytest.approx(1 / 3)
    assert found["steps_per_failure"] == 500
    assert found["near_miss_rate"] == 0.2
    assert found["min_ttc_s"] == 0.4


def test_avoidable_failures_of_grade_a_b_and_c_count():
    assert [g for g in "ABCD" if result(failed=True, grade=g, avoidable=True).counts] == ["A", "B", "C"]
    assert not any(result(failed=True, grade=g).counts for g in "ABCD")


def test_a_test_of_an_earlier_release_gets_a_sentence():
    with pytest.raises(DataError, match="judged by the rules of an earlier release"):
        result_from({"genes": [0.5], "fault": "ego_front", "min_ttc_s": None})


def test_top_10_counts_tests_until_the_tenth():
    results = [result(n, **(COUNTS if n % 2 else {"failed": True})) for n in range(25)]
    assert (measure_campaign(results)["top_10"], measure_campaign(results)["top_10_any"]) == (20, 10)
    assert until([r.counts for r in results], 3) == 6
    assert math.isnan(measure_campaign(results[:15])["top_10"])


def test_every_measure_is_a_registered_metric_of_campaigns():
    found = measure_campaign([result(n, **COUNTS) for n in range(3)])
    assert list(found) == [metric.info.heading for metric in metrics_of("campaign")]
    assert all(
        low <= found[m.info.heading] <= high or math.isnan(found[m.info.heading])
        for m in metrics_of("campaign")
        for low, high in [m.info.range]
    )


def test_parameter_distance_equals_the_loop_over_pairs():
    rng = np.random.default_rng(0)
    everything = rng.random((30, 4)) * [1, 2, 3, 0]
    chosen = everything[:12]
    span = np.array([np.ptp(everything[:, c]) or 1.0 for c in range(4)])
    pairs = [np.abs((a - b) / span).mean() for i, a in enumerate(chosen) for b in chosen[i + 1 :]]
    assert pair_distance(chosen, everything) == pytest.approx(np.mean(pairs))
    assert math.isnan(pair_distance(chosen[:1], everything))


def test_a_run_without_failures_has_rates_of_zero_and_no_share():
    found = measure_campaign([result(n) for n in range(3)])
    assert found["violation_rate"] == 0
    assert math.isnan(found["avoidable_share"])
    assert found["archive_cells"] == 0
    assert found["infeasible_share"] == pytest.approx(0.01)


def test_danger_grows_towards_failures_that_count():
    calm, close = result(min_ttc_s=5.0), result(min_ttc_s=1.0)
    assert 0 < calm.danger < close.danger < result(near_miss=True).danger < result(**COUNTS).danger == 1.0
    assert result().danger == 0.0


def test_a_result_survives_its_way_through_a_record():
    from dataclasses import asdict

    before = result(3, **COUNTS)
    after = result_from(plain(asdict(before)))
    assert after == before
    never = result_from(plain(asdict(result())))
    assert never.min_ttc_s == math.inf
    assert math.isnan(never.impact_speed_mps)


@pytest.mark.parametrize(
    ("offset", "side"), [((4.6, 0.0), "front"), ((-4.6, 0.0), "rear"), ((0.0, 1.9), "left"), ((0.0, -1.9), "right")]
)
def test_the_kind_of_a_failure_names_side_manoeuvre_and_speed_band(offset, side):
    tracks = straight_tracks([(0.0, 0.0), offset], speed_mps=9.0, instants=41, ids=("ego", "car1"))
    assert failure_kind(tracks, Outcome.COLLISION, "car1") == f"{side}-steady-8"


def test_braking_and_changing_lanes_are_told_apart():
    tracks = straight_tracks([(0.0, 0.0), (10.0, 0.0)], speed_mps=9.0, instants=41, ids=("ego", "car1"))
    tracks.velocity[1, :, 0] = np.linspace(12.0, 0.0, 41)
    assert failure_kind(tracks, Outcome.COLLISION, "car1") == "front-braking-8"
    tracks.xy[1, :, 1] = np.linspace(3.5, 0.0, 41)
    assert failure_kind(tracks, Outcome.COLLISION, "car1") == "front-change_right-8"
    assert failure_kind(tracks, Outcome.EGO_OFF_ROAD, "") == "off_road-none-8"
