"""The hot loop of :mod:`giveway.synth.traffic`, compiled."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from giveway.core.kernels import njit
from giveway.sim.compiling import compiled
from giveway.synth import humans

TABLE_M = 0.5
MIN_GAP_M = 2.0
HEADWAY_S = 1.1
COMFORT_MPS2 = 2.0
HARDEST_MPS2 = 7.0
SETTLE_MPS2 = 2.5
ABORT_MPS2 = 4.0
JERK_UP = 4.0
JERK_DOWN = 9.0
SIGHT_S = 9.0
MIN_ARRIVAL_MPS = 3.0
CLEAR_MARGIN_S = 0.5
MERGE_MARGIN_M = 1.0
MERGE_BRAKE_MPS2 = 3.5
LINE_GAP_M = 0.6
PAST_LINE_M = 12.0
NOBODY = -1


@njit(cache=True)
def _follow(v: float, v0: float, gap: float, v_lead: float, accel: float, min_gap: float) -> float:
    """Acceleration of the Intelligent Driver Model; beyond the desired speed it brakes gently."""
    free = accel * (1.0 - (v / v0) ** 4) if v <= v0 else -COMFORT_MPS2 * (1.0 - (v0 / v) ** 2)
    if gap > 1e5:
        return free
    wanted = min_gap + max(0.0, v * HEADWAY_S + v * (v - v_lead) / (2.0 * math.sqrt(accel * COMFORT_MPS2)))
    ratio = wanted / max(gap, 0.1)
    closing = max(0.0, v - v_lead)
    needed = closing * closing / (2.0 * max(gap - 0.5, 0.1))
    # The model overreacts to someone who cuts in without being slower; brake as hard as the situation needs.
    tight = 3.0 * max(0.0, 1.0 - 0.5 * gap)
    follow = max(accel * (1.0 - ratio * ratio), -(SETTLE_MPS2 + 1.6 * needed + tight))
    return min(free, follow)


@njit(cache=True)
def _time_to_cover(distance: float, v: float, accel: float, top: float) -> float:
    """Seconds to drive ``distance`` from speed ``v`` with ``accel`` up to ``top``."""
    if distance <= 0.0:
        return 0.0
    top = max(top, v + 1e-3)
    ramp = (top - v) / accel
    covered = v * ramp + 0.5 * accel * ramp * ramp
    if covered >= distance:
        return (math.sqrt(v * v + 2.0 * accel * distance) - v) / accel
    return ramp + (distance - covered) / top


@njit(cache=True)
def _lookup(table: Any, s: float) -> float:
    """Linear between two entries; where only one of them is known, that one; NaN outside the table."""
    k = int(s / TABLE_M)
    if s < 0.0 or k + 1 >= table.shape[0]:
        return np.nan
    low, high = table[k], table[k + 1]
    share = s / TABLE_M - k
    if np.isnan(low):
        return high - (1.0 - share) * TABLE_M
    if np.isnan(high):
        return low + share * TABLE_M
    return low + share * (high - low)


@compiled(humans)
def run_traffic(
    origin: Any,
    speed: Any,
    path_length: Any,
    line: Any,
    projection: Any,
    gives_way: Any,
    merges: Any,
    zone_in: Any,
    zone_out: Any,
    other_in: Any,
    other_out: Any,
    path: Any,
    enter_s: Any,
    length: Any,
    boldness: Any,
    reaction: Any,
    accel: Any,
    pace: Any,
    draws: Any,
    people: Any,
    steps: int,
    dt: float,
    max_active: int,
    look_ahead: float,
) -> tuple[Any, Any]:
    """Rows (vehicle, step, s, v, a) and decisions (T, E, time, gap, distance, p, accepted)."""
    count = path.shape[0]
    rows: Any = np.empty((1024, 5))
    used = 0
    decided: Any = np.empty((256, 7))
    num_decided = 0
    s: Any = np.zeros(count)
    v: Any = np.zeros(count)
    a: Any = np.zeros(count)
    command: Any = np.zeros(count)
    committed = np.zeros(count, np.bool_)
    held = np.zeros(count, np.bool_)
    start_at: Any = np.full(count, np.inf)
    about: Any = np.full(count, -2, np.int64)
    num_draws = np.zeros(count, np.int64)
    waits_since: Any = np.full(count, np.inf)
    entered = np.zeros(count, np.bool_)
    active: Any = np.empty(max_active, np.int64)
    num_active = 0
    # Beyond the line but before the first zone one may still change one's mind.
    num_paths = line.shape[0]
    last_chance: Any = line + 0.3
    for p in range(num_paths):
        nearest_zone = np.inf
        for q in range(num_paths):
            if gives_way[p, q]:
                nearest_zone = min(nearest_zone, zone_in[p, q])
        if line[p] < 1e5 and nearest_zone < 1e5:
            last_chance[p] = max(last_chance[p], nearest_zone - 0.5)
    num_origins = origin.max() + 1
    busy = np.zeros(num_origins, np.bool_)
    first_waiting = 0
    for step in range(steps):
        now = step * dt
        # New cars, in order, as soon as their lane has room.
        busy[:] = False
        while first_waiting < count and entered[first_waiting]:
            first_waiting += 1
        for i in range(first_waiting, count):
            if enter_s[i] > now or num_active >= max_active:
                break
            lane = origin[path[i]]
            if entered[i] or busy[lane]:
                continue
            speed_in = pace[i] * speed[path[i], 0]
            room, v_lead = 1e6, speed_in
            for n in range(num_active):
                j = active[n]
                if origin[path[j]] == lane:
                    gap = s[j] - 0.5 * length[j] - 0.5 * length[i]
                    if gap < room:
                        room, v_lead = gap, v[j]
            speed_in = min(speed_in, v_lead + math.sqrt(max(0.0, 2.0 * COMFORT_MPS2 * (room - 4.0))))
            busy[lane] = True
            if room < 4.0 + 1.3 * speed_in:
                continue
            entered[i] = True
            s[i], v[i] = 0.0, speed_in
            active[num_active] = i
            num_active += 1

        for n in range(num_active):
            i = active[n]
            p = path[i]
            front = s[i] + 0.5 * length[i]
            v0 = max(0.5, pace[i] * speed[p, min(int(s[i] / TABLE_M), speed.shape[1] - 1)])
            wanted = _follow(v[i], v0, 1e6, 0.0, accel[i], MIN_GAP_M)
            lead_gap = 1e6
            lead = NOBODY
            # Whoever is on my path ahead of me, with front, center or rear.
            for m in range(num_active):
                j = active[m]
                if j == i:
                    continue
                table = projection[p, path[j]]
                nearest = 1e6
                center = _lookup(table, s[j])
                rear = _lookup(table, s[j] - 0.5 * length[j])
                tip = _lookup(table, s[j] + 0.5 * length[j])
                if not np.isnan(rear):
                    nearest = rear
                elif not np.isnan(center):
                    nearest = center - 0.5
                elif not np.isnan(tip):
                    nearest = tip - 1.0
                if nearest > 1e5:
                    continue
                ahead = center if not np.isnan(center) else nearest
                if ahead <= s[i] or (ahead == s[i] and j > i):
                    continue
                gap = nearest - front
                if gap < lead_gap:
                    lead_gap = gap
                    lead = j
                if gap < 80.0:
                    wanted = min(wanted, _follow(v[i], v0, gap, v[j], accel[i], MIN_GAP_M))
            # Held: I stand in a queue behind somebody who gives way; nobody needs to wait for me.
            held[i] = False
            if lead != NOBODY and v[i] < 1.0 and v[lead] < 1.0 and lead_gap < 6.0:
                waiting = line[path[lead]] < 1e5 and not committed[lead]
                held[i] = waiting or held[lead]
            # Cars that have entered, or may enter, a zone I share with them.
            ego, ego_arrival, ego_gap = NOBODY, 1e6, 1e6
            possible = True
            blocked = False
            has_line = line[p] < 1e5 and front < last_chance[p]
            if not has_line:
                committed[i] = True
            delay = 0.0
            if not committed[i]:
                delay = reaction[i] if v[i] < 1.0 else 0.3 * reaction[i]
                if start_at[i] < 1e5:
                    delay = max(0.0, start_at[i] - now)
            for m in range(num_active):
                j = active[m]
                q = path[j]
                if j == i or not (gives_way[p, q] or gives_way[q, p]):
                    continue
                its_front = s[j] + 0.5 * length[j]
                its_rear = s[j] - 0.5 * length[j]
                my_rear = s[i] - 0.5 * length[i]
                if gives_way[p, q]:
                    my_in, my_out = zone_in[p, q], zone_out[p, q]
                    its_in, its_out = other_in[p, q], other_out[p, q]
                    gone = its_rear > its_in + 0.5 if merges[p, q] else its_rear > its_out
                    waits_too = line[q] < 1e5 and its_front < last_chance[q] and not committed[j]
                    waits_too = waits_too or held[j]
                    if gone or my_rear > my_out:
                        pass
                    elif has_line and not waits_too:
                        distance = its_in - its_front
                        arrival = max(0.0, distance) / max(v[j], MIN_ARRIVAL_MPS)
                        if arrival < SIGHT_S:
                            beyond = min(int((line[p] + PAST_LINE_M) / TABLE_M), speed.shape[1] - 1)
                            top = pace[i] * speed[p, beyond]
                            if merges[p, q]:
                                mine = delay + _time_to_cover(my_in - front, v[i], accel[i], top)
                                v_then = min(top, v[i] + accel[i] * max(0.0, mine - delay))
                                v_its = v[j] + max(0.0, a[j]) * min(mine, 1.5)
                                closing = max(0.0, v_its - v_then)
                                needs = length[i] + MERGE_MARGIN_M + closing * closing / (2.0 * MERGE_BRAKE_MPS2)
                                fits = distance - 0.5 * (v[j] + v_its) * mine > needs
                            else:
                                mine = delay + _time_to_cover(my_out + length[i] - front, v[i], accel[i], top)
                                fits = mine + CLEAR_MARGIN_S < arrival
                            possible = possible and fits
                            blocked = blocked or distance <= 0.0
                            if arrival < ego_arrival:
                                ego, ego_arrival, ego_gap = j, arrival, distance
                    elif not has_line and merges[p, q] and front - my_in <= its_front - its_in:
                        gap = my_in + (its_rear - its_in) - front
                        wanted = min(wanted, _follow(v[i], v0, gap, v[j], accel[i], MIN_GAP_M))
                if gives_way[q, p] and committed[j]:
                    # Somebody has entered before me.
                    my_in, its_in, its_out = other_in[q, p], zone_in[q, p], zone_out[q, p]
                    if its_front < line[q] - 0.2 or its_rear > its_out or front > my_in + 0.5 * length[i]:
                        continue
                    if merges[q, p]:
                        if its_front - its_in > front - my_in:
                            gap = my_in + (its_rear - its_in) - front
                            wanted = min(wanted, _follow(v[i], v0, max(gap, 0.3), v[j], accel[i], MIN_GAP_M))
                    elif front < my_in:
                        clears = _time_to_cover(its_out - its_rear, v[j], accel[j], pace[j] * 7.0)
                        if (my_in - front) / max(v[i], 1.0) < clears + 0.6:
                            wanted = min(wanted, _follow(v[i], v0, my_in - front, 0.0, accel[i], 1.0))
            # The line where I give way.
            if has_line:
                remaining = line[p] - front
                can_stop = v[i] * v[i] / (2.0 * ABORT_MPS2) < last_chance[p] - front
                if v[i] < 0.8 and waits_since[i] > 1e5 and remaining < 8.0:
                    waits_since[i] = now
                if remaining < look_ahead and lead_gap > remaining - 1.0:
                    if ego == NOBODY:
                        if start_at[i] > 1e5:
                            start_at[i] = now + (0.4 * reaction[i] if v[i] < 1.0 else 0.0)
                        about[i] = NOBODY
                    elif blocked:
                        if can_stop:
                            committed[i] = False
                            start_at[i] = np.inf
                        about[i] = ego
                    elif ego != about[i]:
                        about[i] = ego
                        waited = now - waits_since[i] if waits_since[i] < 1e5 else 0.0
                        p_accept = humans.chance(people, ego_arrival, v[ego], boldness[i], waited)
                        if not possible:
                            p_accept = 0.0
                        k = num_draws[i] % draws.shape[1]
                        num_draws[i] += 1
                        takes = draws[i, k] < p_accept
                        if num_decided == decided.shape[0]:
                            decided = np.concatenate((decided, np.empty_like(decided)))
                        decided[num_decided, 0] = i
                        decided[num_decided, 1] = ego
                        decided[num_decided, 2] = now
                        decided[num_decided, 3] = ego_arrival
                        decided[num_decided, 4] = ego_gap
                        decided[num_decided, 5] = p_accept
                        decided[num_decided, 6] = 1.0 if takes else 0.0
                        num_decided += 1
                        if takes:
                            if start_at[i] > 1e5:
                                start_at[i] = now + delay
                        elif can_stop:
                            committed[i] = False
                            start_at[i] = np.inf
                    elif not possible and can_stop:
                        committed[i] = False
                        start_at[i] = np.inf
                    if now >= start_at[i]:
                        committed[i] = True
                if not committed[i]:
                    creep = min(0.5, max(0.0, 0.25 * boldness[i])) if start_at[i] > 1e5 else 0.0
                    hold = _follow(v[i], v0, remaining + LINE_GAP_M, 0.0, accel[i], LINE_GAP_M)
                    if remaining < 1.0 + creep and remaining > 0.15 and v[i] < creep * 0.6:
                        hold = max(hold, 0.4 * (creep * 0.6 - v[i]))
                    wanted = min(wanted, hold)
            command[i] = max(-HARDEST_MPS2, min(wanted, accel[i]))

        # Move everybody, then let go of those who have left.
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
            used += 1
            fresh = min(max(command[i], a[i] - JERK_DOWN * dt), a[i] + JERK_UP * dt)
            faster = v[i] + 0.5 * (a[i] + fresh) * dt
            if faster <= 0.0:
                faster = 0.0
                fresh = max(0.0, min(fresh, 0.0))
            s[i] += 0.5 * (v[i] + faster) * dt
            v[i] = faster
            a[i] = fresh
            if s[i] < path_length[path[i]]:
                active[kept] = i
                kept += 1
        num_active = kept
    return rows[:used], decided[:num_decided]
