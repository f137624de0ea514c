"""Closed-loop drives in one call: predictors, planner and cases in, scores and logs out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from giveway.core.errors import UsageError
from giveway.drive.case_sets import open_cases
from giveway.drive.engine import DriveOrder, drive_on
from giveway.drive.runs import DriveRun, run_predictor, score_drives, write_summary
from giveway.drive.scenes import RecordedScenes, SceneSource
from giveway.experiments import Executor, Progress
from giveway.experiments.specs import SpecLike, validated, values_of
from giveway.metrics.driving_challenge import rules_called
from giveway.planning import make_planner
from giveway.planning.protocol import Planner
from giveway.predictors import make_predictor, named_file, predictor_named
from giveway.predictors.protocol import FittedPredictor
from giveway.reports.results import Results
from giveway.sim.case_sets import CaseSet
from giveway.sim.cases import Case

MAX_THREADS = 64
"""Largest number of threads of the simulator."""


class DriveSpec(BaseModel):
    """What to drive.

    Attributes:
        predictors: registered names, ``NAME:FILE`` for trained ones, import paths, or objects with ``info`` and
            ``predict``.
        planner: registered name, import path, or an object with ``info`` and ``plan``.
        cases: case file or folder, or a :class:`giveway.sim.case_sets.CaseSet`; the bundled set if None.
        data: folder with the recordings of the cases.
        metric: variant of the challenge metric: ``default``, ``as_coded`` or ``as_documented``.
        max_cases: drive at most this many cases, in file order.
        seed: root of all random streams.
        checkpoint: file for trained predictors that are named without one.
        keep_predictions: whether logs keep predictions, which replays show as fans.
        threads: of the simulator; never changes a result.
        max_hours: start no further case after this time; needs an engine.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    predictors: tuple[Any, ...] = Field(min_length=1)
    planner: Any = "lattice"
    cases: Path | CaseSet | None = None
    data: Path | None = None
    metric: str = "default"
    max_cases: int | None = Field(default=None, ge=1)
    seed: int = 0
    checkpoint: Path | None = None
    keep_predictions: bool = True
    threads: int = Field(default=1, ge=1)
    max_hours: float | None = Field(default=None, ge=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedDrives:
    """What a specification amounts to.

    Attributes:
        spec: validated.
        predictors: name or object that was given, checkpoint and the predictor.
        planner: drives the ego.
        cases: in order.
        source: their recordings.
        cases_file: where workers read the cases; None for the bundled set.
        data: where workers find the recordings.
    """

    spec: DriveSpec
    predictors: tuple[tuple[Any, Path | None, FittedPredictor], ...]
    planner: Planner
    cases: Sequence[Case]
    source: SceneSource
    cases_file: Path | None
    data: Path | None


def run_drive(
    spec: SpecLike | None = None,
    out: Path | str | None = None,
    *,
    predictors: Sequence[Any] | None = None,
    cases: Path | str | CaseSet | None = None,
    data: Path | str | None = None,
    planner: Any = None,
    engine: Executor | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> Results:
    """Drive every case with every predictor, and score the drives next to those of the recorded drivers.

    Called again with the same folder, only cases without a log are driven. The leaderboard is that of the predictors of
    the last call; logs and cells of earlier ones stay.

    Args:
        spec: a :class:`DriveSpec`, a mapping or a TOML file; single fields may be given below instead.
        out: folder for logs and results; created if new.
        predictors: names (``"constant_velocity"``, ``"gru:FILE"``, ``"package.module:Class"``) or objects with ``info``
            and ``predict``.
        cases: case file or folder, or a case set such as ``Results.cases()`` gives; the bundled 48 cases by default.
        data: folder with the recordings that the cases were made from.
        planner: name or object that drives the ego; the speed lattice by default.
        engine: where cases are driven; by default in this process, in batches. Engines need names, not objects.
        progress: where to report; nowhere by default.
        settings: other fields of :class:`DriveSpec`, e.g. ``max_cases=12, seed=1``.

    Raises:
        ConfigError: a field that does not exist or a value that is not allowed.
        UnknownNameError: a predictor or planner that is not registered.
        UsageError: no folder, or objects where an engine needs names.
    """
    if out is None:
        raise UsageError("a run needs a folder for its results", where="out", hint="run_drive(out='drives', ...)")
    given = {"predictors": predictors, "cases": cases, "data": data, "planner": planner}
    values = {**values_of(spec), **{n: v for n, v in given.items() if v is not None}, **settings}
    drive_all(planned(validated(DriveSpec, _listed(values), where="run_drive")), Path(out), engine, progress)
    return Results.open(out, kind="drive")


def planned(spec: DriveSpec) -> PlannedDrives:
    """Make predictors and planner and read the cases; nothing is driven.

    Raises:
        UnknownNameError, UsageError: for a predictor or planner that cannot be made.
        FileFormatError: cases that cannot be read.
    """
    rules_called(spec.metric)
    planner = make_planner(spec.planner) if isinstance(spec.planner, str) else spec.planner
    if not isinstance(planner, Planner):
        raise UsageError(
            "this is not a planner",
            where="planner",
            found=type(planner).__name__,
            hint="give a name, or an object with an attribute 'info' and a method 'plan'; see docs/drive/planner.md",
        )
    made = tuple((given, *_made(given, spec.checkpoint)) for given in spec.predictors)
    if isinstance(spec.cases, CaseSet):
        data = spec.data or spec.cases.recordings
        bundled = all(case.dataset == "bundled" for case in spec.cases)
        source = open_cases(None, None)[1] if bundled else RecordedScenes(data)
        chosen, file = spec.cases.cases[: spec.max_cases], spec.cases.file
    else:
        chosen, source = open_cases(spec.cases, spec.data, spec.max_cases)
        data, file = spec.data, spec.cases
    if not chosen:
        raise UsageError("there are no cases to drive", where="cases", found=repr(spec.cases))
    return PlannedDrives(
        spec=spec, predictors=made, planner=planner, cases=chosen, source=source, cases_file=file, data=data
    )


def drive_all(
    plan: PlannedDrives, out: Path, engine: Executor | None = None, progress: Progress | None = None
) -> tuple[list[DriveRun], dict[str, Any]]:
    """Drive what is missing and write the summary.

    Args:
        plan: what to drive.
        out: folder of the store.
        engine: None drives in this process, all cases of a predictor in batches.
        progress: where to report.

    Returns:
        The runs, one per predictor, and the summary as it was written to ``drive.json``.

    Raises:
        UsageError: the run was stopped before all cases were driven, or an engine was given objects.
    """
    if engine is None and plan.spec.max_hours is not None:
        raise UsageError(
            "a time limit for the whole run needs an engine", where="max_hours", hint="engine=LocalEngine()"
        )
    one = _drive_here if engine is None else _drive_on(engine)
    runs = [one(plan, given, checkpoint, model, out, progress) for given, checkpoint, model in plan.predictors]
    return runs, write_summary(out, runs, plan.planner)


def _drive_here(
    plan: PlannedDrives,
    given: Any,
    checkpoint: Path | None,
    model: FittedPredictor,
    out: Path,
    progress: Progress | None,
) -> DriveRun:
    return run_predictor(
        plan.cases,
        plan.source,
        predictor=model,
        planner=plan.planner,
        out=out,
        rules=rules_called(plan.spec.metric),
        seed=plan.spec.seed,
        threads=min(plan.spec.threads, MAX_THREADS),
        variant=getattr(model, "fingerprint", ""),
        keep_predictions=plan.spec.keep_predictions,
        progress=progress,
    )


def _drive_on(engine: Executor) -> Any:
    """The same on the workers of an engine, one cell per case."""

    def drive(
        plan: PlannedDrives,
        given: Any,
        checkpoint: Path | None,
        model: FittedPredictor,
        out: Path,
        progress: Progress | None,
    ) -> DriveRun:
        spec, variant = plan.spec, getattr(model, "fingerprint", "")
        order = DriveOrder(
            predictor=_name_for_workers(given, "predictor"),
            checkpoint=_absolute(checkpoint),
            planner=_name_for_workers(spec.planner, "planner"),
            cases=_absolute(plan.cases_file),
            data=_absolute(plan.data),
            out=str(out.resolve()),
            keep_predictions=spec.keep_predictions,
        )
        summary = drive_on(
            engine, order, plan.cases, seed=spec.seed, variant=variant, max_hours=spec.max_hours, progress=progress
        )
        if summary.missing:
            raise UsageError(
                "the run was stopped before all cases were driven",
                where=out,
                found=f"{summary.missing} of {len(plan.cases)} cases are missing",
                hint="start the same command again to go on",
            )
        return score_drives(
            plan.cases,
            plan.source,
            predictor=model,
            planner=plan.planner,
            out=out,
            failed={str(failure.cell.params["case"]): failure.reason for failure in summary.failures},
            driven=summary.done,
            rules=rules_called(spec.metric),
            seed=spec.seed,
            variant=variant,
        )

    return drive


def _made(given: Any, checkpoint: Path | None) -> tuple[Path | None, FittedPredictor]:
    """The checkpoint a predictor is made with, and the predictor."""
    if not isinstance(given, str):
        return None, make_predictor(given)
    name, file = named_file(given)
    learns = file is None and checkpoint is not None and predictor_named(name).info.learns
    return checkpoint if learns else None, make_predictor(given, checkpoint)


def _name_for_workers(given: Any, what: str) -> str:
    if isinstance(given, str):
        return given
    raise UsageError(
        f"workers of an engine cannot be given a {what} as an object",
        where=what,
        found=type(given).__name__,
        hint=f"put it into a module and give its import path, {what}='package.module:Class', or leave the engine out",
    )


def _absolute(path: Path | None) -> str | None:
    return None if path is None else str(path.resolve())


def _listed(values: Mapping[str, Any]) -> dict[str, Any]:
    """A single predictor stands for a list of one."""
    found = values.get("predictors")
    return {**values, "predictors": [found]} if isinstance(found, str) else dict(values)
