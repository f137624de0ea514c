"""Would a careful driver have avoided it? The last seconds again, with everybody else on replay; compiled.

The reference driver of UN Regulation No. 157 drives as the ego did until it notices a car that leaves its place in the
lane by more than 0.375 m towards the own corridor, brakes by 5 m/s^2 or more ahead, or would be reached within 2 s. It
takes 0.4 s to evaluate that, and once the time to collision is below 2 s (of a car that brakes: the headway) another
0.75 s to move its foot. Then it brakes with 0.774 g, reached within 0.6 s, until it is no longer faster. ``careful+``
is our second model: it also sees a risk if not running into the car would need more than 3 m/s^2 after the reaction,
because with 2 s alone the reference driver runs into a standing queue at 45 km/h.

Reference:
    UN Regulation No. 157 (automated lane keeping), guidance on disturbances that are critical to traffic, performance
    model of a competent and careful driver; the order of perception, criticality and reaction as in the reference
    driver of the simulator esmini, without its emergency braking and without the drag of a released pedal.
"""

from __future__ import annotations

import math

import numpy as np

from giveway.core._box_kernels import fill_row, pair_overlaps  # pyright: ignore[reportUnknownVariableType]
from giveway.core.arrays import BoolArray, FloatArray, IntArray
from giveway.core.kernels import njit
from giveway.sim.rss import place

WANDER_M = 0.375
RISK_TTC_S = 2.0
RISK_HEADWAY_S = 2.0
EVALUATION_S = 0.4
REACTION_S = EVALUATION_S + 0.75
BRAKE_MPS2 = 0.774 * 9.81
RAMP_S = 0.6
"""From no braking to all of it: 12.65 m/s^3."""

LOOK_BACK_S = 4.0
AFTER_S = 2.0
"""The others go straight on for this long after the contact, so that a crash that is merely later is still a crash."""

HARD_BRAKE_MPS2 = 5.0
COMFORT_MPS2 = 3.0
NOTICED_MPS2 = 1.0
DRIFT_MPS = 0.1
X, Y, HEADING, VX, VY = range(5)


@njit(cache=True, nogil=True)
def braked(speed_mps: float, time_s: float) -> tuple[float, float]:
    """Way [m] and speed [m/s] of the careful driver, a time after the beginning of the risk.

    v for 1.15 s, then braking that grows evenly to 0.774 g within 0.6 s, until it stands.
    """
    late = time_s - REACTION_S
    if late <= 0.0:
        return speed_mps * time_s, speed_mps
    way, jerk = speed_mps * REACTION_S, BRAKE_MPS2 / RAMP_S
    ramp = min(late, RAMP_S, math.sqrt(2.0 * speed_mps / jerk))
    way += speed_mps * ramp - jerk * ramp * ramp * ramp / 6.0
    speed = max(speed_mps - 0.5 * jerk * ramp * ramp, 0.0)
    rest = min(max(late - RAMP_S, 0.0), speed / BRAKE_MPS2)
    return way + speed * rest - 0.5 * BRAKE_MPS2 * rest * rest, max(speed - BRAKE_MPS2 * rest, 0.0)


@njit(cache=True, nogil=True)
def _needed(gap: float, speed: float, lead: float, lead_brakes: float) -> float:
    """Braking that keeps clear of a car ahead after the reaction, if it goes on as it does (also braking) [m/s^2]."""
    if lead_brakes > NOTICED_MPS2:
        room = gap - speed * REACTION_S + lead * lead / (2.0 * lead_brakes)
        return speed * speed / (2.0 * room) if room > 0.1 else math.inf
    closing = speed - lead
    if closing <= 0.0:
        return 0.0
    room = gap - closing * REACTION_S
    return closing * closing / (2.0 * room) if room > 0.1 else math.inf


@njit(cache=True, nogil=True)
def _risk(
    own: FloatArray, speed: float, car: FloatArray, box: FloatArray, brakes: float, wandered: float, plus: bool
) -> tuple[bool, bool, bool]:
    """Whether the careful driver notices a car, whether that is critical, and whether it is in its way and slower.

    Args:
        own: (7,) box of the careful driver.
        speed: its speed [m/s].
        car: (5,) state of the other car.
        box: (7,) its box.
        brakes: how much it brakes [m/s^2].
        wandered: how far it is from its place in the lane [m].
        plus: with the rule of 3 m/s^2.
    """
    cos, sin = own[2], own[3]
    dx, dy = box[0] - own[0], box[1] - own[1]
    along, across = dx * cos + dy * sin, dy * cos - dx * sin
    same, turned = abs(cos * box[2] + sin * box[3]), abs(cos * box[3] - sin * box[2])
    gap = along - own[4] - box[4] * same - box[5] * turned
    beside = abs(across) - own[5] - box[4] * turned - box[5] * same
    lead = car[VX] * cos + car[VY] * sin
    sideways = car[VY] * cos - car[VX] * sin
    nearing = -sideways if across > 0.0 else sideways
    comes = wandered > WANDER_M and nearing > DRIFT_MPS
    if along <= 0.0 or (beside > 0.0 and not comes):
        return False, False, False
    closing = speed - lead
    critical = gap < closing * RISK_TTC_S or (plus and _needed(gap, speed, lead, brakes) > COMFORT_MPS2)
    if beside <= 0.0 and brakes >= HARD_BRAKE_MPS2 and gap < speed * RISK_HEADWAY_S:
        critical = True
    return comes or critical, critical, closing > 0.0


@njit(cache=True, nogil=True)
def _at(states: FloatArray, on: BoolArray, j: int, k: int, dt: float, out: FloatArray) -> bool:
    """Write the replayed (or, after the last tick, straight on) state of car j; False if it is not there."""
    known = min(k, states.shape[1] - 1)
    if not on[j, known]:
        return False
    out[:] = states[j, known]
    out[X] += (k - known) * dt * out[VX]
    out[Y] += (k - known) * dt * out[VY]
    return True


@njit(cache=True, nogil=True)
def could_avoid(
    path: FloatArray, start_s: float, states: FloatArray, on: BoolArray, size: FloatArray, dt: float, plus: bool
) -> bool:
    """Drive a clip again as a careful driver; whether it touches nobody.

    Cars that run into the careful driver from behind do not count: they are on replay and would have reacted.

    Args:
        path: (P, 5) line that the ego follows; see :func:`giveway.sim.lines.line_through`. Continued straight.
        start_s: arc length of the ego at the first tick.
        states: (A, n, 5) x, y, heading, vx, vy, row 0 the ego; the last tick is the contact.
        on: (A, n) who is there.
        size: (A, 2) [m], as contacts are tested.
        dt: length of a tick [s].
        plus: with the rule of 3 m/s^2 (``careful+``).
    """
    agents, n = on.shape
    own, box, car, before = np.empty(7), np.empty(7), np.empty(5), np.empty(5)
    behind = np.zeros(agents, dtype=np.bool_)
    home, rows = _homes(path, states, on)
    step = path[1, 4] - path[0, 4]
    s, speed = start_s, math.hypot(states[0, 0, VX], states[0, 0, VY])
    noticed = np.full(agents, -1, dtype=np.int64)
    since, risk_s, risk_speed, skipped, reacted = -1, 0.0, 0.0, 0.0, False
    for k in range(n + round(AFTER_S / dt)):
        row = min(max(int((s - path[0, 4]) / step + 0.5), 0), path.shape[0] - 1)
        late, cos, sin = s - path[row, 4], path[row, 2], path[row, 3]
        fill_row(
            path[row, 0] + late * cos, path[row, 1] + late * sin, cos, sin, 0.5 * size[0, 0], 0.5 * size[0, 1], own
        )
        reacts, goes_on = False, False
        for j in range(1, agents):
            if not _at(states, on, j, k, dt, car):
                continue
            fill_row(
                car[X], car[Y], math.cos(car[HEADING]), math.sin(car[HEADING]), 0.5 * size[j, 0], 0.5 * size[j, 1], box
            )
            reach = own[4] + own[5] + box[4] + box[5]
            if (box[0] - own[0]) ** 2 + (box[1] - own[1]) ** 2 < reach * reach and pair_overlaps(own, box):
                if not behind[j]:
                    return False
                continue
            behind[j] = (box[0] - own[0]) * cos + (box[1] - own[1]) * sin < -own[4]
            brakes = 0.0
            if k < n and _at(states, on, j, max(k - 1, 0), dt, before):
                brakes = (math.hypot(before[VX], before[VY]) - math.hypot(car[VX], car[VY])) / dt
            rows[j], _, offset = place(path, car[X], car[Y], rows[j])
            sees, critical, slower = _risk(own, speed, car, box, brakes, abs(offset - home[j]), plus)
            if not (sees or slower):
                noticed[j] = -1
            elif sees and noticed[j] < 0:
                noticed[j] = k
            evaluated = noticed[j] >= 0 and (k - noticed[j]) * dt >= EVALUATION_S - 1e-9
            reacts = reacts or (critical and evaluated)
            goes_on = goes_on or critical or slower
        if since < 0 and reacts:
            # The profile of braking counts from the beginning of the evaluation, which is over.
            since, risk_s, risk_speed, skipped = k, s, speed, REACTION_S if reacted else EVALUATION_S
        elif not goes_on:
            since = -1
        if since >= 0:
            time = (k + 1 - since) * dt + skipped
            way, speed = braked(risk_speed, time)
            s = risk_s + way - skipped * risk_speed
            reacted = reacted or time > REACTION_S
        else:
            known = min(k + 1, n - 1)
            new = math.hypot(states[0, known, VX], states[0, known, VY])
            new = min(new, speed) if reacted else new  # once it has braked it keeps its speed
            s += 0.5 * (speed + new) * dt
            speed = new
    return True


@njit(cache=True, nogil=True)
def _homes(path: FloatArray, states: FloatArray, on: BoolArray) -> tuple[FloatArray, IntArray]:
    """(A,) offset of each car from a path when it was first seen [m], and the row of the path next to it."""
    home, rows = np.zeros(on.shape[0]), np.zeros(on.shape[0], dtype=np.int64)
    for j in range(on.shape[0]):
        for k in range(on.shape[1]):
            if on[j, k]:
                best = np.inf
                for p in range(path.shape[0]):
                    far = (path[p, 0] - states[j, k, X]) ** 2 + (path[p, 1] - states[j, k, Y]) ** 2
                    if far < best:
                        best, rows[j] = far, p
                _, _, home[j] = place(path, states[j, k, X], states[j, k, Y], rows[j])
                break
    return home, rows
