"""Traffic that learns against a planner, in one call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

import polars as pl

from giveway.core.errors import ConfigError, EmptySelectionError, MissingDependencyError, StoreError
from giveway.core.files import write_atomically, write_text
from giveway.core.urls import local_path
from giveway.experiments import Cell, Executor, Inputs, Progress, SerialExecutor, Store, read_index, run
from giveway.experiments.specs import validated
from giveway.experiments.store import STORE_FILE
from giveway.generate.egos import resolve_ego
from giveway.generate.invariant import SCENES, ObjectiveCheck, check_objective
from giveway.generate.learning.curves import curves_figure
from giveway.generate.learning.policy import Policy, load_policy
from giveway.generate.learning.rounds import KIND, RoundReport, StoredRound, best_round, stored_rounds
from giveway.generate.policies import check_world
from giveway.generate.several import each_ego
from giveway.generate.spec import TrainingSpec
from giveway.generate.training import OF_A_ROUND, TRAINING, require_torch, world_of
from giveway.generate.world_files import files_digest
from giveway.reports.results import Results

CURVES, ROUNDS = "curves.png", "rounds.csv"
SCENES_OUTSIDE = 16
"""Scenes of the check of the reward against planners that are asked one by one, in a process of their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingResult:
    """Attributes:
    policy: the best one by evaluation.
    rounds: all rounds.
    best: round of that policy.
    resumed_at: environment steps that had been done before; 0 for a new training.
    stopped: whether it was asked to end before its last round.
    missing: rounds that it lacks, because it was stopped or limited.
    objective: what the reward pays, against the last of several planners, checked before the first round; None for a
        training that goes on or was forced, and for other rewards.
    """

    policy: Policy
    rounds: tuple[StoredRound, ...]
    best: StoredRound
    resumed_at: int
    stopped: bool
    missing: int
    objective: ObjectiveCheck | None


def train_traffic(
    out: Path | str,
    *,
    planner: str | Sequence[str] = "lattice",
    algorithm: Literal["maddpg", "maddpg_discrete", "matd3", "mappo"] = "maddpg",
    road: str = "straight",
    cars: int = 3,
    env_steps: int = 500_000,
    max_rounds: int | None = None,
    max_hours: float | None = None,
    force: bool = False,
    **settings: Any,
) -> Results:
    """Train cars that make a planner fail; killed at any moment, the same call goes on.

    Args:
        out: training folder, which ``policy=`` of :func:`giveway.find_failures` takes.
        planner: planner that the cars learn against, or several at once.
        algorithm: how they learn.
        road: ``straight``, ``merge``, ``roundabout``, ``four_way`` or the path of a lanelet2 map.
        cars: learning cars, 1 to 4.
        env_steps: environment steps to reach.
        max_rounds: stop after this many rounds now.
        max_hours: begin no further round after this time.
        force: train although the reward does not rank success above doing nothing.
        settings: other fields of :class:`~giveway.generate.spec.TrainingSpec`, e.g.
            ``worlds=16, learning={"gamma": 0.95}``.

    Raises:
        ConfigError: a setting that does not exist, or the folder holds a training with other settings.
        MissingDependencyError: without PyTorch.
    """
    given = {"planner": planner, "algorithm": algorithm, "road": road, "cars": cars, "env_steps": env_steps}
    spec = validated(TrainingSpec, {**given, **settings}, where="train_traffic")
    train(spec, local_path(out, where="out"), max_rounds=max_rounds, max_hours=max_hours, force=force)
    return Results.open(out, kind=KIND)


def train(
    spec: TrainingSpec,
    out: Path,
    *,
    engine: Executor | None = None,
    max_rounds: int | None = None,
    max_hours: float | None = None,
    progress: Progress | None = None,
    force: bool = False,
) -> TrainingResult:
    """Learn the rounds that a folder lacks, in this process unless an engine is given.

    Before the first round the reward is checked on the worlds at hand, see :mod:`giveway.generate.invariant`.

    Raises:
        ConfigError: the folder holds a training with other settings.
        UsageError: the reward does not rank success above doing nothing, and ``force`` is not given.
        StoreError: the folder is something else, another process trains here, or a round failed.
        EmptySelectionError: it was stopped before the end of its first round.
    """
    require_torch()
    _require_same(spec, out)
    objective = None
    if spec.reward == "graded" and not force and not (out / STORE_FILE).is_file():
        world = world_of(spec)
        for one in each_ego(world):
            scenes = SCENES_OUTSIDE if resolve_ego(one.ego).is_outside else SCENES
            objective = check_objective(one, scenes=scenes, seed=spec.seed)
            objective.require()
    summary = run(
        TRAINING,
        spec,
        out,
        engine=engine or SerialExecutor(),
        rerun="failed",
        limit=max_rounds,
        max_hours=max_hours,
        progress=progress,
    )
    if summary.failures:
        failed = summary.failures[0]
        raise StoreError(
            "a round of the training failed",
            where=out,
            found=failed.reason,
            hint="mend it and start the same command again: finished rounds are kept",
        )
    rounds = stored_rounds(Store(out))
    if not rounds:
        raise EmptySelectionError(
            "the training was stopped before the end of its first round",
            where=out,
            hint="start the same command again to go on",
        )
    _write_curves(out, rounds)
    write_text(out / ROUNDS, pl.DataFrame([_row(one.report) for one in rounds], infer_schema_length=None).write_csv())
    before = rounds[: len(rounds) - summary.done]
    return TrainingResult(
        policy=load_policy(out),
        rounds=rounds,
        best=best_round(rounds),
        resumed_at=before[-1].report.steps if before else 0,
        stopped=summary.stopped and summary.missing > 0,
        missing=summary.missing,
        objective=objective,
    )


def _require_same(spec: TrainingSpec, out: Path) -> None:
    """Refuse what cannot be learned, a folder of release 0.1, and one with a training that has other settings."""
    world = world_of(spec)
    check_world(world)
    if (out / "training.json").is_file():
        raise StoreError(
            "this training was written by release 0.1 and cannot go on",
            where=out,
            hint="train into a new folder; its policy can be used as before, with --policy",
        )
    if not (out / STORE_FILE).is_file():
        return
    store = Store(out)
    keys = read_index(store).frame.filter(kind=KIND)["key"]
    if keys.is_empty():
        return
    asked = TRAINING.cells(spec, Inputs(found=files_digest(world)))[0]
    there = Cell.from_json(store.read_record(keys[0])["cell"])
    old, new = dict(_leaves(_facts(there))), dict(_leaves(_facts(asked)))
    odd = [f"{n} = {old.get(n)} (asked for {new.get(n)})" for n in sorted({*old, *new}) if old.get(n) != new.get(n)]
    if odd:
        raise ConfigError(
            "the folder holds a training with other settings",
            where=out,
            found="; ".join(odd),
            hint="use the same settings to go on, or another --out",
        )


def _facts(cell: Cell) -> dict[str, Any]:
    """What all rounds of a training have in common."""
    params = {name: value for name, value in cell.params.items() if name not in OF_A_ROUND}
    return {**params, **cell.settings, "data": cell.data, **cell.versions}


def _leaves(settings: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    """Names such as ``world.weights.escape`` and their values."""
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from _leaves(cast("Mapping[str, Any]", value), f"{path}{name}.")
        else:
            yield f"{path}{name}", value


def _row(report: RoundReport) -> dict[str, float]:
    """A line of the table of rounds."""
    counts = {"round": report.round, "env_steps": report.steps, "updates": report.updates, "episodes": report.episodes}
    return {**counts, **report.measures}


def _write_curves(out: Path, rounds: tuple[StoredRound, ...]) -> None:
    """Learning curves as a picture beside the store, where matplotlib is installed."""
    try:
        figure = curves_figure([one.report for one in rounds])
    except MissingDependencyError:
        return
    with write_atomically(out / CURVES) as temporary:
        figure.savefig(temporary, format="png", dpi=110)
