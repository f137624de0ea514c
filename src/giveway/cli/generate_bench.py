"""``giveway generate bench``: methods against each other, over seeds."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from giveway.cli.command import Call
from giveway.cli.envelope import Done, failed_cells
from giveway.cli.options import Opt
from giveway.cli.settings import settings_from
from giveway.cli.tables import listing
from giveway.core.errors import UsageError

if TYPE_CHECKING:
    from giveway.experiments import Cell, Executor
    from giveway.generate.evaluation.methods import Method
    from giveway.generate.evaluation.trainings import TrainingOrder
    from giveway.generate.worlds import WorldSettings


def bench(
    call: Call,
    *,
    out: Annotated[Path, "Result store; run again to resume."],
    sanity: Annotated[bool, "Check the bands in which results must lie before they are believed."] = False,
    method: Annotated[Sequence[str], "Method; repeatable. All without it."] = (),
    road: str = "straight",
    planner: Annotated[Sequence[str], "Planner under test; repeatable."] = ("idm", "lattice"),
    policy: Path | None = None,
    trainings: Annotated[Path | None, "Folder of trainings by name; missing ones are trained into it."] = None,
    env_steps: Annotated[int, "Length of each training."] = 100_000,
    train_seeds: Annotated[int, Opt("Trainings per learned method.", min=1, max=100)] = 1,
    worlds: Annotated[int, "Worlds simulated together in trainings."] = 32,
    settings: Annotated[Sequence[str], "Of trainings: learning.NAME=VALUE or weights.NAME=VALUE; repeatable."] = (),
    seeds: Annotated[
        int | None, Opt("Campaigns per method and planner; 10, or 5 with --sanity.", min=2, max=1000)
    ] = None,
    budget: Annotated[int, "Tests per campaign."] = 100,
    against: Annotated[str | None, "Method compared with all others; policy, or the first without it."] = None,
    metric: Annotated[str, "Measure to compare."] = "avoidable_at_fault_rate",
) -> Done:
    """Compare methods over seeds, with effect sizes and tests."""
    from giveway.core.errors import UnknownNameError
    from giveway.generate.evaluation.measures import all_measures
    from giveway.generate.evaluation.methods import SANITY, methods_called

    if metric not in (known := all_measures([])):
        raise UnknownNameError("measure", metric, known, where="--metric")
    methods = methods_called(list(SANITY) if sanity else list(method) or None)
    order = None
    if trainings is not None and not sanity:
        order = _order(methods, trainings, env_steps, train_seeds, worlds, settings)
    elif not sanity:
        methods = _without_trainings(call, methods, named=bool(method))
    first = _compared(against, methods)
    engine = call.engine(here=True)
    comparison = _prepared(call, methods, road, planner, policy, order)
    cells = comparison.cells(seeds or (5 if sanity else 10), budget)
    failed = comparison.run(cells, out, engine, call)
    return _bands(out, cells, failed) if sanity else _compared_methods(out, cells, first, metric, failed)


def _order(
    methods: Sequence[Method], folder: Path, env_steps: int, seeds: int, worlds: int, settings: Sequence[str]
) -> TrainingOrder:
    """How to train; whatever is wrong with it is said before the first training."""
    from giveway.experiments.specs import validated
    from giveway.generate.environment.arrays import RewardWeights
    from giveway.generate.evaluation.trainings import TrainingOrder
    from giveway.generate.learning.config import LearningConfig
    from giveway.generate.train import TrainingSpec

    parts = settings_from(settings, (), {"learning": LearningConfig.model_fields, "weights": RewardWeights._fields})
    validated(TrainingSpec, parts, where="--set")
    order = TrainingOrder(
        folder=folder,
        steps=env_steps,
        seeds=seeds,
        worlds=worlds,
        learning=parts.get("learning", {}),
        weights=parts.get("weights", {}),
    )
    for method in methods:
        order.config(method)
    return order


def _without_trainings(call: Call, methods: Sequence[Method], *, named: bool) -> list[Method]:
    """Methods that need no training of their own; others are refused if they were named, else left out."""
    from giveway.generate.evaluation.methods import FULL

    others = ", ".join(m.name for m in methods if m.policy_name not in ("", FULL))
    if others and named:
        raise UsageError(
            "the method needs a training of its own", where="--method", found=others, hint="add --trainings DIR"
        )
    if others:
        call.warn(f"left out without --trainings: {others}")
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
            settings=self.settings,
            egos=self.egos,
            seeds=range(seeds),
            budget=budget,
            policies=self.policies,
        )

    def run(self, cells: Sequence[Cell], out: Path, engine: Executor, call: Call) -> list[dict[str, Any]]:
        """Drive what the store lacks; returns the campaigns that failed."""
        from giveway.experiments import compute as run_cells
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
            engine=engine,
            rerun="failed",
            max_hours=call.values["max_hours"],
            progress=call.progress(),
        )
        if summary.missing:
            raise UsageError(
                "the run was stopped before all campaigns were driven",
                where=out,
                found=f"{summary.missing} of {summary.total} campaigns are missing",
                hint="start the same command again to go on",
            )
        return failed_cells(summary.failures)


def _prepared(
    call: Call,
    methods: Sequence[Method],
    road: str,
    egos: Sequence[str],
    policy: Path | None,
    order: TrainingOrder | None,
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
                policies[key] = [_train(call, method, settings, ego, order, seed) for seed in range(order.seeds)]
    return _Prepared(methods=methods, settings=settings, egos=egos, policies=policies)


def _train(call: Call, method: Method, settings: WorldSettings, ego: str, order: TrainingOrder, seed: int) -> Path:
    from giveway.cli.generate import training_reports
    from giveway.generate.evaluation.trainings import trained

    call.say(f"training {order.place(method, ego, seed).name}")
    with call.counting("train") as count:
        on_tick, on_round = training_reports(call, order.steps, count)
        return trained(method, settings, order, ego=ego, seed=seed, on_tick=on_tick, on_round=on_round)


def _compared_methods(
    out: Path, cells: Sequence[Cell], first: str, metric: str, failures: Sequence[dict[str, Any]]
) -> Done:
    """Means of the methods, and the comparison of the first with all others."""
    from giveway.generate.evaluation.methods import METHODS
    from giveway.generate.evaluation.protocol import comparisons, measured

    values, compared = measured(out, cells, metric), comparisons(out, cells, first=first, metric=metric)
    rows: list[tuple[Any, ...]] = []
    for ego, by_method in values.items():
        others = {c.second: c for c in compared.get(ego, [])}
        for name, runs in by_method.items():
            c = others.get(name)
            found = (None,) * 4 if c is None else (c.a, f"[{c.low:.2f}, {c.high:.2f}]", c.size, f"{c.p_adjusted:.4f}")
            rows.append((ego, name, sum(runs) / len(runs), len(runs), METHODS[name].title, *found))
    heads = ("planner", "method", metric.replace("_", " "), "seeds", "title", "A", "interval", "effect", "p")
    note = f"A is the chance that a run of {first} is larger; p by Mann-Whitney, corrected by Holm"
    return Done(
        result={"metric": metric, "against": first, "values": values, "comparisons": compared, "bands": []},
        text=listing("Methods", heads, rows, notes=[note]),
        failures=failures,
    )


def _bands(out: Path, cells: Sequence[Cell], failures: Sequence[dict[str, Any]]) -> Done:
    """Whether results lie where they must."""
    from giveway.generate.evaluation.sanity import sanity_bands

    bands = sanity_bands(out, cells)
    rows = [
        ("holds" if b.holds else "BROKEN", b.ego, b.value, f"({b.bound:g})", f"{b.claim}, {b.seeds} seeds")
        for b in bands
    ]
    return Done(
        result={"metric": None, "against": None, "values": {}, "comparisons": {}, "bands": bands},
        text=listing("Bands", ("", "planner", "value", "bound", "claim"), rows),
        failures=failures,
        holds=all(band.holds for band in bands),
    )
