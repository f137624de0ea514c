"""How cars move and appear; compiled pieces of the step, for one case."""

from __future__ import annotations

import math

import numpy as np

from giveway.core._box_kernels import pair_overlaps  # pyright: ignore[reportUnknownVariableType]
from giveway.core.arrays import BoolArray, FloatArray, IntArray
from giveway.core.kernels import njit
from giveway.planning.profiles import DT_S, PLAN_STEPS
from giveway.sim.arrays import PAST, Driver, Status

REPLAY = int(Driver.REPLAY)
WAITING = int(Status.WAITING)
PRESENT = int(Status.PRESENT)
GONE = int(Status.GONE)

SPAWN_CLEARANCE_M = 0.5
"""A car appears only where its box, grown by this on all sides, overlaps nobody."""

WHEELBASE_SHARE = 0.6
"""Wheelbase of free cars as a share of their length."""

MAX_STEER_RAD = 0.6


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
    """A plan that keeps an acceleration until standstill or the top speed."""
    for k in range(PLAN_STEPS):
        new = v + a * DT_S
        if new < 0.0:
            new = 0.0
        if a > 0.0 and new > top and k > 0:
            new = max(v, top)
        s += 0.5 * (v + new) * DT_S
        v = new
        plan[k] = s


@njit(cache=True, nogil=True)
def place(state: FloatArray, x: float, y: float, heading: float, speed: float) -> None:
    """Write a state without side slip."""
    state[0] = x
    state[1] = y
    state[2] = speed * math.cos(heading)
    state[3] = speed * math.sin(heading)
    state[4] = heading


@njit(cache=True, nogil=True)
def move_free(
    log: FloatArray, column: int, steers: FloatArray, accels: FloatArray, i: int, control: FloatArray, length: float
) -> None:
    """Kinematic bicycle whose reference point is the center of the box; an exact arc per tick.

    The center travels at the slip angle beta to the body, tan(beta) = tan(steer) / 2. The car does not reverse.

    Args:
        log: (L, 5) states of the car.
        column: current one; the next is written.
        steers: (A,) front wheel angles [rad].
        accels: (A,) accelerations [m/s^2].
        i: which car.
        control: (2,) acceleration [m/s^2] and steering rate [rad/s].
        length: of the car; its wheelbase is 0.6 of it [m].
    """
    state = log[column]
    after = log[column + 1]
    speed = math.hypot(state[2], state[3])
    steer = min(max(steers[i] + control[1] * DT_S, -MAX_STEER_RAD), MAX_STEER_RAD)
    steers[i] = steer
    accel = control[0]
    beta = math.atan(0.5 * math.tan(steer))
    curvature = math.cos(beta) * math.tan(steer) / (WHEELBASE_SHARE * length)
    duration = DT_S
    new = speed + accel * DT_S
    if new < 0.0:
        duration = -speed / accel
        new = 0.0
    way = speed * duration + 0.5 * accel * duration * duration
    half = 0.5 * curvature * way
    chord = way if abs(half) < 1e-9 else way * math.sin(half) / half
    direction = state[4] + beta + half
    after[0] = state[0] + chord * math.cos(direction)
    after[1] = state[1] + chord * math.sin(direction)
    after[4] = state[4] + curvature * way
    after[2] = new * math.cos(after[4] + beta)
    after[3] = new * math.sin(after[4] + beta)
    accels[i] = accel


@njit(cache=True, nogil=True)
def _box(state: FloatArray, size: FloatArray, grow: float, out: FloatArray) -> None:
    out[0] = state[0]
    out[1] = state[1]
    out[2] = math.cos(state[4])
    out[3] = math.sin(state[4])
    out[4] = 0.5 * size[0] + grow
    out[5] = 0.5 * size[1] + grow
    out[6] = 0.0


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
def spawn(
    column: int,
    driver: IntArray,
    size: FloatArray,
    spawn_tick: IntArray,
    start: FloatArray,
    start_s: FloatArray,
    rec: FloatArray,
    rec_on: BoolArray,
    status: IntArray,
    first: IntArray,
    s: FloatArray,
    log: FloatArray,
    on: BoolArray,
    plan_s: FloatArray,
    delayed: IntArray,
) -> None:
    """Let the cars of one case appear whose time has come, and take out replay cars whose recording ends.

    A replay car is present when its recording says so. Any other car waits, tick by tick, while its place is taken; at
    the very start of a case nobody waits. Arguments are the rows of one case of the arrays in
    :mod:`giveway.sim.arrays`.
    """
    tick = column - PAST
    agents = driver.size
    for i in range(agents):
        if driver[i] == REPLAY:
            if rec_on[i, column]:
                for k in range(5):  # a slice takes Numba a second to compile
                    log[i, column, k] = rec[i, column, k]
                on[i, column] = True
                if status[i] != PRESENT:
                    first[i] = column
                    status[i] = PRESENT
            elif status[i] == PRESENT:
                status[i] = GONE
    for i in range(agents):
        if driver[i] == REPLAY or status[i] != WAITING or spawn_tick[i] > tick:
            continue
        place(log[i, column], start[i, 0], start[i, 1], start[i, 2], start[i, 3])
        if tick > 0:
            if _is_taken(i, column, size, log, on, agents):
                for k in range(5):
                    log[i, column, k] = np.nan
                delayed[i] += 1
                continue
            first[i] = column
        on[i, column] = True
        status[i] = PRESENT
        s[i] = start_s[i]
        # Others see it from this tick on: entry k of the plan is where it will be at +0.1 k s.
        for k in range(PLAN_STEPS):
            plan_s[i, k] = start_s[i] + start[i, 3] * DT_S * k
