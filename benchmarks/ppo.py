"""Environment steps per CPU second of PPO on the Gymnasium ego, updates included; prints JSON.

python benchmarks/ppo.py [--cases FILE --data FOLDER --max-cases 200] [--env-steps 200000] [--worlds 512]
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np

from giveway.drive.environment import cases_for_ego
from giveway.drive.learning.ppo import Ppo
from giveway.drive.learning.settings import LearningSettings
from giveway.predictors.torch_setup import one_torch_thread
from giveway.sim.views.ego import EgoVectorEnv

TARGET = 10_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=Path)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--max-cases", type=int)
    parser.add_argument("--env-steps", type=int, default=200_000)
    parser.add_argument("--worlds", type=int, default=512)
    options = parser.parse_args()
    cases = cases_for_ego(options.cases, options.data, traffic="clean", max_cases=options.max_cases)
    with one_torch_thread():
        learner = Ppo(cases, LearningSettings(), worlds=options.worlds, env_steps=options.env_steps, seed=0)
        learner.run_round(1, 1, lambda steps, text: None)  # compiles
        before, began, cpu = learner.steps, time.perf_counter(), time.process_time()
        learner.run_round(2, options.env_steps, lambda steps, text: None)
        spent, used, done = time.perf_counter() - began, time.process_time() - cpu, learner.steps - before
    envs = EgoVectorEnv(cases, options.worlds, observation="features", score=False)
    envs.reset(seed=0)
    ticks, idle = max(done // options.worlds // 4, 1), np.zeros((options.worlds, 1))
    cpu = time.process_time()
    for _ in range(ticks):
        envs.step(idle)
    alone = ticks * options.worlds / (time.process_time() - cpu)
    print(
        json.dumps(
            {
                "cases": len(cases.cases),
                "agents": round(float(np.mean([case.driver.size for case in cases.cases])), 1),
                "worlds": options.worlds,
                "env_steps": done,
                "steps_per_cpu_s": round(done / used),
                "steps_per_s": round(done / spent),
                "environment_alone_per_cpu_s": round(alone),
                "target": TARGET,
                "ratio": round(done / used / TARGET, 2),
            }
        )
    )


if __name__ == "__main__":
    main()
