"""Unicycle with Gaussian controls: positions and their covariance, without a loop over time.

State (x, y, phi, v), control (w, a) = (heading rate, acceleration), constant over a step of length dt. With
alpha = w dt, phi_m = phi + alpha / 2, S = sin(alpha/2) / (alpha/2) and C = (S - cos(alpha/2)) / alpha, the exact
motion is

    x' = x + (v dt + a dt^2 / 2) S cos(phi_m) - a dt^2 C sin(phi_m)
    y' = y + (v dt + a dt^2 / 2) S sin(phi_m) + a dt^2 C cos(phi_m)
    phi' = phi + alpha,   v' = v + a dt

which is smooth through w = 0 (S -> 1, C -> alpha / 12), where the published form switches to a straight line below
|w| = 0.01 rad/s. The covariance is propagated by Jacobians (extended Kalman style). Its blocks over (position |
heading, speed) are sums over time because the transition is the identity plus one off-diagonal block J:

    D_t = dt^2 sum Q,   B_t = sum (J D + dt G Q),   A_t = sum (J B' + B J' + J D J' + G Q G')
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianPath:
    """Positions with uncertainty.

    Attributes:
        mean: (..., T, 2) [m].
        var_x: (..., T) [m^2].
        var_y: (..., T) [m^2].
        cov_xy: (..., T) [m^2].
    """

    mean: Tensor
    var_x: Tensor
    var_y: Tensor
    cov_xy: Tensor


def _before(increments: Tensor, start: Tensor | float = 0.0) -> Tensor:
    """Value before each step of a quantity that starts at ``start`` and grows by ``increments`` (last axis = time)."""
    return increments.cumsum(-1) - increments + start


def _arc(alpha: Tensor) -> tuple[Tensor, Tensor]:
    """S and C of the module docstring; C by its series where the closed form would cancel."""
    sinc = torch.sinc(alpha / (2 * torch.pi))
    small = alpha.abs() < 0.1
    safe = torch.where(small, torch.ones_like(alpha), alpha)
    closed = (torch.sinc(safe / (2 * torch.pi)) - torch.cos(safe / 2)) / safe
    square = alpha * alpha
    series = alpha / 12 * (1 - square / 40 * (1 - square / 112))
    return sinc, torch.where(small, series, closed)


def _arc_slope(alpha: Tensor, c: Tensor) -> Tensor:
    """DC / dalpha; the derivative of S is -C."""
    small = alpha.abs() < 0.1
    safe = torch.where(small, torch.ones_like(alpha), alpha)
    closed = (0.5 * torch.sin(safe / 2) - 2 * c) / safe
    square = alpha * alpha
    return torch.where(small, (1 - 3 * square / 40 * (1 - 5 * square / 336)) / 12, closed)


def integrate(turn: Tensor, accel: Tensor, heading: Tensor, speed: Tensor, xy: Tensor, dt_s: float) -> Tensor:
    """Positions after each step for given controls.

    Args:
        turn: (..., T) heading rate [rad/s].
        accel: (..., T) acceleration [m/s^2].
        heading: (...) at the start [rad].
        speed: (...) at the start [m/s].
        xy: (..., 2) at the start [m].
        dt_s: length of a step [s].

    Returns:
        (..., T, 2) [m].
    """
    alpha = turn * dt_s
    middle = _before(alpha, heading[..., None]) + alpha / 2
    v = _before(accel * dt_s, speed[..., None])
    s, c = _arc(alpha)
    along = (v * dt_s + accel * (dt_s * dt_s / 2)) * s
    across = accel * (dt_s * dt_s) * c
    cos, sin = middle.cos(), middle.sin()
    step = torch.stack([along * cos - across * sin, along * sin + across * cos], dim=-1)
    return xy[..., None, :] + step.cumsum(-2)


def propagate(
    turn: Tensor,
    accel: Tensor,
    sigma_turn: Tensor,
    sigma_accel: Tensor,
    correlation: Tensor,
    heading: Tensor,
    speed: Tensor,
    xy: Tensor,
    dt_s: float,
) -> GaussianPath:
    """Mean path of the mean controls and the covariance of its positions.

    Args:
        turn, accel: (..., T) mean controls.
        sigma_turn, sigma_accel: (..., T) their standard deviations.
        correlation: (..., T) between the two.
        heading, speed, xy: start, as in :func:`integrate`; known exactly.
        dt_s: length of a step [s].
    """
    q_ww, q_aa = sigma_turn.square(), sigma_accel.square()
    q_wa = correlation * sigma_turn * sigma_accel
    alpha = turn * dt_s
    middle = _before(alpha, heading[..., None]) + alpha / 2
    v = _before(accel * dt_s, speed[..., None])
    s, c = _arc(alpha)
    reach = v * dt_s + accel * (dt_s * dt_s / 2)
    along, across = reach * s, accel * (dt_s * dt_s) * c
    cos, sin = middle.cos(), middle.sin()
    dx, dy = along * cos - across * sin, along * sin + across * cos

    # Columns of J (by heading and speed) and of G (by the two controls).
    jx_phi, jy_phi = -dy, dx
    jx_v, jy_v = dt_s * s * cos, dt_s * s * sin
    d_along = -reach * c * dt_s
    d_across = accel * (dt_s * dt_s) * _arc_slope(alpha, c) * dt_s
    gx_w = d_along * cos - d_across * sin - dy * (dt_s / 2)
    gy_w = d_along * sin + d_across * cos + dx * (dt_s / 2)
    half, full = dt_s * dt_s / 2 * s, dt_s * dt_s * c
    gx_a, gy_a = half * cos - full * sin, half * sin + full * cos

    square = dt_s * dt_s
    d_pp, d_pv, d_vv = _before(square * q_ww), _before(square * q_wa), _before(square * q_aa)
    # G Q, reused for both cross covariance and position covariance.
    hx_w, hx_a = gx_w * q_ww + gx_a * q_wa, gx_w * q_wa + gx_a * q_aa
    hy_w, hy_a = gy_w * q_ww + gy_a * q_wa, gy_w * q_wa + gy_a * q_aa
    kx_p, kx_v = jx_phi * d_pp + jx_v * d_pv, jx_phi * d_pv + jx_v * d_vv
    ky_p, ky_v = jy_phi * d_pp + jy_v * d_pv, jy_phi * d_pv + jy_v * d_vv
    bx_p, bx_v = _before(kx_p + dt_s * hx_w), _before(kx_v + dt_s * hx_a)
    by_p, by_v = _before(ky_p + dt_s * hy_w), _before(ky_v + dt_s * hy_a)
    var_x = 2 * (jx_phi * bx_p + jx_v * bx_v) + jx_phi * kx_p + jx_v * kx_v + gx_w * hx_w + gx_a * hx_a
    var_y = 2 * (jy_phi * by_p + jy_v * by_v) + jy_phi * ky_p + jy_v * ky_v + gy_w * hy_w + gy_a * hy_a
    cov = (
        jx_phi * by_p
        + jx_v * by_v
        + jy_phi * bx_p
        + jy_v * bx_v
        + jx_phi * ky_p
        + jx_v * ky_v
        + gx_w * hy_w
        + gx_a * hy_a
    )
    return GaussianPath(
        mean=xy[..., None, :] + torch.stack([dx, dy], dim=-1).cumsum(-2),
        var_x=var_x.cumsum(-1),
        var_y=var_y.cumsum(-1),
        cov_xy=cov.cumsum(-1),
    )


VARIANCE_FLOOR_M2 = 1e-6
"""Added to the variances (1 mm standard deviation), so that a density exists when controls hardly matter yet."""


def log_density(path: GaussianPath, xy: Tensor) -> Tensor:
    """(..., T) log of the bivariate normal density of positions ``xy`` (..., T, 2) [m]."""
    var_x, var_y = path.var_x + VARIANCE_FLOOR_M2, path.var_y + VARIANCE_FLOOR_M2
    # In float32 rounding can make |cov| exceed what the variances allow; a correlation of 0.9999 is the limit.
    bound = 0.9999 * (var_x * var_y).sqrt()
    cov = torch.minimum(torch.maximum(path.cov_xy, -bound), bound)
    det = var_x * var_y - cov * cov
    dx, dy = xy[..., 0] - path.mean[..., 0], xy[..., 1] - path.mean[..., 1]
    distance = (var_y * dx * dx - 2 * cov * dx * dy + var_x * dy * dy) / det
    return -0.5 * (distance + det.log()) - float(torch.log(torch.tensor(2 * torch.pi)))
