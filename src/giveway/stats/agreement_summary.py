"""Everything that is printed about the agreement of one table of ratings, always together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from giveway.core.arrays import IntArray
from giveway.core.displays import facts_html
from giveway.stats.agreement import (
    BandRule,
    WeightKind,
    as_printed,
    band,
    fleiss_standard_error,
    gwet_ac2,
    krippendorff_alpha,
    weighted_fleiss,
)
from giveway.stats.agreement_bootstrap import bootstrap_over_clips, bootstrap_over_raters
from giveway.stats.agreement_interval import Interval, Unit
from giveway.stats.agreement_jackknife import jackknife_over_both
from giveway.stats.agreement_table import RatingTable

AgreementProfile = Literal["clean", "printed"]
"""``clean``: the corrected kappa is the main one; ``printed``: the one with self-pairs, as a published form had it."""

NOTICEABLE_CORRECTION = 0.05
"""From here on we say how far the printed formula is off."""
FEW_UNITS = 20
"""Below this many clips or raters the interval is the two-way jackknife, which needs no draws."""
ONLY_CLIPS = (
    "a counts table does not say who rated what, so the interval is over clips only, for these raters only: "
    "with other raters it is too short (nominal 95 % covered 74 to 93 % in simulations)"
)


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
        profile: which kappa is the main one.
        intervals: of kappa_corrected; the first is the main one, over clips and raters (counts table: over clips).
        band: verbal band of the main kappa, a footnote.
        band_rule: which bands.
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
    profile: AgreementProfile
    intervals: tuple[Interval, ...]
    band: str
    band_rule: BandRule
    num_clips: int
    num_raters: int | None
    num_ratings: int
    categories: tuple[str, ...]
    weights: str
    warnings: tuple[str, ...]

    def _repr_html_(self) -> str:
        interval = self.main_interval
        bounds = "" if interval is None else f" [{interval.low:.3f}, {interval.high:.3f}]"
        facts = {
            "weighted Fleiss kappa": f"{self.kappa_corrected:.3f}{bounds}",
            "as printed": f"{self.kappa_as_printed:.3f}",
            "AC2": f"{self.ac2:.3f}",
            "alpha": f"{self.alpha:.3f}",
            "ratings": f"{self.num_ratings} of {self.num_clips} clips, {self.weights} weights",
            "notes": "; ".join(self.warnings) or "none",
        }
        return facts_html("Agreement", facts)

    @property
    def main_interval(self) -> Interval | None:
        """The first interval; None where none was asked for or kappa is not defined."""
        return self.intervals[0] if self.intervals else None


def summarize_agreement(
    table: RatingTable,
    *,
    weights: WeightKind = "quadratic",
    draws: int = 2000,
    level: float = 0.95,
    over: tuple[Unit, ...] = ("both",),
    profile: AgreementProfile = "clean",
    rng: np.random.Generator,
) -> AgreementSummary:
    """All coefficients, intervals and warnings for one table.

    Args:
        table: ratings.
        weights: kind of weights for every coefficient.
        draws: bootstrap draws per interval; 0 for no interval at all.
        level: nominal coverage.
        over: what is taken as a sample; the first is the main interval. ``both`` is right for most purposes: other
            clips and other people could have taken part. A counts table has ``clips`` only, with a warning.
        profile: which kappa is the main one, and has the band.
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
    intervals: tuple[Interval, ...] = ()
    if draws > 0 and not corrected.reason:
        intervals = tuple(
            _interval(table, unit, weights=weights, draws=draws, level=level, rng=rng)
            for unit in _possible(table, over, warnings)
        )
        warnings.extend(f"interval {i.label}: {i.note}" for i in intervals if i.note)
    return AgreementSummary(
        kappa_corrected=corrected.coefficient,
        kappa_as_printed=printed.coefficient,
        observed=corrected.observed,
        expected=corrected.expected,
        ac2=ac2.coefficient,
        alpha=alpha.coefficient,
        standard_error=fleiss_standard_error(table.counts, weights=weights),
        profile=profile,
        intervals=intervals,
        band=band(printed.coefficient if profile == "printed" else corrected.coefficient),
        band_rule="printed",
        num_clips=int((total > 0).sum()),
        num_raters=len(table.raters) or None,
        num_ratings=int(total.sum()),
        categories=table.categories,
        weights=weights,
        warnings=tuple(warnings),
    )


def _possible(table: RatingTable, over: tuple[Unit, ...], warnings: list[str]) -> tuple[Unit, ...]:
    """What can be resampled; a counts table has clips only, and says what that means."""
    if table.raters:
        return over
    warnings.append(ONLY_CLIPS)
    return ("clips",)


def _interval(
    table: RatingTable, unit: Unit, *, weights: WeightKind, draws: int, level: float, rng: np.random.Generator
) -> Interval:
    if unit == "clips":
        return bootstrap_over_clips(table.counts, weights=weights, draws=draws, level=level, rng=rng)
    rated = table.ratings >= 0
    num_categories = len(table.categories)
    if unit == "both" and min(rated.any(axis=1).sum(), rated.any(axis=0).sum()) < FEW_UNITS:
        return jackknife_over_both(table.ratings, num_categories=num_categories, weights=weights, level=level)
    return bootstrap_over_raters(
        table.ratings,
        num_categories=num_categories,
        weights=weights,
        draws=draws,
        level=level,
        also_clips=unit == "both",
        rng=rng,
    )


def _table_warnings(total: IntArray) -> list[str]:
    warnings: list[str] = []
    unrated, single = int((total == 0).sum()), int((total == 1).sum())
    if unrated:
        warnings.append(f"{unrated} clips without any rating do not count")
    if single:
        warnings.append(f"{single} clips with one rating count for chance agreement only")
    return warnings
