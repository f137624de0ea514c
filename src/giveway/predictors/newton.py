"""Newton steps that bring a fit from an optimizer's tolerance to a stationary point.

An optimizer stops when little is left to gain, and where it stops depends on the last bit of every evaluation. At a
stationary point the last bit stays the last bit, so the same data give the same parameters on every machine.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray
from giveway.core.least_squares import least_squares

GRADIENT = 1e-10
"""Norm of the free gradient at which a point counts as stationary."""

MAX_STEPS = 20
DIFFERENCE = 1e-5
"""Step of the central differences of the gradient that give the Hessian; its error only slows convergence."""


def stationary(
    loss: Callable[[FloatArray], tuple[float, FloatArray]], start: FloatArray, bounds: FloatArray
) -> FloatArray:
    """The stationary point that Newton's method reaches from ``start``.

    Args:
        loss: value and gradient at (P,) parameters.
        start: (P,) where an optimizer stopped.
        bounds: (P, 2) limits; parameters that sit on one and are pushed against it stay there.

    Returns:
        (P,) the best point met: one with a free gradient below 1e-10, or, where the loss has no such point nearby
        (a kink, a flat direction), the one with the smallest free gradient that Newton's method found.
    """
    point = np.clip(start, bounds[:, 0], bounds[:, 1])
    value, gradient = loss(point)
    free = _free(point, gradient, bounds)
    for _ in range(MAX_STEPS):
        if _norm(gradient[free]) < GRADIENT or not free.any():
            break
        step = np.zeros_like(point)
        step[free] = least_squares(_hessian(loss, point, free), -gradient[free])
        new = np.clip(point + step, bounds[:, 0], bounds[:, 1])
        new_value, new_gradient = loss(new)
        new_free = _free(new, new_gradient, bounds)
        is_better = _norm(new_gradient[new_free]) < _norm(gradient[free]) and new_value <= value + 1e-9 * abs(value)
        if not is_better:
            break
        point, value, gradient, free = new, new_value, new_gradient, new_free
    return point


def _free(point: FloatArray, gradient: FloatArray, bounds: FloatArray) -> BoolArray:
    """(P,) bool: not held by a bound."""
    return ~(((point <= bounds[:, 0]) & (gradient > 0)) | ((point >= bounds[:, 1]) & (gradient < 0)))


def _hessian(loss: Callable[[FloatArray], tuple[float, FloatArray]], point: FloatArray, free: BoolArray) -> FloatArray:
    columns: list[FloatArray] = []
    for k in np.flatnonzero(free).tolist():
        shift = np.zeros_like(point)
        shift[k] = DIFFERENCE
        columns.append((loss(point + shift)[1] - loss(point - shift)[1])[free] / (2 * DIFFERENCE))
    matrix = np.stack(columns, axis=1)
    return (matrix + matrix.T) / 2


def _norm(vector: FloatArray) -> float:
    return float(np.sqrt((vector * vector).sum()))
