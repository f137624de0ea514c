"""Tables of routes that compiled code reads: rows at equal spacing, coarse points, sketches, and searches on them.

A route is a table of rows at equal spacing: x, y, cosine and sine of its direction, heading, reference speed.
"""

from __future__ import annotations

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.kernels import njit

PATH_X, PATH_Y, PATH_COS, PATH_SIN, PATH_HEADING, PATH_SPEED = range(6)
"""Columns of a path table."""

PATH_COLUMNS = 6

COARSE = 16
"""Rows of a path between two coarse points."""

COARSE_COLUMNS = 5

SKETCH = 4
"""Rows of a path between two rows of its sketch."""

SKETCH_COLUMNS = 4


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
