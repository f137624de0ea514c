"""Begin as a clone: a demonstrator drives first, the actors imitate it, and its last transitions fill the replay.

Failures that count are rare; a critic that has never seen one cannot point to it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from giveway.core.arrays import BoolArray
from giveway.core.seeds import seed_for, stream
from giveway.generate.learning.demonstrations import Demonstrations
from giveway.generate.learning.policy import Float32Array
from giveway.generate.learning.replay import Accumulator
from giveway.generate.learning.training import Tick

if TYPE_CHECKING:
    from giveway.generate.learning.training import Training

Tell = Callable[[str, int], None]
"""Progress: what is going on, and updates made in it."""

Demonstrator = Callable[[Any, Float32Array], Any]
"""From the worlds and what their cars see (W, k, o) to actions (W, k, a); may look at the worlds themselves."""

SHAKE = 0.1
"""Deviation of the noise on half of the demonstrator's actions, so that states beside its way are seen too."""

TELL_EVERY = 100
"""Updates between two words of progress."""

LONGER_AT_LAST = 3
"""How much more the clones are updated after the last part than after one of the others."""


@dataclass(slots=True)
class _Shown:
    """What was seen (k, o), what the demonstrator would have done (k, a), and who took part (k,), step by step."""

    seen: list[Float32Array] = field(default_factory=list[Float32Array])
    actions: list[Float32Array] = field(default_factory=list[Float32Array])
    active: list[BoolArray] = field(default_factory=list[BoolArray])


def warm_start(training: Training, demonstrator: Demonstrator, on_tick: Callable[[Tick], None] | None = None) -> float:
    """Drive ``warm_steps`` steps, clone the actors, and remember the transitions of the last part.

    In all parts but the first the clones drive half of the worlds; what is imitated is always what the demonstrator
    would do, also where a clone drives (Ross, Gordon and Bagnell 2011).

    Returns:
        Mean squared error of the clones on their last hundred batches.
    """
    config, shown = training.config, _Shown()

    def tell(stage: str, updates: int) -> None:
        if on_tick is not None:
            nan = float("nan")
            on_tick(Tick(steps=training.steps, updates=updates, noise=0.0, episodes=0, mean_return=nan, stage=stage))

    error, first = float("nan"), 0
    for part in range(config.clone_parts):
        first = len(shown.seen)
        _drive(training, demonstrator, part, shown, tell)
        error = _clone(training, part, shown, tell)
    training.learner.actor.target.copy_(training.learner.actor.theta.detach())
    if config.imitation:
        whole = np.concatenate(shown.active[first:]).all(axis=1)
        training.demonstrations = Demonstrations(
            torch.from_numpy(np.concatenate(shown.seen[first:])[whole]),
            torch.from_numpy(np.concatenate(shown.actions[first:])[whole]),
        )
    return error


def _drive(training: Training, demonstrator: Demonstrator, part: int, shown: _Shown, tell: Tell) -> None:
    worlds, config = training.worlds, training.config
    goal = config.warm_steps * (part + 1) // config.clone_parts
    memory = Accumulator(training.shape, worlds.n_worlds, config.n_step, config.gamma)
    rng = stream(training.seed, "shake", part)
    cloned = (np.arange(worlds.n_worlds) % 2 == 1) & (part > 0)
    observations = worlds.reset(seed=seed_for(training.seed, "warm", part, 0) % 2**31)
    resets = 0
    while training.steps < goal:
        wanted = np.clip(np.asarray(demonstrator(worlds, observations)), -1.0, 1.0).astype(np.float32)
        shaken = rng.random((worlds.n_worlds, 1, 1)) < 0.5
        taken = wanted + shaken * rng.normal(0.0, SHAKE, wanted.shape)
        if part:
            taken = np.where(cloned[:, None, None], training.policy().act(observations), taken)
        taken = np.clip(taken, -1.0, 1.0).astype(np.float32)
        moved = worlds.step(taken.astype(np.float64))
        done = moved.done
        if part == config.clone_parts - 1:
            training.buffer.add(
                memory.push(
                    observations, taken, moved.rewards, moved.terminated, moved.active, moved.observations, done
                )
            )
        training.observed.add(observations)
        training.rewarded.add(moved.rewards)
        shown.seen.append(observations.copy())
        shown.actions.append(wanted)
        shown.active.append(moved.active.copy())
        observations = moved.observations
        if done.any():
            resets += 1
            observations = worlds.reset(seed=seed_for(training.seed, "warm", part, resets) % 2**31, worlds=done)
        training.steps += worlds.n_worlds
        tell("watching", 0)


def _clone(training: Training, part: int, shown: _Shown, tell: Tell) -> float:
    learner, config = training.learner, training.config
    generator = torch.Generator().manual_seed(seed_for(training.seed, "clone", part) % 2**63)
    mean, deviation = (torch.from_numpy(a) for a in training.scaling())
    seen, actions, active = (
        torch.from_numpy(np.concatenate(parts)) for parts in (shown.seen, shown.actions, shown.active)
    )
    updates = config.clone_updates // (config.clone_parts - 1 + LONGER_AT_LAST)
    updates *= LONGER_AT_LAST if part == config.clone_parts - 1 else 1
    if updates == 0:
        return float("nan")
    adam = torch.optim.Adam([learner.actor.theta], lr=config.clone_rate, fused=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(adam, config.clone_rate, total_steps=updates + 1)
    losses: list[float] = []
    for update in range(updates):
        rows = torch.randint(len(seen), (config.batch,), generator=generator)
        x, wanted, weight = (seen[rows] - mean) / deviation, actions[rows].transpose(0, 1), active[rows].T
        squared = ((learner.act(x) - wanted) ** 2).mean(dim=2)
        error = (squared * weight).sum() / weight.sum().clamp(min=1)
        (learner.actor.theta.grad,) = torch.autograd.grad(error, learner.actor.theta)
        adam.step()
        schedule.step()
        losses.append(float(error.detach()))
        if update % TELL_EVERY == 0:
            tell("cloning", update)
    learner.actor.theta.grad = None
    return float(np.mean(losses[-100:]))
