"""Responsibility-sensitive safety of two cars: safe distances, and the interval of danger before a contact; compiled.

Two cars are in danger while both their longitudinal and their lateral gap are below the safe distance, in coordinates
along and across one line (a lane, or the path of one of them).

Reference:
    Shalev-Shwartz, Shammah, Shashua (2017), On a formal model of safe and scalable self-driving cars, arXiv 1708.06374.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.kernels import njit
from giveway.roads.route_tables import descend


class Law(NamedTuple):
    """Constants of responsibility; a NamedTuple because compiled code reads it.

    Attributes:
        response_s: time until a car responds, rho.
        accel_mps2: most that a car speeds up meanwhile, a.
        min_brake_mps2: least braking of a proper response, b_min.
        max_brake_mps2: most braking that a follower has to expect, b_max.
        lateral_accel_mps2: most lateral acceleration towards the other car meanwhile, a_l.
        lateral_brake_mps2: least lateral braking of a proper response, b_l.
        lateral_margin_m: smallest lateral distance, mu.
        speed_tolerance_mps: deviations of a speed up to this are no violation.
        accel_tolerance_mps2: deviations of an acceleration up to this are no violation.
        lane_width_m: where no road is known.
    """

    response_s: float = 0.5
    accel_mps2: float = 3.0
    min_brake_mps2: float = 4.0
    max_brake_mps2: float = 8.0
    lateral_accel_mps2: float = 0.2
    lateral_brake_mps2: float = 0.8
    lateral_margin_m: float = 0.0
    speed_tolerance_mps: float = 0.2
    accel_tolerance_mps2: float = 0.5
    lane_width_m: float = 3.5


LAWS = {"default": Law(), "ad_rss": Law(accel_mps2=3.5, response_s=1.0)}
"""Presets; ``ad_rss`` has the values with which the library of that name is delivered for CARLA."""

GAP_LON, GAP_LAT, NEED_LON, NEED_LAT, REAR, U0, U1, V0, V1, S0, S1, D0, D1, TURN0, TURN1 = range(15)
"""Columns of :func:`relate`; 0 and 1 are the two cars."""

COLUMNS = 15
ONCOMING_RAD = 0.75 * math.pi
"""Cars whose headings differ by more than this drive against each other."""

LATERAL_MPS = 0.1
"""Slower lateral motion does not name a conflict."""


@njit(cache=True, nogil=True)
def d_lon(rear_mps: float, front_mps: float, law: Law) -> float:
    """Longitudinal safe distance of two cars in one direction [m].

    d = [v_r rho + a rho^2 / 2 + (v_r + a rho)^2 / (2 b_min) - v_f^2 / (2 b_max)]_+  (lemma 2 of the reference).
    """
    return max(stopping(rear_mps, law) - front_mps * front_mps / (2.0 * law.max_brake_mps2), 0.0)


@njit(cache=True, nogil=True)
def stopping(speed_mps: float, law: Law) -> float:
    """Way D(v) = v rho + a rho^2 / 2 + (v + a rho)^2 / (2 b_min) until a car stands after a proper response [m]."""
    rho = law.response_s
    late = speed_mps + law.accel_mps2 * rho
    return speed_mps * rho + 0.5 * law.accel_mps2 * rho * rho + late * late / (2.0 * law.min_brake_mps2)


@njit(cache=True, nogil=True)
def _sideways(u: float, law: Law) -> float:
    """Lateral way of a proper response, S(u) = u rho + a_l rho^2 / 2 + sgn(w) w^2 / (2 b_l), w = u + a_l rho [m]."""
    rho = law.response_s
    late = u + law.lateral_accel_mps2 * rho
    return u * rho + 0.5 * law.lateral_accel_mps2 * rho * rho + late * abs(late) / (2.0 * law.lateral_brake_mps2)


@njit(cache=True, nogil=True)
def d_lat(u_one: float, u_two: float, law: Law) -> float:
    """Lateral safe distance mu + [S(u_1) + S(u_2)]_+ [m]; u are lateral speeds towards the other car (lemma 4)."""
    return law.lateral_margin_m + max(_sideways(u_one, law) + _sideways(u_two, law), 0.0)


@njit(cache=True, nogil=True)
def place(line: FloatArray, x: float, y: float, row: int) -> tuple[int, float, float]:
    """Row, arc length and offset to the left of a point next to a line (P, 5), walking from ``row``.

    Beyond the ends of the line it is continued straight.
    """
    at = descend(line, x, y, row)
    dx, dy = x - line[at, 0], y - line[at, 1]
    return at, line[at, 4] + line[at, 2] * dx + line[at, 3] * dy, line[at, 2] * dy - line[at, 3] * dx


@njit(cache=True, nogil=True)
def relate(line: FloatArray, state: FloatArray, size: FloatArray, law: Law) -> FloatArray:
    """Gaps and safe distances of two cars over n ticks, in coordinates along and across a line.

    Args:
        line: (P, 5) x, y, cosine, sine, arc length; see :func:`giveway.sim.lines.line_through`.
        state: (2, n, 5) x, y, heading, vx, vy of both cars.
        size: (2, 2) length and width [m].
        law: constants.

    Returns:
        (n, 15) see :data:`GAP_LON` ...: gaps and safe distances [m], which car is behind, speeds across (towards the
        other car) and along the line [m/s], arc length, offset and heading relative to the line. Boxes count with their
        extent along and across the line, so that turned ones are longer across.
    """
    n = state.shape[1]
    out = np.empty((n, COLUMNS))
    rows = np.empty(2, dtype=np.int64)
    for i in range(2):
        best = np.inf
        for p in range(line.shape[0]):
            far = (line[p, 0] - state[i, 0, 0]) ** 2 + (line[p, 1] - state[i, 0, 1]) ** 2
            if far < best:
                best, rows[i] = far, p
    side = 0.0
    for k in range(n):
        along, across = 0.0, 0.0
        for i in range(2):
            rows[i], s, d = place(line, state[i, k, 0], state[i, k, 1], rows[i])
            cos, sin = line[rows[i], 2], line[rows[i], 3]
            turn = state[i, k, 2] - math.atan2(sin, cos)
            turn = (turn + math.pi) % (2.0 * math.pi) - math.pi
            same, turned = abs(math.cos(turn)), abs(math.sin(turn))
            along += 0.5 * (size[i, 0] * same + size[i, 1] * turned)
            across += 0.5 * (size[i, 0] * turned + size[i, 1] * same)
            out[k, S0 + i], out[k, D0 + i], out[k, TURN0 + i] = s, d, turn
            out[k, V0 + i] = state[i, k, 3] * cos + state[i, k, 4] * sin
            out[k, U0 + i] = state[i, k, 4] * cos - state[i, k, 3] * sin
        apart = out[k, D1] - out[k, D0]
        out[k, GAP_LON] = abs(out[k, S1] - out[k, S0]) - along
        out[k, GAP_LAT] = abs(apart) - across
        if out[k, GAP_LAT] > 0.0 or side == 0.0:  # beside each other: "towards" is kept once they overlap
            side = 1.0 if apart >= 0.0 else -1.0
        out[k, U0], out[k, U1] = side * out[k, U0], -side * out[k, U1]
        out[k, REAR] = 0.0 if out[k, S0] <= out[k, S1] else 1.0
        out[k, NEED_LON] = _need_lon(out[k], law)
        out[k, NEED_LAT] = d_lat(out[k, U0], out[k, U1], law)
    return out


@njit(cache=True, nogil=True)
def _need_lon(row: FloatArray, law: Law) -> float:
    """Longitudinal safe distance; oncoming cars each need their own way to stop, unless they have passed."""
    rear = int(row[REAR])
    between = abs(row[TURN0] - row[TURN1])
    if min(between, 2.0 * math.pi - between) > ONCOMING_RAD:
        if row[V0 + rear] < 0.0:
            return 0.0
        return stopping(abs(row[V0]), law) + stopping(abs(row[V1]), law)
    return d_lon(max(row[V0 + rear], 0.0), max(row[V1 - rear], 0.0), law)


@njit(cache=True, nogil=True)
def danger_before(related: FloatArray) -> tuple[int, bool]:
    """First tick of the interval of danger that ends with the last tick, and whether the conflict is lateral.

    The gap that fell below its safe distance last names the conflict. Where both fell in one tick, or danger was there
    from the first tick on, it is lateral if a car moves sideways towards the other one faster than 0.1 m/s.
    """
    k = related.shape[0] - 1
    while (
        k > 0
        and related[k - 1, GAP_LON] < related[k - 1, NEED_LON]
        and related[k - 1, GAP_LAT] < related[k - 1, NEED_LAT]
    ):
        k -= 1
    if k > 0:
        lon_closed = related[k - 1, GAP_LON] < related[k - 1, NEED_LON]
        lat_closed = related[k - 1, GAP_LAT] < related[k - 1, NEED_LAT]
        if lon_closed != lat_closed:
            return k, lon_closed
    return k, max(related[k, U0], related[k, U1]) > LATERAL_MPS
