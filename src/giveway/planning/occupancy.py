"""Which part of a path another car blocks.

A path is a table of rows at equal spacing: x, y, cosine and sine of its direction, heading, reference speed. A car is
projected onto the nearest row; its box, seen in the frame of the path there, blocks an interval of arc length for the
center of the own car.
"""

from __future__ import annotations

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray
from giveway.core.kernels import njit

PATH_X, PATH_Y, PATH_COS, PATH_SIN, PATH_HEADING, PATH_SPEED = range(6)
"""Columns of a path table."""

PATH_COLUMNS = 6

COARSE = 16
"""Rows of a path between two coarse points."""

COARSE_COLUMNS = 5

SKETCH = 4
"""Rows of a path between two rows of its sketch."""


@njit(cache=True, nogil=True)
def descend(path: FloatArray, x: float, y: float, start: int) -> int:
    """Row at the local minimum of the distance to (x, y), walking from ``start``."""
    i = start
    n = path.shape[0]
    d = (path[i, 0] - x) ** 2 + (path[i, 1] - y) ** 2
    while i + 1 < n:
        e = (path[i + 1, 0] - x) ** 2 + (path[i + 1, 1] - y) ** 2
        if e >= d:
            break
        d = e
        i += 1
    while i > 0:
        e = (path[i - 1, 0] - x) ** 2 + (path[i - 1, 1] - y) ** 2
        if e >= d:
            break
        d = e
        i -= 1
    return i


@njit(cache=True, nogil=True)
def nearest_coarse(coarse: FloatArray, x: float, y: float, begin: int, end: int) -> int:
    """Which of the coarse points from ``begin`` up to but without ``end`` is nearest to (x, y)."""
    best = begin
    best_d = np.inf
    for i in range(begin, end):
        d = (coarse[i, 0] - x) ** 2 + (coarse[i, 1] - y) ** 2
        if d < best_d:
            best_d = d
            best = i
    return best


@njit(cache=True, nogil=True)
def _bounds(coarse: FloatArray, begin: int, end: int) -> tuple[float, float, float, float]:
    """Smallest and largest x, smallest and largest y of some coarse points."""
    left, right, bottom, top = np.inf, -np.inf, np.inf, -np.inf
    for i in range(begin, end):
        left = min(left, coarse[i, 0])
        right = max(right, coarse[i, 0])
        bottom = min(bottom, coarse[i, 1])
        top = max(top, coarse[i, 1])
    return left, right, bottom, top


@njit(cache=True, nogil=True)
def nearest_row(path: FloatArray, coarse: FloatArray, x: float, y: float, first: int, last: int) -> int:
    """Row nearest to (x, y), looked for between ``first`` and ``last``: a scan of the coarse points, then descent.

    Args:
        path: (P, 6) table.
        coarse: (C, 5) every 16th row, see :func:`coarse_points`.
        x: position [m].
        y: see ``x``.
        first: first row of interest.
        last: last row of interest.
    """
    best = nearest_coarse(coarse, x, y, first // COARSE, min(last // COARSE + 1, coarse.shape[0] - 1) + 1)
    return descend(path, x, y, min(best * COARSE, path.shape[0] - 1))


def coarse_points(path: FloatArray) -> FloatArray:
    """(C, 5) every 16th row of a path table and its last: x, y, cosine, sine and bend.

    Small enough to stay in the cache while cars look around. The bend is the largest difference of heading between the
    row and the 32 rows before and after it [rad].
    """
    rows = np.unique([*range(0, path.shape[0], COARSE), path.shape[0] - 1])
    heading = np.pad(path[:, PATH_HEADING], 2 * COARSE, mode="edge")
    around = np.lib.stride_tricks.sliding_window_view(heading, 4 * COARSE + 1)[rows]
    bend = np.abs(around - path[rows, PATH_HEADING][:, None]).max(axis=1)
    return np.concatenate([path[rows, :4], bend[:, None]], axis=1)


@njit(cache=True, nogil=True)
def paths_meet(one: FloatArray, two: FloatArray, half_length: float, half_width: float, room: float) -> bool:
    """Whether a car on the second path can ever be in the way of one on the first.

    Args:
        one: (C, 2+) coarse points of the own path.
        two: (D, 2+) coarse points of the other car's path.
        half_length: of the other car [m].
        half_width: of the other car [m].
        room: half the own width, and all margins [m].

    Returns:
        False only if no box on the second path comes near the first one; headings may differ from those of the coarse
        segments by up to 0.2 rad.
    """
    most = room + half_width + half_length
    for i in range(one.shape[0] - 1):
        ax, ay = one[i, 0], one[i, 1]
        ux, uy = one[i + 1, 0] - ax, one[i + 1, 1] - ay
        length = np.hypot(ux, uy)
        for j in range(two.shape[0] - 1):
            bx, by = two[j, 0], two[j, 1]
            vx, vy = two[j + 1, 0] - bx, two[j + 1, 1] - by
            other = np.hypot(vx, vy)
            far = most + length + other
            if (bx - ax) ** 2 + (by - ay) ** 2 > far * far:
                continue
            sine = abs(ux * vy - uy * vx) / max(length * other, 1e-9)
            within = room + half_width + half_length * min(sine + 0.2, 1.0)
            if _segment_gap(ax, ay, ux, uy, bx, by, vx, vy) < within:
                return True
    return False


@njit(cache=True, nogil=True)
def _point_gap(px: float, py: float, ax: float, ay: float, ux: float, uy: float) -> float:
    """Distance of a point from the segment a + t u."""
    square = ux * ux + uy * uy
    t = 0.0 if square == 0.0 else min(max(((px - ax) * ux + (py - ay) * uy) / square, 0.0), 1.0)
    return np.hypot(px - ax - t * ux, py - ay - t * uy)


@njit(cache=True, nogil=True)
def _segment_gap(ax: float, ay: float, ux: float, uy: float, bx: float, by: float, vx: float, vy: float) -> float:
    """Distance of two segments; 0 if they cross."""
    cross = ux * vy - uy * vx
    if cross != 0.0:
        t = ((bx - ax) * vy - (by - ay) * vx) / cross
        s = ((bx - ax) * uy - (by - ay) * ux) / cross
        if 0.0 <= t <= 1.0 and 0.0 <= s <= 1.0:
            return 0.0
    return min(
        min(_point_gap(bx, by, ax, ay, ux, uy), _point_gap(bx + vx, by + vy, ax, ay, ux, uy)),
        min(_point_gap(ax, ay, bx, by, vx, vy), _point_gap(ax + ux, ay + uy, bx, by, vx, vy)),
    )


def sketch_of(path: FloatArray) -> FloatArray:
    """(K, 4) x, y, cosine and sine of every fourth row: what others need to know about where a car will be."""
    return np.ascontiguousarray(path[::SKETCH, :4])


@njit(cache=True, nogil=True)
def blocked_interval(
    row: FloatArray,
    s_row: float,
    x: float,
    y: float,
    cos_o: float,
    sin_o: float,
    half_length: float,
    half_width: float,
    own_half_length: float,
    own_half_width: float,
) -> tuple[float, float]:
    """Arc lengths (from, to) at which the center of the own car would touch the box of the other one.

    Args:
        row: (6,) row of the path nearest to the other car.
        s_row: arc length there [m].
        x: center of the other car [m].
        y: see ``x``.
        cos_o: cosine of its heading.
        sin_o: sine of its heading.
        half_length: of the other car [m].
        half_width: of the other car [m].
        own_half_length: of the own car, with the margin wanted at both ends [m].
        own_half_width: of the own car, with the margin wanted at the sides [m].

    Returns:
        An interval; (inf, -inf) if the other car is beside the path. Boxes are bounded by rectangles in the frame of
        the
        path, so a car across a bend blocks slightly more than it covers.
    """
    dx = x - row[0]
    dy = y - row[1]
    across = row[2] * dy - row[3] * dx
    cos_rel = abs(cos_o * row[2] + sin_o * row[3])
    sin_rel = abs(sin_o * row[2] - cos_o * row[3])
    if abs(across) > half_length * sin_rel + half_width * cos_rel + own_half_width:
        return np.inf, -np.inf
    extent = half_length * cos_rel + half_width * sin_rel + own_half_length
    center = s_row + row[2] * dx + row[3] * dy
    return center - extent, center + extent


@njit(cache=True, nogil=True)
def lead_on_path(
    path: FloatArray,
    coarse: FloatArray,
    step: float,
    own: int,
    s_own: float,
    states: FloatArray,
    present: BoolArray,
    size: FloatArray,
    look_ahead: float,
    side_margin: float,
) -> tuple[float, float]:
    """Bumper distance to, and speed along the path of, the next car on the path ahead.

    Args:
        path: (P, 6) table.
        coarse: (C, 5) its coarse points.
        step: its spacing [m].
        own: index of the own car in the arrays that follow.
        s_own: its arc length [m].
        states: (A, 5) x, y, speed, cosine and sine of the heading of all cars of the case.
        present: (A,) who is there.
        size: (A, 2) length and width [m].
        look_ahead: how far to look [m].
        side_margin: lateral distance below which a car is in the way [m].

    Returns:
        (gap [m], speed [m/s]); (inf, 0) if the path is free. The gap is negative when the boxes overlap along the path.
    """
    here = min(max(int(s_own / step), 0), path.shape[0] - 1)
    last = min(here + int(look_ahead / step) + 1, path.shape[0] - 1)
    begin = here // COARSE
    end = min(last // COARSE + 1, coarse.shape[0] - 1) + 1
    left, right, bottom, top = _bounds(coarse, begin, end)
    gap = np.inf
    lead = 0.0
    for j in range(states.shape[0]):
        if j == own or not present[j]:
            continue
        x = states[j, 0]
        y = states[j, 1]
        beside = 0.5 * (size[j, 0] + size[j, 1] + size[own, 1]) + side_margin
        within = beside + 0.5 * COARSE * step
        if x < left - within or x > right + within or y < bottom - within or y > top + within:
            continue
        nearer = max(gap, 0.0) + 0.5 * (size[j, 0] + size[j, 1] + size[own, 0]) + beside
        if (x - states[own, 0]) ** 2 + (y - states[own, 1]) ** 2 > nearer * nearer:
            continue
        near = nearest_coarse(coarse, x, y, begin, end)
        dx, dy = x - coarse[near, 0], y - coarse[near, 1]
        cos, sin, bend = coarse[near, 2], coarse[near, 3], coarse[near, 4]
        sine = min(abs(states[j, 4] * cos - states[j, 3] * sin) + bend, 1.0)
        room = 0.5 * (size[own, 1] + size[j, 1] + size[j, 0] * sine) + side_margin + within * bend
        if dx * dx + dy * dy > within * within or abs(dy * cos - dx * sin) > room:
            continue
        at = descend(path, x, y, min(near * COARSE, path.shape[0] - 1))
        low, high = blocked_interval(
            path[at],
            at * step,
            x,
            y,
            states[j, 3],
            states[j, 4],
            0.5 * size[j, 0],
            0.5 * size[j, 1],
            0.5 * size[own, 0],
            0.5 * size[own, 1] + side_margin,
        )
        if low == np.inf or low + high <= 2.0 * s_own or low - s_own > look_ahead:
            continue
        if low - s_own < gap:
            gap = low - s_own
            lead = max(states[j, 2] * (states[j, 3] * path[at, 2] + states[j, 4] * path[at, 3]), 0.0)
    return gap, lead
