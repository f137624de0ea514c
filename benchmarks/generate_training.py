"""Whole training in steps/s including updates: ours against MADDPG of BenchMARL on a VMAS task with as many cars.

Both train three cars with networks of 2 x 128, batches of 256, one update per ten environment steps, 32 worlds, on one
thread. Ours drives cars around an IDM ego on the straight road, 32 observed numbers per car; BenchMARL runs VMAS tasks:
dispersion with nine places, where an agent observes 31 numbers and the networks are therefore as large as ours, and
navigation, 18 numbers. Rates are per CPU second of the process, because machines are shared; wall times are printed
beside them. All are measured in turn, several times, and the best of each counts. Start-up and compilation are not
counted.

    python benchmarks/generate_training.py --peer-python /path/to/venv/bin/python

The peer may live in an environment of its own (pip install benchmarl vmas); without one only our rate is measured.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time

CARS, WORLDS, BATCH, EVERY = 3, 32, 256, 10
MAPPO_WORLDS, MAPPO_STEPS = 256, 131_072
"""Of MAPPO, whose rate has no peer here: world-steps per CPU second including updates."""
PEER = """
import json, sys, time, warnings
warnings.filterwarnings("ignore")
import torch
torch.set_num_threads(1)
from benchmarl.algorithms import MaddpgConfig
from benchmarl.environments import VmasTask
from benchmarl.experiment import Callback, Experiment, ExperimentConfig
from benchmarl.models.mlp import MlpConfig

frames, cars, worlds, batch, every = map(int, sys.argv[1:6])
name, changes, folder = sys.argv[6], json.loads(sys.argv[7]), sys.argv[8]
per_batch = worlds * 10
config = ExperimentConfig.get_from_yaml()
config.off_policy_collected_frames_per_batch = per_batch
config.off_policy_n_envs_per_worker = worlds
config.off_policy_n_optimizer_steps = per_batch // every
config.off_policy_train_batch_size = batch
config.share_policy_params = False
config.max_n_frames = frames + per_batch
config.evaluation, config.render, config.loggers, config.create_json = False, False, [], False
config.save_folder = folder
algorithm = MaddpgConfig.get_from_yaml()
algorithm.share_param_critic = False
task = getattr(VmasTask, name.upper()).get_from_yaml()
task.config = {**task.config, "n_agents": cars, **changes}
model = MlpConfig(num_cells=[128, 128], activation_class=torch.nn.ReLU, layer_class=torch.nn.Linear)

class Clock(Callback):
    started = None
    def on_train_end(self, training_td, group):
        if self.started is None:  # the first batch warms up
            self.started = (time.perf_counter(), time.process_time())

clock = Clock()
experiment = Experiment(task, algorithm, model, seed=0, config=config, critic_model_config=model, callbacks=[clock])
experiment.run()
wall, cpu = time.perf_counter() - clock.started[0], time.process_time() - clock.started[1]
done = experiment.total_frames - per_batch
seen = list(experiment.observation_spec["agents", "observation"].shape)[-1]
print(json.dumps({"steps": done, "cpu_s": cpu, "wall_s": wall, "observed": seen}))
"""
TASKS = {"dispersion": {"n_food": 9}, "navigation": {}}


def ours(steps: int, threads: int, algorithm: str = "maddpg") -> dict[str, float]:
    import torch

    from giveway.experiments.threads import limited_threads
    from giveway.generate.learning.config import LearningConfig
    from giveway.generate.learning.training import Training
    from giveway.generate.worlds import Worlds, WorldSettings

    settings = WorldSettings(road="straight", ego="idm", cars=CARS, actions="lateral")
    worlds = Worlds(settings, n_worlds=WORLDS if algorithm == "maddpg" else MAPPO_WORLDS)
    config = LearningConfig.of({"algorithm": algorithm, "batch": BATCH, "update_every": EVERY})
    warm = 2000 if algorithm == "maddpg" else MAPPO_WORLDS * config.rollout
    with limited_threads(threads):
        torch.set_num_threads(threads)
        training = Training(worlds, config, seed=0, steps=steps + warm)
        training.run_round(warm)
        wall, cpu = time.perf_counter(), time.process_time()
        report = training.run_round(steps)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    done = report.steps - warm
    return {"steps": done, "cpu_s": cpu, "wall_s": wall, "observed": worlds.observation_size}


def peer(python: str, frames: int, task: str) -> dict[str, float]:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        arguments = [str(n) for n in (frames, CARS, WORLDS, BATCH, EVERY)]
        done = subprocess.run(
            [python, "-c", PEER, *arguments, task, json.dumps(TASKS[task]), folder],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": ""},
        )
    if done.returncode:
        sys.exit(f"the peer failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def rates(found: dict[str, float]) -> dict[str, float]:
    return {
        **found,
        "steps_per_cpu_s": found["steps"] / found["cpu_s"],
        "steps_per_wall_s": found["steps"] / found["wall_s"],
    }


def better(one: dict[str, float] | None, other: dict[str, float]) -> dict[str, float]:
    return other if one is None or other["steps_per_cpu_s"] > one["steps_per_cpu_s"] else one


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=12_000)
    parser.add_argument("--peer-frames", type=int, default=3_200)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--peer-python", default="", help="interpreter with benchmarl and vmas")
    parser.add_argument("--threads", action="store_true", help="also measure our updates with two threads")
    args = parser.parse_args()
    mine = rates(ours(args.steps, 1))
    found: dict[str, dict[str, float]] = {}
    for _ in range(args.repeats if args.peer_python else 0):
        for task in TASKS:
            found[task] = better(found.get(task), rates(peer(args.peer_python, args.peer_frames, task)))
        mine = better(mine, rates(ours(args.steps, 1)))
    document: dict[str, object] = {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "setting": {"cars": CARS, "worlds": WORLDS, "batch": BATCH, "update_every": EVERY, "hidden": [128, 128]},
        "ours": mine,
        "mappo": {**rates(ours(MAPPO_STEPS, 1, "mappo")), "worlds": MAPPO_WORLDS},
        "half_a_million_steps_min": {
            "cpu": 500_000 / mine["steps_per_cpu_s"] / 60,
            "wall": 500_000 / mine["steps_per_wall_s"] / 60,
            "note": f"extrapolated from {mine['steps']:.0f} steps",
        },
    }
    if args.threads:
        document["two_threads"] = rates(ours(args.steps // 2, 2))
    if args.peer_python:
        document["benchmarl"] = found
        for way in ("cpu", "wall"):
            name = f"steps_per_{way}_s"
            document[f"ratio_{way}"] = {task: mine[name] / theirs[name] for task, theirs in found.items()}
    print(json.dumps(document, indent=1))


if __name__ == "__main__":
    main()
