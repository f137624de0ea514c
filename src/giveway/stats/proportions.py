"""Intervals of a share and of an area under the ROC curve that never have zero width."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from scipy import optimize

Z = 1.959963984540054
"""97.5 % quantile of the normal distribution: all intervals are of 95 %."""


def wilson(successes: int, trials: int) -> tuple[float, float]:
    """Score interval of a share.

        (p + z²/2n ± z sqrt(p(1 - p)/n + z²/4n²)) / (1 + z²/n)

    Returns:
        NaN without trials. 0 of 60 gives [0, 0.060].

    Reference:
        Wilson 1927, Journal of the American Statistical Association 22.
    """
    if trials <= 0:
        return math.nan, math.nan
    p, n = successes / trials, trials
    middle, half = p + Z * Z / (2 * n), Z * math.sqrt(p * (1 - p) / n + Z * Z / (4 * n * n))
    scale = 1 + Z * Z / n
    low = 0.0 if successes == 0 else (middle - half) / scale
    return low, 1.0 if successes == trials else (middle + half) / scale


def share_difference(first: tuple[int, int], second: tuple[int, int]) -> tuple[float, float]:
    """Interval of p1 - p2 for independent shares, each given as (successes, trials).

        p1 - p2 - sqrt((p1 - l1)² + (u2 - p2)²)   to   p1 - p2 + sqrt((u1 - p1)² + (p2 - l2)²),   l, u of Wilson

    Returns:
        NaN if there are no trials.

    Reference:
        Newcombe 1998, Statistics in Medicine 17, method 10: 56/70 - 48/80 gives [0.0524, 0.3339].
    """
    (low1, high1), (low2, high2) = wilson(*first), wilson(*second)
    if math.isnan(low1) or math.isnan(low2):
        return math.nan, math.nan
    p1, p2 = first[0] / first[1], second[0] / second[1]
    return p1 - p2 - math.hypot(p1 - low1, high2 - p2), p1 - p2 + math.hypot(high1 - p1, p2 - low2)


def auc_interval(auc: float, positives: int, negatives: int) -> tuple[float, float]:
    """Score interval of an AUC: all θ with

        (θ - auc)² <= z² θ(1 - θ) [1 + N(1 - θ)/(2 - θ) + Nθ/(1 + θ)] / (mn),   N = (m + n)/2 - 1

    Args:
        auc: estimate in [0, 1]; of repetitions, their mean.
        positives: m, test samples of one class (of one repetition).
        negatives: n, of the other.

    Returns:
        NaN if the AUC is not finite or a class is empty.

    Reference:
        Newcombe 2006, Statistics in Medicine 25, method 5.
    """
    if not math.isfinite(auc) or positives <= 0 or negatives <= 0:
        return math.nan, math.nan
    if auc < 0.5:
        low, high = auc_interval(1 - auc, negatives, positives)
        return 1 - high, 1 - low
    half_total = (positives + negatives) / 2 - 1

    def variance(theta: float) -> float:
        """Over 1 - θ."""
        spread = 1 + half_total * (1 - theta) / (2 - theta) + half_total * theta / (1 + theta)
        return Z * Z * theta * spread / (positives * negatives)

    def excess(theta: float) -> float:
        return (theta - auc) ** 2 - (1 - theta) * variance(theta)

    if auc > 1 - 1e-9:  # θ = 1 is a double end of the quadratic: divide it out
        return _root(lambda theta: 1 - theta - variance(theta), 0.0, 1.0), 1.0
    return _root(excess, 0.0, auc), _root(excess, auc, 1.0)


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    found: Any = optimize.brentq(function, low, high)
    return float(found)
