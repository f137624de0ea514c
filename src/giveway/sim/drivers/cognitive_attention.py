"""Whom a mind looks at and thinks about: conflicts ahead, four slots, one partner.

A *conflict* is an area that the routes of two cars share; the mind of one of them sees the other through it. Numbers
are those of section 3.3 of the note on closed loops: a conflict is a candidate while neither has left it, the own car
is less than 8 s away and the windows in which both would pass lie less than 4 s apart.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from giveway.core.arrays import BoolArray, FloatArray, IntArray
from giveway.core.kernels import njit
from giveway.predictors.commotions.kernel import agents
from giveway.predictors.commotions.kernel.agents import FREE_SPEED, LOOK, OFF, OTHER, SLOTS, THINK, meet
from giveway.sim.compiling import compiled

NONE = -1
SLOWEST_MPS = 1.0  # speeds below count as this when windows are compared
EARLIER_S = 1.0  # by so much another conflict must come first to take the place of the partner
RUNNING = 2  # decisions in a row
DWELL = 3  # decisions a partner is kept at least, 0.6 s


class Snapshot(NamedTuple):
    """N cars (and pedestrians) at one instant.

    Attributes:
        s: (N,) place of the center along the own route [m].
        speed: (N,) [m/s].
        accel: (N,) of the tick before [m/s²].
        length: (N,) [m].
        jerk: (N,) control others expect of it: 1 jerk (cars), 0 speed (pedestrians).
        base_speed: (N,) speed of the site for its kind [m/s].
        present: (N,).
    """

    s: FloatArray
    speed: FloatArray
    accel: FloatArray
    length: FloatArray
    jerk: IntArray
    base_speed: FloatArray
    present: BoolArray


class Conflicts(NamedTuple):
    """K conflicts, those of a mind in rows ``first[m]`` to ``first[m + 1]``, sorted by the other car, then the own way.

    Attributes:
        first: (M + 1,).
        other: (K,) the other car.
        span: (K, 4) own entry and exit, entry and exit of the other: places along the two routes [m].
        priority: (K,) 1 the own car has the right of way, -1 the other, 0 nobody.
        merges: (K,) whether both go on along the same way.
        key: (K,) names of the random streams.
        waived: (K,) whether the mind thinks of it no more, to end a deadlock; changed in place.
    """

    first: IntArray
    other: IntArray
    span: FloatArray
    priority: NDArray[np.int8]
    merges: BoolArray
    key: NDArray[np.uint64]
    waived: BoolArray


class Attention(NamedTuple):
    """What M minds attend to; arrays are changed in place.

    Attributes:
        car: (M,) whose mind it is.
        conflict: (M, SLOTS) row of :class:`Conflicts`, NONE if the slot is free.
        candidate: (M, SLOTS) whether it is close enough to think about.
        entry_s: (M, SLOTS) own time to entry at constant speed [s].
        partner: (M,) slot, NONE without one.
        since: (M,) decision at which the partnership began.
        rival: (M,) conflict that was ahead of the partner's at the last decision.
        begins: (M,) whether the mind had no partner at the last decision and has one now.
    """

    car: IntArray
    conflict: IntArray
    candidate: BoolArray
    entry_s: FloatArray
    partner: IntArray
    since: IntArray
    rival: IntArray
    begins: BoolArray


def new_attention(car: IntArray) -> Attention:
    """Minds of these cars, attending to nobody."""
    num = len(car)
    return Attention(
        car=np.asarray(car, dtype=np.int64),
        conflict=np.full((num, SLOTS), NONE, dtype=np.int64),
        candidate=np.zeros((num, SLOTS), dtype=np.bool_),
        entry_s=np.full((num, SLOTS), np.inf),
        partner=np.full(num, NONE, dtype=np.int64),
        since=np.zeros(num, dtype=np.int64),
        rival=np.full(num, NONE, dtype=np.int64),
        begins=np.zeros(num, dtype=np.bool_),
    )


@njit(forceinline=True, _nrt=False)
def place(traffic: Any, car: int, enters: float, leaves: float) -> Any:
    """χ = s_c - s and c = (L + l)/2 of a car at an area of its route."""
    return 0.5 * (enters + leaves) - traffic.s[car], 0.5 * (leaves - enters + traffic.length[car])


@njit(forceinline=True, _nrt=False)
def open_to(traffic: Any, conflicts: Any, row: int, car: int) -> bool:
    """Whether both are there and neither has left the area."""
    other = conflicts.other[row]
    if not traffic.present[other]:
        return False
    span = conflicts.span[row]
    chi, c = place(traffic, car, span[0], span[1])
    other_chi, other_c = place(traffic, other, span[2], span[3])
    return chi > -c and other_chi > -other_c


@njit(forceinline=True, _nrt=False)
def nearness(traffic: Any, conflicts: Any, row: int, car: int) -> Any:
    """Own time to entry, and how far the windows of both lie apart (negative: they overlap); speeds at least 1 m/s."""
    span, other = conflicts.span[row], conflicts.other[row]
    chi, c = place(traffic, car, span[0], span[1])
    other_chi, other_c = place(traffic, other, span[2], span[3])
    v, other_v = max(traffic.speed[car], SLOWEST_MPS), max(traffic.speed[other], SLOWEST_MPS)
    t_in, other_in = max(chi - c, 0.0) / v, max(other_chi - other_c, 0.0) / other_v
    return t_in, max(t_in - (other_chi + other_c) / other_v, other_in - (chi + c) / v)


@njit(forceinline=True, _nrt=False)
def fill_scene(pairs: Any, pair: int, traffic: Any, conflicts: Any, row: int, car: int, decision: int) -> None:
    """Where both are, as the model wants it; free speeds stay."""
    span, other = conflicts.span[row], conflicts.other[row]
    scene = pairs.scene[pair]
    scene[0], scene[3] = place(traffic, car, span[0], span[1])
    scene[1], scene[2] = traffic.speed[car], traffic.accel[car]
    scene[OTHER], scene[OTHER + 3] = place(traffic, other, span[2], span[3])
    scene[OTHER + 1], scene[OTHER + 2] = traffic.speed[other], traffic.accel[other]
    pairs.counter[pair, 1] = np.uint32(decision)


@njit(forceinline=True, _nrt=False)
def slot_for(attention: Any, mind: int, entry_s: float) -> int:
    """A free slot, else the latest one that is no candidate, else the latest one if it comes after ``entry_s``."""
    best, worst = NONE, entry_s
    for slot in range(SLOTS):
        if attention.conflict[mind, slot] == NONE:
            return slot
        if slot != attention.partner[mind]:
            late = attention.entry_s[mind, slot] + (0.0 if attention.candidate[mind, slot] else 1e9)
            if late > worst:
                best, worst = slot, late
    return best


@njit(forceinline=True, _nrt=False)
def take_in(mind: int, traffic: Any, conflicts: Any, row: int, attention: Any, minds: Any, pairs: Any, table: Any,
            entry_s: float, decision: int) -> None:  # fmt: skip
    """See another car for the first time: give it a slot, if it deserves one, and the prior of the model."""
    slot = slot_for(attention, mind, entry_s)
    if slot == NONE:
        return
    car, other, pair = attention.car[mind], conflicts.other[row], mind * SLOTS + slot
    attention.conflict[mind, slot], attention.candidate[mind, slot] = row, True
    attention.entry_s[mind, slot] = entry_s
    share = table.v_free_rel[minds.theta[mind]]
    pairs.scene[pair, FREE_SPEED] = share * traffic.base_speed[car]
    pairs.scene[pair, OTHER + FREE_SPEED] = share * max(traffic.base_speed[other], traffic.speed[other])
    pairs.other_jerk[pair], pairs.priority[pair] = traffic.jerk[other], conflicts.priority[row]
    pairs.key[pair] = conflicts.key[row]
    fill_scene(pairs, pair, traffic, conflicts, row, car, decision)
    meet(pairs, pair, minds, table)


@njit(forceinline=True, _nrt=False)
def refresh(mind: int, traffic: Any, conflicts: Any, attention: Any, minds: Any, pairs: Any, table: Any, rules: Any,
            decision: int) -> None:  # fmt: skip
    """Bring the slots of a mind up to date: forget conflicts that are over, take in new candidates."""
    car = attention.car[mind]
    for slot in range(SLOTS):
        row = attention.conflict[mind, slot]
        if row != NONE and open_to(traffic, conflicts, row, car):
            t_in, apart = nearness(traffic, conflicts, row, car)
            attention.entry_s[mind, slot] = t_in
            near = t_in < rules.horizon_s and apart < rules.apart_s
            attention.candidate[mind, slot] = near and not conflicts.waived[row]
            fill_scene(pairs, mind * SLOTS + slot, traffic, conflicts, row, car, decision)
        else:
            attention.conflict[mind, slot], attention.candidate[mind, slot] = NONE, False
    done = NONE  # other car whose first open conflict was looked at
    for row in range(conflicts.first[mind], conflicts.first[mind + 1]):
        if conflicts.other[row] == done or not open_to(traffic, conflicts, row, car):
            continue
        done = conflicts.other[row]
        known = False
        for slot in range(SLOTS):
            known = known or attention.conflict[mind, slot] == row
        t_in, apart = nearness(traffic, conflicts, row, car)
        if not known and not conflicts.waived[row] and t_in < rules.horizon_s and apart < rules.apart_s:
            take_in(mind, traffic, conflicts, row, attention, minds, pairs, table, t_in, decision)


@njit(forceinline=True, _nrt=False)
def next_candidate(attention: Any, mind: int, besides: int) -> int:
    """The candidate with the earliest own entry (ties: the first conflict), other than slot ``besides``."""
    best = NONE
    for slot in range(SLOTS):
        if slot == besides or not attention.candidate[mind, slot]:
            continue
        if best == NONE or (attention.entry_s[mind, slot], attention.conflict[mind, slot]) < (
            attention.entry_s[mind, best],
            attention.conflict[mind, best],
        ):
            best = slot
    return best


@njit(forceinline=True, _nrt=False)
def choose_partner(mind: int, attention: Any, minds: Any, pairs: Any, rules: Any, decision: int) -> None:
    """The earliest candidate; another one only after 0.6 s, and if it was 1 s earlier at two decisions running."""
    partner, had = attention.partner[mind], attention.partner[mind] != NONE
    attention.begins[mind] = False
    if had and not attention.candidate[mind, partner]:
        partner = NONE
    best = next_candidate(attention, mind, NONE)
    if partner == NONE:
        if had or best != NONE:  # evidence about somebody else is worth nothing
            minds.value[mind] = 0.0
            pairs.belief[mind * SLOTS : (mind + 1) * SLOTS] = 0.0
        attention.begins[mind] = best != NONE and not had
        attention.partner[mind], attention.since[mind], attention.rival[mind] = best, decision, NONE
        return
    ahead = attention.entry_s[mind, best] <= attention.entry_s[mind, partner] - EARLIER_S
    if best == partner or not ahead or not rules.changes:
        attention.rival[mind] = NONE
    elif attention.rival[mind] != attention.conflict[mind, best]:
        attention.rival[mind] = attention.conflict[mind, best]
    elif decision - attention.since[mind] >= DWELL:
        attention.partner[mind], attention.since[mind], attention.rival[mind] = best, decision, NONE


@njit(forceinline=True, _nrt=False)
def set_tasks(mind: int, attention: Any, pairs: Any) -> None:
    """Filters of all slots run; thoughts go to the partner and at most one more."""
    partner = attention.partner[mind]
    second = next_candidate(attention, mind, partner) if partner != NONE else NONE
    for slot in range(SLOTS):
        pair = mind * SLOTS + slot
        pairs.task[pair] = LOOK if attention.conflict[mind, slot] != NONE else OFF
        if slot in (partner, second):
            pairs.task[pair] = THINK
        else:
            pairs.belief[pair] = 0.0


@compiled(agents)
def attend(
    active: Any, decision: Any, traffic: Any, conflicts: Any, attention: Any, minds: Any, pairs: Any, table: Any,
    rules: Any,
) -> None:  # fmt: skip
    """Candidates, filters' slots, partners and tasks of all minds that decide now.

    Args:
        active: (M,) who decides.
        decision: (M,) decisions since the start of the case.
        traffic: everybody, before the tick.
        conflicts: of every mind.
        attention: changed.
        minds: evidence is cleared when a partner is gone.
        pairs: changed.
        table: parameters.
        rules: see ``cognitive_control.Rules``.
    """
    for mind in range(len(active)):
        if not active[mind]:
            pairs.task[mind * SLOTS : (mind + 1) * SLOTS] = OFF
            continue
        refresh(mind, traffic, conflicts, attention, minds, pairs, table, rules, decision[mind])
        choose_partner(mind, attention, minds, pairs, rules, decision[mind])
        set_tasks(mind, attention, pairs)
