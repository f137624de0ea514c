"""Everything that is printed about the agreement of one table of ratings, always together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from giveway.core.arrays import IntArray
from giveway.stats.agreement import (
    WeightKind,
    as_printed,
    band,
    fleiss_standard_error,
    gwet_ac2,
    krippendorff_alpha,
    weighted_fleiss,
)
from giveway.stats.agreement_bootstrap import Interval, Unit, bootstrap_over_clips, bootstrap_over_raters
from giveway.stats.agreement_table import RatingTable

NOTICEABLE_CORRECTION = 0.05
"""From here on we say how far the printed formula is off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreementSummary:
    """Agreement of a table of ratings.

    Attributes:
        kappa_corrected: weighted Fleiss kappa without self-pairs.
        kappa_as_printed: with self-pairs, as the SANDWICH supplement prints it.
        observed: mean weighted agreement of pairs, corrected.
        expected: the same under chance.
        ac2: Gwet's AC2.
        alpha: Krippendorff's alpha.
        standard_error: of kappa_corrected, large-sample, over clips.
        intervals: bootstrap intervals of kappa_corrected; the first is over clips.
        band: verbal band of kappa_corrected, a footnote.
        num_clips: clips with at least one rating.
        num_raters: raters, None for a counts table.
        num_ratings: ratings.
        categories: in order.
        weights: kind of weights.
        warnings: what a reader should know.
    """

    kappa_corrected: float
    kappa_as_printed: float
    observed: float
    expected: float
    ac2: float
    alpha: float
    standard_error: float
    intervals: tuple[Interval, ...]
    band: str
    num_clips: int
    num_raters: int | None
    num_ratings: int
    categories: tuple[str, ...]
    weights: str
    warnings: tuple[str, ...]


def summarize_agreement(
    table: RatingTable,
    *,
    weights: WeightKind = "quadratic",
    draws: int = 2000,
    level: float = 0.95,
    over: tuple[Unit, ...] = ("clips",),
    rng: np.random.Generator,
) -> AgreementSummary:
    """All coefficients, intervals and warnings for one table.

    Args:
        table: ratings.
        weights: kind of weights for every coefficient.
        draws: bootstrap draws per interval; 0 for none.
        level: nominal coverage.
        over: what to resample; ``raters`` and ``both`` need long rows and are left out with a warning otherwise.
        rng: source of randomness.
    """
    corrected = weighted_fleiss(table.counts, weights=weights)
    printed = as_printed(table.counts, weights=weights)
    ac2 = gwet_ac2(table.counts, weights=weights)
    alpha = krippendorff_alpha(table.counts, weights=weights)
    warnings = list(table.notes)
    if corrected.reason:
        warnings.append(f"kappa is not defined: {corrected.reason}")
    total = table.counts.sum(axis=1)
    warnings.extend(_table_warnings(total))
    difference = printed.coefficient - corrected.coefficient
    if printed.coefficient > 1:
        warnings.append(
            f"the formula as printed gives {printed.coefficient:.4f}, above 1, because raters agree with themselves"
        )
    if abs(difference) > NOTICEABLE_CORRECTION:
        warnings.append(f"the formula as printed is off by {difference:+.4f}; report the corrected value")
    intervals: list[Interval] = []
    if draws > 0 and not corrected.reason:
        for unit in over:
            if unit == "clips":
                intervals.append(bootstrap_over_clips(table.counts, weights=weights, draws=draws, level=level, rng=rng))
            elif table.raters:
                intervals.append(
                    bootstrap_over_raters(
                        table.ratings,
                        num_categories=len(table.categories),
                        weights=weights,
                        draws=draws,
                        level=level,
                        also_clips=unit == "both",
                        rng=rng,
                    )
                )
            else:
                warnings.append(f"no interval over {unit}: a counts table does not say who rated what")
    return AgreementSummary(
        kappa_corrected=corrected.coefficient,
        kappa_as_printed=printed.coefficient,
        observed=corrected.observed,
        expected=corrected.expected,
        ac2=ac2.coefficient,
        alpha=alpha.coefficient,
        standard_error=fleiss_standard_error(table.counts, weights=weights),
        intervals=tuple(intervals),
        band=band(corrected.coefficient),
        num_clips=int((total > 0).sum()),
        num_raters=len(table.raters) or None,
        num_ratings=int(total.sum()),
        categories=table.categories,
        weights=weights,
        warnings=tuple(warnings),
    )


def _table_warnings(total: IntArray) -> list[str]:
    warnings: list[str] = []
    unrated, single = int((total == 0).sum()), int((total == 1).sum())
    if unrated:
        warnings.append(f"{unrated} clips without any rating do not count")
    if single:
        warnings.append(f"{single} clips with one rating count for chance agreement only")
    rated = total[total > 0]
    if rated.size and rated.size < 10:
        warnings.append(f"only {rated.size} clips: the interval is rough")
    return warnings
