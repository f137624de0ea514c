"""Parameter recovery: simulate decisions with a known θ, fit, compare. Prints JSON.

Every replicate has its own encounters and its own noise. See ``commotions_replicates``.

    python benchmarks/commotions_recovery.py                    # every parameter alone, the others known
    python benchmarks/commotions_recovery.py --together         # all 14 at once
    python benchmarks/commotions_recovery.py --keep FILE.jsonl --limit-s 150       # in pieces; exit code 3: call again
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path

from commotions_fit import TYPICAL
from commotions_replicates import NOISE_PARAMETERS, Replicate, replicate, replicate_alone, summarize

from giveway.predictors.commotions import Configuration, Switches
from giveway.predictors.commotions.fitting.fit import FitOptions
from giveway.predictors.commotions.fitting.search import Budget
from support.encounters import random_encounters


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicates", type=int, default=8)
    parser.add_argument("--samples", type=int, default=300)
    parser.add_argument("--evaluations", type=int, default=1500)
    parser.add_argument("--together", action="store_true")
    parser.add_argument("--points", type=int, default=64, help="of the grid for one parameter")
    parser.add_argument("--config", default="CM_INA11")
    parser.add_argument("--optimizer", default=Switches().optimizer)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="replicates so far; what is there is not fitted again")
    parser.add_argument("--limit-s", type=float, default=float("inf"), help="start no replicate after this time")
    arguments = parser.parse_args()
    until = time.monotonic() + arguments.limit_s
    config = Configuration.from_name(arguments.config)
    kept = arguments.keep.read_text().splitlines() if arguments.keep and arguments.keep.exists() else []
    runs = [Replicate(**json.loads(line)) for line in kept]
    for seed in range(len(runs), arguments.replicates):
        if time.monotonic() > until:
            raise SystemExit(3)
        scene = random_encounters(arguments.samples, 100 + seed)
        options = FitOptions(seed=seed, threads=arguments.threads)
        if arguments.together:
            budgets = [Budget(initial=210, further=arguments.evaluations - 210)]
            runs.append(
                replicate(
                    TYPICAL,
                    config,
                    scene,
                    seed=seed,
                    switches=Switches(optimizer=arguments.optimizer),
                    options=replace(options, budgets=budgets),
                )
            )
        else:
            runs.append(
                replicate_alone(TYPICAL, config, scene, seed=seed, num_points=arguments.points, options=options)
            )
        line = json.dumps(asdict(runs[-1]))
        print(line, file=sys.stderr, flush=True)
        if arguments.keep:
            with arguments.keep.open("a") as file:
                file.write(line + "\n")
    rows = summarize(TYPICAL, runs, resolution=0.0 if arguments.together else 1 / arguments.points)
    best = [row for row in rows if row.name not in NOISE_PARAMETERS][:3]
    result = {
        "config": arguments.config,
        "together": arguments.together,
        "samples": arguments.samples,
        "replicates": arguments.replicates,
        "optimizer": arguments.optimizer if arguments.together else "grid",
        "best_three_without_noise": {row.name: row.is_inside for row in best},
        "parameters_in_order_of_identification": [
            {k: round(v, 3) if isinstance(v, float) else v for k, v in asdict(row).items()} | {"inside": row.is_inside}
            for row in rows
        ],
        "losses": [[round(run.loss, 2), round(run.loss_at_truth, 2)] for run in runs],
    }
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
