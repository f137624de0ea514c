"""One tick of many cases: every car decides from the current state, then all move at once.

Cases do not touch each other and cars of a case see only the state before the tick and last tick's plans, so neither
the
order of cars nor the size of the batch nor the number of threads can change a result.
"""

from __future__ import annotations

import math

import numpy as np

from giveway.core import _box_kernels
from giveway.planning import encounters, idm, occupancy, profiles
from giveway.planning.builtin import LOOK_AHEAD_M, SIDE_MARGIN_M
from giveway.planning.encounters import choose_profile
from giveway.planning.idm import IdmParameters, idm_acceleration
from giveway.planning.occupancy import lead_on_path
from giveway.planning.profiles import (
    CHECK_STEPS,
    DT_S,
    NUM_CANDIDATES,
    PLAN_STEPS,
    ROW_FACTS,
    ProfileParameters,
)
from giveway.roads import route_tables
from giveway.sim import motion, sight
from giveway.sim.arrays import PAST, Driver, Fixed, Forecast, Moving, Status
from giveway.sim.compiling import compiled
from giveway.sim.motion import cruise, look_up, move_free, place, spawn
from giveway.sim.sight import gather_rows

REPLAY = int(Driver.REPLAY)
IDM = int(Driver.IDM)
PLANNER = int(Driver.PLANNER)
FREE = int(Driver.FREE)
EXTERNAL = int(Driver.EXTERNAL)
PRESENT = int(Status.PRESENT)
GONE = int(Status.GONE)

REMOVE_WITHIN_M = 1.0
"""A car is taken out when it is this close to the end of its path."""


@compiled(_box_kernels, idm, occupancy, route_tables, profiles, encounters, motion, sight)
def advance(
    fixed: Fixed,
    moving: Moving,
    forecast: Forecast,
    tick: int,
    idm_parameters: IdmParameters,
    profile_parameters: ProfileParameters,
    first_case: int,
    last_case: int,
) -> None:
    """Move cases ``first_case <= c < last_case`` from ``tick`` to ``tick + 1``; finished ones stay.

    Tick -1 is before the start, when nobody is present: stepping from there places everybody who is present at tick 0.
    """
    agents = fixed.driver.shape[1]
    most = agents * max(forecast.probability.shape[1], 1)
    row_states, row_facts = np.empty((most, CHECK_STEPS, 4)), np.empty((most, ROW_FACTS))
    blocked = np.empty((most, CHECK_STEPS, 2))
    trial, cost = np.empty((3, PLAN_STEPS + 1, NUM_CANDIDATES)), np.empty(NUM_CANDIDATES)
    now, here, shown = np.empty((agents, 5)), np.empty(agents, dtype=np.bool_), np.empty(agents, dtype=np.bool_)
    column = PAST + tick
    half = tick % 2
    for c in range(first_case, last_case):
        if tick >= fixed.num_ticks[c]:
            continue
        n = fixed.num_agents[c]
        log, on = moving.log[c], moving.on[c]
        size, plans = fixed.size[c], moving.plan_s[1 - half, c]
        states, present, to_ego = now[:n], here[:n], shown[:n]
        for i in range(n):
            here[i] = on[i, column]
            shown[i] = here[i] and not fixed.hidden[c, i]
            now[i, 0] = log[i, column, 0]
            now[i, 1] = log[i, column, 1]
            now[i, 2] = math.hypot(log[i, column, 2], log[i, column, 3])
            now[i, 3] = math.cos(log[i, column, 4])
            now[i, 4] = math.sin(log[i, column, 4])
        for i in range(n):
            driver = fixed.driver[c, i]
            if driver == REPLAY or moving.status[c, i] != PRESENT:
                continue
            if driver == FREE:
                move_free(log[i], column, moving.steer[c], moving.accel[c], i, moving.control[c, i], size[i, 0])
                on[i, column + 1] = True
                continue
            first = fixed.path_first[c, i]
            path = fixed.path[first : first + fixed.path_size[c, i]]
            begin = fixed.coarse_first[c, i]
            coarse = fixed.coarse[begin : begin + fixed.coarse_size[c, i]]
            step = fixed.path_step[c, i]
            s = moving.s[c, i]
            speed = now[i, 2]
            desired = fixed.desired_speed[c, i]
            plan = plans[i]
            if driver == IDM:
                seen = to_ego if fixed.ego[c] == i else present
                gap, lead = lead_on_path(path, coarse, step, i, s, states, seen, size, LOOK_AHEAD_M, SIDE_MARGIN_M)
                accel = idm_acceleration(speed, desired, gap, lead, idm_parameters)
                cruise(plan, s, speed, accel, desired)
                new_speed = max(speed + accel * DT_S, 0.0)
            elif driver == PLANNER:
                rows = gather_rows(
                    i,
                    n,
                    column,
                    fixed.ego[c] == i,
                    now,
                    log,
                    on,
                    fixed.driver[c],
                    size,
                    fixed.hidden[c],
                    fixed.favored[c],
                    fixed.meets[c, i],
                    fixed.sketch,
                    fixed.sketch_first[c],
                    fixed.sketch_size[c],
                    fixed.path_step[c],
                    fixed.rec[c],
                    fixed.rec_on[c],
                    moving.plan_s[half, c],
                    forecast.row[c],
                    forecast.states,
                    forecast.probability,
                    row_states,
                    row_facts,
                )
                best = choose_profile(
                    path,
                    coarse,
                    step,
                    s,
                    speed,
                    moving.accel[c, i],
                    size[i, 0],
                    size[i, 1],
                    desired,
                    moving.plan_s[half, c, i],
                    rows,
                    row_states,
                    row_facts,
                    profile_parameters,
                    blocked,
                    trial,
                    cost,
                )
                for k in range(PLAN_STEPS):  # a slice takes Numba a second to compile
                    plan[k] = trial[0, k + 1, best]
                new_speed = trial[1, 1, best]
                accel = trial[2, 1, best]
            elif driver == EXTERNAL:
                for k in range(PLAN_STEPS):
                    plan[k] = moving.external_s[c, i, k]
                new_speed = moving.external_v[c, i]
                accel = (new_speed - speed) / DT_S
            else:
                cruise(plan, s, speed, 0.0, speed)
                new_speed = speed
                accel = 0.0
            moving.accel[c, i] = accel
            moving.s[c, i] = plan[0]
            if plan[0] >= (path.shape[0] - 1) * step - REMOVE_WITHIN_M:
                moving.status[c, i] = GONE
                continue
            x, y, heading = look_up(path, step, plan[0])
            place(log[i, column + 1], x, y, heading, new_speed)
            on[i, column + 1] = True
        spawn(
            column + 1,
            fixed.driver[c, :n],
            fixed.size[c],
            fixed.spawn_tick[c],
            fixed.start[c],
            fixed.start_s[c],
            fixed.rec[c],
            fixed.rec_on[c],
            moving.status[c],
            moving.first[c],
            moving.s[c],
            log,
            on,
            moving.plan_s[1 - half, c],
            moving.delayed[c],
        )
