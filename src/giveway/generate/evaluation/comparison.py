"""Is one method better than another, over seeds?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from giveway.core.arrays import FloatArray
from giveway.core.seeds import stream
from giveway.stats.effects import effect_size, vargha_delaney
from giveway.stats.multiple import holm

RESAMPLES = 2000
ALPHA = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One method against another on one measure.

    Attributes:
        first: name of the method.
        second: name of the other.
        mean_first: over its seeds.
        mean_second: over its seeds.
        a: Vargha-Delaney A, the probability that a run of the first is larger, ties counting half.
        low: lower end of the 95 % bootstrap interval of A.
        high: upper end.
        size: negligible, small, medium or large.
        p_value: two-sided Mann-Whitney.
        p_adjusted: by Holm over all comparisons of the table.
        seeds: runs of the first and of the second.
    """

    first: str
    second: str
    mean_first: float
    mean_second: float
    a: float
    low: float
    high: float
    size: str
    p_value: float
    p_adjusted: float
    seeds: tuple[int, int]

    @property
    def significant(self) -> bool:
        """Whether the adjusted p-value is below 0.05."""
        return self.p_adjusted < ALPHA


def compare(values: Mapping[str, Sequence[float]], first: str, *, seed: int = 0) -> list[Comparison]:
    """One method against every other one.

    Args:
        values: method to one value per seed; runs without a value (NaN) are left out.
        first: the method that is compared.
        seed: of the resampling.

    Returns:
        One entry per other method, in the order given; A and p are NaN with fewer than two runs on a side.
    """
    clean = {name: np.array([v for v in runs if math.isfinite(v)]) for name, runs in values.items()}
    mine = clean[first]
    others = [name for name in clean if name != first]
    p_values = np.array([_mann_whitney(mine, clean[name]) for name in others])
    adjusted = holm(p_values) if others else p_values
    found: list[Comparison] = []
    for name, p, p_adjusted in zip(others, p_values, adjusted, strict=True):
        theirs = clean[name]
        a, low, high = a_interval(mine, theirs, stream(seed, "effect size", first, name))
        found.append(
            Comparison(
                first=first,
                second=name,
                mean_first=float(mine.mean()) if mine.size else math.nan,
                mean_second=float(theirs.mean()) if theirs.size else math.nan,
                a=a,
                low=low,
                high=high,
                size=effect_size(a) if math.isfinite(a) else "unknown",
                p_value=float(p),
                p_adjusted=float(p_adjusted),
                seeds=(mine.size, theirs.size),
            )
        )
    return found


def a_interval(
    first: FloatArray, second: FloatArray, rng: np.random.Generator, *, resamples: int = RESAMPLES
) -> tuple[float, float, float]:
    """Vargha-Delaney A with its percentile bootstrap interval, both samples drawn independently.

    Returns:
        Estimate, lower and upper end; NaN ends with fewer than two values on a side. Where the samples do not
        overlap all resamples agree and the interval is a point: the sample size bounds what can be claimed, not the
        interval.
    """
    a = vargha_delaney(first, second)
    if min(first.size, second.size) < 2:
        return a, math.nan, math.nan
    one = first[rng.integers(0, first.size, (resamples, first.size))]
    two = second[rng.integers(0, second.size, (resamples, second.size))]
    wins = (one[:, :, None] > two[:, None, :]).mean(axis=(1, 2)) + 0.5 * (one[:, :, None] == two[:, None, :]).mean(
        axis=(1, 2)
    )
    low, high = np.quantile(wins, [0.025, 0.975])
    return a, float(low), float(high)


def _mann_whitney(first: FloatArray, second: FloatArray) -> float:
    if min(first.size, second.size) < 2:
        return math.nan
    if np.all(np.concatenate([first, second]) == first[0]):
        return 1.0
    return float(stats.mannwhitneyu(first, second, alternative="two-sided").pvalue)
