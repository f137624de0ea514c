"""``giveway gaps``: extract samples, run the benchmark, make its tables and figures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from giveway.cli import engine_options
from giveway.cli.gaps_explain import explain
from giveway.cli.gaps_figures import calibration, learning
from giveway.cli.gaps_plan import plan, say_plan
from giveway.cli.gaps_reports import compare, figure, table
from giveway.cli.output import print_json
from giveway.cli.pairs import pairs_from, switches_from
from giveway.core.errors import MissingDependencyError, UsageError

if TYPE_CHECKING:
    from giveway.experiments import Rerun, RunSummary
    from giveway.gaps.extract import ExtractionReport
    from giveway.gaps.spec import RunSpec

app = typer.Typer(
    help="How well do models predict whether, when and how a human takes a gap?",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
app.command("table")(table)
app.command("figure")(figure)
app.command("compare")(compare)
app.command("explain")(explain)
app.command("learning")(learning)
app.command("calibration")(calibration)
app.command("plan")(plan)

AS_JSON = typer.Option(False, "--json", help="Print one JSON document.")
PROFILE = typer.Option("clean", "--profile", help="clean (corrected) or paper (as published).")
SWITCH = typer.Option([], "--set", help="A single switch of the protocol, NAME=VALUE; may be repeated.")


@app.command()
def extract(
    dataset: str = typer.Option(..., "--dataset", "-d", help="lgap, round, round_2v, leeds, highd, interaction, ..."),
    root: Path = typer.Option(..., "--root", "-r", help="Folder that holds the recordings."),
    out: Path | None = typer.Option(None, "--out", "-o", help="Parquet file for the samples; else only counts."),
    t0: list[str] = typer.Option([], "--t0", help="initial, constant, critical; all three by default."),
    n_input: int = typer.Option(2, "--n-input", min=1, max=100, help="Input steps of 0.2 s."),
    n_input_max: int = typer.Option(8, "--n-input-max", min=1, max=100, help="Steps every sample must support."),
    relaxed: bool = typer.Option(False, "--relaxed", help="Move t_0 up to where the history suffices."),
    profile: str = PROFILE,
    switch: list[str] = SWITCH,
    as_json: bool = AS_JSON,
) -> None:
    """Find gaps in recordings, count them, say why others were left out, and write samples to Parquet."""
    from giveway.gaps.files import write_samples
    from giveway.gaps.run import extractions

    parts = extractions(
        dataset,
        root,
        times=t0,
        n_input=n_input,
        n_input_max=n_input_max,
        relaxed=relaxed,
        profile=profile,
        switches=switches_from(switch),
    )
    reports = [part.report for part in parts]
    if not any(part.samples.num_samples for part in parts):
        _refuse_empty(parts[0])
    size = None if out is None else write_samples(out, [part.samples for part in parts if part.samples.num_samples])
    if as_json:
        print_json(
            {"ok": True, "dataset": dataset, "out": out, "bytes": size, "counts": [r.as_dict() for r in reports]}
        )
        return
    _print_counts(reports)
    if out is not None:
        typer.echo(f"samples written to {out}")


@app.command()
def run(
    spec: Path | None = typer.Argument(None, help="TOML file; or use --preset."),
    out: str = typer.Option(..., "--out", "-o", help="Result store, a folder or s3://…; run again to resume."),
    preset_name: str | None = typer.Option(
        None, "--preset", help="quick, demo, experiment-1, experiment-2 or experiment-3."
    ),
    root: list[str] = typer.Option([], "--root", help="Data root, DATASET=FOLDER or DATASET=s3://…; repeatable."),
    profile: str | None = typer.Option(None, "--profile", help="clean or paper; overrides the specification."),
    switch: list[str] = SWITCH,
    seed: int | None = typer.Option(None, "--seed", help="Root of all random streams; overrides the specification."),
    paths: str | None = typer.Option(
        None,
        "--paths",
        help="Path model of accepted and rejected gaps for models without paths, e.g. T++ or TPP_small.",
    ),
    device: str = typer.Option("cpu", "--device", help="Where networks are trained: cpu, or cuda where there is one."),
    workers: int | None = engine_options.WORKERS,
    engine: str = engine_options.ENGINE,
    scheduler: str | None = engine_options.SCHEDULER,
    cluster: Path | None = engine_options.CLUSTER,
    time_limit: float | None = engine_options.TIME_LIMIT,
    memory_limit: float | None = engine_options.MEMORY_LIMIT,
    max_hours: float | None = engine_options.MAX_HOURS,
    limit: int | None = typer.Option(None, "--limit", min=1, help="Compute at most so many cells now."),
    rerun: str = typer.Option("missing", "--rerun", help="missing, failed or all."),
    dry_run: bool = typer.Option(
        False, "--dry-run", help="Say what would be computed and how long it would take, and compute nothing."
    ),
    as_json: bool = AS_JSON,
) -> None:
    """Fit, predict and measure every cell of a grid; a killed run goes on where it was."""
    from giveway.experiments import default_progress
    from giveway.gaps.run import benchmark

    grid = _specification(spec, preset_name, profile, switch, seed, paths)
    _check_device(device)
    roots = dict(pairs_from(root, "--root", "DATASET=FOLDER"))
    mode = _rerun(rerun)
    if dry_run:
        num = engine_options.expected_workers(engine, workers=workers, scheduler=scheduler, cluster=cluster)
        say_plan({preset_name or str(spec): grid}, num, limit=limit, as_json=as_json)
        return
    executor = engine_options.make_engine(
        engine,
        workers=workers,
        scheduler=scheduler,
        cluster=cluster,
        time_limit_s=time_limit,
        memory_limit_mb=memory_limit,
    )
    if not as_json and grid.synthetic:
        typer.echo("synthetic recordings: nothing below says anything about real drivers", err=True)
    summary, _ = benchmark(
        grid,
        out,
        roots=roots,
        engine=executor,
        rerun=mode,
        limit=limit,
        max_hours=max_hours,
        progress=default_progress(),
        device=device,
    )
    _print_summary(summary, out, as_json=as_json)
    if summary.failed:
        raise typer.Exit(1)


@app.command()
def status(
    store: str = typer.Argument(..., help="Result store, a folder or s3://…"),
    verify: bool = typer.Option(
        False, "--verify", help="Read every record, samples file and artifact again and compare them with their seals."
    ),
    as_json: bool = AS_JSON,
) -> None:
    """How far a run has come, why cells failed, and what is damaged."""
    from giveway.experiments import status as status_of
    from giveway.experiments import verify as verify_store
    from giveway.experiments.places import readable_store

    opened = readable_store(store)
    altered = verify_store(opened) if verify else ()
    state = status_of(opened)
    damaged = {d.key: d for d in (*state.damaged, *state.documents, *altered)}.values()
    failures = [{"cell": f.cell.label(), "error": f.error, "message": f.message} for f in state.failures]
    counts = {name: getattr(state, name) for name in ("total", "done", "failed", "missing", "running")}
    if as_json:
        print_json({"ok": state.failed == 0, **counts, "damaged": list(damaged), "failures": failures})
        if altered:
            raise typer.Exit(1)
        return
    typer.echo(f"{state.done} of {state.total} cells done, {state.failed} failed, {state.missing} missing")
    if state.running:
        typer.echo("a run is active")
    for message, cells in _by_message(failures).items():
        typer.echo(f"{len(cells)} failed, e.g. {cells[0]}:\n  {message}")
    for entry in damaged:
        typer.echo(f"damaged: {entry.key} ({entry.reason})")
    if verify:
        typer.echo(
            "every file with a digest is what was written" if not altered else "start the same run again to mend cells"
        )
    if altered:
        raise typer.Exit(1)


@app.command()
def switches(as_json: bool = AS_JSON) -> None:
    """All switches of the protocol, with their values in both profiles and their effect."""
    from giveway.gaps.profile import CLEAN, PAPER, Profile

    rows = [
        {
            "switch": name,
            "paper": getattr(PAPER, name),
            "clean": getattr(CLEAN, name),
            "effect": field.description,
        }
        for name, field in Profile.model_fields.items()
    ]
    if as_json:
        print_json({"ok": True, "switches": rows})
        return
    for row in rows:
        typer.echo(f"{row['switch']:<26}paper: {row['paper']}, clean: {row['clean']}\n{'':<26}{row['effect']}")


def _rerun(name: str) -> Rerun:
    from giveway.experiments import RERUN

    for choice in RERUN:
        if choice == name:
            return choice
    raise UsageError("unknown choice for --rerun", where="--rerun", found=name, hint=f"one of {', '.join(RERUN)}")


def _check_device(name: str) -> None:
    """Refuse a device that is not there before the first cell, without loading torch for the usual one."""
    if name != "cpu":
        try:
            from giveway.predictors.torch_device import device_named
        except ImportError as error:
            raise MissingDependencyError("torch", extra="learn", purpose=f"computing on {name}") from error
        device_named(name)


def _specification(
    path: Path | None,
    preset_name: str | None,
    profile: str | None,
    switch: list[str],
    seed: int | None,
    paths: str | None,
) -> RunSpec:
    from giveway.gaps.run import specification

    if (path is None) == (preset_name is None):
        raise UsageError(
            "give either a specification or a preset",
            where="giveway gaps run",
            found="both" if path is not None else "neither",
            hint="giveway gaps run --preset quick --out R",
        )
    changes: dict[str, Any] = {"profile": profile, "seed": seed, "conditional_paths": paths}
    changes = {name: value for name, value in changes.items() if value is not None}
    return specification(preset_name or path, {**changes, "switches": switches_from(switch)})


def _refuse_empty(part: Any) -> None:
    from giveway.gaps.extract import require_samples

    require_samples(part, at_least=1, per_class=0)


def _print_counts(reports: list[ExtractionReport]) -> None:
    first = reports[0]
    typer.echo(f"{first.dataset}, n_I = {first.num_input}: {first.num_candidates} candidate gaps")
    typer.echo(f"{'t_0':<12}{'accepted':>10}{'rejected':>10}{'Delta_t':>9}  left out")
    for report in reports:
        delta = "" if report.delta_t_s is None else f"{report.delta_t_s:.2f} s"
        lost = ", ".join(f"{count} {reason}" for reason, count in report.dropped.items() if count) or "none"
        typer.echo(f"{report.choice:<12}{report.num_accepted:>10}{report.num_rejected:>10}{delta:>9}  {lost}")
        if report.num_capped:
            typer.echo(f"{'':<12}{report.num_capped} horizons were cut to the cap")
    for note in first.notes:
        typer.echo(f"note: {note}")


def _print_summary(summary: RunSummary, out: str, *, as_json: bool) -> None:
    failures = [{"cell": f.cell.label(), "error": f.error, "message": f.message} for f in summary.failures]
    if as_json:
        counts = {name: getattr(summary, name) for name in ("total", "skipped", "done", "failed", "missing", "stopped")}
        wall = round(summary.wall_s, 3)
        print_json({"ok": summary.ok, "store": out, **counts, "wall_s": wall, "failures": failures})
        return
    typer.echo(
        f"{summary.done} cells computed, {summary.skipped} were there, {summary.failed} failed, "
        f"{summary.missing} missing"
    )
    for message, cells in _by_message(failures).items():
        typer.echo(f"{len(cells)} failed, e.g. {cells[0]}:\n  {message}")
    typer.echo(f"next: giveway gaps table {out} --metric auc --t0 constant")


def _by_message(failures: list[dict[str, str]]) -> dict[str, list[str]]:
    grouped: dict[str, list[str]] = {}
    for failure in failures:
        grouped.setdefault(failure["message"].replace("\n", "\n  "), []).append(failure["cell"])
    return grouped
