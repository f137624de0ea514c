"""What the actions and rewards of a learning ego mean."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray
from giveway.core.case import TICK_S
from giveway.core.kernels import njit
from giveway.core.log import DriveLog
from giveway.planning.limits import EGO_BOUNDS
from giveway.planning.profiles import NUM_CANDIDATES, PLAN_STEPS, ProfileParameters, continued_plan, speed_profiles
from giveway.planning.protocol import Plan, Situation
from giveway.sim import motion
from giveway.sim.compiling import compiled
from giveway.sim.motion import cruise

ActionKind = Literal["accel", "plan", "profile"]

MIN_ACCEL_MPS2, MAX_ACCEL_MPS2 = -EGO_BOUNDS.max_brake_mps2, EGO_BOUNDS.max_accel_mps2
"""Range of the action ``accel``."""

JERK_REACH_MPS2 = EGO_BOUNDS.max_jerk_mps3 * TICK_S
"""Largest change of a bounded acceleration in a tick."""

REACH_M = 300.0
"""A position of the action ``plan`` is at most this far ahead."""

KEEP = NUM_CANDIDATES - 1
"""Action ``profile``: go on with the plan of the tick before; 0 to 28 are the profiles of the lattice."""

W_PROGRESS, W_JERK, W_SLOW, W_FAULT = 10.0, 0.01, 0.1, 20.0
"""Weights of :func:`reward`."""


class OwnMotion(NamedTuple):
    """What actions are made plans of; a part of :class:`giveway.planning.protocol.Situation`, by the same names."""

    path: FloatArray
    path_step_m: float
    s_m: float
    speed_mps: float
    accel_mps2: float
    desired_speed_mps: float
    previous_s_m: FloatArray


def reward(
    before_m: FloatArray,
    after_m: FloatArray,
    expected_m: FloatArray,
    jerk_mps3: FloatArray,
    slower_mps: FloatArray,
    fault_begins: BoolArray,
    courtesy: FloatArray | float = 0.0,
) -> FloatArray:
    """Reward of a tick; numbers or arrays.

        r = 10 [clip(s'/S, 0, 1) - clip(s/S, 0, 1)] - c(j, v) - sum_k c(j_k, v_k) - 20 [fault begins]
        c(j, v) = (0.01 j^2 + 0.1 max(v_d - v, 0)) dt

    with k over the cars that have the right of way over the ego. Summed over an episode the first term is the progress
    that the challenge's score rewards. A case in which the human made no progress (S <= 0) has no first term. Without
    the sum over k, traffic that gives way makes it pay to force one's way; docs/drive/learners.md has the numbers.

    Args:
        before_m: s, progress along the route before the tick.
        after_m: s', the same after it.
        expected_m: S, progress of the recorded human.
        jerk_mps3: j, change of the acceleration over the tick.
        slower_mps: v_d - v, by how much the ego is slower than desired after the tick.
        fault_begins: a contact began in this tick by the ego's fault.
        courtesy: sum over k.
    """
    whole = np.maximum(expected_m, 1e-9)
    gained = np.clip(after_m / whole, 0.0, 1.0) - np.clip(before_m / whole, 0.0, 1.0)
    gained = np.where(np.asarray(expected_m) > 0.0, gained, 0.0)
    costs = W_JERK * np.square(jerk_mps3) * TICK_S + W_SLOW * np.maximum(slower_mps, 0.0) * TICK_S
    return W_PROGRESS * gained - costs - courtesy - W_FAULT * np.asarray(fault_begins)


def reward_of_log(log: DriveLog) -> dict[str, float]:
    """What :func:`reward` pays for a drive: ``progress``, ``jerk``, ``slow``, ``courtesy``, ``fault``; sum ``reward``.

    As in the environment the ego begins with acceleration 0. Of an ego that leaves early the log ends a tick before the
    environment does; otherwise the sum is that of the environment.
    """
    desired, ids = log.case.desired_speed_mps, [str(name) for name in log.tracks.ids]
    there = np.flatnonzero(log.tracks.observed[log.ego])
    s = log.ego_s[there] / max(log.expected_progress_m, 1e-9)
    gained = np.clip(s[-1], 0.0, 1.0) - np.clip(s[0], 0.0, 1.0) if log.expected_progress_m > 0.0 else 0.0
    until = there[-1] + 1
    costs = [_ride_costs(log, row, until, desired) for row in (log.ego, *map(ids.index, _present(log, ids)))]
    faults = sum(hit.first_at_fault for hit in log.collisions if hit.first == ids[log.ego])
    parts = {
        "progress": W_PROGRESS * gained,
        "jerk": -costs[0][0],
        "slow": -costs[0][1],
        "courtesy": -sum(jerk + slow for jerk, slow in costs[1:]),
        "fault": -W_FAULT * faults,
    }
    return {name: float(value) for name, value in (parts | {"reward": sum(parts.values())}).items()}


def _present(log: DriveLog, ids: list[str]) -> list[str]:
    return [name for name in log.case.right_of_way if name in ids]


def _ride_costs(log: DriveLog, row: int, until: int, desired: float) -> tuple[float, float]:
    """Costs of jerk and of slowness of one car up to a tick; a car that appears begins with acceleration 0."""
    seen = log.tracks.observed[row, :until]
    speed = np.hypot(*log.tracks.velocity[row, :until].T)
    steps = seen[1:] & seen[:-1]
    accel = np.where(steps, np.diff(speed) / TICK_S, 0.0)
    jerk = np.where(steps, np.diff(accel, prepend=0.0) / TICK_S, 0.0)
    slower = np.where(steps, np.maximum(desired - speed[1:], 0.0), 0.0)
    return W_JERK * float(np.square(jerk).sum()) * TICK_S, W_SLOW * float(slower.sum()) * TICK_S


@njit(cache=True, nogil=True)
def bounded_accel(wanted: float, now: float, is_bounded: bool) -> float:
    """An acceleration within -8 ... +3 m/s^2, and within 16 m/s^3 of the present one if ``is_bounded``."""
    accel = min(max(wanted, MIN_ACCEL_MPS2), MAX_ACCEL_MPS2)
    if is_bounded:
        accel = min(max(accel, now - JERK_REACH_MPS2), now + JERK_REACH_MPS2)
    return accel


@compiled(motion)
def plan_along(
    s: float, speed: float, accel: float, desired: float, is_bounded: bool, wanted: float, out: FloatArray
) -> float:
    """Write (50,) the positions of a car that keeps an acceleration; returns the speed after the tick."""
    kept = bounded_accel(wanted, accel, is_bounded)
    cruise(out, s, speed, kept, max(desired, speed))
    return max(speed + kept * TICK_S, 0.0)


def plan_of_accel(accel: float, seen: OwnMotion | Situation, *, bounded: bool) -> Plan:
    """Keep an acceleration, cut to -8 ... +3 m/s^2, and to 16 m/s^3 of jerk if ``bounded``."""
    s = np.empty(PLAN_STEPS)
    speed = plan_along(seen.s_m, seen.speed_mps, seen.accel_mps2, seen.desired_speed_mps, bounded, accel, s)
    return Plan(s_m=s, speed_mps=speed)


def plan_of_positions(ahead_m: FloatArray, seen: OwnMotion | Situation) -> Plan:
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


def plan_of_profile(number: int, seen: OwnMotion | Situation, parameters: ProfileParameters) -> Plan:
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
