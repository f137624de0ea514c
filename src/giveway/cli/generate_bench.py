"""``giveway generate bench`` and ``sanity``: methods against each other, over seeds."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from giveway.cli import engine_options
from giveway.cli.output import print_json
from giveway.cli.training_line import training_line
from giveway.cli.training_options import named_values, reward_weights
from giveway.core.errors import UsageError

if TYPE_CHECKING:
    from giveway.experiments import Cell, Executor
    from giveway.generate.evaluation.methods import Method
    from giveway.generate.evaluation.sanity import Band
    from giveway.generate.evaluation.trainings import TrainingOrder
    from giveway.generate.worlds import WorldSettings

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
        order = _order(methods, trainings, train_steps, train_seeds, train_worlds, train_set, train_weight)
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
    comparison = _prepared(methods, road, ego, policy, order)
    cells = comparison.cells(seeds, budget)
    failed = comparison.run(cells, out, executor, max_hours)
    _report(out, cells, first, metric, failed, as_json=as_json)


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

    executor = engine_options.make_engine(
        engine,
        workers=workers,
        scheduler=scheduler,
        cluster=cluster,
        time_limit_s=time_limit,
        memory_limit_mb=memory_limit,
        alone_here=True,
    )
    comparison = _prepared(methods_called(list(SANITY)), road, ego, policy, None)
    cells = comparison.cells(seeds, budget)
    failed = comparison.run(cells, out, executor, max_hours)
    bands = sanity_bands(out, cells)
    fine = not failed and all(band.holds for band in bands)
    if as_json:
        print_json({"ok": fine, "bands": bands})
    else:
        _print_bands(bands)
    if not fine:
        raise typer.Exit(1)


def _order(
    methods: Sequence[Method],
    folder: Path,
    steps: int,
    seeds: int,
    worlds: int,
    settings: list[str],
    weights: list[str],
) -> TrainingOrder:
    """How to train; whatever is wrong with it is said before the first training."""
    from giveway.generate.evaluation.trainings import TrainingOrder

    order = TrainingOrder(
        folder=folder,
        steps=steps,
        seeds=seeds,
        worlds=worlds,
        learning=named_values(settings, "--train-set", "gamma=0.95"),
        weights=reward_weights(weights, "--train-weight"),
    )
    for method in methods:
        order.config(method)
    return order


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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Prepared:
    """Methods, worlds, planners and policies that fit together.

    Attributes:
        methods: to compare.
        settings: of the worlds of all methods.
        egos: planners under test.
        policies: by training name and planner.
    """

    methods: Sequence[Method]
    settings: WorldSettings
    egos: Sequence[str]
    policies: Mapping[str, Sequence[Path]]

    def cells(self, seeds: int, budget: int) -> list[Cell]:
        """One per method, planner and seed."""
        from giveway.generate.evaluation.protocol import protocol_cells

        return protocol_cells(
            self.methods,
            machine=self.settings,
            egos=self.egos,
            seeds=range(seeds),
            budget=budget,
            policies=self.policies,
        )

    def compute(self, cells: Sequence[Cell], out: Path, executor: Executor, max_hours: float | None) -> int:
        """Drive what the store lacks; returns how many campaigns failed."""
        from giveway.experiments import compute as run_cells
        from giveway.experiments import default_progress
        from giveway.generate.evaluation.protocol import FUNCTION
        from giveway.generate.learning.policy import load_policy

        paths = [path for paths in self.policies.values() for path in paths]
        spec = {"command": "generate bench", "methods": [m.name for m in self.methods], "egos": list(self.egos)}
        summary = run_cells(
            cells,
            experiment=FUNCTION,
            store=out,
            spec={**spec, "budget": cells[0].params["budget"]},
            machine={"policies": {load_policy(path).fingerprint[:16]: str(path.resolve()) for path in paths}},
            engine=executor,
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


def _prepared(
    methods: Sequence[Method], road: str, egos: Sequence[str], policy: Path | None, order: TrainingOrder | None
) -> _Prepared:
    """Check worlds, planners and policies, then train what is missing."""
    from giveway.generate.evaluation.methods import FULL
    from giveway.generate.learning.policy import load_policy
    from giveway.generate.policies import POLICY_FILE, check_world, shipped_file
    from giveway.generate.worlds import WorldSettings

    settings = WorldSettings(road=road, actions="lateral")
    policies: dict[str, Sequence[Path]] = {}
    for method, ego in itertools.product(methods, egos):
        given = None
        if method.policy_name == FULL and (policy is not None or order is None):
            path = shipped_file(ego) if policy is None else policy
            given = path / POLICY_FILE if path.is_dir() else path
            policies[f"{FULL}@{ego}"] = [given]
        check_world(method.world_of(settings, ego), None if given is None else load_policy(given))
    if order is not None:
        for method, ego in itertools.product([m for m in methods if m.is_trained], egos):
            key = f"{method.policy_name}@{ego}"
            if key not in policies:
                policies[key] = [_train(method, settings, ego, order, seed) for seed in range(order.seeds)]
    return _Prepared(methods=methods, machine=settings, egos=egos, policies=policies)


def _train(method: Method, settings: WorldSettings, ego: str, order: TrainingOrder, seed: int) -> Path:
    from giveway.generate.evaluation.trainings import trained

    typer.echo(f"training {order.place(method, ego, seed).name}", err=True)
    with training_line(order.steps) as (on_tick, on_round):
        return trained(method, settings, order, ego=ego, seed=seed, on_tick=on_tick, on_round=on_round)


def _report(out: Path, cells: Sequence[Cell], first: str, metric: str, failed: int, *, as_json: bool) -> None:
    from giveway.generate.evaluation.methods import METHODS
    from giveway.generate.evaluation.protocol import comparisons, measured

    values, compared = measured(out, cells, metric), comparisons(out, cells, first=first, metric=metric)
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
