"""A round of MAPPO: drive all worlds for some ticks, learn from that, forget it, and again."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from giveway.core.arrays import FloatArray
from giveway.core.seeds import seed_for
from giveway.generate.learning.mappo import PpoLearner, PpoLosses, Rollout, advantages
from giveway.generate.learning.replay import Float32Array
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
        seen = self.observations
        with torch.no_grad():
            mean = self.learner.act(self.scaled(seen)).transpose(0, 1).numpy()
        self.scale = self.noise_scale()
        actions = (mean + self.noise.draw(self.scale)).astype(np.float32)
        moved = self.drive(np.clip(actions, -1.0, 1.0))
        training.observed.add(seen)
        rollout.scale = self.scale
        rollout.observations.append(seen)
        rollout.after.append(moved.observations)
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
        seen, after, rewards = (np.stack(x) for x in (rollout.observations, rollout.after, rollout.rewards))
        terminated, done, active = (np.stack(x) for x in (rollout.terminated, rollout.done, rollout.active))
        mean, deviation = self._returned()
        values, later = (self._values(x) * deviation + mean for x in (seen, after))
        gains = advantages(rewards, values, later, terminated, done, gamma=config.gamma, decay=config.gae_lambda)
        returns = gains + values
        taking_part = returns[active]
        training.rewarded.add(np.repeat(taking_part[:, None], training.shape.cars, axis=1))
        rows = (-1, training.shape.cars)
        mean, deviation = self._returned()
        left = 1.0 - training.steps / config.rate_steps * (1.0 - LEAST_RATE)
        self.iterations.append(
            self.learner.learn(
                self.scaled(seen.reshape(*rows, training.shape.observation)),
                torch.from_numpy(np.stack(rollout.actions).reshape(*rows, training.shape.action)),
                rollout.scale,
                torch.from_numpy(gains.reshape(rows).astype(np.float32)),
                torch.from_numpy(((returns - mean) / deviation).reshape(rows).astype(np.float32)),
                torch.from_numpy(active.reshape(rows).astype(np.float32)),
                rate=max(left, LEAST_RATE),
                generator=self.sampler,
            )
        )
        self.rollout = Rollout()

    def _values(self, observations: Float32Array) -> FloatArray:
        flat = observations.reshape(-1, *observations.shape[2:])
        return self.learner.value(self.scaled(flat)).numpy().reshape(*observations.shape[:2], -1).astype(np.float64)

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
