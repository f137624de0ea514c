"""The Commotions model in eager PyTorch: the same equations, all paths, actions and behaviors as one dense tensor.

What one would write first, with care: constants are computed once, closed paths are dropped after every step, values of
phases that depend on θ only are not computed again. The peer that ``benchmarks/commotions.py`` measures against.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from giveway.predictors.commotions.config import Configuration
from giveway.predictors.commotions.encounter import Encounters
from giveway.predictors.commotions.parameters import (
    DT_S,
    EPSILON,
    EYE_HEIGHT_M,
    REGAIN_TIME_S,
    YIELD_PENALTY,
    Derived,
    Theta,
    action_ramps,
)
from giveway.predictors.commotions.reference.value import moments


@dataclass
class Constants:
    """Numbers that depend on θ only."""

    theta: Theta
    derived: Derived
    jerk: bool
    tau: float
    ramps: Tensor
    action_moments: list[float]
    regain_moments: list[float]
    zero: int


def passage(chi: Tensor, c: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    """2.2."""
    moving = v > 0
    safe = torch.where(moving, v, 1.0)
    near, far = chi - c, chi + c
    t_in = torch.where(near <= 0, -math.inf, torch.where(moving, near / safe, math.inf))
    t_out = torch.where(far <= 0, -math.inf, torch.where(moving, far / safe, math.inf))
    return t_in, t_out


def access(d, c, v, v_free, other_d, other_c, t_in, t_out, k: Constants):
    """2.7: (a, T, possible) of first, (a, T, W, possible) of second."""
    d_x, d_e = d + c + k.theta.d_safe, d - c - k.theta.d_safe
    t1, t2 = t_in - k.theta.t_safe, t_out + k.theta.t_safe
    a_free = (v_free - v) / k.tau
    t_free = torch.where(v == v_free, 0.0, k.tau)
    crash = (d.abs() < c) & (other_d.abs() < other_c)
    reached = v * t_free + 0.5 * a_free * t_free**2

    def covered(t: Tensor) -> Tensor:
        return torch.where(t < t_free, v * t + 0.5 * a_free * t**2, reached + v_free * (t - t_free))

    out = d_x <= 0
    free = out | (covered(t1) > d_x)
    needed = torch.maximum(2 * (d_x - v * t1) / (t1**2 + EPSILON), torch.clamp((v_free - v) / (t1 + EPSILON), max=0.0))
    first = (torch.where(free, a_free, needed), torch.where(free, t_free, t1), ~crash & (out | (t1 > 0)))
    gone = out | (other_d <= -other_c)
    room = d_e > 0
    free = gone | (room & (covered(t2) < d_e))
    stop = torch.isinf(t2) | (2 * d_e < t2 * v)
    a_stop = -(v**2) / (2 * d_e + EPSILON)
    t_stop = -v / (a_stop - EPSILON)
    a_slow = 2 * (d_e - v * t2) / (t2**2 + EPSILON)
    second = (
        torch.where(free, a_free, torch.where(stop, a_stop, a_slow)),
        torch.where(free, t_free, torch.where(stop, t_stop, t2)),
        torch.where(~free & stop, torch.clamp(t2 - t_stop, min=0.0), 0.0),
        ~crash & (gone | room),
    )
    return first, second


def order_moments(duration: Tensor, decay: float) -> tuple[Tensor, Tensor, Tensor]:
    """I_0, I_1, I_2 of 2.9: series below x = 1, recursion beyond."""
    x = decay * duration
    rest = torch.exp(-x)
    small = torch.clamp(x, max=1.0)
    values = []
    recursive = (1 - rest) / decay
    for n in range(3):
        if n:
            recursive = (n * recursive - duration**n * rest) / decay
        series = torch.zeros_like(x)
        for i in reversed(range(10)):
            series = series * -small + 1.0 / (math.factorial(i) * (n + i + 1))
        values.append(torch.where(x < 1, duration ** (n + 1) * series, recursive))
    return values[0], values[1], values[2]


def value(v0, a0, j0, a, duration, wait, v_free, k: Constants) -> Tensor:
    """2.9: U of a plan."""
    k_g, k_dv, k_da = 2 / v_free, 1 / v_free**2, k.theta.k_da
    decay, action = k.derived.decay, k.theta.delta_t_action
    h = k_g - 2 * (k_da * j0 + k_dv * v0)
    m = k.action_moments
    total = (v0 * (k_g - k_dv * v0) - k_da * a0**2) * m[0] + a0 * h * m[1] + (0.5 * j0 * h - k_dv * a0**2) * m[2]
    total = total - k_dv * a0 * j0 * m[3] - 0.25 * k_dv * j0**2 * m[4]
    v1 = v0 + a0 * action + 0.5 * j0 * action**2
    i0, i1, i2 = order_moments(duration, decay)
    weight = math.exp(-decay * action)
    phase = (v1 * (k_g - k_dv * v1) - k_da * a**2) * i0 + a * (k_g - 2 * k_dv * v1) * i1 - k_dv * a**2 * i2
    total = total + weight * phase
    v2 = v1 + a * duration
    weight = weight * torch.exp(-decay * duration)
    waited = torch.exp(-decay * wait)
    total = total + weight * (k_g * v2 - k_dv * v2**2) * (1 - waited) / decay
    weight = weight * waited
    a4 = (v_free - v2) / k.tau
    r = k.regain_moments
    phase = (v2 * (k_g - k_dv * v2) - k_da * a4**2) * r[0] + a4 * (k_g - 2 * k_dv * v2) * r[1] - k_dv * a4**2 * r[2]
    return total + weight * (phase + math.exp(-decay * k.tau) / decay)


def squash(u: Tensor, possible: Tensor, k: Constants) -> Tensor:
    """2.10."""
    return torch.where(possible, torch.tanh(u / k.derived.u_0), -1.0)


def advance(chi: Tensor, v: Tensor, a: Tensor) -> tuple[Tensor, Tensor]:
    """2.14."""
    return chi - torch.clamp(v * DT_S + 0.5 * a * DT_S**2, min=0.0), torch.clamp(v + a * DT_S, min=0.0)


class Mind:
    """State of one vehicle of every open path."""

    FIELDS = ("chi", "v", "a", "c", "v_free", "x1", "x2", "p11", "p12", "p22", "plan", "values", "beliefs")

    def __init__(self, chi, v, c, v_free, other_chi, other_free, k: Constants, num_actions: int) -> None:
        self.chi, self.v, self.c, self.v_free, self.a = chi, v, c, v_free, torch.zeros_like(chi)
        self.x1, self.x2 = other_chi.abs(), other_free
        self.p11 = (k.theta.sigma_r0_pos_rel * self.x1) ** 2
        self.p12 = torch.zeros_like(chi)
        self.p22 = (k.theta.sigma_r0_speed_rel * other_free) ** 2
        self.plan = chi.new_zeros(len(chi), k.ramps.shape[1])
        self.values = chi.new_zeros(len(chi), num_actions)
        self.beliefs = chi.new_zeros(len(chi), num_actions, 2)

    def keep(self, rows: Tensor) -> None:
        """Drop closed paths."""
        for name in self.FIELDS:
            setattr(self, name, getattr(self, name)[rows])


def think(own: Mind, other: Mind, own_ny: float, other_ny: float, noise: Tensor, k: Constants) -> Tensor:
    """2.1 item 3 for all open paths; returns the acceleration to apply."""
    theta, derived = k.theta, k.derived
    r = EYE_HEIGHT_M / torch.sqrt(own.chi**2 + other.chi**2)
    spread = torch.clamp(other.chi.abs() * (1 - r / torch.tan(torch.atan(r) + theta.sigma_v)), min=0.0)
    z = other.chi + spread * noise[:, 0]
    x1, p11 = own.x1 - DT_S * own.x2, own.p11 - 2 * DT_S * own.p12 + DT_S**2 * own.p22
    p12, p22 = own.p12 - DT_S * own.p22, own.p22 + theta.sigma_speed**2
    s = p11 + spread**2
    own.x1, own.x2 = x1 + p11 / s * (z - x1), own.x2 + p12 / s * (z - x1)
    own.p11, own.p12, own.p22 = p11 - p11 / s * p11, p12 - p11 / s * p12, p22 - p12 / s * p12
    s = torch.sqrt(torch.clamp(own.p11, min=0.0)) + 5 * EPSILON
    volume = torch.sqrt(torch.clamp(own.p11 * own.p22 - own.p12**2, min=0.0))
    seen_x = own.x1 + own.p11 * noise[:, 1] / s
    seen_v = torch.clamp(own.x2 + (own.p12 * noise[:, 1] + volume * noise[:, 2]) / s, min=0.0)

    t_in, t_out = passage(own.chi, own.c, own.v)
    first, second = access(seen_x, other.c, seen_v, other.v_free, own.chi, own.c, t_in, t_out, k)
    valid = torch.stack([first[2], second[3]], dim=1)
    beta = torch.where(valid, torch.stack([first[0], second[0]], dim=1), 0.0)
    sx, sv = seen_x[:, None], seen_v[:, None]
    v_b = sv + beta * theta.delta_t_action
    t_b = torch.where(v_b < 0, -sv / torch.where(v_b < 0, beta, 1.0), theta.delta_t_action)
    chi_b, v_b = (sx - sv * t_b - 0.5 * beta * t_b**2)[:, None], torch.clamp(v_b, min=0.0)[:, None]

    own.plan = torch.where((own.v <= 0)[:, None], torch.clamp(own.plan, min=0.0), own.plan)
    acc = own.plan[:, None] + k.ramps
    chi_u, v_u = own.chi[:, None].expand(acc.shape[:2]), own.v[:, None].expand(acc.shape[:2])
    for q in range(acc.shape[2] - 1):
        chi_u, v_u = advance(chi_u, v_u, acc[:, :, q])
    chi_u, v_u, a_u = chi_u[:, :, None], v_u[:, :, None], acc[:, :, -1:]

    c, other_c = own.c[:, None, None], other.c[:, None, None]
    v_free, other_free = own.v_free[:, None, None], other.v_free[:, None, None]
    in_u, out_u = passage(chi_u, c, v_u)
    in_b, out_b = passage(chi_b, other_c, v_b)

    action = theta.delta_t_action
    speed, other_speed = own.v[:, None, None], seen_v[:, None, None]
    if k.jerk:
        other_a0, a0 = other.a[:, None, None], own.a[:, None, None]
        other_j0, j0 = (beta[:, None] - other_a0) / action, (a_u - a0) / action
    else:
        other_a0, a0 = (v_b - other_speed) / action, (v_u - speed) / action
        other_j0, j0 = torch.zeros_like(other_a0), torch.zeros_like(a0)

    first, second = access(chi_b, other_c, v_b, other_free, chi_u, c, in_u, out_u, k)
    u_first = value(other_speed, other_a0, other_j0, first[0], first[1], torch.zeros_like(first[0]), other_free, k)
    u_second = value(other_speed, other_a0, other_j0, *second[:3], other_free, k)
    w = torch.stack(
        [
            squash(u_first[:, :, 0] + other_ny, first[2][:, :, 0], k),
            squash(u_second[:, :, 1], second[3][:, :, 1], k),
        ],
        dim=2,
    )
    own.beliefs = torch.where(valid[:, None], (1 - derived.f) * own.beliefs + derived.f * w, 0.0)
    neither = ~valid.any(dim=1)
    allowed = valid.clone()
    allowed[:, 0] |= neither
    logits = torch.where(allowed[:, None], theta.beta_v * own.beliefs, -math.inf)
    probability = torch.softmax(logits, dim=2)

    first, second = access(chi_u, c, v_u, v_free, chi_b, other_c, in_b, out_b, k)
    u_first = value(speed, a0, j0, first[0], first[1], torch.zeros_like(first[0]), v_free, k)
    u_second = value(speed, a0, j0, *second[:3], v_free, k)
    best = torch.maximum(squash(u_first + own_ny, first[2], k), squash(u_second, second[3], k))
    expected = torch.where(probability > 0, probability * best, 0.0).sum(dim=2)
    own.values = (1 - derived.f) * own.values + derived.f * expected
    surplus = own.values - own.values[:, k.zero : k.zero + 1]
    top, choice = surplus.max(dim=1)
    act = top > derived.threshold
    own.plan = own.plan + torch.where(act[:, None], k.ramps[choice], 0.0)
    own.values = torch.where(act[:, None], 0.0, own.values)
    own.beliefs = torch.where(act[:, None, None], 0.0, own.beliefs)
    return own.plan[:, 0]


@torch.no_grad()
def simulate(
    encounters: Encounters,
    theta: Theta,
    config: Configuration,
    *,
    num_paths: int,
    seed: int,
    dtype: torch.dtype,
    silent: bool = False,
    draws: Tensor | None = None,
) -> tuple[np.ndarray, np.ndarray, int]:
    """Accepted (N, n_p), t_accept (N, n_p), path steps; ``draws`` (steps, 2, N n_p, 3) replaces the generator."""
    generator = torch.Generator().manual_seed(seed)
    derived = Derived.of(theta)
    tau = REGAIN_TIME_S if config.jerk else theta.delta_t_action
    k = Constants(
        theta=theta,
        derived=derived,
        jerk=config.jerk,
        tau=tau,
        ramps=torch.tensor(action_ramps(theta, config.action_set, jerk=config.jerk), dtype=dtype),
        action_moments=[float(m) for m in moments(np.array(theta.delta_t_action), derived.decay)],
        regain_moments=[float(m) for m in moments(np.array(tau), derived.decay)],
        zero=config.action_set.index(0.0),
    )

    def spread(array: np.ndarray) -> Tensor:
        return torch.tensor(np.repeat(array, num_paths, axis=0), dtype=dtype)

    chi, v, c = spread(encounters.chi), spread(encounters.v), spread(encounters.half_extent)
    base = spread(encounters.base_speed(config))
    v_free = theta.v_free_rel * base
    num_actions = len(config.action_set)
    minds = [
        Mind(chi[:, i], v[:, i], c[:, i], v_free[:, i], chi[:, 1 - i], v_free[:, 1 - i], k, num_actions) for i in (0, 1)
    ]
    total = len(chi)
    steps = torch.tensor(np.repeat(encounters.num_steps, num_paths))
    row = torch.arange(total)
    accepted, t_accept = torch.zeros(total, dtype=torch.bool), steps.to(dtype) * DT_S
    t_accept += 2 * (chi[:, 1] - c[:, 1]) / base[:, 1]
    keep = (steps > 0) & (chi[:, 1] >= c[:, 1])
    row, steps, target_base = row[keep], steps[keep], base[:, 1][keep]
    for mind in minds:
        mind.keep(keep)
    ny = YIELD_PENALTY * derived.u_free
    path_steps, step = 0, 0
    while len(row):
        path_steps += len(row)
        noise = torch.zeros(2, len(row), 3, dtype=dtype)
        if not silent:
            noise.normal_(generator=generator)
            if draws is not None:
                noise = draws[step, :, row].to(dtype)
        a_target = think(minds[1], minds[0], ny, 0.0, noise[1], k)
        a_ego = (
            think(minds[0], minds[1], 0.0, ny, noise[0], k) if config.interactive else torch.zeros_like(minds[0].chi)
        )
        before = minds[1].chi - minds[1].c
        for mind, a in zip(minds, (a_ego, a_target), strict=True):
            mind.a = a
            mind.chi, mind.v = advance(mind.chi, mind.v, a)
            last = mind.plan[:, -1:] if config.jerk else torch.zeros_like(mind.plan[:, -1:])
            mind.plan = torch.cat([mind.plan[:, 1:], last], dim=1)
        step += 1
        d = minds[1].chi - minds[1].c
        entered, ended = d < 0, steps == step
        accepted[row[entered]] = True
        t_accept[row[entered]] = DT_S * (step - 1 + before[entered] / (before[entered] - d[entered]))
        late = ended & ~entered
        t_accept[row[late]] = steps[late].to(dtype) * DT_S + 2 * d[late] / target_base[late]
        keep = ~(entered | ended)
        row, steps, target_base = row[keep], steps[keep], target_base[keep]
        for mind in minds:
            mind.keep(keep)
    shape = (encounters.num_samples, num_paths)
    return accepted.numpy().reshape(shape), t_accept.numpy().reshape(shape), path_steps
