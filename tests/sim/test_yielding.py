"""Cars that give way: who goes first, that circles dissolve, and that nothing depends on the order of cars."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from giveway.core.arrays import FloatArray
from giveway.core.case import Car, Case, Role
from giveway.roads.library import make_road
from giveway.roads.priority import rules_of
from giveway.roads.queries import prepare
from giveway.sim.bicycle import SPEED
from giveway.sim.contacts import find_contacts
from giveway.sim.prepare import PreparedCase, with_drivers
from giveway.sim.prepare import prepare as prepare_case
from giveway.sim.recording import driven_tracks
from giveway.sim.simulation import Simulation
from giveway.sim.state import LANE_S, DriverCode
from giveway.testing.drive_scenes import HASH, DrivenCar, scene_of
from giveway.testing.roads import crossing_road, roundabout_road
from support.looping_traffic import Loop, drive_in_loops

REPLAY = DriverCode.REPLAY
ROADS = ("four_way", "roundabout", "merge")


def line(start: tuple[float, float], end: tuple[float, float]) -> FloatArray:
    length = np.hypot(end[0] - start[0], end[1] - start[1])
    return np.linspace(start, end, int(length) + 1)


EAST, NORTH = line((-60, 0), (60, 0)), line((0, -60), (0, 60))


def passing_tick(loop: Loop, car: int, s: float = 60.0) -> int:
    """First tick at which the center of a car is past an arc length; the middle of the crossing by default."""
    past = np.flatnonzero(np.nan_to_num(loop.trace[:, car, 0], nan=np.inf) > s)
    return int(past[0]) if past.size else -1


@pytest.mark.parametrize("road", ROADS)
def test_traffic_flows_without_contact(road: str) -> None:
    ways = make_road(road).ways
    loop = drive_in_loops([ways[k % len(ways)] for k in range(20)], ticks=400, desired_mps=9.0)
    assert loop.contacts == set()
    assert loop.passed >= 1


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("road", ROADS)
def test_twenty_cars_flow_for_ten_minutes_without_contact_or_lasting_deadlock(road: str, seed: int) -> None:
    ways = make_road(road).ways
    loop = drive_in_loops([ways[k % len(ways)] for k in range(20)], ticks=6000, desired_mps=9.0, seed=seed)
    assert loop.contacts == set()
    assert loop.longest_lock_s <= 5.0
    assert loop.longest_still_s <= 5.0
    assert loop.passed >= 150


def four_at_once() -> tuple[list[FloatArray], FloatArray]:
    ways = make_road("four_way").ways
    return [ways[3 * arm + 1] for arm in range(4)], np.tile([60.0, 8.0], (4, 1))


def test_four_cars_that_arrive_at_once_lock_and_are_freed_after_two_seconds() -> None:
    ways, starts = four_at_once()
    loop = drive_in_loops(ways, ticks=350, desired_mps=8.0, once_from=starts)
    assert loop.freed >= 1
    assert 1.9 <= loop.longest_lock_s <= 2.1
    assert (loop.contacts, loop.passed) == (set(), 4)


def test_the_smaller_name_in_natural_order_is_freed_first() -> None:
    ways, starts = four_at_once()
    loop = drive_in_loops(ways, ticks=350, desired_mps=8.0, once_from=starts, names=["10", "12", "9", "11"])
    assert min(range(4), key=lambda car: passing_tick(loop, car, 90.0)) == 2


@pytest.mark.parametrize("road", ["four_way", "roundabout"])
def test_the_order_of_cars_does_not_change_their_motion(road: str) -> None:
    ways = list(make_road(road).ways)
    starts = np.column_stack([np.linspace(20.0, 60.0, 12), np.full(12, 7.0)])
    order = np.random.default_rng(3).permutation(12)
    names = [f"car {k}" for k in range(12)]
    one = drive_in_loops(ways, ticks=150, desired_mps=8.0, once_from=starts, names=names)
    two = drive_in_loops(
        [ways[k] for k in order], ticks=150, desired_mps=8.0, once_from=starts[order], names=[names[k] for k in order]
    )
    np.testing.assert_array_equal(one.trace[:, order], two.trace)


def test_the_car_without_priority_lets_the_other_pass_and_waits_at_the_stop_line() -> None:
    site = crossing_road()
    rules = rules_of(prepare(site.road))
    starts = np.array([[25.0, 8.0], [20.0, 8.0]])
    loop = drive_in_loops([EAST, NORTH], ticks=200, desired_mps=8.0, once_from=starts, rules=rules)
    assert 0 < passing_tick(loop, 0) < passing_tick(loop, 1)
    free = drive_in_loops([EAST], ticks=200, desired_mps=8.0, once_from=starts[:1])
    np.testing.assert_array_equal(loop.trace[:60, 0], free.trace[:60, 0])
    waits = loop.trace[: passing_tick(loop, 0), 1, 0] + 2.25
    assert waits.max() <= 57.0
    assert loop.contacts == set()


def test_a_large_gap_is_taken() -> None:
    site = crossing_road()
    starts = np.array([[1.0, 4.0], [45.0, 6.0]])
    loop = drive_in_loops(
        [EAST, NORTH], ticks=150, desired_mps=8.0, once_from=starts, rules=rules_of(prepare(site.road))
    )
    assert passing_tick(loop, 1) < passing_tick(loop, 0)
    assert (np.diff(loop.trace[:40, 1, 1]) >= -1e-9).all()


def test_entering_cars_wait_for_those_on_the_ring() -> None:
    site = roundabout_road()
    ring, entering = site.paths["0-2"].points, site.paths["1-3"].points
    starts = np.array([[40.0, 6.0], [25.0, 6.0]])
    loop = drive_in_loops(
        [ring, entering], ticks=300, desired_mps=7.0, once_from=starts, rules=rules_of(prepare(site.road))
    )
    assert loop.contacts == set()
    assert loop.passed == 2


def test_cars_wait_for_a_pedestrian_and_go_when_it_has_crossed() -> None:
    walk = line((10.0, -8.0), (10.0, 8.0))
    starts = np.array([[45.0, 8.0], [2.0, 1.4]])
    loop = drive_in_loops([EAST, walk], ticks=250, desired_mps=8.0, once_from=starts, walks=np.array([False, True]))
    crossed = passing_tick(loop, 1, 8.0 + 0.9 + 0.3)
    assert np.nanmax(loop.trace[:crossed, 0, 0]) + 2.25 <= 70.0 - 0.3
    assert loop.contacts == set()
    assert loop.passed >= 1


def test_an_all_way_stop_is_left_in_the_order_of_arrival() -> None:
    site = crossing_road()
    north, east = (site.lane_ids[name] for name in ("north", "east"))
    both = {n: replace(lane, yields_to=(north + east - n,)) for n, lane in site.road.lanes.items()}
    rules = rules_of(prepare(replace(site.road, lanes=both)))
    for late, early in ((0, 1), (1, 0)):
        starts = np.array([[20.0, 8.0], [20.0, 8.0]])
        starts[early, 0] = 26.0
        loop = drive_in_loops([EAST, NORTH], ticks=300, desired_mps=8.0, once_from=starts, rules=rules)
        assert np.nanmin(loop.trace[:120, :, 1], axis=0).max() < 0.3
        assert 0 < passing_tick(loop, early) < passing_tick(loop, late)
        assert loop.contacts == set()


def flowing(road: str, seed: int, number: int, seconds: float) -> PreparedCase:
    """Twenty cars that enter a road one after the other, and an ego far away from them."""
    ways, rng = make_road(road).ways, np.random.default_rng([seed, number])
    cars = [
        DrivenCar(
            id=str(k),
            points=[(float(x), float(y)) for x, y in ways[int(rng.integers(len(ways)))]],
            speed_mps=float(rng.uniform(6.0, 9.0)),
            enters_s=float(np.round(rng.uniform(1.0, 0.3 * seconds), 1)),
        )
        for k in range(20)
    ]
    ego = DrivenCar(id="ego", points=((5000.0, 5000.0), (5400.0, 5000.0)), speed_mps=4.0)
    case = Case(
        id=f"{road}-{seed}-{number}",
        dataset="testing",
        recording="crossing",
        site=road,
        tracks_sha256=HASH,
        start_s=1.0,
        end_s=seconds,
        cars=(Car(id="ego", role=Role.EGO), *(Car(id=car.id, role=Role.IDM) for car in cars)),
    )
    return with_drivers(prepare_case(case, scene_of([*cars, ego], duration_s=seconds + 6.0), reacts=True), REPLAY)


def check_flow(road: str, seed: int, worlds: int, seconds: float) -> None:
    simulation = Simulation([flowing(road, seed, number, seconds) for number in range(worlds)])
    still = np.zeros(worlds)
    while not simulation.done:
        simulation.step()
        here, speed = simulation.state.present[:, :20], simulation.state.car[:, :20, SPEED]
        stuck = here.any(axis=1) & ~(here & (speed >= 0.3)).any(axis=1)
        still = np.where(stuck, still + 0.1, 0.0)
        assert still.max() <= 5.0
        assert simulation.traffic.waiting.car["locked"].max() <= 5.0
    for c in range(worlds):
        assert [e for e in find_contacts(driven_tracks(simulation, c), ego="ego") if not e.at_spawn] == []
    assert (simulation.state.lane[:, :20, LANE_S] > 60.0).mean() >= 0.9, "most have got somewhere"


@pytest.mark.parametrize("road", ROADS)
def test_twenty_cars_of_the_simulator_flow_without_contact_or_deadlock(road: str) -> None:
    check_flow(road, seed=0, worlds=1, seconds=50.0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("road", ROADS)
def test_ten_minutes_of_the_simulator_have_no_contact_and_no_lasting_deadlock(road: str, seed: int) -> None:
    check_flow(road, seed, worlds=10, seconds=60.0)
