"""Agreement of raters from one file of ratings, in one call."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from giveway.core.errors import UsageError
from giveway.core.seeds import stream
from giveway.stats.agreement import WeightKind
from giveway.stats.agreement_interval import Unit
from giveway.stats.agreement_summary import AgreementSummary, summarize_agreement
from giveway.stats.agreement_table import Layout, read_ratings


def agreement(
    ratings: Path | str,
    *,
    weights: WeightKind = "quadratic",
    layout: Layout | None = None,
    categories: Sequence[str] | None = None,
    draws: int = 2000,
    level: float = 0.95,
    over: tuple[Unit, ...] = ("both",),
    seed: int = 0,
) -> AgreementSummary:
    """Weighted Fleiss kappa (corrected and as printed), AC2 and alpha of a table of ratings, with intervals.

    Args:
        ratings: CSV file: a counts table (header = categories) or rows of clip, rater, rating.
        weights: of partial agreement: ``quadratic``, ``linear`` or ``identity``.
        layout: ``counts`` or ``long``; by the header if None.
        categories: all categories, lowest first; those that occur if None.
        draws: bootstrap draws; 0 for no interval.
        level: coverage of the intervals.
        over: what intervals are drawn over: ``both`` clips and raters, or one of them alone.
        seed: of the bootstrap.

    Raises:
        FileFormatError: naming line and column.
        UsageError: a level outside (0, 1).
    """
    if not 0 < level < 1:
        raise UsageError("--level must lie between 0 and 1", found=level, hint="for example --level 0.95")
    table = read_ratings(Path(ratings), layout=layout, categories=categories)
    return summarize_agreement(
        table,
        weights=weights,
        draws=draws,
        level=level,
        over=over,
        rng=stream(seed, "agree"),
    )
