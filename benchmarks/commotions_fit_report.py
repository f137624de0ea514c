"""Table (JSON) and figure of the runs that ``benchmarks/commotions_fit.py`` made.

    python benchmarks/commotions_fit_report.py FOLDER --figure docs/predictors/commotions-optimizers.png

Per optimizer, over the seeds: median and range of the best loss after equal evaluations and after equal CPU seconds of
one thread, the loss of the result under fresh noise, and the shares of kernel and optimizer.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

EVALUATIONS = (210, 360, 700, 900, 1500)
SECONDS = (10, 20, 40, 80, 160)
NAMES = {
    "bayes": "Sobol + expected improvement (published)",
    "cma": "CMA-ES",
    "multistart": "multi-start CMA-ES",
    "trust_region": "trust region (TuRBO)",
}


@dataclass(frozen=True)
class Run:
    """One fit: columns of its curve and its result."""

    config: str
    samples: int
    optimizer: str
    seed: int
    done: np.ndarray
    cpu_s: np.ndarray
    kernel_s: np.ndarray
    best: np.ndarray
    fresh: float | None

    def after(self, column: np.ndarray, limit: float) -> float:
        """Best loss while the column was within the limit; NaN before the first evaluation or after the end."""
        within = column <= limit
        return float(self.best[within][-1]) if within.any() and limit <= column[-1] * 1.0001 else float("nan")


def read(folder: Path) -> list[Run]:
    runs = []
    for curve in sorted(folder.glob("*/curve.jsonl")):
        config, samples, optimizer, seed = curve.parent.name.split("-")
        rows = {row["done"]: row for row in map(json.loads, curve.read_text().splitlines())}  # last piece counts
        ordered = [rows[n] for n in sorted(rows)]
        done_file = curve.parent / "done.json"
        fresh = json.loads(done_file.read_text())["loss_fresh_noise"] if done_file.exists() else None
        columns = (np.array([row[k] for row in ordered]) for k in ("done", "cpu_s", "kernel_cpu_s", "best"))
        runs.append(Run(config, int(samples), optimizer, int(seed), *columns, fresh))
    return runs


def spread(values: list[float]) -> dict | None:
    """Median, smallest and largest, of those that are known."""
    known = [v for v in values if np.isfinite(v)]
    if not known:
        return None
    return {"median": round(float(np.median(known)), 1), "range": [round(min(known), 1), round(max(known), 1)]}


def table(runs: list[Run]) -> dict:
    result = {}
    for name in NAMES:
        mine = [r for r in runs if r.optimizer == name and r.fresh is not None]
        if not mine:
            continue
        kernel = float(np.median([r.kernel_s[-1] / r.cpu_s[-1] for r in mine]))
        result[name] = {
            "seeds": sorted(r.seed for r in mine),
            "evaluations": int(mine[0].done[-1]),
            "final_loss": spread([float(r.best[-1]) for r in mine]),
            "final_loss_by_seed": {r.seed: round(float(r.best[-1]), 1) for r in mine},
            "loss_with_fresh_noise": spread([float(r.fresh or np.nan) for r in mine]),
            "cpu_s": spread([float(r.cpu_s[-1]) for r in mine]),
            "kernel_share": round(kernel, 3),
            "optimizer_share": round(1 - kernel, 3),
            "loss_after_evaluations": {n: spread([r.after(r.done, n) for r in mine]) for n in EVALUATIONS},
            "loss_after_cpu_s": {s: spread([r.after(r.cpu_s, s) for r in mine]) for s in SECONDS},
        }
    return result


def draw(runs: list[Run], file: Path) -> None:
    """Best loss against evaluations and against seconds: one thin line per seed, the median thick."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(10, 4), sharey=True, layout="constrained")
    colors = dict(zip(NAMES, ("#444444", "#0072b2", "#56b4e9", "#d55e00"), strict=True))
    for axis, column, label in ((axes[0], "done", "evaluations"), (axes[1], "cpu_s", "CPU seconds of one thread")):
        for name, title in NAMES.items():
            mine = [r for r in runs if r.optimizer == name and r.fresh is not None]
            if not mine:
                continue
            for run in mine:
                axis.step(getattr(run, column), run.best, where="post", color=colors[name], alpha=0.3, linewidth=0.7)
            last = min(float(getattr(r, column)[-1]) for r in mine)
            grid = np.geomspace(max(float(getattr(r, column)[0]) for r in mine), last, 200)
            middle = np.median([[r.after(getattr(r, column), x) for x in grid] for r in mine], axis=0)
            axis.step(grid, middle, where="post", color=colors[name], linewidth=2, label=title)
        axis.set_xscale("log")
        axis.set_xlabel(label)
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("best loss so far")
    low = min(float(r.best[-1]) for r in runs)
    high = float(np.median([r.after(r.done, 50) for r in runs]))
    axes[0].set_ylim(low - 0.05 * (high - low), high)
    axes[1].legend(framealpha=0.9)
    figure.savefig(file, dpi=110)
    pyplot.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--config", default="CM_INJ11")
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--figure", type=Path)
    arguments = parser.parse_args()
    runs = [r for r in read(arguments.folder) if (r.config, r.samples) == (arguments.config, arguments.samples)]
    if not runs:
        raise SystemExit(f"no runs of {arguments.config} with {arguments.samples} samples in {arguments.folder}")
    if arguments.figure:
        draw(runs, arguments.figure)
    print(json.dumps({"config": arguments.config, "samples": arguments.samples, "optimizers": table(runs)}, indent=1))


if __name__ == "__main__":
    main()
