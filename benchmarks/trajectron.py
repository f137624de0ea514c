"""Trajectron++: training and sampling against a plain version that loops over modes, steps and paths.

Targets: training at least 5 times, sampling 100 paths at least 20 times faster. The plain version is the one the tests
compare with (tests/references/trajectron.py). Both run on one thread; times are processor time, best of several. Also
reports samples per second and how cost grows with agents and horizon.

    python benchmarks/trajectron.py                    # about half a minute
    python benchmarks/trajectron.py --part sampling
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from giveway.core.samples import AcceptanceBoundary, GapInputs, GapSamples, GapTruth
from giveway.predictors.trajectron.config import TrajectronConfig
from giveway.predictors.trajectron.network import Batch, TrajectronNetwork
from giveway.predictors.trajectron.objective import training_objective
from giveway.predictors.trajectron.sampling import sample_paths
from giveway.predictors.trajectron.training import training_set
from references import trajectron as plain

DT_S = 0.2


def best_cpu_s(function: Callable[[], object], repeats: int) -> float:
    times: list[float] = []
    for _ in range(repeats):
        began = time.process_time()
        function()
        times.append(time.process_time() - began)
    return min(times)


def samples(num: int, *, num_input: int = 2, num_agents: int = 6, num_steps: int = 20) -> GapSamples:
    rng = np.random.default_rng(0)
    xy = rng.uniform(-30, 30, (num, num_agents, 1, 2)) + rng.normal(0, 1, (num, num_agents, num_input, 2))
    return GapSamples(
        dataset="random",
        prediction_time="initial",
        inputs=GapInputs(
            sample_id=np.array([str(i) for i in range(num)]),
            roles=("E", "T", "1", "2", "3", "4")[:num_agents],
            role_is_vulnerable=np.arange(num_agents) == 5,
            xy=xy,
            distance=np.zeros((num, 7, num_input)),
            num_predict=np.full(num, num_steps),
            dt_s=DT_S,
            boundary=AcceptanceBoundary(
                normal=np.tile([1.0, 0.0], (num, 1)), offset_m=np.zeros(num), radius_m=np.full(num, np.nan)
            ),
        ),
        truth=GapTruth(
            accepted=np.ones(num, dtype=bool),
            t_accept_s=np.ones(num),
            t_close_s=np.ones(num),
            future_xy=xy[:, 1, -1:] + rng.normal(0, 1, (num, num_steps, 2)).cumsum(axis=1),
            num_observed=np.full(num, num_steps),
        ),
        group=np.full(num, "g"),
        location=np.full(num, "l"),
        gap_at_acceptance_s=np.ones(num),
        t_open_s=np.zeros(num),
    )


def training(num_agents: int, num_steps: int, *, with_plain: bool) -> dict[str, object]:
    config = TrajectronConfig()
    data = training_set(samples(config.batch_size, num_agents=num_agents, num_steps=num_steps), config)
    torch.manual_seed(0)
    network = TrajectronNetwork(config)
    batch = Batch.of(data.features, torch.device("cpu"))
    future = torch.as_tensor(data.future, dtype=torch.float32)

    def fast() -> None:
        network.zero_grad()
        training_objective(network, batch, future, DT_S, 100).loss.backward()

    def slow() -> None:
        network.zero_grad()
        plain.loss(network, batch, future, DT_S, 100, sample=True).backward()

    fast()
    fast_s = best_cpu_s(fast, 5)
    row: dict[str, object] = {
        "agents": num_agents,
        "steps": num_steps,
        "update_s": fast_s,
        "samples_per_s": config.batch_size / fast_s,
        "epoch_of_1000_s": 20 * fast_s,
    }
    if with_plain:
        slow_s = best_cpu_s(slow, 2)
        row |= {"plain_update_s": slow_s, "ratio": slow_s / fast_s}
    return row


def sampling(num: int, num_steps: int, *, num_agents: int = 6, with_plain: bool = True) -> dict[str, object]:
    config = TrajectronConfig()
    data = samples(num, num_agents=num_agents, num_steps=num_steps)
    torch.manual_seed(0)
    network = TrajectronNetwork(config).eval()
    features = training_set(data, config).features
    batch = Batch.of(features, torch.device("cpu"))

    def slow() -> None:
        with torch.inference_mode():
            plain.sample_paths(network, batch, 100, num_steps, DT_S, torch.Generator().manual_seed(0))

    sample_paths(network, data.inputs, 0)
    fast_s = best_cpu_s(lambda: sample_paths(network, data.inputs, 0), 5)
    row: dict[str, object] = {
        "samples": num,
        "agents": num_agents,
        "steps": num_steps,
        "fast_s": fast_s,
        "samples_per_s": num / fast_s,
    }
    if with_plain:
        slow_s = best_cpu_s(slow, 2)
        row |= {"plain_s": slow_s, "ratio": slow_s / fast_s}
    return row


GROWTH = ((2, 20), (4, 20), (6, 10), (6, 40))
"""Agents and steps."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=("all", "training", "sampling"), default="all", help="what to measure")
    parser.add_argument("--no-growth", action="store_true", help="leave out other numbers of agents and steps")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    report: dict[str, object] = {"benchmark": "trajectron", "torch": torch.__version__, "machine": platform.machine()}
    growth = () if chosen.no_growth else GROWTH
    if chosen.part in ("all", "training"):
        report |= {
            "training": training(6, 20, with_plain=True),
            "training_target_ratio": 5,
            "growth": [training(agents, steps, with_plain=False) for agents, steps in growth],
        }
    if chosen.part in ("all", "sampling"):
        report |= {
            "sampling": [sampling(num, 20) for num in (1, 20, 50)],
            "sampling_target_ratio": 20,
            "sampling_growth": [sampling(20, steps, num_agents=agents, with_plain=False) for agents, steps in growth],
        }
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
