"""``giveway gaps table | figure | compare``: results from a store alone."""

from __future__ import annotations

from pathlib import Path

import typer

from giveway.cli.output import print_json
from giveway.cli.pairs import switches_from
from giveway.cli.stores import say_shortfall
from giveway.core.errors import UsageError

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
    from giveway.gaps.section import gap_table
    from giveway.reports.formats import render
    from giveway.reports.results import Results

    results = Results.open(store, kind="gaps")
    say_shortfall(results.store)
    made = gap_table(
        results,
        _table_named(number),
        metric=metric,
        t0=t0,
        split=split,
        profile=profile,
        models=model,
        datasets=dataset,
        changes=switches_from(switch),
    )
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
    from giveway.gaps.figures import save_figure
    from giveway.reports.results import Results

    results = Results.open(store, kind="gaps")
    say_shortfall(results.store)
    save_figure(results.figure("splits", profile=profile, models=model, datasets=dataset), out)
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
    from giveway.gaps.section import compare_in
    from giveway.reports.results import Results

    if first == second:
        raise UsageError("a model cannot be compared with itself", where="giveway gaps compare", found=first)
    results = Results.open(store, kind="gaps")
    say_shortfall(results.store)
    report = compare_in(
        results,
        first,
        second,
        metric=metric,
        t0=t0,
        profile=profile,
        draws=resamples,
        seed=seed,
        changes=switches_from(switch),
    )
    if as_json:
        print_json({"ok": True, "report": report})
    else:
        typer.echo(report.text(), nl=False)


def _table_named(number: str | None) -> str:
    from giveway.core.errors import UnknownNameError
    from giveway.gaps.tables import PAPER_TABLES

    if number is not None and number.upper() not in PAPER_TABLES:
        raise UnknownNameError("table", number, PAPER_TABLES)
    return "benchmark" if number is None else number.upper()
