"""What a learning car sees; compiled."""

from __future__ import annotations

import math

from giveway.core.arrays import AnyArray, BoolArray, FloatArray
from giveway.core.kernels import njit
from giveway.generate.objective.arrays import ObservationMode, Rules
from giveway.roads.tables import RoadTables
from giveway.sim.bicycle import ACCEL, HEADING, SPEED, STEER, X, Y
from giveway.sim.locate import wrapped
from giveway.sim.state import State

RELATIVE = int(ObservationMode.RELATIVE)
OWN, PER_OTHER, ROAD, REACHED = 5, 8, 3, 1
NEAR_M, SPEED_MPS, TTC_S, GOAL_M = 30.0, 10.0, 10.0, 100.0
"""Units in which distances, speeds, times to collision and the way to the goal are told."""


def observation_size(mode: int, cars: int, traffic: int) -> int:
    """Numbers per car: 5 + 8 (k + m) + 3 + 1, or 4 (k + 1) for the artefact's."""
    return OWN + PER_OTHER * (cars + traffic) + ROAD + REACHED if mode == RELATIVE else 4 * (cars + 1)


@njit(nogil=True, inline="always")
def _clip(value: float, bound: float) -> float:
    return min(max(value, -bound), bound)


@njit(nogil=True)
def _relative(
    i: int, cars: FloatArray, lane: FloatArray, present: BoolArray, size: FloatArray, half_width: float, out: AnyArray
) -> int:
    """Own lane and speed, and every other car as seen from it; returns the number of columns written."""
    own = cars[i]
    out[0] = _clip(lane[1] / half_width, 3.0)
    out[1] = lane[2]
    out[2] = own[SPEED] / SPEED_MPS
    direction = own[HEADING] - lane[2]
    cos, sin = math.cos(direction), math.sin(direction)
    speed_s, speed_d = own[SPEED] * math.cos(lane[2]), own[SPEED] * math.sin(lane[2])
    at = OWN
    for j in range(cars.shape[0]):
        if j == i:
            continue
        seen = out[at : at + PER_OTHER]
        at += PER_OTHER
        if not present[j]:
            seen[:] = 0.0
            continue
        other = cars[j]
        dx, dy = other[X] - own[X], other[Y] - own[Y]
        along, across = dx * cos + dy * sin, dy * cos - dx * sin
        turn = wrapped(other[HEADING] - direction)
        rate_s, rate_d = other[SPEED] * math.cos(turn) - speed_s, other[SPEED] * math.sin(turn) - speed_d
        gap = abs(along) - 0.5 * (size[i, 0] + size[j, 0])
        closing = -rate_s if along > 0.0 else rate_s
        ttc = gap / closing if closing > 1e-3 and gap > 0.0 else (TTC_S if gap > 0.0 else 0.0)
        seen[0] = _clip(along / NEAR_M, 3.0)
        seen[1] = _clip(across / (2.0 * half_width), 5.0)
        seen[2] = wrapped(turn - lane[2])
        seen[3] = rate_s / SPEED_MPS
        seen[4] = rate_d / SPEED_MPS
        seen[5] = _clip(gap / NEAR_M, 3.0)
        seen[6] = min(ttc, TTC_S) / TTC_S
        seen[7] = 1.0
    return at


@njit(nogil=True)
def _artefact(w: int, i: int, road: RoadTables, rules: Rules, state: State, out: AnyArray) -> None:
    """Own x, y in units of the road's extent, and velocity; the same of each team mate, then of the ego."""
    at = 0
    for turn in range(rules.cars + 1):
        j = i if turn == 0 else (turn if turn < i else turn + 1)
        if turn == rules.cars:
            j = 0
        car = state.car[w, j]
        on = 1.0 if state.present[w, j] else 0.0
        out[at] = on * (car[X] - road.center[0] + 0.5 * road.extent[0]) / road.extent[0]
        out[at + 1] = on * (car[Y] - road.center[1] + 0.5 * road.extent[1]) / road.extent[1]
        out[at + 2] = on * car[SPEED] * math.cos(car[HEADING])
        out[at + 3] = on * car[SPEED] * math.sin(car[HEADING])
        at += 4


@njit(nogil=True, inline="always")  # handing over the tables costs more than looking at them
def observe(w: int, road: RoadTables, rules: Rules, state: State, reached: float, out: AnyArray) -> None:
    """Write (k, o) what the learning cars of a world see; zeros for one that is gone.

    ``reached`` is the highest grade so far, without which a reward that pays its growth would not be Markov.
    """
    for i in range(1, rules.cars + 1):
        if not state.present[w, i]:
            out[i - 1, :] = 0.0
        elif rules.observation == RELATIVE:
            seen = out[i - 1]
            own, lane, route = state.car[w, i], state.lane[w, i], state.route[w, i]
            at = _relative(i, state.car[w], lane, state.present[w], rules.size, road.half_width, seen)
            seen[3] = own[ACCEL] / rules.bounds.max_brake_mps2
            seen[4] = own[STEER] / rules.bounds.max_steer_rate_radps
            row = road.first[route] + state.row[w, i]
            seen[at] = 1.0 if road.left[row] >= 0 else 0.0
            seen[at + 1] = 1.0 if road.right[row] >= 0 else 0.0
            seen[at + 2] = _clip((road.length[route] - lane[0]) / GOAL_M, 5.0)
            seen[at + 3] = reached
        else:
            _artefact(w, i, road, rules, state, out[i - 1])
