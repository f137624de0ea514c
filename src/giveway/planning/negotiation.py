"""Version 3 of the lattice: gaps as candidates, cars that react, commitment, and emergencies as exceptions.

Cars that are predicted to join the own path form a stream, in the order in which they join. Before the first, between
two, and after the last of them there is a gap. For each there are two more candidates: one reaches the joined point at
a time in the gap at which the distances wanted to both neighbors are in proportion, with the speed of the car ahead;
the other one follows the car ahead of the gap as if it were on the own path already. Two others hold before the first
place that anybody comes into, and creep up to it. All of them, and the profiles of version 2 that are comfortable,
compete by their cost; the ones that brake or jerk harder are looked at only if the winner is likely to collide soon.

Reference:
    Kesting, Treiber, Helbing (2007), General lane-changing model MOBIL, for the deceleration imposed on the car behind;
    Takahashi et al. (1989) for quintic polynomials as motions between two states. Thresholds are decisions of this
    project and stand in docs/drive/planner.md.
"""

from __future__ import annotations

import math

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray, IntArray
from giveway.core.kernels import njit
from giveway.planning.encounters import (
    JOIN_AT,
    JOIN_STEP,
    KEPT,
    MAY_IMPOSE,
    NEAR,
    REAR,
    block_rows,
    choose_profile,
    interaction_cost,
)
from giveway.planning.idm import CLEAN
from giveway.planning.limits import STOP_S
from giveway.planning.profiles import (
    CHECK_EVERY,
    DT_S,
    IS_COMFORTABLE,
    NUM_CANDIDATES,
    NUM_PROFILES,
    PLAN_STEPS,
    ROW_CAR,
    ROW_PROBABILITY,
    ProfileParameters,
    continued_plan,
    speed_profiles,
)
from giveway.roads.route_tables import PATH_SPEED

MAX_GAPS = 6
"""Gaps of a stream that are looked at."""

REACH, FOLLOW = NUM_CANDIDATES, NUM_CANDIDATES + MAX_GAPS
"""First candidates that reach a gap at a time, and that follow the car ahead of it already before it has joined."""

HOLD, CREEP = NUM_CANDIDATES + 2 * MAX_GAPS, NUM_CANDIDATES + 2 * MAX_GAPS + 1
"""Candidates that stop before the first place that somebody comes into."""

NUM_NEGOTIATED = NUM_CANDIDATES + 2 * MAX_GAPS + 2
"""Candidates of version 3."""

WAITED, GAP, EMERGENCY = range(3)
"""Columns of what the planner remembers: how long it has waited [s]; the car before which it joins, or -1; whether its
last decision was an emergency."""

MEMORY = 3

CREEP_MPS, HOLD_M = 1.5, 0.7
"""Speed of creeping, and where the front waits, beyond the margin kept anyway: 1 m before the area."""

WAITING_MPS, GOING_MPS = 1.6, 3.0
"""A car slower than this waits; one faster than that has not waited."""

FOLLOW_GAP_PS2, FOLLOW_SPEED_PS = 0.3, 0.9
"""Acceleration per meter that the distance to the car ahead is too long, and per m/s that it is faster."""

LOCKED = 1000.0
"""Cost of leaving a gap that one is committed to."""

ROUNDING = 1e-6


def fresh_memory() -> FloatArray:
    """(3,) what the planner remembers when an episode begins."""
    return np.array([0.0, -1.0, 0.0])


@njit(cache=True, nogil=True)
def may_impose(waited: float, p: ProfileParameters) -> float:
    """Deceleration that may be imposed after a waiting time: b_p = min(1.0 + 0.15 t, 2.5) [m/s^2]."""
    return min(p.polite_decel_mps2 + p.impatience_mps3 * waited, p.max_polite_decel_mps2)


@njit(cache=True, nogil=True)
def _drive(
    path: FloatArray,
    step: float,
    desired_speed: float,
    p: ProfileParameters,
    target: FloatArray,
    lead: FloatArray,
    i: int,
    trial: FloatArray,
    cost: FloatArray,
) -> None:
    """Drive one more candidate towards a target, within comfort, and write it and its own cost.

    Args:
        path: (P, 6) table.
        step: its spacing [m].
        desired_speed: [m/s].
        p: parameters.
        target: (4,) arc length [m], speed there [m/s], time [s], and the speed not to exceed [m/s]. With a time: along
            the quintic polynomial to that state, then on at that speed; without (0): stop there.
        lead: (25,) arc length that the own center must not reach at each step, and is followed at the wanted distance;
            empty: the target counts.
        i: candidate.
        trial: (3, 51, candidates), its first instant is there.
        cost: (candidates,).
    """
    s, v, a = trial[0, 0, i], trial[1, 0, i], trial[2, 0, i]
    start, last, until = s, path.shape[0] - 1, target[2]
    c3, c4, c5 = 0.0, 0.0, 0.0
    if until > 0.0:
        way = target[0] - s - v * until - 0.5 * a * until * until
        more = target[1] - v - a * until
        c3 = (10.0 * way - 4.0 * more * until - 0.5 * a * until * until) / until**3
        c4 = (-15.0 * way + 7.0 * more * until + a * until * until) / until**4
        c5 = (6.0 * way - 3.0 * more * until - 0.5 * a * until * until) / until**5
    first = a
    total, reference = 0.0, desired_speed
    for k in range(PLAN_STEPS):
        if k % 5 == 0:
            reference = min(desired_speed, path[min(max(int(s / step), 0), last), PATH_SPEED])
        t = (k + 1) * DT_S
        if lead.size > 0:
            h = min(k // CHECK_EVERY, lead.size - 2)
            short = lead[h] - s - p.min_gap_m - p.headway_s * v
            wanted = FOLLOW_GAP_PS2 * short + FOLLOW_SPEED_PS * ((lead[h + 1] - lead[h]) / (CHECK_EVERY * DT_S) - v)
        elif until == 0.0:
            room = max(target[0] - s, 0.0)
            wanted = 2.0 * (min(target[3], math.sqrt(2.0 * room)) - v)
        elif t <= until:
            wanted = first + 6.0 * c3 * t + 12.0 * c4 * t * t + 20.0 * c5 * t * t * t
        else:
            wanted = 1.2 * (target[1] - v)
        wanted = min(wanted, p.comfort_accel_mps2, max(1.2 * (reference - v), -2.0))
        wanted = max(wanted, -p.comfort_decel_mps2, -math.sqrt(2.0 * p.stop_jerk_mps3 * v), -v / STOP_S)
        change = DT_S * (p.comfort_jerk_mps3 if a >= -p.comfort_decel_mps2 else p.emergency_jerk_mps3)
        new_a = a + min(max(wanted - a, -change), change)
        new_v = v + new_a * DT_S
        if new_v <= 0.0:
            new_v, new_a = 0.0, 0.0
        jerk = (new_a - a) / DT_S
        s += 0.5 * (v + new_v) * DT_S
        v, a = new_v, new_a
        total += p.w_jerk * jerk * jerk + p.w_accel * a * a + p.w_speed * max(reference - v, 0.0)
        if k == 0:
            cost[i] = p.w_first_jerk * jerk * jerk
        trial[0, k + 1, i], trial[1, k + 1, i], trial[2, k + 1, i] = s, v, a
    reachable = max(desired_speed * PLAN_STEPS * DT_S, 1.0)
    cost[i] += total / PLAN_STEPS + p.w_progress / p.progress_m * max(reachable - (s - start), 0.0)


@njit(cache=True, nogil=True)
def _stream(rows: int, row_facts: FloatArray, joins: FloatArray, order: IntArray) -> int:
    """Write the rows of the cars that join, each by its likeliest mode, in the order in which they do; their number."""
    count = 0
    for r in range(rows):
        if joins[r, JOIN_STEP] < 0.0:
            continue
        if count > 0 and row_facts[order[count - 1], ROW_CAR] == row_facts[r, ROW_CAR]:
            if row_facts[order[count - 1], ROW_PROBABILITY] < row_facts[r, ROW_PROBABILITY]:
                order[count - 1] = r
        elif count < order.size:
            order[count] = r
            count += 1
    for n in range(1, count):
        r, at = order[n], n
        while at > 0 and joins[order[at - 1], JOIN_STEP] > joins[r, JOIN_STEP]:
            order[at] = order[at - 1]
            at -= 1
        order[at] = r
    return count


@njit(cache=True, nogil=True)
def _car_ahead(rows: int, blocked: FloatArray, now: float) -> int:
    """The row of the next car that is on the own path already and stays there; -1 without one."""
    best = -1
    for r in range(rows):
        low = blocked[r, 0, 0]
        if now < low < np.inf and blocked[r, -1, 0] < np.inf and (best < 0 or low < blocked[best, 0, 0]):
            best = r
    return best


@njit(cache=True, nogil=True)
def _add_gaps(
    path: FloatArray,
    step: float,
    desired_speed: float,
    p: ProfileParameters,
    rows: int,
    row_facts: FloatArray,
    blocked: FloatArray,
    joins: FloatArray,
    approach: FloatArray,
    length: float,
    trial: FloatArray,
    cost: FloatArray,
) -> float:
    """Add the candidates of the gaps, holding and creeping; returns the way to the nearest joined point [m]."""
    now = trial[0, 0, 0]
    for i in range(NUM_CANDIDATES, NUM_NEGOTIATED):
        cost[i] = np.inf
        trial[0, 0, i], trial[1, 0, i], trial[2, 0, i] = now, trial[1, 0, 0], trial[2, 0, 0]
    line = np.inf
    for r in range(rows):
        h = 0
        while blocked[r, h, 0] == np.inf:
            h += 1
        if h > 0 and blocked[r, h, 0] > now:
            line = min(line, blocked[r, h, 0] - HOLD_M)
    if line == np.inf:
        return np.inf
    target, nobody, lead = np.zeros(4), np.empty(0), np.empty(blocked.shape[1])
    target[0], target[3] = max(line, now), desired_speed
    _drive(path, step, desired_speed, p, target, nobody, HOLD, trial, cost)
    target[3] = CREEP_MPS
    _drive(path, step, desired_speed, p, target, nobody, CREEP, trial, cost)
    order = np.empty(MAX_GAPS - 1, dtype=np.int64)
    count = _stream(rows, row_facts, joins, order)
    if count == 0:
        return np.inf
    for gap in range(count + 1):
        ahead, behind = order[max(gap - 1, 0)], order[min(gap, count - 1)]
        leaves = (joins[ahead, JOIN_STEP] + 1.0) * CHECK_EVERY * DT_S
        comes = (joins[behind, JOIN_STEP] + 1.0) * CHECK_EVERY * DT_S
        h = int(joins[ahead, JOIN_STEP])
        speed = (approach[ahead, h - 1] - approach[ahead, h]) / (CHECK_EVERY * DT_S)
        slow = max(speed, CREEP_MPS)
        after = p.headway_s + (length + p.min_gap_m) / slow
        before = CLEAN.headway_s + (length + CLEAN.min_gap_m) / slow
        time = leaves + (comes - leaves) * after / (after + before)
        if gap == 0:
            time = comes - before
        elif gap == count:
            time = leaves + after
        target[0] = 0.5 * (joins[ahead, JOIN_AT] + joins[behind, JOIN_AT])
        target[1] = min(speed, desired_speed)
        target[2] = time
        if time >= 0.5 and target[0] > now:
            _drive(path, step, desired_speed, p, target, nobody, REACH + gap, trial, cost)
        if gap == 0:
            ahead = _car_ahead(rows, blocked, now)
        if ahead >= 0:
            for k in range(lead.size):
                joined = int(joins[ahead, JOIN_STEP])
                lead[k] = blocked[ahead, k, 0] if k >= joined else blocked[ahead, joined, 0] - approach[ahead, k]
            _drive(path, step, desired_speed, p, target, lead, FOLLOW + gap, trial, cost)
    return joins[order[0], JOIN_AT] - now


@njit(cache=True, nogil=True)
def _is_comfortable(trial: FloatArray, i: int, p: ProfileParameters, steps: int) -> bool:
    """Whether a candidate keeps within the bounds of comfort in its first steps."""
    for k in range(steps):
        a, jerk = trial[2, k + 1, i], abs(trial[2, k + 1, i] - trial[2, k, i]) / DT_S
        low, high = -p.comfort_decel_mps2 - ROUNDING, p.comfort_accel_mps2 + ROUNDING
        if a < low or a > high or jerk > p.comfort_jerk_mps3 + ROUNDING:
            return False
    return True


@njit(cache=True, nogil=True)
def _cheapest(
    trial: FloatArray,
    kept: int,
    blocked: FloatArray,
    row_facts: FloatArray,
    p: ProfileParameters,
    cost: FloatArray,
    may: BoolArray,
    joins: FloatArray,
    approach: FloatArray,
    locked: float,
    found: FloatArray,
    best_found: FloatArray,
) -> int:
    """The cheapest candidate that may be driven, in order of the own costs; what was found about it is written."""
    open_ = may.copy()
    best, best_cost = -1, np.inf
    for _ in range(NUM_NEGOTIATED):
        profile = -1
        for i in range(NUM_NEGOTIATED):
            if open_[i] and cost[i] - p.keep_gap < best_cost and (profile < 0 or cost[i] < cost[profile]):
                profile = i
        if profile < 0:
            break
        open_[profile] = False
        found[REAR] = -1.0
        own = cost[profile]
        total = own + interaction_cost(
            trial, profile, kept, blocked, row_facts, p, best_cost - own + p.keep_gap, joins, approach, found
        )
        if found[KEPT] >= 0.0:
            total += -p.keep_gap if found[REAR] == found[KEPT] else locked
        if best < 0 or total < best_cost:
            best, best_cost = profile, total
            for column in range(found.size):
                best_found[column] = found[column]
    return best


@njit(cache=True, nogil=True)
def negotiate(
    path: FloatArray,
    coarse: FloatArray,
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
    memory: FloatArray,
) -> int:
    """The number of the candidate to drive; ``trial`` (3, 51, NUM_NEGOTIATED) holds all of them.

    Args: as :func:`giveway.planning.encounters.choose_profile`, and
        memory: (3,) what the planner remembers, see :data:`WAITED`; updated.
    """
    reach = PLAN_STEPS * DT_S * (max(v, desired_speed) + 1.0) + 15.0
    joins, approach = np.empty((max(rows, 1), 3)), np.empty((max(rows, 1), blocked.shape[1]))
    kept = block_rows(
        path, coarse, step, s, 0.5 * length + p.margin_m, 0.5 * width + p.side_margin_m, rows, row_states, row_facts,
        reach, blocked, joins, approach,
    )  # fmt: skip
    speed_profiles(path, step, s, v, a, desired_speed, p, trial, cost)
    continued_plan(path, step, previous, v, a, desired_speed, p, trial, cost)
    to_join = _add_gaps(path, step, desired_speed, p, kept, row_facts, blocked, joins, approach, length, trial, cost)
    memory[WAITED] = 0.0 if v > GOING_MPS else memory[WAITED] + (DT_S if v < WAITING_MPS else 0.0)
    found, best_found = np.zeros(4), np.zeros(4)
    found[MAY_IMPOSE] = may_impose(memory[WAITED], p)
    found[KEPT] = memory[GAP]
    may = np.ones(NUM_NEGOTIATED, dtype=np.bool_)
    for i in range(NUM_PROFILES):
        may[i] = IS_COMFORTABLE[i]
    may[NUM_PROFILES] = _is_comfortable(trial, NUM_PROFILES, p, PLAN_STEPS)
    for i in range(NUM_CANDIDATES, NUM_NEGOTIATED):
        may[i] = cost[i] < np.inf
    locked = LOCKED if to_join < p.committed_s * max(v, CREEP_MPS) else 0.0
    best = _cheapest(trial, kept, blocked, row_facts, p, cost, may, joins, approach, locked, found, best_found)
    rear, near = best_found[REAR], best_found[NEAR]
    if near >= p.near_probability:
        found[KEPT] = -1.0
        for i in range(NUM_CANDIDATES):
            may[i] = True
        rescue = _cheapest(trial, kept, blocked, row_facts, p, cost, may, joins, approach, 0.0, found, best_found)
        # What helps nobody is not worth the discomfort: it must avoid the collision, or make it milder by as much.
        gain = near - best_found[NEAR]
        if gain <= ROUNDING and rescue != best:
            milder = interaction_cost(trial, best, kept, blocked, row_facts, p, np.inf, joins, approach, found)
            milder -= interaction_cost(trial, rescue, kept, blocked, row_facts, p, np.inf, joins, approach, found)
            gain = milder - p.w_collision * p.near_probability
        if gain > ROUNDING:
            best, rear = rescue, best_found[REAR]
    memory[GAP] = rear
    memory[EMERGENCY] = 0.0 if _is_comfortable(trial, best, p, 1) else 1.0
    return best


@njit(cache=True, nogil=True)
def plan_profile(
    path: FloatArray,
    coarse: FloatArray,
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
    memory: FloatArray,
) -> int:
    """The candidate to drive in the version of the parameters; see :func:`negotiate`."""
    if p.polite_decel_mps2 > 0.0:
        return negotiate(
            path, coarse, step, s, v, a, length, width, desired_speed, previous, rows, row_states, row_facts, p,
            blocked, trial, cost, memory,
        )  # fmt: skip
    return choose_profile(
        path, coarse, step, s, v, a, length, width, desired_speed, previous, rows, row_states, row_facts, p,
        blocked, trial, cost,
    )  # fmt: skip
