"""Training a planner in one call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from giveway.core.errors import ConfigError, EmptySelectionError, StoreError
from giveway.core.files import write_atomically, write_text
from giveway.core.urls import local_path
from giveway.drive.learning.experiment import (
    KIND,
    PLANNER_FILE,
    PLANNER_TRAINING,
    in_this_process,
    require_torch,
)
from giveway.drive.learning.section import best_round, rounds_of
from giveway.drive.learning.settings import PlannerTrainingSpec
from giveway.experiments import Progress, SerialExecutor, run
from giveway.experiments.specs import SpecLike, validated, values_of
from giveway.experiments.store import STORE_FILE
from giveway.reports.results import Results

CURVES = "curves.csv"


def train_planner(
    out: Path | str,
    spec: SpecLike | None = None,
    *,
    max_rounds: int | None = None,
    max_hours: float | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> Results:
    """Learn to drive the ego; killed at any moment, the same call goes on and ends with the same bytes.

    ``OUT/planner.safetensors`` is the best round on the validation recordings, and the planner
    ``ppo:OUT/planner.safetensors`` drives with it. ``OUT/curves.csv`` has the measures of all rounds.

    Args:
        out: training folder.
        spec: a :class:`PlannerTrainingSpec`, a mapping or a TOML file.
        max_rounds: stop after this many rounds now.
        max_hours: begin no further round after this time.
        progress: where to report.
        settings: fields of the specification, e.g. ``planner="ppo", cases="cases.json", data="recordings"``.

    Raises:
        ConfigError: a setting that does not exist, or the folder holds a training with other settings.
        MissingDependencyError: without PyTorch.
        EmptySelectionError: no cases to learn on, or stopped before the end of the first round.
        StoreError: a round failed.
    """
    require_torch()
    chosen = validated(PlannerTrainingSpec, {**values_of(spec), **settings}, where="train_planner")
    folder = local_path(out, where="out")
    with in_this_process(chosen):
        _require_same(chosen, folder)
        summary = run(
            PLANNER_TRAINING,
            chosen,
            folder,
            engine=SerialExecutor(),
            rerun="failed",
            limit=max_rounds,
            max_hours=max_hours,
            progress=progress,
        )
    if summary.failures:
        raise StoreError("a round of the training failed", where=folder, found=summary.failures[0].reason)
    results = Results.open(folder, kind=KIND)
    try:
        best = best_round(results)
    except EmptySelectionError as error:
        raise EmptySelectionError(
            "the training was stopped before the end of its first round", where=folder, hint="start it again to go on"
        ) from error
    content = (results.store.attachments(best["key"]) / PLANNER_FILE).read_bytes()
    with write_atomically(folder / PLANNER_FILE) as temporary:
        temporary.write_bytes(content)
    write_text(folder / CURVES, rounds_of(results).drop("key").write_csv())
    return results


def _require_same(spec: PlannerTrainingSpec, folder: Path) -> None:
    """Refuse a folder with a training that has other settings."""
    if not (folder / STORE_FILE).is_file():
        return
    results = Results.open(folder)
    if KIND not in {kind for plan in results.store.plans() for kind in plan.kinds}:
        return
    there = {key for plan in results.store.plans() for key in plan.keys}
    inputs = PLANNER_TRAINING.resolve(spec, {}, results.store.artifacts)
    if there and PLANNER_TRAINING.cells(spec, inputs)[0].key not in there:
        raise ConfigError(
            "the folder holds a training with other settings",
            where=folder,
            hint="use the same settings, cases and recordings to go on, or another --out",
        )
