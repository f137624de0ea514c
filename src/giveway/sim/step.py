"""One tick of many worlds: every car decides from the current state, then all move at once.

Worlds do not touch each other and cars of a world see only the state before the tick and last tick's plans, so neither
the order of cars nor the size of the batch nor the number of threads can change a result.
"""

from __future__ import annotations

import math

import numpy as np

from giveway.core import _box_kernels
from giveway.core.arrays import BoolArray
from giveway.planning import encounters, idm, negotiation, occupancy, profiles, right_of_way
from giveway.planning.builtin import LOOK_AHEAD_M, SIDE_MARGIN_M
from giveway.planning.idm import IdmParameters, comfortable_accel, idm_acceleration
from giveway.planning.negotiation import EMERGENCY, GAP, NUM_NEGOTIATED, WAITED, plan_profile
from giveway.planning.occupancy import lead_on_path
from giveway.planning.profiles import CHECK_STEPS, DT_S, LATTICE_2, PLAN_STEPS, ROW_FACTS, ProfileParameters
from giveway.roads import route_tables
from giveway.roads.route_tables import PATH_SPEED
from giveway.sim import bicycle, locate, motion, sight
from giveway.sim.bicycle import ACCEL, HEADING, SPEED, STEER, X, Y, drive_free
from giveway.sim.compiling import compiled
from giveway.sim.locate import locate_car
from giveway.sim.motion import cruise, look_up, note, place, replay, spawn
from giveway.sim.sight import gather_rows
from giveway.sim.state import PAST, Decision, Decisions, DriverCode, Forecast, State, Static, Status

REPLAY = int(DriverCode.REPLAY)
IDM = int(DriverCode.IDM)
PLANNER = int(DriverCode.PLANNER)
ACTIONS = int(DriverCode.ACTIONS)
EXTERNAL = int(DriverCode.EXTERNAL)
FREE = int(Decision.FREE)
WAITING = int(Status.WAITING)
PRESENT = int(Status.PRESENT)
GONE = int(Status.GONE)

REMOVE_WITHIN_M = 1.0
"""A car is taken out when it is this close to the end of its route."""


@compiled(_box_kernels, motion)
def begin(static: Static, state: State, worlds: BoolArray) -> None:
    """Start the episodes of the marked worlds: pasts are loaded, everybody who is there at tick 0 appears."""
    columns = state.log.shape[2]
    for w in range(worlds.size):
        if not worlds[w]:
            continue
        state.tick[w] = 0
        state.ego_memory[w, WAITED] = 0.0
        state.ego_memory[w, GAP] = -1.0
        state.ego_memory[w, EMERGENCY] = 0.0
        n = static.num_agents[w]
        for i in range(static.driver.shape[1]):
            driver = static.driver[w, i]
            now = driver == REPLAY and static.rec_on.shape[2] > PAST and static.rec_on[w, i, PAST]
            state.status[w, i] = PRESENT if now else WAITING
            state.present[w, i] = now
            state.delayed[w, i] = 0
            for column in range(columns):
                for k in range(5):
                    state.log[w, i, column, k] = np.nan
                state.on[w, i, column] = False
            # Presence before the episode counts only if it runs into tick 0 without a gap.
            alive = now if driver == REPLAY else static.spawn_tick[w, i] == 0
            state.first[w, i] = PAST
            for column in range(PAST - 1, -1, -1):
                there = static.past_on[w, i, column]
                state.on[w, i, column] = there
                for k in range(5):
                    state.log[w, i, column, k] = static.past[w, i, column, k]
                alive = alive and there
                if alive:
                    state.first[w, i] = column
        if static.rec.shape[2] > 0:
            replay(
                PAST, 0, static.driver[w, :n], static.rec[w], static.rec_on[w], state.status[w], state.present[w],
                state.first[w], state.car[w], state.log[w], state.on[w],
            )  # fmt: skip
        spawn(
            PAST, 0, static.driver[w, :n], static.size[w], static.spawn_tick[w], static.start[w], static.start_lane[w],
            static.start_steer[w], static.start_route[w], static.start_row[w], state.status[w], state.present[w],
            state.first[w], state.car[w], state.lane[w], state.route[w], state.row[w], state.log[w], state.on[w],
            state.plan_s[0, w], state.delayed[w], np.zeros(n, dtype=np.bool_),
        )  # fmt: skip


@compiled(
    _box_kernels,
    idm,
    occupancy,
    route_tables,
    right_of_way,
    profiles,
    encounters,
    negotiation,
    bicycle,
    locate,
    motion,
    sight,
)
def advance(
    static: Static,
    state: State,
    decisions: Decisions,
    forecast: Forecast,
    idm_parameters: IdmParameters,
    profile_parameters: ProfileParameters,
    first_world: int,
    last_world: int,
) -> None:
    """Move worlds ``first_world <= w < last_world`` by one tick; finished ones stay."""
    agents = static.driver.shape[1]
    columns = state.log.shape[2]
    road = static.road
    most = agents * max(forecast.probability.shape[1], 1)
    row_states, row_facts = np.empty((most, CHECK_STEPS, 4)), np.empty((most, ROW_FACTS))
    blocked = np.empty((most, CHECK_STEPS, 2))
    trial, cost = np.empty((3, PLAN_STEPS + 1, NUM_NEGOTIATED)), np.empty(NUM_NEGOTIATED)
    now, shown = np.empty((agents, 5)), np.empty(agents, dtype=np.bool_)
    here, free = np.empty(agents, dtype=np.bool_), np.empty(agents, dtype=np.bool_)
    for w in range(first_world, last_world):
        tick = state.tick[w]
        if tick >= static.num_ticks[w]:
            continue
        column, after = (PAST + tick) % columns, (PAST + tick + 1) % columns
        half = tick % 2
        n = static.num_agents[w]
        ego = static.ego[w]
        cars, lanes = state.car[w], state.lane[w]
        log, on, present = state.log[w], state.on[w], state.present[w]
        size, plans = static.size[w], state.plan_s[1 - half, w]
        for i in range(n):
            driver = static.driver[w, i]
            free[i] = driver == ACTIONS or (driver == EXTERNAL and decisions.kind[w, i] == FREE)
            here[i] = present[i]
            shown[i] = here[i] and not static.hidden[w, i]
            now[i, 0] = cars[i, X]
            now[i, 1] = cars[i, Y]
            now[i, 2] = cars[i, SPEED]
            now[i, 3] = math.cos(cars[i, HEADING])
            now[i, 4] = math.sin(cars[i, HEADING])
            on[i, after] = False
        for i in range(n):
            driver = static.driver[w, i]
            if driver == REPLAY or not here[i]:
                continue
            car, route = cars[i], state.route[w, i]
            if free[i]:
                control = decisions.control[w, i]
                drive_free(car, control[0], control[1], size[i, 0], DT_S, static.bounds, car)
                slip = math.atan(0.5 * math.tan(car[STEER]))
                place(log[i, after], car[X], car[Y], car[HEADING] + slip, car[SPEED])
                log[i, after, 4] = car[HEADING]
                on[i, after] = True
                if route >= 0:
                    state.route[w, i], state.row[w, i] = locate_car(
                        road, route, state.row[w, i], car[X], car[Y], car[HEADING], lanes[i]
                    )
                    end = (road.num_rows[state.route[w, i]] - 1) * road.step[state.route[w, i]]
                    if driver == EXTERNAL and lanes[i, 0] >= end - REMOVE_WITHIN_M:
                        state.status[w, i] = GONE
                        present[i] = False
                        on[i, after] = False
                continue
            first = road.first[route]
            path = road.path[first : first + road.num_rows[route]]
            begins = road.coarse_first[route]
            coarse = road.coarse[begins : begins + road.coarse_count[route]]
            step = road.step[route]
            s = lanes[i, 0]
            speed = now[i, 2]
            desired = static.desired_speed[w, i]
            plan = plans[i]
            urgent = False
            if driver == IDM:
                accel = decisions.accel[w, i]
                if math.isnan(accel):
                    seen = shown[:n] if ego == i else here[:n]
                    gap, lead = lead_on_path(path, coarse, step, i, s, now[:n], seen, size, LOOK_AHEAD_M, SIDE_MARGIN_M)
                    wanted = desired
                    if static.slows[w, i]:
                        wanted = min(desired, path[min(max(int(s / step), 0), path.shape[0] - 1), PATH_SPEED])
                    accel = idm_acceleration(speed, wanted, gap, lead, idm_parameters)
                    if ego == i and idm_parameters.is_comfortable > 0.0:
                        accel, urgent = comfortable_accel(accel, car[ACCEL], speed, gap, lead, DT_S)
                cruise(plan, s, speed, accel, desired)
                new_speed = max(speed + accel * DT_S, 0.0)
            elif driver == PLANNER:
                rows = gather_rows(
                    i,
                    n,
                    PAST + tick,
                    column,
                    ego == i,
                    static.foresees[w],
                    now,
                    log,
                    here,
                    static.driver[w],
                    free,
                    size,
                    static.hidden[w],
                    static.favored[w],
                    static.meets[w, i],
                    road.sketch,
                    road.sketch_first,
                    road.sketch_count,
                    road.step,
                    state.route[w],
                    static.rec[w],
                    static.rec_on[w],
                    state.plan_s[half, w],
                    forecast.row[w],
                    forecast.states,
                    forecast.probability,
                    row_states,
                    row_facts,
                )
                best = plan_profile(
                    path,
                    coarse,
                    step,
                    s,
                    speed,
                    car[ACCEL],
                    size[i, 0],
                    size[i, 1],
                    desired,
                    state.plan_s[half, w, i],
                    rows,
                    row_states,
                    row_facts,
                    profile_parameters if ego == i else LATTICE_2,
                    blocked,
                    trial,
                    cost,
                    state.ego_memory[w],
                )
                urgent = ego == i and state.ego_memory[w, EMERGENCY] > 0.0
                for k in range(PLAN_STEPS):  # a slice takes Numba a second to compile
                    plan[k] = trial[0, k + 1, best]
                new_speed = trial[1, 1, best]
                accel = trial[2, 1, best]
            elif driver == EXTERNAL:
                for k in range(PLAN_STEPS):
                    plan[k] = decisions.along_s[w, i, k]
                new_speed = decisions.speed[w, i]
                accel = (new_speed - speed) / DT_S
            else:
                cruise(plan, s, speed, 0.0, speed)
                new_speed = speed
                accel = 0.0
            car[ACCEL] = accel
            decisions.speed[w, i] = new_speed
            lanes[i, 0] = plan[0]
            lanes[i, 1] = 0.0
            lanes[i, 2] = 0.0
            if plan[0] >= (path.shape[0] - 1) * step - REMOVE_WITHIN_M:
                state.status[w, i] = GONE
                present[i] = False
                continue
            if i == ego and state.ego_plans.shape[1] > 0:
                for k in range(PLAN_STEPS):
                    state.ego_plans[w, tick, k] = plan[k]
                state.ego_emergency[w, tick] = urgent
            x, y, heading = look_up(path, step, plan[0])
            place(log[i, after], x, y, heading, new_speed)
            note(log[i, after], car)
            car[STEER] = 0.0
            state.row[w, i] = min(max(int(plan[0] / step + 0.5), 0), path.shape[0] - 1)
            on[i, after] = True
        if static.rec.shape[2] > 0:
            replay(
                after, tick + 1, static.driver[w, :n], static.rec[w], static.rec_on[w], state.status[w],
                state.present[w], state.first[w], state.car[w], log, on,
            )  # fmt: skip
        spawn(
            after, tick + 1, static.driver[w, :n], static.size[w], static.spawn_tick[w], static.start[w],
            static.start_lane[w], static.start_steer[w], static.start_route[w], static.start_row[w], state.status[w],
            state.present[w], state.first[w], state.car[w], state.lane[w], state.route[w], state.row[w], log, on,
            state.plan_s[1 - half, w], state.delayed[w], decisions.postponed[w],
        )  # fmt: skip
        state.tick[w] = tick + 1
