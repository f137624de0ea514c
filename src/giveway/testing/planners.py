"""Does a planner keep the contract? For ours and for yours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace

import numpy as np

from giveway.core.errors import PredictionError
from giveway.core.histories import constant_velocity_states
from giveway.core.predictions import Trajectories
from giveway.planning.protocol import Answer, Episode, Planner, Situation
from giveway.predictors.acceptance import accept
from giveway.sim.drivers.hosts import Finding, LocalHost
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
    """Answers that the simulator accepts, the same for the same episode, whatever else is driven beside it.

    An episode is asked in order of time: alone, again, and in turns with a second one. A planner that differs keeps
    state that an episode does not begin with; see :meth:`giveway.Planner.reset`.

    Raises:
        PredictionError: naming what is broken.
        UsageError: a planner with state that cannot be copied.
    """
    where = planner.info.name
    if not planner.info.version:
        raise PredictionError("a planner needs a version", where=where)
    seen = situations()
    alone, again = (_answers(planner, where, [{0: one} for one in seen]) for _ in range(2))
    beside = [{1: replace(one, episode="another"), 0: one} for one in seen]
    for other, when in ((again, "two calls in the same situation"), (_answers(planner, where, beside), "batches")):
        if not all(map(_are_equal, alone, other)):
            raise PredictionError(
                f"answers of {when} differ",
                where=where,
                hint="draw from the seed of the episode, and begin with nothing in reset(episode)",
            )


def _answers(planner: Planner, where: str, asked: Sequence[Mapping[int, Situation]]) -> list[Answer]:
    """What the planner of slot 0 says, tick by tick."""
    host = LocalHost(planner)
    for slot in asked[0]:
        host.reset(slot, episode_of(asked[0][slot]))
    out: list[Answer] = []
    for situation in asked:
        answer = host.plan(situation)[0]
        if isinstance(answer, Finding):
            raise PredictionError(
                "the planner's answer cannot be driven", where=f"{where}, tick {answer.tick}", found=answer.sentence
            )
        out.append(answer)
    return out


def episode_of(first: Situation) -> Episode:
    """The episode that begins with a situation."""
    return Episode(
        id=first.episode,
        seed=0,
        route=first.path,
        route_step_m=first.path_step_m,
        map=first.map,
        size_m=first.size_m,
        goal_m=(len(first.path) - 1) * first.path_step_m,
    )


def _are_equal(one: Answer, two: Answer) -> bool:
    return type(one) is type(two) and all(
        np.array_equal(getattr(one, f.name), getattr(two, f.name)) for f in fields(one)
    )
