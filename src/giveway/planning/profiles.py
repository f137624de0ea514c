"""The default planner's kernel: sampled jerk-limited speed profiles along a fixed path.

A profile asks for one acceleration for a while and for another one afterwards; the jerk limit, the reference speed of
the path and standstill turn the request into a smooth speed. Every profile is looked at for 5 s against every predicted
mode of every visible car, weighted by the mode's probability, and the cheapest one is driven for one tick.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from giveway.core.arrays import FloatArray
from giveway.planning.occupancy import PATH_SPEED, blocked_interval, descend, nearest_row

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
    out_s, out_v, out_a = trial[0], trial[1], trial[2]
    cost[:] = 0.0
    out_s[0] = s
    out_v[0] = v
    out_a[0] = a
    scale = 1.0 / step
    w_jerk = p.w_jerk / (DT_S * DT_S * PLAN_STEPS)
    w_first = p.w_first_jerk / (DT_S * DT_S)
    w_accel = p.w_accel / PLAN_STEPS
    w_speed = p.w_speed / PLAN_STEPS
    comfort = p.comfort_jerk_mps3 * DT_S
    emergency = p.emergency_jerk_mps3 * DT_S
    for k in range(PLAN_STEPS):
        time = k * DT_S
        weight = w_jerk + w_first if k == 0 else w_jerk
        for i in range(NUM_PROFILES):
            change = comfort if i < NUM_COMFORT else emergency
            wanted = ACCEL_FIRST[i] if time < SWITCH_S[i] else ACCEL_LATER[i]
            speed = out_v[k, i]
            accel = out_a[k, i]
            at = min(int(out_s[k, i] * scale), last)
            reference = min(desired_speed, path[at, PATH_SPEED])
            wanted = min(wanted, max(1.2 * (reference - speed), -2.0))
            wanted = max(wanted, -speed * (1.0 / 0.35))
            delta = min(max(wanted - accel, -change), change)
            new_accel = accel + delta
            new_speed = speed + new_accel * DT_S
            stops = new_speed <= 0.0
            new_speed = 0.0 if stops else new_speed
            new_accel = 0.0 if stops else new_accel
            out_s[k + 1, i] = out_s[k, i] + 0.5 * (speed + new_speed) * DT_S
            out_v[k + 1, i] = new_speed
            out_a[k + 1, i] = new_accel
            jump = new_accel - accel
            short = max(reference - new_speed, 0.0)
            cost[i] += weight * jump * jump + w_accel * new_accel * new_accel + w_speed * short
    reachable = max(desired_speed * PLAN_STEPS * DT_S, 1.0)
    for i in range(NUM_PROFILES):
        cost[i] += p.w_progress * max(1.0 - (out_s[PLAN_STEPS, i] - s) / reachable, 0.0)


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


@njit(cache=True, nogil=True)
def block_rows(
    path: FloatArray,
    step: float,
    s_own: float,
    own_half_length: float,
    own_half_width: float,
    rows: int,
    row_states: FloatArray,
    row_facts: FloatArray,
    look_ahead: float,
    blocked: FloatArray,
) -> None:
    """Fill the intervals of the own path that every predicted mode blocks.

    Args:
        path: (P, 6) table.
        step: its spacing [m].
        s_own: own arc length [m].
        own_half_length: with margin [m].
        own_half_width: with margin [m].
        rows: number of modes, all cars together.
        row_states: (rows, 25, 4) x, y, cosine and sine of the heading at +0.2 s, +0.4 s, ...; NaN where it is gone.
        row_facts: (rows, 5) see :data:`ROW_LENGTH`.
        look_ahead: how far to look [m].
        blocked: (rows, 25, 2) written: from, to.
    """
    here = min(max(int(s_own / step), 0), path.shape[0] - 1)
    first = max(here - int(15.0 / step), 0)
    last = min(here + int(look_ahead / step) + 1, path.shape[0] - 1)
    for r in range(rows):
        at = -1
        half_length = 0.5 * row_facts[r, ROW_LENGTH]
        half_width = 0.5 * row_facts[r, ROW_WIDTH]
        for h in range(CHECK_STEPS):
            x = row_states[r, h, 0]
            y = row_states[r, h, 1]
            if math.isnan(x):
                blocked[r, h, 0] = np.inf
                blocked[r, h, 1] = -np.inf
                continue
            at = nearest_row(path, x, y, first, last) if at < 0 else descend(path, x, y, at)
            low, high = blocked_interval(
                path[at],
                at * step,
                x,
                y,
                row_states[r, h, 2],
                row_states[r, h, 3],
                half_length,
                half_width,
                own_half_length,
                own_half_width,
            )
            blocked[r, h, 0] = low
            blocked[r, h, 1] = high


@njit(cache=True, nogil=True)
def interaction_cost(
    trial: FloatArray, profile: int, rows: int, blocked: FloatArray, row_facts: FloatArray, p: ProfileParameters
) -> float:
    """Cost of one profile against everything predicted.

    A car with the right of way over another one (courtesy 0) relies on it, unless that one is ahead in its way already
    or will be at once. For each mode, the first instant at which it blocks the path decides who is first. If the own
    car is past it, the mode can only run into its rear: that costs courtesy, and part of a collision if the own car had
    moved in front of it. Otherwise any later overlap is a collision, and coming closer than the wanted gap costs as
    well. Probabilities of the modes of a car add up, cars are taken as independent:
    P = 1 - prod_cars (1 - sum_modes p).
    """
    survive = 1.0
    severity = 0.0
    gap_cost = 0.0
    courtesy = 0.0
    car = -1.0
    hit = 0.0
    for r in range(rows):
        if row_facts[r, ROW_CAR] != car:
            survive *= 1.0 - min(hit, 1.0)
            hit = 0.0
            car = row_facts[r, ROW_CAR]
        weight = row_facts[r, ROW_PROBABILITY]
        polite = row_facts[r, ROW_COURTESY]
        ego_first = False
        cuts_in = False
        decided = False
        relies = False
        worst_gap = 0.0
        disturbed = 0.0
        for h in range(CHECK_STEPS):
            low = blocked[r, h, 0]
            if low == np.inf:
                continue
            high = blocked[r, h, 1]
            k = CHECK_EVERY * (h + 1)
            s = trial[0, k, profile]
            v = trial[1, k, profile]
            t = k * DT_S
            trust = 1.0 if t <= p.horizon_s else 0.5
            if not decided:
                decided = True
                relies = polite == 0.0 and (t > p.reliance_s or low < trial[0, 0, profile])
                before = trial[0, k - CHECK_EVERY, profile]
                if s >= high or (h == 0 and before >= 0.5 * (low + high)):
                    ego_first = True
                    cuts_in = h > 0
                    follow = v * p.courtesy_s + 1.0
                    disturbed = trust * min(max(1.0 - (s - high) / follow, 0.0), 1.0)
            if relies:
                trust *= 0.1
            if ego_first:
                if s < high:
                    disturbed = max(disturbed, trust)
                    if cuts_in:
                        hit += p.cut_in * trust * weight
                        severity = max(severity, p.cut_in * trust * weight)
                        break
                continue
            if s > low:
                sooner = 1.0 + (PLAN_STEPS * DT_S - t) / (PLAN_STEPS * DT_S)
                hit += trust * weight
                severity = max(severity, trust * weight * sooner * (1.0 + 0.1 * v))
                break
            short = 1.0 - (low - s) / (p.min_gap_m + p.headway_s * v)
            if short > worst_gap:
                worst_gap = short
        courtesy += weight * polite * disturbed
        gap_cost += (0.1 if relies else 1.0) * weight * worst_gap * worst_gap
    survive *= 1.0 - min(hit, 1.0)
    return p.w_collision * ((1.0 - survive) + severity) + p.w_gap * gap_cost + p.w_courtesy * courtesy


@njit(cache=True, nogil=True)
def choose_profile(
    path: FloatArray,
    step: float,
    s: float,
    v: float,
    a: float,
    length: float,
    width: float,
    desired_speed: float,
    previous: FloatArray,
    rows: int,
    row_states: FloatArray,
    row_facts: FloatArray,
    p: ProfileParameters,
    blocked: FloatArray,
    trial: FloatArray,
    cost: FloatArray,
) -> int:
    """The number of the cheapest candidate; ``trial`` holds all of them. The first one wins a tie.

    Profiles are looked at in order of their own cost; once that alone exceeds the best total, no other can win.
    """
    reach = PLAN_STEPS * DT_S * (max(v, desired_speed) + 1.0) + 15.0
    half_length = 0.5 * length + p.margin_m
    half_width = 0.5 * width + p.side_margin_m
    block_rows(path, step, s, half_length, half_width, rows, row_states, row_facts, reach, blocked)
    speed_profiles(path, step, s, v, a, desired_speed, p, trial, cost)
    continued_plan(path, step, previous, v, a, desired_speed, p, trial, cost)
    best_cost = np.inf
    best = 0
    for _ in range(NUM_CANDIDATES):
        profile = -1
        for i in range(NUM_CANDIDATES):
            if cost[i] < best_cost and (profile < 0 or cost[i] < cost[profile]):
                profile = i
        if profile < 0:
            break
        total = cost[profile] + interaction_cost(trial, profile, rows, blocked, row_facts, p)
        cost[profile] = np.inf
        if total < best_cost:
            best_cost = total
            best = profile
    return best
