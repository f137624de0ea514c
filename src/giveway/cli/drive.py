"""``giveway drive``: let predictions drive, and score the drive."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from giveway.cli import engine_options
from giveway.cli.drive_files import mine, replay, score, train_predictor
from giveway.cli.drive_serve import serve
from giveway.cli.output import print_json
from giveway.core.errors import UsageError

if TYPE_CHECKING:
    from giveway.drive.runs import DriveRun
    from giveway.sim.cases import Case

app = typer.Typer(
    help="Does a better prediction make a better drive?",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
MORE = {
    "gated": "gated_score",
    "fault/case": "at_fault_collisions",
    "TTC s": "min_ttc_s",
    "PET s": "post_encroachment_s",
    "comfort": "comfortable",
    "delay s": "courtesy_delay_s",
    "realism": "realism",
    "ADE m": "ade_m",
}
"""Further means over cases that are printed; all of them are in the JSON document."""

HEADS, WIDTHS = ("S_eff", "S_jer", "S_vel", "S_cou", "Score"), (8, 8, 8, 8, 9)

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
    metric: str = typer.Option(
        "default", "--metric", help="Variant of the challenge metric: default, as_coded, as_documented."
    ),
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
    from giveway.drive.case_sets import open_cases
    from giveway.drive.runs import run_predictor, score_drives, write_summary
    from giveway.metrics.driving_challenge import rules_called
    from giveway.models.motion import PREDICTOR_TRAINERS, make_predictor
    from giveway.planning import make_planner
    from giveway.runs import default_progress

    rules, driver = rules_called(metric), make_planner(planner)
    trained = {name: checkpoint if name in PREDICTOR_TRAINERS or ":" in name else None for name in predictor}
    makers = [(name, make_predictor(name, trained[name])) for name in predictor]
    chosen, source = open_cases(cases, data, limit)
    if dry_run:
        _say_plan(chosen, [name for name, _ in makers], as_json=as_json)
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
    runs: list[DriveRun] = []
    for name, model in makers:
        variant = getattr(model, "fingerprint", "")
        if not is_local:
            from giveway.drive.engine import DriveOrder, drive_on

            file = trained[name]
            order = DriveOrder(
                predictor=name,
                checkpoint=None if file is None else str(file.resolve()),
                planner=planner,
                cases=None if cases is None else str(cases.resolve()),
                data=None if data is None else str(data.resolve()),
                out=str(out.resolve()),
                keep_predictions=predictions,
            )
            summary = drive_on(
                executor, order, chosen, seed=seed, variant=variant, max_hours=max_hours, progress=default_progress()
            )
            if summary.missing:
                raise UsageError(
                    "the run was stopped before all cases were driven",
                    where=out,
                    found=f"{summary.missing} of {len(chosen)} cases are missing",
                    hint="start the same command again to go on",
                )
            runs.append(
                score_drives(
                    chosen,
                    source,
                    predictor=model,
                    planner=driver,
                    out=out,
                    failed={str(failure.cell.params["case"]): failure.reason for failure in summary.failures},
                    driven=summary.done,
                    rules=rules,
                    seed=seed,
                    variant=variant,
                )
            )
            continue
        runs.append(
            run_predictor(
                chosen,
                source,
                predictor=model,
                planner=driver,
                out=out,
                rules=rules,
                seed=seed,
                threads=min(workers or 1, 64),
                variant=variant,
                keep_predictions=predictions,
                progress=default_progress(),
            )
        )
    document = write_summary(out, runs, driver)
    failed = any(run.failed for run in runs)
    if as_json:
        print_json({"ok": not failed, **document})
    else:
        _print_table(document)
        typer.echo(f"logs and results in {out}; watch one: giveway drive replay {out}/logs --case {chosen[0].id}")
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


def _print_table(document: dict[str, Any]) -> None:
    planner = document["planner"]
    rows = [*document["predictors"], document["humans"]]
    if document["banner"]:
        typer.echo(document["banner"])
    width = max(len(row["name"]) for row in rows) + 2
    heads = "".join(f"{name:>{w}}" for name, w in zip(("n_col", "fault", *HEADS), (6, 6, *WIDTHS), strict=True))
    typer.echo(f"{'':{width}}{heads}  95 % interval")
    for row in rows:
        low, high = row["intervals"].get("score", [None, None])
        values = "".join(_cell(row[name.lower()], w) for name, w in zip(HEADS, WIDTHS, strict=True))
        fault = "-" if row["n_col_at_fault"] is None else row["n_col_at_fault"]
        end = "" if low is None else f"[{low:.2f}, {high:.2f}]"
        end += f"  {row['coverage']}, {row['failed_are']}" if row["failed"] else ""
        typer.echo(f"{row['name']:{width}}{row['n_col']:>6}{fault:>6}{values}  {end}")
    typer.echo(f"{'':{width}}{''.join(f'{head:>11}' for head in MORE)}")
    for row in document["predictors"]:
        typer.echo(f"{row['name']:{width}}{''.join(_cell(row['means'].get(key), 11) for key in MORE.values())}")
    for row in document["predictors"]:
        name = row["name"]
        if row["against_humans"]:
            typer.echo(f"{name} - {document['humans']['name']}: {_interval(row['against_humans']['score'])}")
        if row["fallbacks"]:
            typer.echo(f"{name}: {row['fallbacks']} of {row['predictions']} predictions replaced by constant velocity")
        for case, reason in row["failed_cases"].items():
            typer.echo(f"{name}: case {case} failed: {reason}")
    for name, found in document["differences"].items():
        typer.echo(f"{name}: {_interval(found['score'])}")
    agreement = document["open_loop_agreement"]
    if agreement:
        found = _cell(agreement["spearman"], 0)
        typer.echo(f"rank agreement of open-loop error and closed-loop score (Spearman): {found}")
    version = f"planner {planner['name']} version {planner['version']}"
    typer.echo(f"{rows[0]['coverage']}, metric {rows[0]['metric']}, {version}; {document['note']}")


def _interval(found: dict[str, float | None]) -> str:
    if any(value is None for value in found.values()):
        return "-"
    return f"{found['estimate']:+.2f} [{found['low']:+.2f}, {found['high']:+.2f}]"


def _cell(value: float | None, width: int) -> str:
    return f"{'-' if value is None else f'{value:.3f}':>{width}}"
