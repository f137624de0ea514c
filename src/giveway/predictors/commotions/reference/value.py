"""Long-term plans and their discounted value."""

from __future__ import annotations

from dataclasses import dataclass
from math import factorial

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.predictors.commotions.reference.access_order import Triple

SERIES_TERMS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Gains:
    """Value rate g(v, a) = k_g v - k_dv v² - k_da a² with k_g = 2/v_f, k_dv = 1/v_f², so that g(v_f, 0) = 1 is its top.

    Attributes:
        v_free: v_f [m/s].
        k_da: cost of acceleration [s⁴/m²].
    """

    v_free: FloatArray
    k_da: float

    @property
    def k_g(self) -> FloatArray:
        """2/v_f [s/m]."""
        return 2.0 / self.v_free

    @property
    def k_dv(self) -> FloatArray:
        """1/v_f² [s²/m²]."""
        return 1.0 / self.v_free**2

    def rate(self, v: FloatArray, a: FloatArray) -> FloatArray:
        """g(v, a)."""
        return self.k_g * v - self.k_dv * v**2 - self.k_da * a**2


def moments(duration: FloatArray, decay: float) -> list[FloatArray]:
    """I_n(Δ) = ∫₀^Δ e^(-λτ) τⁿ dτ for n = 0 … 4, without cancellation (2.9).

        x = λΔ < 1:  I_n = Δ^(n+1) Σ_k (-x)^k / [k! (n+k+1)]
        x ≥ 1:       I_0 = (1 - e^-x)/λ,   I_m = (m I_(m-1) - Δ^m e^-x)/λ
        Δ = ∞:       I_n = n!/λ^(n+1)

    Args:
        duration: Δ [s], may be infinite.
        decay: λ [1/s].
    """
    endless = np.isposinf(duration)
    delta = np.where(endless, 0.0, duration)
    x = decay * delta
    small = np.minimum(x, 1.0)
    rest = np.exp(-x)
    recursive = (1.0 - rest) / decay
    result: list[FloatArray] = []
    for n in range(5):
        if n > 0:
            recursive = (n * recursive - delta**n * rest) / decay
        coefficients = [1.0 / (factorial(k) * (n + k + 1)) for k in range(SERIES_TERMS)]
        series = delta ** (n + 1) * np.polynomial.polynomial.polyval(-small, coefficients)
        finite = np.where(x < 1.0, series, recursive)
        result.append(np.where(endless, factorial(n) / decay ** (n + 1), finite))
    return result


def segment_value(
    *, start: FloatArray, v: FloatArray, a: FloatArray, j: FloatArray, duration: FloatArray, gains: Gains, decay: float
) -> FloatArray:
    """Discounted value of a stretch with constant jerk (2.9).

        G = e^(-λ t_s) Σ_(n=0..4) α_n I_n(Δ),   h = k_g - 2 (k_da j + k_dv v)
        α₀ = v (k_g - k_dv v) - k_da a²,  α₁ = a h,  α₂ = ½ j h - k_dv a²,  α₃ = -k_dv a j,  α₄ = -¼ k_dv j²

    A stretch that starts at t_s = ∞ is worth 0.
    """
    k_g, k_dv, k_da = gains.k_g, gains.k_dv, gains.k_da
    h = k_g - 2 * (k_da * j + k_dv * v)
    alpha = (v * (k_g - k_dv * v) - k_da * a**2, a * h, 0.5 * j * h - k_dv * a**2, -k_dv * a * j, -0.25 * k_dv * j**2)
    total = sum(coefficient * moment for coefficient, moment in zip(alpha, moments(duration, decay), strict=True))
    never = np.isposinf(start)
    return np.where(never, 0.0, np.exp(-decay * np.where(never, 0.0, start)) * total)


def plan_value(
    *,
    v: FloatArray,
    a: FloatArray,
    j: FloatArray,
    triple: Triple,
    gains: Gains,
    decay: float,
    action_s: float,
    regain_s: float,
) -> FloatArray:
    """U, the value of act, reach the order, wait, regain free speed, drive freely (2.9) [s].

        v₁ = v + a ΔT + ½ j ΔT²,   v₂ = v₁ + a_ω T
        U = G(0, v, a, j, ΔT) + G(ΔT, v₁, a_ω, 0, T) + G(ΔT+T, v₂, 0, 0, W)
            + G(ΔT+T+W, v₂, (v_f - v₂)/τ, 0, τ) + G(ΔT+T+W+τ, v_f, 0, 0, ∞)

    Meaningless where the triple is not possible.
    """
    wanted, duration, wait = triple.acceleration, triple.duration, triple.wait
    duration = np.where(triple.possible, duration, 0.0)
    v, a, j, wanted, duration, wait, v_free = np.broadcast_arrays(v, a, j, wanted, duration, wait, gains.v_free)
    gains = Gains(v_free=v_free, k_da=gains.k_da)
    zero = np.zeros_like(v)
    v_1 = v + a * action_s + 0.5 * j * action_s**2
    v_2 = v_1 + wanted * duration
    start_3 = action_s + duration
    start_4 = start_3 + wait
    phases = (
        (zero, v, a, j, np.array(action_s)),
        (np.array(action_s), v_1, wanted, zero, duration),
        (start_3, v_2, zero, zero, wait),
        (start_4, v_2, (v_free - v_2) / regain_s, zero, np.array(regain_s)),
        (start_4 + regain_s, v_free, zero, zero, np.array(np.inf)),
    )
    values = [
        segment_value(start=s, v=speed, a=acc, j=jerk, duration=length, gains=gains, decay=decay)
        for s, speed, acc, jerk, length in phases
    ]
    return np.asarray(sum(values))


def squash(value: FloatArray, triple: Triple, u_0: float, penalty: FloatArray | float) -> FloatArray:
    """𝒱 = tanh((U + u_ny)/u_0), or -1 where the order is impossible (2.10); the limit ±1 or 0 for u_0 = ±0."""
    total = value + penalty
    squashed = np.tanh(total / u_0) if u_0 != 0 else np.copysign(1.0, u_0) * np.sign(total)
    return np.where(triple.possible, squashed, -1.0)
