"""Would a careful driver have avoided it? The last four seconds again, with everybody else on replay; compiled.

The careful driver keeps its lane and drives as fast as the ego did until it perceives a risk: a car in its corridor,
or one that leaves the middle of its own lane by more than 0.375 m towards the corridor, if it would be reached within
2 s, or if not running into it would need more than 3 m/s^2 after the reaction (also when that car is braking). The
driver takes 0.4 s to judge that, 0.75 s to move its foot, and then brakes with 0.774 g, reached within
0.6 s, as long as the risk is there. After the moment of the failure the others go straight on for 2 s, so that a crash
that is merely later is still a crash.

Reference:
    UN Regulation No. 157 (automated lane keeping), guidance on disturbances that are critical to traffic, performance
    model of a competent and careful driver: wandering 0.375 m, risk evaluation 0.4 s, delay 0.75 s, 0.774 g, 0.6 s to
    reach it, time to collision 2 s. The rule of 3 m/s^2 is ours: with 2 s alone the model runs into a
    standing queue at 45 km/h.
"""

from __future__ import annotations

import math

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.kernels import njit
from giveway.generate.objective.arrays import (
    DT_S,
    HISTORY,
    LOOK_BACK,
    PAST_D,
    PAST_HEADING,
    PAST_ON,
    PAST_S,
    PAST_SPEED,
    PAST_X,
    PAST_Y,
)
from giveway.generate.objective.contact import boxes_touch, fill_box
from giveway.roads.tables import RoadTables
from giveway.sim.locate import pose_on

WANDER_M = 0.375
RISK_TTC_S = 2.0
REACTION_S = 0.4 + 0.75
BRAKE_MPS2 = 0.774 * 9.81
JERK_MPS3 = BRAKE_MPS2 / 0.6
AFTER_S = 2.0
STANDSTILL_GAP_M = 1.0
COMFORT_MPS2 = 3.0
NOTICED_MPS2 = 1.0
DRIFT_MPS = 0.1


@njit(nogil=True)
def _needed(gap: float, speed: float, closing: float, lead: float, lead_before: float) -> float:
    """Braking that keeps clear of a car ahead after the reaction, if it goes on as it does (also braking) [m/s^2]."""
    brakes = (lead_before - lead) / DT_S
    if brakes > NOTICED_MPS2:
        room = gap - speed * REACTION_S + lead * lead / (2.0 * brakes)
        return speed * speed / (2.0 * room) if room > 0.1 else math.inf
    if closing <= 0.0:
        return 0.0
    room = gap - closing * REACTION_S
    return closing * closing / (2.0 * room) if room > 0.1 else math.inf


@njit(nogil=True)
def _risky(ego: FloatArray, car: FloatArray, before: FloatArray, ego_size: FloatArray, size: FloatArray) -> bool:
    """Whether a car (history row, and the one before it) is in or coming into the corridor ahead, within 2 s."""
    cos, sin = math.cos(ego[PAST_HEADING]), math.sin(ego[PAST_HEADING])
    dx, dy = car[PAST_X] - ego[PAST_X], car[PAST_Y] - ego[PAST_Y]
    along, across = dx * cos + dy * sin, dy * cos - dx * sin
    turn = car[PAST_HEADING] - ego[PAST_HEADING]
    same, turned = abs(math.cos(turn)), abs(math.sin(turn))
    gap = along - 0.5 * (ego_size[0] + size[0] * same + size[1] * turned)
    beside = abs(across) - 0.5 * (ego_size[1] + size[0] * turned + size[1] * same)
    if along <= 0.0:
        return False
    closing = ego[PAST_SPEED] - car[PAST_SPEED] * math.cos(turn)
    soon = gap <= STANDSTILL_GAP_M or gap < closing * RISK_TTC_S
    if not soon and _needed(gap, ego[PAST_SPEED], closing, car[PAST_SPEED], before[PAST_SPEED]) <= COMFORT_MPS2:
        return False
    if beside <= 0.0:
        return True
    sideways = ((car[PAST_Y] - before[PAST_Y]) * cos - (car[PAST_X] - before[PAST_X]) * sin) / DT_S
    nearing = -sideways if across > 0.0 else sideways
    return abs(car[PAST_D]) > WANDER_M and nearing > DRIFT_MPS


@njit(nogil=True)
def _seen(history: FloatArray, j: int, age: int, frame: int, out: FloatArray) -> bool:
    """Write the replayed (or, after ``age``, straight on) state of car j at a step; False if it is not there."""
    known = min(frame, age)
    row = history[j, known % HISTORY]
    if row[PAST_ON] < 0.5:
        return False
    out[:] = row
    late = (frame - known) * DT_S
    if late > 0.0:
        out[PAST_X] += late * row[PAST_SPEED] * math.cos(row[PAST_HEADING])
        out[PAST_Y] += late * row[PAST_SPEED] * math.sin(row[PAST_HEADING])
    return True


@njit(nogil=True)
def could_be_avoided(history: FloatArray, age: int, way: int, road: RoadTables, size: FloatArray) -> bool:
    """Drive the last seconds again as a careful driver.

    Args:
        history: (n, 41, 7) ring of past states of one world, row 0 the ego; entry ``age % 41`` is the failure.
        age: step of the failure.
        way: of the ego.
        road: tables.
        size: (n, 2) [m].

    Returns:
        Whether no car was touched. Cars that run into the careful driver from behind do not count: they are on replay
        and would have reacted.
    """
    start = max(age - LOOK_BACK, 0)
    ego = history[0, start % HISTORY].copy()
    own, other = np.empty(7), np.empty(7)
    car, before = np.empty(7), np.empty(7)
    behind = np.zeros(history.shape[0], dtype=np.bool_)
    risk_since = -1
    accel = 0.0
    s, d, speed = ego[PAST_S], ego[PAST_D], ego[PAST_SPEED]
    reacted = False
    for frame in range(start, age + round(AFTER_S / DT_S)):
        risk = False
        for j in range(1, history.shape[0]):
            if not _seen(history, j, age, frame, car):
                continue
            if not _seen(history, j, age, max(frame - 1, start), before):
                before[:] = car
            if _risky(ego, car, before, size[0], size[j]):
                risk = True
        if not risk:
            risk_since = -1
        elif risk_since < 0:
            risk_since = frame
        if risk and (reacted or (frame - risk_since) * DT_S >= REACTION_S - 1e-9):
            accel = max(accel - JERK_MPS3 * DT_S, -BRAKE_MPS2)
            reacted = True
        elif reacted:
            accel = min(accel + JERK_MPS3 * DT_S, 0.0)
        new = max(speed + accel * DT_S, 0.0) if reacted else history[0, min(frame + 1, age) % HISTORY, PAST_SPEED]
        s += 0.5 * (speed + new) * DT_S
        speed = new
        x, y, heading = pose_on(road, way, s, d)
        ego[PAST_X], ego[PAST_Y], ego[PAST_HEADING], ego[PAST_SPEED] = x, y, heading, speed
        fill_box(x, y, heading, size[0, 0], size[0, 1], own)
        for j in range(1, history.shape[0]):
            if not _seen(history, j, age, frame + 1, car):
                continue
            fill_box(car[PAST_X], car[PAST_Y], car[PAST_HEADING], size[j, 0], size[j, 1], other)
            if not boxes_touch(own, other):
                behind[j] = (car[PAST_X] - x) * own[2] + (car[PAST_Y] - y) * own[3] < -own[4]
            elif not behind[j]:
                return False
    return True
