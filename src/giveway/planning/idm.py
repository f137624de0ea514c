"""The intelligent driver model: how a car follows the one ahead.

Reference:
    Treiber, Hennecke, Helbing (2000), Congested traffic states in empirical observations and microscopic simulations;
    Treiber and Kesting, Traffic Flow Dynamics (2013), 11.3.7 for the free-road term above the desired speed.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from giveway.core.kernels import njit
from giveway.planning.limits import (
    COMFORT_ACCEL_MPS2,
    COMFORT_DECEL_MPS2,
    COMFORT_JERK_MPS3,
    EMERGENCY_DECEL_MPS2,
    EMERGENCY_JERK_MPS3,
    STOP_JERK_MPS3,
    STOP_S,
)

BRAKE_LAG_S, BRAKE_ROOM_M = 0.4, 0.5
"""Time that comfortable braking loses to its jerk limit, and distance that is left, when it is checked to suffice."""


class IdmParameters(NamedTuple):
    """Parameters; the defaults are those of the challenge's cars, whose exponent was never published.

    Attributes:
        max_accel_mps2: a.
        comfort_decel_mps2: b.
        min_gap_m: s_0.
        headway_s: T.
        exponent: delta.
        max_decel_mps2: bound of what the model may ask for.
        is_comfortable: 1 for an ego that keeps within the bounds of comfort, see :func:`comfortable_accel`; means
            nothing for traffic.
    """

    max_accel_mps2: float = 3.0
    comfort_decel_mps2: float = 4.0
    min_gap_m: float = 2.5
    headway_s: float = 1.8
    exponent: float = 4.0
    max_decel_mps2: float = 8.0
    is_comfortable: float = 0.0


PAPER = IdmParameters()
"""Profile ``paper``: constants of the challenge. At 8 of 10 m/s a car keeps 21.99 m, 2.75 s; people 1.5 to 2.0 s."""

CLEAN = IdmParameters(max_accel_mps2=1.5, comfort_decel_mps2=2.0, min_gap_m=2.0, headway_s=1.0)
"""Profile ``clean``: a car keeps 13.01 m, 1.63 s at 8 of 10 m/s, as people do at merges and roundabouts."""


@njit(cache=True, nogil=True, inline="always")
def idm_acceleration(speed: float, desired_speed: float, gap: float, lead_speed: float, p: IdmParameters) -> float:
    """Acceleration of a car with speed v behind a lead car with speed v_l at bumper distance s.

        dv/dt = a [1 - (v/v_0)^delta - (s*/s)^2],   s* = s_0 + max(0, v T + v (v - v_l) / (2 sqrt(a b)))

    Above the desired speed the free-road part is -b [1 - (v_0/v)^(a delta / b)] instead, which does not brake
    harder than comfortably.

    Args:
        speed: v [m/s], not negative.
        desired_speed: v_0 [m/s], positive.
        gap: s [m]; infinite without a lead car; below 0.1 m taken as 0.1 m.
        lead_speed: v_l [m/s].
        p: parameters.

    Returns:
        m/s^2, not below ``-max_decel_mps2``.
    """
    if speed <= desired_speed:
        accel = p.max_accel_mps2 * (1.0 - (speed / desired_speed) ** p.exponent)
    else:
        power = p.max_accel_mps2 * p.exponent / p.comfort_decel_mps2
        accel = -p.comfort_decel_mps2 * (1.0 - (desired_speed / speed) ** power)
    if gap < math.inf:
        root = 2.0 * math.sqrt(p.max_accel_mps2 * p.comfort_decel_mps2)
        wanted = p.min_gap_m + max(0.0, speed * p.headway_s + speed * (speed - lead_speed) / root)
        ratio = wanted / max(gap, 0.1)
        accel -= p.max_accel_mps2 * ratio * ratio
    return max(accel, -p.max_decel_mps2)


@njit(cache=True, nogil=True)
def comfortable_accel(
    wanted: float, before: float, speed: float, gap: float, lead_speed: float, dt: float
) -> tuple[float, bool]:
    """An acceleration within the bounds of comfort, or beyond them in an emergency, and whether it is one.

    -3 <= a <= 2 m/s^2 with a jerk of at most 4 m/s^3, and a >= -min(sqrt(2 j v), v / tau) towards standstill. An
    emergency is a car ahead that needs more than that, (v - v_l)^2 / (2 (s - 0.4 s (v - v_l) - 0.5 m)) > 3 m/s^2, and
    lasts until the acceleration is within the bounds again: then a >= -8 m/s^2, with a jerk of 16 m/s^3.

    Args:
        wanted: by the car-following model [m/s^2].
        before: acceleration of the last tick [m/s^2].
        speed: v [m/s].
        gap: s [m]; infinite without a lead car.
        lead_speed: v_l [m/s].
        dt: length of a tick [s].
    """
    closing = max(speed - lead_speed, 0.0)
    room = max(gap - BRAKE_LAG_S * closing - BRAKE_ROOM_M, 0.1)
    urgent = closing * closing > 2.0 * COMFORT_DECEL_MPS2 * room
    hardest = EMERGENCY_DECEL_MPS2 if urgent else COMFORT_DECEL_MPS2
    jerk = EMERGENCY_JERK_MPS3 if urgent or before < -COMFORT_DECEL_MPS2 - 1e-9 else COMFORT_JERK_MPS3
    aim = max(min(wanted, COMFORT_ACCEL_MPS2), -hardest)
    if not urgent:
        aim = max(aim, -math.sqrt(2.0 * STOP_JERK_MPS3 * speed), -speed / STOP_S)
    accel = before + min(max(aim - before, -jerk * dt), jerk * dt)
    beyond = accel < -COMFORT_DECEL_MPS2 - 1e-9 or abs(accel - before) > COMFORT_JERK_MPS3 * dt + 1e-9
    return accel, beyond
