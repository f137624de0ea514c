"""Free two-dimensional motion of cars within what people and cars can do; compiled, for many worlds at once."""

from __future__ import annotations

import math

from giveway.core.arrays import FloatArray
from giveway.core.kernels import njit
from giveway.planning.limits import MotionBounds

X, Y, HEADING, SPEED, STEER, ACCEL = range(6)
"""Columns of the state of a car: box center [m], heading [rad], speed of the center [m/s], front wheel angle
[rad], acceleration of the last step [m/s^2]."""

CAR_STATE = 6

WHEELBASE_SHARE = 0.6
"""Wheelbase of a car as a share of its length."""

MAX_STEER_RAD = 0.6


@njit(cache=True, nogil=True, inline="always")
def steer_for(curvature: float, length: float) -> float:
    """Front wheel angle for a curvature of the center: tan(steer) = kL / sqrt(1 - (kL/2)^2), L the wheelbase."""
    turn = curvature * WHEELBASE_SHARE * length
    room = 1.0 - 0.25 * turn * turn
    if room <= 1e-6:
        return MAX_STEER_RAD if curvature > 0.0 else -MAX_STEER_RAD
    return math.atan(turn / math.sqrt(room))


@njit(cache=True, nogil=True, inline="always")
def curvature_of(steer: float, length: float) -> float:
    """Curvature of the path of the center [1/m]; the inverse of :func:`steer_for`."""
    slope = math.tan(steer)
    return slope / (WHEELBASE_SHARE * length * math.sqrt(1.0 + 0.25 * slope * slope))


@njit(cache=True, nogil=True)
def drive_free(
    state: FloatArray, accel: float, steer_rate: float, length: float, dt: float, b: MotionBounds, after: FloatArray
) -> None:
    """Kinematic bicycle about the center of the box, an exact arc per step, kept within bounds.

    The center travels at the slip angle beta to the body, tan(beta) = tan(steer) / 2; the car does not reverse. The
    acceleration first meets the jerk limit, then its own limits; the wheel meets its rate, then the tighter one of the
    curvature limit and the lateral acceleration at the faster end of the step.

    Args:
        state: (6,) columns as above.
        accel: asked for [m/s^2].
        steer_rate: asked for [rad/s].
        length: of the car [m].
        dt: length of the step [s].
        b: bounds.
        after: (6,) written; may be ``state``.

    Reference:
        Rajamani, Vehicle Dynamics and Control, 2nd edition, section 2.2.
    """
    speed = state[SPEED]
    reach = b.max_jerk_mps3 * dt
    accel = min(max(accel, state[ACCEL] - reach), state[ACCEL] + reach)
    accel = min(max(accel, -b.max_brake_mps2), b.max_accel_mps2)
    if accel > 0.0 and speed + accel * dt > b.max_speed_mps:
        accel = max((b.max_speed_mps - speed) / dt, 0.0)
    duration = dt
    new = speed + accel * dt
    if new < 0.0:
        duration = -speed / accel
        new = 0.0
    way = speed * duration + 0.5 * accel * duration * duration
    rate = min(max(steer_rate, -b.max_steer_rate_radps), b.max_steer_rate_radps)
    fastest = max(speed, new)
    sharpest = min(b.max_curvature_pm, b.max_lateral_mps2 / max(fastest * fastest, 1e-6))
    limit = min(steer_for(sharpest, length), MAX_STEER_RAD)
    steer = min(max(state[STEER] + rate * dt, -limit), limit)
    beta = math.atan(0.5 * math.tan(steer))
    curvature = curvature_of(steer, length)
    half = 0.5 * curvature * way
    chord = way if abs(half) < 1e-9 else way * math.sin(half) / half
    direction = state[HEADING] + beta + half
    after[X] = state[X] + chord * math.cos(direction)
    after[Y] = state[Y] + chord * math.sin(direction)
    after[HEADING] = state[HEADING] + curvature * way
    after[SPEED] = new
    after[STEER] = steer
    after[ACCEL] = (new - speed) / dt
