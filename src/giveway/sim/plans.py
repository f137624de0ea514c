"""One check of what a planner answers, for drives and for generated traffic."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from giveway.core import elementary
from giveway.core.arrays import FloatArray
from giveway.core.case import TICK_S
from giveway.core.frames import wrap_angle
from giveway.planning.protocol import PLAN_STEPS, Situation

BACK_TOLERANCE_M = 1e-6
"""Steps of a plan may go back by this much, which is rounding."""

MIN_ACCEL_MPS2, MAX_ACCEL_MPS2 = -12.0, 8.0
"""Change of speed that a plan may ask of the first tick; built-in planners ask for -8 ... +3 m/s^2."""

SPEED_TOLERANCE_MPS = 0.5
"""By this much the way of the first tick may disagree with the speeds at its ends."""

MAX_TURN_RAD = 0.5
"""Change of heading from one point of a trajectory to the next."""


def problem_of(plan: Any, situation: Situation) -> str:
    """What is wrong with an answer of a planner, in one sentence; empty if nothing is.

    A plan along the route (``s_m`` (50,), ``speed_mps``) has the right shape, is finite, never goes back, has no
    negative speed, changes the speed by -1.2 ... +0.8 m/s in the first tick, and drives in it as far as that fits:
    (s_1 - s_0) / dt within 0.5 m/s of [min(v, v'), max(v, v')]. A trajectory (``states`` (P, 4) x, y, heading, speed)
    obeys the same on its arc length, and turns by at most 0.5 rad per tick. A control (``accel_mps2``,
    ``steer_rate_radps``) is finite.

    Args:
        plan: any object with the attributes of one of these.
        situation: what the planner was told.
    """
    if hasattr(plan, "s_m") and hasattr(plan, "speed_mps"):
        return _plan_problem(plan, situation)
    if hasattr(plan, "states"):
        return _trajectory_problem(plan.states, situation)
    if hasattr(plan, "accel_mps2") and hasattr(plan, "steer_rate_radps"):
        fine = _all_finite([plan.accel_mps2, plan.steer_rate_radps])
        return "" if fine else f"a control is finite, this one is {plan.accel_mps2!r}, {plan.steer_rate_radps!r}"
    return f"a planner returns a plan, a trajectory or a control, not {type(plan).__name__}"


def _plan_problem(plan: Any, situation: Situation) -> str:
    s = _numbers(plan.s_m)
    if s is None or s.shape != (PLAN_STEPS,):
        return f"a plan has {PLAN_STEPS} positions, this one has shape {np.shape(plan.s_m)}"
    if not _all_finite(s) or not _all_finite([plan.speed_mps]):
        return "a plan with NaN or infinity"
    offset = getattr(plan, "offset_m", None)
    if offset is not None:
        sideways = _numbers(offset)
        if sideways is None or sideways.shape != (PLAN_STEPS,) or not _all_finite(sideways):
            return f"offsets of a plan are {PLAN_STEPS} finite numbers"
    if getattr(plan, "route", None) is not None:  # s_m is measured on another route: only its own steps can be compared
        return _motion_problem("plan", np.diff(s), float(plan.speed_mps), situation.speed_mps, with_first=False)
    return _motion_problem("plan", np.diff(s, prepend=situation.s_m), float(plan.speed_mps), situation.speed_mps)


def _trajectory_problem(given: Any, situation: Situation) -> str:
    states = _numbers(given)
    if states is None or states.ndim != 2 or states.shape[0] < 1 or states.shape[1] != 4:
        return f"a trajectory is (P, 4) numbers, this one has shape {np.shape(given)}"
    if not _all_finite(states):
        return "a trajectory with NaN or infinity"
    own = situation.states[situation.own]
    xy = np.concatenate([own[None, :2], states[:, :2]])
    heading = np.concatenate([elementary.arctan2(own[4:5], own[3:4]), states[:, 2]])
    turn = float(np.abs(wrap_angle(np.diff(heading))).max())
    if turn > MAX_TURN_RAD:
        return f"a trajectory that turns by {turn:.2f} rad in one tick; at most {MAX_TURN_RAD:g} rad"
    if (states[:, 3] < 0.0).any():
        return "a trajectory that drives backwards"
    return _motion_problem("trajectory", np.hypot(*np.diff(xy, axis=0).T), float(states[0, 3]), situation.speed_mps)


def _motion_problem(what: str, way: FloatArray, speed: float, now: float, *, with_first: bool = True) -> str:
    """Problems of steps (P,) [m] and of the speed after the first one, which the car begins with speed ``now``."""
    if speed < 0.0 or way.min() < -BACK_TOLERANCE_M:
        return f"a {what} that drives backwards"
    change = (speed - now) / TICK_S
    if not MIN_ACCEL_MPS2 - 1e-6 <= change <= MAX_ACCEL_MPS2 + 1e-6:
        return (
            f"a {what} that changes speed by {change:.1f} m/s^2 in the first tick; "
            f"possible are {MIN_ACCEL_MPS2:g} to {MAX_ACCEL_MPS2:g}"
        )
    mean = float(way[0]) / TICK_S
    low, high = min(speed, now) - SPEED_TOLERANCE_MPS, max(speed, now) + SPEED_TOLERANCE_MPS
    if with_first and not low <= mean <= high:
        return f"a {what} that jumps {way[0]:.2f} m in {TICK_S} s at {now:.1f} m/s"
    return ""


def _numbers(values: Any) -> FloatArray | None:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        return None


def _all_finite(values: Any) -> bool:
    numbers = _numbers(values)
    return numbers is not None and all(map(math.isfinite, numbers.ravel().tolist()))
