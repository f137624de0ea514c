from __future__ import annotations

import numpy as np
import pytest

from giveway.core.seeds import stream
from giveway.roads.library.crossing import crossing_road
from giveway.roads.library.shapes import arc, line
from giveway.synth import traffic
from giveway.synth._traffic_kernel import run_traffic
from giveway.synth.humans import Population
from giveway.synth.network import Network, road_network
from giveway.synth.paths import smooth_path
from giveway.synth.traffic import Fleet, draw_fleet, simulate

PEOPLE = Population(critical_gap_s=3.0, between=0.2, within=0.3)


@pytest.fixture(scope="module")
def crossing() -> Network:
    """A road along x with priority and one along y that gives way."""
    return road_network(crossing_road(limit_mps=11.0, yielding_limit_mps=9.0, stop_m=5.0))


def fleet(count: int, seed: int = 0) -> Fleet:
    rng = stream(seed, "fleet")
    return draw_fleet(
        rng,
        path=np.arange(count) % 2,
        enter_s=np.cumsum(rng.standard_exponential(count) * 1.5),
        length_m=np.full(count, 4.5),
        width_m=np.full(count, 1.8),
    )


def test_the_zone_of_a_crossing_is_where_the_paths_are_near(crossing: Network) -> None:
    assert crossing.gives_way.tolist() == [[False, False], [True, False]]
    assert not crossing.merges.any()
    assert crossing.zone_in[1, 0] == pytest.approx(57.5, abs=0.5)
    assert crossing.zone_out[1, 0] == pytest.approx(62.5, abs=0.5)
    assert crossing.other_in[1, 0] == pytest.approx(57.5, abs=0.5)


def test_compiled_and_plain_runs_are_the_same(crossing: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = simulate(crossing, fleet(10), PEOPLE, stream(0, "run"), steps=300, dt_s=0.05)
    monkeypatch.setattr(traffic, "run_traffic", run_traffic.py_func)
    plain = simulate(crossing, fleet(10), PEOPLE, stream(0, "run"), steps=300, dt_s=0.05)
    for name in ("vehicle", "step", "s_m", "v_mps", "a_mps2"):
        np.testing.assert_allclose(getattr(compiled[0], name), getattr(plain[0], name), atol=1e-9)
    np.testing.assert_array_equal(compiled[1].accepted, plain[1].accepted)


def test_speeds_are_not_negative_and_jerk_is_limited(crossing: Network) -> None:
    motion, _ = simulate(crossing, fleet(60), PEOPLE, stream(1, "run"), steps=2000, dt_s=0.05)
    same = (np.diff(motion.vehicle) == 0) & (motion.v_mps[1:] > 0)
    jerk = np.diff(motion.a_mps2)[same] / 0.05
    assert motion.v_mps.min() >= 0
    assert jerk.min() >= -9.001 and jerk.max() <= 4.001


def test_whoever_accepts_enters_before_the_other_and_whoever_rejects_after(crossing: Network) -> None:
    cars = fleet(60)
    motion, decisions = simulate(crossing, cars, PEOPLE, stream(1, "run"), steps=2000, dt_s=0.05)
    last = {
        (int(t), int(e)): bool(a) for t, e, a in zip(decisions.target, decisions.ego, decisions.accepted, strict=True)
    }

    def enters(vehicle: int, position: float) -> float:
        rows = motion.vehicle == vehicle
        front = motion.s_m[rows] + cars.length_m[vehicle] / 2
        return float(motion.step[rows][np.argmax(front > position)]) * 0.05 if (front > position).any() else np.inf

    outcomes = [(enters(t, 57.5) < enters(e, 57.5), taken) for (t, e), taken in last.items()]
    assert {taken for _, taken in outcomes} == {True, False}
    assert np.mean([first == taken for first, taken in outcomes]) > 0.9


def test_an_impossible_gap_has_no_chance(crossing: Network) -> None:
    _, decisions = simulate(crossing, fleet(60), PEOPLE, stream(1, "run"), steps=2000, dt_s=0.05)
    assert not decisions.accepted[decisions.probability == 0].any()
    assert (decisions.probability[decisions.gap_s < 1.5] == 0).all()


def test_paths_have_continuous_curvature_and_true_headings() -> None:
    path = smooth_path(
        line((-20.0, 0.0), (0.0, 0.0)),
        arc(8.0, -np.pi / 2, 0.0, spacing_m=0.1) + np.array([0.0, 8.0]),
        line((8.0, 8.0), (8.0, 30.0)),
    )
    assert np.abs(np.diff(path.curvature)).max() < 0.01
    assert path.curvature.max() == pytest.approx(1 / 8, rel=0.1)
    step = np.diff(path.xy, axis=0)
    middle = (path.heading[1:] + path.heading[:-1]) / 2
    assert np.abs(np.arctan2(step[:, 1], step[:, 0]) - middle).max() < 0.01
    assert np.hypot(*step.T) == pytest.approx(0.1, abs=1e-3)
