"""Characteristic times of a gap from densely sampled 1D distances: the hidden truth.

The rules are those of section 1.6 of the protocol note, evaluated on a grid several times finer than the file,
so that what remains is the interpolation error of whoever works on the file. Only t_S is bound to
the samples of the file, because the protocol never interpolates it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from giveway.core.arrays import BoolArray, FloatArray
from giveway.synth.traffic import GapDecisions

BRAKE_MPS2 = 4.0
WINDOW_S = 0.2
AFTER_ACCEPTANCE_S = 0.01
MIN_SPEED_MPS = 1e-6


LATEST_S = 1e4
"""Expected times beyond this are written as infinite."""


DECISION_SCHEMA = {
    **dict.fromkeys(("t_id", "e_id"), pl.Int64),
    **dict.fromkeys(("t_S", "t_A", "t_C", "t_crit", "gap_s", "distance_m", "p_accept"), pl.Float64),
    "accepted": pl.Boolean,
}
"""Columns of the truth of datasets whose drivers log decisions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CharacteristicTimes:
    """Times of one gap in seconds of the file's clock; NaN where a decision cannot be observed.

    Attributes:
        t_s: the gap opens (a sample of the file).
        t_a: T enters the contested space, observed or projected.
        t_c: E reaches it, observed or projected.
        t_crit: E can no longer stop before it.
        t_a_observed: whether t_a lies within the record.
        t_c_observed: whether t_c lies within the record.
    """

    t_s: float
    t_a: float
    t_c: float
    t_crit: float
    t_a_observed: bool
    t_c_observed: bool


UNDECIDED = CharacteristicTimes(
    t_s=np.nan, t_a=np.nan, t_c=np.nan, t_crit=np.nan, t_a_observed=False, t_c_observed=False
)


def characteristic_times(
    time_s: FloatArray, *, valid: BoolArray, d_c: FloatArray, d_a: FloatArray, d_1: FloatArray, l_e: float, stride: int
) -> CharacteristicTimes:
    """Rules 1 to 6 of section 1.6.

    Args:
        time_s: (K,) uniform fine grid; every ``stride``-th instant is a sample of the file, the first one included.
        valid: (K,) all roles are where the gap exists.
        d_c: (K,) E to the contested space [m].
        d_a: (K,) T to the contested space [m].
        d_1: (K,) predecessor ahead of E [m].
        l_e: extent of the contested space along E's path [m].
        stride: fine steps per sample of the file.

    Returns:
        All NaN if no sample is undecided and followed by a decided one.
    """
    is_open = valid & (d_1 > d_c + l_e)
    undecided = is_open & (d_a > 0) & (d_c > 0)
    decided = is_open & ((d_a <= 0) | (d_c <= 0))
    at_samples = slice(None, None, stride)
    turns = np.flatnonzero(undecided[at_samples][:-1] & decided[at_samples][1:])
    if turns.size == 0:
        return UNDECIDED
    closed = np.flatnonzero(~is_open[at_samples][: turns[0]])
    start = (int(closed[-1]) + 1 if closed.size else 0) * stride
    gap = _gap_time(time_s, d_c)
    t_a = _first_fall(time_s, d_a, is_open)
    t_c = _first_fall(time_s, d_c, is_open)
    ends = time_s[-1]
    t_a_observed, t_c_observed = np.isfinite(t_a), np.isfinite(t_c)
    t_a = t_a if t_a_observed else _expected(ends, _gap_time(time_s, d_a)[-1])
    t_c = t_c if t_c_observed else _expected(ends, gap[-1])
    margin = gap - _closing_speed(time_s, d_c) / (2 * BRAKE_MPS2)
    critical = np.flatnonzero((time_s > time_s[start]) & (time_s < t_a) & is_open & (d_c > 0) & (margin < 0))
    if critical.size == 0:
        t_crit = time_s[start] if d_c[min(start + stride, d_c.size - 1)] < 0 else t_a + AFTER_ACCEPTANCE_S
    elif margin[critical[0] - 1] < 0:
        t_crit = time_s[start]
    else:
        t_crit = _root(time_s, margin, int(critical[0]))
    return CharacteristicTimes(
        t_s=float(time_s[start]),
        t_a=float(t_a),
        t_c=float(t_c),
        t_crit=float(t_crit),
        t_a_observed=bool(t_a_observed),
        t_c_observed=bool(t_c_observed),
    )


def _expected(ends: float, remaining_s: float) -> float:
    """A time after the end of the track, by constant speed; infinite where a car all but stands."""
    expected = max(ends + remaining_s, ends)
    # Distance over a speed near zero: the digits of such a number are noise, and differ between processors.
    return expected if expected <= LATEST_S else float("inf")


def _closing_speed(time_s: FloatArray, distance: FloatArray) -> FloatArray:
    steps = max(1, round(WINDOW_S / (time_s[1] - time_s[0])))
    steps = min(steps, distance.size - 1)
    speed = np.empty_like(distance)
    speed[steps:] = (distance[:-steps] - distance[steps:]) / (time_s[steps:] - time_s[:-steps])
    speed[:steps] = speed[steps]
    return np.maximum(speed, MIN_SPEED_MPS)


def _gap_time(time_s: FloatArray, distance: FloatArray) -> FloatArray:
    return distance / _closing_speed(time_s, distance)


def _first_fall(time_s: FloatArray, distance: FloatArray, is_open: BoolArray) -> float:
    falls = np.flatnonzero((is_open & (distance > 0))[:-1] & (is_open & (distance <= 0))[1:])
    return _root(time_s, distance, int(falls[0]) + 1) if falls.size else float("nan")


def _root(time_s: FloatArray, values: FloatArray, index: int) -> float:
    share = values[index] / (values[index] - values[index - 1])
    return float(share * time_s[index - 1] + (1 - share) * time_s[index])


def falls(values: FloatArray) -> float:
    """Fractional index at which a falling quantity passes zero; NaN if it does not."""
    hits = np.flatnonzero(np.isfinite(values[:-1]) & (values[:-1] > 0) & (values[1:] <= 0))
    if hits.size == 0:
        return float("nan")
    k = int(hits[0])
    return float(k + values[k] / (values[k] - values[k + 1]))


def decided(decisions: GapDecisions, n: int) -> dict[str, Any]:
    """What a driver saw and drew at its decision, for a row of the truth."""
    return {
        "gap_s": float(decisions.gap_s[n]),
        "distance_m": float(decisions.distance_m[n]),
        "p_accept": float(decisions.probability[n]),
        "accepted": bool(decisions.accepted[n]),
    }
