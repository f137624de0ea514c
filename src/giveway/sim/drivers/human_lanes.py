"""Lanes beside each other: people of the driver ``human`` who overtake; compiled.

Whoever is held up by a slower car looks to the left, decides once per car that comes from behind there whether to
change lanes before it, and does so after a reaction time: sideways by the polynomial with no speed and acceleration at
both ends over :data:`CHANGE_S`, steered by pure pursuit.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray, IntArray
from giveway.core.kernels import njit
from giveway.planning.profiles import DT_S
from giveway.sim.bicycle import ACCEL, SPEED
from giveway.sim.drivers.actions import pursue
from giveway.sim.drivers.human_motion import JERK_DOWN, follow, note_decision
from giveway.sim.drivers.people import chance
from giveway.sim.state import Decisions, State, Static

CHANGE_S = 5.0
SIDE_BY_SIDE = 0.62
"""Cars whose lateral positions differ by less, in lane widths, stand in each other's way."""
WANTS_WITHIN_M, SLOWER_MPS = 75.0, 2.0
"""A car ahead that is nearer, and slower than wanted by this, holds one up."""
SEES_BEHIND_M, LATEST_S = 150.0, 20.0
MIN_CLOSING_MPS = 0.5
AHEAD_ROOM_M, AHEAD_S, BEHIND_ROOM_M, BEHIND_S = 8.0, 1.5, 6.5, 0.8
"""Room needed to the cars ahead and behind in the other lane: distance, and time at the difference of speeds."""
HARDEST_MPS2 = 6.0
STEER_AHEAD_S = 1.0
NEVER = 1e9
NOBODY = -1
FREE = 1


class Lanes(NamedTuple):
    """Who overtakes, and where to; W worlds with A cars.

    Attributes:
        overtakes: (W, A) those who may change to the left.
        goal: (W, A) the way that a car is changing to, or -1.
        change_at: (W, A) when the change begins [s]; NEVER without one.
        about: (W, A) the car it decided about last.
    """

    overtakes: BoolArray
    goal: IntArray
    change_at: FloatArray
    about: IntArray


def lanes_of(overtakes: BoolArray) -> Lanes:
    """Nobody changes lanes yet."""
    return Lanes(
        overtakes=overtakes,
        goal=np.full(overtakes.shape, NOBODY, dtype=np.int64),
        change_at=np.full(overtakes.shape, NEVER),
        about=np.full(overtakes.shape, -2, dtype=np.int64),
    )


@njit(cache=True, nogil=True)
def _shifted(share: float) -> float:
    """Lateral progress of a lane change: smooth in position, speed and acceleration."""
    share = min(max(share, 0.0), 1.0)
    return share * share * share * (10.0 + share * (6.0 * share - 15.0))


@njit(cache=True, nogil=True)
def overtake(
    static: Static, state: State, decisions: Decisions, mine: BoolArray, lanes: Lanes, traits: FloatArray,
    habits: FloatArray, people: FloatArray, draws: FloatArray, num_decided: IntArray, decided: FloatArray, w: int,
    who: IntArray, now: FloatArray, size: FloatArray,
) -> None:  # fmt: skip
    """Decide for the cars of one world; arguments are its rows of the arrays of the driver, and its (n,) cars."""
    road, width, time = static.road, 2.0 * static.road.half_width, state.tick[w] * DT_S
    headway, min_gap, comfort, settle = habits[0], habits[1], habits[2], habits[3]
    for k in range(who.size):
        i = who[k]
        if not mine[w, i]:
            continue
        route, v, length = state.route[w, i], now[k, 2], size[k, 0]
        row = road.first[route] + state.row[w, i]
        left, goal, offset = road.left[row], lanes.goal[w, i], state.lane[w, i, 1]
        cos, sin = road.path[row, 2], road.path[row, 3]
        boldness, reaction, go = traits[i, 0], traits[i, 1], traits[i, 2]
        desired = static.desired_speed[w, i]
        to_goal = width if goal == left else 0.0
        accel = follow(v, desired, math.inf, 0.0, go, headway, min_gap, comfort, settle)
        lead, lead_gap, beside = NOBODY, math.inf, False
        left_lead, left_gap, rival, rival_gap = NOBODY, math.inf, NOBODY, math.inf
        for q in range(who.size):
            if q == k:
                continue
            j = who[q]
            dx, dy = now[q, 0] - now[k, 0], now[q, 1] - now[k, 1]
            along, across = dx * cos + dy * sin, dy * cos - dx * sin
            gap, behind = along - 0.5 * (length + size[q, 0]), -along - 0.5 * (length + size[q, 0])
            its_goal = lanes.goal[w, j]
            in_way = abs(across) < SIDE_BY_SIDE * width or its_goal == route
            if goal != NOBODY:
                in_way = in_way or its_goal == goal or abs(across + offset - to_goal) < SIDE_BY_SIDE * width
            if along > 0.0 and in_way:
                accel = min(accel, follow(v, desired, gap, now[q, 2], go, headway, min_gap, comfort, settle))
                if gap < lead_gap:
                    lead, lead_gap = q, gap
            if left != NOBODY and (its_goal == left or abs(across + offset - width) < 0.5 * width):
                if gap > 0.0:
                    if gap < left_gap:
                        left_lead, left_gap = q, gap
                elif behind > 0.0:
                    if behind < rival_gap and behind < SEES_BEHIND_M:
                        rival, rival_gap = q, behind
                else:
                    beside = True
        change_at = lanes.change_at[w, i]
        wants = lanes.overtakes[w, i] and goal == NOBODY and left != NOBODY and lead != NOBODY
        wants = wants and lead_gap < WANTS_WITHIN_M and now[lead, 2] < desired - SLOWER_MPS
        if wants:
            room = left_lead == NOBODY or left_gap > AHEAD_ROOM_M + AHEAD_S * max(v - now[left_lead, 2], 0.0)
            closing = max(now[rival, 2] - v, 0.0) if rival != NOBODY else 0.0
            safe = BEHIND_ROOM_M + BEHIND_S * closing + closing * closing / (2.0 * comfort)
            possible = room and not beside and (rival == NOBODY or rival_gap > safe)
            about = NOBODY if rival == NOBODY else who[rival]
            if change_at < NEVER:
                if not possible:
                    lanes.change_at[w, i] = NEVER
                    lanes.about[w, i] = about
                elif time >= change_at:
                    lanes.goal[w, i] = left
            elif rival == NOBODY:
                if possible:
                    lanes.change_at[w, i] = time + 0.5 * reaction
            elif about != lanes.about[w, i] and room and not beside:
                lanes.about[w, i] = about
                closing = max(closing, MIN_CLOSING_MPS)
                arrival = min(rival_gap / closing, LATEST_S)
                p = chance(people, arrival, closing, boldness, 0.0) if possible else 0.0
                n = min(num_decided[i], draws.shape[1] - 1)
                takes = draws[i, n] < p
                note_decision(decided[i, n], about, time, arrival, rival_gap, p, takes)
                num_decided[i] = n + 1
                if takes:
                    lanes.change_at[w, i] = time + reaction
        elif goal == NOBODY:
            lanes.change_at[w, i] = NEVER
        car = state.car[w, i]
        ahead = max(STEER_AHEAD_S * v, 6.0)
        aim = 0.0
        if lanes.goal[w, i] != NOBODY:
            since = time - lanes.change_at[w, i]
            aim = width * _shifted((since + ahead / max(v, 1.0)) / CHANGE_S) - (
                0.0 if lanes.goal[w, i] == left else width
            )
            if since > CHANGE_S + STEER_AHEAD_S:
                lanes.goal[w, i] = NOBODY
        path = road.path[road.first[route] : road.first[route] + road.num_rows[route]]
        accel = max(-HARDEST_MPS2, min(accel, go))
        accel = min(max(accel, car[ACCEL] - JERK_DOWN * DT_S), car[ACCEL] + habits[4] * DT_S)
        decisions.kind[w, i] = FREE
        decisions.control[w, i, 0] = max(accel, -car[SPEED] / DT_S)
        decisions.control[w, i, 1] = pursue(car, path, road.step[route], state.lane[w, i, 0], aim, ahead, length)
