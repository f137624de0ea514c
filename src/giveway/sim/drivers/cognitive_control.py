"""From what a mind wants to what its car does: the car ahead, the guard, bounds, and driving without a partner."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from giveway.core.arrays import FloatArray
from giveway.core.kernels import njit
from giveway.planning import idm
from giveway.planning.idm import CLEAN, IdmParameters, idm_acceleration
from giveway.sim.compiling import compiled
from giveway.sim.drivers import cognitive_attention
from giveway.sim.drivers.cognitive_attention import NONE, open_to, place

FREE, FOLLOW, MIND, IDLE = range(4)
"""Regimes: nobody matters, the car ahead does, a partner does; not driving yet."""

DECISION_S = 0.2
CAPPED_MPS2 = 0.05  # by so much less than it wants, and a mind notices
HARD_MPS2 = 4.0  # braking below which the guard leaves it to the mind
SPARE_M = 0.2  # the guard stops so far before the area, for it brakes in steps and a stop at the edge may end inside


class Rules(NamedTuple):
    """How minds drive; the defaults are those of the driver.

    Attributes:
        low_mps2: lowest acceleration.
        high_mps2: highest.
        guard: brake hard before an area that the other will be in.
        changes: whether a mind may change its partner.
        resolves: let one go of those who wait for each other.
        horizon_s: own time to entry below which a conflict is a candidate.
        apart_s: distance of the windows of both below which it is.
        jump_mps3: limit of the jump between thinking and not thinking.
        idm: car following.
    """

    low_mps2: float = -8.0
    high_mps2: float = 3.0
    guard: bool = True
    changes: bool = True
    resolves: bool = True
    horizon_s: float = 8.0
    apart_s: float = 4.0
    jump_mps3: float = 10.0
    idm: IdmParameters = CLEAN


BARE = Rules(
    low_mps2=-math.inf,
    high_mps2=math.inf,
    guard=False,
    changes=False,
    resolves=False,
    horizon_s=math.inf,
    apart_s=math.inf,
)
"""The model alone: no bounds, no guard, everybody always a partner. To compare with simulated gaps."""


class Control(NamedTuple):
    """What M cars do; arrays are changed in place.

    Attributes:
        regime: (M,) FREE, FOLLOW, MIND or IDLE.
        accel: (M,) applied since the last decision [m/s²].
        wish: (M,) of the mind, or of free driving, before anything limits it [m/s²].
        follow: (M,) what the car ahead allows [m/s²], infinite without one.
        guard: (M,) what the guard demands [m/s²], infinite if it does nothing.
    """

    regime: NDArray[np.int8]
    accel: FloatArray
    wish: FloatArray
    follow: FloatArray
    guard: FloatArray


def new_control(num: int) -> Control:
    """Cars that do not drive yet."""
    return Control(
        regime=np.full(num, IDLE, dtype=np.int8),
        accel=np.zeros(num),
        wish=np.full(num, np.nan),
        follow=np.full(num, np.inf),
        guard=np.full(num, np.inf),
    )


class Ahead(NamedTuple):
    """The road ahead of M cars.

    Attributes:
        gap: (M,) to the car ahead, bumper to bumper, infinite without one [m].
        speed: (M,) of that car [m/s].
        free_speed: (M,) own free speed, v_free,rel times that of the site [m/s].
        limit: (M,) acceleration that curves and the like allow, infinite without them [m/s²].
    """

    gap: FloatArray
    speed: FloatArray
    free_speed: FloatArray
    limit: FloatArray


@njit(forceinline=True, _nrt=False)
def guarded(mind: int, traffic: Any, conflicts: Any, car: int) -> float:
    """Braking to stop before the next area that the other occupies now or will during the own passage.

    -v²/(2 d) with the distance d of the front to 0.2 m before the area, where that is 4 m/s² or more; infinite if
    nothing forces it.
    """
    v, demand = traffic.speed[car], math.inf
    for row in range(conflicts.first[mind], conflicts.first[mind + 1]):
        span, other = conflicts.span[row], conflicts.other[row]
        chi, c = place(traffic, car, span[0], span[1])
        front, room = chi - c, max(chi - c - SPARE_M, 0.01)
        if front <= 0.0 or v * v < 2.0 * HARD_MPS2 * room or not open_to(traffic, conflicts, row, car):
            continue
        other_chi, other_c = place(traffic, other, span[2], span[3])
        meets = abs(other_chi) < other_c
        if not meets and traffic.speed[other] > 0.0:
            enters, leaves = (other_chi - other_c) / traffic.speed[other], (other_chi + other_c) / traffic.speed[other]
            meets = enters < (chi + c) / v and leaves > front / v
        if meets:
            demand = min(demand, -v * v / (2.0 * room))
    return demand


@njit(forceinline=True, _nrt=False)
def smooth(wish: float, regime: int, before: int, accel: float, rules: Any) -> float:
    """Limit the jump between thinking and not thinking; what was before the first decision counts for nothing."""
    if before == IDLE or (before == MIND) == (regime == MIND):
        return wish
    jump = rules.jump_mps3 * DECISION_S
    return min(max(wish, accel - jump), accel + jump)


@njit(forceinline=True, _nrt=False)
def begin_plan(mind: int, attention: Any, minds: Any, control: Any) -> None:
    """A first partner: jerk control goes on with the present acceleration, control of speed with none."""
    if attention.begins[mind]:
        minds.plan[mind] = control.accel[mind] if minds.jerk[mind] else 0.0


def ride(speed: FloatArray, accel: FloatArray, tick: int) -> tuple[FloatArray, FloatArray]:
    """Way and speed of one of the two ticks of 0.1 s after a decision.

    Both ticks together are one step of the model, x = max(0, v δt + ½ a δt²), v ← max(0, v + a δt), also in the step
    that stops, where two steps of half the time would lead further. A mind has planned with that step: who comes to
    stand a millimeter beyond the margin D_s can no longer pass second, and sets off.

    Args:
        speed: at the decision [m/s].
        accel: held [m/s²].
        tick: 0 or 1.

    Returns:
        Way made in this tick [m], speed at its end [m/s].
    """
    half = 0.5 * DECISION_S
    whole = np.maximum(0.0, speed * DECISION_S + (0.5 * accel) * DECISION_S**2)
    early = np.minimum(np.maximum(0.0, speed * half + (0.5 * accel) * half**2), whole)
    return (whole - early if tick else early), np.maximum(0.0, speed + accel * (half * (tick + 1)))


@compiled(cognitive_attention)
def begin_plans(active: Any, attention: Any, minds: Any, control: Any) -> None:
    """:func:`begin_plan` for all who decide, between attending and thinking."""
    for mind in range(len(active)):
        if active[mind]:
            begin_plan(mind, attention, minds, control)


@compiled(cognitive_attention, idm)
def control_cars(
    active: Any, traffic: Any, conflicts: Any, attention: Any, minds: Any, ahead: Any, control: Any, rules: Any
) -> None:
    """Accelerations of all who decide now: a = min(a_mind or a_free, a_IDM of the car ahead, guard), within bounds.

    Where a mind is held back by more than 0.05 m/s², jerk control plans to go on with what is really done.
    """
    for mind in range(len(active)):
        if not active[mind]:
            continue
        car = attention.car[mind]
        v, free = traffic.speed[car], ahead.free_speed[mind]
        thinks = attention.partner[mind] != NONE
        wish = minds.accel[mind] if thinks else idm_acceleration(v, free, math.inf, 0.0, rules.idm)
        regime = MIND if thinks else FREE
        accel = smooth(wish, regime, control.regime[mind], control.accel[mind], rules)
        follow = math.inf
        if ahead.gap[mind] < math.inf:
            follow = idm_acceleration(v, free, ahead.gap[mind], ahead.speed[mind], rules.idm)
        guard = guarded(mind, traffic, conflicts, car) if rules.guard else math.inf
        if follow < accel and not thinks:
            regime = FOLLOW
        accel = min(min(accel, follow), min(guard, ahead.limit[mind]))
        accel = min(max(accel, rules.low_mps2), rules.high_mps2)
        if thinks and minds.jerk[mind] and accel < wish - CAPPED_MPS2:
            minds.plan[mind] = accel
        control.regime[mind], control.accel[mind], control.wish[mind] = regime, accel, wish
        control.follow[mind], control.guard[mind] = follow, guard
