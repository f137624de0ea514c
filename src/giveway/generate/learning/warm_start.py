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


def warm_start(training: Training, demonstrator: Demonstrator) -> float:
    """Drive ``warm_steps`` steps, remember them, and clone the actors.

    Returns:
        Mean squared error of the clones on their last hundred batches.
    """
    seen, taken = _drive(training, demonstrator)
    return _clone(training, seen, taken)


def _drive(training: Training, demonstrator: Demonstrator) -> tuple[Float32Array, Float32Array]:
    worlds, config = training.worlds, training.config
    memory = Accumulator(training.shape, worlds.n_worlds, config.n_step, config.gamma)
    observations = worlds.reset(seed=seed_for(training.seed, "warm", 0) % 2**31)
    rows: list[Float32Array] = []
    actions: list[Float32Array] = []
    resets = 0
    while training.steps < config.warm_steps:
        chosen = np.clip(np.asarray(demonstrator(worlds, observations)), -1.0, 1.0).astype(np.float32)
        moved = worlds.step(chosen.astype(np.float64))
        done = moved.done
        training.buffer.add(
            memory.push(observations, chosen, moved.rewards, moved.terminated, moved.active, moved.observations, done)
        )
        training.observed.add(observations)
        training.rewarded.add(moved.rewards)
        whole = moved.active.all(axis=1)
        rows.append(observations[whole])
        actions.append(chosen[whole])
        observations = moved.observations
        if done.any():
            resets += 1
            observations = worlds.reset(seed=seed_for(training.seed, "warm", resets) % 2**31, worlds=done)
        training.steps += worlds.n_worlds
    return np.concatenate(rows), np.concatenate(actions)


def _clone(training: Training, seen: Float32Array, taken: Float32Array) -> float:
    learner, config = training.learner, training.config
    generator = torch.Generator().manual_seed(seed_for(training.seed, "clone") % 2**63)
    mean, deviation = (torch.from_numpy(a) for a in training.scaling())
    inputs, outputs = torch.from_numpy(seen), torch.from_numpy(taken)
    losses: list[float] = []
    for _ in range(config.clone_updates):
        rows = torch.randint(len(inputs), (config.batch,), generator=generator)
        x = (inputs[rows] - mean) / deviation
        error = ((learner.act(x) - outputs[rows].transpose(0, 1)) ** 2).mean()
        (gradient,) = torch.autograd.grad(error, learner.actor.theta)
        learner.actor.descend(gradient)
        losses.append(float(error.detach()))
    learner.actor.target.copy_(learner.actor.theta.detach())
    return float(np.mean(losses[-100:])) if losses else float("nan")
