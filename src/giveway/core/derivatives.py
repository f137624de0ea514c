"""The causal derivative over time of signals with gaps, and the stretches between the gaps.

A gap splits a signal: nothing is ever differenced across it. Signals are (..., T) or, with components,
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
    """Causal first derivative: a value at t uses nothing after t, so a predictor may see it.

        x'_k = (x_k - x_{k-1}) / dt

    Returns:
        shape of ``values``; NaN at the first instant of every stretch.
    """
    values, observed = _prepare(values, dt_s, observed)
    out = np.full_like(values, np.nan)
    before = (slice(None),) * (observed.ndim - 1)
    head, tail = (*before, slice(1, None)), (*before, slice(None, -1))
    both = observed[head] & observed[tail]
    both = both.reshape(both.shape + (1,) * (values.ndim - both.ndim))
    out[head] = np.where(both, (values[head] - values[tail]) / dt_s, np.nan)
    return out


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
