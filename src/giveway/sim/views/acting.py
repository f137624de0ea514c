"""What the actions and rewards of a learning ego mean."""

from __future__ import annotations

from typing import Literal

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.case import TICK_S
from giveway.planning.limits import EGO_BOUNDS
from giveway.planning.profiles import NUM_CANDIDATES, PLAN_STEPS, ProfileParameters, continued_plan, speed_profiles
from giveway.planning.protocol import Plan, Situation
from giveway.sim.motion import cruise

ActionKind = Literal["accel", "plan", "profile"]

MIN_ACCEL_MPS2, MAX_ACCEL_MPS2 = -EGO_BOUNDS.max_brake_mps2, EGO_BOUNDS.max_accel_mps2
"""Range of the action ``accel``."""

REACH_M = 300.0
"""A position of the action ``plan`` is at most this far ahead."""

KEEP = NUM_CANDIDATES - 1
"""Action ``profile``: go on with the plan of the tick before; 0 to 28 are the profiles of the lattice."""

W_PROGRESS, W_JERK, W_SLOW, W_FAULT = 10.0, 0.01, 0.1, 20.0
"""Weights of :func:`reward`."""


def reward(
    before_m: float, after_m: float, expected_m: float, jerk_mps3: float, slower_mps: float, *, fault_begins: bool
) -> float:
    """Reward of a tick.

        r = 10 [clip(s'/S, 0, 1) - clip(s/S, 0, 1)] - 0.01 j^2 dt - 0.1 max(v_d - v, 0) dt - 20 [fault begins]

    Summed over an episode the first term is the progress that the challenge's score rewards. A case in which the human
    made no progress (S <= 0) has no first term.

    Args:
        before_m: s, progress along the route before the tick.
        after_m: s', the same after it.
        expected_m: S, progress of the recorded human.
        jerk_mps3: j, change of the acceleration over the tick.
        slower_mps: v_d - v, by how much the ego is slower than desired after the tick.
        fault_begins: a contact began in this tick by the ego's fault.
    """
    gained = 0.0
    if expected_m > 0.0:
        gained = min(max(after_m / expected_m, 0.0), 1.0) - min(max(before_m / expected_m, 0.0), 1.0)
    costs = W_JERK * jerk_mps3 * jerk_mps3 * TICK_S + W_SLOW * max(slower_mps, 0.0) * TICK_S
    return W_PROGRESS * gained - costs - (W_FAULT if fault_begins else 0.0)


def plan_of_accel(accel: float, seen: Situation, *, bounded: bool) -> Plan:
    """Keep an acceleration, cut to -8 ... +3 m/s^2, and to 16 m/s^3 of jerk if ``bounded``."""
    accel = min(max(accel, MIN_ACCEL_MPS2), MAX_ACCEL_MPS2)
    if bounded:
        reach = EGO_BOUNDS.max_jerk_mps3 * TICK_S
        accel = min(max(accel, seen.accel_mps2 - reach), seen.accel_mps2 + reach)
    s = np.empty(PLAN_STEPS)
    cruise(s, seen.s_m, seen.speed_mps, accel, max(seen.desired_speed_mps, seen.speed_mps))
    return Plan(s_m=s, speed_mps=max(seen.speed_mps + accel * TICK_S, 0.0))


def plan_of_positions(ahead_m: FloatArray, seen: Situation) -> Plan:
    """Fifty positions ahead of the car, made drivable.

    The first one gives the speed after the tick, v' = 2 s_1 / dt - v, within what -8 ... +3 m/s^2 allow; it is moved if
    it does not fit. The others never go back.

    Args:
        ahead_m: (50,) way from here at +0.1 s, ..., +5 s.
        seen: of this tick.
    """
    now = seen.speed_mps
    speed = 2.0 * float(ahead_m[0]) / TICK_S - now
    fits = min(max(speed, now + MIN_ACCEL_MPS2 * TICK_S, 0.0), now + MAX_ACCEL_MPS2 * TICK_S)
    ahead = np.array(ahead_m, dtype=np.float64)
    if fits != speed:
        ahead[0] = 0.5 * (now + fits) * TICK_S
    return Plan(s_m=seen.s_m + np.maximum.accumulate(ahead), speed_mps=fits)


def plan_of_profile(number: int, seen: Situation, parameters: ProfileParameters) -> Plan:
    """One of the speed profiles of the lattice, or the plan of the tick before."""
    trial, cost = np.empty((3, PLAN_STEPS + 1, NUM_CANDIDATES)), np.empty(NUM_CANDIDATES)
    path, step, speed, accel, desired = (
        seen.path, seen.path_step_m, seen.speed_mps, seen.accel_mps2, seen.desired_speed_mps
    )  # fmt: skip
    if number == KEEP:
        continued_plan(path, step, seen.previous_s_m, speed, accel, desired, parameters, trial, cost)
    else:
        speed_profiles(path, step, seen.s_m, speed, accel, desired, parameters, trial, cost)
    return Plan(s_m=trial[0, 1:, number].copy(), speed_mps=float(trial[1, 1, number]))
