"""Whether a car responded properly to a danger: bounds on speeds since the danger began.

All functions take speeds (n,) at consecutive ticks, the first one at the beginning of the danger, the last one at the
contact, and allow for the tolerances of the law.

Reference:
    Shalev-Shwartz, Shammah, Shashua (2017), arXiv 1708.06374, definitions 4 and 7 (proper response).
"""

from __future__ import annotations

import math

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.sim.rss import Law

SPAN = 3
"""Ticks over which an acceleration is taken: single ticks of recordings are noise."""


def drifts_on(u: FloatArray, law: Law, dt: float) -> bool:
    """Lateral: u <= u_0 + a_l t until rho, then falling by b_l to 0; a car that does not come closer never violates."""
    t = dt * np.arange(u.size)
    rho = law.response_s
    allowed = u[0] + law.lateral_accel_mps2 * np.minimum(t, rho) - law.lateral_brake_mps2 * np.maximum(t - rho, 0.0)
    return bool((u > np.maximum(allowed, 0.0) + law.speed_tolerance_mps).any())


def speeds_up(speed: FloatArray, law: Law, dt: float) -> bool:
    """Longitudinal, rear car: acceleration above a within rho."""
    return _most_change(speed[: _response_ticks(law, dt) + 1], dt) > law.accel_mps2 + law.accel_tolerance_mps2


def fails_to_brake(speed: FloatArray, law: Law, dt: float) -> bool:
    """Longitudinal, rear car: after rho faster than by braking with b_min since then, and not standing."""
    late = speed[_response_ticks(law, dt) :]
    if late.size < 2:
        return False
    brake = law.min_brake_mps2 - law.accel_tolerance_mps2
    allowed = np.maximum(late[0] - brake * dt * np.arange(late.size), 0.0)
    return bool((late > allowed + law.speed_tolerance_mps).any())


def hits_the_brakes(speed: FloatArray, law: Law, dt: float) -> bool:
    """Longitudinal, front car: braking above b_max."""
    return _most_change(-speed, dt) > law.max_brake_mps2 + law.accel_tolerance_mps2


def _response_ticks(law: Law, dt: float) -> int:
    return math.ceil(law.response_s / dt - 1e-9)


def _most_change(speed: FloatArray, dt: float) -> float:
    """Largest acceleration over three ticks [m/s^2]; 0 for shorter intervals."""
    if speed.size <= SPAN:
        return 0.0
    return float((speed[SPAN:] - speed[:-SPAN]).max() / (SPAN * dt))
