"""Right of way of driven cars: the areas of a batch as tables, what each car remembers, and what it does next.

Every tick, for each world: :func:`note_waiting` reads the state before the tick and what all cars did in the last one
(who stands, who came to a stop line, who waits for whom in a circle), then :func:`yield_accel` decides for one car
after the other. A decision reads only what the first has noted and rows of its own car, so the order of cars cannot
change a result.

The rules themselves are in :mod:`giveway.planning.right_of_way`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from giveway.core.arrays import AnyArray, BoolArray, FloatArray, IntArray
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


AREA = np.dtype(
    [
        ("other", np.int64),
        ("mirror", np.int64),
        ("kind", np.int64),
        ("rank", np.int64),
        ("own_in", np.float64),
        ("own_out", np.float64),
        ("other_in", np.float64),
        ("other_out", np.float64),
        ("hold_at", np.float64),
        ("from_right", np.bool_),
    ],
    align=True,
)
"""An area seen from one car. Records, because each array that a kernel is handed takes the compiler 10 ms.

* ``other``: the other car; ``mirror``: row of the same area seen from it, -1 for pedestrians;
* ``kind``: CROSSING, MERGING or WALKER; ``rank``: OTHER_FIRST, NEITHER, OWN_FIRST or ALL_WAY;
* ``own_in``, ``own_out``, ``other_in``, ``other_out``: arc length where the area begins and ends on the own route and
  on the other's, ``hold_at``: where the own front waits [m];
* ``from_right``: whether the other one comes from the right.
"""

CAR = np.dtype(
    [
        ("s", np.float64),
        ("waited", np.float64),
        ("stood", np.float64),
        ("locked", np.float64),
        ("wanted", np.float64),
        ("lead_at", np.float64),
        ("lead_speed", np.float64),
        ("line", np.float64),
        ("leader", np.int64),
        ("freed_tick", np.int64),
        ("num_freed", np.int64),
        ("held", np.bool_),
    ],
    align=True,
)
"""What a car remembers.

* ``s``: arc length on the own route before the tick; NaN without one [m];
* ``waited``: time for which it has held, standing; ``stood``: for which it has stood; ``locked``: for which it has been
  part of a cycle [s];
* ``wanted``: desired speed when it decided, 0 before [m/s]; ``lead_at``, ``lead_speed``: arc length of its center at
  which it would have touched the car ahead, and the speed of that one [m], [m/s]; ``line``: where it waits [m];
* ``leader``: car right behind which it stood when it decided, or -1;
* ``freed_tick``: tick at which a cycle was last resolved by letting this car go, or -1; ``num_freed``: how often;
* ``held``: whether it held for somebody, or stood right behind somebody, in the last tick.
"""

CLAIM = np.dtype(
    [("stopped", np.float64), ("holds", np.bool_), ("granted", np.bool_), ("freed", np.bool_)],
    align=True,
)
"""What a car remembers about one of its areas.

* ``stopped``: time since it came to a stop at the line, or -1 [s]; ``holds``: whether it held for the other one in the
  last tick;
* ``granted``: whether it may go first although it must yield; ``freed``: although it would hold, since its cycle was
  resolved.
"""


class Areas(NamedTuple):
    """Areas of all cars of a batch; N rows, each seen from one car, those of a car in the order of its route.

    Attributes:
        first: (W, A + 1) rows of car i of world w are ``first[w, i] <= row < first[w, i + 1]``.
        row: (N,) of :data:`AREA`.
        order: (W, A) place of a car in the natural order of names.
        rec_s: (W, A, L) arc length of the recorded position on the own route; NaN where absent.
    """

    first: IntArray
    row: AnyArray
    order: IntArray
    rec_s: FloatArray


class Waiting(NamedTuple):
    """What cars remember about giving way.

    Attributes:
        car: (W, A) of :data:`CAR`.
        claim: (N,) of :data:`CLAIM`, one per row of the areas.
    """

    car: AnyArray
    claim: AnyArray


def nobody_waits(areas: Areas) -> Waiting:
    """What cars remember before the first tick."""
    car, claim = np.zeros(areas.order.shape, dtype=CAR), np.zeros(areas.row.size, dtype=CLAIM)
    car["s"] = np.nan
    car["lead_at"] = car["line"] = np.inf
    car["leader"] = car["freed_tick"] = -1
    claim["stopped"] = -1.0
    return Waiting(car=car, claim=claim)


@njit(cache=True, nogil=True)
def note_waiting(
    areas: Areas, own: Waiting, w: int, present: BoolArray, now: FloatArray, size: FloatArray, tick: int
) -> None:
    """Note who waits, before anybody decides.

    Args:
        areas: of the batch.
        own: is updated; ``s`` of the world's cars must be that before the tick.
        w: world.
        present: (n,) who is there.
        now: (n, 5) x, y, speed, cosine and sine of the heading.
        size: (n, 2) length and width [m].
        tick: of the world.
    """
    for i in range(present.size):
        car = own.car[w, i]
        held = False
        stands = present[i] and now[i, 2] < STANDING_MPS
        for row in range(areas.first[w, i], areas.first[w, i + 1]):
            area, claim = areas.row[row], own.claim[row]
            if not present[i]:
                claim.holds = False
            held = held or claim.holds
            front = car.s + 0.5 * size[i, 0]
            if claim.freed and front - size[i, 0] >= area.own_out:
                claim.freed = False
            if claim.stopped >= 0.0:
                claim.stopped += DT_S
            elif stands and abs(area.hold_at - front) <= AT_LINE_M:
                claim.stopped = 0.0
        car.held = held or car.leader >= 0
        car.stood = car.stood + DT_S if stands else 0.0
        if not held:
            car.waited = 0.0
        elif stands:
            car.waited += DT_S
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
            j = areas.row[row].other
            if own.claim[row].holds and present[j] and now[j, 2] < STANDING_MPS:
                start[edges] = i
                end[edges] = j
                edges += 1
        if own.car[w, i].leader >= 0:
            start[edges] = i
            end[edges] = own.car[w, i].leader
            edges += 1
    member = np.zeros(n, dtype=np.bool_)
    if edges > 1:
        on_cycles(start[:edges], end[:edges], n, member)
    for i in range(n):
        own.car[w, i].locked = own.car[w, i].locked + DT_S if member[i] else 0.0
    for i in range(n):
        if member[i] and own.car[w, i].locked >= DEADLOCK_S - 1e-9:
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
        if not circle[i] or own.car[w, i].leader >= 0:
            continue
        longer = chosen < 0 or own.car[w, i].stood > own.car[w, chosen].stood + 1e-9
        as_long = chosen >= 0 and abs(own.car[w, i].stood - own.car[w, chosen].stood) <= 1e-9
        if longer or (as_long and areas.order[w, i] < areas.order[w, chosen]):
            chosen = i
    for i in range(n):
        if circle[i]:
            own.car[w, i].locked = 0.0
    if chosen >= 0:
        own.car[w, chosen].freed_tick = tick
        own.car[w, chosen].num_freed += 1
        for row in range(areas.first[w, chosen], areas.first[w, chosen + 1]):
            if circle[areas.row[row].other]:
                own.claim[row].freed = True


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
    car, v, length = own.car[w, i], now[i, 2], size[i, 0]
    front = car.s + 0.5 * length
    margin = first_margin(car.waited)
    line = math.inf
    for row in range(areas.first[w, i], areas.first[w, i + 1]):
        area, claim = areas.row[row], own.claim[row]
        j = area.other
        claim.holds = False
        distance = area.own_in - front
        if distance > LOOK_M:
            continue  # not a break: all rows beyond must forget that they held
        if not present[j] or math.isnan(own.car[w, j].s) or car.s - 0.5 * length >= area.own_out:
            claim.granted = False
            continue
        if is_committed(v, distance):
            continue
        if _must_hold(
            area, claim, own.claim[area.mirror], areas.row[area.mirror], car, own.car[w, j],
            areas.order[w, i] < areas.order[w, j], v, now[j, 2], length, size[j, 0], obeys[j], desired, gap,
            lead_speed, margin, p,
        ):  # fmt: skip
            claim.holds = True
            line = min(line, _line(area, front))
    car.line = line
    if line == math.inf:
        return math.inf
    for row in range(areas.first[w, i + 1] - 1, areas.first[w, i] - 1, -1):  # stand in no area that somebody needs
        area = areas.row[row]
        if area.own_in >= line or area.own_out <= line - length or is_committed(v, area.own_in - front):
            continue
        if present[area.other] and area.kind != MERGING and own.car[w, area.other].s < area.other_out:
            line = min(line, _line(area, front))
    car.line = line
    return hold_accel(v, desired, line - front, p)


@njit(cache=True, nogil=True)
def _line(area: Any, front: float) -> float:
    """Arc length where a front waits for an area: the stop line, if it is not passed, else 1 m before it."""
    return area.hold_at if area.hold_at - front >= -PASSED_LINE_M else area.own_in - HOLD_BEFORE_M


@njit(cache=True, nogil=True)
def _must_hold(
    area: Any,
    claim: Any,
    their_claim: Any,
    their_area: Any,
    car: Any,
    other: Any,
    before: bool,
    v: float,
    other_speed: float,
    length: float,
    other_length: float,
    obeys: bool,
    desired: float,
    gap: float,
    lead_speed: float,
    margin: float,
    p: IdmParameters,
) -> bool:
    """Whether a car holds before one area that it has not reached, for a car that is there.

    Args:
        area: of the car.
        claim: what it remembers about it.
        their_claim: what the other one does; anything for pedestrians.
        their_area: the same area seen from the other one; anything for pedestrians.
        car: what the car remembers.
        other: what the other one does.
        before: whether the car is before the other one in the order of names.
        v: speed of the car [m/s].
        other_speed: of the other one [m/s].
        length: of the car [m].
        other_length: of the other one [m].
        obeys: whether the other one follows these rules.
        desired, gap, lead_speed, p: see :func:`yield_accel`.
        margin: T_1 [s].
    """
    distance, to_end = area.own_in - car.s - 0.5 * length, area.own_out - car.s - 0.5 * length
    ahead = area.other_in - other.s - 0.5 * other_length
    to_leave = area.other_out - other.s + 0.5 * other_length
    if to_leave <= 0.0:
        return False
    if area.kind == WALKER:
        return walker_goes_first(ahead, other_speed)
    stays = other_speed < STANDING_MPS and (other.held or (not obeys and other.stood >= STAYS_S))
    v_j = 0.0 if stays else max(other_speed, CREEP_MPS)
    t_in, t_out = dash_time(distance, v, desired), dash_time(to_end + length, v, desired)
    in_j, out_j = cruise_time(ahead, v_j), cruise_time(to_leave, v_j)
    if area.rank == NEITHER and not stays:
        in_j = dash_time(ahead, v_j, max(desired, v_j))  # it may take the gap as well
    blocks = area.kind != MERGING and in_j < BLOCK_SOON_S
    if blocks and not leaves_room(gap, lead_speed, t_out, to_end, length, p.min_gap_m):
        return True
    entering = is_committed(other_speed, ahead)
    if claim.freed and not their_claim.freed:
        return entering and ahead <= 0.0 and t_in < out_j
    if entering and ahead <= 0.0 and other_speed < STANDING_MPS:
        return True
    if area.rank == ALL_WAY and not their_claim.freed:
        if entering:
            return t_in < out_j + SECOND_MARGIN_S
        if claim.stopped < 0.0:
            return True
        earlier = stopped_earlier(claim.stopped, their_claim.stopped, area.from_right, before)
        return not earlier and in_j < BLOCK_SOON_S
    if not their_claim.freed and _goes_before(area, their_area, distance, v, ahead, other_speed, before):
        return entering and t_in < out_j and in_j < t_out
    if car.locked > 0.0 and other.locked > 0.0:
        return True  # in a circle everybody is held by somebody: nobody may conclude from that that the other stays
    if claim.granted and keeps_grant(t_out, in_j, margin, v, distance):
        return False
    choice = gap_choice(t_in, t_out, in_j, out_j, margin)
    if choice == FIRST and area.kind == MERGING:
        space = ahead - v_j * t_in + (area.other_out - area.other_in) - (area.own_out - area.own_in) - length
        if in_j < math.inf and imposed_accel(v_j, space, dash_speed(t_in, v, desired), p) < -IMPOSED_DECEL_MPS2:
            choice = HOLD
    claim.granted = choice == FIRST
    return choice == HOLD


@njit(cache=True, nogil=True)
def _goes_before(area: Any, their_area: Any, distance: float, v: float, ahead: float, v_j: float, before: bool) -> bool:
    """Whether the own car has priority; where nothing says so, whoever arrives first, then comes from the right."""
    if area.rank != NEITHER:
        return area.rank == OWN_FIRST
    arrives, arrives_j = cruise_time(distance, max(v, SLOW_MPS)), cruise_time(ahead, max(v_j, SLOW_MPS))
    if abs(arrives - arrives_j) > SAME_TIME_S:
        return arrives < arrives_j
    return bool(their_area.from_right) if area.from_right != their_area.from_right else before
