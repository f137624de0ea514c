"""The default planner's kernel: sampled jerk-limited speed profiles along a fixed path.

A profile asks for one acceleration for a while and for another one afterwards; the jerk limit, the reference speed of
the path and standstill turn the request into a smooth speed. Every profile is looked at for 5 s against every predicted
mode of every visible car, weighted by the mode's probability, and the cheapest one is driven for one tick.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.kernels import njit
from giveway.planning.limits import (
    COMFORT_ACCEL_MPS2,
    COMFORT_DECEL_MPS2,
    COMFORT_JERK_MPS3,
    EMERGENCY_JERK_MPS3,
    STOP_JERK_MPS3,
    STOP_S,
)
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
        w_progress: cost of the share of the reachable distance (desired speed for 5 s) that is not driven.
        progress_m: the share is of this distance instead, so that a meter counts alike at all desired speeds; 0 in
            version 2.
        w_jerk: cost of the mean squared jerk [per m^2/s^6].
        w_first_jerk: cost of the squared jerk of the first step, the one that is driven for sure [per m^2/s^6].
        w_accel: cost of the mean squared acceleration [per m^2/s^4].
        w_speed: cost of the mean shortfall below the reference speed [per m/s].
        w_collision: cost of a certain collision; grows with how soon and how fast it happens.
        w_gap: cost of driving closer than the wanted gap.
        w_courtesy: cost of making others brake.
        polite_decel_mps2: deceleration that may be imposed on a car that the own one joins in front of; 0 in version 2,
            for which others never react.
        impatience_mps3: by how much that grows per second of waiting.
        max_polite_decel_mps2: and how far.
        owed_decel_mps2: bound of it for a car that has the right of way.
        free_decel_mps2: imposed decelerations below this cost nothing.
        w_imposed: cost of the squared excess above that [per m^2/s^4].
        keep_gap: how much cheaper a plan into another gap must be.
        revoke_mps2: the gap is given up if it imposes this much more than allowed.
        committed_s: closer than this to the joined point the gap is not changed.
        near_s: emergency profiles are looked at only if a collision before this time ...
        near_probability: ... is this likely.
        comfort_decel_mps2: hardest braking without an emergency.
        comfort_accel_mps2: hardest acceleration without an emergency.
        stop_jerk_mps3: jerk with which standstill is reached, a = -min(sqrt(2 j v), v / 0.2 s); 0 in version 2,
            a = -v / 0.35 s.
        closing_decel_mps2: the wanted gap to a car ahead is longer by (v^2 - v_ahead^2) / 2 b if it is slower, for it
            may brake; version 2 has no such term.
        lasting_gap: share of the mean squared shortfall of that gap beside that of the worst instant, which is often
            the present one, whatever is planned.
    """

    comfort_jerk_mps3: float = COMFORT_JERK_MPS3
    emergency_jerk_mps3: float = EMERGENCY_JERK_MPS3
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
    progress_m: float = 0.0
    w_jerk: float = 0.06
    w_first_jerk: float = 0.03
    w_accel: float = 0.08
    w_speed: float = 0.25
    w_collision: float = 60.0
    w_gap: float = 8.0
    w_courtesy: float = 15.0
    polite_decel_mps2: float = 0.0
    impatience_mps3: float = 0.0
    max_polite_decel_mps2: float = 0.0
    owed_decel_mps2: float = 0.0
    free_decel_mps2: float = 0.0
    w_imposed: float = 0.0
    keep_gap: float = 0.0
    revoke_mps2: float = 0.0
    committed_s: float = 0.0
    near_s: float = 0.0
    near_probability: float = 0.0
    comfort_decel_mps2: float = np.inf
    comfort_accel_mps2: float = np.inf
    stop_jerk_mps3: float = 0.0
    closing_decel_mps2: float = np.inf
    lasting_gap: float = 0.0


LATTICE_2 = ProfileParameters()
"""Version 2; also drives the cars of the traffic that react, whatever planner is under test."""

LATTICE_3 = ProfileParameters(
    headway_s=0.5,
    min_gap_m=0.7,
    keep_plan=0.15,
    w_progress=7.4,
    w_jerk=0.09,
    w_first_jerk=0.057,
    w_accel=0.07,
    w_speed=0.24,
    w_gap=6.0,
    w_courtesy=11.4,
    progress_m=40.0,
    polite_decel_mps2=1.0,
    impatience_mps3=0.15,
    max_polite_decel_mps2=2.5,
    owed_decel_mps2=1.5,
    free_decel_mps2=0.5,
    w_imposed=1.5,
    keep_gap=0.3,
    revoke_mps2=1.0,
    committed_s=2.0,
    near_s=1.5,
    near_probability=0.3,
    comfort_decel_mps2=COMFORT_DECEL_MPS2,
    comfort_accel_mps2=COMFORT_ACCEL_MPS2,
    stop_jerk_mps3=STOP_JERK_MPS3,
    closing_decel_mps2=4.0,
    lasting_gap=5.0,
)
"""Version 3: gaps are negotiated, comfort is a bound, emergencies are exceptions."""


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
IS_COMFORTABLE = (np.arange(NUM_PROFILES) < NUM_COMFORT) & (ACCEL_FIRST >= -COMFORT_DECEL_MPS2)
"""(profiles,) those that version 3 may drive without an emergency."""


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
    stopping = 2.0 * p.stop_jerk_mps3
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
            if p.stop_jerk_mps3 == 0.0:
                wanted = max(wanted, -speed[i] * (1.0 / 0.35))
            else:
                softly = -math.sqrt(stopping * speed[i]) if JERK_SHARE[i] > 0.0 else -np.inf
                wanted = max(wanted, max(softly, -speed[i] * (1.0 / STOP_S)))
            change = JERK_SHARE[i] * p.comfort_jerk_mps3 + (1.0 - JERK_SHARE[i]) * p.emergency_jerk_mps3
            change = p.emergency_jerk_mps3 if accel[i] < -p.comfort_decel_mps2 else change
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
    w_progress = p.w_progress if p.progress_m == 0.0 else p.w_progress * reachable / p.progress_m
    for i in range(NUM_PROFILES):
        cost[i] = total[i] + w_progress * max(1.0 - (way[i] - s) / reachable, 0.0)


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
    w_progress = p.w_progress if p.progress_m == 0.0 else p.w_progress * reachable / p.progress_m
    missing = max(1.0 - (trial[0, PLAN_STEPS, i] - previous[0]) / reachable, 0.0)
    cost[i] += total / PLAN_STEPS + w_progress * missing - p.keep_plan
