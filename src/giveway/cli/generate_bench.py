"""``giveway generate bench``: methods against each other, over seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from giveway.cli.command import Call
from giveway.cli.envelope import Done, failed_cells
from giveway.cli.options import Opt
from giveway.cli.settings import given, settings_from
from giveway.cli.tables import listing
from giveway.core.errors import UsageError

if TYPE_CHECKING:
    from giveway.experiments import Executor, RunSummary
    from giveway.generate.evaluation.methods import Method
    from giveway.generate.evaluation.trainings import MethodTrainings
    from giveway.generate.failures import StoredCampaign
    from giveway.generate.spec import CampaignSpec


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
    env_steps: Annotated[int | None, "Length of each training; 100000 without it."] = None,
    train_seeds: Annotated[int | None, Opt("Trainings per learned method; 1 without it.", min=1, max=100)] = None,
    worlds: Annotated[int | None, "Worlds simulated together in trainings; 32 without it."] = None,
    settings: Annotated[Sequence[str], "Of trainings: learning.NAME=VALUE or weights.NAME=VALUE; repeatable."] = (),
    seeds: Annotated[
        int | None, Opt("Campaigns per method and planner; 10, or 5 with --sanity.", min=2, max=1000)
    ] = None,
    budget: Annotated[int, "Tests per campaign."] = 100,
    against: Annotated[str | None, "Method compared with all others; policy, or the first without it."] = None,
    metric: Annotated[str | None, "Measure to compare; avoidable_rate without it."] = None,
) -> Done:
    """Compare methods over seeds, with effect sizes and tests."""
    from giveway.core.errors import UnknownNameError
    from giveway.generate.bench import HEADLINE, finished_campaigns
    from giveway.generate.evaluation.methods import SANITY, methods_called
    from giveway.generate.spec import CampaignSpec, planner_name
    from giveway.metrics import measure_campaign

    order = given(env_steps=env_steps, seeds=train_seeds, worlds=worlds)
    if sanity:
        _refuse("with --sanity", method=method, trainings=trainings, metric=metric, against=against)
    if trainings is None:
        _refuse("without --trainings", env_steps=env_steps, train_seeds=train_seeds, worlds=worlds, set=settings)
    metric = metric or HEADLINE
    planners = list(dict.fromkeys(map(planner_name, planner)))
    if metric not in (known := measure_campaign([])):
        raise UnknownNameError("measure", metric, known, where="--metric")
    methods = methods_called(list(SANITY) if sanity else list(method) or None)
    trained = None if trainings is None else _order(trainings, order, settings)
    if trained is None and not sanity:
        methods = _without_trainings(call, methods, named=bool(method))
    first = _compared(against, methods)
    engine = call.engine(here=True)
    spec = CampaignSpec(
        method=tuple(m.name for m in methods),
        planner=tuple(planners),
        road=road,
        policy=policy,
        policies={} if trained is None else _trained(call, methods, planners, trained, road, policy),
        campaigns=seeds or (5 if sanity else 10),
        budget=budget,
        tracks=False,
    )
    failures = failed_cells(_driven(call, spec, out, engine).failures)
    campaigns = finished_campaigns(spec, out)
    return _bands(campaigns, failures) if sanity else _compared_methods(campaigns, first, metric, failures)


def _refuse(why: str, **options: Any) -> None:
    """Refuse options that would be ignored."""
    for name, value in given(**options).items():
        raise UsageError(
            "the option has no effect here",
            where=f"--{name.replace('_', '-')}",
            found=f"{value} {why}",
            hint="leave it out; --sanity compares fixed methods, and settings of trainings need --trainings DIR",
        )


def _order(folder: Path, order: Mapping[str, Any], settings: Sequence[str]) -> MethodTrainings:
    """How to train; whatever is wrong with it is said before the first training."""
    from giveway.generate.evaluation.trainings import MethodTrainings
    from giveway.generate.learning.config import LearningConfig
    from giveway.generate.objective.weights import RewardWeights, V1Weights

    parts = settings_from(
        settings, (), {"learning": LearningConfig.model_fields, "weights": (*RewardWeights._fields, *V1Weights._fields)}
    )
    return MethodTrainings(
        folder=folder,
        **order,
        learning=parts.get("learning", {}),
        weights=parts.get("weights", {}),
    )


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


def _trained(
    call: Call,
    methods: Sequence[Method],
    planners: Sequence[str],
    order: MethodTrainings,
    road: str,
    policy: Path | None,
) -> Mapping[str, tuple[Path, ...]]:
    """Policies of the methods that learn, trained if the folder lacks them."""
    from giveway.experiments import Progress
    from giveway.generate.evaluation.methods import FULL
    from giveway.generate.evaluation.trainings import train_methods

    def progress(name: str) -> Progress:
        call.say(f"training {name}")
        return call.progress()

    return train_methods(
        methods,
        planners,
        order,
        road=road,
        given=() if policy is None else (FULL,),
        max_hours=call.values["max_hours"],
        progress=progress,
    )


def _driven(call: Call, spec: CampaignSpec, out: Path, engine: Executor) -> RunSummary:
    """Drive what the store lacks."""
    from giveway.generate.run import run_campaigns

    summary = run_campaigns(spec, out, engine=engine, max_hours=call.values["max_hours"], progress=call.progress())
    if summary.missing and not summary.failed:
        raise UsageError(
            "the run was stopped before all campaigns were driven",
            where=out,
            found=f"{summary.missing} of {summary.total} tests are missing",
            hint="start the same command again to go on",
        )
    return summary


def _compared_methods(
    campaigns: Sequence[StoredCampaign], first: str, metric: str, failures: Sequence[dict[str, Any]]
) -> Done:
    """Means of the methods, and the comparison of the first with all others."""
    from giveway.generate.bench import comparisons, measured
    from giveway.generate.evaluation.methods import METHODS

    values = measured(campaigns, metric)
    compared = comparisons(values, first)
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


def _bands(campaigns: Sequence[StoredCampaign], failures: Sequence[dict[str, Any]]) -> Done:
    """Whether results lie where they must."""
    from giveway.generate.evaluation.sanity import sanity_bands

    bands = sanity_bands(campaigns)
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
