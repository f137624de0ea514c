"""How often the 95 % intervals of kappa cover: latent-normal clips and raters, logistic noise, five categories.

python benchmarks/kappa_coverage.py --clips 36 --raters 30 --studies 200

A rating is the category in which ``sd_c b_c + sd_r b_r + e`` falls, b standard normal, e logistic, thresholds at -2,
-0.7, 0.7, 2. The true kappa is that of infinitely many clips and raters:

    kappa = 1 - E(a - b)^2 of two raters of one clip / E(a - b)^2 of two ratings at large       (quadratic weights)

estimated once from a large sample. Covered means low <= true kappa <= high.
"""

from __future__ import annotations

import argparse
import json
import time

import numpy as np

from giveway.core.seeds import stream
from giveway.stats.agreement_bootstrap import bootstrap_over_clips, bootstrap_over_raters
from giveway.stats.agreement_jackknife import jackknife_over_both
from giveway.stats.agreement_summary import FEW_UNITS

CUTS = np.array([-2.0, -0.7, 0.7, 2.0])


def ratings(clips: int, raters: int, clip_sd: float, rater_sd: float, rng: np.random.Generator) -> np.ndarray:
    """(N, R) categories 0 .. 4."""
    latent = clip_sd * rng.standard_normal((clips, 1)) + rater_sd * rng.standard_normal((1, raters))
    return np.searchsorted(CUTS, latent + rng.logistic(size=(clips, raters)))


def true_kappa(clip_sd: float, rater_sd: float, rng: np.random.Generator, pairs: int = 4_000_000) -> float:
    """From pairs of independent raters of one clip, and pairs of independent ratings of two clips."""

    def rating(clip: np.ndarray) -> np.ndarray:
        return np.searchsorted(CUTS, clip + rater_sd * rng.standard_normal(pairs) + rng.logistic(size=pairs))

    first, second = clip_sd * rng.standard_normal(pairs), clip_sd * rng.standard_normal(pairs)
    one, other, far = rating(first), rating(first), rating(second)
    return 1.0 - float(((one - other) ** 2).mean() / ((one - far) ** 2).mean())


def main() -> None:
    """Print one JSON document."""
    parser = argparse.ArgumentParser(description="Coverage of the intervals of kappa.")
    parser.add_argument("--clips", type=int, default=12)
    parser.add_argument("--raters", type=int, default=10)
    parser.add_argument("--studies", type=int, default=100)
    parser.add_argument("--draws", type=int, default=400)
    parser.add_argument("--clip-sd", type=float, default=0.97)
    parser.add_argument("--rater-sd", type=float, default=0.8)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = stream(options.seed, "coverage")
    truth = true_kappa(options.clip_sd, options.rater_sd, rng)
    covered: dict[str, list[bool]] = {}
    width: dict[str, list[float]] = {}
    began = time.perf_counter()
    for _ in range(options.studies):
        table = ratings(options.clips, options.raters, options.clip_sd, options.rater_sd, rng)
        counts = (table[:, :, None] == np.arange(5)).sum(axis=1)
        found = {
            "bootstrap over clips": bootstrap_over_clips(counts, draws=options.draws, rng=rng),
            "bootstrap over raters": bootstrap_over_raters(table, num_categories=5, draws=options.draws, rng=rng),
            "bootstrap over both": bootstrap_over_raters(
                table, num_categories=5, draws=options.draws, also_clips=True, rng=rng
            ),
            "two-way jackknife": jackknife_over_both(table, num_categories=5),
        }
        for name, interval in found.items():
            covered.setdefault(name, []).append(bool(interval.low <= truth <= interval.high))
            width.setdefault(name, []).append(interval.high - interval.low)
    few = min(options.clips, options.raters) < FEW_UNITS
    print(
        json.dumps(
            {
                "options": vars(options),
                "true_kappa": round(truth, 4),
                "main_interval": "two-way jackknife" if few else "bootstrap over both",
                "coverage": {name: round(float(np.mean(hits)), 3) for name, hits in covered.items()},
                "mean_width": {name: round(float(np.mean(w)), 3) for name, w in width.items()},
                "seconds": round(time.perf_counter() - began, 1),
            },
            indent=1,
        )
    )


if __name__ == "__main__":
    main()
