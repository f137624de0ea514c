"""Tests per minute and failures by grade of searches over starts and maneuvers, at equal budget.

    python benchmarks/generate_search.py --road roundabout --planner lattice --budget 1024 --seeds 3

Printed as JSON, per search: tests per CPU minute of the process (compilation not counted), failures by grade, number of
physical kinds (:func:`giveway.generate.evaluation.results.archive_cell`) among failures and among those of grade C or
better, tests until the tenth of them, and mean unnaturalness c of the latter. One line per seed, and sums. The design
asks for 3000 tests per minute and core with MAP-Elites.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from giveway.generate.campaign import Campaign, run_campaign
from giveway.generate.drivers.cars import baseline
from giveway.generate.evaluation.results import archive_cell
from giveway.generate.worlds import WorldSettings

TOGETHER = 64


def searched(world: WorldSettings, driver: str, search: str, budget: int, seed: int) -> dict[str, Any]:
    """One campaign."""
    campaign = Campaign(search=search, perturb=False, budget=budget, generation=min(TOGETHER, budget), seed=seed)
    began = time.process_time()
    results = [test.result for test in run_campaign(world, baseline(driver), campaign)]
    spent = time.process_time() - began
    failures = [r for r in results if r.failed]
    graded = [r for r in failures if r.grade in ("A", "B", "C")]
    return {
        "tests_per_cpu_min": round(60.0 * budget / spent),
        "grades": dict(sorted(Counter(r.grade for r in failures).items())),
        "kinds": len({archive_cell(r) for r in failures}),
        "C_or_better": len(graded),
        "kinds_C_or_better": len({archive_cell(r) for r in graded}),
        "conflicts": dict(sorted(Counter(r.conflict for r in graded).items())),
        "tenth_at": graded[9].number + 1 if len(graded) >= 10 else None,
        "unnaturalness": round(float(np.mean([r.unnaturalness for r in graded])), 3) if graded else None,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--road", default="roundabout", help="name, or a lanelet2 map")
    parser.add_argument("--planner", default="lattice")
    parser.add_argument("--budget", type=int, default=1024)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--prior", type=Path, default=None)
    parser.add_argument(
        "--searches",
        nargs="*",
        default=["cut_in:random", "maneuver:random", "maneuver:cma_es", "maneuver:map_elites"],
        help="DRIVER:SEARCH",
    )
    args = parser.parse_args()
    world = WorldSettings(road=args.road, ego=args.planner, actions="lateral", prior=args.prior)
    found: dict[str, Any] = {}
    for name in args.searches:
        driver, search = name.split(":")
        searched(world, driver, search, 2, 0)  # compile
        runs = [searched(world, driver, search, args.budget, seed) for seed in range(args.seeds)]
        sums = {key: sum(run[key] for run in runs) for key in ("C_or_better", "kinds_C_or_better")}
        found[name] = {**sums, "share": round(sums["C_or_better"] / (args.budget * args.seeds), 4), "runs": runs}
    shown = {"road": Path(args.road).stem, "planner": args.planner, "budget": args.budget}
    print(json.dumps({**shown, "searches": found}, indent=1))


if __name__ == "__main__":
    main()
