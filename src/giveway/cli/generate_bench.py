"""``giveway generate bench``: methods against each other, over seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
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


PICTURE = "arena.png"
"""Picture of a comparison in its store."""


def bench(
    call: Call,
    *,
    out: Annotated[Path, "Result store; run again to resume."],
    sanity: Annotated[bool, "Check the bands in which results must lie before they are believed."] = False,
    arena: Annotated[bool, "Ten attackers (scripts, searches, policies, pushes) and six planners."] = False,
    method: Annotated[Sequence[str], "Method; repeatable. All without it."] = (),
    road: Annotated[Sequence[str], "Road, or the path of a map; repeatable."] = ("straight",),
    planner: Annotated[Sequence[str], "Planner under test; repeatable. idm and lattice without it."] = (),
    policy: Annotated[Sequence[Path], "Policy instead of the shipped one; several are attackers of their own."] = (),
    prior: Annotated[Path | None, "How people drive, for c; bounds of comfort without."] = None,
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
    """Compare attackers at equal budget over planners, roads and seeds."""
    from giveway.core.errors import UnknownNameError
    from giveway.generate.bench import HEADLINE, finished_campaigns
    from giveway.generate.evaluation.methods import ARENA, ARENA_PLANNERS, SANITY, methods_called
    from giveway.generate.spec import CampaignSpec, planner_name
    from giveway.metrics import measure_campaign

    order = given(env_steps=env_steps, seeds=train_seeds, worlds=worlds)
    if sanity:
        _refuse(
            "with --sanity", method=method, trainings=trainings, metric=metric, against=against, arena=arena or None
        )
    if trainings is None:
        _refuse("without --trainings", env_steps=env_steps, train_seeds=train_seeds, worlds=worlds, set=settings)
    metric = metric or HEADLINE
    planners = list(dict.fromkeys(map(planner_name, planner or (ARENA_PLANNERS if arena else ("idm", "lattice")))))
    named = _named(policy)
    if metric not in (known := measure_campaign([])):
        raise UnknownNameError("measure", metric, known, where="--metric")
    chosen = list(SANITY if sanity else method or (ARENA if arena else ())) or None
    methods = _with_named(methods_called(chosen), named)
    trained = None if trainings is None else _order(trainings, order, settings)
    if trained is None and not sanity:
        methods = _without_trainings(call, methods, named=bool(method))
    first = _compared(against, methods)
    engine = call.engine(here=True)
    failures: list[dict[str, Any]] = []
    campaigns: list[StoredCampaign] = []
    for where in dict.fromkeys(road):
        trained_here = {} if trained is None else _trained(call, methods, planners, trained, where, bool(policy))
        spec = CampaignSpec(
            method=tuple(m.name for m in methods),
            planner=tuple(planners),
            road=where,
            policy=policy[0] if len(policy) == 1 else None,
            policies={**{name: (path,) for name, path in named.items()}, **trained_here},
            campaigns=seeds or (5 if sanity else 10),
            budget=budget,
            tracks=False,
            prior=prior,
        )
        failures += failed_cells(_driven(call, spec, out, engine).failures)
        campaigns += finished_campaigns(spec, out)
    return _bands(campaigns, failures) if sanity else _compared_methods(out, campaigns, first, metric, failures)


def _named(policies: Sequence[Path]) -> dict[str, Path]:
    """Several policies by name: that of the file or folder, with a prime where two are alike."""
    if len(policies) < 2:
        return {}
    names: dict[str, Path] = {}
    for path in policies:
        name = path.stem
        while name in names:
            name += "'"
        names[name] = path
    return names


def _with_named(methods: Sequence[Method], named: Mapping[str, Path]) -> list[Method]:
    """Each policy as a method in the place of ``policy``; at the end if that is not asked for."""
    from giveway.generate.evaluation.methods import NAMED, methods_called

    if not named:
        return list(methods)
    own = methods_called([f"{NAMED}{name}" for name in named])
    at = next((n for n, m in enumerate(methods) if m.name == "policy"), len(methods))
    return [*methods[:at], *own, *methods[at + 1 :]]


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

    others = ", ".join(m.name for m in methods if m.policy_name not in ("", FULL) and not m.trained)
    if others and named:
        raise UsageError(
            "the method needs a training of its own", where="--method", found=others, hint="add --trainings DIR"
        )
    if others:
        call.warn(f"left out without --trainings: {others}")
    return [m for m in methods if m.policy_name in ("", FULL) or m.trained]


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
    has_policy: bool,
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
        given=(*((FULL,) if has_policy else ()), *(m.trained for m in methods if m.trained)),
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
    out: Path, campaigns: Sequence[StoredCampaign], first: str, metric: str, failures: Sequence[dict[str, Any]]
) -> Done:
    """The arena's table, and its picture in the store; the comparison of the first method with all others by ranks."""
    from giveway.core.errors import MissingDependencyError
    from giveway.core.files import write_atomically
    from giveway.generate.arena import arena_figure, arena_table, standings
    from giveway.generate.bench import comparisons, measured

    values: dict[str, Any] = {}
    compared: dict[str, Any] = {}
    for road in dict.fromkeys(str(c.params["road"]) for c in campaigns):
        here = measured([c for c in campaigns if c.params["road"] == road], metric)
        named = {ego if road == campaigns[0].params["road"] else f"{ego} on {road}": runs for ego, runs in here.items()}
        values |= named
        compared |= comparisons(named, first)
    rows = standings(campaigns, first)
    text = [arena_table(rows, first).text()]
    heads = ("planner", "method", metric.replace("_", " "), "A", "interval", "effect", "p")
    ranks: list[tuple[Any, ...]] = []
    for ego, others in compared.items():
        for c in others:
            ranks.append((ego, c.second, c.mean_second, c.a, _ends(c.low, c.high), c.size, f"{c.p_adjusted:.4f}"))
    if ranks:
        note = f"A is the chance that a run of {first} is larger; p by Mann-Whitney, corrected by Holm"
        text += ["", listing("Runs", heads, ranks, notes=[note])]
    try:
        with write_atomically(out / PICTURE) as temporary:
            arena_figure(rows).savefig(temporary, format="png", dpi=130)
        text.append(f"picture: {out / PICTURE}")
    except MissingDependencyError:
        pass
    return Done(
        result={
            "metric": metric,
            "against": first,
            "values": values,
            "comparisons": compared,
            "bands": [],
            "arena": [asdict(row) for row in rows],
        },
        text=text,
        failures=failures,
    )


def _ends(low: float, high: float) -> str:
    return f"[{low:.2f}, {high:.2f}]"


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
