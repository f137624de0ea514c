"""``giveway generate bench`` and ``sanity``: methods against each other, over seeds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from giveway.cli import engine_options
from giveway.cli.output import print_json
from giveway.cli.training_line import training_line
from giveway.cli.training_options import named_values, reward_weights
from giveway.core.errors import UsageError

if TYPE_CHECKING:
    from giveway.generate.evaluation.methods import Method
    from giveway.generate.evaluation.sanity import Band
    from giveway.generate.evaluation.trainings import TrainingOrder
    from giveway.generate.worlds import WorldSettings
    from giveway.runs import Executor

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
    first: str = typer.Option("policy", "--against", help="Method that is compared with all others."),
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
    from giveway.generate.evaluation.methods import methods_called
    from giveway.generate.worlds import WorldSettings

    methods = methods_called(method or None)
    settings = WorldSettings(road=road, actions="lateral")
    order = None
    if trainings is not None:
        order = _order(methods, train_steps, train_seeds, train_worlds, train_set, train_weight)
    policies = _policies(methods, settings, policy, trainings, ego, order)
    methods = [m for m in methods if not m.is_trained or f"{m.policy_name}@{ego[0]}" in policies]
    executor = engine_options.make_engine(
        engine,
        workers=workers,
        scheduler=scheduler,
        cluster=cluster,
        time_limit_s=time_limit,
        memory_limit_mb=memory_limit,
        alone_here=True,
    )
    failed = _run(out, methods, settings, ego, seeds, budget, policies, executor, max_hours)
    _report(out, first, metric, failed, as_json=as_json)


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
    from giveway.generate.evaluation.methods import SANITY, methods_called
    from giveway.generate.evaluation.sanity import sanity_bands
    from giveway.generate.worlds import WorldSettings

    methods = methods_called(list(SANITY))
    settings = WorldSettings(road=road, actions="lateral")
    policies = _policies(methods, settings, policy, None, ego, None)
    executor = engine_options.make_engine(
        engine,
        workers=workers,
        scheduler=scheduler,
        cluster=cluster,
        time_limit_s=time_limit,
        memory_limit_mb=memory_limit,
        alone_here=True,
    )
    failed = _run(out, methods, settings, ego, seeds, budget, policies, executor, max_hours)
    bands = sanity_bands(out)
    fine = not failed and all(band.holds for band in bands)
    if as_json:
        print_json({"ok": fine, "bands": bands})
    else:
        _print_bands(bands)
    if not fine:
        raise typer.Exit(1)


def _policies(
    methods: Sequence[Method],
    settings: WorldSettings,
    policy: Path | None,
    trainings: Path | None,
    egos: list[str],
    order: TrainingOrder | None,
) -> dict[str, list[Path]]:
    """Policy files by training name and planner; methods whose policy cannot be had are left out."""
    from giveway.generate.policies import POLICY_FILE, shipped_file

    found: dict[str, list[Path]] = {}
    for method in methods:
        name = method.policy_name
        for ego in egos if method.is_trained else []:
            key = f"{name}@{ego}"
            if key in found:
                continue
            if name == "full" and (policy is not None or trainings is None):
                path = shipped_file(ego) if policy is None else policy
                found[key] = [path / POLICY_FILE if path.is_dir() else path]
            elif trainings is not None and order is not None:
                found[key] = [_train(method, settings, trainings, ego, order, n) for n in range(order.seeds)]
    return found


def _order(
    methods: Sequence[Method], steps: int, seeds: int, worlds: int, settings: list[str], weights: list[str]
) -> TrainingOrder:
    """How to train; whatever is wrong with it is said before the first training."""
    from giveway.generate.evaluation.trainings import TrainingOrder

    order = TrainingOrder(
        steps=steps,
        seeds=seeds,
        worlds=worlds,
        learning=named_values(settings, "--train-set", "gamma=0.95"),
        weights=reward_weights(weights, "--train-weight"),
    )
    for method in methods:
        order.config(method)
    return order


def _train(method: Method, settings: WorldSettings, trainings: Path, ego: str, order: TrainingOrder, seed: int) -> Path:
    from giveway.generate.evaluation.trainings import folder_of, trained

    folder = folder_of(method, trainings, ego, seed)
    typer.echo(f"training {folder.name}", err=True)
    with training_line(order.steps) as (on_tick, on_round):
        return trained(method, settings, folder, order, ego=ego, seed=seed, on_tick=on_tick, on_round=on_round)


def _run(
    out: Path,
    methods: Sequence[Method],
    settings: WorldSettings,
    egos: list[str],
    seeds: int,
    budget: int,
    policies: dict[str, list[Path]],
    executor: Executor,
    max_hours: float | None,
) -> int:
    from giveway.generate.evaluation.protocol import FUNCTION, protocol_cells
    from giveway.generate.learning.policy import load_policy
    from giveway.runs import default_progress
    from giveway.runs import run as run_cells

    cells = protocol_cells(methods, settings=settings, egos=egos, seeds=range(seeds), budget=budget, policies=policies)
    files = {load_policy(path).fingerprint[:16]: str(path.resolve()) for paths in policies.values() for path in paths}
    summary = run_cells(
        cells,
        function=FUNCTION,
        store=out,
        spec={"command": "generate bench", "methods": [m.name for m in methods], "egos": egos, "budget": budget},
        settings={"policies": files},
        executor=executor,
        rerun="failed",
        max_hours=max_hours,
        progress=default_progress(),
    )
    if summary.missing:
        raise UsageError(
            "the run was stopped before all campaigns were driven",
            where=out,
            found=f"{summary.missing} of {summary.total} campaigns are missing",
            hint="start the same command again to go on",
        )
    return summary.failed


def _report(out: Path, first: str, metric: str, failed: int, *, as_json: bool) -> None:
    from giveway.generate.evaluation.methods import METHODS
    from giveway.generate.evaluation.protocol import comparisons, measured

    values, compared = measured(out, metric), comparisons(out, first=first, metric=metric)
    if as_json:
        print_json({"ok": failed == 0, "metric": metric, "values": values, "comparisons": compared})
    else:
        for ego, by_method in values.items():
            typer.echo(f"{metric.replace('_', ' ')}, ego {ego}")
            rows: dict[str, Any] = {c.second: c for c in compared.get(ego, [])}
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
