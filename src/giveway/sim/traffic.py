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
from giveway.core.arrays import AnyArray, BoolArray, FloatArray, IntArray
from giveway.core.kernels import njit
from giveway.planning import idm, occupancy, right_of_way
from giveway.planning.builtin import LOOK_AHEAD_M, SIDE_MARGIN_M
from giveway.planning.idm import IdmParameters, idm_acceleration
from giveway.planning.occupancy import lead_car
from giveway.planning.profiles import DT_S, PLAN_STEPS
from giveway.planning.right_of_way import SPAWN_PATIENCE_S, STANDING_MPS, hold_accel, may_appear
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


class Ways(NamedTuple):
    """Rows and coarse points of all routes; see :class:`giveway.roads.tables.RoadTables`."""

    path: FloatArray
    first: IntArray
    num_rows: IntArray
    coarse: FloatArray
    coarse_first: IntArray
    coarse_count: IntArray
    step: FloatArray


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
    # The kernel is handed arrays one by one: compiling it with whole tuples took 18 s, most of it for what is not read.
    road = static.road
    ways = Ways(road.path, road.first, road.num_rows, road.coarse, road.coarse_first, road.coarse_count, road.step)
    _react(
        static.num_ticks, static.num_agents, static.ego, static.driver, static.size, static.desired_speed, static.slows,
        static.rec, static.rec_on, static.spawn_tick, static.start, static.start_lane, static.start_route,
        static.start_row, ways, state.tick, state.status, state.present, state.car, state.lane, state.route, state.row,
        state.plan_s, state.delayed, decisions.accel, decisions.postponed, traffic.reacts, traffic.areas,
        traffic.waiting, traffic.route, traffic.may_react, traffic.handed, traffic.cause, p, first_world, last_world,
    )  # fmt: skip


@compiled(_box_kernels, idm, occupancy, right_of_way, route_tables, motion, yielding, handover)
def _react(
    num_ticks: IntArray,
    num_agents: IntArray,
    ego: IntArray,
    drivers: IntArray,
    sizes: FloatArray,
    desired_speed: FloatArray,
    slows: BoolArray,
    recs: FloatArray,
    rec_on: BoolArray,
    spawn_tick: IntArray,
    start: FloatArray,
    start_lane: FloatArray,
    start_route: IntArray,
    start_row: IntArray,
    ways: Ways,
    ticks: IntArray,
    status: IntArray,
    present: BoolArray,
    cars: FloatArray,
    lanes: FloatArray,
    routes: IntArray,
    rows: IntArray,
    plan_s: FloatArray,
    delayed: IntArray,
    accels: FloatArray,
    postponed: BoolArray,
    reacts: BoolArray,
    areas: Areas,
    own: Waiting,
    replay_route: IntArray,
    may_react: BoolArray,
    handed: IntArray,
    cause: IntArray,
    p: IdmParameters,
    first_world: int,
    last_world: int,
) -> None:
    """See :func:`react`."""
    agents = drivers.shape[1]
    now = np.empty((agents, 5))
    here, obeys = np.empty(agents, dtype=np.bool_), np.empty(agents, dtype=np.bool_)
    for w in range(first_world, last_world):
        tick = ticks[w]
        if not reacts[w] or tick >= num_ticks[w]:
            continue
        n, driver, size = num_agents[w], drivers[w], sizes[w]
        for i in range(n):
            car = cars[w, i]
            here[i] = present[w, i]
            now[i, 0] = car[X]
            now[i, 1] = car[Y]
            now[i, 2] = car[SPEED]
            now[i, 3] = math.cos(car[HEADING])
            now[i, 4] = math.sin(car[HEADING])
            if driver[i] == REPLAY:
                own.car[w, i].s = areas.rec_s[w, i, PAST + tick]
            else:
                known = here[i] and driver[i] != ACTIONS and routes[w, i] >= 0
                own.car[w, i].s = lanes[w, i, 0] if known else np.nan
        _hand_over(
            n, PAST + tick, driver, size, recs[w], rec_on[w], ways, now, here, own.car[w], lanes[w], routes[w],
            rows[w], plan_s[tick % 2, w], replay_route[w], may_react[w], handed[w], cause[w], p,
        )  # fmt: skip
        note_waiting(areas, own, w, here[:n], now[:n], size, tick)
        for i in range(n):
            obeys[i] = driver[i] == IDM
        for i in range(n):
            if not here[i] or not obeys[i] or i == ego[w]:
                continue  # a planner under test drives as it does in any traffic
            wanted, s = desired_speed[w, i], lanes[w, i, 0]
            path, coarse, step = _way(ways, routes[w, i])
            if slows[w, i]:
                wanted = min(wanted, path[min(max(int(s / step), 0), path.shape[0] - 1), PATH_SPEED])
            gap, lead, who = lead_car(path, coarse, step, i, s, now[:n], here[:n], size, LOOK_AHEAD_M, SIDE_MARGIN_M)
            behind = who >= 0 and gap < BEHIND_M and now[who, 2] < STANDING_MPS and now[i, 2] < STANDING_MPS
            memory = own.car[w, i]
            memory.leader = who if behind else -1
            memory.wanted = wanted
            memory.lead_at = s + gap
            memory.lead_speed = lead
            accel = idm_acceleration(now[i, 2], wanted, gap, lead, p)
            if areas.first[w, i] < areas.first[w, i + 1]:
                room = yield_accel(areas, own, w, i, here[:n], now[:n], size, obeys, wanted, gap, lead, p)
                accel = min(accel, room)
            accels[w, i] = accel
        _let_appear(
            n, PAST + tick, driver, size, desired_speed[w], recs[w], rec_on[w], spawn_tick[w], start[w], start_lane[w],
            start_route[w], start_row[w], ways, now, here, own.car[w], status[w], routes[w], delayed[w], postponed[w],
            areas.rec_s[w], replay_route[w], may_react[w], handed[w], cause[w], p,
        )  # fmt: skip


@njit(cache=True, nogil=True)
def _way(ways: Ways, route: int) -> tuple[FloatArray, FloatArray, float]:
    """(P, 6) rows, (C, 5) coarse points and spacing [m] of a route."""
    first, begins = ways.first[route], ways.coarse_first[route]
    path = ways.path[first : first + ways.num_rows[route]]
    return path, ways.coarse[begins : begins + ways.coarse_count[route]], ways.step[route]


@njit(cache=True, nogil=True)
def _hand_over(
    n: int,
    at: int,
    driver: IntArray,
    size: FloatArray,
    rec: FloatArray,
    rec_on: BoolArray,
    ways: Ways,
    now: FloatArray,
    here: BoolArray,
    memory: AnyArray,
    lane: FloatArray,
    routes: IntArray,
    row: IntArray,
    plan_s: FloatArray,
    replay_route: IntArray,
    may_react: BoolArray,
    handed: IntArray,
    cause: IntArray,
    p: IdmParameters,
) -> None:
    """Hand over replay cars that are disturbed; arguments are the rows of one world, ``at`` is the column of now."""
    driven = np.zeros(n, dtype=np.bool_)
    candidates = False
    for i in range(n):
        driven[i] = here[i] and driver[i] != REPLAY
        candidates = candidates or (here[i] and driver[i] == REPLAY and may_react[i])
    if not candidates or not driven.any():
        return
    ahead = np.empty((n, LAST_TICK // EVERY_TICKS, 4))
    for q in range(n):
        if not driven[q]:
            continue
        free = routes[q] < 0 or driver[q] == ACTIONS
        path, _, step = _way(ways, 0 if free else routes[q])
        if driver[q] == IDM and memory[q].wanted > 0.0:
            follow_ahead(memory[q], now[q, 2], size[q, 0], p, ahead[q, :, 0])
            for k in range(LAST_TICK // EVERY_TICKS):
                _pose(path, step, ahead[q, k, 0], ahead[q, k])
            continue
        for k in range(LAST_TICK // EVERY_TICKS):  # by its last plan; straight on if it moves freely
            ticks = (k + 1) * EVERY_TICKS
            if free:
                way = now[q, 2] * DT_S * ticks
                ahead[q, k, 0] = now[q, 0] + way * now[q, 3]
                ahead[q, k, 1] = now[q, 1] + way * now[q, 4]
                ahead[q, k, 2] = now[q, 3]
                ahead[q, k, 3] = now[q, 4]
                continue
            _pose(path, step, plan_s[q, ticks], ahead[q, k])
    for r in range(n):
        if not here[r] or driver[r] != REPLAY or not may_react[r]:
            continue
        who = disturber(r, at, rec, rec_on, size, driven, now, ahead)
        if who < 0:
            continue
        handed[r] = at - PAST
        cause[r] = who
        route, s = replay_route[r], memory[r].s
        driver[r] = IDM  # ``driven`` is of before: who is handed over now disturbs others from the next tick on
        routes[r] = route
        lane[r, 0] = s
        lane[r, 1] = 0.0
        lane[r, 2] = 0.0
        row[r] = min(max(int(s / ways.step[route] + 0.5), 0), ways.num_rows[route] - 1)
        for k in range(PLAN_STEPS):
            plan_s[r, k] = s + now[r, 2] * DT_S * k


@njit(cache=True, nogil=True)
def _pose(path: FloatArray, step: float, s: float, out: FloatArray) -> None:
    """x, y, cosine and sine of the heading at an arc length."""
    x, y, heading = look_up(path, step, s)
    out[0] = x
    out[1] = y
    out[2] = math.cos(heading)
    out[3] = math.sin(heading)


@njit(cache=True, nogil=True)
def follow_ahead(car: Any, v: float, length: float, p: IdmParameters, out: FloatArray) -> None:
    """Arc lengths at +0.2 s, +0.4 s ... of a car that goes on as it decided one tick ago.

    It follows the car ahead, which keeps its speed, and stops at the line where it waits. Its plan, the acceleration
    of one tick kept for 5 s, would end a short braking at a standstill, and everybody behind would have to react.

    Args:
        car: what it remembers, see :data:`giveway.sim.yielding.CAR`.
        v: its speed [m/s].
        length: of it [m].
        p: parameters of car following.
        out: written [m].
    """
    dt = EVERY_TICKS * DT_S
    s, lead_at = car.s, car.lead_at + car.lead_speed * DT_S
    for k in range(out.size):
        accel = idm_acceleration(v, car.wanted, lead_at - s, car.lead_speed, p)
        if car.line < math.inf:
            accel = min(accel, hold_accel(v, car.wanted, car.line - s - 0.5 * length, p))
        new = max(v + accel * dt, 0.0)
        s += 0.5 * (v + new) * dt
        lead_at += car.lead_speed * dt
        v = new
        out[k] = s


@njit(cache=True, nogil=True)
def _let_appear(
    n: int,
    at: int,
    driver: IntArray,
    size: FloatArray,
    desired_speed: FloatArray,
    rec: FloatArray,
    rec_on: BoolArray,
    spawn_tick: IntArray,
    start: FloatArray,
    start_lane: FloatArray,
    start_route: IntArray,
    start_row: IntArray,
    ways: Ways,
    now: FloatArray,
    here: BoolArray,
    memory: AnyArray,
    status: IntArray,
    routes: IntArray,
    delayed: IntArray,
    postponed: BoolArray,
    rec_s: FloatArray,
    replay_route: IntArray,
    may_react: BoolArray,
    handed: IntArray,
    cause: IntArray,
    p: IdmParameters,
) -> None:
    """Mark late cars that must wait because they, or the car behind, would have to brake harder than 4 m/s^2.

    After 3 s a car appears at the speed of the car ahead, if its place is free. A replay car that would have to wait
    for a driven one is handed over before it appears. Judged from the state before the tick at whose end it would
    appear. Arguments are the rows of one world, ``at`` is the column of now.
    """
    for i in range(n):
        postponed[i] = False
        if status[i] != WAITING:
            continue
        replayed = driver[i] == REPLAY
        if replayed:
            if not may_react[i] or not rec_on[i, at + 1]:
                continue
            for k in range(2):
                start[i, k] = rec[i, at + 1, k]
            start[i, 2] = rec[i, at + 1, 4]
            start[i, 3] = math.hypot(rec[i, at + 1, 2], rec[i, at + 1, 3])
            start_lane[i, 0] = rec_s[i, at + 1]
            route = replay_route[i]
        else:
            route = start_route[i]
            if spawn_tick[i] > at - PAST + 1 or route < 0:
                continue
        now[i, 0] = start[i, 0]
        now[i, 1] = start[i, 1]
        now[i, 2] = start[i, 3]
        now[i, 3] = math.cos(start[i, 2])
        now[i, 4] = math.sin(start[i, 2])
        here[i] = True
        own, behind, lead, who = _around_newcomer(
            i, route, start_lane[i, 0], driver, size, desired_speed, ways, now[:n], here[:n], memory, routes,
            replay_route, p,
        )  # fmt: skip
        here[i] = False
        if may_appear(own, behind):
            continue
        if not replayed:
            if delayed[i] * DT_S >= SPAWN_PATIENCE_S:
                start[i, 3] = min(start[i, 3], lead)
            else:
                postponed[i] = True
        elif who >= 0:
            driver[i] = IDM
            spawn_tick[i] = handed[i] = at - PAST + 1
            start_route[i] = route
            row = int(start_lane[i, 0] / ways.step[route] + 0.5)
            start_row[i] = min(max(row, 0), ways.num_rows[route] - 1)
            cause[i] = who
            postponed[i] = True


@njit(cache=True, nogil=True)
def _around_newcomer(
    i: int,
    route: int,
    s: float,
    driver: IntArray,
    size: FloatArray,
    desired_speed: FloatArray,
    ways: Ways,
    then: FloatArray,
    there: BoolArray,
    memory: AnyArray,
    routes: IntArray,
    replay_route: IntArray,
    p: IdmParameters,
) -> tuple[float, float, float, int]:
    """Accelerations of a car at its start and of those behind it, the speed ahead, and the driven car concerned.

    A car ahead of or behind a replay car counts only if it is driven: the rest is as people did.
    """
    own, behind, lead, cause = 0.0, 0.0, np.inf, -1
    replayed = driver[i] == REPLAY
    for k in range(there.size + 1):  # first the newcomer itself
        j = i if k == 0 else k - 1
        if k > 0:
            is_replay = driver[j] == REPLAY
            route = replay_route[j] if is_replay else routes[j]
            s = memory[j].s
            if j == i or not there[j] or route < 0 or math.isnan(s) or (is_replay and replayed):
                continue
        path, coarse, step = _way(ways, route)
        gap, speed, who = lead_car(path, coarse, step, j, s, then, there, size, LOOK_AHEAD_M, SIDE_MARGIN_M)
        if who < 0 or (k > 0 and who != i):
            continue
        wanted = max(desired_speed[j], then[j, 2], 1.0)
        accel = idm_acceleration(then[j, 2], wanted, gap, speed, p)
        if k == 0:
            lead = speed
            if not replayed or driver[who] != REPLAY:
                own, cause = accel, who
        elif accel < behind:
            behind = accel
            cause = j if cause < 0 else cause
    return own, behind, lead, cause
