"""What the planner of one car may know at a tick, from the arrays of its world."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray, IntArray
from giveway.core.case import TICK_S
from giveway.core.lanes import LaneMap
from giveway.planning.profiles import CHECK_STEPS, ROW_FACTS
from giveway.planning.protocol import HISTORY_TICKS, Situation
from giveway.sim.bicycle import ACCEL, HEADING, SPEED, X, Y
from giveway.sim.sight import gather_rows
from giveway.sim.state import LANE_S, PAST, Decision, Decisions, DriverCode, Forecast, State, Static


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """What the arrays of a world do not say.

    Attributes:
        episode: id of the episode.
        cars: (A,) names of the cars.
        map: lane map of the place, or None.
    """

    episode: str = ""
    cars: tuple[str, ...] = ()
    map: LaneMap | None = None


def route_rows(static: Static, route: int) -> FloatArray:
    """(P, 6) table of a route, read-only."""
    first = int(static.road.first[route])
    rows = static.road.path[first : first + int(static.road.num_rows[route])]
    rows.flags.writeable = False
    return rows


def situation_of(
    static: Static, state: State, decisions: Decisions, forecast: Forecast, w: int, agent: int, names: Names
) -> Situation:
    """What the planner of a car may know now; shares no memory with the simulator that could be written to.

    Args:
        static: of the batch.
        state: of the batch.
        decisions: of the batch; says who moves freely.
        forecast: of this tick.
        w: world.
        agent: the car.
        names: of the world.
    """
    count, tick = int(static.num_agents[w]), int(state.tick[w])
    cars = state.car[w, :count]
    now = np.stack([cars[:, X], cars[:, Y], cars[:, SPEED], np.cos(cars[:, HEADING]), np.sin(cars[:, HEADING])], axis=1)
    is_ego = bool(static.ego[w] == agent)
    present = state.present[w, :count].copy()
    visible = present & ~static.hidden[w, :count] if is_ego else present
    modes, facts = _modes(static, state, decisions, forecast, w, agent, now)
    history, there = _history(state, w, count, tick)
    if is_ego:
        there &= ~static.hidden[w, :count, None]
    history[~there] = np.nan
    route = int(state.route[w, agent])
    favored = static.favored[w, :count]
    return Situation(
        path=route_rows(static, route),
        path_step_m=float(static.road.step[route]),
        s_m=float(state.lane[w, agent, LANE_S]),
        speed_mps=float(now[agent, 2]),
        accel_mps2=float(cars[agent, ACCEL]),
        size_m=static.size[w, agent].copy(),
        desired_speed_mps=float(static.desired_speed[w, agent]),
        previous_s_m=state.plan_s[tick % 2, w, agent].copy(),
        mode_states=modes,
        mode_facts=facts,
        own=agent,
        states=now,
        present=visible,
        sizes=static.size[w, :count].copy(),
        episode=names.episode,
        tick=tick,
        time_s=tick * TICK_S,
        history=history,
        history_present=there,
        route=route,
        map=names.map,
        lane=state.lane[w, agent].copy(),
        has_priority=favored & ~favored[agent],
        ids=names.cars,
    )


def moves_freely(static: Static, decisions: Decisions, w: int) -> BoolArray:
    """(A,) who is not bound to a route."""
    driver, kind = static.driver[w], decisions.kind[w]
    return (driver == DriverCode.ACTIONS) | ((driver == DriverCode.EXTERNAL) & (kind == Decision.FREE))


def _modes(
    static: Static, state: State, decisions: Decisions, forecast: Forecast, w: int, agent: int, now: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """(M, 25, 4) and (M, 5): what others will do, see :class:`giveway.planning.protocol.Situation`."""
    road, count = static.road, len(now)
    column = PAST + int(state.tick[w])
    most = count * max(forecast.probability.shape[1], 1)
    states, facts = np.empty((most, CHECK_STEPS, 4)), np.empty((most, ROW_FACTS))
    rows = gather_rows(
        agent,
        count,
        column,
        column % state.log.shape[2],
        bool(static.ego[w] == agent),
        bool(static.foresees[w]),
        now,
        state.log[w],
        state.present[w],
        static.driver[w],
        moves_freely(static, decisions, w),
        static.size[w],
        static.hidden[w],
        static.favored[w],
        static.meets[w, agent],
        road.sketch,
        road.sketch_first,
        road.sketch_count,
        road.step,
        state.route[w],
        static.rec[w],
        static.rec_on[w],
        state.plan_s[int(state.tick[w]) % 2, w],
        forecast.row[w],
        forecast.states,
        forecast.probability,
        states,
        facts,
    )
    return states[:rows], facts[:rows]


def _history(state: State, w: int, count: int, tick: int) -> tuple[FloatArray, BoolArray]:
    """(A, 20, 5) the last two seconds and (A, 20) who was there; what the log no longer holds was not there."""
    columns = state.log.shape[2]
    back: IntArray = np.arange(HISTORY_TICKS - 1, -1, -1)
    at = PAST + tick - back
    known = (at >= 0) & (back < columns - 1)
    history = state.log[w, :count][:, at % columns]
    return history, state.on[w, :count][:, at % columns] & known
