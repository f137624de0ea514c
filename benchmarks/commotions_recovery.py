"""Parameter recovery: simulate decisions with a known θ, fit, compare. Prints JSON.

Every replicate has its own encounters and its own noise. A parameter is identified as well as its estimates scatter
little over replicates, measured in the search coordinate as a part of the searched range (0.29 is the scatter of a
blind guess). The interval is mean ± t s √(1 + 1/R) over the R replicates, where a further estimate would be expected.

    python benchmarks/commotions_recovery.py --replicates 8 --samples 300
"""

from __future__ import annotations

import argparse
import json
import sys

import numpy as np
from commotions_fit import TYPICAL, encounters
from scipy.stats import t as student

from giveway.models.commotions import PARAMETERS, Configuration, Switches
from giveway.models.commotions.fitting.fit import FitOptions, fit_parameters, objective_of
from giveway.models.commotions.fitting.search import Budget
from giveway.models.commotions.losses import TrainingSet
from giveway.models.commotions.parameters import Box
from giveway.models.commotions.simulation import simulate_encounters


def replicate(config: Configuration, num: int, evaluations: int, optimizer: str, seed: int) -> dict:
    """One dataset of ``num`` encounters, two decisions each, and its fit."""
    scene = encounters(num, 100 + seed)
    many = scene.take(np.repeat(np.arange(num), 2))
    truth = simulate_encounters(many, TYPICAL, config, num_paths=1, seed=1000 + seed)
    training = TrainingSet(encounters=many, accepted=truth.accepted[:, 0], t_accept_s=truth.t_accept_s[:, 0])
    options = FitOptions(seed=seed, budgets=[Budget(initial=210, further=evaluations - 210)], num_paths=10)
    fitted = fit_parameters(training, config, switches=Switches(optimizer=optimizer), options=options)
    at_truth = objective_of(training, config, Switches(), options)(TYPICAL)
    return {
        "unit": Box.full().encode(fitted.theta).tolist(),
        "loss": fitted.loss,
        "loss_at_truth": at_truth.mean,
        "accepted": float(training.accepted.mean()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicates", type=int, default=8)
    parser.add_argument("--samples", type=int, default=300)
    parser.add_argument("--evaluations", type=int, default=1500)
    parser.add_argument("--config", default="CM_INA11")
    parser.add_argument("--optimizer", default=Switches().optimizer)
    arguments = parser.parse_args()
    config = Configuration.from_name(arguments.config)
    runs = []
    for seed in range(arguments.replicates):
        runs.append(replicate(config, arguments.samples, arguments.evaluations, arguments.optimizer, seed))
        print(json.dumps({k: v for k, v in runs[-1].items() if k != "unit"}), file=sys.stderr, flush=True)
    estimates = np.array([run["unit"] for run in runs])
    truth = Box.full().encode(TYPICAL)
    mean, spread = estimates.mean(axis=0), estimates.std(axis=0, ddof=1)
    half = student.ppf(0.975, len(runs) - 1) * spread * np.sqrt(1 + 1 / len(runs))
    order = np.argsort(spread)
    rows = [
        {
            "parameter": PARAMETERS[i].name,
            "scatter": round(float(spread[i]), 3),
            "true": round(float(truth[i]), 3),
            "mean": round(float(mean[i]), 3),
            "interval": [round(float(mean[i] - half[i]), 3), round(float(mean[i] + half[i]), 3)],
            "inside": bool(abs(mean[i] - truth[i]) <= half[i]),
        }
        for i in order
    ]
    print(
        json.dumps(
            {
                "config": arguments.config,
                "samples": arguments.samples,
                "replicates": arguments.replicates,
                "optimizer": arguments.optimizer,
                "best_three_inside": all(row["inside"] for row in rows[:3]),
                "parameters_in_order_of_identification": rows,
                "losses": [[run["loss"], run["loss_at_truth"]] for run in runs],
            },
            indent=1,
        )
    )


if __name__ == "__main__":
    main()
