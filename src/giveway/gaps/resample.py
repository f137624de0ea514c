"""Inputs and outputs on the common grid t_0 + j dt."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray, IntArray
from giveway.core.kernels import njit
from giveway.gaps.prediction_time import DT_S
from giveway.gaps.profile import Profile
from giveway.gaps.times import VELOCITY_WINDOW_S, GapTimes

NUDGE_S = 1e-5
PROJECTION_MARGIN_S = 2.0  # how long after the projected arrival of E a model still predicts
SAME_TIME_S = 1e-9  # rows this close after t_0 count as t_0


@dataclass(frozen=True, slots=True, kw_only=True)
class Horizons:
    """Attributes:
    num_predict: (N,) n_pred.
    num_observed: (N,) n_O.
    t_close_s: (N,) t_C - t_0, capped [s].
    is_capped: (N,) bool.
    """

    num_predict: IntArray
    num_observed: IntArray
    t_close_s: FloatArray
    is_capped: BoolArray


def horizons(
    times: GapTimes, t_0_s: FloatArray, gap_at_t_0_s: FloatArray, kept: IntArray, profile: Profile
) -> Horizons:
    """How many steps models predict and how many can be compared.

    ::

        n_pred = ceil((t_C - t_0) / dt)        n_O = min(n_pred, floor((tau_K - t_0) / dt))

    The cap bounds t_C - t_0; where T accepts after the cap, t_C stays one step behind t_A so that the label holds.

    Args:
        times: characteristic times of all samples.
        t_0_s: (N,) prediction times.
        gap_at_t_0_s: (N,) projected closing time minus t_0, for ``horizon_from_projection``.
        kept: indices of the samples wanted.
        profile: uses ``horizon_cap`` and ``horizon_from_projection``.
    """
    t_0 = t_0_s[kept]
    close = times.t_close_s[kept] - t_0
    accept = times.t_accept_s[kept] - t_0
    capped = np.zeros(len(kept), dtype=bool)
    horizon = close
    if profile.horizon_from_projection == "projected":
        horizon = gap_at_t_0_s[kept] + PROJECTION_MARGIN_S
    if profile.horizon_cap is not None:
        capped = horizon > profile.horizon_cap
        close = np.minimum(
            close, np.maximum(profile.horizon_cap, np.where(times.is_accepted[kept], accept + DT_S, 0.0))
        )
        horizon = np.minimum(horizon, profile.horizon_cap)
    num_predict = np.ceil(horizon / DT_S).astype(np.int64)
    observed = np.floor((times.t_end_s[kept] - t_0) / DT_S).astype(np.int64)
    return Horizons(
        num_predict=num_predict,
        num_observed=np.clip(observed, 0, num_predict),
        t_close_s=close,
        is_capped=capped,
    )


def row_before(t_0_s: FloatArray, *, offset: IntArray, time_s: FloatArray) -> IntArray:
    """(N,) last row at or before t_0, the first one if there is none or t_0 is NaN; 0 for samples without rows."""
    return _row_before(offset, time_s, t_0_s)


@njit(cache=True)
def _row_before(offset: IntArray, time_s: FloatArray, t_0: FloatArray) -> IntArray:
    out = np.zeros(len(t_0), dtype=np.int64)
    for i in range(len(t_0)):
        first, stop = offset[i], offset[i + 1]
        if stop > first:
            at = t_0[i] + SAME_TIME_S if t_0[i] == t_0[i] else time_s[first]
            out[i] = max(first + np.searchsorted(time_s[first:stop], at, side="right") - 1, first)
    return out


def speeds_at(xy: FloatArray, row: IntArray, *, offset: IntArray, time_s: FloatArray) -> FloatArray:
    """(N,) speed over the 0.2 s up to a row, or the time there is; NaN at the first row of a sample [m/s]."""
    first = offset[:-1]
    before = np.maximum(row_before(time_s[row] - VELOCITY_WINDOW_S, offset=offset, time_s=time_s), first)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.hypot(*(xy[row] - xy[before]).T) / (time_s[row] - time_s[before])


def projected_gap(times: GapTimes, t_0_s: FloatArray, *, offset: IntArray, time_s: FloatArray) -> FloatArray:
    """(N,) projected closing time of the last row at or before t_0, minus t_0 [s]; NaN where t_0 is NaN."""
    return _projected_gap(offset, time_s, times.gap_s, t_0_s)


@njit(cache=True)
def _projected_gap(offset: IntArray, time_s: FloatArray, gap: FloatArray, t_0: FloatArray) -> FloatArray:
    out = np.full(len(t_0), np.nan)
    for i in range(len(t_0)):
        first, stop = offset[i], offset[i + 1]
        if np.isnan(t_0[i]) or stop == first:
            continue
        k = max(first + np.searchsorted(time_s[first:stop], t_0[i] + SAME_TIME_S, side="right") - 1, first)
        out[i] = time_s[k] + gap[k] - t_0[i]
    return out


def inputs_at(
    values: FloatArray,
    *,
    offset: IntArray,
    time_s: FloatArray,
    t_0_s: FloatArray,
    kept: IntArray,
    num_input: int,
    profile: Profile,
) -> FloatArray:
    """Row values at t_0 + j dt, j = 1 - n_I .. 0.

    Linear in time. With ``input_frames = past`` only rows at or before t_0 are read; a grid time behind the last of
    them continues its last step. A time before the first row takes the first row.

    Args:
        values: (K, C) per row; NaN where not recorded, which makes every interpolated value that needs it NaN.
        offset: (N + 1,).
        time_s: (K,) [s].
        t_0_s: (N,) [s].
        kept: (M,) samples wanted.
        num_input: n_I.
        profile: uses ``resampling`` and ``input_frames``.

    Returns:
        (M, n_I, C).
    """
    steps = np.arange(1 - num_input, 1) * DT_S
    grid = t_0_s[kept][:, None] + steps
    past = profile.input_frames == "past"
    if profile.resampling == "nudge":
        grid = grid + NUDGE_S
    until = t_0_s[kept] + SAME_TIME_S if past else np.full(len(kept), np.inf)
    return _interpolate(offset, time_s, values, kept, grid, until)


def outputs_at(
    values: FloatArray,
    *,
    offset: IntArray,
    time_s: FloatArray,
    t_0_s: FloatArray,
    kept: IntArray,
    num_observed: IntArray,
    profile: Profile,
) -> FloatArray:
    """Row values at t_0 + j dt, j = 1 .. n_O; (M, S, C) with S the largest n_O and NaN beyond n_O of a sample."""
    longest = int(num_observed.max()) if len(num_observed) else 0
    steps = np.arange(1, longest + 1)
    grid = t_0_s[kept][:, None] + steps * DT_S
    if profile.resampling == "nudge":
        grid = grid - NUDGE_S
    grid = np.where(steps <= num_observed[:, None], grid, np.nan)
    return _interpolate(offset, time_s, values, kept, grid, np.full(len(kept), np.inf))


@njit(cache=True)
def _interpolate(
    offset: IntArray, time_s: FloatArray, values: FloatArray, kept: IntArray, grid: FloatArray, until: FloatArray
) -> FloatArray:
    columns = values.shape[1]
    out = np.full((len(kept), grid.shape[1], columns), np.nan)
    for m in range(len(kept)):
        first, stop = offset[kept[m]], offset[kept[m] + 1]
        if time_s[stop - 1] > until[m]:
            stop = first + np.searchsorted(time_s[first:stop], until[m], side="right")
        visible = stop - first
        extend = np.isfinite(until[m])
        for j in range(grid.shape[1]):
            t = grid[m, j]
            if np.isnan(t):
                continue
            if visible == 1 or t <= time_s[first]:
                for c in range(columns):
                    out[m, j, c] = values[first, c]
                continue
            if t >= time_s[stop - 1] and not extend:
                for c in range(columns):
                    out[m, j, c] = values[stop - 1, c]
                continue
            k = first + 1 + np.searchsorted(time_s[first + 1 : stop - 1], t)
            share = (t - time_s[k - 1]) / (time_s[k] - time_s[k - 1])
            for c in range(columns):
                before, after = values[k - 1, c], values[k, c]
                if share == 1.0 or (share > 1.0 and np.isnan(before)):
                    out[m, j, c] = after
                elif share == 0.0:
                    out[m, j, c] = before
                else:
                    out[m, j, c] = before + share * (after - before)
    return out


def filled_from_past(*, offset: IntArray, distance: FloatArray, missing_m: float) -> FloatArray:
    """(K, 7) distances; missing D_1, D_2, D_3 take the last known value, or the constant before the first."""
    if not np.isnan(distance[:, 2:5]).any():
        return distance
    filled = distance.copy(order="F")
    _hold(offset, filled, missing_m)
    return filled


@njit(cache=True)
def _hold(offset: IntArray, distance: FloatArray, constant: float) -> None:
    for i in range(len(offset) - 1):
        for column in range(2, 5):
            value = constant
            for k in range(offset[i], offset[i + 1]):
                if np.isnan(distance[k, column]):
                    distance[k, column] = value
                else:
                    value = distance[k, column]
