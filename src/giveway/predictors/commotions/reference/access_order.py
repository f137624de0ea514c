"""Who passes first: entry and exit times, and the accelerations that lead to either order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray
from giveway.predictors.commotions.parameters import EPSILON


def entry_time(chi: FloatArray, c: FloatArray, v: FloatArray) -> FloatArray:
    """Time until the front enters the contested space at constant speed (2.2) [s].

        t_in = -∞ if χ - c ≤ 0;   +∞ if χ - c > 0 and v ≤ 0;   (χ - c)/v otherwise

    Args:
        chi: distance of the center to the conflict point [m].
        c: half-extent of the contested space [m].
        v: speed [m/s].
    """
    return _time_to(chi - c, v)


def exit_time(chi: FloatArray, c: FloatArray, v: FloatArray) -> FloatArray:
    """Time until the rear leaves the contested space at constant speed (2.2) [s].

    t_out = -∞ if χ + c ≤ 0;   +∞ if χ + c > 0 and v ≤ 0;   (χ + c)/v otherwise
    """
    return _time_to(chi + c, v)


def _time_to(distance: FloatArray, v: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore"):
        moving = np.where(v > 0, distance / np.where(v > 0, v, 1.0), np.inf)
    return np.where(distance <= 0, -np.inf, moving)


@dataclass(frozen=True, slots=True, kw_only=True)
class Triple:
    """How an access order is reached.

    Attributes:
        acceleration: a [m/s²].
        duration: T of that acceleration [s].
        wait: W afterwards [s]; may be infinite.
        possible: whether the order can be reached at all; the rest is meaningless where it cannot.
    """

    acceleration: FloatArray
    duration: FloatArray
    wait: FloatArray
    possible: BoolArray


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessOrders:
    """Both orders of one vehicle against another."""

    first: Triple
    second: Triple


def access_orders(
    *,
    d: FloatArray,
    c: FloatArray,
    v: FloatArray,
    v_free: FloatArray,
    other_d: FloatArray,
    other_c: FloatArray,
    other_t_in: FloatArray,
    other_t_out: FloatArray,
    d_safe: float,
    t_safe: float,
    regain_s: float,
) -> AccessOrders:
    """The access-order solver AO (2.7).

        d_x = d + c + D_s,   d_e = d - c - D_s,   t₁ = t'_in - T_s,   t₂ = t'_out + T_s
        FREE = ((v_f - v)/τ, τ_f, 0),   τ_f = 0 if v = v_f else τ

    *first*: FREE if d_x ≤ 0 or dist(t₁) > d_x; else, if t₁ > 0,
    a = max{2 (d_x - v t₁)/(t₁² + ε), min{(v_f - v)/(t₁ + ε), 0}} for t₁; else impossible.

    *second*: FREE if d_x ≤ 0, the other has exited or dist(t₂) < d_e; else, if d_e > 0, stop with
    a = -v²/(2 d_e + ε) and wait if t₂ = ∞ or 2 d_e < t₂ v, otherwise a = 2 (d_e - v t₂)/(t₂² + ε) for t₂;
    else impossible. Both are impossible while both vehicles are inside.

    Args:
        d: distance of the own center to the conflict point [m].
        c: own half-extent [m].
        v: own speed [m/s].
        v_free: own free speed [m/s].
        other_d: distance of the other [m].
        other_c: its half-extent [m].
        other_t_in: its entry time [s].
        other_t_out: its exit time [s].
        d_safe: D_s [m].
        t_safe: T_s [s].
        regain_s: τ [s].
    """
    d, c, v, v_free, other_d, other_c, t_in, t_out = np.broadcast_arrays(
        d, c, v, v_free, other_d, other_c, other_t_in, other_t_out
    )
    d_x, d_e = d + c + d_safe, d - c - d_safe
    t_1, t_2 = t_in - t_safe, t_out + t_safe
    a_free = (v_free - v) / regain_s
    t_free = np.where(v == v_free, 0.0, regain_s)
    collision = (np.abs(d) < c) & (np.abs(other_d) < other_c)
    zero = np.zeros_like(v)

    def distance(t: FloatArray) -> FloatArray:
        regained = v * t_free + 0.5 * a_free * t_free**2 + v_free * (t - t_free)
        return np.where(t < t_free, v * t + 0.5 * a_free * t**2, regained)

    with np.errstate(all="ignore"):
        free = (d_x <= 0) | (distance(t_1) > d_x)
        needed = np.maximum(2 * (d_x - v * t_1) / (t_1**2 + EPSILON), np.minimum((v_free - v) / (t_1 + EPSILON), 0.0))
        first = Triple(
            acceleration=np.where(free, a_free, needed),
            duration=np.where(free, t_free, t_1),
            wait=zero,
            possible=~collision & ((d_x <= 0) | (t_1 > 0)),
        )

        gone = (d_x <= 0) | (other_d <= -other_c)
        free = gone | ((d_e > 0) & (distance(t_2) < d_e))
        stop = np.isposinf(t_2) | (2 * d_e < t_2 * v)
        a_stop = np.where(v > 0, -(v**2) / (2 * d_e + EPSILON), 0.0)
        t_stop = -v / (a_stop - EPSILON)
        a_slow = 2 * (d_e - v * t_2) / (t_2**2 + EPSILON)
        second = Triple(
            acceleration=np.where(free, a_free, np.where(stop, a_stop, a_slow)),
            duration=np.where(free, t_free, np.where(stop, t_stop, t_2)),
            wait=np.where(~free & stop, np.maximum(t_2 - t_stop, 0.0), 0.0),
            possible=~collision & (gone | (d_e > 0)),
        )
    return AccessOrders(first=first, second=second)
