"""Evaluations that the tests of runs let workers import."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import numpy as np
import polars as pl

from giveway.core.errors import PredictionError
from giveway.core.seeds import stream
from giveway.experiments import Cell, CellResult, Context, Measurement


def draw(cell: Cell, context: Context) -> CellResult:
    """Numbers that depend on the cell only, with per-sample values."""
    rng = stream(int(cell.params["seed"]), *sorted(cell.params.items()))
    values = rng.normal(size=50)
    if pause := context.machine.get("pause_s"):
        time.sleep(float(pause))
    return CellResult(
        measurements=(
            Measurement(metric="mean", value=float(values.mean()), num_samples=50),
            Measurement(metric="undefined", value=float("nan"), note="for the test"),
        ),
        samples=pl.DataFrame({"sample_id": [f"s{i}" for i in range(50)], "mean": values}),
        info={"max": float(values.max())},
    )


def nothing(cell: Cell, context: Context) -> CellResult:
    return CellResult(measurements=(Measurement(metric="one", value=1.0),))


def solve(cell: Cell, context: Context) -> CellResult:
    """Linear algebra large enough for BLAS to use several threads if it may."""
    rng = stream(0, cell.params["repetition"])
    a = rng.normal(size=(300, 300))
    x = np.linalg.solve(a @ a.T + np.eye(300), rng.normal(size=300))
    return CellResult(measurements=(Measurement(metric="norm", value=float(x @ x)),))


def sometimes(cell: Cell, context: Context) -> CellResult:
    """Fails, dies, or works, as its parameters say."""
    mood = cell.params.get("mood")
    if mood == "error":
        raise ValueError("this cell cannot be computed")
    if mood == "user-error":
        raise PredictionError("the model returned NaN", where="sample 3", found="nan", hint="check the model")
    if mood == "exit":
        raise SystemExit(3)
    if mood == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if mood == "kill-once":
        marker = Path(context.machine["folder"]) / cell.key
        if not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
    if mood == "kill-writing":
        half = Path(context.machine["folder"]) / f".{cell.key}.json.1.2.tmp"
        if not half.exists():
            half.write_text("half")
            os.kill(os.getpid(), signal.SIGKILL)
    if mood == "unspeakable":
        raise ValueError("no file a\udcff.csv")  # as Python names files that are not in UTF-8
    if mood == "brief":
        time.sleep(0.03)
    if mood == "wait":
        (Path(context.machine["folder"]) / "waiting").touch()
        while not (Path(context.machine["folder"]) / "go").exists():
            time.sleep(0.05)
    if mood == "slow":
        time.sleep(60)
    if mood == "repairable" and not (Path(context.machine["folder"]) / "repaired").exists():
        raise RuntimeError("not repaired yet")
    if mood == "wrong":
        return {"value": 1}  # pyright: ignore
    return nothing(cell, context)


def shared(cell: Cell, context: Context) -> CellResult:
    """Uses an artifact and counts how often it was built."""

    def build(folder: Path) -> None:
        time.sleep(0.2)
        (folder / "value.txt").write_text("7")
        with (Path(context.machine["folder"]) / "built").open("a") as log:
            log.write("x")

    folder = context.artifacts.get({"what": "seven", "version": 1}, build)
    return CellResult(measurements=(Measurement(metric="seven", value=float((folder / "value.txt").read_text())),))


def hoard(cell: Cell, context: Context) -> CellResult:
    """Takes memory, slowly enough to be caught."""
    kept = []
    for _ in range(int(cell.params["megabytes"]) // 10):
        kept.append(np.ones(1_250_000))
        time.sleep(0.01)
    return nothing(cell, context)


def title_of_predictor(cell: Cell, context: Context) -> CellResult:
    """How the predictor that a cell names is titled here; empty where it is not registered."""
    from giveway.predictors import PREDICTORS

    name = cell.params["predictor"]
    return CellResult(info={"title": PREDICTORS.get(name).info.title if name in PREDICTORS else ""})
