"""Between the simulator and minds: what the road ahead allows, and plans of held accelerations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from giveway.planning import idm, occupancy
from giveway.planning.builtin import LOOK_AHEAD_M, SIDE_MARGIN_M
from giveway.planning.idm import IdmParameters, idm_acceleration
from giveway.planning.occupancy import lead_on_path
from giveway.roads import route_tables
from giveway.roads.route_tables import PATH_SPEED
from giveway.sim import motion
from giveway.sim.bicycle import HEADING, SPEED, X, Y
from giveway.sim.compiling import compiled
from giveway.sim.drivers.cognitive_control import DECISION_S
from giveway.sim.motion import cruise
from giveway.sim.state import Decision

ALONG = int(Decision.ALONG)


@compiled(idm, occupancy, route_tables)
def look_ahead(static: Any, state: Any, world: Any, car: Any, active: Any, ahead: Any, p: IdmParameters) -> None:
    """Car ahead on the own route, and the acceleration that its curves allow, of every mind that decides.

    Args:
        static: of the batch.
        state: before the tick.
        world: (M,) of each mind.
        car: (M,) of each mind.
        active: (M,) who decides.
        ahead: gap, speed and limit are written.
        p: car following.
    """
    agents = static.driver.shape[1]
    now, there = np.empty((agents, 5)), -1
    road, cars, present, size = static.road, state.car, state.present, static.size
    for m in range(world.size):
        if not active[m]:
            continue
        w, i = world[m], car[m]
        n = static.num_agents[w]
        if w != there:
            there = w
            for j in range(n):
                now[j, 0], now[j, 1], now[j, 2] = cars[w, j, X], cars[w, j, Y], cars[w, j, SPEED]
                now[j, 3], now[j, 4] = math.cos(cars[w, j, HEADING]), math.sin(cars[w, j, HEADING])
        route = state.route[w, i]
        first, begins = road.first[route], road.coarse_first[route]
        path = road.path[first : first + road.num_rows[route]]
        coarse, step = road.coarse[begins : begins + road.coarse_count[route]], road.step[route]
        s, v = state.lane[w, i, 0], cars[w, i, SPEED]
        gap, lead = lead_on_path(
            path, coarse, step, i, s, now[:n], present[w, :n], size[w], LOOK_AHEAD_M, SIDE_MARGIN_M
        )
        curve = path[min(max(int(s / step), 0), path.shape[0] - 1), PATH_SPEED]
        ahead.gap[m], ahead.speed[m] = gap, lead
        ahead.limit[m] = math.inf
        if curve < ahead.free_speed[m]:
            ahead.limit[m] = idm_acceleration(v, curve, math.inf, 0.0, p)


@compiled(motion)
def write_plans(
    state: Any, decisions: Any, world: Any, car: Any, here: Any, odd: Any, speed: Any, accel: Any, free_speed: Any
) -> None:
    """Plans of the present cars: the held acceleration, both ticks of a decision being one step of the model.

    See ``cognitive_control.ride``. ``speed`` (M,) is that at the last decision, ``odd`` (M,) tells its second tick.
    """
    half = 0.5 * DECISION_S
    for m in range(world.size):
        if not here[m]:
            continue
        w, i = world[m], car[m]
        s, v, a = state.lane[w, i, 0], state.car[w, i, SPEED], accel[m]
        whole = max(0.0, speed[m] * DECISION_S + (0.5 * a) * DECISION_S**2)
        early = min(max(0.0, speed[m] * half + (0.5 * a) * half**2), whole)
        plan = decisions.along_s[w, i]
        cruise(plan, s, v, a, max(free_speed[m], v))
        plan[0] = s + (whole - early if odd[m] else early)
        for k in range(1, plan.size):
            plan[k] = max(plan[k], plan[k - 1])
        decisions.kind[w, i] = ALONG
        decisions.speed[w, i] = max(0.0, speed[m] + a * (DECISION_S if odd[m] else half))
