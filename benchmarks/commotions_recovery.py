"""Parameter recovery: simulate decisions with a known θ, fit, compare. Prints JSON.

Every replicate has its own encounters and its own noise. See ``giveway.models.commotions.fitting.recovery``.

    python benchmarks/commotions_recovery.py --noise little       # decisions that the same driver would make again
    python benchmarks/commotions_recovery.py --noise typical      # decisions with much chance in them
    python benchmarks/commotions_recovery.py --keep FILE.jsonl --limit-s 150       # in pieces; exit code 3: call again
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path

from commotions_fit import TYPICAL, encounters

from giveway.models.commotions import Configuration, Switches
from giveway.models.commotions.fitting.fit import FitOptions
from giveway.models.commotions.fitting.recovery import Replicate, replicate, summarize
from giveway.models.commotions.fitting.search import Budget

TRUTHS = {
    "typical": TYPICAL,
    "little": replace(TYPICAL, sigma_v=0.006, sigma_speed=0.02, sigma_r0_pos_rel=0.12, sigma_r0_speed_rel=0.12),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicates", type=int, default=8)
    parser.add_argument("--samples", type=int, default=300)
    parser.add_argument("--evaluations", type=int, default=1500)
    parser.add_argument("--noise", choices=sorted(TRUTHS), default="little")
    parser.add_argument("--config", default="CM_INA11")
    parser.add_argument("--optimizer", default=Switches().optimizer)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="replicates so far; what is there is not fitted again")
    parser.add_argument("--limit-s", type=float, default=float("inf"), help="start no replicate after this time")
    arguments = parser.parse_args()
    until = time.monotonic() + arguments.limit_s
    config, truth = Configuration.from_name(arguments.config), TRUTHS[arguments.noise]
    kept = arguments.keep.read_text().splitlines() if arguments.keep and arguments.keep.exists() else []
    runs = [Replicate(**json.loads(line)) for line in kept]
    for seed in range(len(runs), arguments.replicates):
        if time.monotonic() > until:
            raise SystemExit(3)
        options = FitOptions(
            seed=seed, threads=arguments.threads, budgets=[Budget(initial=210, further=arguments.evaluations - 210)]
        )
        runs.append(
            replicate(
                truth,
                config,
                encounters(arguments.samples, 100 + seed),
                seed=seed,
                switches=Switches(optimizer=arguments.optimizer),
                options=options,
            )
        )
        line = json.dumps(asdict(runs[-1]))
        print(line, file=sys.stderr, flush=True)
        if arguments.keep:
            with arguments.keep.open("a") as file:
                file.write(line + "\n")
    rows = summarize(truth, runs)
    result = {
        "config": arguments.config,
        "noise": arguments.noise,
        "samples": arguments.samples,
        "replicates": arguments.replicates,
        "optimizer": arguments.optimizer,
        "best_three_inside": all(row.is_inside for row in rows[:3]),
        "parameters_in_order_of_identification": [
            {k: round(v, 3) if isinstance(v, float) else v for k, v in asdict(row).items()} | {"inside": row.is_inside}
            for row in rows
        ],
        "losses": [[round(run.loss, 2), round(run.loss_at_truth, 2)] for run in runs],
    }
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
