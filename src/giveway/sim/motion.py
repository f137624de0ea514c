"""How cars move and appear; compiled pieces of the step, for one world."""

from __future__ import annotations

import math

import numpy as np

from giveway.core._box_kernels import fill_row, pair_overlaps  # pyright: ignore[reportUnknownVariableType]
from giveway.core.arrays import BoolArray, FloatArray, IntArray
from giveway.core.kernels import njit
from giveway.planning.profiles import DT_S, PLAN_STEPS
from giveway.sim.bicycle import ACCEL, HEADING, SPEED, STEER, X, Y
from giveway.sim.state import PAST, DriverCode, Status

REPLAY = int(DriverCode.REPLAY)
WAITING = int(Status.WAITING)
PRESENT = int(Status.PRESENT)
GONE = int(Status.GONE)

SPAWN_CLEARANCE_M = 0.5
"""A car appears only where its box, grown by this on all sides, overlaps nobody."""


@njit(cache=True, nogil=True)
def look_up(path: FloatArray, step: float, s: float) -> tuple[float, float, float]:
    """x, y and heading on a path (P, 6) at an arc length, clamped to its ends."""
    last = path.shape[0] - 1
    at = min(max(s / step, 0.0), last * 1.0)
    k = min(int(at), last - 1)
    w = at - k
    return (
        path[k, 0] + w * (path[k + 1, 0] - path[k, 0]),
        path[k, 1] + w * (path[k + 1, 1] - path[k, 1]),
        path[k, 4] + w * (path[k + 1, 4] - path[k, 4]),
    )


@njit(cache=True, nogil=True)
def cruise(plan: FloatArray, s: float, v: float, a: float, top: float) -> None:
    """A plan that keeps an acceleration until standstill or the top speed; its first step may exceed that.

    One loop while the speed changes and one after it: the processor waits for neither bound in the first, and the
    second only adds.
    """
    change = a * DT_S
    k, last, held = 0, PLAN_STEPS, v
    while k < last:
        new = v + change
        if new < 0.0:
            held = 0.0
            break
        if a > 0.0 and new > top and k > 0:
            held = max(v, top)
            break
        s += 0.5 * (v + new) * DT_S
        v = new
        plan[k] = s
        k += 1
    if k < last:
        s += 0.5 * (v + held) * DT_S
        plan[k] = s
        way = 0.5 * (held + held) * DT_S
        for rest in range(k + 1, last):
            s += way
            plan[rest] = s


@njit(cache=True, nogil=True)
def place(state: FloatArray, x: float, y: float, heading: float, speed: float) -> None:
    """Write a state without side slip."""
    state[0] = x
    state[1] = y
    state[2] = speed * math.cos(heading)
    state[3] = speed * math.sin(heading)
    state[4] = heading


@njit(cache=True, nogil=True)
def note(state: FloatArray, car: FloatArray) -> None:
    """Write the car of a logged state x, y, vx, vy, heading; wheel and acceleration stay."""
    car[X] = state[0]
    car[Y] = state[1]
    car[HEADING] = state[4]
    car[SPEED] = math.hypot(state[2], state[3])


@njit(cache=True, nogil=True)
def _box(state: FloatArray, size: FloatArray, grow: float, out: FloatArray) -> None:
    cos, sin = math.cos(state[4]), math.sin(state[4])
    fill_row(state[0], state[1], cos, sin, 0.5 * size[0] + grow, 0.5 * size[1] + grow, out)


@njit(cache=True, nogil=True)
def _is_taken(i: int, column: int, size: FloatArray, log: FloatArray, on: BoolArray, agents: int) -> bool:
    own, other = np.empty(7), np.empty(7)
    _box(log[i, column], size[i], SPAWN_CLEARANCE_M, own)
    for j in range(agents):
        if j != i and on[j, column]:
            _box(log[j, column], size[j], 0.0, other)
            if pair_overlaps(own, other):
                return True
    return False


@njit(cache=True, nogil=True)
def replay(
    column: int,
    tick: int,
    driver: IntArray,
    rec: FloatArray,
    rec_on: BoolArray,
    status: IntArray,
    present: BoolArray,
    first: IntArray,
    car: FloatArray,
    log: FloatArray,
    on: BoolArray,
) -> None:
    """Place the replay cars of one world as recorded at ``tick``, and take out those whose recording ends.

    Arguments are the rows of one world of the arrays in :mod:`giveway.sim.state`.
    """
    at = PAST + tick
    for i in range(driver.size):
        if driver[i] != REPLAY:
            continue
        if rec_on[i, at]:
            for k in range(5):  # a slice takes Numba a second to compile
                log[i, column, k] = rec[i, at, k]
            on[i, column] = True
            if status[i] != PRESENT:
                first[i] = column
                status[i] = PRESENT
                present[i] = True
                car[i, ACCEL] = 0.0
            speed = car[i, SPEED]
            note(log[i, column], car[i])
            if tick > 0:
                car[i, ACCEL] = (car[i, SPEED] - speed) / DT_S
        elif status[i] == PRESENT:
            status[i] = GONE
            present[i] = False


@njit(cache=True, nogil=True)
def spawn(
    column: int,
    tick: int,
    driver: IntArray,
    size: FloatArray,
    spawn_tick: IntArray,
    start: FloatArray,
    start_lane: FloatArray,
    start_steer: FloatArray,
    start_route: IntArray,
    start_row: IntArray,
    status: IntArray,
    present: BoolArray,
    first: IntArray,
    car: FloatArray,
    lane: FloatArray,
    route: IntArray,
    row: IntArray,
    log: FloatArray,
    on: BoolArray,
    plan_s: FloatArray,
    delayed: IntArray,
    postponed: BoolArray,
) -> None:
    """Let the driven cars of one world appear whose time has come.

    A car waits, tick by tick, while it is postponed or its place is taken; at the very start of an episode nobody
    waits. Arguments are the rows of one world of the arrays in :mod:`giveway.sim.state`.
    """
    agents = driver.size
    for i in range(agents):
        if driver[i] == REPLAY or status[i] != WAITING or spawn_tick[i] > tick:
            continue
        place(log[i, column], start[i, 0], start[i, 1], start[i, 2], start[i, 3])
        if tick > 0:
            if postponed[i] or _is_taken(i, column, size, log, on, agents):
                for k in range(5):
                    log[i, column, k] = np.nan
                delayed[i] += 1
                continue
            first[i] = column
        on[i, column] = True
        status[i] = PRESENT
        present[i] = True
        note(log[i, column], car[i])
        car[i, STEER] = start_steer[i]
        car[i, ACCEL] = 0.0
        for k in range(3):
            lane[i, k] = start_lane[i, k]
        route[i] = start_route[i]
        row[i] = start_row[i]
        # Others see it from this tick on: entry k of the plan is where it will be at +0.1 k s.
        for k in range(PLAN_STEPS):
            plan_s[i, k] = start_lane[i, 0] + start[i, 3] * DT_S * k
