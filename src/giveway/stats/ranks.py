"""Do two measures put models in the same order?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from giveway.core.arrays import FloatArray, IntArray
from giveway.core.errors import UsageError
from giveway.stats.bootstrap import NUM_RESAMPLES, Interval, bootstrap

Kind = Literal["spearman", "kendall"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RankAgreement:
    """Attributes:
    kind: which coefficient.
    coefficient: in [-1, 1]; NaN if one side is constant.
    p_value: two-sided, against no association.
    interval: bootstrap over the things ranked.
    num_items: how many were ranked.
    """

    kind: Kind
    coefficient: float
    p_value: float
    interval: Interval
    num_items: int


def rank_agreement(
    first: FloatArray,
    second: FloatArray,
    *,
    rng: np.random.Generator,
    kind: Kind = "spearman",
    num_resamples: int = NUM_RESAMPLES,
    confidence: float = 0.95,
) -> RankAgreement:
    """Spearman's rho or Kendall's tau-b with a percentile bootstrap interval.

    BCa is not used: resampled ranks are heavily tied and leave it without support for few items.

    Args:
        first: (n,) one value per item, e.g. open-loop score per model; n >= 3.
        second: (n,) e.g. closed-loop score per model.
        rng: generator for the interval.
        kind: ``"spearman"`` or ``"kendall"``.
        num_resamples: for the interval.
        confidence: nominal coverage.
    """
    x, y = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if x.shape != y.shape or x.ndim != 1 or x.size < 3:
        raise UsageError("rank agreement needs two rows of at least three values", found=f"{x.shape} and {y.shape}")
    coefficient, p_value = _coefficient(x, y, kind)
    interval = bootstrap(
        lambda index: _resampled(x, y, index, kind),
        x.size,
        rng=rng,
        num_resamples=num_resamples,
        confidence=confidence,
        method="percentile",
    )
    return RankAgreement(kind=kind, coefficient=coefficient, p_value=p_value, interval=interval, num_items=x.size)


def _coefficient(x: FloatArray, y: FloatArray, kind: Kind) -> tuple[float, float]:
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return float("nan"), float("nan")
    from scipy import stats  # half a second, and tables of one predictor rank nothing

    found: Any = stats.spearmanr(x, y) if kind == "spearman" else stats.kendalltau(x, y)
    return float(found.statistic), float(found.pvalue)


def _resampled(x: FloatArray, y: FloatArray, index: IntArray, kind: Kind) -> float:
    return _coefficient(x[index], y[index], kind)[0]
