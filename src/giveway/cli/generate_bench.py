"""``giveway generate bench`` and ``sanity``: methods against each other, over seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from giveway.cli import engine_options
from giveway.cli.output import print_json
from giveway.cli.training_options import named_values, reward_weights
from giveway.core.errors import UsageError

if TYPE_CHECKING:
    from giveway.experiments import Executor
    from giveway.generate.evaluation.methods import Method
    from giveway.generate.evaluation.sanity import Band
    from giveway.generate.evaluation.trainings import MethodTrainings
    from giveway.generate.spec import CampaignSpec

OUT = typer.Option(..., "--out", "-o", help="Result store; run again to resume.")
ROAD = typer.Option("straight", "--road", "-r", help="Road of all tests.")
EGO = typer.Option(["idm", "lattice"], "--ego", "-e", help="Planner under test; may be repeated.")
POLICY = typer.Option(None, "--policy", "-p", help="Policy of the learned methods; the shipped one without it.")
AS_JSON = typer.Option(False, "--json", help="Print one JSON document.")


def bench(
    out: Path = OUT,
    method: list[str] = typer.Option([], "--method", "-m", help="Method; may be repeated. All without it."),
    road: str = ROAD,
    ego: list[str] = EGO,
    policy: Path | None = POLICY,
    trainings: Path | None = typer.Option(
        None, "--trainings", help="Folder of trainings by name (see docs); missing ones are trained into it."
    ),
    train_steps: int = typer.Option(100_000, "--train-steps", min=100, help="Steps of each training."),
    train_seeds: int = typer.Option(1, "--train-seeds", min=1, max=100, help="Trainings per learned method."),
    train_worlds: int = typer.Option(32, "--train-worlds", min=1, max=4096, help="Worlds stepped together in them."),
    train_set: list[str] = typer.Option(
        [], "--train-set", help="Learning setting NAME=VALUE of all of them, e.g. warm_steps=100000; may be repeated."
    ),
    train_weight: list[str] = typer.Option(
        [], "--train-weight", help="Weight of their reward NAME=VALUE; may be repeated."
    ),
    seeds: int = typer.Option(10, "--seeds", min=2, max=1000, help="Campaigns per method and ego."),
    budget: int = typer.Option(100, "--budget", "-n", min=10, help="Tests per campaign."),
    against: str | None = typer.Option(
        None, "--against", help="Method that is compared with all others; policy, or the first where that does not run."
    ),
    metric: str = typer.Option("avoidable_at_fault_rate", "--metric", help="Measure to compare."),
    workers: int | None = engine_options.WORKERS,
    engine: str = engine_options.ENGINE,
    scheduler: str | None = engine_options.SCHEDULER,
    cluster: Path | None = engine_options.CLUSTER,
    time_limit: float | None = engine_options.TIME_LIMIT,
    memory_limit: float | None = engine_options.MEMORY_LIMIT,
    max_hours: float | None = engine_options.MAX_HOURS,
    as_json: bool = AS_JSON,
) -> None:
    """Compare methods over seeds: means, Vargha-Delaney A with intervals, tests corrected by Holm."""
    from giveway.core.errors import UnknownNameError
    from giveway.generate.evaluation.measures import all_measures
    from giveway.generate.evaluation.methods import methods_called

    known = all_measures([])
    if metric not in known:
        raise UnknownNameError("measure", metric, known, where="--metric")
    methods = methods_called(method or None)
    order = None
    if trainings is not None:
        order = _order(trainings, train_steps, train_seeds, train_worlds, train_set, train_weight)
    else:
        methods = _without_trainings(methods, named=bool(method))
    first = _compared(against, methods)
    executor = engine_options.make_engine(
        engine,
        workers=workers,
        scheduler=scheduler,
        cluster=cluster,
        time_limit_s=time_limit,
        memory_limit_mb=memory_limit,
        alone_here=True,
    )
    policies = {} if order is None else _trained(methods, ego, order, road, policy)
    spec = _spec(methods, ego, road, policy, policies, seeds, budget)
    failed = _run(spec, out, executor, max_hours)
    _report(spec, out, first, metric, failed, as_json=as_json)


def sanity(
    out: Path = OUT,
    road: str = ROAD,
    ego: list[str] = EGO,
    policy: Path | None = POLICY,
    seeds: int = typer.Option(5, "--seeds", min=2, max=1000, help="Campaigns per method and ego."),
    budget: int = typer.Option(100, "--budget", "-n", min=10, help="Tests per campaign."),
    workers: int | None = engine_options.WORKERS,
    engine: str = engine_options.ENGINE,
    scheduler: str | None = engine_options.SCHEDULER,
    cluster: Path | None = engine_options.CLUSTER,
    time_limit: float | None = engine_options.TIME_LIMIT,
    memory_limit: float | None = engine_options.MEMORY_LIMIT,
    max_hours: float | None = engine_options.MAX_HOURS,
    as_json: bool = AS_JSON,
) -> None:
    """Check the bands in which results must lie before they are believed; exit code 1 if one does not hold."""
    from giveway.generate.bench import finished_campaigns
    from giveway.generate.evaluation.methods import SANITY, methods_called
    from giveway.generate.evaluation.sanity import sanity_bands

    executor = engine_options.make_engine(
        engine,
        workers=workers,
        scheduler=scheduler,
        cluster=cluster,
        time_limit_s=time_limit,
        memory_limit_mb=memory_limit,
        alone_here=True,
    )
    spec = _spec(methods_called(list(SANITY)), ego, road, policy, {}, seeds, budget)
    failed = _run(spec, out, executor, max_hours)
    bands = sanity_bands(finished_campaigns(spec, out))
    fine = not failed and all(band.holds for band in bands)
    if as_json:
        print_json({"ok": fine, "bands": bands})
    else:
        _print_bands(bands)
    if not fine:
        raise typer.Exit(1)


def _order(
    folder: Path,
    steps: int,
    seeds: int,
    worlds: int,
    settings: list[str],
    weights: list[str],
) -> MethodTrainings:
    """How to train; whatever is wrong with it is said before the first training."""
    from giveway.generate.evaluation.trainings import MethodTrainings

    return MethodTrainings(
        folder=folder,
        env_steps=steps,
        seeds=seeds,
        worlds=worlds,
        learning=named_values(settings, "--train-set", "gamma=0.95"),
        weights=reward_weights(weights, "--train-weight"),
    )


def _without_trainings(methods: Sequence[Method], *, named: bool) -> list[Method]:
    """Methods that need no training of their own; others are refused if they were named, else left out."""
    from giveway.generate.evaluation.methods import FULL

    others = ", ".join(m.name for m in methods if m.policy_name not in ("", FULL))
    if others and named:
        raise UsageError(
            "the method needs a training of its own", where="--method", found=others, hint="add --trainings DIR"
        )
    if others:
        typer.echo(f"left out without --trainings: {others}", err=True)
    return [m for m in methods if m.policy_name in ("", FULL)]


def _compared(against: str | None, methods: Sequence[Method]) -> str:
    """The method that is compared with all others."""
    names = [m.name for m in methods]
    if against is None:
        return "policy" if "policy" in names else names[0]
    if against not in names:
        raise UsageError(
            "the comparison has no such method", where="--against", found=against, hint=f"one of {', '.join(names)}"
        )
    return against


def _trained(
    methods: Sequence[Method], egos: Sequence[str], order: MethodTrainings, road: str, policy: Path | None
) -> Mapping[str, tuple[Path, ...]]:
    from giveway.experiments import Progress, default_progress
    from giveway.generate.evaluation.methods import FULL
    from giveway.generate.evaluation.trainings import train_methods

    def progress(name: str) -> Progress:
        typer.echo(f"training {name}", err=True)
        return default_progress()

    given = () if policy is None else (FULL,)
    return train_methods(methods, egos, order, road=road, given=given, progress=progress)


def _spec(
    methods: Sequence[Method],
    egos: Sequence[str],
    road: str,
    policy: Path | None,
    policies: Mapping[str, tuple[Path, ...]],
    seeds: int,
    budget: int,
) -> CampaignSpec:
    from giveway.generate.spec import CampaignSpec

    return CampaignSpec(
        method=tuple(m.name for m in methods),
        planner=tuple(egos),
        road=road,
        policy=policy,
        policies=policies,
        campaigns=seeds,
        budget=budget,
        tracks=False,
    )


def _run(spec: CampaignSpec, out: Path, executor: Executor, max_hours: float | None) -> int:
    """Drive what the store lacks; returns how many tests failed."""
    from giveway.experiments import default_progress
    from giveway.generate.run import run_campaigns

    summary = run_campaigns(spec, out, engine=executor, max_hours=max_hours, progress=default_progress())
    if summary.missing and not summary.failed:
        raise UsageError(
            "the run was stopped before all campaigns were driven",
            where=out,
            found=f"{summary.missing} of {summary.total} tests are missing",
            hint="start the same command again to go on",
        )
    return summary.failed


def _report(spec: CampaignSpec, out: Path, first: str, metric: str, failed: int, *, as_json: bool) -> None:
    from giveway.generate.bench import comparisons, finished_campaigns, measured
    from giveway.generate.evaluation.methods import METHODS

    values = measured(finished_campaigns(spec, out), metric)
    compared = comparisons(values, first)
    if as_json:
        found = {"ok": failed == 0, "metric": metric, "against": first, "values": values, "comparisons": compared}
        print_json(found)
    else:
        for ego, by_method in values.items():
            typer.echo(f"{metric.replace('_', ' ')}, ego {ego}")
            rows = {c.second: c for c in compared.get(ego, [])}
            for name, runs in by_method.items():
                mean = sum(runs) / len(runs)
                end = ""
                if name in rows:
                    c = rows[name]
                    end = f"  A {c.a:.2f} [{c.low:.2f}, {c.high:.2f}] {c.size}, p {c.p_adjusted:.4f}"
                typer.echo(f"  {name:<18}{mean:>8.3f}  {len(runs)} seeds  {METHODS[name].title}{end}")
        typer.echo(f"A is the chance that a run of {first} is larger; p by Mann-Whitney, corrected by Holm")
    if failed:
        raise typer.Exit(1)


def _print_bands(bands: Sequence[Band]) -> None:
    for band in bands:
        mark = "holds " if band.holds else "BROKEN"
        typer.echo(f"{mark} ego {band.ego:<10} {band.value:7.3f} ({band.bound:g})  {band.claim}, {band.seeds} seeds")
