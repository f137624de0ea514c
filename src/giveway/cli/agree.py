"""``giveway agree``: how far raters agree, from one file of ratings."""

from __future__ import annotations

from enum import StrEnum
from math import isnan
from pathlib import Path
from typing import Annotated

import typer

from giveway.cli.output import print_json
from giveway.core.errors import UsageError

app = typer.Typer(add_completion=False, rich_markup_mode=None)


class Weights(StrEnum):
    """Kinds of weights."""

    quadratic = "quadratic"
    linear = "linear"
    identity = "identity"


class Over(StrEnum):
    """What intervals take as a sample."""

    both = "both"
    clips = "clips"
    raters = "raters"


@app.command()
def agree(
    file: Annotated[Path, typer.Argument(help="Counts table (header = categories) or rows of clip, rater, rating.")],
    counts: Annotated[bool, typer.Option("--counts", help="Read as a counts table, whatever the header.")] = False,
    long: Annotated[bool, typer.Option("--long", help="Read as long rows, whatever the header.")] = False,
    categories: Annotated[str | None, typer.Option(help="All categories, lowest first, by commas; or k.")] = None,
    weights: Annotated[Weights, typer.Option(help="Weights of partial agreement.")] = Weights.quadratic,
    draws: Annotated[int, typer.Option(min=0, max=1_000_000, help="Bootstrap draws; 0 for no interval.")] = 2000,
    over: Annotated[
        Over, typer.Option(help="What the interval takes as a sample: clips and raters, or one for the other as is.")
    ] = Over.both,
    level: Annotated[float, typer.Option(help="Coverage of the intervals, between 0 and 1.")] = 0.95,
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Weighted Fleiss kappa (corrected and as printed), AC2, alpha, intervals."""
    from giveway.stats.agreement_of import agreement
    from giveway.stats.agreement_table import Layout

    if counts and long:
        raise UsageError("--counts and --long exclude each other", hint="give one of them, or none")
    layout: Layout | None = "counts" if counts else "long" if long else None
    summary = agreement(
        file,
        weights=weights.value,
        layout=layout,
        categories=_categories(categories),
        draws=draws,
        level=level,
        over=(over.value,),
        seed=seed,
    )
    first = summary.main_interval
    if as_json:
        print_json(
            {
                "kappa_corrected": summary.kappa_corrected,
                "kappa_as_printed": summary.kappa_as_printed,
                "observed": summary.observed,
                "expected": summary.expected,
                "ac2": summary.ac2,
                "alpha": summary.alpha,
                "interval": None if first is None else [first.low, first.high],
                "interval_label": None if first is None else f"{first.label} ({first.how})",
                "band": summary.band,
                "band_rule": summary.band_rule,
                "warnings": summary.warnings,
                "standard_error": summary.standard_error,
                "intervals": summary.intervals,
                "num_clips": summary.num_clips,
                "num_raters": summary.num_raters,
                "num_ratings": summary.num_ratings,
                "categories": summary.categories,
                "weights": summary.weights,
                "seed": seed,
            }
        )
        return
    who = "" if summary.num_raters is None else f", {summary.num_raters} raters"
    typer.echo(f"{summary.num_clips} clips{who}, {summary.num_ratings} ratings, {len(summary.categories)} categories")
    typer.echo(f"  weighted Fleiss kappa, corrected    {summary.kappa_corrected:8.4f}   ({weights.value} weights)")
    if first is not None:
        ends = "not defined" if isnan(first.low) else f"{first.low:.4f} to {first.high:.4f}"
        typer.echo(f"    {first.level:.0%} interval {first.label}: {ends} ({first.how})")
    typer.echo(f"  the same as printed (self-pairs)    {summary.kappa_as_printed:8.4f}   not for reporting")
    typer.echo(f"  Gwet's AC2                          {summary.ac2:8.4f}")
    typer.echo(f"  Krippendorff's alpha                {summary.alpha:8.4f}")
    typer.echo(f"  agreement observed / by chance      {summary.observed:8.4f} / {summary.expected:.4f}")
    typer.echo(
        f"  footnote: Landis and Koch would say {summary.band!r} (bands as printed, two decimals); "
        "agreement is not evidence of realism"
    )
    for warning in summary.warnings:
        typer.echo(f"  note: {warning}", err=True)


def _categories(text: str | None) -> list[str] | None:
    if text is None:
        return None
    names = [name.strip() for name in text.split(",")]
    if len(names) == 1 and names[0].isdigit() and 2 <= int(names[0]) <= 100:
        return [str(j) for j in range(1, int(names[0]) + 1)]
    if len(names) < 2 or not all(names) or len(set(names)) < len(names):
        raise UsageError(
            "--categories needs at least two different names",
            found=repr(text),
            hint="--categories 1,2,3,4,5 or --categories 5",
        )
    return names
