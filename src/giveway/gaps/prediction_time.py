"""When a prediction is made: as the gap opens, at a fixed gap size, or at the last moment E could stop."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray, IntArray
from giveway.core.errors import UnknownNameError
from giveway.core.kernels import njit
from giveway.gaps.profile import Profile
from giveway.gaps.times import GapTimes

Choice = Literal["initial", "constant", "critical"]
CHOICES: tuple[Choice, ...] = get_args(Choice)

DT_S = 0.2  # spacing of input and output grids
BEFORE_CRITICAL_S = 0.01
STANDING_MPS = 1.0  # an E that is slower offers no timed gap
NOT_CONSTANT_S = 0.3  # a gap that is farther off its constant size at t_0 has not that size
DELTA_T_GRID_S = np.arange(2001) / 100.0  # 0, 0.01 .. 20 s


def choice_named(name: str) -> Choice:
    """Check a name a user gave.

    Raises:
        UnknownNameError: naming the known ones.
    """
    for choice in CHOICES:
        if choice == name:
            return choice
    raise UnknownNameError("prediction time", name, CHOICES)


def prediction_times(
    times: GapTimes, choice: Choice, *, offset: IntArray, time_s: FloatArray, delta_t_s: float | None = None
) -> FloatArray:
    """t_0 of every sample.

    ::

        initial    t_0 = t_S
        constant   t_0 = tau_k + G_k - Delta_t,  k = first row from t_S on with G_k < Delta_t; none: t_A + dt
        critical   t_0 = t_crit - 0.01 s

    Args:
        times: characteristic times.
        choice: which of the three.
        offset: (N + 1,).
        time_s: (K,) [s].
        delta_t_s: gap size of ``constant``; see :func:`optimal_delta_t`.

    Returns:
        (N,) seconds on the raw time axis; NaN for samples without a decision. Whether a sample can be used at that
        time is decided by admission.
    """
    if choice == "initial":
        return times.t_open_s.copy()
    if choice == "critical":
        return times.t_crit_s - BEFORE_CRITICAL_S
    if delta_t_s is None:
        raise ValueError("constant prediction times need delta_t_s")
    return _constant(offset, time_s, times.gap_s, times.open_row, times.t_accept_s, float(delta_t_s))


def optimal_delta_t(
    times: GapTimes,
    *,
    offset: IntArray,
    time_s: FloatArray,
    num_history: int,
    profile: Profile,
    ego_mps: FloatArray | None = None,
) -> float:
    """The gap size at which the rarer class has most samples.

    ::

        Delta_t = smallest D in {0, 0.01 .. 20} that maximizes min(N_A(D), N_notA(D))
        ignore_admission:  N_A = #{accepted: g_A < D < g_S},  N_notA = #{rejected: D < g_S}
        after_admission:   both count the samples that admission would keep at t_0(D)

    Args:
        times: characteristic times.
        offset: (N + 1,).
        time_s: (K,) [s].
        num_history: input steps a sample must support, max(n_I, n_I,max); used after admission.
        profile: uses ``delta_t_constraints`` and ``standing_ego``.
        ego_mps: (K,) speed of E, which ``standing_ego = drop`` needs.

    Returns:
        Seconds; 0 if no sample could be used at any size.
    """
    if profile.delta_t_constraints == "ignore_admission":
        accepted, rejected = times.is_accepted, times.is_decided & ~times.is_accepted
        count_a = _open_intervals(times.gap_at_acceptance_s[accepted], times.gap_at_open_s[accepted])
        below = np.full(int(rejected.sum()), -np.inf)
        count_r = _open_intervals(below, times.gap_at_open_s[rejected])
    else:
        lower = times.t_begin_s + (num_history - 1) * DT_S
        limit = np.minimum(times.t_accept_s, times.t_crit_s)
        counts = _admitted_counts(
            offset,
            time_s,
            times.gap_s,
            times.open_row,
            np.maximum(times.t_open_s, lower),
            limit,
            times.is_accepted,
            DELTA_T_GRID_S,
            np.full(len(time_s), np.inf) if ego_mps is None else ego_mps,
            STANDING_MPS,
            np.inf if ego_mps is None else NOT_CONSTANT_S,
        )
        count_a, count_r = counts[1], counts[0]
    return float(DELTA_T_GRID_S[int(np.argmax(np.minimum(count_a, count_r)))])


def _open_intervals(low: FloatArray, high: FloatArray) -> IntArray:
    """For every grid value D: how many intervals have low < D < high."""
    some = low < high
    started = np.searchsorted(np.sort(low[some]), DELTA_T_GRID_S, side="left")
    ended = np.searchsorted(np.sort(high[some]), DELTA_T_GRID_S, side="right")
    return started - ended


@njit(cache=True)
def _constant(
    offset: IntArray,
    time_s: FloatArray,
    gap: FloatArray,
    open_row: IntArray,
    t_accept: FloatArray,
    delta_t: float,
) -> FloatArray:
    out = np.full(len(open_row), np.nan)
    for i in range(len(open_row)):
        if open_row[i] < 0:
            continue
        out[i] = t_accept[i] + DT_S
        for k in range(open_row[i], offset[i + 1]):
            if gap[k] < delta_t:
                out[i] = time_s[k] + gap[k] - delta_t
                break
    return out


@njit(cache=True)
def _admitted_counts(
    offset: IntArray,
    time_s: FloatArray,
    gap: FloatArray,
    open_row: IntArray,
    earliest: FloatArray,
    limit: FloatArray,
    accepted: BoolArray,
    grid: FloatArray,
    ego_mps: FloatArray,
    standing_mps: float,
    tolerance: float,
) -> IntArray:
    """(2, D) rejected and accepted samples with earliest <= t_0(D) < limit; one walk per sample.

    E must move at t_0, and the gap, as the last row at or before t_0 has it, must be near its constant size.
    """
    counts = np.zeros((2, len(grid)), dtype=np.int64)
    longest = 0
    for i in range(len(open_row)):
        longest = max(longest, offset[i + 1] - offset[i])
    record = np.empty(longest, dtype=np.int64)
    for i in range(len(open_row)):
        if open_row[i] < 0:
            continue
        lows = 0
        for k in range(open_row[i], offset[i + 1]):
            if lows == 0 or gap[k] < gap[record[lows - 1]]:
                record[lows] = k
                lows += 1
        label = 1 if accepted[i] else 0
        position = lows - 1
        for g in range(len(grid)):
            while position > 0 and gap[record[position - 1]] < grid[g]:
                position -= 1
            k = record[position]
            if gap[k] < grid[g]:
                t_0 = time_s[k] + gap[k] - grid[g]
                if earliest[i] <= t_0 < limit[i]:
                    j = k
                    while j > offset[i] and time_s[j] > t_0:
                        j -= 1
                    off = abs(time_s[j] + gap[j] - t_0 - grid[g])
                    if ego_mps[j] >= standing_mps and off <= tolerance:
                        counts[label, g] += 1
    return counts
