"""Two-way jackknife interval of the corrected weighted Fleiss kappa: small tables, no random numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from giveway.core.arrays import FloatArray, IntArray
from giveway.stats.agreement import WeightKind
from giveway.stats.agreement_bootstrap import kappa_of_rater_draws
from giveway.stats.agreement_interval import LABELS, Interval

FEW_CLIPS = 15
FEW_CLIPS_NOTE = "measured coverage 0.93 (0.89 to 0.96 in simulations of 8 to 14 clips; nominal 0.95)"
"""``benchmarks/kappa_coverage.py``; the interval is as good as its name from some 15 clips on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Jackknife:
    """Attributes:
    kappa: of the whole table.
    standard_error_clips: from leaving out one clip at a time.
    standard_error_raters: from leaving out one rater at a time.
    num_clips: clips with a rating.
    num_raters: raters with a rating.
    undefined: values with one unit left out that are not defined.
    """

    kappa: float
    standard_error_clips: float
    standard_error_raters: float
    num_clips: int
    num_raters: int
    undefined: int

    @property
    def standard_error(self) -> float:
        """Of clips and raters together: sqrt(V_clips + V_raters)."""
        return float(np.sqrt(self.standard_error_clips**2 + self.standard_error_raters**2))


def jackknife(ratings: IntArray, *, num_categories: int, weights: WeightKind | FloatArray = "quadratic") -> Jackknife:
    """Standard errors of kappa from leaving out one clip, and one rater, at a time.

        V_u = (n_u - 1) / n_u  sum_i (kappa_(-i) - mean)^2,   u = clips, raters;   V = V_clips + V_raters

    Args:
        ratings: (N, R) category index 0 .. k - 1, or -1 where a rater did not rate the clip.
        num_categories: k.
        weights: as in :func:`~giveway.stats.agreement.weighted_fleiss`.

    Returns:
        NaN standard errors where a value with one unit left out is not defined: one clip, two raters (one alone has
        nobody to agree with), or a table that falls into one category without one of its clips.

    Reference:
        Efron and Stein (1981), Annals of Statistics 9, for one way; the sum of the two ways leaves out their
        interaction once too often, which errs on the wide side (Owen 2007, Annals of Applied Statistics 1).
    """
    rated = (ratings >= 0).any(axis=1), (ratings >= 0).any(axis=0)
    table = ratings[rated[0]][:, rated[1]]
    num_clips, num_raters = table.shape
    if num_clips == 0:
        nan = float("nan")
        return Jackknife(
            kappa=nan, standard_error_clips=nan, standard_error_raters=nan, num_clips=0, num_raters=0, undefined=0
        )
    whole = kappa_of_rater_draws(table, np.ones((1, num_raters)), num_categories, weights)
    clips = kappa_of_rater_draws(
        table, np.ones((num_clips, num_raters)), num_categories, weights, 1.0 - np.eye(num_clips)
    )
    raters = kappa_of_rater_draws(table, 1.0 - np.eye(num_raters), num_categories, weights)
    return Jackknife(
        kappa=float(whole[0]),
        standard_error_clips=_standard_error(clips),
        standard_error_raters=_standard_error(raters),
        num_clips=num_clips,
        num_raters=num_raters,
        undefined=int(np.isnan(clips).sum() + np.isnan(raters).sum()),
    )


def jackknife_over_both(
    ratings: IntArray,
    *,
    num_categories: int,
    weights: WeightKind | FloatArray = "quadratic",
    level: float = 0.95,
) -> Interval:
    """Interval of kappa over clips and raters: kappa +- t sqrt(V), cut at 1; t with min(N, R) - 1 degrees of freedom.

    Args:
        ratings: (N, R) category index or -1.
        num_categories: k.
        weights: kind or matrix.
        level: nominal coverage.
    """
    found = jackknife(ratings, num_categories=num_categories, weights=weights)
    freedom = min(found.num_clips, found.num_raters) - 1
    half = float(special.stdtrit(freedom, (1.0 + level) / 2)) * found.standard_error if freedom > 0 else float("nan")
    note = FEW_CLIPS_NOTE if found.num_clips < FEW_CLIPS and level == 0.95 else ""
    if np.isnan(half):
        note = "not defined: kappa has no value without one of the clips or raters"
    return Interval(
        low=found.kappa - half,
        high=min(found.kappa + half, 1.0) if not np.isnan(half) else float("nan"),
        level=level,
        over="both",
        label=LABELS["both"],
        method="jackknife",
        draws=0,
        undefined=found.undefined,
        standard_error=found.standard_error,
        note=note,
    )


def _standard_error(values: FloatArray) -> float:
    """sqrt((n - 1) / n sum (x_i - mean)^2); NaN if one of the values is."""
    if values.size < 2:
        return float("nan")
    return float(np.sqrt((values.size - 1) / values.size * ((values - values.mean()) ** 2).sum()))
