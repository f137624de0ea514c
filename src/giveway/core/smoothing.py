"""Filters along time or way in a fixed order of addition; library versions go through BLAS, whose sums differ."""

from __future__ import annotations

from functools import lru_cache
from math import factorial

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.least_squares import least_squares


def weighted_windows(values: FloatArray, weight: FloatArray) -> FloatArray:
    """Sum of each full window of K neighbors along axis 0, weighted.

    ::

        out[i] = weight[0] values[i] + ... + weight[K - 1] values[i + K - 1]

    Args:
        values: (N, ...) with N >= K.
        weight: (K,).

    Returns:
        (N - K + 1, ...).
    """
    count = len(values) - len(weight) + 1
    total = weight[0] * values[:count]
    for k in range(1, len(weight)):
        total = total + weight[k] * values[k : k + count]
    return total


def savitzky_golay(
    values: FloatArray, window: int, degree: int, *, derivative: int = 0, spacing: float = 1.0
) -> FloatArray:
    """Values or derivatives of a polynomial fitted to each window, along axis 0.

    The first and last half windows take the polynomials of the first and last full window.

    Args:
        values: (N, ...) with N >= ``window``.
        window: odd number of neighbors.
        degree: of the polynomial, below ``window``.
        derivative: order of the derivative; 0 smooths.
        spacing: between two values.

    Returns:
        (N, ...).

    Reference:
        Savitzky and Golay, Analytical Chemistry 36 (1964).
    """
    if window % 2 == 0 or not degree < window <= len(values):
        raise ValueError(f"a window of {window} with degree {degree} does not fit {len(values)} values")
    half = window // 2
    rows = _fits(window, degree, derivative) / spacing**derivative
    middle = weighted_windows(values, rows[half])
    first = [weighted_windows(values[:window], rows[k]) for k in range(half)]
    last = [weighted_windows(values[-window:], rows[k]) for k in range(half + 1, window)]
    return np.concatenate([*first, middle, *last])


@lru_cache(maxsize=64)
def _fits(window: int, degree: int, derivative: int) -> FloatArray:
    """(window, window) weights: row p gives the derivative at place p of the polynomial through a window."""
    half = window // 2
    place = (np.arange(window) - half) / half if half else np.zeros(1)
    powers = np.stack([np.prod([place] * k, axis=0) if k else np.ones(window) for k in range(degree + 1)], axis=1)
    coefficients = np.stack([least_squares(powers, unit) for unit in np.eye(window)], axis=1)
    weights = np.zeros((window, window))
    for k in range(derivative, degree + 1):
        slope = factorial(k) / factorial(k - derivative) * powers[:, k - derivative]
        weights = weights + slope[:, None] * coefficients[k]
    return weights / max(half, 1) ** derivative
