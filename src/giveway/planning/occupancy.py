"""Which part of a path another car blocks.

A path is a table of rows at equal spacing: x, y, cosine and sine of its direction, heading, reference speed. A car is
projected onto the nearest row; its box, seen in the frame of the path there, blocks an interval of arc length for the
center of the own car.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from giveway.core.arrays import BoolArray, FloatArray

PATH_X, PATH_Y, PATH_COS, PATH_SIN, PATH_HEADING, PATH_SPEED = range(6)
"""Columns of a path table."""

PATH_COLUMNS = 6

_STRIDE = 8


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
def nearest_row(path: FloatArray, x: float, y: float, first: int, last: int) -> int:
    """Row nearest to (x, y) between ``first`` and ``last`` (inclusive): coarse scan, then descent."""
    best = first
    best_d = np.inf
    i = first
    while i <= last:
        d = (path[i, 0] - x) ** 2 + (path[i, 1] - y) ** 2
        if d < best_d:
            best_d = d
            best = i
        i += _STRIDE
    return descend(path, x, y, best)


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
    reach = look_ahead + 10.0
    gap = np.inf
    lead = 0.0
    for j in range(states.shape[0]):
        if j == own or not present[j]:
            continue
        x = states[j, 0]
        y = states[j, 1]
        if (x - states[own, 0]) ** 2 + (y - states[own, 1]) ** 2 > reach * reach:
            continue
        at = nearest_row(path, x, y, here, last)
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
