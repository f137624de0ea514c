"""Which part of a path another car blocks.

A car is projected onto the nearest row of the path (:mod:`giveway.roads.route_tables`); its box, seen in the frame of
the path there, blocks an interval of arc length for the center of the own car.
"""

from __future__ import annotations

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray
from giveway.core.kernels import njit
from giveway.roads.route_tables import COARSE, descend, nearest_coarse


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
def covered_interval(
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
    """The same as :func:`blocked_interval`, of what lies in the strip that the own car sweeps, not of the whole box.

    The edges of the box of the other car are cut at the sides of the strip; a corner beside it blocks nothing, so that
    the own car may come as close to a car that passes at an angle as their boxes allow.
    """
    dx, dy = x - row[0], y - row[1]
    along, across = s_row + row[2] * dx + row[3] * dy, row[2] * dy - row[3] * dx
    cos, sin = cos_o * row[2] + sin_o * row[3], sin_o * row[2] - cos_o * row[3]
    low, high = np.inf, -np.inf
    if abs(across) > half_length * abs(sin) + half_width * abs(cos) + own_half_width:
        return low, high  # the whole box is beside the strip, as most are
    for edge in range(4):  # counter-clockwise from the front left corner
        turned = edge % 2 == 0
        sign = 1.0 if edge < 2 else -1.0
        u, w = (half_length, half_width) if turned else (-half_length, half_width)
        u, w = sign * u, sign * w
        du, dw = (-2.0 * sign * half_length, 0.0) if turned else (0.0, -2.0 * sign * half_width)
        at, side = along + u * cos - w * sin, across + u * sin + w * cos
        d_at, d_side = du * cos - dw * sin, du * sin + dw * cos
        begin, end = 0.0, 1.0
        if abs(d_side) > 1e-12:
            first, second = (-own_half_width - side) / d_side, (own_half_width - side) / d_side
            begin, end = max(begin, min(first, second)), min(end, max(first, second))
        elif abs(side) > own_half_width:
            continue
        if begin <= end:
            low = min(low, at + begin * d_at, at + end * d_at)
            high = max(high, at + begin * d_at, at + end * d_at)
    return low - own_half_length, high + own_half_length


@njit(cache=True, nogil=True)
def lead_car(
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
) -> tuple[float, float, int]:
    """Bumper distance to, speed along the path of, and index of the next car on the path ahead.

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
        (gap [m], speed [m/s], index); (inf, 0, -1) if the path is free. The gap is negative when the boxes overlap
        along the path.
    """
    here = min(max(int(s_own / step), 0), path.shape[0] - 1)
    last = min(here + int(look_ahead / step) + 1, path.shape[0] - 1)
    begin = here // COARSE
    end = min(last // COARSE + 1, coarse.shape[0] - 1) + 1
    left, right, bottom, top = _bounds(coarse, begin, end)
    gap = np.inf
    lead = 0.0
    who = -1
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
            who = j
            lead = max(states[j, 2] * (states[j, 3] * path[at, 2] + states[j, 4] * path[at, 3]), 0.0)
    return gap, lead, who


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
    """Bumper distance to, and speed along the path of, the next car on the path ahead; see :func:`lead_car`."""
    gap, lead, _ = lead_car(path, coarse, step, own, s_own, states, present, size, look_ahead, side_margin)
    return gap, lead
