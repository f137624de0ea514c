"""The building blocks of f_CM on SIMD lanes, named as in the specification; every ``if`` has become a select."""

from __future__ import annotations

import math
from typing import Any

from numba import njit

from giveway.models.commotions.kernel.constants import (
    ACTION,
    AFTER_ACTION,
    CHI,
    DECAY,
    INV_U0,
    K_DA,
    MOMENT,
    P11,
    P12,
    P22,
    PLAN,
    REGAIN,
    REGAIN_ACCELERATION,
    REGAIN_SPEED,
    SPEED_VARIANCE,
    T_SAFE,
    TAN_SIGMA,
    X1,
    X2,
    V,
)
from giveway.models.commotions.kernel.functions import exp, gamma_series
from giveway.models.commotions.kernel.lanes import (
    WIDTH,
    like,
    load,
    lower,
    magnitude,
    muladd,
    negate,
    root,
    select,
    store,
    upper,
)
from giveway.models.commotions.parameters import DT_S, EPSILON, EYE_HEIGHT_M

DT_SQUARED = DT_S**2
LONG = 80.0  # λT beyond which nothing of the present is left; keeps x² e^-x from overflowing


@njit(forceinline=True)
def perceive(state: Any, own: int, other: int, sight: Any, e1: Any, e2: Any, e3: Any) -> Any:
    """2.3 to 2.5: look, filter, draw. Updates x̂ and P of vehicle ``own``; returns the percept (x̃₁, x̃₂).

    The spread is |χ_oth| tan σ_v (D² + h²)/(D (h + D tan σ_v)), the formula of 2.3 without its cancellation.
    """
    chi_own, chi_other = load(state, own + CHI * WIDTH), load(state, other + CHI * WIDTH)
    squared = chi_own * chi_own + chi_other * chi_other
    distance = root(squared)
    tangent = sight[TAN_SIGMA]
    spread = (
        magnitude(chi_other)
        * (tangent * (squared + EYE_HEIGHT_M**2))
        / (distance * (EYE_HEIGHT_M + tangent * distance))
    )
    z = chi_other + spread * e1

    x2 = load(state, own + X2 * WIDTH)
    x1 = load(state, own + X1 * WIDTH) - DT_S * x2
    p12, p22 = load(state, own + P12 * WIDTH), load(state, own + P22 * WIDTH)
    p11 = load(state, own + P11 * WIDTH) - 2.0 * DT_S * p12 + DT_SQUARED * p22
    p12 = p12 - DT_S * p22
    p22 = p22 + sight[SPEED_VARIANCE]
    inverse = 1.0 / (p11 + spread * spread)
    gain1, gain2 = p11 * inverse, p12 * inverse
    error = z - x1
    x1, x2 = x1 + gain1 * error, x2 + gain2 * error
    p22 = p22 - gain2 * p12
    p12 = p12 - gain1 * p12
    p11 = p11 - gain1 * p11
    store(state, own + X1 * WIDTH, x1)
    store(state, own + X2 * WIDTH, x2)
    store(state, own + P11 * WIDTH, p11)
    store(state, own + P12 * WIDTH, p12)
    store(state, own + P22 * WIDTH, p22)

    inverse = 1.0 / (root(upper(p11, 0.0)) + 5 * EPSILON)
    volume = root(upper(p11 * p22 - p12 * p12, 0.0))
    return x1 + p11 * e2 * inverse, upper(x2 + (p12 * e2 + volume * e3) * inverse, 0.0)


@njit(forceinline=True)
def advance(chi: Any, v: Any, a: Any) -> Any:
    """2.14: one step of motion without reversing."""
    return chi - upper(v * DT_S + (0.5 * a) * DT_SQUARED, 0.0), upper(v + a * DT_S, 0.0)


@njit(forceinline=True)
def predict_self(state: Any, own: int, ramps: Any, action: int) -> Any:
    """2.8b: the plan with one action on top, integrated over n steps; 64 bit, so that standing is standing."""
    chi, v = load(state, own + CHI * WIDTH), load(state, own + V * WIDTH)
    last = ramps.shape[1] - 1
    for q in range(last):
        chi, v = advance(chi, v, load(state, own + (PLAN + q) * WIDTH) + ramps[action, q])
    return chi, v, load(state, own + (PLAN + last) * WIDTH) + ramps[action, last]


@njit(forceinline=True)
def predict_other(chi: Any, v: Any, a: Any, k: Any) -> Any:
    """2.8a: constant acceleration over ΔT, stopping at zero speed."""
    speed = v + a * k[ACTION]
    stops = speed < 0.0
    time = select(stops, -1.0 * v / select(stops, a, 1.0), k[ACTION])
    return chi - v * time - (0.5 * a) * time * time, upper(speed, 0.0)


@njit(forceinline=True)
def margins(chi: Any, c: Any, d_safe: float, model: Any) -> Any:
    """Signed distances to entry, exit, entry with margin (d_e) and exit with margin (d_x), and whether inside and past.

    A predicted vehicle may stand exactly at its margin, so signs are settled in 64 bit before precision is dropped.
    """
    near, far = chi - c, chi + c
    inside, past = magnitude(chi) < c, far <= 0.0
    return like(near, model), like(far, model), like(near - d_safe, model), like(far + d_safe, model), inside, past


@njit(forceinline=True)
def passage(near: Any, far: Any, v: Any) -> Any:
    """2.2: times until entry and exit at constant speed."""
    moving = v > 0.0
    inverse = 1.0 / select(moving, v, 1.0)
    t_in = select(near <= 0.0, -math.inf, select(moving, near * inverse, math.inf))
    t_out = select(far <= 0.0, -math.inf, select(moving, far * inverse, math.inf))
    return t_in, t_out


@njit(forceinline=True)
def regaining(v: Any, v_free: Any, k: Any) -> Any:
    """2.7: acceleration a_f to free speed and its duration τ_f."""
    return (v_free - v) / k[REGAIN], select(v == v_free, 0.0 * v, k[REGAIN])


@njit(forceinline=True)
def covered(t: Any, v: Any, v_free: Any, a_free: Any, t_free: Any) -> Any:
    """2.7: dist(t), how far one gets while regaining free speed."""
    early = v * t + 0.5 * a_free * t * t
    late = v * t_free + 0.5 * a_free * t_free * t_free + v_free * (t - t_free)
    return select(t < t_free, early, late)


@njit(forceinline=True)
def go_first(d_x: Any, v: Any, v_free: Any, a_free: Any, t_free: Any, t_in: Any, collision: Any, k: Any) -> Any:
    """2.7 rule 2: acceleration, duration and possibility of *first*; there is nothing to wait for."""
    t1 = t_in - k[T_SAFE]
    out = d_x <= 0.0
    free = out | (covered(t1, v, v_free, a_free, t_free) > d_x)
    needed = upper(
        2.0 * (d_x - v * t1) / (t1 * t1 + EPSILON),
        lower((v_free - v) / (t1 + EPSILON), 0.0),
    )
    possible = negate(collision) & (out | (t1 > 0.0))
    return select(free, a_free, needed), select(free, t_free, t1), possible


@njit(forceinline=True)
def go_second(
    d_e: Any, d_x: Any, v: Any, v_free: Any, a_free: Any, t_free: Any, t_out: Any, past: Any, collision: Any, k: Any
) -> Any:
    """2.7 rule 3: acceleration, duration, waiting time and possibility of *second*; ``past``: the other has exited."""
    t2 = t_out + k[T_SAFE]
    gone = (d_x <= 0.0) | past
    room = d_e > 0.0
    free = gone | (room & (covered(t2, v, v_free, a_free, t_free) < d_e))
    stop = (t2 == math.inf) | (2.0 * d_e < t2 * v)
    # -v²/(2 d_e + ε) to stop, 2 (d_e - v t₂)/(t₂² + ε) to slow down: one division for both
    room_twice = 2.0 * d_e + EPSILON
    above = select(stop, -1.0 * (v * v), 2.0 * (d_e - v * t2))
    below = select(stop, room_twice, t2 * t2 + EPSILON)
    a = select(free, a_free, above / below)
    t_stop = v * room_twice / (v * v + EPSILON * room_twice)
    duration = select(free, t_free, select(stop, t_stop, t2))
    wait = select(free, 0.0, select(stop, upper(t2 - t_stop, 0.0), 0.0))
    return a, duration, wait, negate(collision) & (gone | room)


@njit(forceinline=True)
def action_loss(v: Any, a: Any, j: Any, inv_v_free: Any, k: Any) -> Any:
    """2.9 phase I: λ ∫₀^ΔT e^-λt (y² + k_da a²) dt, and y at its end."""
    y = 1.0 - v * inv_v_free
    c1, c2 = a * inv_v_free, 0.5 * j * inv_v_free
    k_da = k[K_DA]
    loss = (y * y + k_da * a * a) * k[MOMENT]
    loss = muladd(2.0 * (k_da * a * j - y * c1), k[MOMENT + 1], loss)
    loss = muladd(c1 * c1 - 2.0 * y * c2 + k_da * j * j, k[MOMENT + 2], loss)
    loss = muladd(2.0 * c1 * c2, k[MOMENT + 3], loss)
    loss = muladd(c2 * c2, k[MOMENT + 4], loss)
    return loss, y - (c1 + c2 * k[ACTION]) * k[ACTION]


@njit(forceinline=True)
def order_loss(y: Any, a: Any, duration: Any, inv_v_free: Any, k: Any) -> Any:
    """2.9 phase II: λ ∫ over T of e^-λt (y² + k_da a²), y at its end and e^-λT.

    Moments are incomplete gamma functions by downward recursion: γ(3, x) = x³ e^-x Σ_k 2 x^k/(k+3)! for x < 1 and
    2 - e^-x (2 + 2x + x²) beyond, γ(2) = (γ(3) + x² e^-x)/2, γ(1) = γ(2) + x e^-x; only positive terms.
    """
    x = lower(duration * k[DECAY], LONG)
    rest = exp(-1.0 * x)
    xe = x * rest
    xxe = x * xe
    third = select(x < 1.0, x * xxe * gamma_series(lower(x, 1.0)), 2.0 - 2.0 * rest - 2.0 * xe - xxe)
    second = 0.5 * (third + xxe)
    first = second + xe
    slope = a * inv_v_free
    scaled = slope / k[DECAY]
    loss = (y * y + k[K_DA] * a * a) * first + scaled * (scaled * third - 2.0 * y * second)
    return loss, y - slope * duration, rest


@njit(forceinline=True)
def regain_factor(v_free: Any, k: Any) -> Any:
    """2.9 phase IV: what regaining free speed costs per y², minus 1 (what staying slow for ever would cost)."""
    return v_free * v_free * k[REGAIN_ACCELERATION] + (k[REGAIN_SPEED] - 1.0)


@njit(forceinline=True)
def first_score(loss: Any, y: Any, a: Any, duration: Any, inv_v_free: Any, regain: Any, penalty: float, k: Any) -> Any:
    """2.9 and 2.10: (U + u_ny)/u_0 of *first*."""
    middle, y2, rest = order_loss(y, a, duration, inv_v_free, k)
    middle = middle + rest * y2 * y2 * (1.0 + regain)
    return ((1.0 + penalty) - loss - k[AFTER_ACTION] * middle) * k[INV_U0]


@njit(forceinline=True)
def second_score(loss: Any, y: Any, a: Any, duration: Any, wait: Any, inv_v_free: Any, regain: Any, k: Any) -> Any:
    """2.9 and 2.10: U/u_0 of *second*; e^-λW = 0 for a wait without end."""
    middle, y2, rest = order_loss(y, a, duration, inv_v_free, k)
    waited = exp(-1.0 * (wait * k[DECAY]))
    middle = middle + rest * y2 * y2 * (1.0 + waited * regain)
    return (1.0 - loss - k[AFTER_ACTION] * middle) * k[INV_U0]
