"""Kappa with 2 000 bootstrap draws for 36 clips x 30 raters against a plain Python loop, in one run.

python benchmarks/agreement.py
"""

from __future__ import annotations

import json
import platform
import random
import time

import numpy as np

from giveway.stats.agreement_bootstrap import bootstrap_over_clips, bootstrap_over_raters


def python_loop(rows: list[list[int]], draws: int, k: int) -> list[float]:
    """The formula as one would write it down: for every draw, clip and pair of categories."""
    rng = random.Random(0)
    weights = [[1 - (j - m) ** 2 / (k - 1) ** 2 for m in range(k)] for j in range(k)]
    values: list[float] = []
    for _ in range(draws):
        sample = [rows[rng.randrange(len(rows))] for _ in rows]
        pooled = [0] * k
        observed = 0.0
        for ratings in sample:
            counts = [0] * k
            for rating in ratings:
                counts[rating] += 1
            n = len(ratings)
            pairs = 0.0
            for j in range(k):
                pooled[j] += counts[j]
                for m in range(k):
                    pairs += weights[j][m] * counts[j] * counts[m]
            observed += (pairs - n) / (n * (n - 1)) / len(sample)
        total = sum(pooled)
        expected = sum(weights[j][m] * pooled[j] * pooled[m] for j in range(k) for m in range(k)) / total**2
        values.append((observed - expected) / (1 - expected))
    return values


def best(function, repeats: int) -> float:
    """Least CPU seconds of several runs."""
    times: list[float] = []
    for _ in range(repeats):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return min(times)


def measure(clips: int, raters: int, draws: int = 2000, loop_repeats: int = 2) -> dict[str, float | int]:
    rng = np.random.default_rng(0)
    ratings = np.clip(rng.integers(0, 5, size=(clips, 1)) + rng.integers(-1, 2, size=(clips, raters)), 0, 4)
    counts = (ratings[:, :, None] == np.arange(5)).sum(axis=1)
    ours = best(lambda: bootstrap_over_clips(counts, draws=draws, rng=np.random.default_rng(0)), 15)
    both = best(
        lambda: bootstrap_over_raters(
            ratings, num_categories=5, draws=draws, also_clips=True, rng=np.random.default_rng(0)
        ),
        5,
    )
    loop = best(lambda: python_loop(ratings.tolist(), draws, 5), loop_repeats)
    return {
        "clips": clips,
        "raters": raters,
        "draws": draws,
        "over_clips_s": ours,
        "over_clips_and_raters_s": both,
        "python_loop_s": loop,
        "ratio": loop / ours,
    }


if __name__ == "__main__":
    sizes = [(36, 30), (72, 60), (144, 120)]
    runs = [measure(clips, raters, loop_repeats=2 if clips < 100 else 1) for clips, raters in sizes]
    print(json.dumps({"benchmark": "agreement", "python": platform.python_version(), "runs": runs}, indent=2))
