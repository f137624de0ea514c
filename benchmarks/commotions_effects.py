"""How much do the published shortcuts of the Commotions model change its predictions? Prints JSON.

Mean absolute change of the acceptance probability, and the share of changes above 0.5, caused by one thing at a time,
with the same noise on both sides: for random θ and encounters where the simulation differs, for fits to the same
decisions where the fit does. What another seed of the fit changes is the yardstick for the latter.

    python benchmarks/commotions_effects.py --thetas 12
"""

from __future__ import annotations

import argparse
import json
import math
from dataclasses import replace
from typing import Any

import commotions_torch as eager
import numpy as np
import torch
from commotions_fit import population

from giveway.predictors.commotions import Configuration, Switches, Theta
from giveway.predictors.commotions.config import LARGE_ACTIONS, SMALL_ACTIONS
from giveway.predictors.commotions.encounter import Encounters
from giveway.predictors.commotions.fitting.fit import FitOptions, fit_parameters
from giveway.predictors.commotions.fitting.search import Budget
from giveway.predictors.commotions.parameters import Box, to_search
from giveway.predictors.commotions.simulation import simulate_encounters
from support.encounters import random_encounters

SAMPLES, PATHS = 40, 20
FIT_SAMPLES = 150


def closed_moment(n: int, duration: torch.Tensor, decay: float) -> torch.Tensor:
    """∫₀^Δ e^-λτ τⁿ dτ as the difference of its antiderivative at both ends, which cancels in 32 bit."""
    x = decay * duration
    inner = sum(x**k / math.factorial(k) for k in range(n + 1))
    scale = torch.tensor(math.factorial(n) / decay ** (n + 1), dtype=duration.dtype)
    return scale - scale * torch.exp(-x) * inner


def closed_value(v0, a0, j0, a, duration, wait, v_free, k):
    """U of 2.9 with every segment in closed form."""
    decay, action = k.derived.decay, torch.tensor(k.theta.delta_t_action, dtype=v0.dtype)
    k_g, k_dv, k_da = 2 / v_free, 1 / v_free**2, k.theta.k_da

    def segment(start, v, acc, jerk, length, terms):
        h = k_g - 2 * (k_da * jerk + k_dv * v)
        alpha = (
            v * (k_g - k_dv * v) - k_da * acc**2,
            acc * h,
            0.5 * jerk * h - k_dv * acc**2,
            -k_dv * acc * jerk,
            -0.25 * k_dv * jerk**2,
        )
        return torch.exp(-decay * start) * sum(alpha[n] * closed_moment(n, length, decay) for n in range(terms))

    zero = torch.zeros_like(a)
    v1 = v0 + a0 * action + 0.5 * j0 * action**2
    v2 = v1 + a * duration
    tau = torch.tensor(k.tau, dtype=v0.dtype)
    waited = torch.where(torch.isinf(wait), 0.0, torch.exp(-decay * torch.where(torch.isinf(wait), 0.0, wait)))
    later = torch.exp(-decay * (action + duration)) * waited
    third = torch.exp(-decay * (action + duration)) * (k_g * v2 - k_dv * v2**2) * (1 - waited) / decay
    fourth = later * segment(zero, v2, (v_free - v2) / tau, zero, tau, 3)
    fifth = later * torch.exp(-decay * tau) / decay
    first = segment(torch.zeros_like(v0), v0, a0, j0, action, 5)
    return first + segment(action, v1, a, zero, duration, 3) + third + fourth + fifth


def change(one: np.ndarray, other: np.ndarray) -> tuple[float, float]:
    difference = np.abs(one - other)
    return float(difference.mean()), float((difference > 0.5).mean())


def rates(scene, theta, config, draws, dtype, value) -> np.ndarray:
    original, eager.value = eager.value, value
    try:
        accepted, _, _ = eager.simulate(scene, theta, config, num_paths=PATHS, seed=0, dtype=dtype, draws=draws)
    finally:
        eager.value = original
    return accepted.mean(axis=1)


def with_logarithms(theta: Theta) -> Theta:
    """What is deployed when stage 1 of two wins: search coordinates taken for natural units."""
    return Theta.from_array(to_search(theta))


def fitted_rates(name: str, seed: int, scene: Encounters, **switches: Any) -> np.ndarray:
    """Acceptance probability after a short fit to a population of drivers."""
    config = Configuration.from_name(name)
    options = FitOptions(seed=seed, budgets=[Budget(initial=60, further=240)] * config.stages)
    found = fit_parameters(population(FIT_SAMPLES, 7, config), config, switches=Switches(**switches), options=options)
    return simulate_encounters(scene, found.theta, config, num_paths=100, seed=1, precision="float64").probability


def effects_of_fitting(seeds: int) -> dict[str, list[tuple[float, float]]]:
    """What the switches of the fit change."""
    scene = random_encounters(200, 11)
    found: dict[str, list[tuple[float, float]]] = {}
    for seed in range(seeds):
        for name, label, switches in (
            ("CM_INA12", "loss 2 as printed", {"spread_term": "absolute"}),
            ("CM_INA21", "second box one fifth", {"box_fraction": 0.2}),
            ("CM_INA21", "ranges of table II", {"bounds": "printed", "search_scale": "ln"}),
            ("CM_INA21", "Sobol points in stage 1 only", {"sobol_points": "first_stage"}),
        ):
            usual = fitted_rates(name, seed, scene)
            found.setdefault(f"{name}: {label}", []).append(change(usual, fitted_rates(name, seed, scene, **switches)))
            found.setdefault(f"{name}: another seed", []).append(change(usual, fitted_rates(name, seed + 100, scene)))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--thetas", type=int, default=12)
    parser.add_argument("--fits", type=int, default=3, help="seeds of the fits")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    found: dict[str, list[tuple[float, float]]] = {}
    for number in range(arguments.thetas):
        theta, scene = Box.full().decode(rng.random(14)), random_encounters(SAMPLES, number)
        draws = torch.randn(
            int(scene.num_steps.max()) + 1, 2, SAMPLES * PATHS, 3, dtype=torch.float64,
            generator=torch.Generator().manual_seed(number),
        )  # fmt: skip
        for control in ("INJ11", "INA11"):
            config = Configuration.from_name(f"CM_{control}")
            exact = rates(scene, theta, config, draws, torch.float64, eager.value)
            for label, dtype, value in (
                ("closed forms, 32 bit", torch.float32, closed_value),
                ("closed forms, 64 bit", torch.float64, closed_value),
                ("moments, 32 bit, eager", torch.float32, eager.value),
            ):
                other = rates(scene, theta, config, draws, dtype, value)
                found.setdefault(f"{control[2]}C: {label}", []).append(change(exact, other))
            kernel = {
                p: simulate_encounters(scene, theta, config, num_paths=PATHS, seed=1, precision=p).probability
                for p in ("float64", "float32")
            }
            found.setdefault(f"{control[2]}C: our kernel, 32 bit", []).append(change(*kernel.values()))
            wrong = simulate_encounters(
                scene, with_logarithms(theta), config, num_paths=PATHS, seed=1, precision="float64"
            ).probability
            found.setdefault(f"{control[2]}C: logarithms deployed", []).append(change(kernel["float64"], wrong))
            fewer = simulate_encounters(
                scene, theta, config, num_paths=PATHS, seed=1, precision="float64", step_count="float32"
            ).probability
            found.setdefault(f"{control[2]}C: last step lost", []).append(change(kernel["float64"], fewer))
            for reading in ({"speed_prior": "speed"}, {"dt_free": "both"}):
                printed = simulate_encounters(
                    scene, theta, replace(config, **reading), num_paths=PATHS, seed=1, precision="float64"
                ).probability
                label = f"{control[2]}C: table II, {next(iter(reading))}"
                found.setdefault(label, []).append(change(kernel["float64"], printed))
            sets = [
                simulate_encounters(
                    scene,
                    theta,
                    Configuration(adjusted_speed=False, interactive=False, jerk=config.jerk, actions=actions),
                    num_paths=PATHS,
                    seed=1,
                    precision="float64",
                ).probability
                for actions in (SMALL_ACTIONS, LARGE_ACTIONS)
            ]
            found.setdefault(f"{control[2]}C: 7 actions instead of 5", []).append(change(*sets))
    found |= effects_of_fitting(arguments.fits)
    result = {
        name: {
            "mean_change_of_probability": round(float(np.mean([m for m, _ in values])), 4),
            "share_above_half": round(float(np.mean([s for _, s in values])), 4),
        }
        for name, values in found.items()
    }
    print(json.dumps({"thetas": arguments.thetas, "samples": SAMPLES, "paths": PATHS, "effects": result}, indent=1))


if __name__ == "__main__":
    main()
