"""The training objective: clamped likelihood, annealed KL, mutual information."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from giveway.predictors.trajectron.config import TrajectronConfig, kl_weight, logit_clamp
from giveway.predictors.trajectron.dynamics import log_density, propagate
from giveway.predictors.trajectron.features import STATE_SCALE
from giveway.predictors.trajectron.network import Batch, Controls, TrajectronNetwork


@dataclass(frozen=True, slots=True, kw_only=True)
class Objective:
    """Value and parts of the loss of one batch, all scalars."""

    loss: Tensor
    log_likelihood: Tensor
    kl: Tensor
    information: Tensor


def step_log_density(controls: Controls, batch: Batch, future: Tensor, dt_s: float) -> Tensor:
    """(N, K, T) log density under each mode of the true positions (N, T, 2) in the network's frame [m]."""
    modes = controls.mean.shape[1]

    def per_mode(values: Tensor) -> Tensor:
        return values[:, None].expand(-1, modes, *values.shape[1:])

    turn, accel = controls.mean.unbind(-1)
    sigma_turn, sigma_accel = controls.sigma.unbind(-1)
    path = propagate(
        turn,
        accel,
        sigma_turn,
        sigma_accel,
        controls.correlation,
        per_mode(controls.heading),
        per_mode(batch.present[:, 1]),
        per_mode(batch.present[:, 2:4]),
        dt_s,
    )
    return log_density(path, future[:, None])


def training_objective(
    network: TrajectronNetwork, batch: Batch, future: Tensor, dt_s: float, iteration: int
) -> Objective:
    """Loss of one batch.

        loss = -( mean_i sum_t min(log sum_k q_k p(y_t | k), 6) - w(i) max(KL(q || p), 0.07) + I_p )

    KL is averaged over the batch before the bound; I_p = H(mean p) - mean H(p) is the mutual information of the batch.

    Args:
        network: in training mode.
        batch: N samples.
        future: (N, T, 2) true positions in the network's frame [m].
        dt_s: spacing [s].
        iteration: number of the update, for the schedules.
    """
    config: TrajectronConfig = network.config
    x = network.encode(batch)
    limit = logit_clamp(iteration, config.annealing)
    scale = float(STATE_SCALE[0]) if config.standardize else 1.0
    log_p = torch.log_softmax(network.prior_logits(x).clamp(-limit, limit), dim=-1)
    log_q = torch.log_softmax(network.posterior_logits(x, batch, future / scale).clamp(-limit, limit), dim=-1)
    controls = network.decode(batch, x, future.shape[1], sample=True)
    per_mode = step_log_density(controls, batch, future, dt_s)
    per_step = torch.logsumexp(per_mode + log_q[..., None], dim=1).clamp(max=config.log_p_max)
    likelihood = per_step.sum(dim=-1).mean()
    kl = (log_q.exp() * (log_q - log_p)).sum(dim=-1).mean()
    mean_p = log_p.exp().mean(dim=0)
    information = -(mean_p * mean_p.log()).sum() + (log_p.exp() * log_p).sum(dim=-1).mean()
    loss = -(likelihood - kl_weight(iteration, config.annealing) * kl.clamp(min=config.kl_min) + information)
    return Objective(loss=loss, log_likelihood=likelihood, kl=kl, information=information)


def mode_log_density(
    network: TrajectronNetwork, batch: Batch, future: Tensor, observed: Tensor, dt_s: float
) -> tuple[Tensor, Tensor]:
    """(N, K) log prior and (N, K, T) log density of the true positions under each mode, 0 where not observed.

    Args:
        network: in evaluation mode.
        batch: N samples.
        future: (N, T, 2) in the network's frame; anything where not observed.
        observed: (N, T) bool.
        dt_s: spacing [s].
    """
    x = network.encode(batch)
    log_p = torch.log_softmax(network.prior_logits(x), dim=-1)
    controls = network.decode(batch, x, future.shape[1], sample=False)
    safe = torch.where(observed[..., None], future, torch.zeros_like(future))
    per_mode = step_log_density(controls, batch, safe, dt_s)
    return log_p, torch.where(observed[:, None], per_mode, torch.zeros_like(per_mode))
