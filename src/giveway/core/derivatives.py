"""Derivatives over time of signals with gaps.

Causal: :func:`backward_difference`, :func:`speed_jerk`; a value at t uses nothing after t, so a predictor may see it.
Not causal: :func:`central_difference`, :func:`savitzky_golay`; for the evaluation of what has happened.

In all of them a gap splits a signal: nothing is ever differenced across it. Signals are (..., T) or, with components,
(..., T, C); ``observed`` is (..., T) and defaults to "finite". Spacing is ``dt_s`` throughout.
"""

from __future__ import annotations

import numpy as np

from giveway.core import smoothing
from giveway.core.arrays import BoolArray, FloatArray, IntArray


def runs(observed: BoolArray) -> IntArray:
    """(R, 2) start and stop (exclusive) of the stretches of True in a (T,) mask."""
    edges = np.diff(np.concatenate([[False], observed, [False]]).astype(np.int8))
    return np.stack([np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)], axis=1)


def backward_difference(values: FloatArray, dt_s: float, observed: BoolArray | None = None) -> FloatArray:
    """Causal first derivative.

        x'_k = (x_k - x_{k-1}) / dt

    Returns:
        shape of ``values``; NaN at the first instant of every stretch.
    """
    values, observed = _prepare(values, dt_s, observed)
    out = np.full_like(values, np.nan)
    axis = observed.ndim - 1
    head, tail = _from(axis, 1), _upto(axis, -1)
    both = observed[head] & observed[tail]
    out[head] = np.where(_like(both, values), (values[head] - values[tail]) / dt_s, np.nan)
    return out


def central_difference(values: FloatArray, dt_s: float, observed: BoolArray | None = None) -> FloatArray:
    """First derivative from both sides, of second order inside a stretch.

        x'_k = (x_{k+1} - x_{k-1}) / (2 dt)

    Returns:
        shape of ``values``; one-sided differences at both ends of a stretch, NaN for a stretch of one instant.
    """
    values, observed = _prepare(values, dt_s, observed)
    axis = observed.ndim - 1
    back = backward_difference(values, dt_s, observed)
    ahead = np.full_like(values, np.nan)
    ahead[_upto(axis, -1)] = back[_from(axis, 1)]
    both = 0.5 * (back + ahead)
    return np.where(np.isnan(both), np.where(np.isnan(back), ahead, back), both)


def savitzky_golay(
    values: FloatArray,
    dt_s: float,
    observed: BoolArray | None = None,
    *,
    order: int = 1,
    window: int = 11,
    degree: int = 3,
) -> FloatArray:
    """Derivative of a polynomial fitted to a moving window; the ends of a stretch by the fit of their last window.

    Stretches shorter than the window use the largest odd window of at least 5; below that, plain differences:
    central ones for order 1; for order 2 the second difference at the middle instants, repeated at the ends.

    Args:
        values: (..., T) or (..., T, C).
        dt_s: spacing.
        observed: (..., T).
        order: of the derivative: 0 (smoothing only), 1 or 2.
        window: odd number of instants.
        degree: of the polynomial; at least ``order`` and below ``window``.

    Returns:
        shape of ``values``; NaN where not observed and where a stretch is too short for any difference.

    Reference:
        Savitzky and Golay, Analytical Chemistry 36 (1964); through :mod:`giveway.core.smoothing`.
    """
    if order not in (0, 1, 2):
        raise ValueError(f"order must be 0, 1 or 2, got {order}")
    if window % 2 == 0 or not order <= degree < window:
        raise ValueError(f"window must be odd and order <= degree < window, got {window=}, {degree=}, {order=}")
    values, observed = _prepare(values, dt_s, observed)
    out = np.full_like(values, np.nan)
    for row in np.ndindex(observed.shape[:-1]):
        for start, stop in runs(observed[row]):
            out[row][start:stop] = _fit_stretch(values[row][start:stop], dt_s, order, window, degree)
    return out


def speed_jerk(
    speed: FloatArray, dt_s: float, observed: BoolArray | None = None, *, start: float = float("nan")
) -> FloatArray:
    """Causal jerk as the second difference of scalar speed.

        j_k = (v_k - 2 v_{k-1} + v_{k-2}) / dt^2

    Args:
        speed: (..., T) [m/s].
        dt_s: spacing.
        observed: (..., T).
        start: value of the first two instants of every stretch; the closed-loop challenge counts them as 0.

    Returns:
        (..., T) [m/s^3]; NaN where not observed.
    """
    speed, observed = _prepare(speed, dt_s, observed)
    once = backward_difference(speed, dt_s, observed)
    twice = backward_difference(once, dt_s, observed & np.isfinite(once))
    return np.where(observed, np.where(np.isnan(twice), start, twice), np.nan)


def _fit_stretch(values: FloatArray, dt_s: float, order: int, window: int, degree: int) -> FloatArray:
    count = len(values)
    width = min(window, count if count % 2 else count - 1)
    if width >= 5:
        degree = min(degree, width - 1)
        return smoothing.savitzky_golay(values, width, degree, derivative=order, spacing=dt_s)
    if order == 0:
        return values
    if order == 1:
        moved = np.moveaxis(values, 0, -1)
        return np.moveaxis(central_difference(moved, dt_s), -1, 0)
    if count < 3:
        return np.full_like(values, np.nan)
    middle = (values[2:] - 2.0 * values[1:-1] + values[:-2]) / dt_s**2
    return np.concatenate([middle[:1], middle, middle[-1:]])


def _prepare(values: FloatArray, dt_s: float, observed: BoolArray | None) -> tuple[FloatArray, BoolArray]:
    values = np.asarray(values, dtype=np.float64)
    if not dt_s > 0:
        raise ValueError(f"dt_s must be positive, got {dt_s}")
    if observed is None:
        return values, np.isfinite(values)
    if values.shape[: observed.ndim] != observed.shape:
        raise ValueError(f"values {values.shape} do not start with the shape of observed {observed.shape}")
    finite = np.isfinite(values).reshape((*observed.shape, -1)).all(axis=-1)
    return values, observed & finite


def _from(axis: int, start: int) -> tuple[slice, ...]:
    return (slice(None),) * axis + (slice(start, None),)


def _upto(axis: int, stop: int) -> tuple[slice, ...]:
    return (slice(None),) * axis + (slice(None, stop),)


def _like(mask: BoolArray, values: FloatArray) -> BoolArray:
    return mask.reshape(mask.shape + (1,) * (values.ndim - mask.ndim))
