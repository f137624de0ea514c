"""Does a planner keep the contract? For ours and for yours."""

from __future__ import annotations

import numpy as np

from giveway.core.errors import PredictionError
from giveway.core.histories import constant_velocity_states
from giveway.core.predictions import Trajectories
from giveway.planning.protocol import PLAN_STEPS, Planner, Situation
from giveway.predictors.acceptance import accept
from giveway.sim.prepare import prepare
from giveway.sim.simulation import Simulation
from giveway.testing.drive_scenes import crossing_case, crossing_scene

MAX_ACCEL_MPS2 = 10.4
"""No car speeds up or brakes harder."""


def situations(*, ticks: int = 40) -> list[Situation]:
    """What the ego of a crossing case sees at every fifth tick."""
    simulation = Simulation([prepare(crossing_case(), crossing_scene())])
    found: list[Situation] = []
    for tick in range(ticks):
        inputs = simulation.requests()
        states = constant_velocity_states(inputs.history)[:, None]
        answer = accept(Trajectories.of_states(states, np.ones((len(states), 1))), inputs)
        if tick % 5 == 0:
            found.append(simulation.situation(0, int(simulation.static.ego[0]), simulation.forecast_of(answer)))
        simulation.step(answer)
    return found


def check_planner(planner: Planner) -> None:
    """Finite plans of fifty steps that never go back, start where the car is, and need no more than 10.4 m/s^2.

    Raises:
        PredictionError: naming what is broken.
    """
    where = planner.info.name
    if not planner.info.version:
        raise PredictionError("a planner needs a version", where=where)
    for situation in situations():
        plan = planner.plan(situation)
        if plan.s_m.shape != (PLAN_STEPS,) or not np.isfinite(plan.s_m).all() or not np.isfinite(plan.speed_mps):
            raise PredictionError(f"a plan is {PLAN_STEPS} finite positions", where=where, found=plan.s_m.shape)
        way = np.diff(plan.s_m, prepend=situation.s_m)
        if way.min() < -1e-9 or plan.speed_mps < 0:
            raise PredictionError("a plan must not go back", where=where, found=f"{way.min():.3f} m")
        accel = (plan.speed_mps - situation.speed_mps) / 0.1
        if abs(accel) > MAX_ACCEL_MPS2 + 1e-9 or abs(way[0] / 0.1 - situation.speed_mps) > MAX_ACCEL_MPS2 * 0.1 + 1e-9:
            raise PredictionError("no car changes its speed like that", where=where, found=f"{accel:.1f} m/s^2")
        again = planner.plan(situation)
        if not np.array_equal(again.s_m, plan.s_m):
            raise PredictionError("two calls in the same situation differ", where=where)
