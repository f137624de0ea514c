"""The intelligent driver model: how a car follows the one ahead.

Reference:
    Treiber, Hennecke, Helbing (2000), Congested traffic states in empirical observations and microscopic simulations;
    Treiber and Kesting, Traffic Flow Dynamics (2013), 11.3.7 for the free-road term above the desired speed.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from giveway.core.kernels import njit


class IdmParameters(NamedTuple):
    """Parameters; the defaults are those of the challenge's cars, whose exponent was never published.

    Attributes:
        max_accel_mps2: a.
        comfort_decel_mps2: b.
        min_gap_m: s_0.
        headway_s: T.
        exponent: delta.
        max_decel_mps2: bound of what the model may ask for.
    """

    max_accel_mps2: float = 3.0
    comfort_decel_mps2: float = 4.0
    min_gap_m: float = 2.5
    headway_s: float = 1.8
    exponent: float = 4.0
    max_decel_mps2: float = 8.0


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
