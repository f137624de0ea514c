"""Realism over roll-outs: its ceiling, who is judged, what may be compared, and that a run resumes."""

from dataclasses import replace

import numpy as np
import pytest

from giveway.components import registry_of
from giveway.core.case import Role, Start
from giveway.core.errors import UsageError
from giveway.core.seeds import stream
from giveway.core.tracks import AgentKind
from giveway.drive.bundled import bundled_set
from giveway.drive.realism import result_of, run_realism
from giveway.drive.realism_areas import PassedAreas
from giveway.drive.realism_rollouts import crowd, judge_ego, judge_traffic
from giveway.drive.realism_section import difference_of, rows_of
from giveway.metrics.realism import FEATURES, PATH_FIXED
from giveway.roads.routes import path_through
from giveway.sim import area_tables
from giveway.sim.case_sets import CaseSet
from giveway.sim.drivers.base import Driver
from giveway.sim.prepare import prepare
from giveway.sim.state import Decision
from giveway.testing.drive_scenes import DrivenCar, scene_of

NAMES = ("merge-05", "junction-00")


@pytest.fixture(scope="module")
def cases():
    """Two bundled cases in which everybody but the ego is driven."""
    found, source = bundled_set()
    chosen = [case for case in found if case.id in NAMES]
    return [prepare(crowd(case, source.scene_of(case)), source.scene_of(case), reacts=True) for case in chosen]


def score(judged, roll_outs=32):
    return result_of(judged, roll_outs).measurements[0].value


class Wavering(Driver, name="wavering"):
    """Accelerates at random, by streams of its own."""

    def decide(self, batch, mine, own):
        accel = np.zeros(mine.shape)
        for w, i in zip(*np.nonzero(mine), strict=True):
            tick = int(batch.state.tick[w])
            name = batch.episodes[w], batch.roll_out, batch.ids[w, i], tick
            accel[w, i] = stream(batch.seed, "wavering", *name).normal()
        batch.along(mine, accel)


class Steering(Driver, name="steering"):
    """Goes straight on, off its path."""

    def decide(self, batch, mine, own):
        batch.decisions.kind[mine] = Decision.FREE
        batch.decisions.control[mine] = 0.0


class Broken(Driver, name="broken"):
    """Cannot drive."""

    def decide(self, batch, mine, own):
        raise ValueError("no pedals")


@pytest.fixture
def drivers():
    for driver in (Wavering, Steering, Broken):
        registry_of("driver").register(driver.info.name, driver)
    yield
    for driver in (Wavering, Steering, Broken):
        registry_of("driver").forget(driver.info.name)


def test_the_recording_is_the_ceiling_of_every_driver(cases):
    ceiling = judge_traffic(cases, "replay", roll_outs=32)
    for name in ("idm", "idm_paper", "planner", "constant_speed"):
        for best, found in zip(ceiling, judge_traffic(cases, name, roll_outs=32), strict=True):
            assert found.deterministic
            assert score(best) > score(found)
            for car in set(best.cars) & set(found.cars):
                for feature in ("speed", "collision", "order", "passing"):
                    assert best.cars[car].get(feature, 1.0) >= found.cars[car].get(feature, 0.0) - 1e-12


def test_the_replayed_recording_keeps_order_and_time(cases):
    for judged in judge_traffic(cases, "replay", roll_outs=32):
        assert judged.num_areas > 0
        for name, expected in (("order", 32.1 / 32.2), ("passing", 32.1 / 34)):
            found = [car[name] for car in judged.cars.values() if name in car]
            assert found == pytest.approx([expected] * len(found))
            assert found


def test_the_ego_is_judged_alone_and_never_among_the_traffic(cases):
    for prepared, traffic, ego in zip(
        cases, judge_traffic(cases, "idm", roll_outs=2), judge_ego(cases, "lattice", roll_outs=2), strict=True
    ):
        name = str(prepared.ids[prepared.ego])
        assert name not in traffic.cars
        assert set(ego.cars) == {name}


def test_a_car_that_hardly_appears_in_a_roll_out_is_left_out(cases):
    late = cases[0].spawn_tick.copy()
    rows = [i for i, role in enumerate(cases[0].role) if role is Role.IDM]
    late[rows[0]] = cases[0].case.num_ticks - 5
    judged = judge_traffic([replace(cases[0], spawn_tick=late)], "idm", roll_outs=2)[0]
    assert judged.left_out == (str(cases[0].ids[rows[0]]),)
    assert not set(judged.left_out) & set(judged.cars)


def test_random_drivers_differ_between_roll_outs_but_not_between_batches(cases, drivers):
    together = judge_traffic(cases, "wavering", roll_outs=3)
    alone = [judge_traffic([case], "wavering", roll_outs=3)[0] for case in cases]
    assert [judged.cars for judged in together] == [judged.cars for judged in alone]
    assert not any(judged.deterministic for judged in together)
    assert together[0].cars != judge_traffic(cases, "wavering", roll_outs=3, seed=1)[0].cars


def test_drawn_parameters_depend_on_names_and_roll_outs_only(cases):
    together = judge_traffic(cases, "idm_spread", roll_outs=3)
    assert [judged.cars for judged in together] == [
        judge_traffic([c], "idm_spread", roll_outs=3)[0].cars for c in cases
    ]
    assert not any(judged.deterministic for judged in together)


def test_cars_that_steer_are_weighed_as_in_the_challenge(cases, drivers):
    judged = judge_traffic(cases[:1], "steering", roll_outs=2)[0]
    assert judged.features is FEATURES
    assert {"turn_rate", "off_road"} <= set(next(iter(judged.cars.values())))
    assert judge_traffic(cases[:1], "idm", roll_outs=2)[0].features is PATH_FIXED


def test_parked_cars_and_pedestrians_stay_on_replay():
    found, source = bundled_set()
    case = found[0]
    scene = source.scene_of(case)
    tracks = scene.tracks
    extra = [i for i, name in enumerate(tracks.ids) if str(name) not in {car.id for car in case.cars}]
    assert extra, "the case lists every car"
    name = str(tracks.ids[extra[0]])
    assert name in {car.id for car in crowd(case, scene).cars}
    kind, xy = tracks.kind.copy(), tracks.xy.copy()
    kind[extra[0]] = AgentKind.PEDESTRIAN
    walking = replace(scene, tracks=replace(tracks, kind=kind))
    assert name not in {car.id for car in crowd(case, walking).cars}
    xy[extra[0]] = xy[extra[0], :1]
    parked = replace(scene, tracks=replace(tracks, xy=xy))
    assert name not in {car.id for car in crowd(case, parked).cars}
    assert crowd(case, scene).ego == case.ego


def test_order_and_time_at_a_crossing():
    def scene(slow):
        across = DrivenCar(id="b", points=((1000, 970), (1000, 1100)), speed_mps=slow)
        return scene_of([DrivenCar(id="a", points=((960, 1000), (1100, 1000)), speed_mps=10.0), across], duration_s=6.0)

    recorded = scene(5.0).tracks
    paths = [path_through(recorded.xy[i], float(recorded.heading[i, 0])) for i in range(2)]
    areas = PassedAreas(paths, recorded)
    human = areas.features(recorded, [0, 1])
    assert [f["order"].tolist() for f in human] == [[1.0], [0.0]]
    assert [f["passing"].tolist() for f in human] == [[0.0], [0.0]]
    swapped = areas.features(scene(20.0).tracks, [0, 1])
    assert [f["order"].tolist() for f in swapped] == [[0.0], [1.0]]
    assert swapped[1]["passing"][0] < -3.0
    never = areas.features(scene(0.0).tracks, [0, 1])
    assert [f["order"].tolist() for f in never] == [[1.0], [0.0]]
    assert np.isinf(never[1]["passing"][0])


def test_a_run_resumes_and_never_compares_different_numbers_of_roll_outs(tmp_path):
    found, _ = bundled_set()
    chosen = [case for case in found if case.id in NAMES]
    start = Start(time_s=chosen[1].start_s, x_m=0.0, y_m=0.0, heading_rad=0.0, speed_mps=1.0)
    cars = tuple(replace(car, start=start) if car.role is Role.IDM else car for car in chosen[1].cars)
    assert any(car.start for car in cars)
    given = CaseSet(cases=(*chosen, replace(chosen[1], id="altered", cars=cars)))
    asked = {"drivers": ["idm", "constant_speed"], "planners": ["lattice"], "cases": given}
    results = run_realism(out=tmp_path, **asked)
    text = results.table("").text()
    assert "idm: 1 cases left out" in text
    assert "* deterministic" in text
    assert results.compare("idm", "constant_speed").estimate != 0
    again = run_realism(out=tmp_path, **asked)
    assert again.runs[-1]["counts"]["done"] == 0
    run_realism(out=tmp_path, **{**asked, "drivers": ["replay"], "planners": [], "roll_outs": 1})
    rows = {(row.driver, row.roll_outs): row for row in rows_of(results.frame())}
    assert rows["idm", 32].altered == 1
    with pytest.raises(UsageError, match="different numbers of roll-outs"):
        difference_of(rows["replay", 1], rows["idm", 32])
    with pytest.raises(UsageError, match="different numbers of roll-outs"):
        results.compare("replay", "idm")
    text = results.table("").text()
    assert "traffic, 1 roll-outs" in text
    assert text.startswith("Not real traffic")


def test_a_case_that_was_judged_in_an_older_way_counts_once(tmp_path, monkeypatch):
    asked = {"drivers": ["idm"], "planners": [], "max_cases": 1, "roll_outs": 2}
    run_realism(out=tmp_path, **asked)
    monkeypatch.setattr("giveway.drive.realism.REALISM_VERSION", 99)
    again = run_realism(out=tmp_path, **asked)
    assert again.runs[-1]["counts"]["done"] == 1
    (row,) = rows_of(again.frame())
    assert row.case == ["merge-00"]
    newest = {key for plan in again.store.plans() for key in plan.keys if plan.name == again.runs[-1]["plan"]}
    assert set(again.frame()["key"]) == newest


def test_areas_of_a_case_are_found_once_and_again_for_other_sizes(cases, monkeypatch):
    calls = []
    found = area_tables._shared_areas
    monkeypatch.setattr(area_tables, "_kept", type(area_tables._kept)())
    monkeypatch.setattr(area_tables, "_shared_areas", lambda *args: calls.append(args) or found(*args))
    case = cases[0]
    asked = case.paths, case.size, case.ids, np.zeros(len(case.ids), dtype=np.bool_)
    first = area_tables.shared_areas(*asked)
    assert area_tables.shared_areas(*asked) is first
    assert len(calls) == 1
    wider = area_tables.shared_areas(case.paths, case.size + 0.5, *asked[2:])
    assert len(calls) == 2
    assert not np.array_equal(wider.row, first.row)


def test_a_driver_that_raises_fails_its_cells_and_leaves_a_table(tmp_path, drivers):
    results = run_realism(out=tmp_path, drivers=["broken"], planners=[], max_cases=2, roll_outs=2)
    assert results.status.failed == 2
    assert "no pedals" in results.status.failures[0].reason
    assert "no case has been judged" in results.table("").text()
