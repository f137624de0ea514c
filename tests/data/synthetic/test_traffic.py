"""People in the simulator: a demand on a road of the library."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from giveway.core.seeds import stream
from giveway.roads.library.crossing import crossing_road
from giveway.roads.library.four_way import TURNS, four_way_road
from giveway.roads.library.motorway import motorway_road
from giveway.roads.routes import poses_along
from giveway.sim.drivers import human
from giveway.sim.drivers.people import Population
from giveway.sim.drivers.route_areas import YIELDS
from giveway.synth.contact import touching
from giveway.synth.road_users import between
from giveway.synth.traffic import Fleet, Habits, Motion, Place, draw_fleet, place_of, simulate

PEOPLE = Population(critical_gap_s=3.0, between=0.2, within=0.3)
ENTERS_M = 58.6
"""Where a corridor of 2.8 m begins to cross another one, 60 m from the start."""


@pytest.fixture(scope="module")
def crossing() -> Place:
    """A road along x with priority and one along y that gives way."""
    return place_of(crossing_road(limit_mps=11.0, yielding_limit_mps=9.0, stop_m=5.0))


def fleet(count: int, seed: int = 0, routes: int = 2, every_s: float = 1.5) -> Fleet:
    rng = stream(seed, "fleet")
    return draw_fleet(
        rng,
        route=np.arange(count) % routes,
        enter_s=np.cumsum(rng.standard_exponential(count) * every_s),
        length_m=np.full(count, 4.5),
        width_m=np.full(count, 1.8),
    )


def of_vehicle(motion: Motion, vehicle: int) -> slice:
    return slice(*np.searchsorted(motion.vehicle, [vehicle, vehicle + 1]))


def test_the_area_of_a_crossing_is_where_corridors_overlap(crossing: Place) -> None:
    areas = crossing.areas
    assert areas.num_rows.tolist() == [[0, 1], [1, 0]]
    row = int(areas.first[1, 0])
    assert areas.rank[row] == YIELDS and areas.rank[areas.first[0, 1]] == -YIELDS
    assert not areas.merging.any()
    assert areas.span[row] == pytest.approx([58.6, 61.4, 58.6, 61.4], abs=0.01)
    assert areas.line.tolist() == pytest.approx([np.inf, 55.0])


def test_compiled_and_plain_decisions_are_the_same(crossing: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    from giveway.synth import traffic

    compiled = simulate(crossing, fleet(6), PEOPLE, stream(0, "run"), ticks=150)
    for name in ("_admit", "_give_way"):
        monkeypatch.setattr(human, name, getattr(human, name).py_func)
    monkeypatch.setattr(traffic, "decide_humans", human.decide_humans.py_func)
    monkeypatch.setattr(traffic, "run_humans", traffic.run_humans.py_func)
    plain = simulate(crossing, fleet(6), PEOPLE, stream(0, "run"), ticks=150)
    for name in ("vehicle", "tick", "s_m", "v_mps", "xy", "heading"):
        np.testing.assert_allclose(getattr(compiled[0], name), getattr(plain[0], name), atol=1e-9)
    np.testing.assert_array_equal(compiled[1].accepted, plain[1].accepted)
    assert compiled[1].accepted.size > 0


def test_speeds_are_not_negative_jerk_is_limited_and_nobody_jumps(crossing: Place) -> None:
    motion, _ = simulate(crossing, fleet(60), PEOPLE, stream(1, "run"), ticks=1000)
    assert motion.v_mps.min() >= 0
    for vehicle in np.unique(motion.vehicle).tolist():
        rows = of_vehicle(motion, vehicle)
        assert (np.diff(motion.tick[rows]) == 1).all()
        v = motion.v_mps[rows]
        np.testing.assert_allclose(np.diff(motion.s_m[rows]), (v[1:] + v[:-1]) / 20, atol=1e-9)
        accel = np.diff(v) / 0.1
        moves = (v[2:] > 0) & (v[1:-1] > 0)
        jerk = np.diff(accel)[moves] / 0.1
        assert jerk.min(initial=0.0) >= -9.001 and jerk.max(initial=0.0) <= 4.001


def test_whoever_accepts_enters_before_the_other_and_whoever_rejects_after(crossing: Place) -> None:
    cars = fleet(60)
    motion, decisions = simulate(crossing, cars, PEOPLE, stream(1, "run"), ticks=1000)
    pairs = zip(decisions.target, decisions.priority_car, decisions.accepted, strict=True)
    last = {(int(t), int(e)): bool(taken) for t, e, taken in pairs}

    def enters(vehicle: int) -> float:
        rows = of_vehicle(motion, vehicle)
        front = motion.s_m[rows] + cars.length_m[vehicle] / 2
        return float(motion.tick[rows][np.argmax(front > ENTERS_M)]) if (front > ENTERS_M).any() else np.inf

    outcomes = [(enters(t) < enters(e), taken) for (t, e), taken in last.items()]
    assert {taken for _, taken in outcomes} == {True, False}
    assert np.mean([first == taken for first, taken in outcomes]) > 0.9


def test_an_impossible_gap_has_no_chance(crossing: Place) -> None:
    _, decisions = simulate(crossing, fleet(60), PEOPLE, stream(1, "run"), ticks=1000)
    assert not decisions.accepted[decisions.probability == 0].any()
    assert (decisions.probability[decisions.gap_s < 1.5] == 0).all()


def test_bold_and_patient_people_take_different_gaps(crossing: Place) -> None:
    def accepted(boldness: float) -> float:
        cars = replace(fleet(120), boldness=np.full(120, boldness))
        return float(simulate(crossing, cars, PEOPLE, stream(1, "run"), ticks=2000)[1].accepted.mean())

    assert accepted(-2.0) < accepted(2.0) - 0.05


def test_all_turns_of_a_crossing_come_through_without_contact() -> None:
    place = place_of(four_way_road(yielding=(0, 2), arm_m=85.0, mouth_m=8.0))
    cars = fleet(120, seed=3, routes=12, every_s=3.0)
    motion, _ = simulate(place, cars, PEOPLE, stream(3, "run"), ticks=4500)
    assert len(place.paths) == 4 * len(TURNS)
    assert not touching(
        frame=motion.tick,
        xy=motion.xy,
        heading=motion.heading,
        size=np.stack([cars.length_m, cars.width_m], axis=1)[motion.vehicle],
    )
    ends = [motion.s_m[of_vehicle(motion, v)][-1] for v in range(120)]
    lengths = [place.paths[route].length_m for route in cars.route]
    assert (np.array(lengths) - ends < 3.0).all()


def test_people_who_are_held_up_overtake_on_the_left() -> None:
    place = place_of(motorway_road(2, length_m=700.0, lane_width_m=3.9, limit_mps=70.0), side_by_side=True)
    cars = replace(
        fleet(2, routes=1),
        enter_s=np.array([0.0, 4.0]),
        desired_mps=np.array([20.0, 32.0]),
        overtakes=np.array([False, True]),
    )
    people = Population(critical_gap_s=8.0, between=0.3, within=0.35)
    motion, decisions = simulate(place, cars, people, stream(0, "run"), ticks=400, habits=Habits(headway_s=0.9))
    slow, fast = (motion.xy[of_vehicle(motion, v)] for v in (0, 1))
    assert decisions.target.size == 0  # nobody comes from behind
    assert np.abs(slow[:, 1]).max() < 1e-6
    assert fast[-1, 1] == pytest.approx(3.9, abs=0.05) and np.abs(fast[:, 1]).max() < 4.1
    step = np.hypot(*np.diff(fast, axis=0).T)
    assert step == pytest.approx(
        (motion.v_mps[of_vehicle(motion, 1)][1:] + motion.v_mps[of_vehicle(motion, 1)][:-1]) / 20, abs=2e-3
    )


def test_motion_between_ticks_is_that_of_the_simulator(crossing: Place) -> None:
    motion, _ = simulate(crossing, fleet(4), PEOPLE, stream(0, "run"), ticks=300)
    rows = of_vehicle(motion, 1)
    s, v = motion.s_m[rows], motion.v_mps[rows]
    ticks = np.array([3.0, 3.25, 3.5, 4.0])
    where, speed, _ = between(ticks, s, v)
    accel = (v[4] - v[3]) / 0.1
    passed = (ticks - 3.0) * 0.1
    assert where == pytest.approx(s[3] + v[3] * passed + accel * passed**2 / 2, abs=1e-9)
    assert speed == pytest.approx(v[3] + accel * passed)
    xy, heading, _ = poses_along(crossing.paths[1], where)
    assert xy[:, 1] == pytest.approx(where - 60.0, abs=1e-6) and heading == pytest.approx(np.pi / 2)
