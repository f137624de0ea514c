"""Checks that every kind of worlds must pass; run them on your own roads and egos."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np

from giveway.core.arrays import FloatArray, IntArray
from giveway.core.log import Grade
from giveway.generate.protocol import GRADES, Outcome, Transition
from giveway.generate.worlds import Worlds


def check_worlds(make: Callable[[int], Worlds], *, steps: int = 30, seed: int = 3) -> None:
    """Raise AssertionError, with a sentence, where worlds break the contract.

    Args:
        make: worlds of a given number, all of one kind.
        steps: how long to drive.
        seed: of scenes and actions.
    """
    batch = make(3)
    try:
        seen = batch.reset(seed=seed)
        assert seen.dtype == np.float32, "observations are 32-bit floats"
        assert seen.shape == (3, batch.n_cars, batch.observation_size), "observations are (W, k, o)"
        assert batch.scenes is not None
        scenes = batch.scenes
        actions = _actions(batch, steps, seed)
        driven = [batch.step(a) for a in actions]
        for after in driven:
            _check_transition(after)
        _check_frozen(driven)
        again = make(3)
        again.reset(seed=seed)
        for after, expected in zip((again.step(a) for a in actions), driven, strict=True):
            _assert_same(after, expected, slice(None), "the same seed and actions give the same episodes")
        again.close()
        alone = make(1)
        alone.reset(scenes.select(slice(1, 2)), seed=0)
        for action, expected in zip(actions, driven, strict=True):
            _assert_same(
                alone.step(action[1:2]), expected, slice(1, 2), "a world does not depend on the others in its batch"
            )
        alone.close()
        untouched = batch.state.car[[0, 2]].copy()
        batch.reset(seed=seed + 1, worlds=np.array([False, True, False]))
        assert (batch.state.car[[0, 2]] == untouched).all(), "a reset touches only the worlds it names"
        assert batch.judged.outcome[1] == Outcome.RUNNING, "a world runs after its reset"
    finally:
        batch.close()


def _actions(worlds: Worlds, steps: int, seed: int) -> list[FloatArray | IntArray]:
    rng = np.random.default_rng(seed)
    shape = (worlds.n_worlds, worlds.n_cars)
    if worlds.n_actions:
        return [rng.integers(0, worlds.n_actions, shape) for _ in range(steps)]
    return [rng.uniform(-1.0, 1.0, (*shape, 2)) for _ in range(steps)]


def _check_transition(after: Transition) -> None:
    assert np.isfinite(after.observations).all(), "observations are finite"
    assert np.isfinite(after.rewards).all(), "rewards are finite"
    assert ((after.escape_ratio >= 0) & (after.escape_ratio <= 1)).all(), "the escape ratio is a share"
    timed_out = after.outcome == Outcome.TIME_OUT
    assert (after.truncated == timed_out).all(), "exactly the time-outs are truncated"
    over = after.done & ~timed_out
    assert after.terminated[over].all(), "a world that ended by anything but time is terminal for all its cars"
    failed = after.outcome >= Outcome.COLLISION
    graded = np.isin(after.grade, [GRADES.index(grade) for grade in (Grade.A, Grade.B, Grade.C, Grade.D)])
    assert (graded == failed).all(), "exactly the failures have a grade from A to D"


def _check_frozen(driven: list[Transition]) -> None:
    for earlier, later in itertools.pairwise(driven):
        over = earlier.done
        assert (later.rewards[over] == 0).all(), "nothing is earned after the end"
        assert not later.active[over].any(), "nobody is active after the end"
        assert (later.outcome[over] == earlier.outcome[over]).all(), "an outcome stays until the reset"


def _assert_same(one: Transition, other: Transition, rows: slice, claim: str) -> None:
    assert (one.observations == other.observations[rows]).all(), claim
    assert (one.rewards == other.rewards[rows]).all(), claim
    assert (one.outcome == other.outcome[rows]).all(), claim
