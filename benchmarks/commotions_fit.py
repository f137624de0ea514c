"""Which optimizer makes the best use of time for the Commotions model? Makes the runs, in pieces if need be.

Every optimizer fits the same population of drivers, each with parameters of their own, so that no θ fits perfectly.
Seconds are CPU seconds of one thread, because machines are shared. A call that was stopped goes on where it was.

    python benchmarks/commotions_fit.py FOLDER                            # 1000 samples, 5 seeds, all optimizers
    python benchmarks/commotions_fit.py FOLDER --limit-s 200              # exit code 3: call again
    python benchmarks/commotions_fit_report.py FOLDER --figure FILE.png   # table (JSON) and figure
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from commotions_cma import cma_es, multi_start

from giveway.predictors.commotions import Configuration, Switches, Theta
from giveway.predictors.commotions.fitting.fit import FitOptions, fit_parameters, objective_of
from giveway.predictors.commotions.fitting.gaussian_process import quiet_torch
from giveway.predictors.commotions.fitting.optimizers import OPTIMIZERS
from giveway.predictors.commotions.fitting.search import Budget, Trace
from giveway.predictors.commotions.losses import Loss, TrainingSet
from giveway.predictors.commotions.parameters import Box
from giveway.predictors.commotions.simulation import simulate_encounters
from support.encounters import random_encounters

OPTIMIZERS.register("cma", cma_es)
OPTIMIZERS.register("multistart", multi_start)

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


def population(num: int, seed: int, config: Configuration) -> TrainingSet:
    """One decision each of ``num`` drivers whose θ scatters around a typical one by a tenth of the search range."""
    rng = np.random.default_rng([seed, 1])
    scene = random_encounters(num, seed)
    center = Box.full().encode(TYPICAL)
    accepted, t_accept = np.zeros(num, dtype=np.bool_), np.zeros(num)
    for i in range(num):
        theta = Box.full().decode(np.clip(center + 0.1 * rng.standard_normal(14), 0, 1))
        outcome = simulate_encounters(scene.take(slice(i, i + 1)), theta, config, num_paths=1, seed=seed, threads=1)
        accepted[i], t_accept[i] = outcome.accepted[0, 0], outcome.t_accept_s[0, 0]
    return TrainingSet(encounters=scene, accepted=accepted, t_accept_s=t_accept)


class Pause(Exception):
    """The time of this piece is over; the journal keeps what was done."""


def run(
    folder: Path, config: Configuration, samples: int, name: str, seed: int, evaluations: int, until: float
) -> bool:
    """One fit, or the next piece of it; True when it is finished.

    ``curve.jsonl`` gets evaluation, CPU seconds, kernel seconds, best loss; seconds of earlier pieces are carried over.
    """
    folder.mkdir(parents=True, exist_ok=True)
    curve_file, done_file = folder / "curve.jsonl", folder / "done.json"
    if done_file.exists():
        return True
    training = population(samples, 7, config)
    rows = [json.loads(line) for line in curve_file.read_text().splitlines()] if curve_file.exists() else []
    before_cpu, before_kernel = (rows[-1]["cpu_s"], rows[-1]["kernel_cpu_s"]) if rows else (0.0, 0.0)
    options = FitOptions(
        seed=seed, threads=1, budgets=[Budget(initial=210, further=evaluations - 210)], journal=folder / "fit.jsonl"
    )
    switches = Switches(optimizer=name)
    objective = objective_of(training, config, switches, options)
    objective(TYPICAL)  # loads the kernel
    if name in ("bayes", "trust_region"):
        with quiet_torch():  # loads BoTorch, which takes seconds
            pass
    clock, kernel = time.process_time(), 0.0

    def timed(theta: Theta) -> Loss:
        nonlocal kernel
        start = time.process_time()
        loss = objective(theta)
        kernel += time.process_time() - start
        return loss

    with curve_file.open("a") as file:

        def on_trace(trace: Trace) -> None:
            row = {
                "done": trace.done,
                "cpu_s": round(before_cpu + time.process_time() - clock, 4),
                "kernel_cpu_s": round(before_kernel + kernel, 4),
                "best": trace.best,
            }
            file.write(json.dumps(row) + "\n")
            file.flush()
            if time.monotonic() > until and trace.done < trace.total:
                raise Pause

        try:
            fitted = fit_parameters(
                training, config, switches=switches, options=options, on_trace=on_trace, objective=timed
            )
        except Pause:
            return False
    fresh = objective_of(training, config, switches, replace(options, seed=seed + 1000, num_paths=50))(fitted.theta)
    done = {"loss": fitted.loss, "loss_fresh_noise": fresh.mean, "theta": fitted.theta.as_dict()}
    done_file.write_text(json.dumps({"optimizer": name, "seed": seed, "samples": samples, **done}) + "\n")
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--config", default="CM_IIJ11")
    parser.add_argument("--evaluations", type=int, default=1500)
    parser.add_argument("--optimizers", nargs="+", default=OPTIMIZERS.names())
    parser.add_argument("--limit-s", type=float, default=float("inf"), help="stop after this time; call again to go on")
    arguments = parser.parse_args()
    until = time.monotonic() + arguments.limit_s
    config = Configuration.from_name(arguments.config)
    for seed in arguments.seeds:
        for name in arguments.optimizers:
            folder = arguments.folder / f"{arguments.config}-{arguments.samples}-{name}-{seed}"
            evaluations = 360 if name == "bayes" else arguments.evaluations
            finished = run(folder, config, arguments.samples, name, seed, evaluations, until)
            print(f"{folder.name}: {'finished' if finished else 'to be continued'}", file=sys.stderr, flush=True)
            if not finished:
                raise SystemExit(3)


if __name__ == "__main__":
    main()
