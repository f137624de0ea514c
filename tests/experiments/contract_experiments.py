"""Experiments of every shape that the tests of the contract let workers import."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from giveway.experiments import Artifacts, Cell, CellFailure, CellResult, Context, Inputs, Measurement


def measured(value: float, **more: Any) -> CellResult:
    return CellResult(measurements=(Measurement(metric="m", value=value),), **more)


def behave(cell: Cell, folder: Path) -> None:
    mood = cell.params.get("mood")
    if mood == "error":
        raise ValueError("no square")
    if mood == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if mood == "kill-once" and not (folder / "killed").exists():
        (folder / "killed").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    if mood == "slow":
        time.sleep(60)
    if mood == "pause":
        time.sleep(0.1)


class Spec(BaseModel):
    count: int


class Squares:
    """Batches: the square of each number, also as an attachment; notes which cells came together."""

    name = "contract_experiments:SQUARES"
    Spec = Spec

    def resolve(self, spec: Spec, roots: Mapping[str, Path | str], artifacts: Artifacts) -> Inputs:
        return Inputs(fingerprints={"numbers": "0123"})

    def cells(self, spec: Spec, inputs: Inputs) -> Sequence[Cell]:
        return [Cell(kind="t", params={"n": n}, group="g") for n in range(spec.count)]

    def evaluate(self, batch: Sequence[Cell], context: Context) -> Iterator[tuple[Cell, CellResult | CellFailure]]:
        folder = Path(context.machine["folder"])
        with (folder / "calls").open("a") as log:
            log.write(json.dumps([cell.params["n"] for cell in batch]) + "\n")
        for cell in batch:
            if cell.params.get("mood") == "yielded":
                yield cell, CellFailure(error="PredictionError", message="gave NaN")
                continue
            behave(cell, folder)
            square = cell.params["n"] ** 2
            yield cell, measured(square, attachments={"square.txt": str(square).encode()})


class Sums:
    """A chain: each cell is the sum of all numbers up to it, from the results before it."""

    name = "contract_experiments:SUMS"

    def evaluate(self, batch: Sequence[Cell], context: Context) -> Iterator[tuple[Cell, CellResult]]:
        total = 0
        for cell in batch:
            known = context.known(cell)
            if known is not None:
                total = int(known.info["total"])
                continue
            behave(cell, Path(context.machine["folder"]))
            total += int(cell.params["n"]) + 1
            yield cell, measured(total, info={"total": total})


class Counters:
    """A chain whose state is in scratch: it is written before a result is given, as a training does."""

    name = "contract_experiments:COUNTERS"

    def evaluate(self, batch: Sequence[Cell], context: Context) -> Iterator[tuple[Cell, CellResult]]:
        state = context.scratch("state") / "total.json"
        for cell in batch:
            if context.known(cell) is not None:
                continue
            behave(cell, Path(context.machine["folder"]))
            kept = json.loads(state.read_text()) if state.exists() else {}
            total = kept.get("total", 0) + (kept.get("n") != cell.params["n"])
            state.write_text(json.dumps({"n": cell.params["n"], "total": total}))
            yield cell, measured(total, info={"total": total})


class Users:
    """A group each of whose cells uses an artifact of its own."""

    name = "contract_experiments:USERS"

    def evaluate(self, batch: Sequence[Cell], context: Context) -> Iterator[tuple[Cell, CellResult]]:
        for cell in batch:
            n = cell.params["n"]
            folder = context.artifacts.get({"n": n}, lambda path, n=n: (path / "n.txt").write_text(str(n)) and None)
            yield cell, measured(float((folder / "n.txt").read_text()))


def named(cell: Cell, context: Context) -> CellResult:
    return measured(0.0, attachments={cell.params["name"]: b"x"})


SQUARES = Squares()
USERS = Users()
SUMS = Sums()
COUNTERS = Counters()
