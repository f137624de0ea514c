"""What an engine costs per cell: no-op cells through store and engine, then resumed, then collected.

Targets: at most 1.5 ms per cell on the local engine, at most 12 ms on Dask with four workers; 10 000 no-op cells finish
and resume in under a minute. Prints JSON.
The ratio compares the local engine (two processes) with the same work done in this process by plain
calls that write the same files, so it does not depend on how busy the machine is.

    python benchmarks/engine_overhead.py [--cells 10000] [--dask [--dask-cells 2000]] [--collect 100000]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import shutil
import tempfile
import time
from pathlib import Path

from giveway.experiments import (
    Cell,
    CellResult,
    Context,
    Executor,
    Measurement,
    ProcessExecutor,
    SerialExecutor,
    Store,
    collect,
    compute,
)
from giveway.experiments.cluster import ClusterSpec, cluster_from
from giveway.experiments.dask_engine import DaskExecutor
from giveway.experiments.provenance import machine
from giveway.experiments.records import encode_result


def nothing(cell: Cell, context: Context) -> CellResult:
    """The evaluation: no work at all."""
    return CellResult(measurements=(Measurement(metric="one", value=1.0),))


def cells(count: int) -> list[Cell]:
    return [Cell(kind="noop", params={"model": "none", "repetition": i}, data="d") for i in range(count)]


def timed_run(count: int, executor: Executor, root: Path) -> dict[str, float]:
    began = time.perf_counter()
    first = compute(cells(count), experiment="engine_overhead:nothing", store=root, engine=executor)
    finished = time.perf_counter()
    second = compute(cells(count), experiment="engine_overhead:nothing", store=root, engine=executor)
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
        result = nothing(cell, Context(artifacts=store.artifacts, machine={}, scratch_root=root))
        store.write_encoded(cell.key, encode_result(cell, result), flush=False)
    return 1000 * (time.perf_counter() - began) / count


def dask_run(count: int, root: Path) -> dict[str, float | bool]:
    """Four workers on this machine; the slope between few and many cells leaves out what starting processes costs."""
    began = time.perf_counter()
    with cluster_from(ClusterSpec(kind="local", workers=4))() as client:
        engine = DaskExecutor(lambda: contextlib.nullcontext(client))
        few = timed_run(count // 10, engine, root / "few")
        many = timed_run(count, engine, root / "many")
    per_cell = 1000 * (many["finish_s"] - few["finish_s"]) / (count - count // 10)
    return {
        "total_s": time.perf_counter() - began,
        **many,
        "ms_per_further_cell": per_cell,
        "target_ms_per_cell": 12.0,
        "ok": per_cell <= 12.0,
    }


def collecting(count: int) -> dict[str, float]:
    """Time to collect a large store: first without an index, then with one."""
    folder = Path(tempfile.mkdtemp(prefix="giveway-collect-"))
    try:
        written = plain_loop(count, folder / "R") * count / 1000
        took: list[float] = []
        for _ in range(2):
            began = time.perf_counter()
            assert collect(Store(folder / "R")).height == count
            took.append(time.perf_counter() - began)
    finally:
        shutil.rmtree(folder)
    return {"cells": count, "write_s": written, "first_collect_s": took[0], "collect_s": took[1]}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cells", type=int, default=10_000)
    parser.add_argument("--dask", action="store_true", help="also a Dask cluster of four workers on this machine")
    parser.add_argument("--dask-cells", type=int, default=2_000)
    parser.add_argument("--collect", type=int, default=0, help="only: write so many cells plainly and collect them")
    args = parser.parse_args()
    if args.collect:
        print(json.dumps(collecting(args.collect), indent=2))
        return
    count = args.cells
    folder = Path(tempfile.mkdtemp(prefix="giveway-overhead-"))
    try:
        plain = plain_loop(count, folder / "plain")
        serial = timed_run(count, SerialExecutor(), folder / "serial")
        local = timed_run(count, ProcessExecutor(num_workers=2), folder / "local")
        dask = dask_run(args.dask_cells, folder / "dask") if args.dask else None
    finally:
        shutil.rmtree(folder)
    minute = local["finish_s"] + local["resume_s"]
    print(
        json.dumps(
            {
                "benchmark": "engine_overhead",
                "cells": count,
                "target_ms_per_cell": 1.5,
                "ok": local["ms_per_cell"] <= 1.5 and minute < 60.0,
                "finish_and_resume_s": minute,
                "plain_ms_per_cell": plain,
                "serial": serial,
                "local": local,
                "dask": dask,
                "ratio": local["ms_per_cell"] / plain,
                "machine": machine(),
            },
            indent=2,
        )
    )


if __name__ == "__main__":
    main()
