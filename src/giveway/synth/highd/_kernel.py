"""The hot loops of the motorway, compiled."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from giveway.core.kernels import njit
from giveway.sim.compiling import compiled
from giveway.synth import humans

CHANGE_S = 5.0
SIDE_BY_SIDE = 0.62
"""Cars whose lateral positions differ by less, in lanes, stand in each other's way."""
WANTS_WITHIN_M = 75.0
SLOWER_MPS = 2.0
SEES_BEHIND_M = 150.0
HEADWAY_S = 0.9
MIN_GAP_M = 2.5
COMFORT_MPS2 = 1.8
HARDEST_MPS2 = 6.0
JERK = 3.0
NOBODY = -1


@njit(cache=True)
def _follow(v: float, v0: float, gap: float, v_lead: float, accel: float) -> float:
    """Acceleration of the Intelligent Driver Model, limited to what somebody who is cut up really does."""
    free = accel * (1.0 - (v / v0) ** 4) if v <= v0 else -0.8 * (1.0 - (v0 / v) ** 2)
    wanted = MIN_GAP_M + max(0.0, v * HEADWAY_S + v * (v - v_lead) / (2.0 * math.sqrt(accel * COMFORT_MPS2)))
    ratio = wanted / max(gap, 0.5)
    closing = max(0.0, v - v_lead)
    needed = closing * closing / (2.0 * max(gap - 1.0, 0.5))
    return min(free, max(accel * (1.0 - ratio * ratio), -(1.0 + 1.5 * needed)))


@njit(cache=True)
def _shifted(share: float) -> float:
    """Lateral progress of a lane change: smooth in position, speed and acceleration."""
    return share * share * share * (10.0 + share * (6.0 * share - 15.0))


@compiled(humans)
def run_direction(
    enter_s: Any,
    lane: Any,
    length: Any,
    desired: Any,
    accel: Any,
    reaction: Any,
    boldness: Any,
    overtakes: Any,
    draws: Any,
    people: Any,
    steps: int,
    dt: float,
    road_m: float,
) -> tuple[Any, Any]:
    """Rows (vehicle, step, s, v, a, lateral) and decisions (T, E, time, gap, distance, p, accepted)."""
    count = enter_s.shape[0]
    rows: Any = np.empty((1024, 6))
    used = 0
    decided: Any = np.empty((256, 7))
    num_decided = 0
    s: Any = np.zeros(count)
    v: Any = np.zeros(count)
    a: Any = np.zeros(count)
    command: Any = np.zeros(count)
    side: Any = lane.astype(np.float64)
    goal: Any = lane.astype(np.float64)
    change_at: Any = np.full(count, np.inf)
    about: Any = np.full(count, -2, np.int64)
    num_draws = np.zeros(count, np.int64)
    active: Any = np.empty(count, np.int64)
    num_active = 0
    entered = np.zeros(count, np.bool_)
    waiting = 0
    for step in range(steps):
        now = step * dt
        for number in (0, 1):
            for i in range(waiting, count):
                if enter_s[i] > now:
                    break
                if entered[i] or lane[i] != number:
                    continue
                room, v_in = 1e6, desired[i]
                for n in range(num_active):
                    j = active[n]
                    if abs(side[j] - number) < SIDE_BY_SIDE or abs(goal[j] - number) < SIDE_BY_SIDE:
                        gap = s[j] - 0.5 * (length[j] + length[i])
                        if gap < room:
                            room = gap
                            v_in = min(desired[i], v[j] + 0.1 * max(0.0, gap - 20.0))
                if room > 6.0 + 0.9 * v_in:
                    entered[i] = True
                    v[i] = v_in
                    active[num_active] = i
                    num_active += 1
                break
        while waiting < count and entered[waiting]:
            waiting += 1
        for n in range(num_active):
            i = active[n]
            wanted = _follow(v[i], desired[i], 1e6, desired[i], accel[i])
            lead, lead_gap = NOBODY, 1e6
            left_ahead, left_gap = NOBODY, 1e6
            ego, ego_gap = NOBODY, 1e6
            beside = False
            for m in range(num_active):
                j = active[m]
                if j == i:
                    continue
                gap = s[j] - s[i] - 0.5 * (length[i] + length[j])
                in_way = abs(side[i] - side[j]) < SIDE_BY_SIDE or abs(goal[i] - side[j]) < SIDE_BY_SIDE
                in_way = in_way or abs(goal[j] - side[i]) < SIDE_BY_SIDE
                if s[j] > s[i] and in_way:
                    wanted = min(wanted, _follow(v[i], desired[i], gap, v[j], accel[i]))
                    if gap < lead_gap:
                        lead, lead_gap = j, gap
                if goal[j] > 0.5 or side[j] > 0.5:
                    behind = s[i] - s[j] - 0.5 * (length[i] + length[j])
                    if gap > 0.0:
                        if gap < left_gap:
                            left_ahead, left_gap = j, gap
                    elif behind > 0.0:
                        if behind < ego_gap and behind < SEES_BEHIND_M:
                            ego, ego_gap = j, behind
                    else:
                        beside = True
            changing = goal[i] > 0.5 and side[i] < 0.999
            wants = overtakes[i] and goal[i] < 0.5 and lead != NOBODY
            wants = wants and lead_gap < WANTS_WITHIN_M and v[lead] < desired[i] - SLOWER_MPS
            if wants:
                room_ahead = left_ahead == NOBODY or left_gap > 8.0 + 1.5 * max(0.0, v[i] - v[left_ahead])
                closing = v[ego] - v[i] if ego != NOBODY else 0.0
                safe = MIN_GAP_M + 4.0 + 0.8 * max(0.0, closing) + max(0.0, closing) ** 2 / (2.0 * COMFORT_MPS2)
                possible = room_ahead and not beside and (ego == NOBODY or ego_gap > safe)
                if change_at[i] < 1e5:
                    if not possible:
                        change_at[i] = np.inf
                        about[i] = ego
                    elif now >= change_at[i]:
                        goal[i] = 1.0
                elif ego == NOBODY:
                    if possible:
                        change_at[i] = now + 0.5 * reaction[i]
                elif ego != about[i] and room_ahead and not beside:
                    about[i] = ego
                    arrival = min(ego_gap / max(closing, 0.5), 20.0)
                    p_accept = humans.chance(people, arrival, max(closing, 0.5), boldness[i], 0.0) if possible else 0.0
                    takes = draws[i, num_draws[i] % draws.shape[1]] < p_accept
                    num_draws[i] += 1
                    if takes:
                        change_at[i] = now + reaction[i]
                    if num_decided == decided.shape[0]:
                        decided = np.concatenate((decided, np.empty_like(decided)))
                    decided[num_decided, 0] = i
                    decided[num_decided, 1] = ego
                    decided[num_decided, 2] = now
                    decided[num_decided, 3] = arrival
                    decided[num_decided, 4] = ego_gap
                    decided[num_decided, 5] = p_accept
                    decided[num_decided, 6] = 1.0 if takes else 0.0
                    num_decided += 1
            elif not changing and goal[i] < 0.5:
                change_at[i] = np.inf
            command[i] = max(-HARDEST_MPS2, wanted)
        kept = 0
        for n in range(num_active):
            i = active[n]
            if used == rows.shape[0]:
                rows = np.concatenate((rows, np.empty_like(rows)))
            rows[used, 0] = i
            rows[used, 1] = step
            rows[used, 2] = s[i]
            rows[used, 3] = v[i]
            rows[used, 4] = a[i]
            rows[used, 5] = side[i]
            used += 1
            fresh = min(max(command[i], a[i] - 3.0 * JERK * dt), a[i] + JERK * dt)
            faster = max(1.0, v[i] + 0.5 * (a[i] + fresh) * dt)
            s[i] += 0.5 * (v[i] + faster) * dt
            v[i] = faster
            a[i] = fresh
            if goal[i] > 0.5 and lane[i] == 0:
                side[i] = _shifted(min(1.0, (now + dt - change_at[i]) / CHANGE_S))
            if s[i] < road_m:
                active[kept] = i
                kept += 1
        num_active = kept
    return rows[:used], decided[:num_decided]


@njit(cache=True)
def find_neighbors(starts: Any, center: Any, length: Any, lane: Any, ids: Any) -> Any:
    """(M, 8) ids of neighbors in one driving direction, 0 for none.

    Order: preceding, following, then preceding, alongside, following on the left, then on the right.

    Args:
        starts: (F + 1,) first row of each frame, and M.
        center: (M,) position along the direction of travel.
        length: (M,).
        lane: (M,) 0 for the right lane, 1 for the left.
        ids: (M,).
    """
    found = np.zeros((center.shape[0], 8), np.int64)
    for f in range(starts.shape[0] - 1):
        for i in range(starts[f], starts[f + 1]):
            best = np.full(8, np.inf)
            for j in range(starts[f], starts[f + 1]):
                if i == j:
                    continue
                apart = center[j] - center[i]
                overlap = abs(apart) < 0.5 * (length[i] + length[j])
                shift = lane[j] - lane[i]
                if shift == 0:
                    slot = 0 if apart > 0 else 1
                else:
                    slot = (2 if shift > 0 else 5) + (1 if overlap else (0 if apart > 0 else 2))
                if abs(apart) < best[slot]:
                    best[slot] = abs(apart)
                    found[i, slot] = ids[j]
    return found
