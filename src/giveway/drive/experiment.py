"""Closed-loop drives as an experiment: a cell is one case driven with one predictor, planner and seed.

The cells of one (predictor, planner, seed) are a group, so that one call of the simulator drives a whole batch. Cells
with predictor ``recorded`` are the same cases as the recorded drivers drove them. The files of a log are attachments of
its cell, so ``read_log(store.attachments(key))`` reads it.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, fields, is_dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from giveway.core.case import Case, case_dict
from giveway.core.errors import DataError
from giveway.core.log import DriveLog
from giveway.core.seals import sha256_of_bytes
from giveway.drive.case_sets import CaseScenes
from giveway.drive.driving import FailedDrive, drive_cases, humans
from giveway.drive.origins import reference_origins
from giveway.drive.scenes import SceneSource, data_of
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
from giveway.roads.json_maps import map_bytes
from giveway.sim.case_files import case_from
from giveway.sim.log_files import MAP, log_files

DRIVE_VERSION = 3
"""Counts up when a case is driven in another way."""
DRIVER_VERSIONS = ("planner", "predictor")
"""Entries of the versions of a cell beside those of drive and metrics."""
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
        """Make predictors and planner, read the cases, digest their recordings and maps."""
        plan = _here.get() or planned(spec, roots)
        data = {f"{case.dataset}/{case.recording}": data_of(case, plan.source) for case in plan.cases}
        return Inputs(
            fingerprints={"cases": content_key([case.fingerprint for case in plan.cases]), **data},
            machine={
                "predictors": {p.label: [p.text, _absolute(p.checkpoint)] for p in plan.predictors if p.text},
                "planner": plan.spec.planner if isinstance(plan.spec.planner, str) else "",
                "roots": {name: str(root.resolve()) for name, root in plan.roots.items()},
                "threads": min(spec.threads, MAX_THREADS),
                "deadline_s": spec.deadline_s,
                "warm_up_s": spec.warm_up_s,
            },
            found=plan,
        )

    def cells(self, spec: DriveSpec, inputs: Inputs) -> Sequence[Cell]:
        """Every case with every predictor, then as recorded."""
        plan: PlannedDrives = inputs.found
        data = [inputs.fingerprints[f"{case.dataset}/{case.recording}"] for case in plan.cases]
        driven = [cell for predictor in plan.predictors for cell in driven_cells(plan, predictor, data)]
        return [*driven, *(recorded_cell(case, one) for case, one in zip(plan.cases, data, strict=True))]

    def evaluate(self, batch: Sequence[Cell], context: Context) -> Iterator[tuple[Cell, CellResult | CellFailure]]:
        """Drive a batch of one group in one call of the simulator."""
        first, machine = batch[0], context.machine
        is_recorded = first.params["predictor"] == RECORDED
        cases = [case_from(cell.settings["case"], cell.label()) for cell in batch]
        source = _scenes(machine)
        _require_same(first, cases, source, [cell.data for cell in batch])
        predictor, planner = (None, None) if is_recorded else _driver(first, machine)
        maps: dict[tuple[str, str], bytes | None] = {}
        drives = drive_cases(
            cases,
            source,
            predictor=None if predictor is None else predictor.model,
            planner=planner,
            seed=int(first.params["seed"]),
            threads=int(machine["threads"]),
            batch=len(batch),
            everyone_replays=is_recorded,
            traffic=first.settings.get("traffic", "paper"),
            deadline_s=machine["deadline_s"],
            warm_up_s=machine["warm_up_s"],
        )
        for cell, case, drive in zip(batch, cases, drives, strict=True):
            if isinstance(drive, FailedDrive):
                error, _, message = drive.reason.partition(": ")
                yield cell, CellFailure(error=error, message=message)
            elif predictor is None or planner is None:
                told = replace(humans(drive.log), meta={**drive.log.meta, "predictor": RECORDED, "planner": ""})
                yield cell, result_of(cell, told, {"title": RECORDED}, _map_of(case, source, maps))
            else:
                facts = {"title": predictor.model.info.title, "planner": dict(planner.info.parameters)}
                yield cell, result_of(cell, drive.log, facts, _map_of(case, source, maps))


def driven_cells(plan: PlannedDrives, predictor: NamedPredictor, data: Sequence[str]) -> list[Cell]:
    """The names of the drives of one predictor: everything that may change their logs.

    Args:
        plan: cases, planner and seed.
        predictor: one of the plan.
        data: per case, see :func:`~giveway.drive.scenes.data_of`.
    """
    asked = {**_predictor_params(predictor), **_planner_params(plan.planner), "seed": plan.spec.seed}
    if plan.spec.driver:  # its drives are a row of their own
        asked["driver"] = plan.spec.driver
    settings = {
        "keep_predictions": plan.spec.keep_predictions,
        "predictor": _parameters_of(predictor.model),
        "traffic": plan.spec.traffic,
    }
    versions = {**_versions(), **_driver_versions(predictor, plan.planner)}
    group = "" if plan.one_by_one else " ".join(str(value) for value in asked.values())
    return [
        Cell(
            kind="drive",
            params={"case": case.id, "site": case.site, **asked},
            settings={"case": case_dict(case), **settings},
            data=one,
            versions=versions,
            group=group,
        )
        for case, one in zip(plan.cases, data, strict=True)
    ]


def recorded_cell(case: Case, data: str) -> Cell:
    """The same case as the recorded drivers drove it."""
    blank = {"variant": "", "planner": "", "planner_parameters": "", "seed": 0}
    return Cell(
        kind="drive",
        params={"case": case.id, "site": case.site, "predictor": RECORDED, **blank},
        settings={"case": case_dict(case)},
        data=data,
        versions=_versions(),
        group=RECORDED,
    )


def parameters_key(parameters: Mapping[str, Any]) -> str:
    """The parameters of a planner as short text."""
    return content_key(parameters)[:12]


def result_of(cell: Cell, log: DriveLog, facts: Mapping[str, Any], road: bytes | None = None) -> CellResult:
    """Every registered metric of a drive, the terms of the challenge in all variants, the log itself and its map."""
    values = measure_log(log).values()
    named = {} if road is None else {MAP: sha256_of_bytes(road)}
    told = replace(log, meta={**log.meta, "variant": cell.params["variant"], **named})
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
        shared=() if road is None else (road,),
    )


def _map_of(case: Case, source: SceneSource, known: dict[tuple[str, str], bytes | None]) -> bytes | None:
    """File of the lane map of a case, made once per site; None without a map."""
    site = (case.dataset, case.site)
    if site not in known:
        road = source.scene_of(case).road
        known[site] = None if road is None else map_bytes(road)
    return known[site]


def _versions() -> dict[str, int | str]:
    return {"drive": DRIVE_VERSION, **{metric.info.name: metric.info.version for metric in metrics_of("drive")}}


def _driver(cell: Cell, machine: Mapping[str, Any]) -> tuple[NamedPredictor, Planner]:
    """Predictor and planner of a cell: those of this process, or made from their names."""
    label = label_of(cell.params["predictor"], cell.params["variant"])
    plan = _here.get()
    if plan is not None:
        return next(p for p in plan.predictors if p.label == label), plan.planner
    text, checkpoint = machine["predictors"][label]
    predictor, planner = _made(text, checkpoint), _planner(machine["planner"])
    params = {**_predictor_params(predictor), **_planner_params(planner)}
    _require_equal({name: cell.params[name] for name in params}, params, "predictors or planners", cell.label())
    found = {**_driver_versions(predictor, planner), "parameters": _parameters_of(predictor.model)}
    named = {**{name: cell.versions[name] for name in DRIVER_VERSIONS}, "parameters": cell.settings["predictor"]}
    _require_equal(named, found, "versions of predictors or planners", cell.label())
    return predictor, planner


def _require_same(cell: Cell, cases: Sequence[Case], source: SceneSource, data: Sequence[str]) -> None:
    """Refuse to drive with other metrics or other recordings than the cells name."""
    named = {name: version for name, version in cell.versions.items() if name not in DRIVER_VERSIONS}
    _require_equal(named, _versions(), "metrics", cell.label())
    found = {case.id: data_of(case, source) for case in cases}
    named = {case.id: one for case, one in zip(cases, data, strict=True)}
    _require_equal(named, found, "recordings and maps", cell.label())


def _require_equal(named: Mapping[str, Any], found: Mapping[str, Any], what: str, where: str) -> None:
    """Refuse a worker that has something else than a cell names.

    Raises:
        DataError: with what differs.
    """
    if named != found:
        names = sorted(n for n in {*named, *found} if named.get(n) != found.get(n))
        told = "; ".join(f"{n}: {named.get(n, 'none')}, here {found.get(n, 'none')}" for n in names[:3])
        raise DataError(
            f"this worker has other {what} than the run was planned with",
            where=where,
            found=told,
            hint="give all workers the same files, plug-ins and versions, and none that change during a run",
        )


def _predictor_params(predictor: NamedPredictor) -> dict[str, str]:
    return {"predictor": predictor.model.info.name, "variant": predictor.variant}


def _planner_params(planner: Planner) -> dict[str, str]:
    return {"planner": planner.info.name, "planner_parameters": parameters_key(dict(planner.info.parameters))}


def _driver_versions(predictor: NamedPredictor, planner: Planner) -> dict[str, str]:
    return dict(zip(DRIVER_VERSIONS, (str(planner.info.version), str(predictor.model.info.version)), strict=True))


def _parameters_of(model: Any) -> str:
    """Short text for the parameters of a predictor that is a dataclass; empty for others, and if they are objects."""
    if not is_dataclass(model):
        return ""
    try:
        return parameters_key({f.name: getattr(model, f.name) for f in fields(model) if f.name != "info"})
    except TypeError:
        return ""


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
