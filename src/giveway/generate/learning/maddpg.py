"""MADDPG and MATD3: what one update does to the actors and critics of all cars at once.

Critic i sees everything (all observations and actions), actor i only what car i sees:

    y_i     = r_i + gamma (1 - terminated_i) Q'_i(o', mu'_1(o'_1), ..., mu'_k(o'_k))
    L_i     = mean (Q_i(o, a_1, ..., a_k) - y_i)^2
    J_i     = mean Q_i(o, a_1, ..., mu_i(o_i), ..., a_k),    gradient through mu_i only

A time limit does not terminate anybody. MATD3 keeps two critics per car, bootstraps from the smaller one, adds clipped
noise to target actions, and updates actors and targets only at each ``policy_delay``-th call. With one car both are
DDPG and TD3.

Discrete actions are one-hot. Cars draw from the softmax of their actor's outputs z, as do targets; the actors descend
through

    hard = one_hot(argmax(z + g)),   soft = softmax(z + g),   g Gumbel noise

the critic being asked about ``hard`` and its slope taken through ``soft`` (straight-through Gumbel-softmax, Jang et al.
2017, at temperature 1, as in the published code). Differs in: the hidden layers of actors are ReLU, not leaky.

With demonstrations d the actors descend

    -J_i / mean |Q_i| + w mean |mu_i(o_i) - d_i|^2

(Fujimoto and Gu 2021).
"""

from __future__ import annotations

from collections.abc import Sequence
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


def gumbel(shape: Sequence[int], generator: torch.Generator) -> Tensor:
    """Standard Gumbel noise: the largest of z + g is a draw from the softmax of z."""
    return -torch.log(-torch.log(torch.rand(shape, generator=generator).clamp_(1e-9, 1.0 - 1e-7)))


def one_hot(values: Tensor) -> Tensor:
    """1 where the largest of the last axis is, else 0."""
    return torch.zeros_like(values).scatter_(-1, values.argmax(dim=-1, keepdim=True), 1.0)


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
        self._first_critics = [(weight[:k], bias[:k]) for weight, bias in self.critic.layers]
        self.updates = 0

    def act(self, observations: Tensor) -> Tensor:
        """(k, B, a) actions in (-1, 1), or outputs of discrete ones, of (B, k, o); autograd may look on."""
        out = self.actor.network.apply(self._seen_by_actors(observations), self.actor.theta)
        out = out if self.config.is_discrete else torch.tanh(out)
        return out.reshape(self.shape.cars, len(observations), -1)

    def _seen_by_actors(self, observations: Tensor) -> Tensor:
        """(k, B, o), or (1, k B, o + k) for an actor that all cars share."""
        x = observations.transpose(0, 1)
        if not self.config.shared_actor:
            return x
        k, b = x.shape[0], x.shape[1]
        who = torch.eye(k)[:, None, :].expand(k, b, k)
        return torch.cat([x, who], dim=2).reshape(1, k * b, -1)

    @property
    def updates_actors_next(self) -> bool:
        """Whether it is the actors' turn at the next update."""
        following = self.updates + 1
        waits = self.config.algorithm == "matd3" and following % self.config.policy_delay
        return following > self.config.critic_first and not waits

    @torch.inference_mode()
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
        value = self._update_actors(batch, weight, generator, shown)
        self.actor.follow()
        self.critic.follow()
        return Losses(critic=critic_loss, value=value)

    def _update_critics(self, batch: Batch, weight: Tensor, generator: torch.Generator) -> Tensor:
        config, critic = self.config, self.critic
        seen = self._seen_by_actors(batch.next_observations)
        actions = self._acted(self.actor.network.forward(seen, self.actor.target_layers)[-1], generator)[0]
        actions = actions.reshape(self.shape.cars, len(batch.rewards), -1)
        if config.algorithm == "matd3":
            noise = torch.randn(actions.shape, generator=generator) * config.target_noise
            actions = (actions + noise.clamp_(-config.target_noise_clip, config.target_noise_clip)).clamp_(-1, 1)
        x = self._inputs(batch.next_observations, actions.transpose(0, 1))
        after = self._paired(critic.network.forward(x, critic.target_layers)[-1]).amin(dim=0)
        values = critic.network.forward(self._inputs(batch.observations, batch.actions), critic.layers)
        error = self._paired(values[-1]) - (batch.rewards.T + batch.discounts.T * after)
        into_q = weight.T * (2 * error)
        critic.network.backward(values, critic.layers, into_q.reshape(values[-1].shape), critic.gradient_layers)
        critic.descend()
        return (error**2 * weight.T).sum(dim=2).mean(dim=0)

    def _acted(self, out: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """What outputs of actors do, and what the slope goes through."""
        if not self.config.is_discrete:
            done = out.tanh_()
            return done, done
        drawn = out + gumbel(out.shape, generator)
        return one_hot(drawn), torch.softmax(drawn, dim=-1)

    def _update_actors(
        self, batch: Batch, weight: Tensor, generator: torch.Generator, shown: Demonstrations | None = None
    ) -> Tensor:
        k, b = self.shape.cars, len(batch.rewards)
        actor, critics = self.actor, self._first_critics
        layers = actor.network.forward(self._seen_by_actors(batch.observations), actor.layers)
        own, soft = self._acted(layers[-1], generator)
        judged = self.critic.network.forward(
            self._with_own(batch.observations, batch.actions, own.reshape(k, b, -1)), critics
        )
        q = judged[-1][..., 0]
        into_q = -weight.T
        if shown is not None:
            into_q = into_q / q.abs().mean(dim=1, keepdim=True).clamp(min=1e-6)
        first = (k if self.config.centralized else 1) * self.shape.observation
        slope = self.critic.network.sensitivity(judged, critics, into_q[..., None], first)
        if self.config.centralized:
            slope = slope.reshape(k, b, k, -1).diagonal(dim1=0, dim2=2).permute(2, 0, 1)
        slope = slope.reshape(own.shape)
        if self.config.is_discrete:
            into_own = soft * (slope - (slope * soft).sum(dim=-1, keepdim=True))
        else:
            into_own = torch.ops.aten.tanh_backward(slope, own)
        actor.network.backward(layers, actor.layers, into_own, actor.gradient_layers)
        if shown is not None:
            self._towards(shown)
        actor.descend()
        return (q * weight.T).sum(dim=1)

    def _with_own(self, observations: Tensor, actions: Tensor, own: Tensor) -> Tensor:
        """(k, B, in) what critic i sees if car i's action in (B, k, a) is replaced by ``own[i]`` (B, a)."""
        if not self.config.centralized:
            return torch.cat([observations.transpose(0, 1), own], dim=2)
        k, b, a = own.shape
        seen = torch.cat([observations.flatten(1), actions.flatten(1)], dim=1).expand(k, b, -1).clone()
        seen[:, :, -k * a :].unflatten(2, (k, a)).diagonal(dim1=0, dim2=2).copy_(own.permute(1, 2, 0))
        return seen

    def _towards(self, shown: Demonstrations) -> None:
        """Add the gradient of the mean squared distance to the demonstrated actions, summed over cars."""
        actor, wanted = self.actor, shown.shown.transpose(0, 1)
        layers = actor.network.forward(self._seen_by_actors(shown.seen), actor.layers)
        acted = layers[-1].tanh_()
        into = (acted.reshape(wanted.shape) - wanted) * (2 * self.config.imitation / wanted[0].numel())
        into = torch.ops.aten.tanh_backward(into.reshape(acted.shape), acted)
        actor.network.backward(layers, actor.layers, into, actor.gradient_layers)

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
