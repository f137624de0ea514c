"""MAPPO: proximal policy optimization with one actor for all cars and a critic that sees everything.

The actor gives the mean m = tanh(mu(o_i)); cars do a = m + sigma n, with noise n that is correlated over time and has
a standard normal marginal, by which probabilities are taken (Petrazzini and Antonelo 2021; arXiv 2312.11091). With
w = exp(log p(a) - log p_old(a)) and advantages A by generalized advantage estimation, over rows of cars that take part,

    L_actor  = -mean min(w A, clip(w, 1 - e, 1 + e) A) + penalty mean mu^2
    L_critic = mean (V_i(o_1, ..., o_k) - R_i)^2,      R = A + V, in units of the deviation of R

with one output of the critic per car: as informed as one that is told whose value is asked for, at a third of the cost
for three cars.

A time-out is bootstrapped from the last state; a car whose episode ended is not.

Reference:
    Yu et al. 2022, The Surprising Effectiveness of PPO in Cooperative Multi-Agent Games (arXiv 2103.01955): value
    normalization, agent features in the critic, few epochs, hardly any minibatches, dead agents masked.
    Schulman et al. 2016 (GAE), 2017 (PPO).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from giveway.core.arrays import BoolArray, FloatArray
from giveway.generate.learning.config import LearningConfig
from giveway.generate.learning.networks import Learner, StackedNetwork
from giveway.generate.learning.replay import Float32Array, Shape

LAST_GAIN = 0.01
"""Gain of the actor's last layer at the beginning: cars hardly do anything."""


@dataclass(slots=True)
class Rollout:
    """Steps of W worlds, one entry per step.

    Attributes:
        observations: (W, k, o) before.
        ends: (n, k, o) what the cars of worlds that ended in this step saw last, before their reset.
        means: (W, k, a) mean actions.
        actions: (W, k, a) taken, noise included, not clipped.
        scale: sigma.
        rewards: (W, k).
        active: (W, k) took part before the step.
        terminated: (W, k) ended for good.
        done: (W,) the world was reset afterwards.
    """

    observations: list[Float32Array] = field(default_factory=list[Float32Array])
    ends: list[Float32Array] = field(default_factory=list[Float32Array])
    means: list[Tensor] = field(default_factory=list[Tensor])
    actions: list[Float32Array] = field(default_factory=list[Float32Array])
    scale: float = 0.0
    rewards: list[FloatArray] = field(default_factory=list[FloatArray])
    active: list[BoolArray] = field(default_factory=list[BoolArray])
    terminated: list[BoolArray] = field(default_factory=list[BoolArray])
    done: list[BoolArray] = field(default_factory=list[BoolArray])


def advantages(
    rewards: FloatArray,
    values: FloatArray,
    after: FloatArray,
    terminated: BoolArray,
    done: BoolArray,
    *,
    gamma: float,
    decay: float,
) -> FloatArray:
    """Generalized advantages.

        delta_t = r_t + gamma V(s_{t+1}) - V(s_t),     A_t = delta_t + gamma lambda A_{t+1}

    V(s_{t+1}) is 0 where a car ended for good; nothing is carried over an end or a reset.

    Args:
        rewards: (T, W, k).
        values: (T, W, k) of the states before each step.
        after: (T, W, k) of those after it, before any reset.
        terminated: (T, W, k).
        done: (T, W).
        gamma: discount.
        decay: lambda.
    """
    out = np.zeros_like(rewards)
    carried = np.zeros_like(rewards[0])
    for t in range(len(rewards) - 1, -1, -1):
        going = ~terminated[t]
        delta = rewards[t] + gamma * after[t] * going - values[t]
        carried = delta + gamma * decay * np.where(done[t][:, None], 0.0, going * carried)
        out[t] = carried
    return out


@dataclass(frozen=True, slots=True, kw_only=True)
class PpoLosses:
    """Means over the updates of one iteration.

    Attributes:
        critic: squared error in units of the deviation of the returns.
        value: mean value of the visited states.
        facts: approximate KL divergence, share of clipped rows, explained variance of the returns before the updates,
            norms of the gradients before clipping, root mean square of the actor's output before tanh, updates.
    """

    critic: float
    value: float
    facts: dict[str, float]


class PpoLearner:
    """An actor that all cars share and a critic.

    Args:
        shape: of observations and actions.
        config: settings.
        generator: draws the initial weights, orthogonal; actor first.
        contexts: numbers beside the observations that the critic sees.
    """

    def __init__(self, shape: Shape, config: LearningConfig, generator: torch.Generator, contexts: int = 0) -> None:
        self.shape, self.config = shape, config
        k, o, a = shape.cars, shape.observation, shape.action
        actor = StackedNetwork(1, (o + k, *config.hidden, a), generator)
        critic = StackedNetwork(1, (k * o + contexts, *config.hidden, k), generator)
        _orthogonal(actor, LAST_GAIN, generator)
        _orthogonal(critic, 1.0, generator)
        self.actor = Learner(actor, rate=config.actor_rate, tau=0.0, clip=config.grad_clip)
        self.critic = Learner(critic, rate=config.critic_rate, tau=0.0, clip=config.grad_clip)
        self.updates = 0

    def act(self, observations: Tensor) -> Tensor:
        """(k, B, a) mean actions in (-1, 1) for observations (B, k, o); autograd may look on."""
        out = self.actor.network.apply(self._own(observations), self.actor.theta)
        return torch.tanh(out).reshape(len(observations), self.shape.cars, -1).transpose(0, 1)

    @torch.no_grad()
    def value(self, observations: Tensor, contexts: Tensor) -> Tensor:
        """(B, k) values in units of the deviation of the returns."""
        return self.critic.network.forward(self._all(observations, contexts), self.critic.layers)[-1][0]

    def _own(self, observations: Tensor) -> Tensor:
        """(1, B k, o + k) what each car sees, and which one it is."""
        b, k, o = observations.shape
        who = torch.eye(k).expand(b, k, k)
        return torch.cat([observations, who], dim=2).reshape(1, b * k, o + k)

    def _all(self, observations: Tensor, contexts: Tensor) -> Tensor:
        """(1, B, k o + c) what all cars see, and what only the critic knows."""
        seen = observations.reshape(1, len(observations), -1)
        return torch.cat([seen, contexts[None]], dim=2) if contexts.shape[1] else seen

    @torch.no_grad()
    def learn(
        self,
        seen: Tensor,
        contexts: Tensor,
        actions: Tensor,
        old: Tensor,
        scale: float,
        gains: Tensor,
        before: Tensor,
        returns: Tensor,
        active: Tensor,
        *,
        rate: float,
        generator: torch.Generator,
    ) -> PpoLosses:
        """Several epochs over N rows.

        Args:
            seen: (N, k, o) in the units of the networks.
            contexts: (N, c) what only the critic knows.
            actions: (N, k, a) taken.
            old: (N, k, a) their means.
            scale: sigma they were drawn with.
            gains: (N, k) advantages.
            before: (N, k) values by :meth:`value`.
            returns: (N, k) in units of their deviation.
            active: (N, k) 1 where a car took part.
            rate: factor of the learning rates.
            generator: orders the rows.
        """
        config = self.config
        weight = active.sum().clamp(min=1.0)
        mean = (gains * active).sum() / weight
        deviation = (((gains - mean) ** 2 * active).sum() / weight).sqrt().clamp(min=1e-6)
        gains = (gains - mean) / deviation
        centered = returns - (returns * active).sum() / weight
        spread = (centered**2 * active).sum().clamp(min=1e-9)
        explained = 1.0 - float(((returns - before) ** 2 * active).sum() / spread)
        self.actor.rate, self.critic.rate = rate * config.actor_rate, rate * config.critic_rate
        sums: dict[str, list[float]] = {}
        for _ in range(config.epochs):
            order = torch.randperm(len(seen), generator=generator)
            divergence: list[float] = []
            for rows in order.split(config.minibatch):
                parts = (x[rows] for x in (seen, contexts, actions, old, gains, returns, active))
                facts = self._update(*parts, scale=scale)
                divergence.append(facts["kl"])
                for name, value in facts.items():
                    sums.setdefault(name, []).append(value)
            if float(np.mean(divergence)) > config.max_kl:
                break
        facts = {name: float(np.mean(values)) for name, values in sums.items()}
        facts |= {"explained_variance": explained, "updates": float(self.updates)}
        return PpoLosses(critic=facts.pop("critic"), value=float((before * active).sum() / weight), facts=facts)

    def _update(
        self,
        seen: Tensor,
        contexts: Tensor,
        actions: Tensor,
        old: Tensor,
        gains: Tensor,
        returns: Tensor,
        active: Tensor,
        *,
        scale: float,
    ) -> dict[str, float]:
        """One step of Adam for critic and actor; the first ``critic_first`` updates are the critic's alone."""
        config, count = self.config, active.sum().clamp(min=1.0)
        critic, actor = self.critic, self.actor
        values = critic.network.forward(self._all(seen, contexts), critic.layers)
        error = (values[-1].reshape(active.shape) - returns) * active
        critic.network.backward(
            values, critic.layers, (2.0 * error / count).reshape(values[-1].shape), critic.gradient_layers
        )
        facts = {"critic": float((error**2).sum() / count), "critic_gradient": critic.gradient_norm()}
        critic.descend()
        self.updates += 1
        layers = actor.network.forward(self._own(seen), actor.layers)
        mu = layers[-1]
        mean = torch.tanh(mu).reshape(actions.shape)
        # log p(a) - log p_old(a) of a normal distribution with fixed deviation
        log_ratio = (((actions - old) ** 2 - (actions - mean) ** 2) / (2.0 * scale**2)).sum(dim=2)
        ratio = torch.exp(log_ratio.clamp(-20.0, 20.0))
        clipped = ((gains > 0) & (ratio > 1.0 + config.ratio_clip)) | ((gains < 0) & (ratio < 1.0 - config.ratio_clip))
        facts |= {
            "kl": float((((ratio - 1.0) - log_ratio) * active).sum() / count),
            "clip_fraction": float((clipped * active).sum() / count),
            "logit_rms": float(mu.square().mean().sqrt()),
        }
        if self.updates <= config.critic_first:
            return facts
        into_log = torch.where(clipped, 0.0, -gains * ratio) * active / count
        into_mean = into_log[..., None] * (actions - mean) / scale**2
        into_mu = torch.ops.aten.tanh_backward(into_mean.reshape(mu.shape), mean.reshape(mu.shape))
        into_mu += (2.0 * config.logit_penalty / mu.numel()) * mu
        actor.network.backward(layers, actor.layers, into_mu, actor.gradient_layers)
        facts["actor_gradient"] = actor.gradient_norm()
        actor.descend()
        return facts


def _orthogonal(network: StackedNetwork, last_gain: float, generator: torch.Generator) -> None:
    """Orthogonal weights with gain sqrt(2), zero biases."""
    layers = network.layers(network.theta)
    for number, (weight, bias) in enumerate(layers):
        gain = last_gain if number == len(layers) - 1 else 2.0**0.5
        torch.nn.init.orthogonal_(weight[0], gain=gain, generator=generator)
        bias.zero_()
