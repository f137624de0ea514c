"""Pushes add to actions, nothing else; what they changed is remembered and used."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from giveway.generate.campaign import Campaign, run_campaign
from giveway.generate.drivers.cars import baseline
from giveway.generate.driving import drive_scenes
from giveway.generate.experiment import known_test, result_cell
from giveway.generate.perturbation import LARGEST, STEPS, Memory, Moment, Perturbation, Push
from giveway.generate.worlds import Worlds, WorldSettings

SETTINGS = WorldSettings(road="straight", ego="idm", actions="lateral")
MOMENT = Moment(begin=20, cars=(0, 2), places=((8.0, 3.5), (2.0, -3.5)))


def push(size: float, moment: Moment = MOMENT) -> Push:
    return Push(twin=0, moment=moment, delta=((size, 0.0), (0.0, -size)))


@pytest.fixture(scope="module")
def drives():
    """The same eight scenes without the layer, and with pushes of some sizes."""
    worlds = Worlds(SETTINGS, n_worlds=8)
    scenes, _ = worlds.space.sample(8, seed=4)

    def drive(layer):
        driver = baseline("random_actions")
        return drive_scenes(worlds, scenes, driver, seeds=list(range(8)), perturbation=layer)

    found = {size: drive(Perturbation(3.5, [push(size)] * 8)) for size in (0.0, 0.3)}
    found[None] = drive(None)
    yield found
    worlds.close()


def motion(driven):
    return [(one.record.actions.tobytes(), one.record.tracks.xy.tobytes(), str(one.record.outcome)) for one in driven]


def test_a_push_of_no_size_leaves_every_byte_as_it_is(drives):
    assert motion(drives[0.0]) == motion(drives[None])
    assert motion(drives[0.3]) != motion(drives[None])


def test_a_push_adds_a_bump_to_the_actions_of_its_cars_and_nothing_before_it(drives):
    seen = 0
    for plain, pushed in zip(drives[None], drives[0.3], strict=True):
        first, second = plain.record.actions, pushed.record.actions
        np.testing.assert_array_equal(first[:20], second[:20])
        if min(len(first), len(second)) > 20 + STEPS:
            # random actions do not depend on what they see: the difference is the push, where it was not clipped
            change = second[20 : 20 + STEPS] - first[20 : 20 + STEPS]
            bump = np.sin(np.pi * (np.arange(STEPS) + 0.5) / STEPS) ** 2
            free = np.abs(first[20 : 20 + STEPS, 0, 0] + 0.3 * bump) < 1.0
            np.testing.assert_allclose(change[free, 0, 0], (0.3 * bump)[free], atol=1e-12)
            assert np.abs(change[:, 1]).max() == 0.0
            seen += int(free.sum())
    assert seen > 20


def test_the_moment_is_the_failure_or_the_smallest_time_to_collision():
    layer = Perturbation(3.5, [None, None, None])
    driving = np.ones((3, 2), dtype=bool)
    for step in range(40):
        places = np.array([[[40.0 - step, 0.0], [90.0, 0.0]]] * 3)
        ttc = np.array([5.0 - 0.1 * min(step, 30), math.inf, math.inf])
        layer.apply(step, np.zeros((3, 2, 2)), places, driving, ttc)
    near, failed, quiet = layer.moments(np.array([False, True, False]), [40, 40, 40])
    assert near == Moment(begin=30 - STEPS, cars=(0,), places=((40.0 - 15.0, 0.0),))
    assert failed == Moment(begin=39 - STEPS, cars=(0,), places=((40.0 - 24.0, 0.0),))
    assert quiet is None
    assert layer.triggers == [1, 1, 1]


def test_pushes_have_at_most_the_largest_size():
    memory = Memory()
    for n in range(50):
        delta = memory.choose(MOMENT, np.random.default_rng(n))
        assert np.linalg.norm(delta, axis=1).max() <= LARGEST + 1e-12
        memory.file(replace(push(0.0), delta=tuple(map(tuple, delta))), 0.1 if n % 7 == 0 else 0.0)


def searched(memory: Memory, *, remembers: bool, tries: int = 120) -> int:
    """Successes where only one kind of push helps, at one kind of place."""
    rng, found = np.random.default_rng(7), 0
    goal = np.array([0.15, -0.2])
    for _ in range(tries):
        moment = Moment(begin=0, cars=(0,), places=((float(rng.uniform(4, 12)), 3.5),))
        delta = memory.choose(moment, rng)[0]
        helps = bool(np.linalg.norm(delta - goal) < 0.06)
        found += helps
        if remembers:
            memory.file(Push(twin=0, moment=moment, delta=(tuple(delta.tolist()),)), 0.4 if helps else 0.0)
    return found


def test_a_memory_of_what_helped_finds_more_than_none():
    with_memory, without = searched(Memory(), remembers=True), searched(Memory(), remembers=False)
    assert without < 15, "a twenty-fifth of the disc helps"
    assert with_memory > 3 * max(without, 1)


def test_what_gained_nothing_is_avoided():
    memory = Memory()
    for x in np.linspace(-0.3, 0.0, 7):
        for y in np.linspace(-0.3, 0.3, 9):
            one = Moment(begin=0, cars=(0,), places=((6.0, 0.0),))
            memory.file(Push(twin=0, moment=one, delta=((float(x), float(y)),)), 0.0)
    chosen = [memory.choose(one, np.random.default_rng(n))[0, 0] for n in range(20)]
    assert min(chosen) > 0.0


CAMPAIGN = Campaign(search="random", perturb=True, budget=120, generation=10, seed=2)


@pytest.fixture(scope="module")
def tests():
    return list(run_campaign(SETTINGS, baseline("cut_in"), CAMPAIGN))


def test_pushed_tests_are_their_twins_up_to_the_push(tests):
    pushed = [test for test in tests if test.push is not None]
    assert len(pushed) >= 10
    for test in pushed:
        twin = tests[test.push.twin]
        assert twin.push is None
        assert not twin.result.counts, "what has failed in a way that counts is not driven again"
        assert test.result.genes == twin.result.genes
        begin = test.push.moment.begin
        np.testing.assert_array_equal(twin.record.actions[:begin], test.record.actions[:begin])
        assert not np.array_equal(twin.record.tracks.xy, test.record.tracks.xy, equal_nan=True)


def test_a_campaign_with_pushes_goes_on_from_what_is_known(tests):
    kept = {test.result.number: known_test(result_cell(test, tracks=False).info) for test in tests}
    again = run_campaign(SETTINGS, baseline("cut_in"), CAMPAIGN, known=lambda n: kept[n] if n < 77 else None)
    for before, now in zip(tests, again, strict=True):
        assert str(now.result) == str(before.result)
        assert (now.push, now.moment) == (before.push, before.moment)


def test_pushes_that_do_not_pay_cost_a_sixth_at_most(tests):
    """Against constant speed most scripted tests count, so that what is left to push finds less."""
    world = replace(SETTINGS, ego="constant_speed")
    found = list(run_campaign(world, baseline("cut_in"), replace(CAMPAIGN, budget=240)))
    pushed = [test for test in found if test.push is not None]
    assert 10 <= len(pushed) <= 40
    assert np.mean([t.result.counts for t in pushed]) < np.mean([t.result.counts for t in found if t.push is None])
