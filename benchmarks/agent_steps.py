"""Agent-steps per CPU second of the simulator without a planner: replayed, car-following and action-driven cars.

python benchmarks/agent_steps.py [--worlds 256] [--steps 100]

Every tick moves all cars (a third each of replay, IDM and actions on three lanes), tests every pair of cars of a world
for contact, and writes what the ego of each world sees (its state, 40 points of its path, 16 other cars). PufferDrive,
a simulator in C, is reported with 2.45 million agent-steps per second with four agents on the same kind of machine; the
ratio to that number is printed, it was not run here.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from dataclasses import replace

import numpy as np
from simulator import traffic

from giveway.core.arrays import BoolArray
from giveway.sim import contacts
from giveway.sim.bicycle import HEADING, X, Y
from giveway.sim.compiling import compiled
from giveway.sim.contacts import boxes_touch, fill_box
from giveway.sim.simulation import Simulation
from giveway.sim.state import DriverCode, State, Static
from giveway.sim.step import advance
from giveway.sim.views.observing import empty_observation, observe_worlds

PUFFER_DRIVE = 2.45e6


@compiled(contacts)
def count_contacts(static: Static, state: State, boxes: np.ndarray, touching: BoolArray) -> int:
    """Contacts of all pairs of all worlds."""
    found = 0
    for w in range(static.num_agents.size):
        n = static.num_agents[w]
        for i in range(n):
            car, size = state.car[w, i], static.size[w, i]
            fill_box(car[X], car[Y], car[HEADING], size[0], size[1], boxes[i])
        for i in range(n):
            for j in range(i + 1, n):
                touching[w, i, j] = state.present[w, i] and state.present[w, j] and boxes_touch(boxes[i], boxes[j])
                found += touching[w, i, j]
    return found


def run(agents: int, worlds: int, steps: int) -> float:
    """Agent-steps per CPU second."""
    prepared = traffic(agents)
    third = np.arange(agents) % 3
    codes = np.array([DriverCode.REPLAY, DriverCode.IDM, DriverCode.ACTIONS])[third]
    simulation = Simulation([replace(prepared, driver=codes.astype(np.int64))] * worlds)
    static, state, decisions = simulation.static, simulation.state, simulation.decisions
    everyone, seen = np.ones(worlds, dtype=np.bool_), empty_observation(worlds)
    priority, areas = np.zeros((worlds, agents), dtype=np.int64), np.zeros((worlds, 0, 6))
    none, expected = np.zeros(worlds, dtype=np.int64), np.full(worlds, 50.0)
    boxes, touching = np.empty((agents, 7)), np.zeros((worlds, agents, agents), dtype=np.bool_)
    rng = np.random.default_rng(0)
    controls = rng.uniform((-1.0, -0.02), (1.0, 0.02), (8, worlds, agents, 2))
    static.num_ticks[:] = min(steps, int(static.num_ticks[0]))
    began = moved = 0.0
    for k in range(int(static.num_ticks[0])):
        if k == 2:  # compiled and warm by now
            began = time.process_time()
        moved += int(state.present.sum()) if k >= 2 else 0
        decisions.control[:] = controls[k % 8]
        advance(static, state, decisions, simulation._no_forecast, simulation.idm, simulation.profiles, 0, worlds)
        count_contacts(static, state, boxes, touching)
        observe_worlds(static, state, everyone, expected, priority, areas, none, *seen.values())
    return moved / (time.process_time() - began)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=256)
    parser.add_argument("--steps", type=int, default=60)
    options = parser.parse_args()
    speeds = {agents: max(run(agents, options.worlds, options.steps) for _ in range(3)) for agents in (4, 12, 24, 48)}
    best = max(speeds.values())
    print(
        json.dumps(
            {
                "machine": platform.processor() or platform.machine(),
                "worlds": options.worlds,
                "agent_steps_per_cpu_s": {str(n): round(v) for n, v in speeds.items()},
                "target": 1_000_000,
                "ratio_to_pufferdrive_reported": best / PUFFER_DRIVE,
            },
            indent=1,
        )
    )


if __name__ == "__main__":
    main()
