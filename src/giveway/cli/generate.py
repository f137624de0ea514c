"""``giveway generate``: traffic that makes a planner fail although it could have coped."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from giveway.cli import engine_options
from giveway.cli.generate_bench import bench, sanity
from giveway.cli.generate_prior import prior
from giveway.cli.generate_train import train
from giveway.cli.output import print_json
from giveway.core.origins import Origin, banner

if TYPE_CHECKING:
    from giveway.experiments import RunSummary
    from giveway.generate.spec import CampaignSpec

app = typer.Typer(
    help="Which traffic makes a planner fail although it could have coped?",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
AS_JSON = typer.Option(False, "--json", help="Print one JSON document.")

app.command("train")(train)
app.command("bench")(bench)
app.command("sanity")(sanity)
app.command("prior")(prior)


@app.command()
def run(
    out: Path = typer.Option(..., "--out", "-o", help="Result store; run again to resume."),
    policy: Path | None = typer.Option(None, "--policy", "-p", help="Policy file or training folder; the shipped one."),
    ego: str = typer.Option("lattice", "--ego", "-e", help="idm, lattice, constant_speed, or package.module:Class."),
    road: str = typer.Option(
        "straight", "--road", "-r", help="straight, merge, roundabout, four_way, or a lanelet2 map (.osm)."
    ),
    budget: int = typer.Option(400, "--budget", "-n", min=1, max=1_000_000, help="Tests to drive."),
    driver: str = typer.Option(
        "policy", "--driver", help="policy, or without learning: no_attack, idm, random_actions, program, cut_in."
    ),
    search: str = typer.Option("nsga2", "--search", help="Seed search: nsga2, cma_es or random."),
    perturb: bool = typer.Option(True, help="Perturb cars that are close to the ego."),
    cars: int | None = typer.Option(None, "--cars", "-k", help="Learning cars; must be those of the policy."),
    deadline_s: float = typer.Option(1.0, "--deadline", help="Longest time for one plan of your planner [s]."),
    episode_steps: int | None = typer.Option(
        None, "--episode-steps", min=10, max=2000, help="Longest test, 0.1 s each; that of the training without it."
    ),
    seed: int = typer.Option(0, "--seed", help="Root of all random streams."),
    campaigns: int = typer.Option(
        1, "--campaigns", min=1, max=10_000, help="Campaigns of so many tests each, with consecutive seeds."
    ),
    workers: int | None = typer.Option(
        None, "--workers", "-w", min=1, max=100_000, help="Processes; by default campaigns follow one another in one."
    ),
    engine: str = engine_options.ENGINE,
    scheduler: str | None = engine_options.SCHEDULER,
    cluster: Path | None = engine_options.CLUSTER,
    time_limit: float | None = typer.Option(None, "--time-limit", min=0.01, help="Seconds a test may take."),
    memory_limit: float | None = typer.Option(None, "--memory-limit", min=1.0, help="Megabytes the tests may use."),
    max_hours: float | None = typer.Option(None, "--max-hours", min=0.0, help="Drive no further test after this time."),
    dry_run: bool = typer.Option(False, "--dry-run", help="Say what would be driven, and stop."),
    as_json: bool = AS_JSON,
) -> None:
    """Search initial scenes, drive the cars, perturb them, and keep every failure as a case."""
    from giveway.experiments import default_progress
    from giveway.experiments.specs import validated
    from giveway.generate.run import run_campaigns
    from giveway.generate.spec import CampaignSpec

    values = {
        "planner": ego,
        "road": road,
        "budget": budget,
        "driver": driver,
        "search": search,
        "policy": policy,
        "perturb": perturb,
        "cars": cars,
        "deadline_s": deadline_s,
        "ticks": episode_steps,
        "seed": seed,
        "campaigns": campaigns,
    }
    spec = validated(CampaignSpec, values, where="giveway generate run")
    if dry_run:
        _say_plan(spec, as_json=as_json)
        return
    executor = engine_options.make_engine(
        engine,
        workers=workers or (1 if engine == "local" else None),
        scheduler=scheduler,
        cluster=cluster,
        time_limit_s=time_limit,
        memory_limit_mb=memory_limit,
        alone_here=True,
    )
    summary = run_campaigns(spec, out, engine=executor, max_hours=max_hours, progress=default_progress())
    _say_results(out, spec, summary, as_json=as_json)
    if summary.failures:
        raise typer.Exit(1)


def _say_results(out: Path, spec: CampaignSpec, summary: RunSummary, *, as_json: bool) -> None:
    from giveway.generate.evaluation.measures import all_measures
    from giveway.generate.failures import campaigns_of, write_cases

    found = campaigns_of(spec, out)
    results = [result for campaign in found for result in campaign.results]
    cases = write_cases(out)
    measures = all_measures(results)
    if as_json:
        print_json(
            {
                "ok": not summary.failures,
                "origin": [Origin.GENERATED],
                "store": out,
                "driven": summary.done,
                "skipped": summary.skipped,
                "missing": summary.missing + summary.failed,
                "cases": cases,
                "measures": measures,
                "campaigns": [{"label": c.label, "tests": len(c.results)} for c in found],
                "failures": [
                    {"cell": f.cell.label(), "error": f.error, "message": f.message} for f in summary.failures
                ],
            }
        )
        return
    typer.echo(banner("the traffic", [Origin.GENERATED]))
    typer.echo(
        f"{len(results)} tests, violation rate {measures['violation_rate']:.3f}, at fault "
        f"{measures['at_fault_rate']:.3f}, avoidable and at fault {measures['avoidable_at_fault_rate']:.3f}"
    )
    if measures["findings"]:
        typer.echo(f"{measures['findings']:.0f} tests ended because the planner raised, hung or gave no plan")
    for failure in summary.failures:
        typer.echo(f"{failure.cell.label()} failed: {failure.message}")
    if summary.missing:
        typer.echo(f"{summary.missing} tests are missing; start the same command again to go on")
    typer.echo(f"{cases} failures in {out}/cases; look at them: giveway generate report {out}")


def _say_plan(spec: CampaignSpec, *, as_json: bool) -> None:
    from giveway.generate.experiment import planned_campaigns

    first, tests = planned_campaigns(spec)[0][0], spec.budget * spec.campaigns
    world = first.settings["world"]
    plan = {
        "tests": tests,
        "simulated_s": tests * world["steps"] / 10,
        "disk_mb": round(0.03 * tests, 1),
        "world": world,
    }
    if as_json:
        print_json({"ok": True, **plan})
    else:
        typer.echo(f"{tests} tests of up to {world['steps'] / 10:.0f} s, about {plan['disk_mb']} MB")


@app.command()
def report(
    store: Path = typer.Argument(..., help="Result store of giveway generate run."),
    out: Path | None = typer.Option(None, "--out", "-o", help="HTML file; STORE/report.html without it."),
    recorded: Path | None = typer.Option(
        None, "--recorded", help="Recordings to compare the motion with; synthetic ones are made without it."
    ),
    dataset: str = typer.Option("interaction", "--dataset", "-d", help="Registered adapter of the recordings."),
    limit: int = typer.Option(12, "--limit", min=0, max=200, help="Replays per campaign in the gallery."),
    as_json: bool = AS_JSON,
) -> None:
    """Violation rate, TOP-10, avoidable at-fault rate, diversity, realism, and a gallery of replays."""
    from giveway.generate.pages import write_report
    from giveway.generate.section import measures_table
    from giveway.generate.summary import as_document, recorded_reference, summarize

    summaries = summarize(store, None)
    reference = recorded_reference(recorded, dataset)
    summaries = summarize(store, reference)
    target = out or store / "report.html"
    shown = write_report(target, store, summaries, reference, limit=limit)
    if as_json:
        document = as_document(summaries, reference)
        print_json({"ok": True, "origin": [Origin.GENERATED], "page": target, "replays": shown, **document})
        return
    typer.echo(measures_table(summaries).text(), nl=False)
    typer.echo(f"{target}: {shown} replays, motion compared with {reference.name}")


@app.command()
def export(
    store: Path = typer.Argument(..., help="Result store of giveway generate run."),
    out: Path = typer.Option(..., "--out", "-o", help="Folder to write."),
    form: str = typer.Option("cases", "--format", "-f", help="cases (our JSON with recordings) or openscenario."),
    counting: bool = typer.Option(False, "--counting", help="Only failures that are avoidable and at fault."),
    as_json: bool = AS_JSON,
) -> None:
    """Write failures as cases for giveway drive and giveway study, or as OpenSCENARIO files."""
    from giveway.core.errors import EmptySelectionError, UsageError
    from giveway.generate.export.cases import write_failures
    from giveway.generate.export.openscenario import write_openscenario
    from giveway.generate.failures import stored_campaigns, stored_failures

    if form not in ("cases", "openscenario"):
        raise UsageError("unknown format", where="--format", found=form, hint="cases or openscenario")
    found = [f for campaign in stored_campaigns(store) for f in stored_failures(store, campaign)]
    failures = [f for f in found if f.result.counts or not counting]
    if not failures:
        raise EmptySelectionError("there is no failure to export", where=store, hint="run more tests, or another ego")
    if form == "cases":
        write_failures(out, failures)
        files = [out / "cases.json", out / "failures.json", out / "recordings"]
    else:
        files = [out / f"{failure.id}.xosc" for failure in failures]
        for path, failure in zip(files, failures, strict=True):
            write_openscenario(path, failure)
    if as_json:
        print_json({"ok": True, "failures": len(failures), "files": files})
    else:
        typer.echo(f"{len(failures)} failures in {out}")
