"""Does a planner keep the contract? For ours and for yours."""

from __future__ import annotations

import numpy as np

from giveway.core.errors import PredictionError
from giveway.core.histories import constant_velocity_states
from giveway.core.predictions import Trajectories
from giveway.planning.protocol import Planner, Situation
from giveway.predictors.acceptance import accept
from giveway.sim.plans import problem_of
from giveway.sim.prepare import prepare
from giveway.sim.simulation import Simulation
from giveway.testing.drive_scenes import crossing_case, crossing_scene


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
    """Plans that the simulator accepts (:func:`giveway.sim.plans.problem_of`), the same for the same situation.

    Raises:
        PredictionError: naming what is broken.
    """
    where = planner.info.name
    if not planner.info.version:
        raise PredictionError("a planner needs a version", where=where)
    for situation in situations():
        plan = planner.plan(situation)
        problem = problem_of(plan, situation)
        if problem:
            raise PredictionError("the planner's answer cannot be driven", where=where, found=problem)
        again = planner.plan(situation)
        if not np.array_equal(again.s_m, plan.s_m):
            raise PredictionError("two calls in the same situation differ", where=where)
