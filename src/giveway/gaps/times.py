"""Characteristic times of a gap: when it opens, is taken, closes, and when E can no longer stop.

All functions work on ragged arrays (see :mod:`giveway.gaps.raw`): sample i owns rows ``offset[i] .. offset[i+1]``.

Reference:
    Schumann, Kober, Zgonnikov, "Benchmarking Behavior Prediction Models in Gap Acceptance Scenarios", IEEE T-IV 2023,
    and the supplement of Schumann et al., "Using Models Based on Cognitive Theory to Predict Human Behavior in
    Traffic", 2023. Differs in: the opening of a gap is an inequality, as in the released code, not a root.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray, IntArray
from giveway.core.kernels import njit
from giveway.gaps.profile import Profile
from giveway.gaps.raw import Description

VELOCITY_WINDOW_S = 0.2
BRAKING_MPS2 = 4.0  # deceleration the ego may use
MIN_SPEED_MPS = 1e-6
AFTER_ACCEPTANCE_S = 0.01  # t_crit of gaps that were taken before E came close


@dataclass(frozen=True, slots=True, kw_only=True)
class GapTimes:
    """Times of N candidate gaps on their raw time axis [s], and the closing gap at every row.

    Attributes:
        is_decided: (N,) bool; where False nothing below is defined (NaN).
        open_row: (N,) row of t_S, -1 where undecided.
        t_open_s: (N,) t_S.
        t_accept_s: (N,) t_A, observed or projected.
        t_close_s: (N,) t_C, observed or projected.
        t_crit_s: (N,) last time at which E could stop.
        is_accepted: (N,) bool, t_A < t_C.
        t_begin_s, t_end_s: (N,) tau_0 and tau_K.
        gap_s: (K,) G, time until E would arrive at its present speed.
        gap_at_open_s: (N,) G at t_S.
        gap_at_acceptance_s: (N,) projected closing time at t_A minus t_A; NaN for rejected gaps.
    """

    is_decided: BoolArray
    open_row: IntArray
    t_open_s: FloatArray
    t_accept_s: FloatArray
    t_close_s: FloatArray
    t_crit_s: FloatArray
    is_accepted: BoolArray
    t_begin_s: FloatArray
    t_end_s: FloatArray
    gap_s: FloatArray
    gap_at_open_s: FloatArray
    gap_at_acceptance_s: FloatArray


def characteristic_times(
    *, offset: IntArray, time_s: FloatArray, description: Description, profile: Profile
) -> GapTimes:
    """t_S, t_A, t_C and t_crit of every sample.

    ::

        open_k = valid_k and D_1,k > D_C,k + L_E,k
        k*     = first k that is open and undecided while k + 1 is open and decided
        t_S    = start of the open block that contains k*
        t_A    = first root of D_A while open, else projected beyond the track
        t_C    = first root of D_C while open, else projected beyond the track
        t_crit = root of  D_C / v - v / (2 a_brake)  between t_S and t_A, v = max(-dD_C/dt, 1e-6)

    Args:
        offset: (N + 1,).
        time_s: (K,) [s].
        description: valid (K,), distance (K, 7) [m].
        profile: uses ``velocity_window``, ``opening`` and ``closing_floor``.

    Returns:
        Times; a sample without an observable decision has ``is_decided`` False. t_crit = t_S where E could not stop any
        more when the gap opened, t_A + 0.01 s where E never came that close before T went.
    """
    seen = description if description.truth is None else replace(description, distance=description.truth)
    filled = filled_with_hindsight(offset=offset, time_s=time_s, description=seen)
    n = len(offset) - 1
    windows = velocity_windows(offset=offset, time_s=time_s, rule=profile.velocity_window)
    gap = np.full(len(time_s), np.nan)
    out = np.full((n, 6), np.nan)
    open_row = np.full(n, -1, dtype=np.int64)
    floor = MIN_SPEED_MPS if profile.closing_floor == "tiny" else 0.0
    _walk(offset, time_s, description.valid, filled, windows, gap, open_row, out, profile.opening == "root", floor)
    decided = open_row >= 0
    accepted = decided & (out[:, 1] < out[:, 2])
    lengths = np.diff(offset)
    begin, end = np.full(n, np.nan), np.full(n, np.nan)
    begin[lengths > 0] = time_s[offset[:-1][lengths > 0]]
    end[lengths > 0] = time_s[offset[1:][lengths > 0] - 1]
    return GapTimes(
        is_decided=decided,
        open_row=open_row,
        t_open_s=out[:, 0],
        t_accept_s=out[:, 1],
        t_close_s=out[:, 2],
        t_crit_s=out[:, 3],
        is_accepted=accepted,
        t_begin_s=begin,
        t_end_s=end,
        gap_s=gap,
        gap_at_open_s=out[:, 4],
        gap_at_acceptance_s=np.where(accepted, out[:, 5], np.nan),
    )


def why_undecided(*, offset: IntArray, description: Description) -> IntArray:
    """(N,) why nothing is decided, as a place in ``WHY_UNDECIDED``; meaningful only where that is so.

    The first passage of E or T that both are recorded at is looked at, whatever the state of the gap.
    """
    seen = description.distance if description.truth is None else description.truth
    in_place = description.valid if description.ego_in_place is None else description.ego_in_place
    return _why_undecided(offset, description.valid, in_place, seen)


@njit(cache=True)
def _why_undecided(offset: IntArray, valid: BoolArray, in_place: BoolArray, distance: FloatArray) -> IntArray:
    out = np.full(len(offset) - 1, 4, dtype=np.int64)
    for i in range(len(out)):
        first, stop = offset[i], offset[i + 1]
        if stop > first and (distance[first, 0] <= 0 or distance[first, 1] <= 0):
            out[i] = 2
        for k in range(first + 1, stop):
            if distance[k - 1, 0] > 0 and distance[k - 1, 1] > 0 and (distance[k, 0] <= 0 or distance[k, 1] <= 0):
                if not in_place[k]:
                    out[i] = 0
                elif not (valid[k - 1] and valid[k]):
                    out[i] = 1
                else:
                    out[i] = 3
                break
    return out


def velocity_windows(*, offset: IntArray, time_s: FloatArray, rule: str) -> IntArray:
    """(N,) raw steps in the window of 0.2 s; at least 1 and at most what the sample has."""
    if rule == "round":
        return _rounded_windows(offset, time_s)
    windows = np.ones(len(offset) - 1, dtype=np.int64)
    for i in range(len(windows)):  # numpy's mean: its rounding decides between neighbors
        steps = np.diff(time_s[offset[i] : offset[i + 1]])
        if len(steps):
            windows[i] = min(max(int(VELOCITY_WINDOW_S / steps.mean()), 1), len(steps))
    return windows


@njit(cache=True)
def _rounded_windows(offset: IntArray, time_s: FloatArray) -> IntArray:
    windows = np.ones(len(offset) - 1, dtype=np.int64)
    for i in range(len(windows)):
        steps = np.diff(time_s[offset[i] : offset[i + 1]])
        if len(steps):
            windows[i] = min(max(int(np.floor(VELOCITY_WINDOW_S / np.median(steps) + 0.5)), 1), len(steps))
    return windows


def filled_with_hindsight(*, offset: IntArray, time_s: FloatArray, description: Description) -> FloatArray:
    """(K, 7) distances with D_1, D_2, D_3 interpolated in time, end values held, and a constant if never recorded."""
    if not np.isnan(description.distance[:, 2:5]).any():
        return description.distance
    filled = description.distance.copy(order="F")
    _interpolate_missing(offset, time_s, filled, description.missing_m)
    return filled


@njit(cache=True)
def _interpolate_missing(offset: IntArray, time_s: FloatArray, distance: FloatArray, constant: float) -> None:
    for i in range(len(offset) - 1):
        for column in range(2, 5):
            last = -1
            for k in range(offset[i], offset[i + 1]):
                value = distance[k, column]
                if np.isnan(value):
                    continue
                if last < 0:
                    distance[offset[i] : k, column] = value
                else:
                    start = distance[last, column]
                    for j in range(last + 1, k):
                        share = (time_s[j] - time_s[last]) / (time_s[k] - time_s[last])
                        distance[j, column] = start + share * (value - start)
                last = k
            if last < 0:
                distance[offset[i] : offset[i + 1], column] = constant
            else:
                distance[last + 1 : offset[i + 1], column] = distance[last, column]


@njit(cache=True)
def _rate(values: FloatArray, time_s: FloatArray, k: int, first: int, window: int) -> float:
    """Backward difference over the window; the first rows take the first full window."""
    later = max(k, first + window)
    return (values[later] - values[later - window]) / (time_s[later] - time_s[later - window])


@njit(cache=True)
def _root(before: float, after: float, t_before: float, t_after: float) -> float:
    share = after / (after - before)
    return share * t_before + (1.0 - share) * t_after


@njit(cache=True)
def _walk(
    offset: IntArray,
    time_s: FloatArray,
    valid: BoolArray,
    distance: FloatArray,
    windows: IntArray,
    gap: FloatArray,
    open_row: IntArray,
    out: FloatArray,
    opens_at_root: bool,
    floor_mps: float,
) -> None:
    """One pass per sample; fills ``gap``, ``open_row`` and ``out`` (N, 6): t_S, t_A, t_C, t_crit, g_S, g_A."""
    d_c, d_a, d_1, l_e = distance[:, 0], distance[:, 1], distance[:, 2], distance[:, 5]
    longest = 0
    for i in range(len(offset) - 1):
        longest = max(longest, offset[i + 1] - offset[i])
    margin = np.empty(longest)
    is_open = np.empty(longest, dtype=np.bool_)
    for i in range(len(offset) - 1):
        first, stop, window = offset[i], offset[i + 1], windows[i]
        if stop - first < 2:
            continue
        decision = -1
        for k in range(first, stop):
            speed = max(-_rate(d_c, time_s, k, first, window), floor_mps)
            gap[k] = d_c[k] / speed if speed > 0 else np.inf
            margin[k - first] = gap[k] - speed / (2.0 * BRAKING_MPS2)
            is_open[k - first] = valid[k] and d_1[k] > d_c[k] + l_e[k]
            if (
                decision < 0
                and k > first
                and is_open[k - first - 1]
                and is_open[k - first]
                and d_a[k - 1] > 0
                and d_c[k - 1] > 0
                and (d_a[k] <= 0 or d_c[k] <= 0)
            ):
                decision = k - 1
        if decision < 0:
            continue
        opened = first
        for k in range(decision - 1, first - 1, -1):
            if not is_open[k - first]:
                opened = k + 1
                break
        end = time_s[stop - 1]
        t_a, t_c = np.nan, np.nan
        for k in range(first + 1, stop):
            if not (is_open[k - first - 1] and is_open[k - first]):
                continue
            if np.isnan(t_a) and d_a[k - 1] > 0 and d_a[k] <= 0:
                t_a = _root(d_a[k - 1], d_a[k], time_s[k - 1], time_s[k])
            if np.isnan(t_c) and d_c[k - 1] > 0 and d_c[k] <= 0:
                t_c = _root(d_c[k - 1], d_c[k], time_s[k - 1], time_s[k])
        if np.isnan(t_a):
            speed = max(-_rate(d_a, time_s, stop - 1, first, window), MIN_SPEED_MPS)
            t_a = max(end + d_a[stop - 1] / speed, end)
        if np.isnan(t_c):
            t_c = max(end + gap[stop - 1], end)
        if not min(t_a, t_c) < end:
            continue
        t_s = time_s[opened]
        if opens_at_root and opened > first and valid[opened - 1]:
            was = d_1[opened - 1] - d_c[opened - 1] - l_e[opened - 1]
            t_s = _root(was, d_1[opened] - d_c[opened] - l_e[opened], time_s[opened - 1], time_s[opened])
        critical = -1
        for k in range(opened + 1, stop):
            if time_s[k] >= t_a:
                break
            if is_open[k - first] and d_c[k] > 0 and margin[k - first] < 0:
                critical = k
                break
        if critical >= 0 and margin[critical - first - 1] < 0:
            t_crit = t_s
        elif critical >= 0:
            before, after = float(margin[critical - first - 1]), float(margin[critical - first])
            t_crit = _root(before, after, time_s[critical - 1], time_s[critical])
        elif d_c[opened + 1] < 0:
            t_crit = t_s
        else:
            t_crit = t_a + AFTER_ACCEPTANCE_S
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = t_s, t_a, t_c, min(t_crit, t_c)
        out[i, 4] = gap[opened]
        out[i, 5] = _gap_at(time_s, gap, first, stop, float(t_a))
        open_row[i] = opened


@njit(cache=True)
def _gap_at(time_s: FloatArray, gap: FloatArray, first: int, stop: int, t: float) -> float:
    """Projected closing time, linear in time between rows, minus t."""
    if not (time_s[first] <= t <= time_s[stop - 1]):
        return np.nan
    k = first + 1 + np.searchsorted(time_s[first + 1 : stop - 1], t)
    share = (t - time_s[k - 1]) / (time_s[k] - time_s[k - 1])
    before, after = time_s[k - 1] + gap[k - 1], time_s[k] + gap[k]
    return before + share * (after - before) - t
