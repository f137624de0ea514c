"""Predicted paths to acceptance probability and deciles: compiled against plain Python per path.

Prints JSON; ratios are of processor time in one run.

    python benchmarks/convert_paths.py [--samples 3000]
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from giveway.core.conversions import paths_to_time
from giveway.core.predictions import Trajectories
from giveway.gaps.raw import circle_boundary

DT_S, NUM_PATHS, STEPS, RADIUS_M = 0.2, 100, 20, 14.5


def plain_module():
    path = Path(__file__).parent.parent / "tests" / "gaps" / "plain_conversion.py"
    specification = importlib.util.spec_from_file_location("plain_conversion", path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def approaching(num: int) -> Trajectories:
    rng = np.random.default_rng(0)
    speed = rng.uniform(0, 9, size=(num, NUM_PATHS, 1))
    t = np.arange(1, STEPS + 1) * DT_S
    x = 26.0 - speed * t + rng.normal(0, 0.1, size=(num, NUM_PATHS, STEPS))
    return Trajectories(xy=np.stack([x, np.ones_like(x)], axis=-1), dt_s=DT_S)


def seconds(work: Callable[[], object], repeats: int) -> float:
    best = float("inf")
    for _ in range(repeats):
        began = time.process_time()
        work()
        best = min(best, time.process_time() - began)
    return best


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--samples", type=int, default=3000)
    count = parser.parse_args().samples
    module = plain_module()
    paths_to_time(approaching(2), circle_boundary(np.full(2, RADIUS_M)))
    rows = []
    for num in (count // 4, count // 2, count):
        paths, boundary = approaching(num), circle_boundary(np.full(num, RADIUS_M))
        rows.append({"samples": num, "fast_s": round(seconds(lambda p=paths, b=boundary: paths_to_time(p, b), 5), 4)})
    fast = paths_to_time(paths, boundary)

    def side(x: float, y: float) -> float:
        return (x * x + y * y) ** 0.5 - RADIUS_M

    lists = paths.xy.tolist()
    results: list[tuple[float, list[float]]] = []
    plain_s = seconds(lambda: results.extend(module.probability_and_deciles(one, DT_S, side) for one in lists), 1)
    np.testing.assert_allclose(fast.p, [p for p, _ in results])
    np.testing.assert_allclose(fast.quantile_s, [q for _, q in results], rtol=1e-9)
    print(
        json.dumps(
            {
                "benchmark": "convert_paths",
                "paths": f"{count} x {NUM_PATHS} x {STEPS}",
                "sizes": rows,
                "plain_s": round(plain_s, 3),
                "ratio": round(plain_s / rows[-1]["fast_s"], 1),
                "required_ratio": 40,
                "time_for_4_times_the_samples": round(rows[-1]["fast_s"] / rows[0]["fast_s"], 2),
                "machine": {"python": platform.python_version(), "cores": os.cpu_count(), "cpu": platform.machine()},
            },
            indent=2,
        )
    )


if __name__ == "__main__":
    main()
