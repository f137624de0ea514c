"""A round of MAPPO: drive all worlds for some ticks, learn from that, forget it, and again."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from giveway.core.arrays import AnyArray, BoolArray, FloatArray
from giveway.core.seeds import seed_for
from giveway.generate.learning.mappo import PpoLearner, PpoLosses, Rollout, advantages
from giveway.generate.learning.rounds import RoundReport
from giveway.generate.learning.training import RoundBase, Tick, Training, mean_of

LEAST_RATE = 0.1
"""Share of the learning rates that is left after ``rate_steps``."""


class OnPolicyRound(RoundBase):
    """Everything that lives for one round only; see :class:`~giveway.generate.learning.training.RoundBase`."""

    def __init__(self, training: Training, on_tick: Callable[[Tick], None] | None) -> None:
        super().__init__(training, on_tick)
        assert isinstance(training.learner, PpoLearner)
        self.learner = training.learner
        self.rollout = Rollout()
        self.iterations: list[PpoLosses] = []
        self.sampler = torch.Generator().manual_seed(seed_for(training.seed, "order", training.rounds) % 2**63)

    def step(self) -> None:
        """One step of all worlds, and learning when enough of them have been driven."""
        training, rollout = self.training, self.rollout
        if not training.observed.count:  # something to scale by before the first rollout has been seen
            training.observed.add(self.observations)
        seen = self.observations
        with torch.no_grad():
            mean = self.learner.act(self.scaled(seen)).transpose(0, 1)
        self.scale = self.noise_scale()
        actions = (mean.numpy() + self.noise.draw(self.scale)).astype(np.float32)
        moved = self.drive(np.clip(actions, -1.0, 1.0))
        rollout.scale = self.scale
        rollout.observations.append(seen)
        rollout.ends.append(moved.observations[moved.done])
        rollout.means.append(mean)
        rollout.actions.append(actions)
        rollout.rewards.append(moved.rewards)
        rollout.active.append(moved.active)
        rollout.terminated.append(moved.terminated)
        rollout.done.append(moved.done)
        if len(rollout.rewards) == training.config.rollout:
            self._learn()
        self.tell()

    def noise_scale(self) -> float:
        """Sigma stays the same within a rollout, whose probabilities it enters."""
        return self.scale if self.rollout.rewards else super().noise_scale()

    def _learn(self) -> None:
        training, config, rollout = self.training, self.training.config, self.rollout
        terminated, done, active = (np.stack(x) for x in (rollout.terminated, rollout.done, rollout.active))
        seen = np.concatenate(rollout.observations)
        units = self.scaled(seen)
        contexts = torch.from_numpy(training.contexts)
        before, later = self._values(units, done)
        mean, deviation = self._returned()
        values = before * deviation + mean
        gains = advantages(
            np.stack(rollout.rewards),
            values,
            later * deviation + mean,
            terminated,
            done,
            gamma=config.gamma,
            decay=config.gae_lambda,
        )
        returns = gains + values
        taking_part = returns[active]
        training.rewarded.add(np.repeat(taking_part[:, None], training.shape.cars, axis=1))
        rows = (-1, training.shape.cars)
        mean, deviation = self._returned()
        left = 1.0 - training.steps / config.rate_steps * (1.0 - LEAST_RATE)
        self.iterations.append(
            self.learner.learn(
                units,
                contexts.repeat(config.rollout, 1),
                torch.from_numpy(np.stack(rollout.actions).reshape(*rows, training.shape.action)),
                torch.stack(rollout.means).reshape(*rows, training.shape.action),
                rollout.scale,
                _rows(gains, rows),
                _rows(before, rows),
                _rows((returns - mean) / deviation, rows),
                _rows(active, rows),
                rate=max(left, LEAST_RATE),
                generator=self.sampler,
            )
        )
        # units stay the same within a rollout, so that its means need not be taken again
        training.observed.add(seen)
        self.rollout = Rollout()

    def _values(self, seen: Tensor, done: BoolArray) -> tuple[FloatArray, FloatArray]:
        """(T, W, k) values before and after each step; a state after a step is that before the next, but at ends."""
        parts = [seen, self.scaled(self.observations), self.scaled(np.concatenate(self.rollout.ends))]
        contexts = self.training.contexts
        known = np.concatenate([np.tile(contexts, (len(done) + 1, 1)), contexts[np.nonzero(done)[1]]])
        values = self.learner.value(torch.cat(parts), torch.from_numpy(known)).numpy().astype(np.float64)
        going, at_ends = np.split(values, [done.size + done.shape[1]])
        going = going.reshape(len(done) + 1, *done.shape[1:], -1)
        later = going[1:].copy()
        later[done] = at_ends
        return going[:-1], later

    def _returned(self) -> tuple[float, float]:
        """Mean and deviation of the returns so far, of which the critic's values are units."""
        known = self.training.rewarded
        return (float(known.mean[0]), float(known.deviation[0])) if known.count else (0.0, 1.0)

    def report(self) -> RoundReport:
        """How the round went."""
        facts: dict[str, list[float]] = {}
        for one in self.iterations:
            for name, value in one.facts.items():
                facts.setdefault(name, []).append(value)
        return self.summary(
            critic_loss=mean_of([one.critic for one in self.iterations]),
            value=mean_of([one.value for one in self.iterations]),
            learning={name: mean_of(values) for name, values in facts.items() if name != "updates"},
        )


def _rows(values: AnyArray, shape: tuple[int, ...]) -> Tensor:
    return torch.from_numpy(values.reshape(shape).astype(np.float32))
