"""Closed-loop drives in one call: predictors, planner and cases in, scores and logs out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from giveway.core.errors import UsageError
from giveway.drive.experiment import DRIVE, in_this_process
from giveway.drive.spec import DriveSpec, PlannedDrives, planned, require_names
from giveway.experiments import Executor, Progress, Rerun, RunSummary, SerialExecutor, run
from giveway.experiments.specs import SpecLike, validated, values_of
from giveway.reports.results import Results
from giveway.sim.case_sets import CaseSet

__all__ = ["DriveSpec", "drive_all", "planned", "run_drive"]


def run_drive(
    spec: SpecLike | None = None,
    out: Path | str | None = None,
    *,
    predictors: Sequence[Any] | None = None,
    cases: Path | str | CaseSet | None = None,
    data: Path | str | None = None,
    planner: Any = None,
    engine: Executor | None = None,
    rerun: Rerun = "failed",
    progress: Progress | None = None,
    **settings: Any,
) -> Results:
    """Drive every case with every predictor, and score the drives next to those of the recorded drivers.

    Called again with the same folder, only cases without a result are driven, and tables show the predictors of all
    calls.

    Args:
        spec: a :class:`DriveSpec`, a mapping or a TOML file; single fields may be given below instead.
        out: result store with the logs, a folder or an ``s3://`` address; created if new.
        predictors: names (``"constant_velocity"``, ``"gru:FILE"``, ``"package.module:Class"``) or objects with ``info``
            and ``predict``.
        cases: case file or folder, or a case set such as ``Results.cases()`` gives; the bundled 48 cases by default.
        data: folder with the recordings that the cases were made from.
        planner: name or object that drives the ego; the speed lattice by default.
        engine: where cases are driven; by default in this process, in batches. Worker processes need names, not
            objects.
        rerun: ``failed`` drives cases without a result, ``missing`` leaves failed ones alone, ``all`` drives all again.
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
    drive_all(planned(validated(DriveSpec, _listed(values), where="run_drive")), out, engine, progress, rerun=rerun)
    return Results.open(out, kind="drive")


def drive_all(
    plan: PlannedDrives,
    out: Path | str,
    engine: Executor | None = None,
    progress: Progress | None = None,
    *,
    rerun: Rerun = "failed",
) -> RunSummary:
    """Drive what is missing; failed cases are tried again by default.

    Args:
        plan: what to drive.
        out: store.
        engine: None drives in this process.
        progress: where to report.
        rerun: see :func:`run_drive`.

    Raises:
        UsageError: objects for an engine with worker processes.
        StoreError: see :func:`giveway.experiments.run`.
    """
    chosen = engine or SerialExecutor()
    options: dict[str, Any] = {"rerun": rerun, "max_hours": plan.spec.max_hours, "progress": progress}
    if chosen.name == "serial":
        with in_this_process(plan):
            return run(DRIVE, plan.spec, out, engine=chosen, **options)
    require_names(plan)
    return run(DRIVE, plan.spec, out, engine=chosen, **options)


def _listed(values: Mapping[str, Any]) -> dict[str, Any]:
    """A single predictor stands for a list of one."""
    found = values.get("predictors")
    return {**values, "predictors": [found]} if isinstance(found, str) else dict(values)
