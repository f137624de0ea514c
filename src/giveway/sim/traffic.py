"""Traffic that reacts: what the compiled step knows about yielding and hand-over, and what it does before decisions.

In a world that reacts, cars with driver code IDM give way at shared areas (:mod:`giveway.sim.yielding`), replay cars
that a driven car disturbs are handed over to it (:mod:`giveway.sim.handover`), and late cars appear only where nobody
must brake hard for them. In a world that does not, nothing here has any effect: that is profile ``paper``.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from giveway.core import _box_kernels
from giveway.core.arrays import BoolArray, FloatArray, IntArray
from giveway.core.kernels import njit
from giveway.planning import idm, occupancy, right_of_way
from giveway.planning.builtin import LOOK_AHEAD_M, SIDE_MARGIN_M
from giveway.planning.idm import IdmParameters, idm_acceleration
from giveway.planning.occupancy import lead_car
from giveway.planning.profiles import DT_S, PLAN_STEPS
from giveway.planning.right_of_way import SPAWN_PATIENCE_S, STANDING_MPS, may_appear
from giveway.roads import route_tables
from giveway.roads.route_tables import PATH_SPEED
from giveway.sim import handover, motion, yielding
from giveway.sim.area_tables import no_areas
from giveway.sim.bicycle import HEADING, SPEED, X, Y
from giveway.sim.compiling import compiled
from giveway.sim.handover import EVERY_TICKS, LAST_TICK, disturber
from giveway.sim.motion import look_up
from giveway.sim.state import PAST, Decisions, DriverCode, State, Static, Status
from giveway.sim.yielding import BEHIND_M, Areas, Waiting, nobody_waits, note_waiting, yield_accel

REPLAY = int(DriverCode.REPLAY)
IDM = int(DriverCode.IDM)
ACTIONS = int(DriverCode.ACTIONS)
WAITING = int(Status.WAITING)


class Traffic(NamedTuple):
    """What cars know and remember about giving way and reacting.

    Attributes:
        reacts: (W,) worlds to which this applies.
        areas: that routes share.
        waiting: what cars remember about them.
        route: (W, A) route in ``Static.road``, of cars on replay too; -1 without one.
        may_react: (W, A) replay cars that can be handed over.
        handed: (W, A) tick at which a car was handed over; -1 if it was not.
        cause: (W, A) the driven car that it would have run into; -1.
    """

    reacts: BoolArray
    areas: Areas
    waiting: Waiting
    route: IntArray
    may_react: BoolArray
    handed: IntArray
    cause: IntArray


def traffic_of(reacts: BoolArray, areas: Areas, route: IntArray, may_react: BoolArray) -> Traffic:
    """Traffic before the first tick."""
    shape = route.shape
    return Traffic(
        reacts=reacts,
        areas=areas,
        waiting=nobody_waits(areas),
        route=route,
        may_react=may_react,
        handed=np.full(shape, -1, dtype=np.int64),
        cause=np.full(shape, -1, dtype=np.int64),
    )


def no_traffic(worlds: int, agents: int) -> Traffic:
    """Traffic that does not react."""
    shape = worlds, agents
    nowhere = np.full(shape, -1, dtype=np.int64)
    return traffic_of(np.zeros(worlds, np.bool_), no_areas(*shape), nowhere, np.zeros(shape, dtype=np.bool_))


def copied_traffic(traffic: Traffic, rec_s: FloatArray) -> Traffic:
    """The same traffic with a memory of its own, and other columns of recorded positions."""
    memory: Any = Waiting._make(values.copy() for values in traffic.waiting)
    changed = {name: getattr(traffic, name).copy() for name in ("handed", "cause")}
    return traffic._replace(areas=traffic.areas._replace(rec_s=rec_s), waiting=memory, **changed)


@compiled(_box_kernels, idm, occupancy, right_of_way, route_tables, motion, yielding, handover)
def react(
    static: Static,
    state: State,
    decisions: Decisions,
    traffic: Traffic,
    p: IdmParameters,
    first_world: int,
    last_world: int,
) -> None:
    """Before a tick: hand over replay cars that are disturbed, and decide for all cars with driver code IDM.

    Args:
        static: ``driver`` of cars that are handed over changes; ``start`` of late cars may.
        state: before the tick; route, place on it and plan of cars that are handed over are set.
        decisions: ``accel`` and ``postponed`` are set in worlds that react.
        traffic: memory is updated.
        p: parameters of car following.
        first_world: first world.
        last_world: one after the last.
    """
    agents, road = static.driver.shape[1], static.road
    areas, own = traffic.areas, traffic.waiting
    now = np.empty((agents, 5))
    here, obeys = np.empty(agents, dtype=np.bool_), np.empty(agents, dtype=np.bool_)
    for w in range(first_world, last_world):
        if not traffic.reacts[w] or state.tick[w] >= static.num_ticks[w]:
            continue
        n, size = static.num_agents[w], static.size[w]
        for i in range(n):
            car = state.car[w, i]
            here[i] = state.present[w, i]
            now[i, 0] = car[X]
            now[i, 1] = car[Y]
            now[i, 2] = car[SPEED]
            now[i, 3] = math.cos(car[HEADING])
            now[i, 4] = math.sin(car[HEADING])
        _before_decisions(static, state, traffic, w, n, now, here)
        for i in range(n):
            obeys[i] = static.driver[w, i] == IDM
        for i in range(n):
            if not here[i] or not obeys[i] or i == static.ego[w]:
                continue  # a planner under test drives as it does in any traffic
            # In line: a call that hands over all these tuples takes longer than what it does.
            route, s = state.route[w, i], state.lane[w, i, 0]
            first, begins, step = road.first[route], road.coarse_first[route], road.step[route]
            path = road.path[first : first + road.num_rows[route]]
            coarse = road.coarse[begins : begins + road.coarse_count[route]]
            wanted = static.desired_speed[w, i]
            if static.slows[w, i]:
                wanted = min(wanted, path[min(max(int(s / step), 0), path.shape[0] - 1), PATH_SPEED])
            gap, lead, who = lead_car(path, coarse, step, i, s, now[:n], here[:n], size, LOOK_AHEAD_M, SIDE_MARGIN_M)
            behind = who >= 0 and gap < BEHIND_M and now[who, 2] < STANDING_MPS and now[i, 2] < STANDING_MPS
            own.leader[w, i] = who if behind else -1
            accel = idm_acceleration(now[i, 2], wanted, gap, lead, p)
            if areas.first[w, i] < areas.first[w, i + 1]:
                room = yield_accel(areas, own, w, i, here[:n], now[:n], size, obeys, wanted, gap, lead, p)
                accel = min(accel, room)
            decisions.accel[w, i] = accel
        _postpone(static, state, decisions, traffic, w, n, p)


@njit(cache=True, nogil=True)
def _before_decisions(
    static: Static, state: State, traffic: Traffic, w: int, n: int, now: FloatArray, here: BoolArray
) -> None:
    """Locate cars on their routes, hand over replay cars that are disturbed, and note who waits."""
    tick = state.tick[w]
    own, driver = traffic.waiting, static.driver[w]
    for i in range(n):
        if driver[i] == REPLAY:
            own.s[w, i] = traffic.areas.rec_s[w, i, PAST + tick]
        else:
            known = here[i] and driver[i] != ACTIONS and state.route[w, i] >= 0
            own.s[w, i] = state.lane[w, i, 0] if known else np.nan
    _hand_over(static, state, traffic, w, n, tick, now, here)
    note_waiting(traffic.areas, own, w, here[:n], now[:n], static.size[w], tick)


@njit(cache=True, nogil=True)
def _hand_over(
    static: Static, state: State, traffic: Traffic, w: int, n: int, tick: int, now: FloatArray, here: BoolArray
) -> None:
    driver = static.driver[w]
    driven = np.zeros(n, dtype=np.bool_)
    candidates = False
    for i in range(n):
        driven[i] = here[i] and driver[i] != REPLAY
        candidates = candidates or (here[i] and driver[i] == REPLAY and traffic.may_react[w, i])
    if not candidates or not driven.any():
        return
    ahead = np.empty((n, LAST_TICK // EVERY_TICKS, 4))
    for q in range(n):
        if driven[q]:
            _plan_ahead(static, state, w, q, state.plan_s[tick % 2, w, q], now[q], ahead[q])
    for r in range(n):
        if not here[r] or driver[r] != REPLAY or not traffic.may_react[w, r]:
            continue
        cause = disturber(r, PAST + tick, static.rec[w], static.rec_on[w], static.size[w], driven, now, ahead)
        if cause < 0:
            continue
        traffic.handed[w, r] = tick
        traffic.cause[w, r] = cause
        route, s = traffic.route[w, r], traffic.waiting.s[w, r]
        driver[r] = IDM  # ``driven`` is of before: who is handed over now disturbs others from the next tick on
        state.route[w, r] = route
        state.lane[w, r, 0] = s
        state.lane[w, r, 1] = 0.0
        state.lane[w, r, 2] = 0.0
        state.row[w, r] = min(max(int(s / static.road.step[route] + 0.5), 0), static.road.num_rows[route] - 1)
        for k in range(PLAN_STEPS):
            state.plan_s[tick % 2, w, r, k] = s + now[r, 2] * DT_S * k


@njit(cache=True, nogil=True)
def _plan_ahead(
    static: Static, state: State, w: int, q: int, plan: FloatArray, now: FloatArray, out: FloatArray
) -> None:
    """Where a driven car will be at +0.2 s ... by its last plan; straight on if it moves freely."""
    route = state.route[w, q]
    for k in range(out.shape[0]):
        ticks = (k + 1) * EVERY_TICKS
        if route < 0 or static.driver[w, q] == ACTIONS:
            way = now[2] * DT_S * ticks
            out[k, 0] = now[0] + way * now[3]
            out[k, 1] = now[1] + way * now[4]
            out[k, 2] = now[3]
            out[k, 3] = now[4]
            continue
        first = static.road.first[route]
        path = static.road.path[first : first + static.road.num_rows[route]]
        x, y, heading = look_up(path, static.road.step[route], plan[ticks])
        out[k, 0] = x
        out[k, 1] = y
        out[k, 2] = math.cos(heading)
        out[k, 3] = math.sin(heading)


@njit(cache=True, nogil=True)
def _postpone(
    static: Static, state: State, decisions: Decisions, traffic: Traffic, w: int, n: int, p: IdmParameters
) -> None:
    """Mark late cars that must wait because they, or the car behind, would have to brake harder than 4 m/s^2.

    After 3 s a car appears at the speed of the car ahead, if its place is free. A replay car that would have to wait
    for a driven one is handed over before it appears. Judged from the state before the tick at whose end it would
    appear.
    """
    tick = state.tick[w]
    for i in range(n):
        decisions.postponed[w, i] = False
        if state.status[w, i] != WAITING:
            continue
        if static.driver[w, i] == REPLAY:
            if traffic.may_react[w, i] and static.rec_on[w, i, PAST + tick + 1]:
                _appear_driven(static, state, decisions, traffic, w, n, i, p)
            continue
        if static.spawn_tick[w, i] > tick + 1 or static.start_route[w, i] < 0:
            continue
        own, behind, lead, _ = _around_newcomer(static, state, traffic, w, n, i, p)
        if may_appear(own, behind):
            continue
        if state.delayed[w, i] * DT_S >= SPAWN_PATIENCE_S:
            static.start[w, i, 3] = min(static.start[w, i, 3], lead)
        else:
            decisions.postponed[w, i] = True


@njit(cache=True, nogil=True)
def _appear_driven(
    static: Static, state: State, decisions: Decisions, traffic: Traffic, w: int, n: int, i: int, p: IdmParameters
) -> None:
    """Hand over a replay car that is about to appear too close behind, or ahead of, a driven one."""
    at = PAST + state.tick[w] + 1
    rec, route = static.rec[w, i, at], traffic.route[w, i]
    kept = static.start_route[w, i]
    static.start[w, i, 0] = rec[0]
    static.start[w, i, 1] = rec[1]
    static.start[w, i, 2] = rec[4]
    static.start[w, i, 3] = math.hypot(rec[2], rec[3])
    static.start_lane[w, i, 0] = traffic.areas.rec_s[w, i, at]
    static.start_route[w, i] = route
    own, behind, _, cause = _around_newcomer(static, state, traffic, w, n, i, p)
    if cause < 0 or may_appear(own, behind):
        static.start_route[w, i] = kept
        return
    static.driver[w, i] = IDM
    static.spawn_tick[w, i] = state.tick[w] + 1
    row = int(static.start_lane[w, i, 0] / static.road.step[route] + 0.5)
    static.start_row[w, i] = min(max(row, 0), static.road.num_rows[route] - 1)
    traffic.handed[w, i] = state.tick[w] + 1
    traffic.cause[w, i] = cause
    decisions.postponed[w, i] = True


@njit(cache=True, nogil=True)
def _around_newcomer(
    static: Static, state: State, traffic: Traffic, w: int, n: int, i: int, p: IdmParameters
) -> tuple[float, float, float, int]:
    """Accelerations of a car at its start and of those behind it, the speed ahead, and the driven car concerned.

    A car ahead of or behind a replay car counts only if it is driven: the rest is as people did.
    """
    then, there = _with_newcomer(static, state, w, n, i)
    own, lead, cause = _accel_on(static, w, i, static.start_route[w, i], static.start_lane[w, i, 0], then, there, -1, p)
    replayed = static.driver[w, i] == REPLAY
    if replayed and cause >= 0 and static.driver[w, cause] == REPLAY:
        own, cause = 0.0, -1
    behind = 0.0
    for j in range(n):
        is_replay = static.driver[w, j] == REPLAY
        route = traffic.route[w, j] if is_replay else state.route[w, j]
        s = traffic.waiting.s[w, j]
        if j == i or not there[j] or route < 0 or math.isnan(s) or (is_replay and replayed):
            continue
        accel = _accel_on(static, w, j, route, s, then, there, i, p)[0]
        if accel < behind:
            behind = accel
            cause = j if cause < 0 else cause
    return own, behind, lead, cause


@njit(cache=True, nogil=True)
def _with_newcomer(static: Static, state: State, w: int, n: int, i: int) -> tuple[FloatArray, BoolArray]:
    """(n, 5) states and (n,) presence after the tick, with one more car at its start."""
    then, there = np.empty((n, 5)), np.empty(n, dtype=np.bool_)
    for j in range(n):
        car = state.car[w, j]
        there[j] = state.present[w, j] or j == i
        x, y, heading, speed = car[X], car[Y], car[HEADING], car[SPEED]
        if j == i:
            x, y, heading, speed = (static.start[w, i, 0], static.start[w, i, 1], static.start[w, i, 2],
                                    static.start[w, i, 3])  # fmt: skip
        then[j, 0] = x
        then[j, 1] = y
        then[j, 2] = speed
        then[j, 3] = math.cos(heading)
        then[j, 4] = math.sin(heading)
    return then, there


@njit(cache=True, nogil=True)
def _accel_on(
    static: Static,
    w: int,
    i: int,
    route: int,
    s: float,
    then: FloatArray,
    there: BoolArray,
    only: int,
    p: IdmParameters,
) -> tuple[float, float, int]:
    """IDM acceleration of a car behind the next one on its route, and who that is; 0 if it is not ``only``."""
    road = static.road
    first, begins = road.first[route], road.coarse_first[route]
    path = road.path[first : first + road.num_rows[route]]
    coarse = road.coarse[begins : begins + road.coarse_count[route]]
    gap, lead, who = lead_car(
        path, coarse, road.step[route], i, s, then, there, static.size[w], LOOK_AHEAD_M, SIDE_MARGIN_M
    )
    if who < 0 or (only >= 0 and who != only):
        return 0.0, np.inf, -1
    wanted = max(static.desired_speed[w, i], then[i, 2], 1.0)
    return idm_acceleration(then[i, 2], wanted, gap, lead, p), lead, who
