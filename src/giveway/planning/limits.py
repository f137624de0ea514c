"""What a car that is steered can do at most; shared by planners, which may look it up, and by the simulator."""

from __future__ import annotations

from typing import NamedTuple


class MotionBounds(NamedTuple):
    """Hard bounds; a tick that asks for more gets the nearest that is allowed.

    Attributes:
        max_accel_mps2: of speeding up.
        max_brake_mps2: of braking, positive.
        max_jerk_mps3: change of the acceleration per second.
        max_lateral_mps2: speed squared times curvature.
        max_curvature_pm: of the path of the center [1/m].
        max_steer_rate_radps: of the front wheel.
        max_speed_mps: no speeding up beyond.
    """

    max_accel_mps2: float = 3.0
    max_brake_mps2: float = 6.0
    max_jerk_mps3: float = 10.0
    max_lateral_mps2: float = 4.9
    max_curvature_pm: float = 0.2
    max_steer_rate_radps: float = 0.4
    max_speed_mps: float = 20.0


EGO_BOUNDS = MotionBounds(max_brake_mps2=8.0, max_jerk_mps3=16.0, max_speed_mps=40.0)
"""Of an ego that steers: it may brake and change its acceleration as hard as the emergency profiles of the lattice."""

COMFORT_DECEL_MPS2, COMFORT_ACCEL_MPS2, COMFORT_JERK_MPS3 = 3.0, 2.0, 4.0
"""Bounds of planners that drive comfortably; what exceeds them is an emergency."""

EMERGENCY_DECEL_MPS2, EMERGENCY_JERK_MPS3 = 8.0, 16.0
"""Bounds in an emergency."""

STOP_JERK_MPS3, STOP_S = 2.0, 0.2
"""Standstill is approached with a = -min(sqrt(2 j v), v / tau): a constant jerk j, then at most 2 j, the bound."""
