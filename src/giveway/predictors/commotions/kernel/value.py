"""2.9 to 2.12 on SIMD lanes: what access orders are worth.

Values are measured as what is missing to driving freely for ever, in units of u_free = 1/λ. With y = 1 - v/v_f the
rate of that loss is y² + k_da a², never negative, so nothing cancels and 32 bit suffice. In the time x = λt an
acceleration a changes y by s = a/(λ v_f) per unit, and a phase of constant acceleration costs

    y² γ(1, x) - 2 y s γ(2, x) + s² (γ(3, x) + k_da (λ v_f)² γ(1, x)),    γ(n, x) = ∫₀^x e^-τ τ^(n-1) dτ

Everything about a duration that depends on one vehicle only is computed once for it (:func:`before`, :func:`after`,
:func:`stopping`), so that valuing a pair of an action and a behavior needs neither exponentials nor divisions.
"""

from __future__ import annotations

from typing import Any

from giveway.core.kernels import njit
from giveway.predictors.commotions.kernel.constants import (
    ACTION,
    AFTER_ACTION,
    DECAY,
    FREE_GAMMA,
    FREE_REST,
    FREE_X,
    INV_DECAY,
    INV_REGAIN,
    INV_U0,
    K_DA,
    MOMENT,
    REGAIN,
    REGAIN_ACCELERATION,
    REGAIN_SPEED,
    T_SAFE,
)
from giveway.predictors.commotions.kernel.functions import exp, gamma_series
from giveway.predictors.commotions.kernel.lanes import lower, muladd, select, upper
from giveway.predictors.commotions.parameters import EPSILON

IMPOSSIBLE = -1e9  # squashes to -1
LONG = 80.0  # λt beyond which nothing of the present is left; keeps x² e^-x from overflowing
NEVER = 1e12  # s; stands for infinite times, with a cube that 32 bit can hold


@njit(forceinline=True)
def pace_of(v_free: Any, k: Any) -> Any:
    """What valuing needs to know of a vehicle: v_f, 1/(λ v_f), k_da (λ v_f)², cost per y² of regaining free speed."""
    scale = k[INV_DECAY] / v_free
    speed = v_free * k[DECAY]
    return v_free, scale, k[K_DA] * (speed * speed), v_free * v_free * k[REGAIN_ACCELERATION] + k[REGAIN_SPEED]


@njit(forceinline=True)
def action_terms(v: Any, a: Any, v_free: Any, jerk: bool, k: Any) -> Any:
    """2.9 phase I: λ ∫₀^ΔT e^-λt (y² + k_da a²) dt = c₀ + c₁ z + c₂ z², and y at its end = e₀ - e₁ z.

    z is the jerk (JC; the acceleration starts at ``a``) or the acceleration (AC).
    """
    inverse = 1.0 / v_free
    y = 1.0 - v * inverse
    k_da, action = k[K_DA], k[ACTION]
    slope = inverse * action
    if jerk:
        c = a * inverse
        c0 = (y * y + k_da * a * a) * k[MOMENT] - 2.0 * y * c * k[MOMENT + 1] + c * c * k[MOMENT + 2]
        c1 = 2.0 * k_da * a * k[MOMENT + 1] - inverse * (y * k[MOMENT + 2] - c * k[MOMENT + 3])
        c2 = k_da * k[MOMENT + 2] + 0.25 * inverse * inverse * k[MOMENT + 4]
        e0, e1 = y - c * action, 0.5 * slope * action
    else:
        c0 = y * y * k[MOMENT]
        c1 = -2.0 * y * inverse * k[MOMENT + 1]
        c2 = k_da * k[MOMENT] + inverse * inverse * k[MOMENT + 2]
        e0, e1 = y, slope
    return c0, c1, c2, e0, e1


@njit(forceinline=True)
def act(terms: Any, z: Any) -> Any:
    """Loss of phase I and y at its end."""
    c0, c1, c2, e0, e1 = terms
    return muladd(muladd(c2, z, c1), z, c0), e0 - e1 * z


@njit(forceinline=True)
def discounts(t: Any, k: Any) -> Any:
    """X = λt, e^-x, γ(1, x), 2 γ(2, x) and γ(3, x) of a duration.

    γ(3) = x³ e^-x Σ_k 2 x^k/(k+3)! for x < 1 and 2 - e^-x (2 + 2x + x²) beyond; the others by downward recursion,
    2 γ(2) = γ(3) + x² e^-x and γ(1) = γ(2) + x e^-x; only positive terms.
    """
    x = lower(upper(t * k[DECAY], 0.0), LONG)
    rest = exp(-1.0 * x)
    xe = x * rest
    xxe = x * xe
    third = select(x < 1.0, x * xxe * gamma_series(lower(x, 1.0)), 2.0 - 2.0 * rest - 2.0 * xe - xxe)
    second = third + xxe
    return x, rest, muladd(0.5, second, xe), second, third


@njit(forceinline=True)
def reach(y: Any, s: Any, x: Any, first: Any, second: Any, weight: Any) -> Any:
    """2.9 phase II: loss of reaching the order, without discount of what was before, and y² at its end."""
    end = y - s * x
    return muladd(s, s * weight - y * second, y * y * first), end * end


@njit(forceinline=True)
def free_way(t: Any, pace: Any, k: Any) -> Any:
    """2.7: dist(t) = v_f t - (v_f - v) h(t) while regaining free speed: v_f t and h."""
    h = select(t < k[REGAIN], t - t * t * (0.5 * k[INV_REGAIN]), 0.5 * k[REGAIN])
    return pace[0] * t, h


@njit(forceinline=True)
def before(t_in: Any, pace: Any, k: Any) -> Any:
    """2.7 rule 2, seen from the vehicle with ``pace``: all that follows from when the other enters."""
    t = upper(lower(t_in, NEVER), -NEVER) - k[T_SAFE]
    ahead, h = free_way(t, pace, k)
    x, rest, first, second, third = discounts(t, k)
    square, single = t * t + EPSILON, t + EPSILON
    inverse = pace[1] / (square * single)
    return (
        t, ahead, h, inverse * square, 2.0 * inverse * single, x, first, second,
        pace[2] * first + third, rest * pace[3],
    )  # fmt: skip


@njit(forceinline=True)
def after(t_out: Any, pace: Any, k: Any) -> Any:
    """2.7 rule 3, seen from the vehicle with ``pace``: all that follows from when the other exits."""
    t = upper(lower(t_out, NEVER), -NEVER) + k[T_SAFE]
    ahead, h = free_way(t, pace, k)
    x, rest, first, second, third = discounts(t, k)
    return (
        t, ahead, h, 2.0 * pace[1] / (t * t + EPSILON), x, first, second,
        pace[2] * first + third, rest * pace[3], rest,
    )  # fmt: skip


@njit(forceinline=True)
def free_loss(v: Any, y: Any, pace: Any, k: Any) -> Any:
    """2.9 after phase I if nothing has to be waited for: FREE of 2.7 and regaining what is left."""
    v_free, scale, heavy, full = pace
    s = (v_free - v) * (scale * k[INV_REGAIN])
    weight = heavy * k[FREE_GAMMA] + k[FREE_GAMMA + 2]
    loss, left = reach(y, s, k[FREE_X], k[FREE_GAMMA], k[FREE_GAMMA + 1], weight)
    return select(v == v_free, full * y * y, muladd(full * k[FREE_REST], left, loss))


@njit(forceinline=True)
def stopping(d_e: Any, v: Any, y: Any, base: Any, pace: Any, k: Any) -> Any:
    """2.7 rule 3, stop and wait: score = p - q e^-λ(T+W), and e^-λT; only W depends on the other.

    A = -v²/(2 d_e + ε) and T = v (2 d_e + ε)/(v² + ε (2 d_e + ε)), by one division.
    """
    _, scale, heavy, full = pace
    room, square = 2.0 * d_e + EPSILON, v * v
    under = square + EPSILON * room
    inverse = 1.0 / (room * under)
    x, rest, first, second, third = discounts(v * room * room * inverse, k)
    loss, left = reach(y, -1.0 * scale * square * under * inverse, x, first, second, heavy * first + third)
    share = k[AFTER_ACTION] * k[INV_U0]
    return base - share * (loss + rest * left), share * (full - 1.0) * left, rest


@njit(forceinline=True)
def first_score(d_x: Any, v: Any, missing: Any, y: Any, base: Any, free_score: Any, chance: Any, k: Any) -> Any:
    """(U + u_ny)/u_0 of *first* where nobody collides now; ``missing`` = v_f - v, ``chance`` by :func:`before`."""
    t, ahead, h, once, twice, x, first, second, weight, tail = chance
    s = upper((d_x - v * t) * twice, lower(missing, 0.0) * once)
    loss, left = reach(y, s, x, first, second, weight)
    score = base - (k[AFTER_ACTION] * k[INV_U0]) * muladd(tail, left, loss)
    score = select(ahead - missing * h > d_x, free_score, score)
    score = select(t > 0.0, score, IMPOSSIBLE)
    return select(d_x <= 0.0, free_score, score)


@njit(forceinline=True)
def second_score(
    d_e: Any, d_x: Any, v: Any, missing: Any, y: Any, base: Any, free_score: Any, stop: Any, chance: Any, far: Any,
    k: Any,
) -> Any:  # fmt: skip
    """U/u_0 of *second* where nobody collides now; ``stop`` by :func:`stopping`, ``chance`` by :func:`after`.

    ``far`` is the other's distance to its exit; from there on nothing has to be waited for.
    """
    t, ahead, h, twice, x, first, second, weight, tail, rest = chance
    above, below, stopped = stop
    way = v * t
    loss, left = reach(y, (d_e - way) * twice, x, first, second, weight)
    score = base - (k[AFTER_ACTION] * k[INV_U0]) * muladd(tail, left, loss)
    score = select(2.0 * d_e < way, above - below * lower(stopped, rest), score)
    score = select(ahead - missing * h < d_e, free_score, score)
    score = select(d_e > 0.0, score, IMPOSSIBLE)
    return select(lower(d_x, far) <= 0.0, free_score, score)
