"""Proximal policy optimization on one batch of the simulator.

The actor sees what a planner in a drive is told; the critic also sees how much of the recorded way and of the time is
left, which the reward depends on.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from giveway.core.arrays import FloatArray
from giveway.core.seeds import seed_for
from giveway.drive.learning.networks import Rectified, Trained, planner_of_network
from giveway.drive.learning.settings import LearningSettings
from giveway.planning.features import NUM_FEATURES
from giveway.planning.learned import LearnedPlanner, next_accel
from giveway.sim.views.ego import EgoVectorEnv
from giveway.sim.views.ego_batch import CRITIC_SIZE, EgoCases

MAX_SEED = 2**31
OWN_ACCEL, ACCEL_UNIT = 1, 4.0
"""Where the features hold the own acceleration, and in which unit; see :mod:`giveway.planning.features`."""


class Ppo:
    """An actor with a critic.

    Args:
        cases: to learn on.
        settings: of learning.
        worlds: simulated together.
        env_steps: length of the training.
        seed: root of all random streams.
    """

    name = "ppo"

    def __init__(self, cases: EgoCases, settings: LearningSettings, *, worlds: int, env_steps: int, seed: int) -> None:
        self.settings, self.seed, self.env_steps, self.steps = settings, seed, env_steps, 0
        generator = torch.Generator().manual_seed(seed_for(seed, "weights") % MAX_SEED)
        self.actor = Rectified((NUM_FEATURES, *settings.hidden, 1), 0.01, generator)
        self.critic = Rectified((NUM_FEATURES + CRITIC_SIZE, *settings.hidden, 1), 1.0, generator)
        self.spread = _Spread(settings.deviation)
        modules = {"actor": self.actor, "critic": self.critic, "spread": self.spread}
        self.trained = Trained(modules, rate=settings.rate, grad_clip=settings.grad_clip)
        self._envs = EgoVectorEnv(
            cases, worlds, observation="features", score=False, end_at_contact=settings.contact_ends
        )

    def planner(self, facts: dict[str, Any]) -> LearnedPlanner:
        """The actor without noise."""
        return planner_of_network(self.name, self.actor, facts)

    def run_round(self, number: int, until: int, on_step: Callable[[int, str], None]) -> dict[str, float]:
        """Learn until so many environment steps are done; all that is random depends on the number of the round only.

        Returns:
            Mean return of finished episodes, mean loss of the critic, deviation of the actions, KL divergence.
        """
        self._noise = torch.Generator().manual_seed(seed_for(self.seed, "noise", number) % MAX_SEED)
        seen, _ = self._envs.reset(seed=seed_for(self.seed, "envs", number) % MAX_SEED)
        segment = _Segment(self.settings.segment, self._envs.num_envs)
        fresh, returns, finished, losses = (
            np.zeros(self._envs.num_envs, np.bool_),
            np.zeros(self._envs.num_envs),
            [],
            [],
        )
        while self.steps < until:
            for t in range(segment.ticks):
                seen, fresh = self._tick(segment, t, seen, fresh, returns, finished)
            self.steps += segment.ticks * self._envs.num_envs
            losses += self._update(segment, self._values(seen).detach(), min(self.steps / self.env_steps, 1.0))
            on_step(self.steps, f"return {np.mean(finished[-500:]):.2f}" if finished else "")
        mean = np.mean(np.array(losses), axis=0)
        return {
            "train_return": float(np.mean(finished)) if finished else math.nan,
            "critic_loss": float(mean[0]),
            "kl": float(mean[1]),
            "deviation": float(self.spread().exp().detach()),
        }

    def _values(self, seen: Any) -> Tensor:
        return self.critic(torch.from_numpy(np.concatenate([seen, self._envs.critic_state()], axis=1)))

    @torch.no_grad()
    def _tick(
        self, segment: _Segment, t: int, seen: Any, fresh: Any, returns: FloatArray, finished: list[float]
    ) -> tuple[Any, Any]:
        features = torch.from_numpy(seen)
        segment.features[t], segment.valid[t] = features, torch.from_numpy(~fresh)
        segment.more[t] = torch.from_numpy(self._envs.critic_state())
        noise = torch.randn(features.shape[0], generator=self._noise)
        mean, log_std = self.actor(features), self.spread()
        output = mean + noise * torch.exp(log_std)
        segment.outputs[t] = output
        segment.log_p[t] = -0.5 * noise**2 - log_std
        segment.values[t] = self.critic(torch.cat([features, segment.more[t]], dim=1))
        accel = next_accel(output.numpy(), ACCEL_UNIT * seen[:, OWN_ACCEL].astype(np.float64))
        seen, rewards, ended, cut, _ = self._envs.step(accel[:, None])
        done = ended | cut
        segment.rewards[t] = torch.from_numpy(self.settings.reward_scale * rewards)
        segment.goes_on[t] = torch.from_numpy(~done)
        returns += rewards
        finished += returns[done].tolist()
        returns[done] = 0.0
        return seen, done

    def _update(self, segment: _Segment, last: Tensor, done: float) -> list[tuple[float, float]]:
        settings = self.settings
        advantage = segment.advantages(last, settings.gamma, settings.trace)
        rows = segment.valid.flatten().nonzero()[:, 0]
        x = segment.features.flatten(0, 1)[rows]
        more = torch.cat([x, segment.more.flatten(0, 1)[rows]], dim=1)
        target = (advantage + segment.values).flatten()[rows]
        gain = advantage.flatten()[rows]
        gain = (gain - gain.mean()) / (gain.std() + 1e-6)
        outputs, before = segment.outputs.flatten()[rows], segment.log_p.flatten()[rows]
        losses: list[tuple[float, float]] = []
        for _ in range(settings.epochs):
            order = torch.randperm(len(rows), generator=self._noise)
            for part in order.split(settings.batch):
                log_std = self.spread()
                log_p = -0.5 * ((outputs[part] - self.actor(x[part])) / log_std.exp()) ** 2 - log_std
                change = log_p - before[part]
                ratio = change.exp()
                cut = ratio.clamp(1.0 - settings.clip, 1.0 + settings.clip)
                policy = -torch.minimum(ratio * gain[part], cut * gain[part]).mean()
                critic = (self.critic(more[part]) - target[part]).square().mean()
                self.trained.step(policy + settings.value * critic - settings.entropy * log_std, done)
                losses.append((float(critic.detach()), float(((change.exp() - 1.0) - change).mean().detach())))
        return losses


class _Spread(nn.Module):
    """The logarithm of the deviation of actions, the same in all states."""

    def __init__(self, deviation: float) -> None:
        super().__init__()
        self.log_std = nn.Parameter(torch.tensor(math.log(deviation)))

    def forward(self) -> Tensor:
        return self.log_std


class _Segment:
    """Some ticks of all worlds, in order of time."""

    def __init__(self, ticks: int, worlds: int) -> None:
        self.ticks = ticks
        shape = (ticks, worlds)
        self.features = torch.zeros((*shape, NUM_FEATURES))
        self.more = torch.zeros((*shape, CRITIC_SIZE))
        self.outputs, self.log_p, self.values, self.rewards = (torch.zeros(shape) for _ in range(4))
        self.valid, self.goes_on = (torch.zeros(shape, dtype=torch.bool) for _ in range(2))

    def advantages(self, last: Tensor, gamma: float, trace: float) -> Tensor:
        """(T, W) generalized advantage estimates; an episode that is over is worth nothing more.

        Args:
            last: (W,) values after the last tick.
            gamma: discount.
            trace: lambda.
        """
        out, after, following = torch.zeros_like(self.values), torch.zeros_like(last), last
        for t in range(self.ticks - 1, -1, -1):
            on = self.goes_on[t]
            delta = self.rewards[t] + gamma * following * on - self.values[t]
            after = delta + gamma * trace * on * after
            out[t], following = after, self.values[t]
        return out
