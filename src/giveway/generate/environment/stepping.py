"""One step of many worlds: everybody decides from the current state, all move, then the step is judged."""

from __future__ import annotations

import math

import numpy as np

from giveway.core import _box_kernels
from giveway.core.arrays import BoolArray, FloatArray
from giveway.core.kernels import njit
from giveway.generate.environment import careful, contact, driving, judging, lanes, legacy, natural, observing, safety
from giveway.generate.environment.arrays import (
    DT_S,
    Given,
    Moving,
    Naturalness,
    Results,
    Rules,
)
from giveway.generate.environment.contact import fill_box
from giveway.generate.environment.driving import controls, follow, natural_action, plan_ego
from giveway.generate.environment.judging import judge, potential_of, remember
from giveway.generate.environment.lanes import locate_car, pose_on
from giveway.generate.environment.observing import observe
from giveway.generate.environment.safety import FAN_CHECKS, update_culpable
from giveway.generate.protocol import Outcome
from giveway.planning import encounters, idm, occupancy, profiles
from giveway.planning.profiles import CHECK_STEPS, NUM_CANDIDATES, PLAN_STEPS, ROW_FACTS
from giveway.roads import route_tables
from giveway.roads.tables import RoadTables
from giveway.sim import free_motion, motion
from giveway.sim.compiling import compiled
from giveway.sim.free_motion import ACCEL, HEADING, SPEED, STEER, X, Y, drive_free, steer_for

RUNNING = int(Outcome.RUNNING)


@njit(nogil=True)
def look(state: FloatArray, now: FloatArray) -> None:
    """Write (n, 5) x, y, speed, cosine and sine of the heading of all cars of a world."""
    for i in range(state.shape[0]):
        now[i, 0] = state[i, X]
        now[i, 1] = state[i, Y]
        now[i, 2] = state[i, SPEED]
        now[i, 3] = math.cos(state[i, HEADING])
        now[i, 4] = math.sin(state[i, HEADING])


@njit(nogil=True)
def _on_rails(w: int, i: int, s: float, speed: float, road: RoadTables, moving: Moving) -> None:
    """Put a car that follows its way to a new place on it."""
    way = moving.way[w, i]
    car = moving.state[w, i]
    x, y, heading = pose_on(road, way, s, 0.0)
    car[ACCEL] = (speed - car[SPEED]) / DT_S
    car[X], car[Y], car[HEADING], car[SPEED] = x, y, heading, speed
    car[STEER] = 0.0
    moving.lane[w, i, 0] = s
    moving.lane[w, i, 1] = 0.0
    moving.lane[w, i, 2] = 0.0
    moving.row[w, i] = min(max(int(s / road.step[way] + 0.5), 0), road.num_rows[way] - 1)


@njit(nogil=True)
def start_world(w: int, road: RoadTables, rules: Rules, moving: Moving) -> None:
    """Finish the arrays of a world whose lanes, lane coordinates and speeds have been set."""
    n = moving.state.shape[1]
    for i in range(n):
        way = moving.way[w, i]
        s, d = moving.lane[w, i, 0], moving.lane[w, i, 1]
        car = moving.state[w, i]
        car[X], car[Y], car[HEADING] = pose_on(road, way, s, d)
        car[ACCEL] = 0.0
        moving.lane[w, i, 2] = 0.0
        moving.row[w, i] = min(max(int(s / road.step[way] + 0.5), 0), road.num_rows[way] - 1)
        at = road.first[way] + min(moving.row[w, i], road.num_rows[way] - 2)
        bend = (road.path[at + 1, 4] - road.path[at, 4]) / road.step[way]
        car[STEER] = steer_for(bend, rules.size[i, 0])
        moving.present[w, i] = True
        moving.last_accel[w, i] = 0.0
        for j in range(n):
            moving.culpable[w, i, j] = 0
            moving.inline[w, i, j] = False
    for c in range(rules.cars):
        moving.target[w, c] = moving.way[w, c + 1]
        moving.target_row[w, c] = moving.row[w, c + 1]
        car, ego = moving.state[w, c + 1], moving.state[w, 0]
        moving.distance[w, c] = math.hypot(car[X] - ego[X], car[Y] - ego[Y])
    for t in range(PLAN_STEPS):
        moving.plan_s[w, t] = moving.lane[w, 0, 0] + moving.state[w, 0, SPEED] * DT_S * t
    moving.age[w] = 0
    moving.still[w] = 0
    moving.outcome[w] = RUNNING
    moving.fault[w] = 0
    moving.avoidable[w] = False
    moving.facts[w, :] = 0.0
    moving.facts[w, 0] = math.inf
    moving.facts[w, 1] = math.nan
    moving.facts[w, 2] = 1.0
    moving.facts[w, 7] = -1.0
    moving.potential[w] = potential_of(moving.distance[w], moving.present[w])
    update_culpable(
        moving.state[w], moving.lane[w], moving.present[w], rules.size, moving.culpable[w], moving.inline[w]
    )
    for i in range(n):
        for j in range(n):
            moving.culpable[w, i, j] = 0
    remember(w, moving)


@compiled(_box_kernels, lanes, safety, judging)
def start(road: RoadTables, rules: Rules, moving: Moving, results: Results, worlds: BoolArray) -> None:
    """Begin the marked worlds and let their cars look around."""
    for w in range(worlds.size):
        if worlds[w]:
            start_world(w, road, rules, moving)
            results.terminated[w, :] = False
            results.truncated[w] = False
            observe(w, road, rules, moving, moving.present[w], results.observations[w])


@compiled(lanes, driving, idm, occupancy, route_tables)
def natural_actions(road: RoadTables, rules: Rules, moving: Moving, out: FloatArray) -> None:
    """Write (W, k, 2) what ordinary drivers would do in the learning cars' place."""
    now = np.empty((moving.state.shape[1], 5))
    for w in range(moving.state.shape[0]):
        look(moving.state[w], now)
        for i in range(1, rules.cars + 1):
            if moving.present[w, i]:
                natural_action(w, i, road, rules, moving, now, out[w, i - 1])
            else:
                out[w, i - 1, :] = 0.0


@compiled(
    _box_kernels, lanes, driving, contact, careful, safety, natural, legacy, judging, observing, idm, occupancy,
    route_tables, profiles, encounters, free_motion, motion,
)  # fmt: skip
def advance(
    road: RoadTables,
    rules: Rules,
    prior: Naturalness,
    moving: Moving,
    given: Given,
    results: Results,
    first: int,
    last: int,
) -> None:
    """Move worlds ``first <= w < last`` that are running by one step; the others keep their flags, with rewards 0."""
    n = moving.state.shape[1]
    k = rules.cars
    now = np.empty((n, 5))
    before = np.empty((n, 7))
    after = np.empty((n, 7))
    speed_before = np.empty(n)
    row_states, row_facts = np.empty((n, CHECK_STEPS, 4)), np.empty((n, ROW_FACTS))
    blocked = np.empty((n, CHECK_STEPS, 2))
    trial, cost = np.empty((3, PLAN_STEPS + 1, NUM_CANDIDATES)), np.empty(NUM_CANDIDATES)
    boxes = np.empty((FAN_CHECKS, n, 7))
    for w in range(first, last):
        results.rewards[w, :] = 0.0
        results.terms[w] = 0.0
        if moving.outcome[w] != RUNNING:
            results.active[w, :] = False
            continue
        state, lane = moving.state[w], moving.lane[w]
        look(state, now)
        for i in range(n):
            fill_box(state[i, X], state[i, Y], state[i, HEADING], rules.size[i, 0], rules.size[i, 1], before[i])
            speed_before[i] = state[i, SPEED]
            moving.last_accel[w, i] = state[i, ACCEL]
        ego_s, ego_speed = lane[0, 0], 0.0
        if given.finding[w] == 0:
            ego_s, ego_speed = plan_ego(w, road, rules, moving, given, now, row_states, row_facts, blocked, trial, cost)
        for i in range(1 + k, n):
            if moving.present[w, i]:
                accel = follow(w, i, road, rules, moving, now)
                new = max(speed_before[i] + accel * DT_S, 0.0)
                _on_rails(w, i, lane[i, 0] + 0.5 * (speed_before[i] + new) * DT_S, new, road, moving)
                if lane[i, 0] > road.length[moving.way[w, i]]:
                    moving.present[w, i] = False
        for i in range(1, k + 1):
            results.active[w, i - 1] = moving.present[w, i]
            if moving.present[w, i]:
                accel, rate = controls(w, i, road, rules, moving, given.actions[w, i - 1])
                drive_free(state[i], accel, rate, rules.size[i, 0], DT_S, rules.bounds, state[i])
                way, row = locate_car(
                    road, moving.way[w, i], moving.row[w, i], state[i, X], state[i, Y], state[i, HEADING], lane[i]
                )
                moving.way[w, i] = way
                moving.row[w, i] = row
        if given.finding[w] == 0:
            _on_rails(w, 0, ego_s, ego_speed, road, moving)
        for i in range(n):
            fill_box(state[i, X], state[i, Y], state[i, HEADING], rules.size[i, 0], rules.size[i, 1], after[i])
        moving.age[w] += 1
        judge(w, road, rules, prior, moving, given, results, before, after, speed_before, boxes)
        observe(w, road, rules, moving, moving.present[w], results.observations[w])
