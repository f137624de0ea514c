"""Begin as a clone: a demonstrator drives first, its transitions fill the replay, the actors imitate it.

Failures that count are rare; a critic that has never seen one cannot point to it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from giveway.core.seeds import seed_for
from giveway.generate.learning.policy import Float32Array
from giveway.generate.learning.replay import Accumulator

if TYPE_CHECKING:
    from giveway.generate.learning.training import Training

Demonstrator = Callable[[Any, Float32Array], Any]
"""From the worlds and what their cars see (W, k, o) to actions (W, k, a); may look at the worlds themselves."""


RARE = 3.0
"""Weight of a full action over that of none, in the error of the clones."""

PARTS = 3
"""The clones drive half of the worlds in all parts but the first, so that they learn to mend their own mistakes."""


def warm_start(training: Training, demonstrator: Demonstrator) -> float:
    """Drive ``warm_steps`` steps, remember them, and clone the actors.

    What is imitated is always what the demonstrator would do, also where a clone drives (Ross, Gordon and Bagnell
    2011).

    Returns:
        Mean squared error of the clones on their last hundred batches.
    """
    seen: list[Float32Array] = []
    taken: list[Float32Array] = []
    error = float("nan")
    for part in range(PARTS):
        goal = training.config.warm_steps * (part + 1) // PARTS
        _drive(training, demonstrator, part, goal, seen, taken)
        error = _clone(training, part, np.concatenate(seen), np.concatenate(taken))
    training.learner.actor.target.copy_(training.learner.actor.theta.detach())
    return error


def _drive(
    training: Training,
    demonstrator: Demonstrator,
    part: int,
    goal: int,
    seen: list[Float32Array],
    taken: list[Float32Array],
) -> None:
    worlds, config = training.worlds, training.config
    memory = Accumulator(training.shape, worlds.n_worlds, config.n_step, config.gamma)
    cloned = (np.arange(worlds.n_worlds) % 2 == 1) & (part > 0)
    observations = worlds.reset(seed=seed_for(training.seed, "warm", part, 0) % 2**31)
    resets = 0
    while training.steps < goal:
        shown = np.clip(np.asarray(demonstrator(worlds, observations)), -1.0, 1.0).astype(np.float32)
        chosen = np.where(cloned[:, None, None], training.policy().act(observations), shown) if part else shown
        moved = worlds.step(chosen.astype(np.float64))
        done = moved.done
        training.buffer.add(
            memory.push(observations, chosen, moved.rewards, moved.terminated, moved.active, moved.observations, done)
        )
        training.observed.add(observations)
        training.rewarded.add(moved.rewards)
        whole = moved.active.all(axis=1)
        seen.append(observations[whole])
        taken.append(shown[whole])
        observations = moved.observations
        if done.any():
            resets += 1
            observations = worlds.reset(seed=seed_for(training.seed, "warm", part, resets) % 2**31, worlds=done)
        training.steps += worlds.n_worlds


def _clone(training: Training, part: int, seen: Float32Array, taken: Float32Array) -> float:
    learner, config = training.learner, training.config
    generator = torch.Generator().manual_seed(seed_for(training.seed, "clone", part) % 2**63)
    mean, deviation = (torch.from_numpy(a) for a in training.scaling())
    inputs, outputs = torch.from_numpy(seen), torch.from_numpy(taken)
    losses: list[float] = []
    for _ in range(config.clone_updates // PARTS):
        rows = torch.randint(len(inputs), (config.batch,), generator=generator)
        x = (inputs[rows] - mean) / deviation
        wanted = outputs[rows].transpose(0, 1)
        # Deciding moments are rare: what deviates from doing nothing weighs more.
        weight = 1.0 + RARE * wanted.abs().amax(dim=2, keepdim=True)
        error = (weight * (learner.act(x) - wanted) ** 2).mean() / weight.mean()
        (gradient,) = torch.autograd.grad(error, learner.actor.theta)
        learner.actor.descend(gradient)
        losses.append(float(error.detach()))
    return float(np.mean(losses[-100:])) if losses else float("nan")
