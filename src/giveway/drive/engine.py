"""Driving cases on the workers of an engine; every case is a cell.

Logs are written by the worker into the folder of the store, which workers must therefore share. Records and logs are
those that driving in one process writes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from giveway.core.errors import ClusterError, PredictionError
from giveway.drive.case_sets import open_cases
from giveway.drive.driving import FailedDrive, drive_cases
from giveway.drive.runs import cell_of, is_done, keep_log, result_of
from giveway.drive.scenes import SceneSource
from giveway.experiments import Cell, CellResult, Context, Executor, Progress, RunSummary, Store, compute
from giveway.planning import make_planner
from giveway.predictors import make_predictor
from giveway.sim.cases import Case

FUNCTION = "giveway.drive.engine:evaluate"


@dataclass(frozen=True, slots=True, kw_only=True)
class DriveOrder:
    """What a worker needs to drive a case, all as text.

    Attributes:
        predictor: name, or import path.
        checkpoint: file for predictors that were trained.
        planner: name, or import path.
        cases: case file or folder; None for the bundled set.
        data: folder with the recordings.
        out: folder of the store.
        keep_predictions: whether logs keep what was predicted.
    """

    predictor: str
    checkpoint: str | None
    planner: str
    cases: str | None
    data: str | None
    out: str
    keep_predictions: bool = True

    def settings(self) -> dict[str, Any]:
        """Plain values for the jobs."""
        return {name: getattr(self, name) for name in self.__slots__}


def drive_on(
    executor: Executor,
    order: DriveOrder,
    cases: Sequence[Case],
    *,
    seed: int = 0,
    variant: str = "",
    max_hours: float | None = None,
    progress: Progress | None = None,
) -> RunSummary:
    """Drive every case that has no log yet on an engine; score afterwards with ``score_drives``.

    Raises:
        ClusterError: see the engine.
    """
    predictor, planner = _driver(order.predictor, order.checkpoint, order.planner)
    store = Store(order.out, create=True)
    cells = [cell_of(case, predictor, planner, seed, variant) for case in cases]
    missing = [cell for cell in cells if not is_done(Path(order.out), store, cell)]
    for cell in missing:
        store.record_path(cell.key).unlink(missing_ok=True)  # a record whose log is gone does not count
    return compute(
        missing,
        experiment=FUNCTION,
        store=store,
        engine=executor,
        spec={"command": "drive run", "predictor": order.predictor, "planner": order.planner, "seed": seed},
        machine=order.settings(),
        rerun="failed",
        max_hours=max_hours,
        progress=progress,
    )


def evaluate(cell: Cell, context: Context) -> CellResult:
    """Drive one case, keep its log, return its score.

    Raises:
        ClusterError: if the worker cannot see the folder of the store.
        PredictionError: if the case cannot be driven, or predictor or planner fail.
    """
    order = DriveOrder(**context.machine)
    out = Path(order.out)
    if not (out / "store.json").exists():
        raise ClusterError(
            "this worker cannot see the store, so the log of the drive would be lost",
            where=out,
            hint="use --out in a folder that all workers share",
        )
    predictor, planner = _driver(order.predictor, order.checkpoint, order.planner)
    cases, source = _cases(order.cases, order.data)
    case = cases[str(cell.params["case"])]
    (drive,) = drive_cases(
        [case], source, predictor=predictor, planner=planner, seed=int(cell.params["seed"]), threads=1, batch=1
    )
    if isinstance(drive, FailedDrive):
        raise PredictionError(drive.reason, where=case.id)
    keep_log(out, cell, drive.log, keep_predictions=order.keep_predictions)
    return result_of(drive.log)


@lru_cache(maxsize=4)
def _driver(predictor: str, checkpoint: str | None, planner: str) -> tuple[Any, Any]:
    return make_predictor(predictor, None if checkpoint is None else Path(checkpoint)), make_planner(planner)


@lru_cache(maxsize=2)
def _cases(path: str | None, data: str | None) -> tuple[Mapping[str, Case], SceneSource]:
    cases, source = open_cases(None if path is None else Path(path), None if data is None else Path(data))
    return {case.id: case for case in cases}, source
