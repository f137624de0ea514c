"""Agent-steps per second: IDM traffic and an ego with the default planner, against highway-env with its own IDM
traffic.

python benchmarks/simulator.py

Both drive the same number of cars on a straight three-lane road in steps of 0.1 s, on one core, in one run, taking
turns; CPU time, best of several. Ratios matter, seconds do not.
"""

from __future__ import annotations

import json
import platform
import time
from typing import Any

import numpy as np

from giveway.core.case import Car, Case, Role
from giveway.core.histories import constant_velocity_states
from giveway.core.predictions import Trajectories
from giveway.planning.profiles import LATTICE_3
from giveway.predictors.acceptance import accept
from giveway.sim.prepare import PreparedCase, prepare
from giveway.sim.simulation import Simulation
from giveway.testing.drive_scenes import DrivenCar, scene_of

STEPS = 60
AGENTS = 21
BATCH = 128
ROUNDS = 15


def traffic(agents: int) -> PreparedCase:
    """An ego among IDM cars on three lanes, about 25 m apart, three of them predicted."""
    cars = []
    for i in range(agents):
        x, y = 1000.0 + 25.0 * (i // 3) + 5.0 * (i % 3), 1000.0 + 4.0 * (i % 3)
        cars.append(DrivenCar(id=str(i), points=((x, y), (x + 200.0, y)), speed_mps=7.0 + 0.2 * (i % 5)))
    ego = agents // 2
    near = {ego + k for k in (1, 2, 3)}
    cast = [Car(id=str(i), role=Role.EGO if i == ego else Role.IDM, predicted=i in near) for i in range(agents)]
    scene = scene_of(cars, duration_s=20.0)
    case = Case(
        id="bench",
        dataset="testing",
        recording="bench",
        site="bench",
        tracks_sha256=next(iter(scene.provenance.files.values())),
        start_s=1.0,
        end_s=1.0 + STEPS / 10,
        cars=tuple(cast),
    )
    return prepare(case, scene)


def drive(simulation: Simulation) -> int:
    """Step to the end with constant-velocity predictions; returns the agent-steps."""
    while not simulation.done:
        inputs = simulation.requests()
        states = constant_velocity_states(inputs.history)[:, None]
        simulation.step(accept(Trajectories.of_states(states, np.ones((len(states), 1))), inputs))
    return int(simulation.static.num_agents.sum()) * STEPS


def ours_us(cases: list[PreparedCase], repeats: int) -> float:
    """Least CPU microseconds per agent-step; building the world is not timed, as it is not for the peer."""
    times: list[float] = []
    for _ in range(repeats):
        simulation = Simulation(cases, profiles=LATTICE_3)
        start = time.process_time()
        steps = drive(simulation)
        times.append((time.process_time() - start) / steps * 1e6)
    return min(times)


def highway_road(agents: int) -> Any:
    """The road of a highway-env world with so many cars; None if it is not installed."""
    try:
        import gymnasium
        import highway_env  # noqa: F401
    except ImportError:
        return None
    config = {"vehicles_count": agents - 1, "simulation_frequency": 10, "policy_frequency": 10, "lanes_count": 3}
    env = gymnasium.make("highway-v0", config=config)
    env.reset(seed=0)
    return env.unwrapped.road


def highway_us(road: Any) -> float:
    """CPU microseconds per agent-step of 20 steps."""
    start = time.process_time()
    for _ in range(20):
        road.act()
        road.step(0.1)
    return (time.process_time() - start) / 20 / len(road.vehicles) * 1e6


def main() -> None:
    one = traffic(AGENTS)
    drive(Simulation([one], profiles=LATTICE_3))
    road = highway_road(AGENTS)
    peers, singles, batches = [], [], []
    for _ in range(ROUNDS):
        peers += [highway_us(road)] if road is not None else []
        singles.append(ours_us([one], 2))
        batches.append(ours_us([one] * BATCH, 1))
    peer, single, batch = min(peers, default=None), min(singles), min(batches)
    by_agents = {n: ours_us([traffic(n)] * 4, 5) for n in (6, 12, 25, 50, 100, 200)}
    by_cases = {n: ours_us([one] * n, 5) for n in (1, 4, 16, 64, 128)}
    print(
        json.dumps(
            {
                "machine": platform.processor() or platform.machine(),
                "agents": AGENTS,
                "batch": BATCH,
                "highway_env_us_per_agent_step": peer,
                "single_case_us_per_agent_step": single,
                "batch_us_per_agent_step": batch,
                "batch_agent_steps_per_s": 1e6 / batch,
                "ratio_single": None if peer is None else peer / single,
                "ratio_batch": None if peer is None else peer / batch,
                "targets": {"ratio_single": 25, "ratio_batch": 120},
                "us_per_agent_step_by_agents": by_agents,
                "us_per_agent_step_by_cases": by_cases,
            },
            indent=1,
        )
    )


if __name__ == "__main__":
    main()
