"""Who drives how: the ego by a compiled planner, bystanders by car following, learning cars by their actions."""

from __future__ import annotations

import math

from giveway.core.arrays import FloatArray
from giveway.core.kernels import njit
from giveway.generate.environment.arrays import DT_S, ActionMode, EgoDriver, Given, Moving, Rules
from giveway.generate.environment.lanes import locate, pose_at, rows_of, wrapped
from giveway.planning.builtin import LOOK_AHEAD_M, SIDE_MARGIN_M
from giveway.planning.encounters import choose_profile
from giveway.planning.idm import idm_acceleration
from giveway.planning.occupancy import lead_on_path
from giveway.roads.tables import RoadTables
from giveway.sim.free_motion import ACCEL, HEADING, SPEED, STEER, X, Y, steer_for
from giveway.sim.motion import cruise

EGO_IDM = int(EgoDriver.IDM)
EGO_DEFAULT = int(EgoDriver.DEFAULT)
EGO_OUTSIDE = int(EgoDriver.OUTSIDE)
STEERING = int(ActionMode.STEERING)
LATERAL = int(ActionMode.LATERAL)

SIDE_SPEED_MPS = 2.0
"""Lateral speed that a lateral action of 1 asks for."""

BRAKE_MPS2, GO_MPS2 = -4.0, 2.0
"""What the manoeuvres "brake" and "go" ask for."""

SETTLED_SHARE = 0.5
"""A new lane change begins only within this share of half a lane width from the middle of the lane."""

EDGE_ROOM_M = 0.2
"""Room that lane controllers leave between a car and the edge of the lanes they may use."""


@njit(nogil=True)
def plan_ego(
    w: int,
    road: RoadTables,
    rules: Rules,
    moving: Moving,
    given: Given,
    now: FloatArray,
    row_states: FloatArray,
    row_facts: FloatArray,
    blocked: FloatArray,
    trial: FloatArray,
    cost: FloatArray,
) -> tuple[float, float]:
    """The ego's position along its way and its speed after the step; its plan is kept.

    ``now`` holds x, y, speed, cosine and sine of the heading of all cars of the world.
    """
    way = moving.way[w, 0]
    first = road.first[way]
    path = road.path[first : first + road.num_rows[way]]
    coarse = road.coarse[road.coarse_first[way] : road.coarse_first[way] + road.coarse_count[way]]
    step = float(road.step[way])
    s, speed = moving.lane[w, 0, 0], moving.state[w, 0, SPEED]
    desired = moving.desired[w, 0]
    plan = moving.plan_s[w]
    if rules.ego == EGO_OUTSIDE:
        plan[:] = given.ego_s[w]
        return plan[0], given.ego_speed[w]
    if rules.ego == EGO_IDM:
        gap, lead = lead_on_path(
            path, coarse, step, 0, s, now, moving.present[w], rules.size, LOOK_AHEAD_M, SIDE_MARGIN_M
        )
        curve = path[min(max(int(s / step), 0), path.shape[0] - 1), 5]
        accel = idm_acceleration(speed, min(desired, curve), gap, lead, rules.idm)
        cruise(plan, s, speed, accel, desired)
        return plan[0], max(speed + accel * DT_S, 0.0)
    if rules.ego == EGO_DEFAULT:
        rows = 0
        for j in range(1, now.shape[0]):
            if not moving.present[w, j]:
                continue
            car = moving.state[w, j]
            row_facts[rows, 0] = rules.size[j, 0]
            row_facts[rows, 1] = rules.size[j, 1]
            row_facts[rows, 2] = j
            row_facts[rows, 3] = 1.0
            row_facts[rows, 4] = 0.2
            seen = row_states[rows]
            for t in range(seen.shape[0]):
                ahead = (t + 1) * 2.0 * DT_S
                seen[t, 0] = car[X] + ahead * car[SPEED] * now[j, 3]
                seen[t, 1] = car[Y] + ahead * car[SPEED] * now[j, 4]
                seen[t, 2] = now[j, 3]
                seen[t, 3] = now[j, 4]
            rows += 1
        best = choose_profile(
            path,
            coarse,
            step,
            s,
            speed,
            moving.state[w, 0, ACCEL],
            rules.size[0, 0],
            rules.size[0, 1],
            desired,
            plan,
            rows,
            row_states,
            row_facts,
            rules.profiles,
            blocked,
            trial,
            cost,
        )
        for t in range(plan.size):
            plan[t] = trial[0, t + 1, best]
        return plan[0], trial[1, 1, best]
    cruise(plan, s, speed, 0.0, speed)
    return plan[0], speed


@njit(nogil=True)
def follow(w: int, i: int, road: RoadTables, rules: Rules, moving: Moving, now: FloatArray) -> float:
    """Acceleration of the intelligent driver model for any car on its way [m/s^2]."""
    way = moving.way[w, i]
    first = road.first[way]
    path = road.path[first : first + road.num_rows[way]]
    coarse = road.coarse[road.coarse_first[way] : road.coarse_first[way] + road.coarse_count[way]]
    s = moving.lane[w, i, 0]
    step = float(road.step[way])
    gap, lead = lead_on_path(path, coarse, step, i, s, now, moving.present[w], rules.size, LOOK_AHEAD_M, SIDE_MARGIN_M)
    curve = path[min(max(int(s / step), 0), path.shape[0] - 1), 5]
    return idm_acceleration(moving.state[w, i, SPEED], min(moving.desired[w, i], curve), gap, lead, rules.idm)


@njit(nogil=True)
def pursue(car: FloatArray, path: FloatArray, step: float, s: float, d: float, ahead: float, length: float) -> float:
    """Steering rate that turns the wheel within a step towards the arc through the point ``ahead`` on a way.

    curvature = 2 sin(alpha) / distance, alpha the angle between heading and the direction to the point (pure pursuit)
    """
    x, y, _ = pose_at(path, step, s + ahead, d)
    dx, dy = x - car[X], y - car[Y]
    distance = max(math.hypot(dx, dy), 1.0)
    alpha = wrapped(math.atan2(dy, dx) - car[HEADING])
    return (steer_for(2.0 * math.sin(alpha) / distance, length) - car[STEER]) / DT_S


@njit(nogil=True)
def controls(w: int, i: int, road: RoadTables, rules: Rules, moving: Moving, action: FloatArray) -> tuple[float, float]:
    """Acceleration [m/s^2] and steering rate [rad/s] that an action of learning car i (row 1 to k) asks for."""
    car = moving.state[w, i]
    bounds = rules.bounds
    if rules.actions == STEERING or rules.actions == LATERAL:
        pedal = min(max(action[0], -1.0), 1.0)
        accel = pedal * (bounds.max_accel_mps2 if pedal > 0.0 else bounds.max_brake_mps2)
        side = min(max(action[1], -1.0), 1.0)
        if rules.actions == STEERING:
            return accel, side * bounds.max_steer_rate_radps
        ahead = max(6.0, 1.2 * car[SPEED])
        wanted = moving.lane[w, i, 1] + side * SIDE_SPEED_MPS * ahead / max(car[SPEED], 2.0)
        right, left = offset_range(w, i, road, rules, moving)
        wanted = min(max(wanted, right), left)
        path, step = rows_of(road, moving.way[w, i])
        return accel, pursue(car, path, step, moving.lane[w, i, 0], wanted, ahead, rules.size[i, 0])
    choice = int(action[0])
    pedal_choice = choice % 3
    accel = BRAKE_MPS2 if pedal_choice == 0 else (0.0 if pedal_choice == 1 else GO_MPS2)
    choose_lane(w, i, choice // 3, road, moving)
    target = moving.target[w, i - 1]
    row, s, _, _ = locate(road, target, moving.target_row[w, i - 1], car[X], car[Y])
    moving.target_row[w, i - 1] = row
    path, step = rows_of(road, target)
    return accel, pursue(car, path, step, s, 0.0, max(6.0, 1.5 * car[SPEED]), rules.size[i, 0])


@njit(nogil=True)
def offset_range(w: int, i: int, road: RoadTables, rules: Rules, moving: Moving) -> tuple[float, float]:
    """Offsets between which the lateral controller keeps a car: own lane and the neighboring ones there [m]."""
    at = road.first[moving.way[w, i]] + moving.row[w, i]
    room = road.half_width - 0.5 * rules.size[i, 1] - EDGE_ROOM_M
    left = room + (2.0 * road.half_width if road.left[at] >= 0 else 0.0)
    right = -room - (2.0 * road.half_width if road.right[at] >= 0 else 0.0)
    return right, left


@njit(nogil=True)
def choose_lane(w: int, i: int, side: int, road: RoadTables, moving: Moving) -> None:
    """Begin a lane change to the left (1) or right (2) if there is a lane and none is under way; 0 goes on."""
    way = moving.way[w, i]
    settled = abs(moving.lane[w, i, 1]) < SETTLED_SHARE * road.half_width and moving.target[w, i - 1] == way
    if side == 0 or not settled:
        return
    at = road.first[way] + moving.row[w, i]
    neighbor = road.left[at] if side == 1 else road.right[at]
    if neighbor >= 0:
        moving.target[w, i - 1] = neighbor
        moving.target_row[w, i - 1] = road.left_row[at] if side == 1 else road.right_row[at]


@njit(nogil=True)
def natural_action(
    w: int, i: int, road: RoadTables, rules: Rules, moving: Moving, now: FloatArray, out: FloatArray
) -> None:
    """Write the action of an ordinary driver: follow the car ahead and keep to the middle of the lane."""
    car = moving.state[w, i]
    accel = follow(w, i, road, rules, moving, now)
    if rules.actions != STEERING and rules.actions != LATERAL:
        out[0] = 0.0 if accel < 0.5 * BRAKE_MPS2 else (1.0 if accel < 0.3 * GO_MPS2 else 2.0)
        out[1] = 0.0
        return
    limit = rules.bounds.max_accel_mps2 if accel > 0.0 else rules.bounds.max_brake_mps2
    out[0] = min(max(accel / limit, -1.0), 1.0)
    if rules.actions == LATERAL:
        out[1] = min(max(-0.5 * moving.lane[w, i, 1] / SIDE_SPEED_MPS, -1.0), 1.0)
        return
    ahead = max(6.0, 1.5 * car[SPEED])
    path, step = rows_of(road, moving.way[w, i])
    rate = pursue(car, path, step, moving.lane[w, i, 0], 0.0, ahead, rules.size[i, 0])
    out[1] = min(max(rate / rules.bounds.max_steer_rate_radps, -1.0), 1.0)
