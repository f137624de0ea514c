"""Traffic that reacts in the simulator: hand-over, giving way, and that nothing else depends on it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from giveway.core.arrays import FloatArray
from giveway.core.case import Car, Case, Role, Start
from giveway.core.log import DriveLog
from giveway.core.scene import Scene
from giveway.core.tracks import AgentKind
from giveway.metrics.background import background_contact_s, background_contacts, contacts_of, handed_over
from giveway.sim.prepare import PreparedCase, prepare, with_drivers
from giveway.sim.recording import PredictionLog, drive_logs
from giveway.sim.simulation import Simulation
from giveway.sim.state import PAST, DriverCode
from giveway.testing.drive_scenes import HASH, DrivenCar, crossing_case, crossing_scene, scene_of

SLOW = Start(time_s=1.0, x_m=1008.0, y_m=1000.0, heading_rad=0.0, speed_mps=3.0)


def queue(behind_m: float = 14.0, *, more: tuple[DrivenCar, ...] = ()) -> Scene:
    """The ego on a straight road, one car behind it, and another one behind that."""
    cars = [
        DrivenCar(id="1", points=((1000.0, 1000.0), (1200.0, 1000.0))),
        DrivenCar(id="2", points=((1000.0 - behind_m, 1000.0), (1200.0, 1000.0))),
        DrivenCar(id="3", points=((1000.0 - 2 * behind_m, 1000.0), (1200.0, 1000.0))),
    ]
    return scene_of([*cars, *more])


def case_of(*, start: Start | None = SLOW, cars: tuple[Car, ...] = (), seconds: float = 8.0) -> Case:
    return Case(
        id="queue",
        dataset="testing",
        recording="crossing",
        site="queue",
        tracks_sha256=HASH,
        start_s=1.0,
        end_s=1.0 + seconds,
        cars=(Car(id="1", role=Role.EGO, start=start), *cars),
    )


def driven(case: Case, scene: Scene, *, reacts: bool = True) -> PreparedCase:
    """The ego keeps its speed."""
    return with_drivers(prepare(case, scene, reacts=reacts), DriverCode.CONSTANT_SPEED)


def run(*cases: PreparedCase, asked: bool = False, **options: Any) -> Simulation:
    simulation = Simulation(cases, **options)
    while not simulation.done:
        if asked:
            simulation.requests(("future",))
        simulation.step()
    simulation.close()
    return simulation


def log_of(simulation: Simulation) -> DriveLog:
    return drive_logs(simulation, PredictionLog(), roads={}, meta={})[0]


def by_name(simulation: Simulation) -> dict[str, FloatArray]:
    return {str(name): simulation.state.log[0, i] for i, name in enumerate(simulation.cases[0].ids)}


def test_replay_cars_behind_a_slow_ego_are_handed_over_one_after_the_other_and_do_not_hit_it() -> None:
    simulation = run(driven(case_of(), queue()))
    log = log_of(simulation)
    events = {e.car: e for e in log.events if e.kind == "handover"}
    assert set(events) == {"2", "3"}
    assert events["2"].text.endswith("run into car 1")
    assert events["3"].text.endswith("run into car 2") or events["3"].text.endswith("run into car 1")
    assert events["2"].tick <= events["3"].tick
    assert log.collisions == ()
    assert handed_over(log).value == 1.0
    speed = np.hypot(*np.moveaxis(log.tracks.velocity, -1, 0))
    assert speed[1:, -1].max() < 4.0


def test_without_reactions_they_drive_through_it() -> None:
    log = log_of(run(driven(case_of(), queue(), reacts=False)))
    assert {(c.first, c.second) for c in log.collisions} >= {("1", "2")}
    assert not any(e.kind == "handover" for e in log.events)


def test_cars_that_nobody_disturbs_drive_as_recorded() -> None:
    other = DrivenCar(id="9", points=((1000.0, 1012.0), (1200.0, 1012.0)))
    prepared = driven(case_of(), queue(more=(other,)))
    simulation = run(prepared)
    at = int(np.flatnonzero(prepared.ids == "9")[0])
    shown = slice(PAST, PAST + 81)
    assert np.array_equal(simulation.state.log[0, at, shown], prepared.rec[at, shown])
    assert simulation.traffic.handed[0, at] == -1


def test_an_ego_that_drives_as_recorded_disturbs_nobody_however_close_people_were() -> None:
    simulation = run(driven(case_of(start=None), queue(6.0)))
    assert (simulation.traffic.handed == -1).all()


def test_a_log_of_replays_only_is_the_recording() -> None:
    prepared = with_drivers(prepare(case_of(), queue(), reacts=True), DriverCode.REPLAY, everyone_replays=True)
    simulation = run(prepared)
    shown = slice(PAST, PAST + 81)
    assert np.array_equal(simulation.state.log[0][:, shown], prepared.rec[:, shown], equal_nan=True)


def test_pedestrians_are_never_handed_over() -> None:
    scene = queue()
    kind = scene.tracks.kind.copy()
    kind[1] = int(AgentKind.PEDESTRIAN)
    simulation = run(driven(case_of(), replace(scene, tracks=replace(scene.tracks, kind=kind))))
    assert simulation.traffic.handed[0, 1] == -1


def test_the_recording_is_not_touched_by_a_hand_over() -> None:
    prepared = driven(case_of(), queue())
    before = prepared.rec.copy(), prepared.driver.copy(), prepared.start.copy()
    run(prepared)
    assert np.array_equal(prepared.rec, before[0], equal_nan=True)
    assert np.array_equal(prepared.driver, before[1])
    assert np.array_equal(prepared.start, before[2])


def test_a_replay_car_that_would_appear_right_behind_a_driven_queue_waits_until_there_is_room() -> None:
    late = DrivenCar(id="4", points=((1009.0, 1000.0), (1200.0, 1000.0)), enters_s=3.0)
    stands = replace(SLOW, x_m=1015.0, speed_mps=0.1)
    prepared = driven(case_of(start=stands), queue(60.0, more=(late,)))
    log = log_of(run(prepared))
    event = next(e for e in log.events if e.car == "4" and e.kind == "handover")
    assert event.tick == 20
    assert event.text.endswith("run into car 1")
    assert contacts_of(log) == []
    assert log.collisions == ()
    first = int(np.argmax(log.tracks.observed[3]))
    assert first == 0 or first >= 50  # after 3 s at the earliest
    paper = log_of(run(driven(case_of(start=stands), queue(60.0, more=(late,)), reacts=False)))
    assert any("4" in (c.first, c.second) for c in paper.collisions)


@pytest.mark.parametrize(("size", "threads"), [(3, 1), (4, 2)])
def test_neither_batch_nor_threads_change_reactions(size: int, threads: int) -> None:
    one = driven(case_of(), queue())
    alone = run(one).state.log[0]
    other = driven(case_of(start=None, seconds=4.0), queue(6.0, more=(DrivenCar(id="4", points=((0, 0), (50, 0))),)))
    batch = run(*[one if k % 2 == 0 else other for k in range(size)], threads=threads).state.log
    agents, columns = alone.shape[:2]
    for k in range(0, size, 2):
        assert np.array_equal(batch[k, :agents, :columns], alone, equal_nan=True)


def test_the_order_of_cars_in_a_recording_does_not_change_reactions() -> None:
    scene = queue(more=(DrivenCar(id="4", points=((1060.0, 940.0), (1060.0, 1100.0)), speed_mps=7.0),))
    turned = replace(scene, tracks=scene.tracks.select(np.array([3, 2, 0, 1])))
    cars = (Car(id="4", role=Role.IDM),)
    one, two = (by_name(run(driven(case_of(cars=cars), s))) for s in (scene, turned))
    for name, states in one.items():
        np.testing.assert_array_equal(states, two[name])


def test_looking_ahead_does_not_change_what_happens() -> None:
    cars = (Car(id="3", role=Role.IDM, predicted=True), Car(id="2", role=Role.REPLAY, predicted=True))
    plain, asked = (run(driven(case_of(cars=cars), queue()), asked=ask) for ask in (False, True))
    assert np.array_equal(plain.state.log, asked.state.log, equal_nan=True)
    assert np.array_equal(plain.traffic.handed, asked.traffic.handed)


def test_car_following_cars_give_way_where_the_map_says_so() -> None:
    """The ego's lane has to give way; here a car that follows drives on it, and the ego on the other one."""
    case = replace(
        crossing_case(seconds=8.0),
        cars=(Car(id="other", role=Role.EGO), Car(id="ego", role=Role.IDM)),
        right_of_way=(),
    )
    crossed = {}
    for reacts in (True, False):
        simulation = run(driven(case, crossing_scene(other_lead_m=-2.0), reacts=reacts))
        log = simulation.state.log[0, :2, PAST : PAST + 81]
        crossed[reacts] = int(np.argmax(log[0, :, 0] > 1000.0)), int(np.argmax(log[1, :, 1] > 1000.0))
    assert crossed[False][0] < crossed[False][1]
    assert crossed[True][0] > crossed[True][1] or crossed[True][0] == 0


def test_contacts_of_background_cars_are_counted_by_drivers() -> None:
    cars = (Car(id="2", role=Role.IDM, start=replace(SLOW, x_m=994.0)),)
    paper = log_of(run(driven(case_of(start=None, cars=cars), queue(), reacts=False)))
    found = contacts_of(paper)
    assert [(c.first, c.second, c.drivers) for c in found] == [("2", "3", ("idm", "replay"))]
    assert background_contacts(paper).value == 1
    assert background_contact_s(paper).value == pytest.approx(found[0].seconds)
    clean = log_of(run(driven(case_of(start=None, cars=cars), queue())))
    assert contacts_of(clean) == []
