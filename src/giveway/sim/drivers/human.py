"""Driver ``human``: people who follow, give way and take gaps, each in its own way; compiled.

Whoever must give way slows down for its line, decides once per approaching car whether to take the gap before it
(:func:`giveway.sim.drivers.people.chance`) and, if so, goes after a reaction time. It changes its mind only where the
gap turns out to be too short and it can still stop. Cars with priority follow whoever has entered before them. On lanes
beside each other people overtake (:mod:`giveway.sim.drivers.human_lanes`).

Car following is the Intelligent Driver Model with limited jerk, except that nobody brakes harder for a car that cuts in
than the situation needs:

    a = min(free, max(a_IDM, -(settle + 1.6 needed + tight))),   needed = (v - v_l)^2 / (2 (gap - 0.5 m))

A car reads the state before the tick and what others had decided until then, so the order of cars changes nothing.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray, IntArray
from giveway.core.kernels import njit
from giveway.planning import occupancy
from giveway.planning.builtin import SIDE_MARGIN_M
from giveway.planning.occupancy import lead_car
from giveway.planning.profiles import DT_S
from giveway.roads import route_tables
from giveway.roads.route_tables import PATH_SPEED
from giveway.sim import motion
from giveway.sim.bicycle import ACCEL, HEADING, SPEED, X, Y
from giveway.sim.compiling import compiled
from giveway.sim.drivers import human_lanes, people
from giveway.sim.drivers.human_lanes import Lanes, overtake
from giveway.sim.drivers.human_motion import JERK_DOWN, follow, note_decision, time_to_cover
from giveway.sim.drivers.people import chance
from giveway.sim.drivers.route_areas import NEITHER, YIELDS, RouteAreas
from giveway.sim.motion import cruise
from giveway.sim.state import Decisions, State, Static, Status

WAITING = int(Status.WAITING)
BOLDNESS, REACTION, GO_ACCEL, PACE, BACK = range(5)
"""Columns of ``Humans.traits``: boldness; reaction time [s]; acceleration [m/s^2]; factor on reference speeds; how far
before the line it waits [m]."""

HEADWAY, MIN_GAP, COMFORT, SETTLE, JERK_UP, DECIDES_M, STOP_S, FALSE_STARTS, MARGIN_S = range(9)
"""Columns of ``Humans.habits``: time headway [s]; distance at standstill [m]; comfortable braking, braking for a car
that cuts in [m/s^2]; largest rise of the acceleration [m/s^3]; how far before the line one decides [m]; how long one
must stand before one goes if nobody comes [s]; share of those who wait that start and think better of it;
how long before the other one arrives a crossing must be left [s]."""

OTHER, TIME, GAP_S, GAP_M, CHANCE, TAKEN = range(6)
"""Columns of ``Humans.decided``."""

DRAWS = 64
"""Decisions of one driver that are kept."""

SEES_M, SIGHT_S = 80.0, 9.0
"""Cars ahead further away than this, and arrivals later than this, are of no concern."""

SLOWEST_MPS, MIN_ARRIVAL_MPS, STANDS_MPS = 0.5, 3.0, 1.0
"""Least desired speed; speed that an arriving car is taken to have at least; below it a car is about to stand."""

HARDEST_MPS2, ABORT_MPS2 = 7.0, 4.0
"""Hardest braking; braking with which a decision is taken back."""

MERGE_MARGIN_M, MERGE_BRAKE_MPS2 = 0.6, 4.5
"""Distance and braking that must do for the car behind at a merge."""

LINE_GAP_M, PAST_LINE_M, QUEUE_M = 0.6, 12.0, 6.0
"""Distance to the line at standstill; where the speed beyond the line is read; largest gap of a queue [m]."""

KEEPS_S = 0.15
"""A gap once taken is given up only if it is shorter than needed by this more."""

TRIES_S, TRIES_BRAKES_S, TRIES_UNTIL_M = (0.35, 0.85), 0.7, 0.3
"""How long a false start lasts, and how long it takes to brake after it [s]; how far before the last place to wait
the car must stand again [m]."""

CONCERNS_M = 8.0
"""Where neither has priority, a car further before its line is of no concern."""

ENTRY_GAP_M, ENTRY_EXTRA_S = 4.0, 0.2
"""Room behind the car ahead that a newcomer needs: distance, and time at its speed beyond the usual headway."""

NEVER = 1e9
NOBODY = -1


class Humans(NamedTuple):
    """Drivers of W worlds with A cars, and what they remember.

    Attributes:
        traits: (W, A, 5) columns above.
        habits: (W, 9) columns above.
        people: (W, 6) how they accept gaps, see :meth:`giveway.sim.drivers.people.Population.coefficients`.
        draws: (W, A, DRAWS) uniform random numbers, one per decision.
        areas: that routes share.
        origin: (R,) routes with the same number begin with the same lane.
        lanes: of those who overtake.
        committed: (W, A) goes, or need not give way.
        held: (W, A) stands in a queue behind somebody who gives way.
        start_at: (W, A) when it goes [s]; NEVER if it waits.
        tries: (W, A, 2) when a false start begins and ends [s].
        waits_since: (W, A) when it began to wait [s].
        about: (W, A) the car it decided about last.
        num_decided: (W, A) number of its decisions.
        decided: (W, A, DRAWS, 6) the other car, time [s], gap [s], gap [m], chance, whether it was taken.
    """

    traits: FloatArray
    habits: FloatArray
    people: FloatArray
    draws: FloatArray
    areas: RouteAreas
    origin: IntArray
    lanes: Lanes
    committed: BoolArray
    held: BoolArray
    start_at: FloatArray
    tries: FloatArray
    waits_since: FloatArray
    about: IntArray
    num_decided: IntArray
    decided: FloatArray


def humans_of(
    *, traits: FloatArray, habits: FloatArray, people: FloatArray, draws: FloatArray, areas: RouteAreas,
    origin: IntArray, lanes: Lanes,
) -> Humans:  # fmt: skip
    """Drivers before the first tick."""
    shape = traits.shape[:2]
    return Humans(
        traits=traits,
        habits=habits,
        people=people,
        draws=draws,
        areas=areas,
        origin=origin,
        lanes=lanes,
        committed=np.zeros(shape, dtype=np.bool_),
        held=np.zeros(shape, dtype=np.bool_),
        start_at=np.full(shape, NEVER),
        tries=np.full((*shape, 2), NEVER),
        waits_since=np.full(shape, NEVER),
        about=np.full(shape, -2, dtype=np.int64),
        num_decided=np.zeros(shape, dtype=np.int64),
        decided=np.full((*shape, DRAWS, 6), np.nan),
    )


@compiled(occupancy, route_tables, motion, people, human_lanes)
def decide_humans(
    static: Static, state: State, decisions: Decisions, mine: BoolArray, own: Humans, first_world: int, last_world: int
) -> None:
    """Decide for the cars ``mine`` (W, A) of some worlds; the kernel of a driver, see :mod:`giveway.sim.drivers.base`.

    ``postponed`` and the start speed of cars that have not appeared yet are set, too: a car enters its lane only behind
    a gap.
    """
    agents = static.driver.shape[1]
    who, now, size = np.empty(agents, dtype=np.int64), np.empty((agents, 5)), np.empty((agents, 2))
    for w in range(first_world, last_world):
        if state.tick[w] >= static.num_ticks[w]:
            continue
        count = 0
        for i in range(static.num_agents[w]):
            if state.present[w, i]:
                car = state.car[w, i]
                who[count] = i
                now[count, 0] = car[X]
                now[count, 1] = car[Y]
                now[count, 2] = car[SPEED]
                now[count, 3] = math.cos(car[HEADING])
                now[count, 4] = math.sin(car[HEADING])
                size[count, 0] = static.size[w, i, 0]
                size[count, 1] = static.size[w, i, 1]
                count += 1
        _admit(static, state, decisions, mine, own, w, who[:count])
        if own.lanes.overtakes[w].any():
            overtake(
                static, state, decisions, mine, own.lanes, own.traits[w], own.habits[w], own.people[w], own.draws[w],
                own.num_decided[w], own.decided[w], w, who[:count], now[:count], size[:count],
            )  # fmt: skip
        else:
            _give_way(static, state, decisions, mine, own, w, who[:count], now[:count], size[:count])


@njit(cache=True, nogil=True)
def _admit(
    static: Static, state: State, decisions: Decisions, mine: BoolArray, own: Humans, w: int, who: IntArray
) -> None:
    """Let cars whose time has come appear, in order, as soon as their lane has room."""
    road, after = static.road, state.tick[w] + 1
    busy = np.zeros(own.origin.max() + 1, dtype=np.bool_)
    for i in range(static.num_agents[w]):
        if not mine[w, i] or state.status[w, i] != WAITING or static.spawn_tick[w, i] > after:
            continue
        route = static.start_route[w, i]
        lane, half = own.origin[route], 0.5 * static.size[w, i, 0]
        decisions.postponed[w, i] = True
        if busy[lane]:
            continue
        busy[lane] = True
        speed = min(static.desired_speed[w, i], own.traits[w, i, PACE] * road.path[road.first[route], PATH_SPEED])
        room, lead = math.inf, speed
        for j in who:
            if state.route[w, j] >= 0 and own.origin[state.route[w, j]] == lane:
                gap = state.lane[w, j, 0] - static.start_lane[w, i, 0] - 0.5 * static.size[w, j, 0] - half
                if gap < room:
                    room, lead = gap, state.car[w, j, SPEED]
        if room < math.inf:
            speed = min(speed, lead + math.sqrt(max(2.0 * own.habits[w, COMFORT] * (room - ENTRY_GAP_M), 0.0)))
        if room >= ENTRY_GAP_M + (own.habits[w, HEADWAY] + ENTRY_EXTRA_S) * speed:
            static.start[w, i, 3] = speed
            decisions.postponed[w, i] = False


@njit(cache=True, nogil=True)
def _give_way(
    static: Static, state: State, decisions: Decisions, mine: BoolArray, own: Humans, w: int, who: IntArray,
    now: FloatArray, size: FloatArray,
) -> None:  # fmt: skip
    """Follow, give way and take gaps, on routes that cross and merge."""
    road, areas, habits = static.road, own.areas, own.habits[w]
    headway, min_gap, comfort, settle = habits[HEADWAY], habits[MIN_GAP], habits[COMFORT], habits[SETTLE]
    count, time = who.size, state.tick[w] * DT_S
    seen = np.empty(count, dtype=np.bool_)
    goes, stuck, starts = np.empty(count, dtype=np.bool_), np.empty(count, dtype=np.bool_), np.empty(count)
    for k in range(count):
        goes[k] = own.committed[w, who[k]] or not mine[w, who[k]]
        stuck[k] = own.held[w, who[k]]
        starts[k] = own.start_at[w, who[k]]
    for k in range(count):
        i = who[k]
        if not mine[w, i]:
            continue
        route, s, v, length = state.route[w, i], state.lane[w, i, 0], now[k, 2], size[k, 0]
        traits = own.traits[w, i]
        go, reaction = traits[GO_ACCEL], traits[REACTION]
        front, rear = s + 0.5 * length, s - 0.5 * length
        first, step = road.first[route], road.step[route]
        path = road.path[first : first + road.num_rows[route]]
        begins = road.coarse_first[route]
        coarse = road.coarse[begins : begins + road.coarse_count[route]]
        at = min(max(int(s / step), 0), path.shape[0] - 1)
        desired = max(min(static.desired_speed[w, i], traits[PACE] * path[at, PATH_SPEED]), SLOWEST_MPS)
        line, last_chance = areas.line[route] - traits[BACK], areas.last_chance[route]
        has_line = front < last_chance and line < math.inf
        if not has_line:
            own.committed[w, i] = True
        delay, start_at = 0.0, own.start_at[w, i]
        if not own.committed[w, i]:
            delay = max(start_at - time, 0.0) if start_at < NEVER else (reaction if v < STANDS_MPS else 0.3 * reaction)
        margin = habits[MARGIN_S] - (KEEPS_S if start_at < NEVER else 0.0)
        lag = max(go - max(state.car[w, i, ACCEL], 0.0), 0.0) / (2.0 * habits[JERK_UP])  # until it accelerates
        beyond = min(int(((line if has_line else s) + PAST_LINE_M) / step), path.shape[0] - 1)
        top = traits[PACE] * path[beyond, PATH_SPEED]
        accel = math.inf
        rival, arrival, rival_gap = NOBODY, math.inf, math.inf
        possible, blocked, held_up = True, False, False
        for q in range(count):
            j = who[q]
            other = state.route[w, j]
            seen[q] = True
            if q == k or other < 0 or areas.num_rows[route, other] == 0:
                continue
            s_j, v_j, length_j = state.lane[w, j, 0], now[q, 2], size[q, 0]
            front_j, rear_j = s_j + 0.5 * length_j, s_j - 0.5 * length_j
            waits_j = not goes[q] and front_j < areas.last_chance[other] and areas.line[other] < math.inf
            for row in range(areas.first[route, other], areas.first[route, other] + areas.num_rows[route, other]):
                my_in, my_out, its_in, its_out = areas.span[row]
                merging, rank = areas.merging[row], areas.rank[row]
                if rank == YIELDS:
                    gone = rear_j > its_in + 0.5 if merging else rear_j > its_out
                    if gone or rear > my_out:
                        continue
                    if has_line and not waits_j and not stuck[q]:
                        # It comes: can I be through before it, and is it the next one?
                        distance = its_in - front_j
                        comes = max(distance, 0.0) / max(v_j, MIN_ARRIVAL_MPS)
                        if comes >= SIGHT_S:
                            continue
                        if merging:
                            needs = delay + time_to_cover(my_in - front, v, go, top)
                            faster = v_j + max(state.car[w, j, ACCEL], 0.0) * min(needs, 1.5)
                            closing = max(faster - min(top, v + go * max(needs - delay, 0.0)), 0.0)
                            room = length + MERGE_MARGIN_M + closing * closing / (2.0 * MERGE_BRAKE_MPS2)
                            fits = distance - 0.5 * (v_j + faster) * needs > room
                        else:
                            needs = delay + lag + time_to_cover(my_out + length - front, v, go, top)
                            fits = needs + margin < comes
                        possible = possible and fits
                        blocked = blocked or distance <= 0.0
                        if comes < arrival:
                            rival, arrival, rival_gap = q, comes, distance
                    elif not has_line and merging and front - my_in <= front_j - its_in:
                        gap = my_in + (rear_j - its_in) - front
                        accel = min(accel, follow(v, desired, gap, v_j, go, headway, min_gap, comfort, settle))
                elif rank == NEITHER:
                    # Whoever goes first goes; of two that start at the same time, the one that came earlier.
                    if has_line and not merging and rear <= my_out and rear_j <= its_out:
                        first_j = (goes[q] or starts[q] < NEVER) and ((not goes[k] and starts[k] == NEVER) or j < i)
                        held_up = held_up or (first_j and front_j > areas.line[other] - CONCERNS_M)
                else:
                    if waits_j:
                        seen[q] = False  # it waits for me beside my route and is not in my way
                        continue
                    if front_j < areas.line[other] - 0.2 or rear_j > its_out or front > my_in + 0.5 * length:
                        continue
                    # It has entered before me.
                    if merging:
                        if front_j - its_in > front - my_in:
                            gap = max(my_in + (rear_j - its_in) - front, 0.3)
                            accel = min(accel, follow(v, desired, gap, v_j, go, headway, min_gap, comfort, settle))
                    elif front < my_in:
                        clears = time_to_cover(its_out - rear_j, v_j, own.traits[w, j, GO_ACCEL], max(v_j, 7.0))
                        if (my_in - front) / max(v, 1.0) < clears + 0.6:
                            stop = follow(v, desired, my_in - front, 0.0, go, headway, 1.0, comfort, settle)
                            accel = min(accel, stop)
        lead_gap, lead_speed, lead = lead_car(path, coarse, step, k, s, now, seen, size, SEES_M, SIDE_MARGIN_M)
        accel = min(accel, follow(v, desired, lead_gap, lead_speed, go, headway, min_gap, comfort, settle))
        own.held[w, i] = False
        if lead != NOBODY and v < STANDS_MPS and now[lead, 2] < STANDS_MPS and lead_gap < QUEUE_M:
            waits = not goes[lead] and state.route[w, who[lead]] >= 0
            own.held[w, i] = stuck[lead] or (waits and areas.line[state.route[w, who[lead]]] < math.inf)
        if has_line:
            remaining = line - front
            can_stop = v * v / (2.0 * ABORT_MPS2) < last_chance - front
            if v < 0.8 and own.waits_since[w, i] == NEVER and remaining < 8.0:
                own.waits_since[w, i] = time
            if remaining < habits[DECIDES_M] and lead_gap > remaining - 1.0:
                about = NOBODY if rival == NOBODY else who[rival]
                takes_back = False
                if held_up:
                    about, takes_back = own.about[w, i], True
                elif rival == NOBODY:
                    ready = habits[STOP_S] == 0.0 or time - own.waits_since[w, i] >= habits[STOP_S]
                    if start_at == NEVER and ready:
                        own.start_at[w, i] = time + (0.4 * reaction if v < STANDS_MPS else 0.0)
                elif blocked:
                    takes_back = True
                elif about != own.about[w, i]:
                    waited = max(time - own.waits_since[w, i], 0.0)
                    p = chance(own.people[w], arrival, now[rival, 2], traits[BOLDNESS], waited) if possible else 0.0
                    n = min(own.num_decided[w, i], DRAWS - 1)
                    takes = own.draws[w, i, n] < p
                    note_decision(own.decided[w, i, n], about, time, arrival, rival_gap, p, takes)
                    own.num_decided[w, i] = n + 1
                    if takes and start_at == NEVER:
                        own.start_at[w, i] = time + (reaction if v < STANDS_MPS else 0.3 * reaction)
                    takes_back = not takes
                    if not takes and own.draws[w, i, DRAWS - 1 - n] < habits[FALSE_STARTS]:
                        own.tries[w, i, 0] = time + reaction
                        own.tries[w, i, 1] = (
                            time + reaction + TRIES_S[0] + (TRIES_S[1] - TRIES_S[0]) * own.draws[w, i, n]
                        )
                else:
                    takes_back = not possible
                own.about[w, i] = about
                if takes_back and can_stop:
                    own.committed[w, i] = False
                    own.start_at[w, i] = NEVER
                if time >= own.start_at[w, i]:
                    own.committed[w, i] = True
            if v * TRIES_BRAKES_S + v * v / (2.0 * comfort) > last_chance - front - TRIES_UNTIL_M:
                own.tries[w, i, 1] = min(own.tries[w, i, 1], time)
            if not own.committed[w, i] and not own.tries[w, i, 0] <= time < own.tries[w, i, 1]:
                creep = min(max(0.25 * traits[BOLDNESS], 0.0), 0.5) if own.start_at[w, i] == NEVER else 0.0
                hold = follow(v, desired, remaining + LINE_GAP_M, 0.0, go, headway, LINE_GAP_M, comfort, settle)
                if 0.15 < remaining < 1.0 + creep and v < 0.6 * creep:
                    hold = max(hold, 0.4 * (0.6 * creep - v))
                accel = min(accel, hold)
        accel = max(-HARDEST_MPS2, min(accel, go))
        before = state.car[w, i, ACCEL]
        accel = min(max(accel, before - JERK_DOWN * DT_S), before + habits[JERK_UP] * DT_S)
        cruise(decisions.along_s[w, i], s, v, accel, desired)
        decisions.kind[w, i] = 0
        decisions.speed[w, i] = max(v + accel * DT_S, 0.0)
