"""Closed-loop drives as an experiment: a cell is one case driven with one predictor, planner and seed.

The cells of one (predictor, planner, seed) are a group, so that one call of the simulator drives a whole batch. Cells
with predictor ``recorded`` are the same cases as the recorded drivers drove them. The files of a log are attachments of
its cell, so ``read_log(store.attachments(key))`` reads it.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from giveway.core.case import Case, case_dict
from giveway.core.errors import UsageError
from giveway.core.log import DriveLog
from giveway.drive.case_sets import CaseScenes
from giveway.drive.driving import FailedDrive, drive_cases, humans, run_meta
from giveway.drive.origins import reference_origins
from giveway.drive.scenes import SceneSource
from giveway.drive.spec import (
    MAX_THREADS,
    DriveSpec,
    NamedPredictor,
    PlannedDrives,
    label_of,
    planned,
    planner_of,
    predictor_of,
)
from giveway.experiments import (
    Artifacts,
    Cell,
    CellFailure,
    CellResult,
    Context,
    Inputs,
    Measurement,
    content_key,
)
from giveway.metrics import measure_log, metrics_of
from giveway.metrics.challenge_logs import terms_of
from giveway.planning.protocol import Planner
from giveway.sim.case_files import case_from
from giveway.sim.log_files import log_files

DRIVE_VERSION = 3
"""Counts up when a case is driven in another way."""
RECORDED = "recorded"
"""Predictor of the cells that hold the drives of the recorded drivers."""

_here: ContextVar[PlannedDrives | None] = ContextVar("drives of this process", default=None)


@contextmanager
def in_this_process(plan: PlannedDrives) -> Generator[None]:
    """Within it, a run takes predictors, planner and recordings of this plan as they are, instead of making them."""
    token = _here.set(plan)
    try:
        yield
    finally:
        _here.reset(token)


class DriveExperiment:
    """See the module."""

    name = "drive"
    Spec = DriveSpec

    def resolve(self, spec: DriveSpec, roots: Mapping[str, Path | str], artifacts: Artifacts) -> Inputs:
        """Make predictors and planner, read the cases; recordings are compared with their hashes when they are read."""
        plan = _here.get() or planned(spec, roots)
        tracks = {case.recording: case.tracks_sha256 for case in plan.cases}
        return Inputs(
            fingerprints={"cases": content_key([case.fingerprint for case in plan.cases]), **tracks},
            machine={
                "predictors": {p.label: [p.text, _absolute(p.checkpoint)] for p in plan.predictors if p.text},
                "planner": plan.spec.planner if isinstance(plan.spec.planner, str) else "",
                "roots": {name: str(root.resolve()) for name, root in plan.roots.items()},
                "threads": min(spec.threads, MAX_THREADS),
            },
            found=plan,
        )

    def cells(self, spec: DriveSpec, inputs: Inputs) -> Sequence[Cell]:
        """Every case with every predictor, then as recorded."""
        plan: PlannedDrives = inputs.found
        driven = [cell_of(case, plan, predictor) for predictor in plan.predictors for case in plan.cases]
        return [*driven, *(recorded_cell(case) for case in plan.cases)]

    def evaluate(self, batch: Sequence[Cell], context: Context) -> Iterator[tuple[Cell, CellResult | CellFailure]]:
        """Drive a batch of one group in one call of the simulator."""
        first, machine = batch[0], context.machine
        is_recorded = first.params["predictor"] == RECORDED
        cases = [case_from(cell.settings["case"], cell.label()) for cell in batch]
        predictor, planner = (None, None) if is_recorded else _driver(first, machine)
        drives = drive_cases(
            cases,
            _scenes(machine),
            predictor=None if predictor is None else predictor.model,
            planner=planner,
            seed=int(first.params["seed"]),
            threads=int(machine["threads"]),
            batch=len(batch),
            everyone_replays=is_recorded,
        )
        for cell, drive in zip(batch, drives, strict=True):
            if isinstance(drive, FailedDrive):
                error, _, message = drive.reason.partition(": ")
                yield cell, CellFailure(error=error, message=message)
            elif predictor is None or planner is None:
                meta = {**drive.log.meta, "predictor": RECORDED, "planner": ""}
                yield cell, result_of(cell, replace(humans(drive.log), meta=meta), {"title": RECORDED})
            else:
                facts = {"title": predictor.model.info.title, "planner": dict(planner.info.parameters)}
                yield cell, result_of(cell, drive.log, facts)


def cell_of(case: Case, plan: PlannedDrives, predictor: NamedPredictor) -> Cell:
    """The name of one drive: everything that may change its log."""
    meta = run_meta(predictor.model, plan.planner, plan.spec.seed)
    params = {
        "case": case.id,
        "site": case.site,
        "predictor": predictor.model.info.name,
        "variant": predictor.variant,
        "planner": meta["planner"],
        "planner_parameters": parameters_key(meta["planner_parameters"]),
        "seed": plan.spec.seed,
    }
    return Cell(
        kind="drive",
        params=params,
        settings={"case": case_dict(case), "keep_predictions": plan.spec.keep_predictions},
        data=case.tracks_sha256,
        versions={**_versions(), "planner": str(meta["planner_version"])},
        group="" if plan.one_by_one else " ".join(str(v) for n, v in params.items() if n not in ("case", "site")),
    )


def recorded_cell(case: Case) -> Cell:
    """The same case as the recorded drivers drove it."""
    blank = {"variant": "", "planner": "", "planner_parameters": "", "seed": 0}
    return Cell(
        kind="drive",
        params={"case": case.id, "site": case.site, "predictor": RECORDED, **blank},
        settings={"case": case_dict(case)},
        data=case.tracks_sha256,
        versions=_versions(),
        group=RECORDED,
    )


def parameters_key(parameters: Mapping[str, Any]) -> str:
    """The parameters of a planner as short text."""
    return content_key(parameters)[:12]


def result_of(cell: Cell, log: DriveLog, facts: Mapping[str, Any]) -> CellResult:
    """Every registered metric of a drive, the terms of the challenge in all variants, and the log itself."""
    values = measure_log(log).values()
    told = replace(log, meta={**log.meta, "variant": cell.params["variant"]})
    kept = told if cell.settings.get("keep_predictions", True) else replace(told, predictions=None)
    return CellResult(
        measurements=tuple(Measurement.of(value) for value in values),
        attachments=log_files(kept),
        info={
            **facts,
            "digest": log.digest,
            "origins": reference_origins([log]),
            "challenge": {name: asdict(terms) for name, terms in terms_of(log).items()},
            "items": {value.metric: value.items for value in values if value.labels},
        },
    )


def require_names(plan: PlannedDrives) -> None:
    """Refuse objects of this process for an engine with worker processes.

    Raises:
        UsageError: naming the first one.
    """
    objects = [("predictor", p.model) for p in plan.predictors if not p.text]
    objects += [] if isinstance(plan.spec.planner, str) else [("planner", plan.planner)]
    for what, found in objects:
        raise UsageError(
            f"workers of an engine cannot be given a {what} as an object",
            where=what,
            found=type(found).__name__,
            hint=f"put it into a module and give its import path, {what}='package.module:Class', "
            "or leave the engine out",
        )


def _versions() -> dict[str, int | str]:
    return {"drive": DRIVE_VERSION, **{metric.info.name: metric.info.version for metric in metrics_of("drive")}}


def _driver(cell: Cell, machine: Mapping[str, Any]) -> tuple[NamedPredictor, Planner]:
    """Predictor and planner of a cell: those of this process, or made from their names."""
    label = label_of(cell.params["predictor"], cell.params["variant"])
    plan = _here.get()
    if plan is not None:
        return next(p for p in plan.predictors if p.label == label), plan.planner
    text, checkpoint = machine["predictors"][label]
    return _made(text, checkpoint), _planner(machine["planner"])


def _scenes(machine: Mapping[str, Any]) -> SceneSource:
    plan = _here.get()
    return _source(tuple(sorted(machine["roots"].items()))) if plan is None else plan.source


@lru_cache(maxsize=4)
def _made(text: str, checkpoint: str | None) -> NamedPredictor:
    return predictor_of(text, None if checkpoint is None else Path(checkpoint))


@lru_cache(maxsize=4)
def _planner(text: str) -> Planner:
    return planner_of(text)


@lru_cache(maxsize=2)
def _source(roots: tuple[tuple[str, str], ...]) -> SceneSource:
    return CaseScenes({name: Path(root) for name, root in roots})


def _absolute(path: Path | None) -> str | None:
    return None if path is None else str(path.resolve())


DRIVE = DriveExperiment()
