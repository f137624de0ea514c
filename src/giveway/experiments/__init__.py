"""Experiments: specification to cells to results, in a store that can be killed and resumed.

:mod:`giveway.experiments.contract` explains what an application provides; :func:`run` starts it. Below that,
:func:`compute` computes any cells::

    # my_package/evaluation.py, importable on every worker
    def evaluate(cell: Cell, context: Context) -> CellResult:
        folder = context.artifacts.get({"what": "samples", **needed(cell)}, build=lambda path: extract(cell, path))
        fitted, truth, prediction = ...
        value = METRICS.get("auc")(truth, prediction)
        return CellResult(
            measurements=(Measurement.of(value),),     # or Measurement(metric=, value=, num_samples=, metric_version=)
            samples=pl.DataFrame({"sample_id": ..., "accepted": ..., "p": ...}),   # per-sample values, or None
            info={"coefficients": [...]},              # further plain values
        )

    summary = compute(cells, experiment="my_package.evaluation:evaluate", store="R", spec=spec.model_dump(),
                      machine={"roots": {"lgap": "/data/lgap"}}, engine=ProcessExecutor(num_workers=2),
                      rerun="missing", progress=default_progress())
    frame = collect(Store("R"))                        # tidy polars frame, one row per cell and metric
    counts = status(Store("R"))                        # total, done, failed, missing, damaged, failures

Reports read these columns of per-sample values: ``sample_id``, ``group`` (what depends on each other is resampled
together), ``accepted`` and ``p`` for metrics of labels and probabilities, and one column per metric with values per
sample, named like the metric (``ade``, ``brier``, …).

A new engine implements :class:`giveway.experiments.engine.Executor` with
:func:`giveway.experiments.evaluation.work_all` and :class:`giveway.experiments.jobs.JobQueue`.
"""

from giveway.experiments.artifacts import Artifacts
from giveway.experiments.cells import Cell, CellFailure, CellResult, Measurement, content_key
from giveway.experiments.computing import RERUN, Rerun, RunSummary, check_rerun, compute
from giveway.experiments.contract import EXPERIMENTS, Experiment, Inputs
from giveway.experiments.engine import Context, Control, Executor, Job, Outcome
from giveway.experiments.index import Status, collect, read_index, status, verify
from giveway.experiments.local import ProcessExecutor, SerialExecutor
from giveway.experiments.progress import BarProgress, LineProgress, Progress, SilentProgress, default_progress
from giveway.experiments.records import FailedCell
from giveway.experiments.runner import run
from giveway.experiments.store import Damaged, Plan, Store

__all__ = [
    "EXPERIMENTS",
    "RERUN",
    "Artifacts",
    "BarProgress",
    "Cell",
    "CellFailure",
    "CellResult",
    "Context",
    "Control",
    "Damaged",
    "Executor",
    "Experiment",
    "FailedCell",
    "Inputs",
    "Job",
    "LineProgress",
    "Measurement",
    "Outcome",
    "Plan",
    "ProcessExecutor",
    "Progress",
    "Rerun",
    "RunSummary",
    "SerialExecutor",
    "SilentProgress",
    "Status",
    "Store",
    "check_rerun",
    "collect",
    "compute",
    "content_key",
    "default_progress",
    "read_index",
    "run",
    "status",
    "verify",
]
