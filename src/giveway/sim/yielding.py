"""Right of way of driven cars: the areas of a batch as tables, what each car remembers, and what it does next.

Every tick, for each world: :func:`note_waiting` reads the state before the tick and what all cars did in the last one
(who stands, who came to a stop line, who waits for whom in a circle), then :func:`yield_accel` decides for one car
after the other. A decision reads only what the first has noted and rows of its own car, so the order of cars cannot
change a result.

The rules themselves are in :mod:`giveway.planning.right_of_way`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray, IntArray
from giveway.core.kernels import njit
from giveway.planning.idm import IdmParameters
from giveway.planning.profiles import DT_S
from giveway.planning.right_of_way import (
    CREEP_MPS,
    DEADLOCK_S,
    FIRST,
    HOLD,
    IMPOSED_DECEL_MPS2,
    SECOND_MARGIN_S,
    STANDING_MPS,
    cruise_time,
    dash_speed,
    dash_time,
    first_margin,
    gap_choice,
    hold_accel,
    imposed_accel,
    is_committed,
    keeps_grant,
    leaves_room,
    on_cycles,
    stopped_earlier,
    walker_goes_first,
)
from giveway.roads.conflicts import HOLD_BEFORE_M

CROSSING, MERGING, WALKER = 0, 1, 2
"""Kinds of areas; of the last kind, the other one is a pedestrian."""

OTHER_FIRST, NEITHER, OWN_FIRST, ALL_WAY = -1, 0, 1, 2
"""Ranks of the own car at an area."""

OWN_IN, OWN_OUT, OTHER_IN, OTHER_OUT, HOLD_AT = range(5)
"""Columns of ``Areas.span``."""

LOOK_M = 60.0
"""Areas further ahead are of no concern."""

SLOW_MPS = 1.0
"""Speed that a car is taken to have at least when arrivals are compared."""

SAME_TIME_S = 0.05
"""Arrivals that differ by less are simultaneous: then whoever comes from the right goes first."""

AT_LINE_M = 3.0
"""A car that stands at most this far before a stop line has come to it."""

PASSED_LINE_M = 0.5
"""A car whose front is further beyond a stop line waits at the area instead."""

STAYS_S = 3.0
"""A car that does not follow these rules and has stood for so long is taken to stay."""

BEHIND_M = 4.0
"""A car that stands at most this far behind another standing one waits for it."""

BLOCK_SOON_S = 8.0
"""Nobody keeps an area free for a car that is further away in time."""


class Areas(NamedTuple):
    """Areas of all cars of a batch; N rows, each seen from one car, those of a car in the order of its route.

    Attributes:
        first: (W, A + 1) rows of car i of world w are ``first[w, i] <= row < first[w, i + 1]``.
        other: (N,) the other car.
        mirror: (N,) row of the same area seen from the other car; -1 for pedestrians.
        span: (N, 5) arc length where the area begins and ends on the own route and on the other's, and where the own
            front waits [m].
        kind: (N,) CROSSING, MERGING or WALKER.
        rank: (N,) OTHER_FIRST, NEITHER, OWN_FIRST or ALL_WAY.
        from_right: (N,) whether the other one comes from the right.
        order: (W, A) place of a car in the natural order of names.
        rec_s: (W, A, L) arc length of the recorded position on the own route; NaN where absent.
    """

    first: IntArray
    other: IntArray
    mirror: IntArray
    span: FloatArray
    kind: IntArray
    rank: IntArray
    from_right: BoolArray
    order: IntArray
    rec_s: FloatArray


class Waiting(NamedTuple):
    """What cars remember about giving way.

    Attributes:
        s: (W, A) arc length on the own route before the tick; NaN without one.
        held: (W, A) whether the car held for somebody, or stood right behind somebody, in the last tick.
        waited: (W, A) time for which it has held, standing [s].
        stood: (W, A) time for which it has stood [s].
        locked: (W, A) time for which it has been part of a cycle [s].
        leader: (W, A) car right behind which it stood when it decided, or -1.
        holds: (N,) whether the row's car held for the other one in the last tick.
        granted: (N,) whether it may go first although it must yield.
        freed: (N,) whether it may go although it would hold: its cycle was resolved.
        stopped: (N,) time since it came to a stop at the line [s], or -1.
        freed_tick: (W, A) tick at which a cycle was last resolved by letting this car go, or -1.
        num_freed: (W, A) how often that happened.
    """

    s: FloatArray
    held: BoolArray
    waited: FloatArray
    stood: FloatArray
    locked: FloatArray
    leader: IntArray
    holds: BoolArray
    granted: BoolArray
    freed: BoolArray
    stopped: FloatArray
    freed_tick: IntArray
    num_freed: IntArray


def nobody_waits(areas: Areas) -> Waiting:
    """What cars remember before the first tick."""
    shape, rows = areas.order.shape, areas.other.size
    return Waiting(
        s=np.full(shape, np.nan),
        held=np.zeros(shape, dtype=np.bool_),
        waited=np.zeros(shape),
        stood=np.zeros(shape),
        locked=np.zeros(shape),
        leader=np.full(shape, -1, dtype=np.int64),
        holds=np.zeros(rows, dtype=np.bool_),
        granted=np.zeros(rows, dtype=np.bool_),
        freed=np.zeros(rows, dtype=np.bool_),
        stopped=np.full(rows, -1.0),
        freed_tick=np.full(shape, -1, dtype=np.int64),
        num_freed=np.zeros(shape, dtype=np.int64),
    )


@njit(cache=True, nogil=True)
def note_waiting(
    areas: Areas, own: Waiting, w: int, present: BoolArray, now: FloatArray, size: FloatArray, tick: int
) -> None:
    """Note who waits, before anybody decides.

    Args:
        areas: of the batch.
        own: is updated; ``own.s[w]`` must hold the state before the tick.
        w: world.
        present: (n,) who is there.
        now: (n, 5) x, y, speed, cosine and sine of the heading.
        size: (n, 2) length and width [m].
        tick: of the world.
    """
    for i in range(present.size):
        held = False
        stands = present[i] and now[i, 2] < STANDING_MPS
        for row in range(areas.first[w, i], areas.first[w, i + 1]):
            if not present[i]:
                own.holds[row] = False
            held = held or own.holds[row]
            front = own.s[w, i] + 0.5 * size[i, 0]
            if own.freed[row] and front - size[i, 0] >= areas.span[row, OWN_OUT]:
                own.freed[row] = False
            if own.stopped[row] >= 0.0:
                own.stopped[row] += DT_S
            elif stands and abs(areas.span[row, HOLD_AT] - front) <= AT_LINE_M:
                own.stopped[row] = 0.0
        own.held[w, i] = held or own.leader[w, i] >= 0
        own.stood[w, i] = own.stood[w, i] + DT_S if stands else 0.0
        if not held:
            own.waited[w, i] = 0.0
        elif stands:
            own.waited[w, i] += DT_S
    _resolve_cycles(areas, own, w, present, now, tick)


@njit(cache=True, nogil=True)
def _resolve_cycles(areas: Areas, own: Waiting, w: int, present: BoolArray, now: FloatArray, tick: int) -> None:
    """Let one car go of each circle of standing cars that has lasted for 2 s."""
    n = present.size
    begin, stop = areas.first[w, 0], areas.first[w, n]
    start, end = np.empty(stop - begin + n, dtype=np.int64), np.empty(stop - begin + n, dtype=np.int64)
    edges = 0
    for i in range(n):
        if not present[i] or now[i, 2] >= STANDING_MPS:
            continue
        for row in range(areas.first[w, i], areas.first[w, i + 1]):
            j = areas.other[row]
            if own.holds[row] and present[j] and now[j, 2] < STANDING_MPS:
                start[edges] = i
                end[edges] = j
                edges += 1
        if own.leader[w, i] >= 0:
            start[edges] = i
            end[edges] = own.leader[w, i]
            edges += 1
    member = np.zeros(n, dtype=np.bool_)
    if edges > 1:
        on_cycles(start[:edges], end[:edges], n, member)
    for i in range(n):
        own.locked[w, i] = own.locked[w, i] + DT_S if member[i] else 0.0
    for i in range(n):
        if member[i] and own.locked[w, i] >= DEADLOCK_S - 1e-9:
            _free_one(areas, own, w, i, start[:edges], end[:edges], member, tick)


@njit(cache=True, nogil=True)
def _free_one(
    areas: Areas, own: Waiting, w: int, seed: int, start: IntArray, end: IntArray, member: BoolArray, tick: int
) -> None:
    """Free the longest standing car of the circle that ``seed`` is part of; its members start anew."""
    n = member.size
    circle = np.zeros(n, dtype=np.bool_)
    circle[seed] = True
    grown = True
    while grown:
        grown = False
        for e in range(start.size):
            if member[start[e]] and member[end[e]] and circle[start[e]] != circle[end[e]]:
                circle[start[e]] = True
                circle[end[e]] = True
                grown = True
    chosen = -1
    for i in range(n):
        if not circle[i] or own.leader[w, i] >= 0:
            continue
        longer = chosen < 0 or own.stood[w, i] > own.stood[w, chosen] + 1e-9
        as_long = chosen >= 0 and abs(own.stood[w, i] - own.stood[w, chosen]) <= 1e-9
        if longer or (as_long and areas.order[w, i] < areas.order[w, chosen]):
            chosen = i
    for i in range(n):
        if circle[i]:
            own.locked[w, i] = 0.0
    if chosen >= 0:
        own.freed_tick[w, chosen] = tick
        own.num_freed[w, chosen] += 1
        for row in range(areas.first[w, chosen], areas.first[w, chosen + 1]):
            if circle[areas.other[row]]:
                own.freed[row] = True


@njit(cache=True, nogil=True)
def yield_accel(
    areas: Areas,
    own: Waiting,
    w: int,
    i: int,
    present: BoolArray,
    now: FloatArray,
    size: FloatArray,
    obeys: BoolArray,
    desired: float,
    gap: float,
    lead_speed: float,
    p: IdmParameters,
) -> float:
    """Largest acceleration that giving way leaves to a car [m/s^2]; infinite if it need not yield.

    Args:
        areas: of the batch.
        own: rows of the car are updated.
        w: world.
        i: car.
        present: (n,) who is there.
        now: (n, 5) x, y, speed, cosine and sine of the heading, before the tick.
        size: (n, 2) length and width [m].
        obeys: (n,) who follows these rules.
        desired: speed of the car [m/s].
        gap: bumper distance to the car ahead [m].
        lead_speed: its speed [m/s].
        p: parameters of car following.
    """
    s, v, length = own.s[w, i], now[i, 2], size[i, 0]
    front = s + 0.5 * length
    margin = first_margin(own.waited[w, i])
    line = math.inf
    for row in range(areas.first[w, i], areas.first[w, i + 1]):
        j = areas.other[row]
        own.holds[row] = False
        distance = areas.span[row, OWN_IN] - front
        if distance > LOOK_M:
            continue  # not a break: all rows beyond must forget that they held
        if not present[j] or math.isnan(own.s[w, j]) or s - 0.5 * length >= areas.span[row, OWN_OUT]:
            own.granted[row] = False
            continue
        if is_committed(v, distance):
            continue
        if _must_hold(areas, own, w, i, row, now, size, obeys, desired, gap, lead_speed, margin, p):
            own.holds[row] = True
            line = min(line, _line(areas, row, front))
    if line == math.inf:
        return math.inf
    return hold_accel(v, desired, _clear_line(areas, own, w, i, present, v, front, length, line) - front, p)


@njit(cache=True, nogil=True)
def _line(areas: Areas, row: int, front: float) -> float:
    """Arc length where a front waits for an area: the stop line, if it is not passed, else 1 m before it."""
    line = areas.span[row, HOLD_AT]
    return line if line - front >= -PASSED_LINE_M else areas.span[row, OWN_IN] - HOLD_BEFORE_M


@njit(cache=True, nogil=True)
def _clear_line(
    areas: Areas, own: Waiting, w: int, i: int, present: BoolArray, v: float, front: float, length: float, line: float
) -> float:
    """Where to wait so that the waiting car stands in no area before that somebody else still needs."""
    for row in range(areas.first[w, i + 1] - 1, areas.first[w, i] - 1, -1):
        j, begin = areas.other[row], areas.span[row, OWN_IN]
        if begin >= line or areas.span[row, OWN_OUT] <= line - length or is_committed(v, begin - front):
            continue
        if present[j] and areas.kind[row] != MERGING and own.s[w, j] < areas.span[row, OTHER_OUT]:
            line = min(line, _line(areas, row, front))
    return line


@njit(cache=True, nogil=True)
def _must_hold(
    areas: Areas,
    own: Waiting,
    w: int,
    i: int,
    row: int,
    now: FloatArray,
    size: FloatArray,
    obeys: BoolArray,
    desired: float,
    gap: float,
    lead_speed: float,
    margin: float,
    p: IdmParameters,
) -> bool:
    """Whether a car holds before one area that it has not reached, for a car that is there."""
    j, span, mirror = areas.other[row], areas.span[row], areas.mirror[row]
    half, other_half = 0.5 * size[i, 0], 0.5 * size[j, 0]
    distance, to_end = span[OWN_IN] - own.s[w, i] - half, span[OWN_OUT] - own.s[w, i] - half
    ahead = span[OTHER_IN] - own.s[w, j] - other_half
    to_leave = span[OTHER_OUT] - own.s[w, j] + other_half
    if to_leave <= 0.0:
        return False
    v, v_j = now[i, 2], now[j, 2]
    if areas.kind[row] == WALKER:
        return walker_goes_first(ahead, v_j)
    rank = areas.rank[row]
    stays = v_j < STANDING_MPS and (own.held[w, j] or (not obeys[j] and own.stood[w, j] >= STAYS_S))
    v_j = 0.0 if stays else max(v_j, CREEP_MPS)
    t_in, t_out = dash_time(distance, v, desired), dash_time(to_end + size[i, 0], v, desired)
    in_j, out_j = cruise_time(ahead, v_j), cruise_time(to_leave, v_j)
    if rank == NEITHER and not stays:
        in_j = dash_time(ahead, v_j, max(desired, v_j))  # it may take the gap as well
    blocks = areas.kind[row] != MERGING and in_j < BLOCK_SOON_S
    if blocks and not leaves_room(gap, lead_speed, t_out, to_end, size[i, 0], p.min_gap_m):
        return True
    entering = is_committed(now[j, 2], ahead)
    freed = own.freed[mirror]
    if own.freed[row] and not freed:
        return entering and ahead <= 0.0 and t_in < out_j
    if entering and ahead <= 0.0 and now[j, 2] < STANDING_MPS:
        return True
    if rank == ALL_WAY and not freed:
        if entering:
            return t_in < out_j + SECOND_MARGIN_S
        if own.stopped[row] < 0.0:
            return True
        earlier = stopped_earlier(
            own.stopped[row], own.stopped[mirror], areas.from_right[row], areas.order[w, i] < areas.order[w, j]
        )
        return not earlier and in_j < BLOCK_SOON_S
    if not freed and _goes_before(
        areas, rank, row, distance, v, ahead, now[j, 2], areas.order[w, i], areas.order[w, j]
    ):
        return entering and t_in < out_j and in_j < t_out
    if own.locked[w, i] > 0.0 and own.locked[w, j] > 0.0:
        return True  # in a circle everybody is held by somebody: nobody may conclude from that that the other stays
    if own.granted[row] and keeps_grant(t_out, in_j, margin, v, distance):
        return False
    choice = gap_choice(t_in, t_out, in_j, out_j, margin)
    if choice == FIRST and areas.kind[row] == MERGING:
        space = ahead - v_j * t_in + (span[OTHER_OUT] - span[OTHER_IN]) - (span[OWN_OUT] - span[OWN_IN]) - size[i, 0]
        if in_j < math.inf and imposed_accel(v_j, space, dash_speed(t_in, v, desired), p) < -IMPOSED_DECEL_MPS2:
            choice = HOLD
    own.granted[row] = choice == FIRST
    return choice == HOLD


@njit(cache=True, nogil=True)
def _goes_before(
    areas: Areas, rank: int, row: int, distance: float, v: float, ahead: float, v_j: float, order: int, order_j: int
) -> bool:
    """Whether the own car has priority; where nothing says so, whoever arrives first, then comes from the right."""
    if rank != NEITHER:
        return rank == OWN_FIRST
    arrives, arrives_j = cruise_time(distance, max(v, SLOW_MPS)), cruise_time(ahead, max(v_j, SLOW_MPS))
    if abs(arrives - arrives_j) > SAME_TIME_S:
        return arrives < arrives_j
    mirror_right = areas.from_right[areas.mirror[row]]
    if areas.from_right[row] != mirror_right:
        return bool(mirror_right)
    return order < order_j
