"""The building blocks of f_CM on SIMD lanes, named as in the specification; every ``if`` has become a select."""

from __future__ import annotations

import math
from typing import Any

from giveway.core.kernels import njit
from giveway.predictors.commotions.kernel.constants import (
    ACTION,
    CHI,
    P11,
    P12,
    P22,
    PLAN,
    REGAIN,
    SPEED_VARIANCE,
    T_SAFE,
    TAN_SIGMA,
    X1,
    X2,
)
from giveway.predictors.commotions.kernel.lanes import (
    WIDTH,
    like,
    load,
    lower,
    magnitude,
    negate,
    root,
    select,
    store,
    upper,
)
from giveway.predictors.commotions.parameters import DT_S, EPSILON, EYE_HEIGHT_M

DT_SQUARED = DT_S**2


@njit(forceinline=True)
def perceive(state: Any, own: int, other: int, sight: Any, e1: Any, e2: Any, e3: Any) -> Any:
    """2.3 to 2.5: look, filter, draw. Updates x̂ and P of vehicle ``own``; returns (z, x̃₁, x̃₂).

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
    return z, x1 + p11 * e2 * inverse, upper(x2 + (p12 * e2 + volume * e3) * inverse, 0.0)


@njit(forceinline=True)
def advance(chi: Any, v: Any, a: Any) -> Any:
    """2.14: one step of motion without reversing."""
    return chi - upper(v * DT_S + (0.5 * a) * DT_SQUARED, 0.0), upper(v + a * DT_S, 0.0)


@njit(forceinline=True)
def predict_self(state: Any, own: int, v: Any, ramps: Any, action: int, model: Any) -> Any:
    """2.8b: the plan with one action on top over n steps: way, speed and acceleration at the end.

    Only the way is integrated, so who stands is at the very place where he stood, in 32 bit as well.
    """
    way = 0.0 * v
    last = ramps.shape[1] - 1
    for q in range(last):
        a = like(load(state, own + (PLAN + q) * WIDTH), model) + ramps[action, q]
        way = way + upper(v * DT_S + (0.5 * a) * DT_SQUARED, 0.0)
        v = upper(v + a * DT_S, 0.0)
    return way, v, like(load(state, own + (PLAN + last) * WIDTH), model) + ramps[action, last]


@njit(forceinline=True)
def predict_other(chi: Any, v: Any, a: Any, k: Any) -> Any:
    """2.8a: constant acceleration over ΔT, stopping at zero speed."""
    speed = v + a * k[ACTION]
    stops = speed < 0.0
    time = select(stops, -1.0 * v / select(stops, a, 1.0), k[ACTION])
    return chi - v * time - (0.5 * a) * time * time, upper(speed, 0.0)


@njit(forceinline=True)
def margins(chi: Any, c: Any, d_safe: float, model: Any) -> Any:
    """Signed distances to entry, exit, entry with margin (d_e) and exit with margin (d_x).

    A predicted vehicle may stand exactly at its margin, so signs are settled in 64 bit before precision is dropped.
    """
    near, far = chi - c, chi + c
    return like(near, model), like(far, model), like(near - d_safe, model), like(far + d_safe, model)


@njit(forceinline=True)
def depth(near: Any, far: Any) -> Any:
    """Positive inside the contested space only; two vehicles collide where the lower of both is positive."""
    return lower(-1.0 * near, far)


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
    """2.7 rule 2: acceleration and possibility of *first*."""
    t1 = t_in - k[T_SAFE]
    out = d_x <= 0.0
    free = out | (covered(t1, v, v_free, a_free, t_free) > d_x)
    needed = upper(
        2.0 * (d_x - v * t1) / (t1 * t1 + EPSILON),
        lower((v_free - v) / (t1 + EPSILON), 0.0),
    )
    possible = negate(collision) & (out | (t1 > 0.0))
    return select(free, a_free, needed), possible


@njit(forceinline=True)
def go_second(
    d_e: Any, d_x: Any, v: Any, v_free: Any, a_free: Any, t_free: Any, t_out: Any, past: Any, collision: Any, k: Any
) -> Any:
    """2.7 rule 3: acceleration and possibility of *second*; ``past``: the other has exited."""
    t2 = t_out + k[T_SAFE]
    gone = (d_x <= 0.0) | past
    room = d_e > 0.0
    free = gone | (room & (covered(t2, v, v_free, a_free, t_free) < d_e))
    stop = (t2 == math.inf) | (2.0 * d_e < t2 * v)
    # -v²/(2 d_e + ε) to stop, 2 (d_e - v t₂)/(t₂² + ε) to slow down: one division for both
    room_twice = 2.0 * d_e + EPSILON
    above = select(stop, -1.0 * (v * v), 2.0 * (d_e - v * t2))
    below = select(stop, room_twice, t2 * t2 + EPSILON)
    return select(free, a_free, above / below), negate(collision) & (gone | room)
