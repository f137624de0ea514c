"""What comparing digests costs: opening a converted recording, and a benchmark run; both ratios from one run.

python benchmarks/integrity_cost.py [--dataset interaction --root DIR] [--cells 140]

Opening: the same recording is opened by turns as it is now and without any digest (Parquet files by path, JSON as it
is), least time of each. Run: preset ``quick`` in one process; the time inside everything that digests or seals, counted
once where it is nested, over the whole time of the run.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import json
import platform
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import polars as pl

import giveway.data.store as store_module
from giveway.core.checked import Sealed
from giveway.data.convert import convert
from giveway.data.stored import STORED
from giveway.experiments import SerialExecutor, Store, run
from giveway.gaps.experiment import GAPS
from giveway.gaps.presets import preset
from giveway.roads.json_maps import read_map
from giveway.synth.protocol import synthesize

DIGESTING = {
    "giveway.core.checked": ("sha256_of_bytes", "sha256_of_file", "open_seal", "check_json"),
    "giveway.core.seals": ("sha256_of_bytes",),
    "giveway.experiments.artifacts": ("sha256_of_file", "known_sha256", "read_sealed", "seal"),
    "giveway.experiments.index": ("sha256_of_bytes", "read_sealed", "seal", "_outdated"),
    "giveway.experiments.records": ("sha256_of_bytes", "open_seal", "seal"),
    "giveway.experiments.store": ("sha256_of_bytes", "seal"),
    "giveway.experiments.runner": ("seal",),
    "giveway.data.fingerprints": ("known_sha256",),
}


class Clock:
    """Seconds inside wrapped functions; nested calls count once."""

    def __init__(self) -> None:
        self.seconds, self.calls, self._depth = 0.0, 0, 0

    def wrap(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The same function, timed."""

        @functools.wraps(function)
        def timed(*args: Any, **kwargs: Any) -> Any:
            self._depth += 1
            self.calls += 1
            began = time.perf_counter()
            try:
                return function(*args, **kwargs)
            finally:
                self._depth -= 1
                if self._depth == 0:
                    self.seconds += time.perf_counter() - began

        return timed


def plain_parquet(path: Path, *, columns: Sequence[str] | None = None, **_: Any) -> pl.DataFrame:
    """As before: by path, no digest."""
    return pl.read_parquet(path, columns=None if columns is None else list(columns))


def plain_document(path: Path, **_: Any) -> Sealed:
    """As before: parsed as it is."""
    return Sealed(document=json.loads(path.read_text(encoding="utf-8")), seal=None)


def open_all(store: Path) -> int:
    """Every scene of every recording."""
    read_map.cache_clear()
    return sum(1 for recording in STORED.recordings(store) for _ in STORED.scenes(recording))


def measure_opening(dataset: str, root: Path | None, folder: Path, repeats: int) -> dict[str, Any]:
    """Least seconds with and without digests."""
    if root is None:
        root = folder / "source"
        synthesize(dataset, root, seed=0, count=2, minutes=3.0)
    store = folder / "store"
    list(convert(dataset, root, store))
    ways = {
        "checked": (store_module.read_parquet, store_module.read_sealed),
        "plain": (plain_parquet, plain_document),
    }
    least = dict.fromkeys(ways, float("inf"))
    scenes = open_all(store)
    for _ in range(repeats):
        for name, (parquet, document) in ways.items():
            store_module.read_parquet, store_module.read_sealed = parquet, document  # pyright: ignore
            began = time.perf_counter()
            open_all(store)
            least[name] = min(least[name], time.perf_counter() - began)
    size = sum(p.stat().st_size for p in store.rglob("*") if p.is_file())
    ratio = least["checked"] / least["plain"]
    return {"dataset": dataset, "scenes": scenes, "bytes": size, **least, "ratio": round(ratio, 3), "budget": 1.3}


def measure_run(folder: Path, limit: int | None) -> dict[str, Any]:
    """Share of a run of preset ``quick`` that is spent on digests and seals."""
    clock = Clock()
    for name, functions in DIGESTING.items():
        module = importlib.import_module(name)
        for function in functions:
            setattr(module, function, clock.wrap(getattr(module, function)))
    began = time.perf_counter()
    store = Store(folder / "R", create=True)
    summary = run(GAPS, preset("quick"), store.root, engine=SerialExecutor(), limit=limit)
    whole = time.perf_counter() - began
    return {
        "cells": summary.done,
        "seconds": round(whole, 2),
        "digests_s": round(clock.seconds, 3),
        "calls": clock.calls,
        "share": round(clock.seconds / whole, 4),
        "budget": 0.03,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dataset", default="interaction")
    parser.add_argument("--root", type=Path, default=None, help="recordings; generated ones without it")
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--cells", type=int, default=None, help="only so many cells of the preset")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        opening = measure_opening(options.dataset, options.root, Path(folder) / "opening", options.repeats)
    with tempfile.TemporaryDirectory() as folder:
        run = measure_run(Path(folder), options.cells)
    print(json.dumps({"opening": opening, "run": run, "machine": platform.processor() or platform.machine()}, indent=1))


if __name__ == "__main__":
    main()
