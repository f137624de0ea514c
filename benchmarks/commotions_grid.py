"""Two workers against one on a grid of Commotions cells: how much of the second core arrives.

Target: at least 1.8 times. Both runs compute the same cells into new stores on the local engine; data and samples are
made before, so that only fitting, predicting and measuring count. Prints JSON; run it on an idle machine with two
cores.

    python benchmarks/commotions_grid.py [--cells 64] [--evaluations 200]
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from two_cores import ceiling

from giveway.experiments import Artifacts, Cell, CellResult, Context, ProcessExecutor, compute
from giveway.experiments.provenance import machine
from giveway.gaps import evaluate as evaluation
from giveway.gaps.cells import cells_of
from giveway.gaps.recipes import recipe_for
from giveway.gaps.sources import sources_for
from giveway.gaps.spec import spec_from
from giveway.predictors.commotions.fitting.fit import FitOptions
from giveway.predictors.commotions.fitting.search import Budget

SPEC = {
    "datasets": ["lgap"],
    "t0": ["constant"],
    "models": ["CM_IIJ11", "CM_ANA12"],
    "splits": {"random": 32},
    "metrics": ["auc"],
    "n_input_max": 2,
    "min_samples": 40,
    "synthetic": {"lgap": {"count": 300}},
}


def evaluate(cell: Cell, context: Context) -> CellResult:
    """A cell of the benchmark whose fit makes fewer evaluations, from samples that exist already."""
    initial = int(context.settings["evaluations"])
    options = FitOptions(budgets=[Budget(initial=initial, further=0)], threads=1)

    def recipe(name: str, profile: object, training: object = None) -> object:
        found = recipe_for(name, profile, training)  # pyright: ignore
        return replace(found, options=options) if name.startswith("CM_") else found

    evaluation.recipe_for = recipe  # pyright: ignore
    artifacts = Artifacts(Path(context.settings["artifacts"]))
    return evaluation.evaluate(cell, Context(artifacts=artifacts, machine=context.settings))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cells", type=int, default=64)
    parser.add_argument("--evaluations", type=int, default=200)
    args = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="giveway-grid-"))
    try:
        spec = spec_from(SPEC, where="benchmark")
        artifacts = Artifacts(folder / "artifacts")
        sources = sources_for(spec, {}, artifacts)
        cells = cells_of(spec, sources)[: args.cells]
        settings = {
            "roots": {name: source.address for name, source in sources.items()},
            "artifacts": str(folder / "artifacts"),
            "evaluations": args.evaluations,
        }
        took: dict[int, float] = {}
        compute(
            cells[:2],
            experiment="commotions_grid:evaluate",
            store=folder / "warm",
            engine=ProcessExecutor(num_workers=1),
            machine=settings,
        )
        for workers in (1, 2):
            began = time.perf_counter()
            summary = compute(
                cells,
                experiment="commotions_grid:evaluate",
                store=folder / f"R{workers}",
                engine=ProcessExecutor(num_workers=workers),
                machine=settings,
            )
            took[workers] = time.perf_counter() - began
            assert summary.ok, summary.failures[0].message
        same = [
            {p.name: p.read_bytes() for p in (folder / f"R{n}" / "cells").rglob("*") if p.is_file()} for n in (1, 2)
        ]
        assert same[0] == same[1]
    finally:
        shutil.rmtree(folder)
    ratio = took[1] / took[2]
    print(
        json.dumps(
            {
                "benchmark": "commotions_grid",
                "cells": len(cells),
                "one_worker_s": took[1],
                "two_workers_s": took[2],
                "target_ratio": 1.8,
                "ratio": ratio,
                "ratio_of_pure_arithmetic": ceiling(),
                "ok": ratio >= 1.8,
                "machine": machine(),
            },
            indent=2,
        )
    )


if __name__ == "__main__":
    main()
