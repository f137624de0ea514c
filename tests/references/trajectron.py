"""Trajectron++'s decoder, likelihood and sampling written straight down: per mode, per step, per path."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from giveway.predictors.trajectron.config import kl_weight, logit_clamp
from giveway.predictors.trajectron.dynamics import VARIANCE_FLOOR_M2
from giveway.predictors.trajectron.features import STATE_SCALE
from giveway.predictors.trajectron.network import Batch, TrajectronNetwork

GAUSS = tuple(values.tolist() for values in np.polynomial.legendre.leggauss(6))
"""Nodes and weights of a quadrature that is exact to rounding for the turns of one step."""


def motion(state: Tensor, control: Tensor, dt: float) -> Tensor:
    """One unicycle step by quadrature; (N, 4) states (x, y, heading, speed), (N, 2) controls (turn, accel)."""
    x, y, phi, v = state.unbind(-1)
    w, a = control.unbind(-1)
    dx, dy = torch.zeros_like(x), torch.zeros_like(y)
    for node, weight in zip(*GAUSS, strict=True):
        s = dt * (1 + node) / 2
        dx = dx + dt / 2 * weight * (v + a * s) * (phi + w * s).cos()
        dy = dy + dt / 2 * weight * (v + a * s) * (phi + w * s).sin()
    return torch.stack([x + dx, y + dy, phi + w * dt, v + a * dt], dim=-1)


def jacobians(state: Tensor, control: Tensor, dt: float) -> tuple[Tensor, Tensor]:
    """(N, 4, 4) and (N, 4, 2) derivatives of :func:`motion` by central differences."""
    h = 1e-4
    columns: list[Tensor] = []
    for k in range(6):
        up_s, down_s, up_c, down_c = state.clone(), state.clone(), control.clone(), control.clone()
        if k < 4:
            up_s[:, k] += h
            down_s[:, k] -= h
        else:
            up_c[:, k - 4] += h
            down_c[:, k - 4] -= h
        columns.append((motion(up_s, up_c, dt) - motion(down_s, down_c, dt)) / (2 * h))
    matrix = torch.stack(columns, dim=-1)
    return matrix[..., :4], matrix[..., 4:]


def arc_step(state: Tensor, control: Tensor, dt: float) -> tuple[Tensor, Tensor, Tensor]:
    """One step with its Jacobians by state and control in closed form: what one would write for speed, step by step."""
    x, y, phi, v = state.unbind(-1)
    w, a = control.unbind(-1)
    alpha = w * dt
    straight = alpha.abs() < 1e-3
    safe = torch.where(straight, torch.ones_like(alpha), alpha)
    s = torch.where(straight, torch.ones_like(alpha), 2 * (safe / 2).sin() / safe)
    c = torch.where(straight, alpha / 12, (s - (safe / 2).cos()) / safe)
    slope = torch.where(straight, torch.full_like(alpha, 1 / 12), (0.5 * (safe / 2).sin() - 2 * c) / safe)
    cos, sin = (phi + alpha / 2).cos(), (phi + alpha / 2).sin()
    run = v * dt + a * dt * dt / 2
    dx, dy = run * s * cos - a * dt * dt * c * sin, run * s * sin + a * dt * dt * c * cos
    zero, one = torch.zeros_like(x), torch.ones_like(x)
    by_state = torch.stack(
        [
            torch.stack([one, zero, -dy, dt * s * cos], -1),
            torch.stack([zero, one, dx, dt * s * sin], -1),
            torch.stack([zero, zero, one, zero], -1),
            torch.stack([zero, zero, zero, one], -1),
        ],
        dim=-2,
    )
    along, across = -run * c * dt, a * dt**3 * slope
    by_control = torch.stack(
        [
            torch.stack([along * cos - across * sin - dy * dt / 2, dt * dt * (s * cos / 2 - c * sin)], -1),
            torch.stack([along * sin + across * cos + dx * dt / 2, dt * dt * (s * sin / 2 + c * cos)], -1),
            torch.stack([dt * one, zero], -1),
            torch.stack([zero, dt * one], -1),
        ],
        dim=-2,
    )
    return torch.stack([x + dx, y + dy, phi + alpha, v + a * dt], dim=-1), by_state, by_control


def step(network: TrajectronNetwork, x: Tensor, mode: int, control: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
    """One decoder step of one mode: hidden state and the five numbers of the head."""
    z = torch.zeros(x.shape[0], network.config.num_modes, dtype=x.dtype)
    z[:, mode] = 1.0
    h = network.decoder(torch.cat([z, x, control], dim=-1), h)
    return h, network.head(h)


def start(network: TrajectronNetwork, batch: Batch, x: Tensor, mode: int) -> tuple[Tensor, Tensor, Tensor]:
    """First control, hidden state and (x, y, heading, speed) of one mode."""
    z = torch.zeros(x.shape[0], network.config.num_modes, dtype=x.dtype)
    z[:, mode] = 1.0
    h = network.decoder_start(torch.cat([z, x], dim=-1))
    heading = batch.present[:, 0]
    heading = heading + torch.tanh(network.heading(torch.cat([x, heading[:, None]], dim=-1))[:, 0])
    state = torch.stack([batch.present[:, 2], batch.present[:, 3], heading, batch.present[:, 1]], dim=-1)
    return network.first_control(batch.node[:, -1]), h, state


def mode_log_density(
    network: TrajectronNetwork, batch: Batch, x: Tensor, mode: int, future: Tensor, dt: float, *, sample: bool
) -> Tensor:
    """(N, T) log density of the true positions under one mode."""
    control, h, state = start(network, batch, x, mode)
    covariance = torch.zeros(x.shape[0], 4, 4, dtype=x.dtype)
    densities: list[Tensor] = []
    for t in range(future.shape[1]):
        h, out = step(network, x, mode, control, h)
        mean, sigma, rho = out[:, :2], out[:, 2:4].clamp(max=network.config.log_sigma_max).exp(), torch.tanh(out[:, 4])
        cross = rho * sigma[:, 0] * sigma[:, 1]
        q = torch.stack(
            [torch.stack([sigma[:, 0] ** 2, cross], -1), torch.stack([cross, sigma[:, 1] ** 2], -1)], dim=-2
        )
        state, f, g = arc_step(state, mean, dt)
        covariance = f @ covariance @ f.transpose(-1, -2) + g @ q @ g.transpose(-1, -2)
        spread = covariance[:, :2, :2] + VARIANCE_FLOOR_M2 * torch.eye(2, dtype=x.dtype)
        normal = torch.distributions.MultivariateNormal(state[:, :2], spread, validate_args=False)
        densities.append(normal.log_prob(future[:, t]))
        if sample:
            noise = torch.randn(x.shape[0], 2, dtype=x.dtype)
            second = rho * noise[:, 0] + (1 - rho**2).clamp(min=1e-6).sqrt() * noise[:, 1]
            control = mean + sigma * torch.stack([noise[:, 0], second], dim=-1)
        else:
            control = mean
    return torch.stack(densities, dim=-1)


def loss(
    network: TrajectronNetwork, batch: Batch, future: Tensor, dt: float, iteration: int, *, sample: bool
) -> Tensor:
    """The training objective, mode by mode and step by step."""
    config = network.config
    x = network.encode(batch)
    limit = logit_clamp(iteration)
    scale = float(STATE_SCALE[0]) if config.standardize else 1.0
    p = torch.softmax(network.prior_logits(x).clamp(-limit, limit), dim=-1)
    q = torch.softmax(network.posterior_logits(x, batch, future / scale).clamp(-limit, limit), dim=-1)
    modes = [
        mode_log_density(network, batch, x, k, future, dt, sample=sample) + q[:, k : k + 1].log()
        for k in range(config.num_modes)
    ]
    per_step = torch.logsumexp(torch.stack(modes), dim=0).clamp(max=config.log_p_max)
    kl = torch.distributions.kl_divergence(
        torch.distributions.Categorical(probs=q), torch.distributions.Categorical(probs=p)
    ).mean()
    entropy = torch.distributions.Categorical(probs=p).entropy().mean()
    information = torch.distributions.Categorical(probs=p.mean(dim=0)).entropy() - entropy
    return -(per_step.sum(-1).mean() - kl_weight(iteration) * kl.clamp(min=config.kl_min) + information)


def sample_paths(
    network: TrajectronNetwork, batch: Batch, num_paths: int, num_steps: int, dt: float, generator: torch.Generator
) -> Tensor:
    """(N, P, T, 2) paths in the network's frame: path by path, each decoded for its own latent value."""
    x = network.encode(batch)
    prior = torch.softmax(network.prior_logits(x), dim=-1)
    paths: list[Tensor] = []
    for _ in range(num_paths):
        z = torch.multinomial(prior, 1, generator=generator)[:, 0]
        one_hot = torch.nn.functional.one_hot(z, network.config.num_modes).to(x.dtype)
        h = network.decoder_start(torch.cat([one_hot, x], dim=-1))
        control, _, state = start(network, batch, x, 0)
        positions: list[Tensor] = []
        for _ in range(num_steps):
            h = network.decoder(torch.cat([one_hot, x, control], dim=-1), h)
            out = network.head(h)
            mean, sigma, rho = out[:, :2], out[:, 2:4].exp(), torch.tanh(out[:, 4])
            noise = torch.randn(x.shape[0], 2, generator=generator)
            second = rho * noise[:, 0] + (1 - rho**2).clamp(min=0).sqrt() * noise[:, 1]
            state, _, _ = arc_step(state, mean + sigma * torch.stack([noise[:, 0], second], dim=-1), dt)
            positions.append(state[:, :2])
            control = mean
        paths.append(torch.stack(positions, dim=1))
    return torch.stack(paths, dim=1)
