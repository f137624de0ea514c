"""From a planned trajectory to pedal and wheel: pure pursuit of its path, and its speed within the bounds of the car.

Reference:
    Coulter (1992), Implementation of the pure pursuit path tracking algorithm, CMU-RI-TR-92-01. There the rear axle
    follows; here the box center does, whose direction of travel turns with the wheel.
"""

from __future__ import annotations

import math

import numpy as np

from giveway.core import elementary
from giveway.core.arrays import FloatArray
from giveway.core.kernels import njit
from giveway.planning.limits import MotionBounds
from giveway.planning.protocol import Plan
from giveway.sim import bicycle
from giveway.sim.bicycle import HEADING, SPEED, STEER, WHEELBASE_SHARE, X, Y, steer_for
from giveway.sim.compiling import compiled
from giveway.sim.motion import look_up

LOOK_AHEAD_S = 0.6
"""The point pursued is as far ahead as the car drives in this time ..."""

MIN_LOOK_AHEAD_M = 3.0
"""... but never nearer than this, below which the wheel would jerk."""

SPEED_GAIN_PS = 2.5
"""Acceleration per m/s that the car is too slow [1/s]; with the gain of places it is critically damped."""

PLACE_GAIN_PS2 = 1.5
"""Acceleration per meter that the car is behind its trajectory [1/s^2]."""


MAX_OFFSET_M = 1.5
"""A plan along a route stays this near to it."""


@njit(cache=True, nogil=True)
def _point_ahead(x: float, y: float, states: FloatArray, reach: float) -> tuple[float, float]:
    """The point of the trajectory that is ``reach`` meters of its path beyond the place nearest to (x, y).

    Beyond its last state the path goes straight on along the last heading.
    """
    count = states.shape[0]
    at = 0
    nearest = math.inf
    for k in range(count):
        d = (states[k, 0] - x) ** 2 + (states[k, 1] - y) ** 2
        if d < nearest:
            nearest, at = d, k
    # The nearest state may lie ahead already: what is left of the reach begins there.
    cos, sin = math.cos(states[at, 2]), math.sin(states[at, 2])
    left = reach - (cos * (states[at, 0] - x) + sin * (states[at, 1] - y))
    for k in range(at + 1, count):
        dx, dy = states[k, 0] - states[k - 1, 0], states[k, 1] - states[k - 1, 1]
        piece = math.hypot(dx, dy)
        if piece >= left and piece > 0.0:
            part = left / piece
            return states[k - 1, 0] + part * dx, states[k - 1, 1] + part * dy
        left -= piece
    end = states[count - 1]
    return end[0] + left * math.cos(end[2]), end[1] + left * math.sin(end[2])


@njit(cache=True, nogil=True)
def curvature_to(dx: float, dy: float, heading: float, rear: float) -> float:
    """Curvature of the arc that the box center drives through a point [1/m].

    The center travels at the slip angle beta to the heading, sin(beta) = k b with b the distance of the rear axle
    behind it. An arc of curvature k reaches a point at distance L and bearing a if k L / 2 = sin(a - beta), hence

        k = sin(a) / sqrt(L^2 / 4 + L b cos(a) + b^2)

    which is the classical 2 sin(a) / L for b = 0. A point that is the center itself gives 0.
    """
    far = math.hypot(dx, dy)
    if far < 1e-6:
        return 0.0
    bearing = math.atan2(dy, dx) - heading
    return math.sin(bearing) / math.sqrt(0.25 * far * far + far * rear * math.cos(bearing) + rear * rear)


@compiled(bicycle)
def follow(
    cars: FloatArray, trajectories: FloatArray, lengths: FloatArray, bounds: MotionBounds, dt: float, out: FloatArray
) -> None:
    """Acceleration and steering rate of the next tick for cars that follow trajectories.

    The acceleration is that of the trajectory between its first two states (from the present speed to the first one if
    it has only one), plus gains on what the car lacks in speed and place at the first state. A trajectory that begins
    with the car's own state is driven as it says. The wheel turns towards the arc through the point pursued. Both are
    cut by the bicycle (:func:`giveway.sim.bicycle.drive_free`), the steering rate here too.

    Args:
        cars: (N, 6) columns as in :mod:`giveway.sim.bicycle`.
        trajectories: (N, P, 4) x, y, heading, speed at +1, +2, ... ticks.
        lengths: (N,) of the cars [m].
        bounds: of the cars.
        dt: length of a tick [s].
        out: (N, 2) written.
    """
    for n in range(cars.shape[0]):
        car, states = cars[n], trajectories[n]
        speed = car[SPEED]
        first = states[0]
        cos, sin = math.cos(first[2]), math.sin(first[2])
        accel = (states[1, 3] - first[3]) / dt if states.shape[0] > 1 else (first[3] - speed) / dt
        slow = first[3] - speed - accel * dt
        behind = cos * (first[0] - car[X]) + sin * (first[1] - car[Y]) - 0.5 * (speed + first[3]) * dt
        out[n, 0] = accel + SPEED_GAIN_PS * slow + PLACE_GAIN_PS2 * behind
        reach = max(LOOK_AHEAD_S * speed, MIN_LOOK_AHEAD_M)
        x, y = _point_ahead(car[X], car[Y], states, reach)
        rear = 0.5 * WHEELBASE_SHARE * lengths[n]
        bend = curvature_to(x - car[X], y - car[Y], car[HEADING], rear)
        bend = min(max(bend, -bounds.max_curvature_pm), bounds.max_curvature_pm)
        rate = (steer_for(bend, lengths[n]) - car[STEER]) / dt
        out[n, 1] = min(max(rate, -bounds.max_steer_rate_radps), bounds.max_steer_rate_radps)


def poses_of(plan: Plan, path: FloatArray, step_m: float, dt: float) -> FloatArray:
    """(50, 4) the trajectory of a plan along a route: x, y, heading, speed.

    The position is the foot point moved by the offset along the normal of the route; heading and speed are those of
    its motion, except that the speed of the first state is the one that the plan names.

    Args:
        plan: along the route of ``path``.
        path: (P, 6) table of the route; straight on beyond its ends.
        step_m: spacing of its rows.
        dt: length of a tick [s].
    """
    s = np.asarray(plan.s_m, dtype=np.float64)
    offset = np.zeros_like(s) if plan.offset_m is None else np.asarray(plan.offset_m, dtype=np.float64)
    end = (path.shape[0] - 1) * step_m
    poses = np.array([look_up(path, step_m, at) for at in s.tolist()])
    over = s - np.clip(s, 0.0, end)
    cos, sin = np.cos(poses[:, 2]), np.sin(poses[:, 2])
    x = poses[:, 0] + over * cos - offset * sin
    y = poses[:, 1] + over * sin + offset * cos
    along, aside = np.gradient(s, dt), np.gradient(offset, dt)
    turn = np.where(along > 1e-3, elementary.arctan2(aside, np.maximum(along, 1e-3)), 0.0)
    speed = np.hypot(along, aside)
    speed[0] = plan.speed_mps
    return np.stack([x, y, poses[:, 2] + turn, speed], axis=1)


def offset_problem(offset_m: FloatArray, poses: FloatArray, bounds: MotionBounds) -> str:
    """What is wrong with the offsets of a plan, in one sentence; empty if nothing is.

    Args:
        offset_m: (50,) to the left of the route.
        poses: (50, 4) of the plan, see :func:`poses_of`.
        bounds: of the car; the curvature counts where it moves by at least 5 cm per tick.
    """
    widest = float(np.abs(offset_m).max())
    if widest > MAX_OFFSET_M:
        return f"a plan {widest:.2f} m beside its route; at most {MAX_OFFSET_M:g} m"
    way = np.hypot(*np.diff(poses[:, :2], axis=0).T)
    moves = way > 0.05
    bend = np.abs(np.diff(poses[:, 2]))[moves] / way[moves]
    lateral = bend * poses[1:, 3][moves] ** 2
    if bend.size and bend.max() > bounds.max_curvature_pm + 1e-9:
        return f"a plan that bends by {bend.max():.2f} 1/m; at most {bounds.max_curvature_pm:g}"
    if bend.size and lateral.max() > bounds.max_lateral_mps2 + 1e-9:
        return f"a plan that asks for {lateral.max():.1f} m/s^2 to the side; at most {bounds.max_lateral_mps2:g}"
    return ""
