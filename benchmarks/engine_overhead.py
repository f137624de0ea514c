"""What an engine costs per cell: no-op cells through store and engine, then resumed, then collected.

Targets: under 5 ms per cell on the local engine; 10 000 no-op cells finish and resume in under a minute. Prints JSON.
The ratio compares the local engine (two processes) with the same work done in this process by plain
calls that write the same files, so it does not depend on how busy the machine is.

    python benchmarks/engine_overhead.py [--cells 10000]
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import time
from pathlib import Path

from giveway.runs import (
    Cell,
    CellContext,
    CellResult,
    Executor,
    Measurement,
    ProcessExecutor,
    SerialExecutor,
    Store,
    collect,
    run,
)
from giveway.runs.provenance import machine
from giveway.runs.records import encode_result


def nothing(cell: Cell, context: CellContext) -> CellResult:
    """The evaluation: no work at all."""
    return CellResult(measurements=(Measurement(metric="one", value=1.0),))


def cells(count: int) -> list[Cell]:
    return [Cell(kind="noop", params={"model": "none", "repetition": i}, data="d") for i in range(count)]


def timed_run(count: int, executor: Executor, root: Path) -> dict[str, float]:
    began = time.perf_counter()
    first = run(cells(count), function="engine_overhead:nothing", store=root, executor=executor)
    finished = time.perf_counter()
    second = run(cells(count), function="engine_overhead:nothing", store=root, executor=executor)
    resumed = time.perf_counter()
    rows = collect(Store(root)).height
    collected = time.perf_counter()
    assert first.done == second.skipped == rows == count
    return {
        "finish_s": finished - began,
        "ms_per_cell": 1000 * (finished - began) / count,
        "resume_s": resumed - finished,
        "collect_s": collected - resumed,
    }


def plain_loop(count: int, root: Path) -> float:
    """The same files without any engine, in ms per cell."""
    store = Store(root, create=True)
    began = time.perf_counter()
    for cell in cells(count):
        result = nothing(cell, CellContext(artifacts=store.artifacts, settings={}))
        store.write_encoded(cell.key, encode_result(cell, result), flush=False)
    return 1000 * (time.perf_counter() - began) / count


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cells", type=int, default=10_000)
    count = parser.parse_args().cells
    folder = Path(tempfile.mkdtemp(prefix="giveway-overhead-"))
    try:
        plain = plain_loop(count, folder / "plain")
        serial = timed_run(count, SerialExecutor(), folder / "serial")
        local = timed_run(count, ProcessExecutor(num_workers=2), folder / "local")
    finally:
        shutil.rmtree(folder)
    minute = local["finish_s"] + local["resume_s"]
    print(
        json.dumps(
            {
                "benchmark": "engine_overhead",
                "cells": count,
                "target_ms_per_cell": 5.0,
                "ok": local["ms_per_cell"] < 5.0 and minute < 60.0,
                "finish_and_resume_s": minute,
                "plain_ms_per_cell": plain,
                "serial": serial,
                "local": local,
                "ratio": local["ms_per_cell"] / plain,
                "machine": machine(),
            },
            indent=2,
        )
    )


if __name__ == "__main__":
    main()
