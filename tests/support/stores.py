"""Run stores with invented results, for tests of what reads them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl

from giveway.experiments import Cell, CellResult, FailedCell, Measurement, Store
from giveway.experiments.records import encode_result

DATASETS = ("lgap", "round", "round_2v", "leeds", "mine")
MODELS = ("LR_1D", "LR_2D", "T++", "CV", *(f"M{n:02d}" for n in range(16)))
SAMPLES = 12


def invented_store(root: Path, count: int, *, failures: int = 0, sampled: int = 0, synthetic: bool = True) -> Store:
    """A store of about ``count`` benchmark cells whose numbers mean nothing.

    Args:
        root: new folder.
        count: finished cells, rounded up to whole repetitions.
        failures: cells that failed, with a traceback that contains markup.
        sampled: cells with per-sample values.
        synthetic: whether the recordings count as generated.
    """
    store = Store(root, create=True)
    rng = np.random.default_rng(0)
    for number, cell in enumerate(_cells(count, synthetic)):
        level = MODELS.index(str(cell.params["model"])) / 50
        auc = float(np.clip(0.95 - level + rng.normal(0, 0.01), 0, 1))
        measured = (
            Measurement(metric="auc", value=auc, num_samples=SAMPLES, metric_version=1, note=""),
            Measurement(
                metric="ade", value=1 + level + float(rng.normal(0, 0.05)), num_samples=SAMPLES, metric_version=1
            ),
        )
        samples = _samples(rng) if number < sampled else None
        info = (
            {"learning_curve": [{"epoch": e, "loss": 1 / e} for e in range(1, 6)]}
            if cell.params["model"] == "T++"
            else {}
        )
        result = CellResult(measurements=measured, samples=samples, info=info)
        store.write_encoded(cell.key, encode_result(cell, result), flush=False)
    for n in range(failures):
        cell = Cell(kind="gaps", params={"dataset": "lgap", "model": "broken", "repetition": n}, data="d")
        trace = "Traceback (most recent call last):\n  <script>alert(1)</script>\nValueError: too few samples"
        store.write_failure(
            FailedCell(key=cell.key, cell=cell, error="ValueError", message="too few samples", traceback=trace)
        )
    return store


def _cells(count: int, synthetic: bool) -> Iterator[Cell]:
    grid = list(product(DATASETS, (2, 3), MODELS))
    for repetition in range(-(-count // len(grid))):
        for dataset, n_input, model in grid:
            split, number = ("critical", 0) if repetition == 0 else ("random", repetition - 1)
            params = {
                "profile": "clean",
                "dataset": dataset,
                "t0": "constant",
                "n_input": n_input,
                "split": split,
                "repetition": number,
                "model": model,
                "seed": 0,
                "synthetic": synthetic,
            }
            yield Cell(kind="gaps", params=params, data="d" * 64, versions={"auc": 1})


def _samples(rng: np.random.Generator) -> pl.DataFrame:
    accepted = rng.random(SAMPLES) < 0.5
    p = np.clip(np.where(accepted, 0.8, 0.2) + rng.normal(0, 0.2, SAMPLES), 0, 1)
    return pl.DataFrame({"sample_id": [f"s{n}" for n in range(SAMPLES)], "accepted": accepted, "p": p})
