"""Agent-steps per second of the generation environment, against highway-env with as many cars, in one run.

    python benchmarks/generate_env.py --worlds 256 --threads 2

Counts agents that are simulated with everything they get: the ego's planner, motion, contacts, responsibility, escape
ratio, naturalness, rewards and observations. highway-env steps one world with one controlled ego and three other cars
(its own behaviour models, no multi-agent reward), at 10 Hz, with kinematic observations: less work per agent. Both
are timed by wall clock in alternation; speeds are the best of several rounds, the ratio is their median.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time

import numpy as np

from giveway.core.kernels import njit
from giveway.generate import worlds as environment
from giveway.generate.objective.arrays import ManeuverPrior
from giveway.generate.objective.natural import CLASSES, LEVELS, VARIABLES, step_features, unnaturalness
from giveway.generate.worlds import make_worlds

CARS = 3
AGENTS = CARS + 1


def stepping(worlds_count: int, threads: int, steps: int, ego: str):
    """Worlds, and a function that moves them and returns the seconds it took."""
    worlds = make_worlds(n_worlds=worlds_count, threads=threads, ego=ego, cars=CARS, actions="lateral")
    worlds.reset(seed=0)
    actions = np.random.default_rng(0).uniform(-1, 1, (16, worlds_count, CARS, 2))
    number = 1

    def run() -> float:
        nonlocal number
        began = time.perf_counter()
        for step in range(steps):
            after = worlds.step(actions[step % 16])
            if after.done.any():
                number += 1
                worlds.reset(seed=number, worlds=after.done)
        return time.perf_counter() - began

    return worlds, run


def ours(worlds_count: int, threads: int, steps: int, ego: str):
    """Agent-steps per second."""
    _, run = stepping(worlds_count, threads, steps, ego)
    return lambda: steps * worlds_count * AGENTS / run()


def some_prior() -> ManeuverPrior:
    """A prior as large as one fitted to recordings; its numbers do not matter to the time it takes."""
    rng = np.random.default_rng(0)
    ranks = -np.sort(-rng.normal(-8.0, 2.0, (len(CLASSES), LEVELS)), axis=1)
    density = rng.normal(-2.0, 1.0, (len(CLASSES), len(VARIABLES), 40))
    return ManeuverPrior(low=np.full(5, -10.0), width=np.full(5, 0.5), log_density=density, ranks=ranks)


@njit
def _natural(prior, recent, out):
    total = 0.0
    for row in recent:
        kind = step_features(row, 0.0, 1.5, out)
        if kind >= 0:
            total += unnaturalness(prior, kind, out)
    return total


def shares(worlds_count: int, steps: int, ego: str) -> dict[str, float]:
    """Share of the time of a step, in one thread, that the law and naturalness take."""
    _, run = stepping(worlds_count, 1, steps, ego)
    spent, settle = [0.0], environment.settle

    def timed(*args):
        began = time.perf_counter()
        found = settle(*args)
        spent[0] += time.perf_counter() - began
        return found

    run()
    environment.settle = timed
    total = run()
    environment.settle = settle
    recent = np.random.default_rng(1).normal(10.0, 0.3, (worlds_count * CARS, 7, 2)) * (1.0, 0.001)
    prior, out = some_prior(), np.empty(5)
    _natural(prior, recent, out)
    began = time.perf_counter()
    for _ in range(steps):
        _natural(prior, recent, out)
    natural = time.perf_counter() - began
    return {"law": round(spent[0] / total, 3), "naturalness": round(natural / total, 3)}


def highway(steps: int):
    import gymnasium
    import highway_env

    gymnasium.register_envs(highway_env)
    config = {
        "vehicles_count": CARS,
        "simulation_frequency": 10,
        "policy_frequency": 10,
        "duration": 15,
        "observation": {"type": "Kinematics", "vehicles_count": AGENTS},
    }
    env = gymnasium.make("highway-v0", config=config)
    env.reset(seed=0)

    def run() -> float:
        began = time.perf_counter()
        for _ in range(steps):
            _, _, terminated, truncated, _ = env.step(env.action_space.sample())
            if terminated or truncated:
                env.reset()
        return steps * AGENTS / (time.perf_counter() - began)

    return run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=256)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--ego", default="idm")
    options = parser.parse_args()
    fast = ours(options.worlds, options.threads, options.steps, options.ego)
    single = ours(options.worlds, 1, options.steps, options.ego)
    small = ours(max(options.worlds // 8, 1), 1, options.steps, options.ego)
    peer = highway(options.steps)
    for run in (fast, single, small, peer):
        run()
    rounds = [(fast(), single(), small(), peer()) for _ in range(options.rounds)]
    best = np.max(rounds, axis=0)
    print(
        json.dumps(
            {
                "agents": AGENTS,
                "worlds": options.worlds,
                "threads": options.threads,
                "ego": options.ego,
                "agent_steps_per_s": round(best[0]),
                "agent_steps_per_s_one_thread": round(best[1]),
                "agent_steps_per_s_one_thread_eighth_of_worlds": round(best[2]),
                "highway_env_agent_steps_per_s": round(best[3]),
                "share_of_step": shares(options.worlds, options.steps, options.ego),
                "ratio_to_highway_env": round(float(np.median([r[0] / r[3] for r in rounds])), 1),
                "cpus": os.cpu_count(),
                "machine": platform.processor() or platform.machine(),
            },
            indent=1,
        )
    )


if __name__ == "__main__":
    main()
