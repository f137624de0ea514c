"""Giving way at an area that two routes share: gap acceptance, commitment, patience and deadlocks, over plain numbers.

A car i that must yield to j compares the times at which both would use the area. It goes *first* if it has left the
area T_1 before j arrives, *second* if j has left it T_2 before it arrives itself, and otherwise *holds*:

    first   <=>  t_out,i + T_1 <= t_in,j        merging: and a_IDM of j behind i at t_in,i >= -2.0 m/s^2
    second  <=>  t_in,i >= t_out,j + T_2
    hold:   IDM towards a standing obstacle at the stop line, else 1 m before the area

Its own times are those of a free dash, the other's those of constant speed.

Reference:
    Kesting, Treiber, Helbing (2007), General lane-changing model MOBIL, for the bound on the deceleration imposed on
    others; Treiber and Kesting, Traffic Flow Dynamics (2013), for the IDM. The thresholds are decisions of this
    project.
"""

from __future__ import annotations

import math

import numpy as np

from giveway.core.arrays import BoolArray, IntArray
from giveway.core.kernels import njit
from giveway.planning.idm import IdmParameters, idm_acceleration

HOLD, FIRST, SECOND = 0, 1, 2
"""Answers of :func:`gap_choice`."""

DASH_ACCEL_MPS2 = 1.5
"""Acceleration of a car that takes a gap."""

FIRST_MARGIN_S, IMPATIENT_MARGIN_S = 1.0, 0.3
"""T_1 of a car that has just come, and of one that has waited for long."""

PATIENT_S, IMPATIENT_S = 5.0, 20.0
"""T_1 falls between these waiting times."""

SECOND_MARGIN_S = 0.5
"""T_2."""

IMPOSED_DECEL_MPS2 = 2.0
"""A car merges first only if the one behind need not brake harder."""

COMMIT_DECEL_MPS2 = 4.0
"""A car that would have to brake harder goes on."""

REVOKE_DECEL_MPS2, REVOKE_MARGIN_S = 3.0, 0.5
"""A granted gap is given up only if braking takes at most this much, and T_1 is short by more than this."""

HOLD_GAP_M, HOLD_HEADWAY_S = 1.0, 0.5
"""s_0 and T of the IDM towards a place to wait."""

CREEP_MPS, STANDING_MPS = 0.5, 0.3
"""Speed that a car that stands, and that nothing holds, is taken to have; and below which a car stands."""

WALKER_NEAR_M, WALKER_SOON_S = 1.5, 3.0
"""A pedestrian this near to an area, or this soon there, goes first."""

SLOWEST_DESIRED_MPS = 3.0
"""Desired speed that another car is taken to have at least."""

DEADLOCK_S = 2.0
"""A cycle of cars that hold for each other is resolved after this time."""

SPAWN_DECEL_MPS2, SPAWN_PATIENCE_S = 4.0, 3.0
"""Nobody may have to brake harder for a car that appears; after this time it appears at the speed of its leader."""


@njit(cache=True, nogil=True)
def dash_time(distance: float, speed: float, desired: float) -> float:
    """Time of a free dash over a distance: t = (-v + sqrt(v^2 + 2 a x)) / a up to v_0, then at v_0 [s].

    A car faster than v_0 keeps its speed. 0 for a distance that is not positive.
    """
    if distance <= 0.0:
        return 0.0
    if speed >= desired:
        return distance / speed
    until = (desired * desired - speed * speed) / (2.0 * DASH_ACCEL_MPS2)
    if distance <= until:
        return (math.sqrt(speed * speed + 2.0 * DASH_ACCEL_MPS2 * distance) - speed) / DASH_ACCEL_MPS2
    return (desired - speed) / DASH_ACCEL_MPS2 + (distance - until) / desired


@njit(cache=True, nogil=True)
def dash_speed(time: float, speed: float, desired: float) -> float:
    """Speed of a free dash after a time [m/s]."""
    return max(speed, min(speed + DASH_ACCEL_MPS2 * time, desired))


@njit(cache=True, nogil=True)
def cruise_time(distance: float, speed: float) -> float:
    """Time over a distance at constant speed [s]; 0 if it is not positive, infinite for a car that stands."""
    if distance <= 0.0:
        return 0.0
    return distance / speed if speed > 0.0 else math.inf


@njit(cache=True, nogil=True)
def first_margin(waited: float) -> float:
    """T_1 after a waiting time: 1.0 s, from 5 s on falling, 0.3 s from 20 s on."""
    share = min(max((waited - PATIENT_S) / (IMPATIENT_S - PATIENT_S), 0.0), 1.0)
    return FIRST_MARGIN_S + share * (IMPATIENT_MARGIN_S - FIRST_MARGIN_S)


@njit(cache=True, nogil=True)
def gap_choice(t_in: float, t_out: float, other_in: float, other_out: float, margin: float) -> int:
    """FIRST, SECOND or HOLD of a car that must yield, from the times of both cars [s] and T_1."""
    if t_out + margin <= other_in:
        return FIRST
    if t_in >= other_out + SECOND_MARGIN_S:
        return SECOND
    return HOLD


@njit(cache=True, nogil=True)
def imposed_accel(speed: float, gap: float, other_speed: float, p: IdmParameters) -> float:
    """IDM acceleration of a car with speed v_j = v_0 behind one that merges ``gap`` before it [m/s^2]."""
    return idm_acceleration(speed, max(speed, SLOWEST_DESIRED_MPS), gap, other_speed, p)


@njit(cache=True, nogil=True)
def hold_accel(speed: float, desired: float, gap: float, p: IdmParameters) -> float:
    """IDM towards a standing obstacle ``gap`` before the front, with s_0 = 1 m and T = 0.5 s [m/s^2]."""
    near = IdmParameters(
        p.max_accel_mps2, p.comfort_decel_mps2, HOLD_GAP_M, HOLD_HEADWAY_S, p.exponent, p.max_decel_mps2, 0.0
    )
    return idm_acceleration(speed, desired, gap, 0.0, near)


@njit(cache=True, nogil=True)
def is_committed(speed: float, distance: float) -> bool:
    """Whether a car goes on: its front is inside, or it would have to brake harder than 4 m/s^2."""
    return distance <= 0.0 or speed * speed > 2.0 * COMMIT_DECEL_MPS2 * distance


@njit(cache=True, nogil=True)
def keeps_grant(t_out: float, other_in: float, margin: float, speed: float, distance: float) -> bool:
    """Whether a car that was granted to go first still may: unless T_1 is short by 0.5 s and it can stop easily."""
    enough = other_in - t_out >= margin - REVOKE_MARGIN_S
    return enough or speed * speed > 2.0 * REVOKE_DECEL_MPS2 * distance


@njit(cache=True, nogil=True)
def leaves_room(gap: float, lead_speed: float, t_out: float, to_end: float, length: float, min_gap: float) -> bool:
    """Whether the car ahead leaves room beyond an area for the own car by the time that it has crossed.

    Args:
        gap: bumper distance to the car ahead [m]; infinite without one.
        lead_speed: its speed [m/s].
        t_out: when the own rear leaves the area [s].
        to_end: from the own front to the end of the area [m].
        length: of the own car [m].
        min_gap: wanted between both cars [m].

    Returns:
        True also where the car ahead is not yet beyond the area: then it is followed.
    """
    if gap < to_end:
        return True
    return gap + lead_speed * t_out >= to_end + length + min_gap


@njit(cache=True, nogil=True)
def walker_goes_first(distance: float, speed: float) -> bool:
    """Whether a pedestrian at a distance from an area has priority: within 1.5 m, or there within 3 s."""
    return distance <= WALKER_NEAR_M or distance <= speed * WALKER_SOON_S


@njit(cache=True, nogil=True)
def stopped_earlier(since: float, other_since: float, other_from_right: bool, smaller_id: bool) -> bool:
    """Whether a car goes first at an all-way stop, by the time since both came to a stop [s]; -1 = not yet.

    Ties go to whoever comes from the right of the other, then to the smaller id.
    """
    if since < 0.0 or other_since < 0.0:
        return since >= 0.0
    if abs(since - other_since) > 1e-6:
        return since > other_since
    if other_from_right:
        return False
    return smaller_id


@njit(cache=True, nogil=True)
def on_cycles(start: IntArray, end: IntArray, count: int, out: BoolArray) -> None:
    """Nodes of a directed graph that lie on a cycle or between two cycles.

    Nodes without a way out, and nodes without a way in, are taken away until none is left to take.

    Args:
        start: (E,) node that an edge leaves.
        end: (E,) node that it leads to; edges with a negative one are ignored.
        count: number of nodes.
        out: (count,) is written.
    """
    has_out, has_in = np.empty(count, dtype=np.bool_), np.empty(count, dtype=np.bool_)
    out[:count] = True
    changed = True
    while changed:
        changed = False
        has_out[:] = False
        has_in[:] = False
        for e in range(start.size):
            if end[e] >= 0 and out[start[e]] and out[end[e]]:
                has_out[start[e]] = True
                has_in[end[e]] = True
        for n in range(count):
            if out[n] and not (has_out[n] and has_in[n]):
                out[n] = False
                changed = True


@njit(cache=True, nogil=True)
def may_appear(own_accel: float, follower_accel: float) -> bool:
    """Whether a car may appear: neither it nor the car behind would have to brake harder than 4 m/s^2."""
    return own_accel >= -SPAWN_DECEL_MPS2 and follower_accel >= -SPAWN_DECEL_MPS2
