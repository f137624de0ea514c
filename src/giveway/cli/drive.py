"""``giveway drive``: let predictions drive, and score the drive."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from giveway.cli import engine_options
from giveway.cli.drive_files import mine, replay, score, train_predictor
from giveway.cli.drive_serve import serve
from giveway.cli.output import print_json
from giveway.core.errors import UsageError

if TYPE_CHECKING:
    from giveway.core.case import Case

app = typer.Typer(
    help="Does a better prediction make a better drive?",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
app.command("mine")(mine)
app.command("score")(score)
app.command("replay")(replay)
app.command("serve")(serve)
app.command("train-predictor")(train_predictor)


@app.command()
def run(
    predictor: list[str] = typer.Option(
        ...,
        "--predictor",
        "-p",
        help="echo, constant_velocity, constant_turn_rate, idm_along_path, oracle, gru:FILE, "
        "trajectron:FILE, or package.module:Class; may be repeated.",
    ),
    out: Path = typer.Option(..., "--out", "-o", help="Folder for logs and results; run again to resume."),
    cases: Path | None = typer.Option(None, "--cases", "-c", help="Case file or folder; the bundled set without it."),
    data: Path | None = typer.Option(None, "--data", help="Folder with the recordings the cases were made from."),
    planner: str = typer.Option(
        "default", "--planner", help="default, idm, constant_speed, replay, or package.module:Class."
    ),
    checkpoint: Path | None = typer.Option(None, "--checkpoint", help="For predictors that were trained."),
    metric: str = typer.Option("challenge", "--metric", help="challenge, challenge_coded or challenge_documented."),
    limit: int | None = typer.Option(None, "--limit", help="Only the first so many cases."),
    seed: int = typer.Option(0, "--seed", help="Root of all random streams."),
    workers: int | None = typer.Option(
        None, "--workers", "-w", min=1, max=100_000, help="Threads of the simulator, or workers of a Dask cluster."
    ),
    engine: str = engine_options.ENGINE,
    scheduler: str | None = engine_options.SCHEDULER,
    cluster: Path | None = engine_options.CLUSTER,
    time_limit: float | None = engine_options.TIME_LIMIT,
    memory_limit: float | None = engine_options.MEMORY_LIMIT,
    max_hours: float | None = engine_options.MAX_HOURS,
    dry_run: bool = typer.Option(False, "--dry-run", help="Say what would be driven, and stop."),
    predictions: bool = typer.Option(True, help="Keep predictions in the logs (needed for fans in replays)."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON document."),
) -> None:
    """Drive every case with every predictor and print the scores next to those of the recorded drivers."""
    from giveway.drive.run import DriveSpec, drive_all, planned
    from giveway.drive.section import leaderboard, summary_of
    from giveway.experiments import default_progress
    from giveway.experiments.specs import validated

    if limit is not None and limit < 1:
        raise UsageError("--limit must be at least 1", found=limit)
    values = {
        "predictors": predictor,
        "planner": planner,
        "cases": cases,
        "data": data,
        "metric": metric,
        "max_cases": limit,
        "seed": seed,
        "checkpoint": checkpoint,
        "keep_predictions": predictions,
        "threads": workers or 1,
        "max_hours": max_hours,
    }
    plan = planned(validated(DriveSpec, values, where="giveway drive run"))
    if dry_run:
        _say_plan(plan.cases, predictor, as_json=as_json)
        return
    executor = engine_options.make_engine(
        engine,
        workers=workers,
        scheduler=scheduler,
        cluster=cluster,
        time_limit_s=time_limit,
        memory_limit_mb=memory_limit,
    )
    is_local = executor.name == "local" and time_limit is None and memory_limit is None and max_hours is None
    summary = drive_all(plan, out, None if is_local else executor, default_progress())
    document = summary_of(out, metric)
    failed = summary.failed > 0
    if as_json:
        print_json({"ok": not failed, **document})
    else:
        typer.echo(leaderboard(document).text(), nl=False)
        typer.echo(f"logs and results in {out}; watch one: giveway drive replay {out} --case {plan.cases[0].id}")
    if failed:
        raise typer.Exit(1)


def _say_plan(cases: Sequence[Case], predictors: list[str], *, as_json: bool) -> None:
    ticks = sum(case.num_ticks for case in cases)
    plan = {
        "cases": len(cases),
        "predictors": predictors,
        "simulated_s": ticks / 10,
        "disk_mb": round(len(cases) * len(predictors) * 0.2, 1),
    }
    if as_json:
        print_json({"ok": True, **plan})
    else:
        typer.echo(f"{plan['cases']} cases x {len(predictors)} predictors, {plan['simulated_s']:.0f} s of traffic each")
