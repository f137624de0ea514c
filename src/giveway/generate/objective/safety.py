"""Safe gaps, time to collision, and the ways out that an ego still has; compiled."""

from __future__ import annotations

import math

import numpy as np

from giveway.core.arrays import AnyArray, BoolArray, FloatArray
from giveway.core.kernels import njit
from giveway.roads.tables import RoadTables
from giveway.sim.bicycle import HEADING, SPEED, X, Y
from giveway.sim.contacts import boxes_touch
from giveway.sim.rss import Law, d_lon

LAW = Law()

FAN_MPS2 = (-6.0, -3.0, 0.0, 1.5, 3.0)
FAN_S = 3.0
FAN_CHECKS = 12

IN_LINE_RAD = 0.8
"""Cars that head apart by more than this are not one behind the other."""
IN_LINE_COS = math.cos(IN_LINE_RAD)


@njit(nogil=True)
def in_line(
    a: FloatArray, b: FloatArray, a_size: FloatArray, b_size: FloatArray, cos: float, sin: float
) -> tuple[bool, float, float]:
    """Whether two cars (states) are one behind the other, the bumper gap seen from a (positive: b is ahead of a).

    Args:
        a: state of a car.
        b: state of another one.
        a_size: length and width [m].
        b_size: length and width [m].
        cos: of the heading of a.
        sin: of the heading of a.

    Returns:
        (in line, signed gap [m], speed of b along a's heading [m/s]); (False, 0, 0) for cars far beside each other.
    """
    dx, dy = b[X] - a[X], b[Y] - a[Y]
    along, across = dx * cos + dy * sin, dy * cos - dx * sin
    if abs(across) > 0.5 * (a_size[1] + b_size[0] + b_size[1]):
        return False, 0.0, 0.0  # whatever their headings are
    turn = b[HEADING] - a[HEADING]
    c = math.cos(turn)
    same, turned = abs(c), abs(math.sin(turn))
    beside = abs(across) - 0.5 * (a_size[1] + b_size[0] * turned + b_size[1] * same)
    gap = abs(along) - 0.5 * (a_size[0] + b_size[0] * same + b_size[1] * turned)
    lined = beside < 0.0 and c > IN_LINE_COS and gap > -1.0
    return lined, gap if along >= 0.0 else -gap - 1e-9, b[SPEED] * c


@njit(nogil=True)
def update_culpable(
    state: FloatArray,
    lane: FloatArray,
    present: BoolArray,
    size: FloatArray,
    culpable: AnyArray,
    inline: BoolArray,
) -> None:
    """Who caused which unsafe gap of one world.

    When two cars become unsafe, the one that moved sideways into the other's line is culpable if they were not in
    line one step ago, otherwise the rear one, which has closed in. It stays so until the gap is safe again.
    """
    n = state.shape[0]
    for i in range(n):
        cos, sin = math.cos(state[i, HEADING]), math.sin(state[i, HEADING])
        for j in range(i + 1, n):
            if not (present[i] and present[j]):
                culpable[i, j] = 0
                inline[i, j] = False
                continue
            dx, dy = state[j, X] - state[i, X], state[j, Y] - state[i, Y]
            if dx * dx + dy * dy > 3600.0:
                culpable[i, j] = 0
                inline[i, j] = False
                continue
            lined, gap, _ = in_line(state[i], state[j], size[i], size[j], cos, sin)
            i_rear = gap > 0.0
            rear, front = (i, j) if i_rear else (j, i)
            unsafe = lined and abs(gap) < d_lon(state[rear, SPEED], state[front, SPEED], LAW)
            if not unsafe:
                culpable[i, j] = 0
            elif culpable[i, j] == 0:
                if inline[i, j]:
                    guilty = rear
                else:
                    side_i = abs(state[i, SPEED] * math.sin(lane[i, 2]))
                    side_j = abs(state[j, SPEED] * math.sin(lane[j, 2]))
                    guilty = i if side_i > side_j else j
                    if max(side_i, side_j) < 0.05:
                        guilty = rear
                culpable[i, j] = 1 if guilty == i else 2
            inline[i, j] = lined


@njit(nogil=True)
def look_ahead(state: FloatArray, present: BoolArray, size: FloatArray, i: int) -> tuple[float, int, float, float]:
    """Time to collision [s] with, index of, gap [m] and time headway [s] to the next car in line ahead of car i.

    (inf, -1, inf, inf) if there is none within 60 m; the time to collision is inf if the gap does not close.
    """
    best_gap, best, lead = 60.0, -1, 0.0
    cos, sin = math.cos(state[i, HEADING]), math.sin(state[i, HEADING])
    for j in range(state.shape[0]):
        if j == i or not present[j]:
            continue
        dx, dy = state[j, X] - state[i, X], state[j, Y] - state[i, Y]
        if dx * dx + dy * dy > 4900.0:
            continue
        lined, gap, speed = in_line(state[i], state[j], size[i], size[j], cos, sin)
        if lined and gap > 0.0 and gap < best_gap:
            best_gap, best, lead = gap, j, speed
    if best < 0:
        return math.inf, -1, math.inf, math.inf
    closing = state[i, SPEED] - lead
    ttc = best_gap / closing if closing > 0.0 else math.inf
    return ttc, best, best_gap, best_gap / max(state[i, SPEED], 0.1)


@njit(nogil=True)
def _way_on(speed: float, accel: float, ahead: float, top: float) -> float:
    """Way [m] in a time with a constant acceleration, until standing or the top speed and then on."""
    until = ahead
    if accel < 0.0:
        until = min(ahead, -speed / accel)
    elif accel > 0.0:
        until = min(ahead, max(top - speed, 0.0) / accel)
    way = speed * until + 0.5 * accel * until * until
    if accel >= 0.0:
        way += (speed + accel * until) * (ahead - until)
    return way


@njit(nogil=True)
def escape_ratio(
    road: RoadTables,
    way: int,
    row: int,
    s: float,
    d: float,
    state: FloatArray,
    present: BoolArray,
    size: FloatArray,
    boxes: FloatArray,
) -> float:
    """Share of a fixed fan of ego manoeuvres that touch nobody.

    Five accelerations x {keep, one lane to the left, one to the right}, 3 s, looked at every 0.25 s, the others
    straight on at constant speed. Manoeuvres into a lane that does not exist are left out of the count, so that an
    empty road gives 1 anywhere.

    Args:
        road: tables.
        way: of the ego.
        row: of the ego.
        s: of the ego [m].
        d: of the ego [m].
        state: (n, 6) of the world, row 0 the ego.
        present: (n,).
        size: (n, 2) [m].
        boxes: (12, n, 7) scratch.
    """
    n = state.shape[0]
    others = 0
    top = 1.2 * road.limit
    speed = state[0, SPEED]
    for j in range(1, n):
        if not present[j]:
            continue
        dx, dy = state[j, X] - state[0, X], state[j, Y] - state[0, Y]
        reach = 12.0 + FAN_S * (state[j, SPEED] + max(speed, top))
        if dx * dx + dy * dy > reach * reach:
            continue
        cos, sin = math.cos(state[j, HEADING]), math.sin(state[j, HEADING])
        for t in range(FAN_CHECKS):
            ahead = (t + 1) * FAN_S / FAN_CHECKS * state[j, SPEED]
            boxes[t, others, 0] = state[j, X] + ahead * cos
            boxes[t, others, 1] = state[j, Y] + ahead * sin
            boxes[t, others, 2], boxes[t, others, 3] = cos, sin
            boxes[t, others, 4], boxes[t, others, 5] = 0.5 * size[j, 0], 0.5 * size[j, 1]
            boxes[t, others, 6] = 0.0
        others += 1
    if others == 0:
        return 1.0
    own = boxes[0, n - 1]  # the ego has no row there
    own[4], own[5], own[6] = 0.5 * size[0, 0], 0.5 * size[0, 1], 0.0
    half = own[4] + own[5]
    first, last = road.first[way], road.num_rows[way] - 1
    path, step = road.path, float(road.step[way])
    at = first + row
    # Poses on the middle of the way are the same for all sides: five accelerations x twelve times.
    middle = np.empty((len(FAN_MPS2) * FAN_CHECKS, 4))
    row = 0
    for accel in FAN_MPS2:
        for t in range(FAN_CHECKS):
            here = s + _way_on(speed, accel, (t + 1) * FAN_S / FAN_CHECKS, top)
            near = min(max(int(here / step + 0.5), 0), last)
            cos, sin = path[first + near, 2], path[first + near, 3]
            along = here - step * near
            middle[row, 0] = path[first + near, 0] + along * cos
            middle[row, 1] = path[first + near, 1] + along * sin
            middle[row, 2], middle[row, 3] = cos, sin
            row += 1
    tried = 0
    free = 0
    for side in range(3):
        if (side == 1 and road.left[at] < 0) or (side == 2 and road.right[at] < 0):
            continue
        shift = 0.0 if side == 0 else (2.0 * road.half_width if side == 1 else -2.0 * road.half_width)
        for maneuver in range(len(FAN_MPS2)):
            tried += 1
            touched = False
            for t in range(FAN_CHECKS):
                u = (t + 1) * FAN_S / FAN_CHECKS / FAN_S
                beside = d + shift * u * u * (3.0 - 2.0 * u)
                pose = middle[maneuver * FAN_CHECKS + t]
                cos, sin = pose[2], pose[3]
                x, y = pose[0] - beside * sin, pose[1] + beside * cos
                for j in range(others):
                    dx, dy = boxes[t, j, 0] - x, boxes[t, j, 1] - y
                    reach = half + boxes[t, j, 4] + boxes[t, j, 5]
                    if dx * dx + dy * dy > reach * reach:
                        continue
                    own[0], own[1], own[2], own[3] = x, y, cos, sin
                    if boxes_touch(own, boxes[t, j]):
                        touched = True
                        break
                if touched:
                    break
            if not touched:
                free += 1
    return free / tried
