"""Which optimizer makes the best use of time for the Commotions model? Prints JSON.

Every optimizer fits the same population of drivers, each with parameters of their own, so that no θ fits perfectly;
losses are compared after equal evaluations and after equal seconds, over several seeds, on the noise that was fitted
and on fresh noise. Seconds are CPU seconds of one thread, because machines are shared.

    python benchmarks/commotions_fit.py --samples 200 --seeds 5
    python benchmarks/commotions_fit.py --samples 1000 --seeds 1 --optimizers bayes cma --threads 2
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import replace
from typing import Any

import numpy as np

from giveway.models.commotions import Configuration, Switches, Theta
from giveway.models.commotions.encounter import Encounters, encounters_from_distances
from giveway.models.commotions.fitting.fit import FitOptions, fit_parameters, objective_of
from giveway.models.commotions.fitting.optimizers import OPTIMIZERS
from giveway.models.commotions.fitting.search import Budget, Trace
from giveway.models.commotions.losses import TrainingSet
from giveway.models.commotions.parameters import Box
from giveway.models.commotions.simulation import simulate_encounters

TYPICAL = Theta(
    beta_v=30.0,
    delta_v_th_rel=0.005,
    t_evidence=0.3,
    t_delta=30.0,
    sigma_v=0.05,
    sigma_speed=0.1,
    delta_t_action=0.5,
    t_safe=0.6,
    d_safe=1.5,
    u_0_rel=4.0,
    k_da=0.5,
    sigma_r0_pos_rel=0.5,
    sigma_r0_speed_rel=0.5,
    v_free_rel=1.0,
)
CHECKPOINTS = (210, 360, 620, 1000, 1500)


def encounters(num: int, seed: int) -> Encounters:
    """Gaps of 2 to 8 s, T slow or standing near the contested space."""
    rng = np.random.default_rng(seed)
    v_e, v_t = rng.uniform(7, 14, num), rng.uniform(0, 5, num)
    d_c, d_a = v_e * rng.uniform(2, 8, num), rng.uniform(1, 12, num)
    return encounters_from_distances(
        d_c=np.stack([d_c + 0.2 * v_e, d_c], axis=1),
        d_a=np.stack([d_a + 0.2 * v_t, d_a], axis=1),
        l_e=rng.uniform(3, 7, num),
        l_t=np.full(num, 3.5),
        horizon_s=d_c / v_e,
    )


def population(num: int, seed: int, config: Configuration) -> TrainingSet:
    """One decision each of ``num`` drivers whose θ scatters around a typical one by a tenth of the search range."""
    rng = np.random.default_rng([seed, 1])
    scene = encounters(num, seed)
    center = Box.full().encode(TYPICAL)
    accepted, t_accept = np.zeros(num, dtype=np.bool_), np.zeros(num)
    for i in range(num):
        theta = Box.full().decode(np.clip(center + 0.1 * rng.standard_normal(14), 0, 1))
        outcome = simulate_encounters(scene.take(slice(i, i + 1)), theta, config, num_paths=1, seed=seed, threads=1)
        accepted[i], t_accept[i] = outcome.accepted[0, 0], outcome.t_accept_s[0, 0]
    return TrainingSet(encounters=scene, accepted=accepted, t_accept_s=t_accept)


def run(
    training: TrainingSet, config: Configuration, name: str, seed: int, evaluations: int, threads: int
) -> dict[str, Any]:
    """One fit: best loss after checkpoints of evaluations and of seconds."""
    curve: list[tuple[int, float, float]] = []
    clock, wall = time.process_time(), time.monotonic()

    def on_trace(trace: Trace) -> None:
        curve.append((trace.done, time.process_time() - clock, trace.best))
        if trace.done % 50 == 0:
            print(f"{name} seed {seed}: {trace.done}/{trace.total} best {trace.best:.3f}", file=sys.stderr, flush=True)

    options = FitOptions(seed=seed, threads=threads, budgets=[Budget(initial=210, further=evaluations - 210)])
    fitted = fit_parameters(training, config, switches=Switches(optimizer=name), options=options, on_trace=on_trace)
    total = time.process_time() - clock
    fresh = objective_of(training, config, Switches(), replace(options, seed=seed + 1000, num_paths=50))(fitted.theta)
    done, seconds, best = (np.array(column) for column in zip(*curve, strict=True))
    return {
        "optimizer": name,
        "seed": seed,
        "loss": fitted.loss,
        "loss_fresh_noise": fresh.mean,
        "cpu_s": round(total, 2),
        "wall_s": round(time.monotonic() - wall, 2),
        "kernel_wall_s": fitted.provenance["kernel_seconds"],
        "at_evaluations": {str(n): float(best[done <= n][-1]) for n in CHECKPOINTS if n <= done[-1]},
        "at_cpu_s": {str(s): float(best[seconds <= s][-1]) for s in (5, 10, 20, 40, 80, 160, 320) if seconds[0] <= s},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=200)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--config", default="CM_IIJ11")
    parser.add_argument("--evaluations", type=int, default=1500)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--optimizers", nargs="+", default=OPTIMIZERS.names())
    arguments = parser.parse_args()
    config = Configuration.from_name(arguments.config)
    training = population(arguments.samples, 7, config)
    runs = []
    for seed in range(arguments.first_seed, arguments.first_seed + arguments.seeds):
        for name in arguments.optimizers:
            evaluations = 360 if name == "bayes" else arguments.evaluations
            runs.append(run(training, config, name, seed, evaluations, arguments.threads))
            print(json.dumps(runs[-1]), file=sys.stderr, flush=True)
    summary = {
        name: {
            "loss": [r["loss"] for r in runs if r["optimizer"] == name],
            "median_loss": float(np.median([r["loss"] for r in runs if r["optimizer"] == name])),
            "median_fresh": float(np.median([r["loss_fresh_noise"] for r in runs if r["optimizer"] == name])),
            "median_cpu_s": float(np.median([r["cpu_s"] for r in runs if r["optimizer"] == name])),
        }
        for name in arguments.optimizers
    }
    print(
        json.dumps(
            {
                "config": arguments.config,
                "samples": arguments.samples,
                "accepted": int(training.accepted.sum()),
                "summary": summary,
                "runs": runs,
            },
            indent=1,
        )
    )


if __name__ == "__main__":
    main()
