"""Runs: cells in, results out, into a store that can be killed and resumed.

The whole service in one example::

    # my_package/evaluation.py, importable on every worker
    def evaluate(cell: Cell, context: CellContext) -> CellResult:
        folder = context.artifacts.get({"what": "samples", **needed(cell)}, build=lambda path: extract(cell, path))
        fitted, truth, prediction = ...
        value = METRICS.get("auc")(truth, prediction)
        return CellResult(
            measurements=(Measurement.of(value),),     # or Measurement(metric=, value=, num_samples=, metric_version=)
            samples=pl.DataFrame({"sample_id": ..., "accepted": ..., "p": ...}),   # per-sample values, or None
            info={"coefficients": [...]},              # further plain values
        )

    cells = [
        Cell(
            kind="gaps",
            params={"profile": "clean", "dataset": "lgap", "t0": "constant", "n_input": 2, "split": "random",
                    "repetition": 0, "model": "LR_1D", "seed": 0},
            data=fingerprint,                          # of the recordings
            versions={"extraction": 1, "LR_1D": 1, "auc": 1},
        ),
        ...
    ]
    summary = run(cells, function="my_package.evaluation:evaluate", store="R", spec=spec.model_dump(),
                  settings={"roots": {"lgap": "/data/lgap"}}, executor=ProcessExecutor(num_workers=2),
                  rerun="missing", progress=default_progress())
    frame = collect(Store("R"))                        # tidy polars frame, one row per cell and metric
    counts = status(Store("R"))                        # total, done, failed, missing, damaged, failures

Rules for an evaluation: it depends on the cell (and on ``settings`` only for *where* to find things), draws
randomness from :func:`giveway.core.seeds.stream`, returns nothing about time or machine. Then results are the same
bytes for any engine, number of workers and number of interruptions. A raised exception becomes a failed cell.

Reports read these columns of per-sample values: ``sample_id``, ``group`` (what depends on each other is resampled
together), ``accepted`` and ``p`` for metrics of labels and probabilities, and one column per metric with values per
sample, named like the metric (``ade``, ``brier``, …).

A new engine implements :class:`giveway.experiments.engine.Executor` with :func:`giveway.experiments.evaluation.work`.
"""

from giveway.experiments.artifacts import Artifacts
from giveway.experiments.cells import Cell, CellResult, Measurement, content_key
from giveway.experiments.engine import CellContext, Control, Executor, Job, Outcome
from giveway.experiments.index import Status, collect, read_index, status, verify
from giveway.experiments.local import ProcessExecutor, SerialExecutor
from giveway.experiments.progress import BarProgress, LineProgress, Progress, SilentProgress, default_progress
from giveway.experiments.records import FailedCell
from giveway.experiments.runner import RERUN, Rerun, RunSummary, run
from giveway.experiments.store import Damaged, Plan, Store

__all__ = [
    "RERUN",
    "Artifacts",
    "BarProgress",
    "Cell",
    "CellContext",
    "CellResult",
    "Control",
    "Damaged",
    "Executor",
    "FailedCell",
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
    "collect",
    "content_key",
    "default_progress",
    "read_index",
    "run",
    "status",
    "verify",
]
