"""Derivatives over time of signals with gaps.

Causal: :func:`backward_difference`; a value at t uses nothing after t, so a predictor may see it.
Not causal: :func:`central_difference`; for the evaluation of what has happened.

In both a gap splits a signal: nothing is ever differenced across it. Signals are (..., T) or, with components,
(..., T, C); ``observed`` is (..., T) and defaults to "finite". Spacing is ``dt_s`` throughout.
"""

from __future__ import annotations

import numpy as np

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
