"""Cars of a case driven by minds."""

import re
from dataclasses import fields, replace

import numpy as np
import pytest

from giveway.core.case import Role
from giveway.core.tracks import AgentKind
from giveway.drive.replay import drive_document
from giveway.predictors.commotions.agent import theta_table
from giveway.predictors.commotions.config import Configuration
from giveway.predictors.commotions.population import Population
from giveway.sim.drivers import cognitive_crossing
from giveway.sim.drivers.cognitive import Cognitive
from giveway.sim.drivers.cognitive_control import BARE, MIND, Rules
from giveway.sim.drivers.cognitive_crossing import cross
from giveway.sim.log_files import read_log, write_log
from giveway.sim.prepare import prepare
from giveway.sim.recording import PredictionLog, drive_log
from giveway.sim.simulation import Simulation
from giveway.sim.state import PAST
from giveway.testing.drive_scenes import crossing_case, crossing_scene

CONFIG = Configuration.from_name("CM_IIJ11")


def minds_case(*, replayed=(), name="crossing", desired_speed_mps=10.0):
    """Everybody has a mind but who is on replay."""
    case = crossing_case()
    cars = tuple(
        replace(car, role=Role.REACTIVE if car.id != "ego" else Role.EGO, driver="cognitive")
        for car in case.cars
        if car.id not in replayed
    )
    return replace(case, id=name, cars=cars, desired_speed_mps=desired_speed_mps)


def population(*thetas):
    return Population(config=CONFIG, bounds_mps2=(-8.0, 3.0), theta=thetas, weight=np.ones(len(thetas)))


def drive(cases, driver, *, scene=None, **options):
    scene = crossing_scene() if scene is None else scene
    simulation = Simulation([prepare(case, scene) for case in cases], drivers={"cognitive": driver}, **options)
    while not simulation.done:
        simulation.step()
    return simulation


def heads_of(simulation):
    return next(own for driver, _, own in simulation._drivers if isinstance(driver, Cognitive))


def test_cars_of_a_case_think_about_each_other(world):
    """Ego from the west and the other from the south are partners; the follower behind the ego thinks later."""
    driver = Cognitive(population(world.FITTED))
    simulation = Simulation([prepare(minds_case(), crossing_scene())], drivers={"cognitive": driver})
    simulation.step()
    heads = heads_of(simulation)
    names = [str(simulation.cases[0].ids[i]) for i in heads.car]
    partner = dict(zip(names, heads.cognition.attention.partner.tolist(), strict=True))
    assert partner["ego"] >= 0
    assert partner["other"] >= 0
    regimes = dict(zip(names, heads.cognition.control.regime.tolist(), strict=True))
    assert regimes["ego"] == MIND
    rows = heads.cognition.pairs.scene.reshape(len(names), -1, 10)
    ego, other = names.index("ego"), names.index("other")
    np.testing.assert_allclose(rows[ego, partner["ego"], [3, 8]], 0.5 * (1.8 + 4.5), atol=1e-3)
    np.testing.assert_allclose(rows[ego, partner["ego"], :3], rows[other, partner["other"], 5:8], atol=1e-9)


def test_minds_of_a_case_drive_as_two_minds_at_a_crossing(world, monkeypatch):
    """The same noise gives the same motion in the simulator, on its ticks of 0.1 s, and over plain arrays."""
    driver = Cognitive(population(world.ARBITRARY), rules=BARE)
    case = replace(minds_case(), cars=tuple(car for car in minds_case().cars if car.id != "follower"))
    scene = crossing_scene(other_lead_m=3.0)
    keep = np.array([str(i) != "follower" for i in scene.tracks.ids])
    scene = replace(scene, tracks=scene.tracks.select(np.flatnonzero(keep)))
    simulation = Simulation([prepare(case, scene)], drivers={"cognitive": driver}, seed=3)
    ids = [str(i) for i in simulation.cases[0].ids]
    ego, other = ids.index("ego"), ids.index("other")
    begin = simulation.state.lane[0, [ego, other], 0].copy()
    heads = heads_of(simulation)
    span = heads.cognition.conflicts.span[0]
    rows = [int(np.flatnonzero(heads.car == i)[0]) for i in (ego, other)]
    keys = heads.cognition.conflicts.key[rows]
    start = world.approach(1, 0.0, simulation.state.car[0, [ego, other], 3], priority=0, area_m=span[1] - span[0])
    object.__setattr__(start, "length_m", np.full((1, 2), 4.5))
    front = (span if heads.car[0] == ego else span[[2, 3, 0, 1]])[[0, 2]] - begin - 2.25
    object.__setattr__(start, "front_m", front[None])
    heads.cognition.conflicts.priority[:] = 0
    minds_of = cognitive_crossing.minds_of

    def with_keys(*args):
        made = minds_of(*args)
        made.conflicts.key[:] = keys
        return made

    monkeypatch.setattr(cognitive_crossing, "minds_of", with_keys)
    expected = cross(start, theta_table([world.ARBITRARY], CONFIG), rules=BARE, decisions=15, seed=3)
    for decision in range(15):
        place = simulation.state.lane[0, [ego, other], 0] - begin
        if (expected.chi[0, decision] < -expected.half_extent[0]).any():
            break
        np.testing.assert_allclose(place, expected.chi[0, 0] - expected.chi[0, decision], atol=1e-9)
        simulation.step()
        simulation.step()
    assert decision > 8


def test_a_case_does_not_depend_on_its_batch(world):
    driver = Cognitive(population(world.FITTED, world.ARBITRARY))
    cases = [minds_case(name=f"case-{k}") for k in range(9)]
    together = drive(cases, driver, seed=5)
    threaded = drive(cases, Cognitive(population(world.FITTED, world.ARBITRARY), threads=2), seed=5, threads=2)
    np.testing.assert_array_equal(together.state.log, threaded.state.log)
    for k in (0, 4):
        alone = drive([cases[k]], driver, seed=5)
        np.testing.assert_array_equal(alone.state.log[0], together.state.log[k])
    assert len({together.state.log[k, 0, PAST + 60].tobytes() for k in range(9)}) > 3  # noise and θ differ
    other = drive(cases, driver, seed=5, roll_out=1)
    assert not np.array_equal(other.state.log, together.state.log, equal_nan=True)


def test_minds_see_cars_on_replay(world):
    """The recorded car comes from the south; the ego's mind has it as a partner and knows its recorded place."""
    driver = Cognitive(population(world.FITTED))
    simulation = Simulation(
        [prepare(minds_case(replayed=("other", "follower")), crossing_scene())], drivers={"cognitive": driver}
    )
    for _ in range(5):
        simulation.step()
    heads = heads_of(simulation)
    slot = heads.cognition.attention.partner[0]
    scene = heads.cognition.pairs.scene.reshape(1, -1, 10)[0, slot]
    own, other = scene[:5], scene[5:]
    assert own[0] == pytest.approx(other[0], abs=0.5)  # they meet in the recording
    assert other[1] == pytest.approx(8.0)
    assert other[2] == pytest.approx(0.0, abs=1e-6)


def test_areas_of_traffic_that_gives_way_are_those_that_minds_find_alone(world):
    """With and without reacting traffic: the same conflicts, partner and place of the recorded car."""
    found = []
    for reacts in (False, True):
        prepared = prepare(minds_case(replayed=("other", "follower")), crossing_scene(), reacts=reacts)
        simulation = Simulation([prepared], drivers={"cognitive": Cognitive(population(world.FITTED))})
        for _ in range(7):
            simulation.step()
        heads = heads_of(simulation)
        slot = heads.cognition.attention.partner[0]
        assert slot >= 0
        found.append((heads.cognition.conflicts, heads.cognition.pairs.scene[slot]))
    np.testing.assert_array_equal(found[0][0].other, found[1][0].other)
    np.testing.assert_array_equal(found[0][0].priority, found[1][0].priority)
    np.testing.assert_allclose(np.diff(found[0][0].span[:, :2]), np.diff(found[1][0].span[:, :2]), atol=1e-6)
    np.testing.assert_allclose(found[0][1], found[1][1], atol=1e-6)


def test_a_pedestrian_may_have_a_mind(world):
    scene = crossing_scene()
    kind = scene.tracks.kind.copy()
    row = int(np.flatnonzero(scene.tracks.ids == "other")[0])
    kind[row] = AgentKind.PEDESTRIAN
    scene = replace(scene, tracks=replace(scene.tracks, kind=kind))
    simulation = drive([minds_case()], Cognitive(population(world.FITTED)), scene=scene)
    heads = heads_of(simulation)
    mind = int(np.flatnonzero(heads.car == list(simulation.cases[0].ids).index("other"))[0])
    assert heads.cognition.minds.jerk[mind] == 0
    assert heads.seen.base_speed[heads.car[mind]] == 1.5
    first = heads.cognition.conflicts.first
    assert (heads.cognition.conflicts.priority[first[mind] : first[mind + 1]] == 1).all()
    assert first[mind + 1] > first[mind]


def test_worlds_that_are_not_reset_keep_their_minds(world):
    driver = Cognitive(population(world.FITTED))
    simulation = Simulation([prepare(minds_case(name=f"c{k}"), crossing_scene()) for k in range(3)],
                            drivers={"cognitive": driver})  # fmt: skip
    for _ in range(9):
        simulation.step()
    before = heads_of(simulation)
    mine = np.zeros(simulation.static.driver.shape, dtype=np.bool_)
    mine[before.world, before.car] = True
    after = driver.reset(simulation.batch, mine, np.array([False, True, False]), before)
    stays = before.world != 1
    np.testing.assert_array_equal(after.cognition.control.accel[stays], before.cognition.control.accel[stays])
    np.testing.assert_array_equal(after.cognition.attention.partner[stays], before.cognition.attention.partner[stays])
    assert (after.cognition.attention.partner[~stays] == -1).all()
    assert not after.decided[~stays].any()


def test_a_car_without_conflicts_drives_at_its_free_speed(world):
    case = minds_case(replayed=("other", "follower"), desired_speed_mps=9.0)
    scene = crossing_scene()
    keep = np.flatnonzero(scene.tracks.ids == "ego")
    scene = replace(scene, tracks=scene.tracks.select(keep))
    simulation = drive([case], Cognitive(population(world.ARBITRARY), rules=Rules(guard=False)), scene=scene)
    speed = np.hypot(*simulation.state.log[0, 0, PAST : PAST + 60, 2:4].T)
    here = np.isfinite(speed)
    assert speed[here].max() == pytest.approx(9.0, abs=0.4)
    assert (np.diff(speed[here]) > -1e-9).all()


def test_what_minds_thought_is_kept_with_the_log(world, tmp_path):
    simulation = drive([minds_case()], Cognitive(population(world.FITTED)), seed=2)
    log = drive_log(simulation, 0, PredictionLog(), None, {"seed": 2})
    minds = log.minds
    assert minds is not None
    assert (minds.tick % 2 == 0).all()
    thinks = minds.partner >= 0
    assert 10 < thinks.sum() < len(thinks)
    np.testing.assert_array_equal(np.isfinite(minds.threshold), thinks)
    ids = log.tracks.ids.tolist()
    first = int(np.flatnonzero(thinks & (minds.agent == ids.index("ego")))[0])
    assert ids[minds.partner[first]] == "other"
    np.testing.assert_allclose(minds.area[first], [1000 - 0.9, 1000, 1000 + 0.9, 1000], atol=0.05)
    low, high = minds.ghost[first, 2:4], minds.ghost[first, 4:6]
    assert np.hypot(*(high - low)) == pytest.approx(2 * minds.deviation[first, 0], rel=0.05)
    assert abs(minds.ghost[first, 0] - 1000) < 0.01  # on the route of the other, which comes from the south
    np.testing.assert_allclose(minds.advantage[thinks][:, 2], 0.0)
    applied = np.diff(log.tracks.speed[ids.index("ego"), minds.tick[first] : minds.tick[first] + 3])
    np.testing.assert_allclose(applied, 0.1 * minds.accel[first], atol=1e-9)
    write_log(tmp_path / "log", log)
    again = read_log(tmp_path / "log")
    for field in fields(minds):
        np.testing.assert_array_equal(getattr(again.minds, field.name), getattr(minds, field.name))
    assert drive_log(drive([minds_case()], Cognitive(population(world.FITTED), keeps_thoughts=False), seed=2),
                     0, PredictionLog(), None, {"seed": 2}).digest == log.digest  # fmt: skip


def test_a_replay_tells_what_a_mind_expects(world):
    log = drive_log(drive([minds_case()], Cognitive(population(world.FITTED)), seed=2), 0, PredictionLog(), None, {})
    shown = drive_document(log, None)["minds"]
    assert {row["agent"] for row in shown} >= {"ego", "other"}
    row = next(row for row in shown if row["agent"] == "ego")
    assert row["partner"] == "other"
    assert len(row["p"]) == len(row["advantage"]) == len(row["actions"]) == 5
    assert re.fullmatch(
        r"ego (expects other to go (first|second) \(\d\.\d\d\)|sees other unable.*); .+", row["sentence"]
    )
