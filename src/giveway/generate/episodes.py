"""Driving whole episodes and keeping everything: tracks, actions, how it ended and why."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from giveway.core.arrays import BoolArray, FloatArray, IntArray
from giveway.generate.objective.arrays import Fact
from giveway.generate.objective.verdicts import tracks_of
from giveway.generate.protocol import EpisodeRecord, Outcome, Scenes
from giveway.generate.worlds import Worlds

Policy = Callable[[Worlds, NDArray[np.float32]], "FloatArray | IntArray"]
"""From worlds and what their cars see (W, k, o) to actions (W, k, 2) or (W, k)."""


def no_attack(worlds: Worlds, seen: NDArray[np.float32]) -> FloatArray | IntArray:
    """Ordinary drivers: follow the car ahead, keep the lane."""
    return worlds.natural_actions()


def random_policy(seed: int) -> Policy:
    """Actions drawn evenly and independently at each step."""
    rng = np.random.default_rng(seed)

    def act(worlds: Worlds, seen: NDArray[np.float32]) -> FloatArray | IntArray:
        shape = (worlds.n_worlds, worlds.n_cars)
        if worlds.n_actions:
            return rng.integers(0, worlds.n_actions, shape)
        return rng.uniform(-1.0, 1.0, (*shape, 2))

    return act


def replayed(records: list[EpisodeRecord]) -> Policy:
    """The actions of recorded episodes, one per world; ordinary driving after their end."""

    def act(worlds: Worlds, seen: NDArray[np.float32]) -> FloatArray | IntArray:
        actions: Any = worlds.natural_actions()
        for w, record in enumerate(records):
            step = int(worlds.state.tick[w])
            if step < len(record.actions):
                given = record.actions[step]
                known = np.isfinite(given).all(axis=-1)
                actions[w, known] = given[known] if actions.ndim == 3 else given[known, 0].astype(np.int64)
        return actions

    return act


def drive_episodes(
    worlds: Worlds, policy: Policy, *, scenes: Scenes | None = None, seed: int = 0
) -> list[EpisodeRecord]:
    """Drive one episode in each world to its end.

    Args:
        worlds: reset by this call.
        policy: of the learning cars.
        scenes: (W,) where they start; drawn from ``seed`` if None.
        seed: of that draw.

    Returns:
        One record per world.
    """
    seen = worlds.reset(scenes, seed=seed)
    states, there = [worlds.logged()], [worlds.state.present.copy()]
    actions: list[FloatArray] = []
    rewards: list[FloatArray] = []
    active: list[BoolArray] = []
    done = np.zeros(worlds.n_worlds, dtype=np.bool_)
    lengths = np.zeros(worlds.n_worlds, dtype=np.int64)
    while not done.all():
        chosen = policy(worlds, seen)
        after = worlds.step(chosen)
        seen = after.observations
        lengths += ~done
        done = after.done
        states.append(worlds.logged())
        there.append(worlds.state.present.copy())
        actions.append(np.array(chosen, dtype=np.float64).reshape(worlds.n_worlds, worlds.n_cars, -1))
        rewards.append(after.rewards)
        active.append(after.active)
    all_states, all_there = np.stack(states, axis=1), np.stack(there, axis=1)
    all_actions, all_rewards = np.stack(actions, axis=1), np.stack(rewards, axis=1)
    all_actions = np.where(np.stack(active, axis=1)[..., None], all_actions, np.nan)
    return [
        _record(worlds, w, int(lengths[w]), all_states[w], all_there[w], all_actions[w], all_rewards[w])
        for w in range(worlds.n_worlds)
    ]


def _record(
    worlds: Worlds,
    w: int,
    steps: int,
    states: FloatArray,
    there: BoolArray,
    actions: FloatArray,
    rewards: FloatArray,
) -> EpisodeRecord:
    facts = worlds.judged.facts[w]
    car_steps = max(float(facts[Fact.CAR_STEPS]), 1.0)
    assert worlds.scenes is not None
    return EpisodeRecord(
        scene=worlds.scenes.select(slice(w, w + 1)),
        tracks=tracks_of(
            states[: steps + 1].swapaxes(0, 1), there[: steps + 1].swapaxes(0, 1), worlds.rules.size, worlds.ids
        ),
        actions=actions[:steps],
        rewards=rewards[:steps],
        outcome=Outcome(int(worlds.judged.outcome[w])),
        ending=worlds.ending(w),
        min_ttc_s=float(facts[Fact.MIN_TTC]),
        min_escape_ratio=float(facts[Fact.MIN_ESCAPE]),
        near_miss=bool(facts[Fact.NEAR_MISS] > 0),
        infeasible_share=float(facts[Fact.INFEASIBLE_STEPS]) / car_steps,
        off_road_share=float(facts[Fact.OFF_ROAD_STEPS]) / car_steps,
        responsibility_per_100_s=100.0 * float(facts[Fact.CULPABLE_STEPS]) / car_steps,
        unnaturalness=float(facts[Fact.UNNATURAL]) / car_steps,
        finding=worlds.findings.get(w, ""),
    )
