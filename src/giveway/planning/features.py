"""What a learned planner sees: a fixed number of values, from what every planner is told.

Cars drive on at their speed and turn rate for five seconds; where that crosses the own path there is an *encounter*: a
stretch of the path that is blocked from one time to another.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray
from giveway.core.kernels import njit
from giveway.planning.occupancy import blocked_interval, lead_on_path
from giveway.planning.protocol import Situation
from giveway.roads.route_tables import PATH_COS, PATH_SIN, PATH_SPEED, coarse_points, nearest_row

VERSION = 1
"""Counts up when a value means something else; a network drives only with the version it was trained on."""

SPEED_AT_M = (0.0, 5.0, 10.0, 20.0, 35.0)
"""Distances ahead at which the speed for the curvature of the path is seen."""

LOOK_AHEAD_M = 60.0
"""Cars and the path are seen this far."""

NUM_LOOKS, LOOK_EVERY_S = 11, 0.5
"""Instants at which cars are extrapolated: 0 s to 5 s."""

NUM_ENCOUNTERS, ENCOUNTER_SIZE = 5, 9
NUM_NEAREST, NEAREST_SIZE = 4, 7
MARGIN_M, SIDE_MARGIN_M = 0.5, 0.2
"""Added to the own box at both ends, and at both sides, where another car blocks the path."""

MAX_TURN_RADPS = 1.0
"""Turn rates of other cars are cut to this."""

OWN_SIZE = 4 + len(SPEED_AT_M) + 3
NUM_FEATURES = OWN_SIZE + NUM_ENCOUNTERS * ENCOUNTER_SIZE + NUM_NEAREST * NEAREST_SIZE
"""Own motion, speeds of the path, the car ahead; encounters by distance along the path; nearest cars."""

SPEED_UNIT_MPS, ACCEL_UNIT_MPS2, LENGTH_UNIT_M, TIME_UNIT_S = 10.0, 4.0, 30.0, 5.0
"""Values are divided by these, so that networks see numbers of about one."""

BOUND = 4.0
"""Values are cut to this."""


@njit(cache=True, nogil=True)
def _encounter(
    path: FloatArray,
    coarse: FloatArray,
    step: float,
    s: float,
    own_size: FloatArray,
    state: FloatArray,
    size: FloatArray,
    turn: float,
    out: FloatArray,
) -> bool:
    """Write (5,) begin of the blocked stretch, time of its begin and end, speed along and across the path there.

    Returns:
        Whether the car is ever in the way.
    """
    x, y, speed, cos, sin = state[0], state[1], state[2], state[3], state[4]
    here = int(s / step)
    first, last = max(here - int(5.0 / step), 0), min(here + int(LOOK_AHEAD_M / step), path.shape[0] - 1)
    if first >= last:
        return False
    found = False
    for k in range(NUM_LOOKS):
        t = LOOK_EVERY_S * k
        # The chord of an arc: half the change of heading, and sin(h) / h of its length.
        half = 0.5 * turn * t
        chord = speed * t * (1.0 - half * half / 6.0 if abs(half) < 1e-2 else math.sin(half) / half)
        c, n = math.cos(half), math.sin(half)
        ahead, aside = cos * c - sin * n, sin * c + cos * n
        px, py = x + chord * ahead, y + chord * aside
        hx, hy = ahead * c - aside * n, aside * c + ahead * n
        row = nearest_row(path, coarse, px, py, first, last)
        low, high = blocked_interval(
            path[row], row * step, px, py, hx, hy, 0.5 * size[0], 0.5 * size[1],
            0.5 * own_size[0] + MARGIN_M, 0.5 * own_size[1] + SIDE_MARGIN_M,
        )  # fmt: skip
        if low == np.inf or high <= s or low - s > LOOK_AHEAD_M:
            continue
        if not found:
            out[0], out[1] = low, t
            out[3] = speed * (hx * path[row, PATH_COS] + hy * path[row, PATH_SIN])
            out[4] = speed * (hy * path[row, PATH_COS] - hx * path[row, PATH_SIN])
        found = True
        out[2] = t + LOOK_EVERY_S
    return found


@njit(cache=True, nogil=True)
def write_features(
    path: FloatArray,
    coarse: FloatArray,
    step: float,
    s: float,
    speed: float,
    accel: float,
    cruise: float,
    own: int,
    states: FloatArray,
    present: BoolArray,
    sizes: FloatArray,
    yields_to: BoolArray,
    turn: FloatArray,
    out: Any,
) -> None:
    """Write (F,) what the planner of a car sees.

    Args:
        path: (P, 6) own path.
        coarse: its coarse points.
        step: its spacing [m].
        s: own position along it [m].
        speed: own speed [m/s].
        accel: own acceleration in the last tick [m/s^2].
        cruise: speed to drive on a free road [m/s].
        own: row of the own car in what follows.
        states: (A, 5) x, y, speed, cosine and sine of the heading.
        present: (A,) who is there and visible.
        sizes: (A, 2) length and width.
        yields_to: (A,) who has the right of way over the own car.
        turn: (A,) turn rates [rad/s].
        out: written; every value between -4 and 4.
    """
    count = states.shape[0]
    out[:] = 0.0
    out[0] = speed / SPEED_UNIT_MPS
    out[1] = accel / ACCEL_UNIT_MPS2
    out[2] = cruise / SPEED_UNIT_MPS
    out[3] = (cruise - speed) / SPEED_UNIT_MPS
    for n in range(len(SPEED_AT_M)):
        row = min(max(int((s + SPEED_AT_M[n]) / step), 0), path.shape[0] - 1)
        out[4 + n] = (min(path[row, PATH_SPEED], cruise) - speed) / SPEED_UNIT_MPS
    gap, lead = lead_on_path(path, coarse, step, own, s, states, present, sizes, LOOK_AHEAD_M, SIDE_MARGIN_M)
    at = 4 + len(SPEED_AT_M)
    if gap < np.inf:
        out[at] = 1.0
        out[at + 1] = gap / LENGTH_UNIT_M
        out[at + 2] = (lead - speed) / SPEED_UNIT_MPS
    at += 3

    met, away = np.empty((count, 5)), np.full(count, np.inf)
    where = np.full(count, np.inf)
    x, y, cos, sin = states[own, 0], states[own, 1], states[own, 3], states[own, 4]
    for j in range(count):
        if j == own or not present[j]:
            continue
        away[j] = math.hypot(states[j, 0] - x, states[j, 1] - y)
        if away[j] > LOOK_AHEAD_M:
            continue
        rate = min(max(turn[j], -MAX_TURN_RADPS), MAX_TURN_RADPS)
        if _encounter(path, coarse, step, s, sizes[own], states[j], sizes[j], rate, met[j]):
            where[j] = met[j, 0]
    for _ in range(min(NUM_ENCOUNTERS, count)):
        j = np.argmin(where)
        if where[j] == np.inf:
            break
        room, arrives = where[j] - s, max(where[j] - s, 0.0) / max(speed, 1.0)
        out[at] = 1.0
        out[at + 1] = room / LENGTH_UNIT_M
        out[at + 2] = met[j, 1] / TIME_UNIT_S
        out[at + 3] = met[j, 2] / TIME_UNIT_S
        out[at + 4] = arrives / TIME_UNIT_S
        out[at + 5] = (arrives - met[j, 1]) / TIME_UNIT_S
        out[at + 6] = met[j, 3] / SPEED_UNIT_MPS
        out[at + 7] = met[j, 4] / SPEED_UNIT_MPS
        out[at + 8] = 1.0 if yields_to[j] else 0.0
        where[j] = np.inf
        at += ENCOUNTER_SIZE
    at = OWN_SIZE + NUM_ENCOUNTERS * ENCOUNTER_SIZE
    for _ in range(min(NUM_NEAREST, count)):
        j = np.argmin(away)
        if away[j] > LOOK_AHEAD_M:
            break
        dx, dy = states[j, 0] - x, states[j, 1] - y
        out[at] = 1.0
        out[at + 1] = (cos * dx + sin * dy) / LENGTH_UNIT_M
        out[at + 2] = (cos * dy - sin * dx) / LENGTH_UNIT_M
        out[at + 3] = (cos * states[j, 3] + sin * states[j, 4]) * states[j, 2] / SPEED_UNIT_MPS
        out[at + 4] = (cos * states[j, 4] - sin * states[j, 3]) * states[j, 2] / SPEED_UNIT_MPS
        out[at + 5] = turn[j] / MAX_TURN_RADPS
        out[at + 6] = 1.0 if yields_to[j] else 0.0
        away[j] = np.inf
        at += NEAREST_SIZE
    for n in range(out.size):
        out[n] = min(max(out[n], -BOUND), BOUND)


@njit(cache=True, nogil=True)
def turn_rate(before: float, now: float, dt_s: float) -> float:
    """Change of a heading per second [rad/s]; 0 if one of them is not known."""
    if not (math.isfinite(before) and math.isfinite(now)):
        return 0.0
    change = now - before
    return math.atan2(math.sin(change), math.cos(change)) / dt_s


@njit(cache=True, nogil=True)
def _turn_rates(history: FloatArray, dt_s: float) -> FloatArray:
    """(A,) of histories (A, T, 5) whose last state is now."""
    rates = np.empty(history.shape[0])
    for j in range(rates.size):
        rates[j] = turn_rate(history[j, -2, 4], history[j, -1, 4], dt_s)
    return rates


def features_of(situation: Situation, dt_s: float = 0.1) -> Any:
    """(F,) float32 what a learned planner sees of a situation."""
    out = np.empty(NUM_FEATURES, dtype=np.float32)
    write_features(
        situation.path,
        coarse_points(situation.path),
        situation.path_step_m,
        situation.s_m,
        situation.speed_mps,
        situation.accel_mps2,
        situation.desired_speed_mps,
        situation.own,
        situation.states,
        situation.present,
        situation.sizes,
        situation.has_priority,
        _turn_rates(situation.history, dt_s),
        out,
    )
    return out
