"""What one vehicle believes about the other: noisy sight, a Kalman filter, one draw from its posterior."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.predictors.commotions.parameters import DT_S, EPSILON, EYE_HEIGHT_M, MIN_ANGLE_RAD


def observation_spread(chi_self: FloatArray, chi_other: FloatArray, sigma_v: float) -> FloatArray:
    """Standard deviation of the observed distance (2.3) [m].

        D = sqrt(χ_self² + χ_oth²),   r = h_E/D
        σ_obs = max{0, |χ_oth| [1 - r / tan(arctan r + σ_v)]}

    Args:
        chi_self: own distance to the conflict point [m].
        chi_other: the other's [m].
        sigma_v: angular noise [rad], at least 1e-6.
    """
    r = EYE_HEIGHT_M / np.sqrt(chi_self**2 + chi_other**2)
    return np.maximum(0.0, np.abs(chi_other) * (1 - r / np.tan(np.arctan(r) + max(sigma_v, MIN_ANGLE_RAD))))


@dataclass(frozen=True, slots=True, kw_only=True)
class Belief:
    """Estimate of the other's distance and speed.

    Attributes:
        mean: (B, 2) x̂ [m, m/s].
        covariance: (B, 2, 2) P.
    """

    mean: FloatArray
    covariance: FloatArray


def prior_belief(
    chi_other: FloatArray,
    v_free_other: FloatArray,
    pos_rel: float,
    speed_rel: float,
    *,
    spread_of: FloatArray | None = None,
) -> Belief:
    """Before the first look (2.4): x̂ = (|χ_oth|, v_free), P = diag((σ_pos |χ_oth|)², (σ_speed v_free)²).

    ``spread_of`` is the speed that stands for v_free in P: |χ̇_oth(t_0)| as the supplement prints.
    """
    mean = np.stack([np.abs(chi_other), v_free_other], axis=-1)
    covariance = np.zeros((*mean.shape, 2))
    covariance[..., 0, 0] = (pos_rel * mean[..., 0]) ** 2
    covariance[..., 1, 1] = (speed_rel * (mean[..., 1] if spread_of is None else spread_of)) ** 2
    return Belief(mean=mean, covariance=covariance)


def update_belief(belief: Belief, z: FloatArray, spread: FloatArray, sigma_speed: float) -> Belief:
    """One step of the Kalman filter (2.4).

        x⁻ = F x̂,   P⁻ = F P Fᵀ + Q,   S = P⁻₁₁ + σ_obs²
        x̂ ← x⁻ + (P⁻₁₁, P⁻₂₁)ᵀ (z - x⁻₁)/S,     P ← P⁻ - (P⁻ Hᵀ / S)(P⁻ Hᵀ)ᵀ

    with F = [[1, -δt], [0, 1]], Q = diag(0, σ_χ̇²), H = [1, 0].
    """
    transition = np.array([[1.0, -DT_S], [0.0, 1.0]])
    mean = belief.mean @ transition.T
    covariance = transition @ belief.covariance @ transition.T
    covariance[..., 1, 1] += sigma_speed**2
    column = covariance[..., :, 0]
    s = covariance[..., 0, 0] + spread**2
    gain = column / s[..., None]
    return Belief(
        mean=mean + gain * (z - mean[..., 0])[..., None],
        covariance=covariance - gain[..., :, None] * column[..., None, :],
    )


def percept(belief: Belief, noise: FloatArray) -> FloatArray:
    """One draw from the posterior (2.5), (B, 2).

        s = sqrt(max(0, P₁₁)) + 5 ε_m
        x̃₁ = x̂₁ + P₁₁ ε₂/s,     x̃₂ = max{0, x̂₂ + [P₂₁ ε₂ + sqrt(max(0, det P)) ε₃]/s}

    Args:
        belief: x̂ and P.
        noise: (B, 2) ε₂ and ε₃.
    """
    p_11, p_21, p_22 = (belief.covariance[..., i, j] for i, j in ((0, 0), (1, 0), (1, 1)))
    s = np.sqrt(np.maximum(0.0, p_11)) + 5 * EPSILON
    determinant = np.maximum(0.0, p_11 * p_22 - p_21 * p_21)
    first = belief.mean[..., 0] + p_11 * noise[..., 0] / s
    second = belief.mean[..., 1] + (p_21 * noise[..., 0] + np.sqrt(determinant) * noise[..., 1]) / s
    return np.stack([first, np.maximum(0.0, second)], axis=-1)
