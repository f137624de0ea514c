"""``giveway gaps table | figure | compare``: results from a store alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from giveway.cli.output import print_json
from giveway.cli.pairs import switches_from
from giveway.cli.stores import readable_store, say_shortfall
from giveway.core.errors import UsageError

if TYPE_CHECKING:
    import polars as pl

STORE = typer.Argument(..., help="Result store of a benchmark run, a folder or s3://…")
METRIC = typer.Option("auc", "--metric", help="auc, ade, tnr_pr, brier, ...")
TIME = typer.Option("constant", "--t0", help="initial, constant or critical.")
PROFILE: str | None = typer.Option(None, "--profile", help="Needed if the store holds several.")
MODEL = typer.Option([], "--model", help="Only these models; may be repeated.")
DATASET = typer.Option([], "--dataset", help="Only these datasets; may be repeated.")
SWITCH = typer.Option([], "--set", help="ddof=0|1 or critical_bound=NUMBER instead of those of the run; repeatable.")
OUT: Path | None = typer.Option(None, "--out", "-o", help="Write to this file instead of printing.")


def table(
    store: str = STORE,
    metric: str = METRIC,
    t0: str = TIME,
    number: str | None = typer.Option(None, "--paper", help="A numbered table of the papers, III to X, instead."),
    split: str = typer.Option("random", "--split", help="The repeated split of the upper lines."),
    profile: str | None = PROFILE,
    model: list[str] = MODEL,
    dataset: list[str] = DATASET,
    switch: list[str] = SWITCH,
    format: str = typer.Option("text", "--format", help="text, markdown, latex, csv, html or json."),
    out: Path | None = OUT,
    as_json: bool = typer.Option(False, "--json", help="The same as --format json."),
) -> None:
    """Mean, deviation, critical split and significance marks, in the layout of the papers."""
    from giveway.core.files import write_text
    from giveway.gaps.prediction_time import choice_named
    from giveway.reports.formats import render
    from giveway.reports.tables import benchmark_table, paper_table
    from giveway.runs import collect

    choice_named(t0)
    changes = switches_from(switch)
    opened = readable_store(store)
    frame = collect(opened)
    missing = say_shortfall(opened)
    if number is not None:
        made = paper_table(
            number,
            frame,
            profile=profile,
            split=split,
            models=model or None,
            datasets=dataset or None,
            real_datasets=_real_datasets(frame),
            changes=changes,
        )
    else:
        made = benchmark_table(
            frame,
            metric=metric,
            t0=t0,
            profile=profile,
            split=split,
            models=model or None,
            datasets=dataset or None,
            real_datasets=_real_datasets(frame),
            changes=changes,
        )
    if missing:
        made = replace(made, caption=f"{missing}. {made.caption}")
    made = replace(made, origins=_origins(frame, dataset))
    text = render(made, "json" if as_json else format)
    if out is None:
        typer.echo(text, nl=not text.endswith("\n"))
    else:
        write_text(out, text)
        typer.echo(f"table written to {out}")


def figure(
    store: str = STORE,
    out: Path = typer.Option(..., "--out", "-o", help="Picture, .png, .pdf or .svg."),
    profile: str | None = PROFILE,
    model: list[str] = MODEL,
    dataset: list[str] = DATASET,
    as_json: bool = typer.Option(False, "--json", help="Print one JSON document."),
) -> None:
    """All splits of all models as marks, the critical split as a cross: figures 5 and 6 of the papers."""
    from giveway.reports.figures import benchmark_figure, save_figure
    from giveway.runs import collect

    opened = readable_store(store)
    frame = collect(opened)
    say_shortfall(opened)
    save_figure(benchmark_figure(frame, profile=profile, models=model or None, datasets=dataset or None), out)
    if as_json:
        print_json({"ok": True, "out": out})
    else:
        typer.echo(f"figure written to {out}")


def compare(
    store: str = STORE,
    first: str = typer.Argument(..., help="Model A."),
    second: str = typer.Argument(..., help="Model B."),
    metric: str = METRIC,
    t0: str = TIME,
    profile: str | None = PROFILE,
    resamples: int = typer.Option(1000, "--resamples", min=0, max=100_000, help="For the bootstrap; 0 leaves it out."),
    seed: int = typer.Option(0, "--seed", help="Of the bootstrap."),
    switch: list[str] = SWITCH,
    as_json: bool = typer.Option(False, "--json", help="Print one JSON document."),
) -> None:
    """Is model A better than model B? Paired tests, bounds and a bootstrap interval, per dataset."""
    from giveway.gaps.prediction_time import choice_named
    from giveway.reports.compare import compare_models, render_comparison

    choice_named(t0)
    if first == second:
        raise UsageError("a model cannot be compared with itself", where="giveway gaps compare", found=first)
    opened = readable_store(store)
    say_shortfall(opened)
    report = compare_models(
        opened,
        first,
        second,
        metric=metric,
        t0=t0,
        profile=profile,
        num_resamples=resamples,
        seed=seed,
        changes=switches_from(switch),
    )
    if as_json:
        print_json({"ok": True, "report": report})
    else:
        typer.echo(render_comparison(report), nl=False)


def _origins(frame: pl.DataFrame, datasets: list[str]) -> tuple[str, ...]:
    """Origins of the recordings behind the rows of a store; empty if its cells do not say."""
    from giveway.core.origins import Origin

    if "synthetic" not in frame.columns:
        return ()
    import polars

    shown = frame.filter(polars.col("dataset").is_in(datasets)) if datasets else frame
    found = set(shown["synthetic"].drop_nulls().to_list())
    return tuple(str(o) for o, flag in ((Origin.RECORDED, False), (Origin.SYNTHETIC, True)) if flag in found)


def _real_datasets(frame: pl.DataFrame) -> list[str]:
    """Datasets of the store that were not generated."""
    if "synthetic" not in frame.columns:
        return []
    import polars

    return sorted(frame.filter(polars.col("synthetic").not_())["dataset"].unique().to_list())
