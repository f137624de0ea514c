"""Driver ``actions``: cars whose pedal and wheel, side speed or manoeuvre comes from outside; compiled.

Policies, scripts and learners all drive through it. An action is turned into acceleration and steering rate here; the
step then moves the car by the bounded bicycle.
"""

from __future__ import annotations

import math
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray, IntArray
from giveway.core.kernels import njit
from giveway.planning import idm, occupancy
from giveway.planning.builtin import LOOK_AHEAD_M, SIDE_MARGIN_M
from giveway.planning.idm import IdmParameters, idm_acceleration
from giveway.planning.occupancy import lead_on_path
from giveway.planning.profiles import DT_S
from giveway.roads import route_tables
from giveway.roads.route_tables import PATH_SPEED
from giveway.roads.tables import RoadTables
from giveway.sim import bicycle, locate
from giveway.sim.bicycle import HEADING, SPEED, STEER, MotionBounds, X, Y, steer_for
from giveway.sim.compiling import compiled
from giveway.sim.locate import locate as locate_on
from giveway.sim.locate import pose_at, rows_of, wrapped
from giveway.sim.state import Decisions, State, Static


class ActionMode(IntEnum):
    """What an action means; see docs/generate/environment.md."""

    STEERING = 0
    LATERAL = 1
    MANEUVERS = 2


STEERING = int(ActionMode.STEERING)
LATERAL = int(ActionMode.LATERAL)
MANEUVERS = int(ActionMode.MANEUVERS)

SIDE_SPEED_MPS = 2.0
"""Lateral speed that a lateral action of 1 asks for."""

BRAKE_MPS2, GO_MPS2 = -4.0, 2.0
"""What the manoeuvres "brake" and "go" ask for."""

SETTLED_SHARE = 0.5
"""A new lane change begins only within this share of half a lane width from the middle of the lane."""

EDGE_ROOM_M = 0.2
"""Room that lane controllers leave between a car and the edge of the lanes they may use."""


class LaneTargets(NamedTuple):
    """Where cars that are driven by manoeuvres steer to.

    Attributes:
        route: (W, A) route.
        row: (W, A) the car's row there.
    """

    route: IntArray
    row: IntArray


@njit(cache=True, nogil=True)
def pursue(car: FloatArray, path: FloatArray, step: float, s: float, d: float, ahead: float, length: float) -> float:
    """Steering rate that turns the wheel within a step towards the arc through the point ``ahead`` on a route.

    curvature = 2 sin(alpha) / distance, alpha the angle between heading and the direction to the point (pure pursuit)
    """
    x, y, _ = pose_at(path, step, s + ahead, d)
    dx, dy = x - car[X], y - car[Y]
    distance = max(math.hypot(dx, dy), 1.0)
    alpha = wrapped(math.atan2(dy, dx) - car[HEADING])
    return (steer_for(2.0 * math.sin(alpha) / distance, length) - car[STEER]) / DT_S


@njit(cache=True, nogil=True)
def offset_range(road: RoadTables, route: int, row: int, width: float) -> tuple[float, float]:
    """Offsets between which the lateral controller keeps a car: own lane and the neighboring ones there [m]."""
    at = road.first[route] + row
    room = road.half_width - 0.5 * width - EDGE_ROOM_M
    left = room + (2.0 * road.half_width if road.left[at] >= 0 else 0.0)
    right = -room - (2.0 * road.half_width if road.right[at] >= 0 else 0.0)
    return right, left


@njit(cache=True, nogil=True)
def pedal_and_wheel(
    road: RoadTables,
    route: int,
    row: int,
    car: FloatArray,
    lane: FloatArray,
    size: FloatArray,
    bounds: MotionBounds,
    mode: int,
    action: FloatArray,
) -> tuple[float, float]:
    """Acceleration [m/s^2] and steering rate [rad/s] of a continuous action (2,) in [-1, 1]."""
    pedal = min(max(action[0], -1.0), 1.0)
    accel = pedal * (bounds.max_accel_mps2 if pedal > 0.0 else bounds.max_brake_mps2)
    side = min(max(action[1], -1.0), 1.0)
    if mode == STEERING:
        return accel, side * bounds.max_steer_rate_radps
    ahead = max(6.0, 1.2 * car[SPEED])
    wanted = lane[1] + side * SIDE_SPEED_MPS * ahead / max(car[SPEED], 2.0)
    right, left = offset_range(road, route, row, size[1])
    wanted = min(max(wanted, right), left)
    path, step = rows_of(road, route)
    return accel, pursue(car, path, step, lane[0], wanted, ahead, size[0])


@njit(cache=True, nogil=True)
def maneuver(
    w: int, i: int, choice: int, road: RoadTables, state: State, targets: LaneTargets, length: float
) -> tuple[float, float]:
    """Acceleration [m/s^2] and steering rate [rad/s] of a manoeuvre: {keep, left, right} x {brake, coast, go}."""
    pedal, side = choice % 3, choice // 3
    accel = BRAKE_MPS2 if pedal == 0 else (0.0 if pedal == 1 else GO_MPS2)
    route, car = state.route[w, i], state.car[w, i]
    settled = abs(state.lane[w, i, 1]) < SETTLED_SHARE * road.half_width and targets.route[w, i] == route
    if side != 0 and settled:
        at = road.first[route] + state.row[w, i]
        neighbor = road.left[at] if side == 1 else road.right[at]
        if neighbor >= 0:
            targets.route[w, i] = neighbor
            targets.row[w, i] = road.left_row[at] if side == 1 else road.right_row[at]
    target = targets.route[w, i]
    row, s, _, _ = locate_on(road, target, targets.row[w, i], car[X], car[Y])
    targets.row[w, i] = row
    path, step = rows_of(road, target)
    return accel, pursue(car, path, step, s, 0.0, max(6.0, 1.5 * car[SPEED]), length)


@compiled(route_tables, bicycle, locate)
def steer(
    static: Static,
    state: State,
    decisions: Decisions,
    targets: LaneTargets,
    who: IntArray,
    actions: FloatArray,
    mode: int,
    first: int,
    last: int,
) -> None:
    """Turn actions into controls.

    Args:
        static: of the worlds.
        state: now.
        decisions: ``control`` is written.
        targets: of manoeuvres.
        who: (k,) agents that are driven so, the same in every world.
        actions: (W, k, 2) in [-1, 1]; manoeuvres as whole numbers in column 0.
        mode: :class:`ActionMode`.
        first: first world.
        last: the one after the last.
    """
    road = static.road
    for w in range(first, last):
        for c in range(who.size):
            i = who[c]
            if not state.present[w, i]:
                continue
            size = static.size[w, i]
            if mode != MANEUVERS:
                accel, rate = pedal_and_wheel(
                    road, state.route[w, i], state.row[w, i], state.car[w, i], state.lane[w, i], size, static.bounds,
                    mode, actions[w, c],
                )  # fmt: skip
            else:
                accel, rate = maneuver(w, i, int(actions[w, c, 0]), road, state, targets, size[0])
            decisions.control[w, i, 0] = accel
            decisions.control[w, i, 1] = rate


@njit(cache=True, nogil=True)
def ordinary_acceleration(
    road: RoadTables,
    route: int,
    i: int,
    s: float,
    speed: float,
    desired: float,
    now: FloatArray,
    present: BoolArray,
    size: FloatArray,
    parameters: IdmParameters,
) -> float:
    """Acceleration of the intelligent driver model for any car on its route, slower in curves [m/s^2]."""
    path, step = rows_of(road, route)
    begin = road.coarse_first[route]
    coarse = road.coarse[begin : begin + road.coarse_count[route]]
    gap, lead = lead_on_path(path, coarse, step, i, s, now, present, size, LOOK_AHEAD_M, SIDE_MARGIN_M)
    curve = path[min(max(int(s / step), 0), path.shape[0] - 1), PATH_SPEED]
    return idm_acceleration(speed, min(desired, curve), gap, lead, parameters)


@compiled(idm, occupancy, route_tables, bicycle, locate)
def ordinary_actions(
    static: Static, state: State, who: IntArray, mode: int, parameters: IdmParameters, out: FloatArray
) -> None:
    """Write (W, k, 2) what ordinary drivers would do: follow the car ahead and keep to the middle of the lane."""
    road, bounds = static.road, static.bounds
    n = state.car.shape[1]
    now = np.empty((n, 5))
    for w in range(out.shape[0]):
        for i in range(n):
            car = state.car[w, i]
            now[i, 0], now[i, 1], now[i, 2] = car[X], car[Y], car[SPEED]
            now[i, 3], now[i, 4] = math.cos(car[HEADING]), math.sin(car[HEADING])
        for c in range(who.size):
            i = who[c]
            out[w, c, :] = 0.0
            if not state.present[w, i]:
                continue
            car, lane, route = state.car[w, i], state.lane[w, i], state.route[w, i]
            accel = ordinary_acceleration(
                road, route, i, lane[0], car[SPEED], static.desired_speed[w, i], now, state.present[w],
                static.size[w], parameters,
            )  # fmt: skip
            if mode == MANEUVERS:
                out[w, c, 0] = 0.0 if accel < 0.5 * BRAKE_MPS2 else (1.0 if accel < 0.3 * GO_MPS2 else 2.0)
                continue
            limit = bounds.max_accel_mps2 if accel > 0.0 else bounds.max_brake_mps2
            out[w, c, 0] = min(max(accel / limit, -1.0), 1.0)
            if mode == LATERAL:
                out[w, c, 1] = min(max(-0.5 * lane[1] / SIDE_SPEED_MPS, -1.0), 1.0)
                continue
            path, step = rows_of(road, route)
            rate = pursue(car, path, step, lane[0], 0.0, max(6.0, 1.5 * car[SPEED]), static.size[w, i, 0])
            out[w, c, 1] = min(max(rate / bounds.max_steer_rate_radps, -1.0), 1.0)
