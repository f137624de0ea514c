"""The default planner's kernel: sampled jerk-limited speed profiles along a fixed path.

A profile asks for one acceleration for a while and for another one afterwards; the jerk limit, the reference speed of
the path and standstill turn the request into a smooth speed. Every profile is looked at for 5 s against every predicted
mode of every visible car, weighted by the mode's probability, and the cheapest one is driven for one tick.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.kernels import njit
from giveway.roads.route_tables import PATH_SPEED

PLAN_STEPS = 50
"""Steps of a plan, 0.1 s each."""

CHECK_EVERY = 2
"""Occupancy is compared at each second step."""

CHECK_STEPS = PLAN_STEPS // CHECK_EVERY

DT_S = 0.1

ROW_LENGTH, ROW_WIDTH, ROW_CAR, ROW_PROBABILITY, ROW_COURTESY = range(5)
"""Columns of the facts about a predicted mode: size of the car [m], its number, the probability, how much it matters
not to disturb it (0 to 1). Modes of one car are neighbors."""

ROW_FACTS = 5


class ProfileParameters(NamedTuple):
    """What the default planner may do and what it dislikes.

    Attributes:
        comfort_jerk_mps3: jerk limit of all profiles but the emergency ones.
        emergency_jerk_mps3: jerk limit of those.
        side_margin_m: lateral distance below which a car is in the way.
        margin_m: distance kept at both ends of a blocked interval.
        headway_s: wanted time behind a car ahead.
        min_gap_m: wanted standstill distance behind a car ahead.
        courtesy_s: a car that arrives sooner than this after the own one is disturbed.
        reliance_s: with the right of way, cars that only come into the way later than this hardly count.
        horizon_s: predictions are trusted in full up to here, half as much beyond.
        cut_in: how much of a collision it is to be run into from behind after moving in front of somebody.
        keep_plan: how much cheaper a new plan must be to replace the one being driven.
        w_progress: cost of the share of the reachable distance that is not driven.
        w_jerk: cost of the mean squared jerk [per m^2/s^6].
        w_first_jerk: cost of the squared jerk of the first step, the one that is driven for sure [per m^2/s^6].
        w_accel: cost of the mean squared acceleration [per m^2/s^4].
        w_speed: cost of the mean shortfall below the reference speed [per m/s].
        w_collision: cost of a certain collision; grows with how soon and how fast it happens.
        w_gap: cost of driving closer than the wanted gap.
        w_courtesy: cost of making others brake.
    """

    comfort_jerk_mps3: float = 4.0
    emergency_jerk_mps3: float = 16.0
    side_margin_m: float = 0.3
    margin_m: float = 0.3
    headway_s: float = 0.9
    min_gap_m: float = 1.5
    courtesy_s: float = 1.5
    reliance_s: float = 0.7
    horizon_s: float = 3.0
    cut_in: float = 0.5
    keep_plan: float = 0.1
    w_progress: float = 4.0
    w_jerk: float = 0.06
    w_first_jerk: float = 0.03
    w_accel: float = 0.08
    w_speed: float = 0.25
    w_collision: float = 60.0
    w_gap: float = 8.0
    w_courtesy: float = 15.0


# First acceleration [m/s^2], how long it is asked for [s], and what is asked for afterwards.
_STEADY = (-6.0, -4.0, -3.0, -2.2, -1.5, -1.0, -0.6, -0.3, 0.0, 0.3, 0.6, 1.0, 1.5, 2.0)
_SWITCHED = (
    *((-3.0, 1.0, 0.0), (-3.0, 1.0, 1.5), (-2.2, 1.5, 0.0), (-1.5, 1.0, 0.0), (-1.5, 1.0, 1.5), (-1.5, 2.0, 1.5)),
    *((-0.6, 2.0, 1.5), (0.0, 1.0, 1.5), (0.0, 1.0, -2.2), (0.0, 2.0, -2.2), (1.0, 1.0, 0.0), (1.5, 1.0, -2.2)),
)
_EMERGENCY = (-8.0, -5.0, 2.5)
_ALL = (*((a, 9.0, a) for a in _STEADY), *_SWITCHED, *((a, 9.0, a) for a in _EMERGENCY))
ACCEL_FIRST: FloatArray = np.array([p[0] for p in _ALL])
SWITCH_S: FloatArray = np.array([p[1] for p in _ALL])
ACCEL_LATER: FloatArray = np.array([p[2] for p in _ALL])
NUM_COMFORT = len(_ALL) - len(_EMERGENCY)
NUM_PROFILES = len(_ALL)
WISHES: FloatArray = np.array([np.where(k * DT_S < SWITCH_S, ACCEL_FIRST, ACCEL_LATER) for k in range(PLAN_STEPS)])
"""(50, profiles) acceleration asked for at each step [m/s^2]."""
JERK_SHARE: FloatArray = np.where(np.arange(NUM_PROFILES) < NUM_COMFORT, 1.0, 0.0)
"""1 for profiles with the comfortable jerk limit, 0 for those with the emergency one."""
REFERENCE_EVERY = 5
"""The reference speed of the path is looked up each half second."""
NUM_CANDIDATES = NUM_PROFILES + 1
"""The sampled profiles, and last: to go on with the plan of the tick before."""


@njit(cache=True, nogil=True)
def speed_profiles(
    path: FloatArray,
    step: float,
    s: float,
    v: float,
    a: float,
    desired_speed: float,
    p: ProfileParameters,
    trial: FloatArray,
    cost: FloatArray,
) -> None:
    """Drive all profiles for 5 s, side by side (the inner loop is over profiles, so that it vectorizes).

        a_{k+1} = a_k + clip(u_k - a_k, ±j dt),  v_{k+1} = max(v_k + a_{k+1} dt, 0),  s_{k+1} = s_k + dt (v_k +
        v_{k+1}) / 2

    where u is the acceleration asked for, bounded so that the speed settles at the reference (no harder than 2 m/s^2)
    and approaches standstill smoothly.

    Args:
        path: (P, 6) table; its reference speed is capped by the desired one.
        step: spacing of that table [m].
        s: arc length now [m].
        v: speed now [m/s].
        a: acceleration now [m/s^2].
        desired_speed: [m/s].
        p: parameters.
        trial: (3, 51, candidates) written: arc length, speed and acceleration at +0 s, +0.1 s, ...
        cost: (candidates,) written: cost of jerk, acceleration, slowness and missing progress, others not considered.
    """
    last = path.shape[0] - 1
    speed, accel, way = np.empty(NUM_PROFILES), np.empty(NUM_PROFILES), np.empty(NUM_PROFILES)
    total, reference = np.empty(NUM_PROFILES), np.empty(NUM_PROFILES)
    for i in range(NUM_PROFILES):
        speed[i], accel[i], way[i], total[i] = v, a, s, 0.0
    for i in range(NUM_CANDIDATES):
        trial[0, 0, i], trial[1, 0, i], trial[2, 0, i] = s, v, a
    w_jerk = p.w_jerk / (DT_S * DT_S * PLAN_STEPS)
    w_first = p.w_first_jerk / (DT_S * DT_S)
    w_accel = p.w_accel / PLAN_STEPS
    w_speed = p.w_speed / PLAN_STEPS
    for k in range(PLAN_STEPS):
        if k % REFERENCE_EVERY == 0:
            for i in range(NUM_PROFILES):
                reference[i] = min(desired_speed, path[min(int(way[i] / step), last), PATH_SPEED])
        weight = w_jerk + w_first if k == 0 else w_jerk
        wishes = WISHES[k]
        for i in range(NUM_PROFILES):
            wanted = min(wishes[i], max(1.2 * (reference[i] - speed[i]), -2.0))
            wanted = max(wanted, -speed[i] * (1.0 / 0.35))
            change = JERK_SHARE[i] * p.comfort_jerk_mps3 + (1.0 - JERK_SHARE[i]) * p.emergency_jerk_mps3
            jump = min(max(wanted - accel[i], -change * DT_S), change * DT_S)
            new_accel = accel[i] + jump
            new_speed = speed[i] + new_accel * DT_S
            new_accel = new_accel if new_speed > 0.0 else 0.0
            new_speed = max(new_speed, 0.0)
            jump = new_accel - accel[i]
            way[i] += 0.5 * (speed[i] + new_speed) * DT_S
            short = max(reference[i] - new_speed, 0.0)
            total[i] += weight * jump * jump + w_accel * new_accel * new_accel + w_speed * short
            speed[i] = new_speed
            accel[i] = new_accel
        for i in range(NUM_PROFILES):
            trial[0, k + 1, i], trial[1, k + 1, i], trial[2, k + 1, i] = way[i], speed[i], accel[i]
    reachable = max(desired_speed * PLAN_STEPS * DT_S, 1.0)
    for i in range(NUM_PROFILES):
        cost[i] = total[i] + p.w_progress * max(1.0 - (way[i] - s) / reachable, 0.0)


@njit(cache=True, nogil=True)
def continued_plan(
    path: FloatArray,
    step: float,
    previous: FloatArray,
    v: float,
    a: float,
    desired_speed: float,
    p: ProfileParameters,
    trial: FloatArray,
    cost: FloatArray,
) -> None:
    """Fill the last candidate: the plan of the tick before, whose speeds follow from its positions.

        v_{k+1} = 2 (s_{k+1} - s_k) / dt - v_k

    Args:
        path: (P, 6) table.
        step: its spacing [m].
        previous: (50,) arc length at +0 s, +0.1 s, ... from now; it goes on at its last speed.
        v: speed now [m/s].
        a: acceleration now [m/s^2].
        desired_speed: [m/s].
        p: parameters.
        trial: (3, 51, candidates) the last column is written.
        cost: (candidates,) the last entry is written.
    """
    last = path.shape[0] - 1
    i = NUM_PROFILES
    trial[0, 0, i] = previous[0]
    trial[1, 0, i] = v
    trial[2, 0, i] = a
    total = 0.0
    for k in range(PLAN_STEPS):
        speed = trial[1, k, i]
        if k + 1 < PLAN_STEPS:
            s = previous[k + 1]
            new_speed = max(2.0 * (s - trial[0, k, i]) / DT_S - speed, 0.0)
        else:
            s = trial[0, k, i] + speed * DT_S
            new_speed = speed
        new_accel = (new_speed - speed) / DT_S
        jerk = (new_accel - trial[2, k, i]) / DT_S
        reference = min(desired_speed, path[min(max(int(trial[0, k, i] / step), 0), last), PATH_SPEED])
        trial[0, k + 1, i] = s
        trial[1, k + 1, i] = new_speed
        trial[2, k + 1, i] = new_accel
        total += p.w_jerk * jerk * jerk + p.w_accel * new_accel * new_accel
        total += p.w_speed * max(reference - new_speed, 0.0)
        if k == 0:
            cost[i] = p.w_first_jerk * jerk * jerk
    reachable = max(desired_speed * PLAN_STEPS * DT_S, 1.0)
    missing = max(1.0 - (trial[0, PLAN_STEPS, i] - previous[0]) / reachable, 0.0)
    cost[i] += total / PLAN_STEPS + p.w_progress * missing - p.keep_plan
