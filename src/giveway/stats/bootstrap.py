"""Intervals by resampling the samples, or whole groups of dependent samples.

The percentile interval takes quantiles of the resampled statistic; the BCa interval shifts them for bias and skewness
(Efron 1987) with the acceleration from leaving out one unit at a time. BCa is the default; it falls back
to the percentile interval where it is undefined (all resampled values on one side of the estimate).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import ndtr, ndtri, stdtrit

from giveway.core.arrays import AnyArray, FloatArray, IntArray
from giveway.core.errors import UsageError

Method = Literal["bca", "percentile"]
Statistic = Callable[[IntArray], float]
NUM_RESAMPLES = 2000
MAX_LEFT_OUT = 500
"""Units left out one at a time for the acceleration; more are thinned evenly."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A bootstrap interval.

    Attributes:
        estimate: statistic of the original samples.
        low: lower end.
        high: upper end.
        confidence: nominal coverage.
        p_value: two-sided, share of resampled values on the far side of zero, doubled; at least 1/(B + 1).
        num_resamples: B, resamples on which the statistic was defined.
        method: how the ends were found.
        num_units: what was drawn: samples, or groups.
    """

    estimate: float
    low: float
    high: float
    confidence: float
    p_value: float
    num_resamples: int
    method: Method
    num_units: int

    @property
    def excludes_zero(self) -> bool:
        """Whether zero is outside."""
        return self.low > 0 or self.high < 0


def bootstrap(
    statistic: Statistic,
    num_samples: int,
    *,
    rng: np.random.Generator,
    group: AnyArray | None = None,
    num_resamples: int = NUM_RESAMPLES,
    confidence: float = 0.95,
    method: Method = "bca",
) -> Interval:
    """Interval of a statistic under resampling.

    For a paired comparison let the statistic be the difference of two metrics on the same samples.

    Args:
        statistic: from sample indices (with repetitions) to a number; NaN where undefined, such resamples are left out.
        num_samples: N.
        rng: generator.
        group: (N,) labels; whole groups are drawn, for samples that depend on each other. None draws samples.
        num_resamples: B.
        confidence: nominal coverage.
        method: see the module.

    Returns:
        NaN ends if the statistic is undefined on the original samples or on all resamples.
    """
    units = _units(num_samples, group)
    estimate = statistic(np.arange(num_samples))
    draws = _draws(statistic, units, rng, num_resamples)
    if not math.isfinite(estimate) or draws.size == 0:
        return _interval(estimate, (math.nan, math.nan), draws, confidence, method, len(units))
    tail = (1 - confidence) / 2
    levels = (tail, 1 - tail)
    used: Method = "percentile"
    if method == "bca":
        corrected = _bca_levels(levels, estimate, draws, statistic, units)
        used = "percentile" if corrected is None else "bca"
        levels = corrected or levels
    low, high = np.quantile(draws, levels)
    return _interval(estimate, (float(low), float(high)), draws, confidence, used, len(units))


def paired_bootstrap(
    first: Statistic,
    second: Statistic,
    num_samples: int,
    *,
    rng: np.random.Generator,
    group: AnyArray | None = None,
    num_resamples: int = NUM_RESAMPLES,
    confidence: float = 0.95,
    method: Method = "bca",
) -> Interval:
    """Interval of ``first - second`` where both are evaluated on the same resampled samples."""
    return bootstrap(
        lambda index: first(index) - second(index),
        num_samples,
        rng=rng,
        group=group,
        num_resamples=num_resamples,
        confidence=confidence,
        method=method,
    )


def interval_of_draws(estimate: float, draws: FloatArray, *, confidence: float = 0.95, num_units: int) -> Interval:
    """Expanded percentile interval of resampled values; NaN among them are left out, NaN ends if none is left.

    The tails are Phi(-sqrt(n / (n - 1)) t_{n-1}) instead of those of the confidence, which makes up for the narrowness
    of percentile intervals of few units (for 24 clusters of unequal size a nominal 95 % covered 88 %).

    Reference:
        Hesterberg 2015, The American Statistician 69, 371-386, section 5.3.
    """
    known = draws[np.isfinite(draws)]
    if not math.isfinite(estimate) or known.size == 0:
        return _interval(estimate, (math.nan, math.nan), known, confidence, "percentile", num_units)
    spread = float(stdtrit(num_units - 1, (1 + confidence) / 2)) * math.sqrt(num_units / (num_units - 1))
    tail = float(ndtr(-spread))
    low, high = np.quantile(known, (tail, 1 - tail))
    return _interval(estimate, (float(low), float(high)), known, confidence, "percentile", num_units)


def _units(num_samples: int, group: AnyArray | None) -> list[IntArray]:
    if num_samples < 2:
        raise UsageError("resampling needs at least two samples", found=num_samples)
    if group is None:
        return list(np.arange(num_samples)[:, None])
    labels, inverse = np.unique(group, return_inverse=True)
    if labels.size < 2:
        raise UsageError("resampling by group needs at least two groups", found=labels.size)
    order = np.argsort(inverse, kind="stable")
    return np.split(order, np.cumsum(np.bincount(inverse))[:-1])


def _draws(statistic: Statistic, units: list[IntArray], rng: np.random.Generator, count: int) -> FloatArray:
    single = all(unit.size == 1 for unit in units)
    flat = np.concatenate(units)
    values: list[float] = []
    for _ in range(count):
        chosen = rng.integers(0, len(units), len(units))
        values.append(statistic(flat[chosen] if single else np.concatenate([units[i] for i in chosen])))
    drawn = np.array(values)
    return drawn[np.isfinite(drawn)]


def _bca_levels(
    levels: tuple[float, float], estimate: float, draws: FloatArray, statistic: Statistic, units: list[IntArray]
) -> tuple[float, float] | None:
    below = (np.count_nonzero(draws < estimate) + 0.5 * np.count_nonzero(draws == estimate)) / draws.size
    if not 0 < below < 1:
        return None
    shift = float(ndtri(below))
    acceleration = _acceleration(statistic, units)
    z = ndtri(levels) + shift
    scale = 1 - acceleration * z
    if np.any(scale <= 0):
        return None
    corrected = ndtr(shift + z / scale)
    return float(corrected[0]), float(corrected[1])


def _acceleration(statistic: Statistic, units: list[IntArray]) -> float:
    left_out = np.unique(np.linspace(0, len(units) - 1, min(len(units), MAX_LEFT_OUT)).astype(np.int64))
    flat = np.concatenate(units)
    edges = np.concatenate([[0], np.cumsum([u.size for u in units])])
    values = np.array([statistic(np.delete(flat, slice(edges[i], edges[i + 1]))) for i in left_out])
    values = values[np.isfinite(values)]
    if values.size < 2:
        return 0.0
    deviation = values.mean() - values
    square = float(np.sum(deviation**2))
    # With only some units left out, both sums stand for all of them.
    share = len(units) / values.size
    cube = float((deviation * deviation * deviation).sum())
    return 0.0 if square == 0 else cube * share / (6 * (square * share) ** 1.5)


def _interval(
    estimate: float, ends: tuple[float, float], draws: FloatArray, confidence: float, method: Method, num_units: int
) -> Interval:
    if draws.size:
        tail = min(np.count_nonzero(draws <= 0), np.count_nonzero(draws >= 0))
        p_value = min(1.0, 2 * (tail + 1) / (draws.size + 1))
    else:
        p_value = math.nan
    return Interval(
        estimate=estimate,
        low=ends[0],
        high=ends[1],
        confidence=confidence,
        p_value=p_value,
        num_resamples=int(draws.size),
        method=method,
        num_units=num_units,
    )
