"""Steps per second of the Gymnasium environment of the ego, by number of worlds.

python benchmarks/ego_env.py [--steps 300] [--envs 1 16 64] [--action accel]
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from giveway.drive.environment import cases_for_ego
from giveway.sim.views.ego import EgoVectorEnv


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--envs", type=int, nargs="+", default=[1, 16, 64])
    parser.add_argument("--action", default="accel", choices=["accel", "plan", "profile"])
    parser.add_argument("--traffic", default="paper", choices=["clean", "paper"])
    options = parser.parse_args()
    cases = cases_for_ego(traffic=options.traffic)
    rng = np.random.default_rng(0)
    print(
        f"{len(cases.cases)} bundled cases, {cases.cases[0].driver.size} agents in the first; action {options.action}"
    )
    for count in options.envs:
        envs = EgoVectorEnv(cases, count, action=options.action)
        envs.action_space.seed(0)
        envs.reset(seed=0)
        actions = [_draw(options.action, rng, count) for _ in range(20)]
        envs.step(actions[0])
        began, cpu = time.perf_counter(), time.process_time()
        for k in range(options.steps):
            envs.step(actions[k % 20])
        spent, used = time.perf_counter() - began, time.process_time() - cpu
        done = count * options.steps
        print(f"{count:4d} worlds: {done / spent:9.0f} steps/s, {done / used:9.0f} per CPU second")


def _draw(action: str, rng: np.random.Generator, count: int) -> np.ndarray:
    if action == "accel":
        return rng.uniform(-1.0, 1.0, (count, 1)).astype(np.float32)
    if action == "plan":
        return np.sort(rng.uniform(0.0, 40.0, (count, 50)), axis=1).astype(np.float32)
    return rng.integers(0, 29, count)


if __name__ == "__main__":
    main()
