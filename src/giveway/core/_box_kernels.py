"""Compiled loops behind :mod:`giveway.core.boxes`.

A footprint is a row of seven numbers: x, y, cos, sin of the heading, half length, half width, radius. All kernels
live in one file because a compiled cache is renewed only when the file of the calling kernel changes.
"""
# pyright: reportMissingParameterType=false, reportUnknownParameterType=false

from __future__ import annotations

from math import cos, hypot, sin

import numpy as np

from giveway.core.kernels import njit


@njit(cache=True)
def frame_rows(xy, heading, size, radius):
    """(T, A, 7) rows, frame by frame, of the fields of (A, T) footprints."""
    agents, instants = heading.shape
    out = np.empty((instants, agents, 7))
    for i in range(agents):
        for t in range(instants):
            row = out[t, i]
            row[0], row[1] = xy[i, t, 0], xy[i, t, 1]
            row[2], row[3] = cos(heading[i, t]), sin(heading[i, t])
            row[4], row[5], row[6] = 0.5 * size[i, t, 0], 0.5 * size[i, t, 1], radius[i, t]
    return out


@njit(cache=True)
def point_gap(px, py, box):
    """Distance from a point to the core (the box without its radius) of a row."""
    dx, dy = px - box[0], py - box[1]
    along = abs(dx * box[2] + dy * box[3]) - box[4]
    across = abs(dy * box[2] - dx * box[3]) - box[5]
    return hypot(max(along, 0.0), max(across, 0.0))


@njit(cache=True)
def axis_gap(a, b):
    """Largest gap between the projections of two cores over the four face normals; negative if they overlap."""
    dx, dy = b[0] - a[0], b[1] - a[1]
    same = abs(a[2] * b[2] + a[3] * b[3])
    turned = abs(a[2] * b[3] - a[3] * b[2])
    gap = abs(dx * a[2] + dy * a[3]) - (a[4] + b[4] * same + b[5] * turned)
    gap = max(gap, abs(dy * a[2] - dx * a[3]) - (a[5] + b[4] * turned + b[5] * same))
    gap = max(gap, abs(dx * b[2] + dy * b[3]) - (b[4] + a[4] * same + a[5] * turned))
    return max(gap, abs(dy * b[2] - dx * b[3]) - (b[5] + a[4] * turned + a[5] * same))


@njit(cache=True)
def core_distance(a, b):
    """Distance of two disjoint cores: of two convex polygons, a corner of one is nearest to the other."""
    gap = np.inf
    for sx in (-1.0, 1.0):
        for sy in (-1.0, 1.0):
            u, v = sx * a[4], sy * a[5]
            gap = min(gap, point_gap(a[0] + a[2] * u - a[3] * v, a[1] + a[3] * u + a[2] * v, b))
            u, v = sx * b[4], sy * b[5]
            gap = min(gap, point_gap(b[0] + b[2] * u - b[3] * v, b[1] + b[3] * u + b[2] * v, a))
    return gap


@njit(cache=True)
def pair_separation(a, b):
    """Signed distance of two rows; minus the penetration depth where they overlap."""
    gap = axis_gap(a, b)
    if gap > 0.0:
        gap = core_distance(a, b)
    return gap - a[6] - b[6]


@njit(cache=True)
def pair_overlaps(a, b):
    """Whether two rows share a point; boxes need no distance for that."""
    gap = axis_gap(a, b)
    reach = a[6] + b[6]
    if gap <= 0.0 or gap > reach:
        return gap <= reach
    return core_distance(a, b) <= reach


@njit(cache=True)
def is_nan_in(row):
    """Whether any number of a row is NaN, or their sum is (infinities of both signs)."""
    total = 0.0
    for k in range(row.shape[0]):
        total += row[k]
    return np.isnan(total)


@njit(cache=True)
def separations(first, second):
    """(N,) signed distances of rows (N, 7) and (N, 7); NaN where any number is."""
    out = np.empty(first.shape[0])
    for i in range(first.shape[0]):
        if is_nan_in(first[i]) or is_nan_in(second[i]):
            out[i] = np.nan
        else:
            out[i] = pair_separation(first[i], second[i])
    return out


@njit(cache=True)
def all_overlaps(rows):
    """(C, 3) instant and agent indices (smaller first) of overlapping pairs in rows (T, A, 7)."""
    instants, agents = rows.shape[:2]
    found = np.empty((64, 3), dtype=np.int64)
    count = 0
    order = np.empty(agents, dtype=np.int64)
    for i in range(agents):
        order[i] = i
    reach = np.empty(agents)
    low = np.empty(agents)
    for t in range(instants):
        frame = rows[t]
        for i in range(agents):
            reach[i] = hypot(frame[i, 4], frame[i, 5]) + frame[i, 6]
            low[i] = frame[i, 0] - reach[i]
            if np.isnan(low[i] + frame[i, 1] + frame[i, 2]):
                low[i] = np.inf
        for position in range(1, agents):  # insertion sort: nearly sorted from the instant before
            moving = order[position]
            slot = position
            while slot > 0 and low[order[slot - 1]] > low[moving]:
                order[slot] = order[slot - 1]
                slot -= 1
            order[slot] = moving
        for position in range(agents):
            i = order[position]
            if low[i] == np.inf:
                break
            high = frame[i, 0] + reach[i]
            for other in range(position + 1, agents):
                j = order[other]
                if low[j] > high:
                    break
                dx, dy, both = frame[j, 0] - frame[i, 0], frame[j, 1] - frame[i, 1], reach[i] + reach[j]
                if dx * dx + dy * dy <= both * both and pair_overlaps(frame[i], frame[j]):
                    if count == found.shape[0]:
                        grown = np.empty((2 * count, 3), dtype=np.int64)
                        for k in range(count):
                            for field in range(3):
                                grown[k, field] = found[k, field]
                        found = grown
                    found[count, 0], found[count, 1], found[count, 2] = t, min(i, j), max(i, j)
                    count += 1
    return found[:count]


@njit(cache=True)
def nearest(rows):
    """(T, A) distance to the nearest other row and its index, from rows (T, A, 7)."""
    instants, agents = rows.shape[:2]
    gap = np.empty((instants, agents))
    index = np.empty((instants, agents), dtype=np.int64)
    reach = np.empty(agents)
    for t in range(instants):
        frame = rows[t]
        for i in range(agents):
            gap[t, i], index[t, i] = np.nan, -1
            reach[i] = hypot(frame[i, 4], frame[i, 5]) + frame[i, 6]
            if not is_nan_in(frame[i]):
                gap[t, i] = np.inf
        for i in range(agents):
            for j in range(i + 1, agents):
                if np.isnan(gap[t, i] + gap[t, j]):
                    continue
                worse = max(gap[t, i], gap[t, j])
                if hypot(frame[j, 0] - frame[i, 0], frame[j, 1] - frame[i, 1]) - reach[i] - reach[j] > worse:
                    continue
                apart = max(pair_separation(frame[i], frame[j]), 0.0)
                if apart < gap[t, i]:
                    gap[t, i], index[t, i] = apart, j
                if apart < gap[t, j]:
                    gap[t, j], index[t, j] = apart, i
    return gap, index


@njit(cache=True, nogil=True)
def fill_row(x, y, cos, sin, half_length, half_width, out):
    """Write the row of a box: center, direction, half its length and width; no rounding."""
    out[0], out[1], out[2], out[3] = x, y, cos, sin
    out[4], out[5], out[6] = half_length, half_width, 0.0
