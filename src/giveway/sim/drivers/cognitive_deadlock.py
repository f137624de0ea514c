"""Minds that wait for each other: a circle of standing cars that lasts for 2 s is resolved by letting one of them go.

As among cars that yield by rule, the one that has stood longest goes (ties: the first in the natural order of names);
it thinks of the others of its circle no more until it has cleared their areas. Somebody without a mind who stands, and
whom a standing mind waits for, makes a circle of its own: he cannot be told to go.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from giveway.core.arrays import BoolArray, IntArray
from giveway.core.kernels import njit
from giveway.planning.right_of_way import DEADLOCK_S, STANDING_MPS
from giveway.sim.compiling import compiled
from giveway.sim.drivers import cognitive_attention
from giveway.sim.drivers.cognitive_attention import NONE

DECISIONS = round(DEADLOCK_S / 0.2)
LONGEST = 32  # minds of a circle that are followed


class Standing(NamedTuple):
    """How long M minds have been standing; arrays are changed in place.

    Attributes:
        mind_of: (N,) mind of each car, NONE without one.
        order: (M,) place in the natural order of names.
        stood: (M,) decisions for which the car has stood.
        locked: (M,) decisions for which it has been part of a circle.
        freed: (M,) whether it was let go at this decision.
    """

    mind_of: IntArray
    order: IntArray
    stood: IntArray
    locked: IntArray
    freed: BoolArray


def nobody_stands(car: IntArray, order: IntArray) -> Standing:
    """Minds of these cars before their first decision."""
    mind_of = np.full(int(car.max(initial=-1)) + 1, NONE, dtype=np.int64)
    mind_of[car] = np.arange(len(car))
    return Standing(
        mind_of=mind_of,
        order=np.asarray(order, dtype=np.int64),
        stood=np.zeros(len(car), dtype=np.int64),
        locked=np.zeros(len(car), dtype=np.int64),
        freed=np.zeros(len(car), dtype=np.bool_),
    )


@njit(forceinline=True, _nrt=False)
def awaited(mind: int, seen: Any, conflicts: Any, attention: Any) -> int:
    """Car that a standing mind waits for and that stands as well; NONE if there is none."""
    slot = attention.partner[mind]
    if slot == NONE or seen.speed[attention.car[mind]] >= STANDING_MPS:
        return NONE
    other = conflicts.other[attention.conflict[mind, slot]]
    return other if seen.speed[other] < STANDING_MPS else NONE


@njit(forceinline=True, _nrt=False)
def next_mind(mind: int, seen: Any, conflicts: Any, attention: Any, standing: Any) -> int:
    """Mind that a mind waits for; itself if that car has none, NONE if it waits for nobody."""
    other = awaited(mind, seen, conflicts, attention)
    if other == NONE:
        return NONE
    found = standing.mind_of[other] if other < len(standing.mind_of) else NONE
    return mind if found == NONE else found


@njit(forceinline=True, _nrt=False)
def circle_size(mind: int, seen: Any, conflicts: Any, attention: Any, standing: Any) -> int:
    """Minds in the circle that a mind is part of; 0 if it is part of none."""
    at = mind
    for size in range(1, LONGEST + 1):
        at = next_mind(at, seen, conflicts, attention, standing)
        if at == NONE:
            return 0
        if at == mind:
            return size
    return 0


@njit(forceinline=True, _nrt=False)
def let_go(mind: int, size: int, seen: Any, conflicts: Any, attention: Any, standing: Any) -> None:
    """Free the longest standing mind of a circle; its members start anew."""
    chosen, at = mind, mind
    for _ in range(size):
        at = next_mind(at, seen, conflicts, attention, standing)
        standing.locked[at] = 0
        longer = standing.stood[at] > standing.stood[chosen]
        if longer or (standing.stood[at] == standing.stood[chosen] and standing.order[at] < standing.order[chosen]):
            chosen = at
    standing.freed[chosen] = True
    for row in range(conflicts.first[chosen], conflicts.first[chosen + 1]):
        other = conflicts.other[row]
        conflicts.waived[row] = conflicts.waived[row] or other == awaited(chosen, seen, conflicts, attention)
        at = mind
        for _ in range(size):
            at = next_mind(at, seen, conflicts, attention, standing)
            conflicts.waived[row] = conflicts.waived[row] or other == attention.car[at]


@compiled(cognitive_attention)
def resolve(active: Any, seen: Any, conflicts: Any, attention: Any, standing: Any) -> bool:
    """Note who stands and waits for whom, from the partners of the last decision; whether anybody was let go."""
    freed = False
    for mind in range(len(active)):
        standing.freed[mind] = False
        if not active[mind]:
            continue
        stands = seen.speed[attention.car[mind]] < STANDING_MPS
        standing.stood[mind] = standing.stood[mind] + 1 if stands else 0
        size = circle_size(mind, seen, conflicts, attention, standing) if stands else 0
        standing.locked[mind] = standing.locked[mind] + 1 if size > 0 else 0
    for mind in range(len(active)):
        if active[mind] and standing.locked[mind] > DECISIONS:
            size = circle_size(mind, seen, conflicts, attention, standing)
            if size > 0:
                let_go(mind, size, seen, conflicts, attention, standing)
                freed = True
    return freed
