"""Minds: decisions of vehicles that are moved from outside."""

from dataclasses import replace

import numpy as np
import pytest

from giveway.predictors.commotions.agent import first_sight, new_minds, pair_key, theta_table, think
from giveway.predictors.commotions.config import Configuration
from giveway.predictors.commotions.kernel.agents import LOOK, OTHER, SLOTS, THINK
from giveway.predictors.commotions.parameters import DT_S, Box, Derived
from giveway.predictors.commotions.reference import rollout as reference
from giveway.predictors.commotions.reference.decision import Snapshot
from giveway.predictors.commotions.reference.rollout import roll_out
from giveway.predictors.commotions.simulation import simulate_encounters

THETAS = [Box.full().decode(np.random.default_rng(k).uniform(0.2, 0.8, 14)) for k in range(3)]


def scenes(golden, num):
    rng = np.random.default_rng(0)
    one = golden.scenario(*golden.S3, 15)
    return replace(
        one,
        chi=one.chi + np.stack([rng.uniform(-10, 20, num), rng.uniform(-6, 4, num)], axis=1),
        v=one.v + rng.uniform(0, 2, (num, 2)),
        half_extent=np.repeat(one.half_extent, num, axis=0),
        num_steps=np.full(num, 15),
        key=np.arange(num, dtype=np.uint64),
    )


class World:
    """E and T of every encounter are minds 2 n and 2 n + 1, each with the other as its only partner."""

    def __init__(self, encounters, thetas, config, *, key=None):
        self.num = num = encounters.num_samples
        self.table = theta_table(list(dict.fromkeys(thetas)), config)
        rows = [list(dict.fromkeys(thetas)).index(theta) for theta in thetas]
        self.minds, self.pairs = new_minds(self.table, theta=rows, jerk=[config.jerk] * 2 * num)
        self.rows = np.arange(2 * num) * SLOTS
        self.chi, self.v, self.c = (
            x.reshape(-1).copy() for x in (encounters.chi, encounters.v, encounters.half_extent)
        )
        self.a, self.step = np.zeros(2 * num), 0
        base = encounters.base_speed(config).reshape(-1)
        self.own_free = self.table.v_free_rel[rows] * base
        self.other = np.arange(2 * num) ^ 1
        self.other_free = self.table.v_free_rel[rows] * base[self.other]
        self.pairs.task[self.rows] = THINK
        self.pairs.other_jerk[self.rows] = config.jerk
        self.pairs.priority[self.rows] = np.tile([1, -1], num)
        self.pairs.key[self.rows] = np.repeat(encounters.key, 2) if key is None else key
        self.look()
        first_sight(self.pairs, self.rows, self.minds, self.table)

    def look(self):
        own = np.stack([self.chi, self.v, self.a, self.c, self.own_free], axis=1)
        other = np.stack([self.chi, self.v, self.a, self.c], axis=1)[self.other]
        self.pairs.scene[self.rows] = np.concatenate([own, other, self.other_free[:, None]], axis=1)
        self.pairs.counter[self.rows, 1] = 2 * self.step + np.tile([0, 1], self.num)

    def decide(self, *, seed=9, noise=None, threads=1):
        self.look()
        if noise is not None:
            noise = np.repeat(noise, SLOTS, axis=0)
        think(self.minds, self.pairs, self.table, seed=seed, noise=noise, threads=threads)
        return self.minds.accel.copy()

    def move(self, accel):
        self.chi = self.chi - np.maximum(0, self.v * DT_S + 0.5 * accel * DT_S**2)
        self.v = np.maximum(0, self.v + accel * DT_S)
        self.a, self.step = accel, self.step + 1


@pytest.mark.parametrize("name", ["CM_AIJ11", "CM_IIA12"])
def test_two_minds_in_closed_loop_drive_like_the_simulated_pair(golden, name):
    """Stepping both cars from outside gives the paths of the batch simulation, noise included."""
    config, theta = Configuration.from_name(name), Box.full().decode(np.full(14, 0.45))
    encounters = scenes(golden, 21)
    expected = simulate_encounters(encounters, theta, config, num_paths=1, seed=9, precision="float64")
    world = World(encounters, [theta] * 42, config)
    t_accept = np.full(21, np.nan)
    for step in range(15):
        before = (world.chi - world.c)[1::2]
        world.move(world.decide())
        after = (world.chi - world.c)[1::2]
        crossing = (after < 0) & np.isnan(t_accept)
        t_accept[crossing] = DT_S * (step + before[crossing] / (before - after)[crossing])
    accepted = ~np.isnan(t_accept)
    np.testing.assert_array_equal(accepted, expected.accepted[:, 0])
    assert 0 < accepted.sum() < 21
    np.testing.assert_allclose(t_accept[accepted], expected.t_accept_s[accepted, 0], atol=1e-9)


@pytest.mark.parametrize("run", ["R1", "R2", "R3", "R4", "R5", "R6"])
def test_minds_meet_the_golden_rollouts(golden, run):
    config, scene, theta, noise, steps, _, _ = golden.RUNS[run]
    rows = golden.trace(run)
    world = World(golden.scenario(*scene, steps), [theta] * 2, config)
    for i, row in enumerate(rows):
        np.testing.assert_allclose(world.chi, row[[1, 4]], atol=1e-6)
        accel = world.decide(noise=np.concatenate([noise(i, 0), noise(i, 1)]))
        accel = accel if config.interactive else np.array([0.0, accel[1]])
        np.testing.assert_allclose(accel, row[[3, 6]], atol=1e-6)
        np.testing.assert_allclose(world.pairs.percept[world.rows[1], 1:], row[9:11], atol=1e-6)
        world.move(accel)


def test_a_mind_depends_on_its_own_parameters_only(golden):
    """Minds of three θ mixed, alone, in another order and in two threads: the same bits."""
    config, encounters = Configuration.from_name("CM_AIJ12"), scenes(golden, 80)
    thetas = [THETAS[k] for k in np.random.default_rng(1).integers(0, 3, 160)]
    order = np.random.default_rng(2).permutation(80)
    shuffled_thetas = [thetas[2 * n + k] for n in order for k in (0, 1)]
    worlds = [World(encounters, thetas, config) for _ in range(2)]
    shuffled = World(encounters.take(order), shuffled_thetas, config)
    few = World(encounters.take(slice(3, 5)), thetas[6:10], config)
    for _ in range(6):
        mixed, threaded, other, part = (
            worlds[0].decide(), worlds[1].decide(threads=2), shuffled.decide(), few.decide()
        )  # fmt: skip
        np.testing.assert_array_equal(mixed, threaded)
        np.testing.assert_array_equal(mixed.reshape(-1, 2)[order].ravel(), other)
        np.testing.assert_array_equal(mixed[6:10], part)
        for world, accel in ((worlds[0], mixed), (worlds[1], threaded), (shuffled, other), (few, part)):
            world.move(accel)
    assert len(np.unique(mixed)) > 20


@pytest.mark.parametrize("jerk", [True, False])
@pytest.mark.parametrize("other_jerk", [True, False])
@pytest.mark.parametrize("priority", [1, 0, -1])
def test_the_other_is_valued_with_its_own_control_and_duty(golden, jerk, other_jerk, priority):
    """Against the reference, which takes the control of the other as an argument."""
    config = Configuration(adjusted_speed=False, interactive=True, jerk=jerk)
    encounters, theta = scenes(golden, 40), THETAS[0]
    world = World(encounters, [theta] * 80, config)
    rng, u_ny = np.random.default_rng(3), Derived.of(theta).u_ny
    world.a = rng.uniform(-2, 2, 80)
    world.pairs.priority[world.rows] = priority
    world.pairs.other_jerk[world.rows] = other_jerk
    noise = rng.normal(size=(80, 3))
    accel = world.decide(noise=noise)
    penalty = {1: (0.0, u_ny), 0: (0.0, 0.0), -1: (u_ny, 0.0)}[priority]
    own = Snapshot(chi=world.chi, v=world.v, a=world.a, c=world.c, v_free=world.own_free, penalty=penalty[0])
    other = Snapshot(
        chi=world.chi[world.other],
        v=world.v[world.other],
        a=world.a[world.other],
        c=world.c[world.other],
        v_free=world.other_free,
        penalty=penalty[1],
    )
    mind = reference.new_mind(other, theta, len(config.action_set))
    mind, thought = reference.think(mind, own, other, noise, theta, config, other_jerk=other_jerk)
    np.testing.assert_allclose(accel, mind.plan[:, 0], atol=1e-9)
    np.testing.assert_allclose(
        world.minds.advantage, thought.values - thought.values[:, [world.table.zero_action]], atol=1e-9
    )
    np.testing.assert_array_equal(world.pairs.possible[world.rows], thought.behaviors.valid)
    sure = thought.behaviors.valid.any(axis=1)
    np.testing.assert_allclose(world.pairs.p_first[world.rows][sure], thought.probability[sure, :, 0], atol=1e-9)
    np.testing.assert_allclose(world.pairs.percept[world.rows, 0], thought.observed, atol=1e-9)
    assert thought.act.any()


def test_of_two_others_the_worse_counts(golden):
    """m(u) = min over both; the same other twice counts once, and one that is only looked at not at all."""
    config, encounters = Configuration.from_name("CM_AIJ11"), scenes(golden, 30)
    theta = [replace(THETAS[0], delta_v_th_rel=1e9)] * 60  # nobody acts and forgets
    alone, twice, looked, both = (World(encounters, theta, config) for _ in range(4))
    alone.decide()
    for world, task in ((twice, THINK), (looked, LOOK), (both, THINK)):
        for name in ("scene", "filter", "key", "counter", "other_jerk", "priority"):
            table = getattr(world.pairs, name)
            table[world.rows + 2] = table[world.rows]
        world.pairs.task[world.rows + 2] = task
        if world is both:
            world.pairs.scene[world.rows + 2, OTHER] += 4.0
            world.pairs.counter[world.rows + 2, 0] = 1
            first_sight(world.pairs, world.rows + 2, world.minds, world.table)
    for world in (twice, looked):
        world.look()
        world.pairs.counter[world.rows + 2, 1] = world.pairs.counter[world.rows, 1]
        world.decide()
        np.testing.assert_array_equal(world.minds.value, alone.minds.value)
    both.decide()
    worth = both.pairs.worth.reshape(-1, SLOTS, 5)[:, [0, 2]]
    f = Derived.of(theta[0]).f
    np.testing.assert_allclose(both.minds.value, f * worth.min(axis=1), atol=1e-12)
    assert (worth[:, 0] < worth[:, 1]).any()
    assert (worth[:, 1] < worth[:, 0]).any()
    np.testing.assert_array_equal(looked.pairs.filter[looked.rows + 2], looked.pairs.filter[looked.rows])


def test_names_of_streams_tell_who_looks_at_whom():
    keys = np.arange(1, 5, dtype=np.uint64)
    names = pair_key(keys[:, None], keys[None, :])
    assert len(np.unique(names)) == 16


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("name", ["CM_AIJ11", "CM_IIA12"])
def test_without_a_scale_every_value_is_squashed_to_its_sign(golden, name, sign):
    """The limit u_0,rel = ±0, which a deployed logarithm of 1 is, in the kernel as in the reference."""
    config, encounters = Configuration.from_name(name), scenes(golden, 21)
    theta = replace(Box.full().decode(np.full(14, 0.45)), t_evidence=DT_S)  # what is accumulated is the last value
    steep = replace(theta, u_0_rel=sign * 0.0, delta_v_th_rel=sign * 1e9)  # nobody acts and forgets
    thought = roll_out(encounters, steep, config, lambda step, vehicle: np.zeros((21, 3))).thoughts[0][1]
    believed = np.where(thought.behaviors.valid[:, None, :], thought.other_value, 0.0)
    assert np.isin(believed, [-1.0, 0.0, 1.0]).all()
    assert {-1.0, 1.0} <= set(believed.ravel())

    world = World(encounters, [steep] * 42, config)
    world.decide(noise=np.zeros((42, 3)))
    np.testing.assert_array_equal(world.pairs.belief[world.rows[1::2]], believed)
    np.testing.assert_allclose(world.minds.value[1::2], thought.values, atol=1e-12)


@pytest.mark.parametrize("precision", ["float64", "float32"])
@pytest.mark.parametrize("name", ["CM_AIJ11", "CM_IIA12"])
def test_without_a_scale_simulations_have_results(golden, name, precision):
    steep = replace(Box.full().decode(np.full(14, 0.45)), u_0_rel=0.0)
    scene = scenes(golden, 21)
    scene = replace(scene, v=scene.v * (np.arange(21) % 3 > 0)[:, None])  # some stand
    found = simulate_encounters(scene, steep, Configuration.from_name(name), num_paths=8, seed=0, precision=precision)
    assert np.isfinite(found.t_accept_s).all()
