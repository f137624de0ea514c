"""MADDPG and MATD3: what one update does to the actors and critics of all cars at once.

Critic i sees everything (all observations and actions), actor i only what car i sees:

    y_i     = r_i + gamma (1 - terminated_i) Q'_i(o', mu'_1(o'_1), ..., mu'_k(o'_k))
    L_i     = mean (Q_i(o, a_1, ..., a_k) - y_i)^2
    J_i     = mean Q_i(o, a_1, ..., mu_i(o_i), ..., a_k),    gradient through mu_i only

A time limit does not terminate anybody. MATD3 keeps two critics per car, bootstraps from the smaller one, adds clipped
noise to target actions, and updates actors and targets only at each ``policy_delay``-th call. With one car both are
DDPG and TD3.

With demonstrations d the actors descend

    -J_i / mean |Q_i| + w mean |mu_i(o_i) - d_i|^2

(Fujimoto and Gu 2021).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from giveway.generate.learning.config import LearningConfig
from giveway.generate.learning.demonstrations import Demonstrations
from giveway.generate.learning.networks import Learner, StackedNetwork
from giveway.generate.learning.replay import Batch, Shape


@dataclass(frozen=True, slots=True, kw_only=True)
class Losses:
    """Attributes:
    critic: mean squared error of each car's critic, (k,).
    value: mean value that each car's critic gives to its actor, (k,); None when actors were not updated.
    """

    critic: Tensor
    value: Tensor | None


class MultiAgentLearner:
    """Actors and critics of k cars.

    Args:
        shape: of observations and actions.
        config: settings.
        generator: draws the initial weights; actors first, car by car, then critics.
    """

    def __init__(self, shape: Shape, config: LearningConfig, generator: torch.Generator) -> None:
        self.shape, self.config = shape, config
        k, o, a = shape.cars, shape.observation, shape.action
        inputs = k * (o + a) if config.centralized else o + a
        actor_inputs = o + k if config.shared_actor else o
        actor = StackedNetwork(1 if config.shared_actor else k, (actor_inputs, *config.hidden, a), generator)
        critic = StackedNetwork(k * config.num_critics, (inputs, *config.hidden, 1), generator)
        self.actor = Learner(actor, rate=config.actor_rate, tau=config.tau, clip=config.grad_clip)
        self.critic = Learner(critic, rate=config.critic_rate, tau=config.tau, clip=config.grad_clip)
        self.updates = 0
        self._own = torch.eye(k)[:, None, :, None]

    def act(self, observations: Tensor, theta: Tensor | None = None) -> Tensor:
        """(k, B, a) actions in (-1, 1) for observations (B, k, o)."""
        x = observations.transpose(0, 1)
        network = self.actor.network
        weights = self.actor.theta if theta is None else theta
        if not self.config.shared_actor:
            return torch.tanh(network.apply(x, weights))
        k, b = x.shape[0], x.shape[1]
        who = torch.eye(k)[:, None, :].expand(k, b, k)
        out = network.apply(torch.cat([x, who], dim=2).reshape(1, k * b, -1), weights)
        return torch.tanh(out).reshape(k, b, -1)

    @property
    def updates_actors_next(self) -> bool:
        """Whether it is the actors' turn at the next update."""
        following = self.updates + 1
        waits = self.config.algorithm == "matd3" and following % self.config.policy_delay
        return following > self.config.critic_first and not waits

    def update(self, batch: Batch, generator: torch.Generator, shown: Demonstrations | None = None) -> Losses:
        """One update of the critics, and of actors and targets when it is their turn."""
        actors_too = self.updates_actors_next
        weight = batch.active / torch.clamp(batch.active.sum(dim=0), min=1.0)
        critic_loss = self._update_critics(batch, weight, generator)
        self.updates += 1
        if self.updates <= self.config.critic_first:
            self.critic.follow()
            return Losses(critic=critic_loss, value=None)
        if not actors_too:
            return Losses(critic=critic_loss, value=None)
        value = self._update_actors(batch, weight, shown)
        self.actor.follow()
        self.critic.follow()
        return Losses(critic=critic_loss, value=value)

    def _update_critics(self, batch: Batch, weight: Tensor, generator: torch.Generator) -> Tensor:
        config, network = self.config, self.critic.network
        with torch.no_grad():
            actions = self.act(batch.next_observations, self.actor.target)
            if config.algorithm == "matd3":
                noise = torch.randn(actions.shape, generator=generator) * config.target_noise
                actions = (actions + noise.clamp_(-config.target_noise_clip, config.target_noise_clip)).clamp_(-1, 1)
            x = self._inputs(batch.next_observations, actions.transpose(0, 1))
            after = self._paired(network.apply(x, self.critic.target)).amin(dim=0)
            target = batch.rewards.T + batch.discounts.T * after
        q = self._paired(network.apply(self._inputs(batch.observations, batch.actions), self.critic.theta))
        losses = ((q - target) ** 2 * weight.T).sum(dim=2)
        (gradient,) = torch.autograd.grad(losses.sum(), self.critic.theta)
        self.critic.descend(gradient)
        return losses.detach().mean(dim=0)

    def _update_actors(self, batch: Batch, weight: Tensor, shown: Demonstrations | None = None) -> Tensor:
        q = self._values_of_own(batch.observations, batch.actions, self.act(batch.observations))
        values = (q * weight.T).sum(dim=1)
        loss = -values.sum()
        if shown is not None:
            loss = -(values / q.detach().abs().mean(dim=1).clamp(min=1e-6)).sum()
            loss = loss + self.config.imitation * self._distance_to(shown)
        (gradient,) = torch.autograd.grad(loss, self.actor.theta)
        self.actor.descend(gradient)
        return values.detach()

    def _values_of_own(self, observations: Tensor, actions: Tensor, own: Tensor) -> Tensor:
        """(k, B) what critic i says of all actions (B, k, a) with car i's replaced by ``own[i]`` (B, a)."""
        k = self.shape.cars
        if self.config.centralized:
            joint = actions[None] * (1 - self._own) + own[:, :, None] * self._own
            flat = observations.flatten(1)
            x = torch.cat([flat[None].expand(k, *flat.shape), joint.flatten(2)], dim=2)
        else:
            x = torch.cat([observations.transpose(0, 1), own], dim=2)
        return self.critic.network.apply(x, self.critic.theta.detach()[:k])[..., 0]

    def _distance_to(self, shown: Demonstrations) -> Tensor:
        """Mean squared distance to the demonstrated actions, summed over cars."""
        return ((self.act(shown.seen) - shown.shown.transpose(0, 1)) ** 2).mean(dim=(1, 2)).sum()

    def _inputs(self, observations: Tensor, actions: Tensor) -> Tensor:
        """(c k, B, in) what each critic sees, from (B, k, o) and (B, k, a)."""
        k, copies = self.shape.cars, self.config.num_critics
        if self.config.centralized:
            flat = torch.cat([observations.flatten(1), actions.flatten(1)], dim=1)
            return flat[None].expand(k * copies, *flat.shape)
        own = torch.cat([observations, actions], dim=2).transpose(0, 1)
        return own.repeat(copies, 1, 1)

    def _paired(self, q: Tensor) -> Tensor:
        """(c, k, B) from (c k, B, 1)."""
        return q.reshape(self.config.num_critics, self.shape.cars, -1)
