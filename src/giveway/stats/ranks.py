"""Do two measures put models in the same order?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.errors import UsageError
from giveway.stats.bootstrap import Interval, interval_of_draws


@dataclass(frozen=True, slots=True, kw_only=True)
class RankAgreement:
    """Attributes:
    coefficient: Spearman's rho in [-1, 1]; NaN if one side is constant.
    interval: from resamples on which both sides were computed again.
    num_items: how many were ranked.
    """

    coefficient: float
    interval: Interval
    num_items: int


def rank_agreement(first: FloatArray, second: FloatArray, *, num_units: int, confidence: float = 0.95) -> RankAgreement:
    """Spearman's rho with a percentile interval over resamples of the data behind both measures.

    The items (models) stay the same: what is uncertain is where each of them stands, so both sides are measured again
    on every resample. Resampling the models would answer another question.

    Args:
        first: (1 + B, n) one value per item: on all data, then on each resample; n >= 3.
        second: (1 + B, n) likewise, draw by draw on the same resamples.
        num_units: units that were resampled.
        confidence: nominal coverage.
    """
    if first.shape != second.shape or first.ndim != 2 or first.shape[1] < 3:
        raise UsageError(
            "rank agreement needs two tables of at least three columns", found=f"{first.shape} and {second.shape}"
        )
    found = spearman(first, second)
    interval = interval_of_draws(float(found[0]), found[1:], confidence=confidence, num_units=num_units)
    return RankAgreement(coefficient=float(found[0]), interval=interval, num_items=first.shape[1])


def spearman(first: FloatArray, second: FloatArray) -> FloatArray:
    """(B,) Spearman's rho of the rows of two (B, n) tables; NaN where a side is constant or has NaN."""
    from scipy.stats import rankdata  # half a second, and tables of one predictor rank nothing

    x, y = (rankdata(side, axis=1, nan_policy="propagate") for side in (first, second))
    x, y = x - x.mean(axis=1, keepdims=True), y - y.mean(axis=1, keepdims=True)
    scale = np.sqrt((x**2).sum(axis=1) * (y**2).sum(axis=1))
    return np.divide((x * y).sum(axis=1), scale, out=np.full(len(x), np.nan), where=scale > 0)


def tied_runs(ordered: Sequence[str], is_tied: Callable[[str, str], bool]) -> list[tuple[str, ...]]:
    """Names from best to worst in runs of ties: the first and those right after it that are tied with it, and so on.

    A name that cannot be told from the best but stands behind one that can, because it varies more, does not share its
    place: nobody is ranked before a better mean.

    Args:
        ordered: best first.
        is_tied: whether the second is tied with the first.
    """
    runs: list[tuple[str, ...]] = []
    for name in ordered:
        if runs and is_tied(runs[-1][0], name):
            runs[-1] = (*runs[-1], name)
        else:
            runs.append((name,))
    return runs
