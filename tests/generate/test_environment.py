"""The environment: contract, PettingZoo's checks, scenes, roads, bad input."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

from giveway.core.errors import UnknownNameError, UsageError
from giveway.core.log import Grade
from giveway.generate.drivers.cutting_in import CutInDriver
from giveway.generate.episodes import drive_episodes, no_attack, random_policy, replayed
from giveway.generate.protocol import GRADES, Outcome, Scenes, VectorWorlds
from giveway.generate.worlds import Worlds, WorldSettings, make_worlds, traffic_env
from giveway.roads.library import ROADS, make_road
from giveway.roads.queries import prepare
from giveway.roads.road import Road
from giveway.roads.tables import road_tables
from giveway.roads.writer import write_lanelet2
from giveway.sim.responsibility import judged_contacts
from giveway.testing.generated_worlds import check_worlds

EGO_LANE = 1


def one_scene(worlds: Worlds, **cars: list[float]) -> Scenes:
    """Ego at 100 m in lane 1 at 12 m/s, learning cars as given."""
    k = len(cars["s"])
    nothing = np.zeros((1, 0))
    return Scenes(
        road="straight",
        ego_lane=np.array([EGO_LANE]),
        ego_s=np.array([100.0]),
        ego_speed=np.array([12.0]),
        ego_desired_speed=np.array([12.0]),
        lane=np.array([cars["lane"]], dtype=np.int64),
        s=np.array([cars["s"]], dtype=float),
        d=np.zeros((1, k)),
        speed=np.array([cars["speed"]], dtype=float),
        traffic_lane=nothing.astype(np.int64),
        traffic_s=nothing,
        traffic_speed=nothing,
    )


@pytest.mark.parametrize("actions", ["steering", "lateral", "maneuvers"])
def test_worlds_keep_the_contract(actions):
    check_worlds(lambda n: make_worlds(n_worlds=n, actions=actions, steps=25))


@pytest.mark.parametrize("kind", [{"ego": "lattice"}, {"reward": "legacy", "observation": "artefact"}, {"traffic": 2}])
def test_other_kinds_of_worlds_keep_the_contract(kind):
    check_worlds(lambda n: make_worlds(n_worlds=n, cars=2, steps=40, **kind))


def test_worlds_implement_the_protocol():
    assert isinstance(make_worlds(), VectorWorlds)


def test_threads_do_not_change_a_number():
    one, two = make_worlds(n_worlds=6), make_worlds(n_worlds=6, threads=2)
    one.reset(seed=5)
    two.reset(seed=5)
    rng = np.random.default_rng(0)
    for _ in range(20):
        action = rng.uniform(-1, 1, (6, 3, 2))
        a, b = one.step(action), two.step(action)
        assert (a.observations == b.observations).all() and (a.rewards == b.rewards).all()
    two.close()


def test_pettingzoo_finds_nothing_to_complain_about():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the checks import deprecated games of their own
        from pettingzoo.test import parallel_api_test, parallel_seed_test

        parallel_api_test(traffic_env(WorldSettings(steps=30)), num_cycles=200)
        parallel_api_test(traffic_env(WorldSettings(steps=30, cars=1, actions="maneuvers")), num_cycles=100)
        parallel_seed_test(lambda: traffic_env(WorldSettings(steps=30)), num_cycles=60)


def test_observation_sizes_follow_the_design():
    assert make_worlds(cars=3).observation_size == 5 + 8 * 3 + 3 + 1
    assert make_worlds(cars=3, observation="artefact").observation_size == 16


def test_the_relative_observation_does_not_know_where_on_the_road_it_is():
    worlds = make_worlds(n_worlds=2, cars=2)
    scene = one_scene(worlds, lane=[1, 2], s=[130.0, 90.0], speed=[9.0, 12.0])
    there = replace(scene, ego_s=scene.ego_s + 50.0, s=scene.s + 50.0)
    seen = worlds.reset(Scenes.join([scene, there]), seed=0)
    assert seen[0, :, :-2] == pytest.approx(seen[1, :, :-2], abs=1e-6), "but for the way to the end"


def test_random_steering_stays_within_the_hard_bounds():
    worlds = make_worlds(n_worlds=12, steps=60)
    records = drive_episodes(worlds, random_policy(1), seed=2)
    assert max(r.infeasible_share for r in records) == 0.0


def test_a_replayed_episode_is_the_same_episode():
    worlds = make_worlds(n_worlds=3, steps=40)
    first = drive_episodes(worlds, random_policy(1), seed=2)
    again = drive_episodes(worlds, replayed(first), scenes=Scenes.join([r.scene for r in first]), seed=9)
    for a, b in zip(first, again, strict=True):
        np.testing.assert_array_equal(a.tracks.xy, b.tracks.xy)
        assert (a.outcome, a.ending) == (b.outcome, b.ending)


def test_a_car_that_rear_ends_the_ego_pays_and_the_others_do_not():
    worlds = make_worlds(cars=2, actions="lateral")
    worlds.reset(one_scene(worlds, lane=[1, 3], s=[88.0, 60.0], speed=[17.0, 12.0]), seed=0)
    for _ in range(60):
        after = worlds.step(np.array([[[1.0, 0.0], [0.0, 0.0]]]))
        if after.done[0]:
            break
    assert after.outcome[0] == Outcome.COLLISION and GRADES[after.grade[0]] == Grade.D
    assert worlds.ending(0).violators == ("car1",)
    assert after.terms[0, :, 4].tolist() == [-1.0, 0.0] and after.terms[0, :, 0].tolist() == [0.0, 0.0]


def test_a_reckless_ego_that_hits_a_slow_car_earns_the_team_the_bonus():
    worlds = make_worlds(cars=1, ego="constant_speed", actions="lateral")
    worlds.reset(one_scene(worlds, lane=[1], s=[145.0], speed=[6.0]), seed=0)
    for _ in range(120):
        after = worlds.step(np.array([[[0.0, 0.0]]]))
        if after.done[0]:
            break
    assert after.outcome[0] == Outcome.COLLISION and after.avoidable[0]
    assert GRADES[after.grade[0]] == Grade.A and worlds.ending(0).violators == ("ego",)
    assert after.terms[0, 0, 0] > 0.85 and after.rewards[0, 0] > 8.5


def test_a_hopeless_crash_with_a_standing_car_is_the_egos_fault_and_earns_the_grade():
    """The driver of UN R157 looks 2 s ahead: too late for a car that has come to stand before 12 m/s."""
    worlds = make_worlds(cars=1, ego="constant_speed", actions="lateral")
    worlds.reset(one_scene(worlds, lane=[1], s=[145.0], speed=[10.0]), seed=0)
    for _ in range(120):
        after = worlds.step(np.array([[[-0.3, 0.0]]]))
        if after.done[0]:
            break
    ending = worlds.ending(0)
    assert (ending.grade, ending.avoidable, ending.avoidable_plus) == (Grade.A, False, True)
    assert after.terms[0, 0, 0] == pytest.approx(0.9), "a near miss had paid 0.1 before"


def test_cars_that_touch_each_other_pay_if_they_violate():
    worlds = make_worlds(cars=2, actions="lateral")
    worlds.reset(one_scene(worlds, lane=[3, 3], s=[130.0, 118.0], speed=[8.0, 12.0]), seed=0)
    for _ in range(60):
        after = worlds.step(np.array([[[0.0, 0.0], [0.3, 0.0]]]))
        if after.done[0]:
            break
    assert after.outcome[0] == Outcome.TRAFFIC_COLLISION and worlds.ending(0).violators == ("car2",)
    assert after.terms[0, :, 4].tolist() == [0.0, -1.0] and after.rewards[0, 1] < after.rewards[0, 0] - 2.9


@pytest.mark.parametrize(
    ("reward", "columns", "expected"),
    [
        ("graded", (0, 4), {Grade.C: {(0.3, 0.0), (0.4, 0.0)}, Grade.D: {(0.0, -1.0)}}),
        ("v1", (5, 5), {Grade.C: {(1.0, 1.0)}, Grade.D: {(-1.0, -1.0)}}),
    ],
)
def test_a_cut_in_that_a_careful_driver_copes_with_earns_and_a_hopeless_one_costs(reward, columns, expected):
    """Grade C counts although the other car alone violates; grade D does not."""
    worlds = make_worlds(n_worlds=120, actions="lateral", reward=reward)
    scenes, _ = worlds.space.sample(120, seed=1)
    driver = CutInDriver()
    driver.begin(worlds, scenes, [0] * 120, np.zeros((120, 3, 0)))
    seen, paid = worlds.reset(scenes, seed=0), {}
    for step in range(150):
        after = worlds.step(driver.act(worlds, seen, step))
        seen = after.observations
        for w in np.flatnonzero((after.outcome == Outcome.COLLISION) & after.active.any(axis=1)).tolist():
            other = worlds.ids.index(worlds.ending(w).other) - 1
            terms = tuple(round(float(after.terms[w, other, c]), 9) for c in columns)
            paid.setdefault(GRADES[after.grade[w]], set()).add(terms)
    assert set(paid) == set(expected)
    assert all(paid[grade] <= expected[grade] for grade in expected), paid


def test_verdicts_are_those_of_the_law_over_the_whole_episode():
    """The log of a world keeps ten seconds, lanes are prepared once; neither changes a verdict."""
    worlds = make_worlds(n_worlds=60, road="merge", ego="constant_speed", actions="lateral")
    lanes = prepare(worlds.road.map())
    crashed = [r for r in drive_episodes(worlds, random_policy(3), seed=2) if r.outcome is Outcome.COLLISION]
    assert len(crashed) >= 3
    for record in crashed:
        hits = [c for c in judged_contacts(record.tracks, lanes, ego="ego") if c.second == record.ending.other]
        found = record.ending
        assert (found.grade, found.violators, found.sentence) == (hits[0].grade, hits[0].violators, hits[0].sentence)


def test_leaving_the_road_ends_only_that_cars_episode():
    worlds = make_worlds(cars=2)
    worlds.reset(one_scene(worlds, lane=[0, 3], s=[130.0, 70.0], speed=[12.0, 12.0]), seed=0)
    for _ in range(60):
        after = worlds.step(np.array([[[0.0, -1.0], [0.0, 0.0]]]))
        if after.terminated[0, 0]:
            break
    assert after.terminated[0].tolist() == [True, False]
    assert after.terms[0, 0, 4] == -1.0 and after.outcome[0] == Outcome.RUNNING
    later = worlds.step(np.zeros((1, 2, 2)))
    assert later.active[0].tolist() == [False, True] and later.rewards[0, 0] == 0.0


@pytest.mark.parametrize(
    ("planner", "outcome"),
    [
        ("Raises", Outcome.PLANNER_RAISED),
        ("Hangs", Outcome.PLANNER_HUNG),
        ("Nan", Outcome.PLANNER_INVALID),
        ("Jumps", Outcome.PLANNER_INVALID),
        ("Creeps", Outcome.PLANNER_INVALID),
        ("Dies", Outcome.PLANNER_RAISED),
    ],
)
def test_a_planner_that_breaks_is_a_finding(planner, outcome, monkeypatch):
    monkeypatch.syspath_prepend(__file__.rsplit("/", 1)[0])
    worlds = make_worlds(ego=f"planners:{planner}", deadline_s=2.0, warm_up_s=0.1, cars=1)
    try:
        worlds.reset(seed=0)
        after = worlds.step(np.zeros((1, 1, 2)))
        assert after.outcome[0] == outcome and GRADES[after.grade[0]] == Grade.A
        assert worlds.ending(0).sentence.startswith("A (at fault). ")
        assert worlds.findings[0]
        worlds.reset(seed=1)
        assert not worlds.findings
    finally:
        worlds.close()


def test_a_planner_in_its_own_process_drives_like_the_compiled_one(monkeypatch):
    monkeypatch.syspath_prepend(__file__.rsplit("/", 1)[0])
    inside, outside = make_worlds(cars=1), make_worlds(cars=1, ego="planners:OutsideIdm")
    try:
        inside.reset(seed=4)
        outside.reset(seed=4)
        for _ in range(15):
            inside.step(np.zeros((1, 1, 2)))
            outside.step(np.zeros((1, 1, 2)))
        np.testing.assert_allclose(inside.state.car, outside.state.car, atol=1e-9)
    finally:
        outside.close()


def test_an_ego_that_steers_can_leave_the_road_or_change_its_lane(monkeypatch):
    monkeypatch.syspath_prepend(__file__.rsplit("/", 1)[0])
    leaves, changes = (make_worlds(cars=1, ego=f"planners:{name}") for name in ("LeavesRoad", "ChangesLane"))
    try:
        for worlds in (leaves, changes):
            worlds.reset(one_scene(worlds, lane=[3], s=[30.0], speed=[5.0]), seed=0)
        for _ in range(60):
            gone, changed = leaves.step(np.zeros((1, 1, 2))), changes.step(np.zeros((1, 1, 2)))
        assert gone.outcome[0] == Outcome.EGO_OFF_ROAD and GRADES[gone.grade[0]] == Grade.A
        assert changed.outcome[0] == Outcome.RUNNING and changes.state.route[0, 0] == EGO_LANE + 1
        assert abs(changes.state.lane[0, 0, 1]) < 0.1
    finally:
        leaves.close()
        changes.close()


@pytest.mark.parametrize("name", ROADS.names())
def test_every_road_can_be_driven(name):
    worlds = make_worlds(road=name, n_worlds=8, steps=40, actions="lateral", ego="lattice")
    records = drive_episodes(worlds, no_attack, seed=1)
    assert all(r.off_road_share == 0.0 for r in records)
    assert sum(r.outcome is Outcome.EGO_OFF_ROAD for r in records) == 0
    moved = [np.hypot(*(r.tracks.xy[0, -1] - r.tracks.xy[0, 0])) for r in records]
    assert max(moved) > 10.0


def test_a_lanelet_map_is_a_road(tmp_path):
    write_lanelet2(tmp_path / "ring.osm", make_road("roundabout").sketch)
    worlds = make_worlds(road=str(tmp_path / "ring.osm"), n_worlds=4, cars=1, steps=20, actions="lateral")
    records = drive_episodes(worlds, no_attack, seed=1)
    assert len(records) == 4


def test_genes_near_each_other_are_scenes_near_each_other():
    space = make_worlds(cars=2).space
    genes = np.full((2, space.num_genes), 0.4)
    genes[1, 5] += 1e-4
    scenes = space.scenes(genes)
    assert abs(scenes.s[0, 0] - scenes.s[1, 0]) < 0.1 and scenes.lane[0, 0] == scenes.lane[1, 0]


def test_drawn_scenes_are_safe_and_the_same_for_a_seed():
    space = make_worlds().space
    scenes, _ = space.sample(40, seed=3)
    again, _ = space.sample(40, seed=3)
    assert space.is_safe(scenes).all()
    assert (scenes.s == again.s).all()


@pytest.mark.parametrize(
    "settings",
    [{"cars": 0}, {"cars": 5}, {"road": "footpath"}, {"ego": "nobody"}, {"actions": "wish"}, {"steps": 0},
     {"road": "no_such_map.osm"}, {"colour": "red"}, {"traffic": 99}],
)  # fmt: skip
def test_impossible_settings_get_a_sentence(settings):
    with pytest.raises((UsageError, UnknownNameError)):
        make_worlds(**settings)


def test_impossible_roads_get_a_sentence():
    with pytest.raises(UsageError, match="too short"):
        Road(name="stub", ways=(np.array([[0.0, 0.0], [5.0, 0.0]]),))
    narrow = Road(name="alley", ways=(np.array([[0.0, 0.0], [45.0, 0.0]]),))
    with pytest.raises(UsageError, match="no safe starting scene"):
        Worlds(WorldSettings(cars=4), road=narrow).reset(seed=0)


def test_bad_actions_get_a_sentence():
    worlds = make_worlds(cars=1)
    with pytest.raises(UsageError, match="before reset"):
        worlds.step(np.zeros((1, 1, 2)))
    worlds.reset(seed=0)
    with pytest.raises(UsageError, match="wrong shape"):
        worlds.step(np.zeros((1, 2, 2)))
    with pytest.raises(UsageError, match="finite"):
        worlds.step(np.full((1, 1, 2), np.nan))


def test_neighboring_lanes_point_at_each_other():
    tables = road_tables(make_road("straight"))
    middle = tables.first[1] + tables.num_rows[1] // 2
    assert tables.left[middle] == 2 and tables.right[middle] == 0
    assert tables.left[tables.first[3]] == -1 and tables.right[tables.first[0]] == -1


@pytest.mark.slow
@pytest.mark.parametrize(("policy", "low", "high"), [("none", 0.0, 0.02), ("random", 0.05, 0.15)])
def test_sanity_bands_of_an_idm_ego_on_the_straight_road(policy, low, high):
    worlds = make_worlds(n_worlds=500)
    records = drive_episodes(worlds, no_attack if policy == "none" else random_policy(0), seed=0)
    assert low <= np.mean([r.outcome.is_failure for r in records]) <= high
