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
from giveway.sim.bicycle import ACCEL, HEADING, SPEED, X, Y
from giveway.sim.compiling import compiled
from giveway.sim.drivers.cognitive_control import DECISION_S
from giveway.sim.motion import cruise
from giveway.sim.state import PAST, Decision, DriverCode

ALONG = int(Decision.ALONG)
REPLAY = int(DriverCode.REPLAY)


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
    cars, present, size, lane, routes = state.car, state.present, static.size, state.lane, state.route
    road, count, gaps, speeds, limits = static.road, static.num_agents, ahead.gap, ahead.speed, ahead.limit
    firsts, rows, begin, parts, steps = road.first, road.num_rows, road.coarse_first, road.coarse_count, road.step
    points, coarse_points, free = road.path, road.coarse, ahead.free_speed
    for m in range(world.size):
        if not active[m]:
            continue
        w, i = world[m], car[m]
        n = count[w]
        if w != there:
            there = w
            for j in range(n):
                now[j, 0], now[j, 1], now[j, 2] = cars[w, j, X], cars[w, j, Y], cars[w, j, SPEED]
                now[j, 3], now[j, 4] = math.cos(cars[w, j, HEADING]), math.sin(cars[w, j, HEADING])
        route = routes[w, i]
        path = points[firsts[route] : firsts[route] + rows[route]]
        coarse, step = coarse_points[begin[route] : begin[route] + parts[route]], steps[route]
        s, v = lane[w, i, 0], cars[w, i, SPEED]
        gap, lead = lead_on_path(
            path, coarse, step, i, s, now[:n], present[w, :n], size[w], LOOK_AHEAD_M, SIDE_MARGIN_M
        )
        curve = path[min(max(int(s / step), 0), path.shape[0] - 1), PATH_SPEED]
        gaps[m], speeds[m] = gap, lead
        limits[m] = math.inf
        if curve < free[m]:
            limits[m] = idm_acceleration(v, curve, math.inf, 0.0, p)


@compiled()
def wake(state: Any, mine: Any, world: Any, car: Any, decided: Any, speed: Any) -> Any:
    """(M,) who is there, who decides now, and ticks of their worlds.

    Args:
        state: before the tick.
        mine: (W, A) cars to be moved.
        world: (M,) of each mind.
        car: (M,) of each mind.
        decided: (M,) who has decided before; those who decide now are added.
        speed: (M,) at the last decision [m/s]; of those who decide now, and who appeared at an odd tick, written.
    """
    here, active = np.zeros(world.size, dtype=np.bool_), np.zeros(world.size, dtype=np.bool_)
    tick, ticks, cars = np.zeros(world.size, dtype=np.int64), state.tick, state.car
    for m in range(world.size):
        w, i = world[m], car[m]
        here[m], tick[m] = mine[w, i], ticks[w]
        active[m] = here[m] and tick[m] % 2 == 0
        if active[m] or (here[m] and not decided[m]):
            speed[m] = cars[w, i, SPEED]
        decided[m] = decided[m] or active[m]
    return here, active, tick


@compiled()
def take_snapshot(static: Any, state: Any, watched: Any, rec_s: Any, seen: Any) -> None:
    """Places, speeds and accelerations of all who are watched in worlds that go on, before the tick.

    Cars on replay are where their recording is along its path, and accelerate as over the last 0.2 s.

    Args:
        static: of the batch.
        state: before the tick.
        watched: (W, A) who matters to a mind.
        rec_s: (W, A, L) places of recorded positions [m].
        seen: arrays are written.
    """
    driver, ticks, count = static.driver, static.num_ticks, static.num_agents
    tick, there, cars, lane, log = state.tick, state.present, state.car, state.lane, state.log
    places, speeds, accels, present = seen.s, seen.speed, seen.accel, seen.present
    agents, columns = driver.shape[1], log.shape[2]
    for w in range(tick.size):
        if tick[w] >= ticks[w]:
            continue
        column = PAST + tick[w]
        now, before = column % columns, (column - 2) % columns
        for i in range(count[w]):
            k = w * agents + i
            present[k] = there[w, i]
            if not (there[w, i] and watched[w, i]):
                continue
            speeds[k], places[k], accels[k] = cars[w, i, SPEED], lane[w, i, 0], cars[w, i, ACCEL]
            if driver[w, i] == REPLAY:
                places[k] = rec_s[w, i, min(column, rec_s.shape[2] - 1)]
                change = math.hypot(log[w, i, now, 2], log[w, i, now, 3])
                change -= math.hypot(log[w, i, before, 2], log[w, i, before, 3])
                accels[k] = change / DECISION_S if math.isfinite(change) else 0.0
                present[k] = math.isfinite(places[k])


@compiled(motion)
def write_plans(
    state: Any, decisions: Any, world: Any, car: Any, here: Any, tick: Any, speed: Any, accel: Any, free_speed: Any
) -> None:
    """Plans of the present cars: the held acceleration, both ticks of a decision being one step of the model.

    See ``cognitive_control.ride``. ``speed`` (M,) is that at the last decision, ``tick`` (M,) is odd at its second.
    """
    half = 0.5 * DECISION_S
    lane, cars, plans, speeds, kinds = state.lane, state.car, decisions.along_s, decisions.speed, decisions.kind
    for m in range(world.size):
        if not here[m]:
            continue
        w, i, odd = world[m], car[m], tick[m] % 2 == 1
        s, v, a = lane[w, i, 0], cars[w, i, SPEED], accel[m]
        whole = max(0.0, speed[m] * DECISION_S + (0.5 * a) * DECISION_S**2)
        early = min(max(0.0, speed[m] * half + (0.5 * a) * half**2), whole)
        plan = plans[w, i]
        cruise(plan, s, v, a, max(free_speed[m], v))
        plan[0] = s + (whole - early if odd else early)
        k = 1
        while k < plan.size and plan[k] < plan[k - 1]:  # only the first place has changed, the others never fall
            plan[k] = plan[k - 1]
            k += 1
        kinds[w, i] = ALONG
        speeds[w, i] = max(0.0, speed[m] + a * (DECISION_S if odd else half))
