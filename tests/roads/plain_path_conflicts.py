"""Conflicts of driven paths by plain loops over Python lists: what one writes down first, pair after pair.

The same geometry as :mod:`giveway.roads.path_conflicts`, without arrays and compiled code. Reference of its test and of
``benchmarks/extract_gaps.py``.
"""

from bisect import bisect_left
from math import hypot

STEP, JITTER, MARGIN, WINDOW = 0.5, 0.05, 0.3, 6.0


def path_of(time_s, points):
    """Points every half meter, arc lengths and times at which the center had moved; None if it hardly did."""
    arc, times, kept = [0.0], [time_s[0]], [points[0]]
    for t, (x, y) in zip(time_s[1:], points[1:], strict=True):
        step = hypot(x - kept[-1][0], y - kept[-1][1])
        if step >= JITTER:
            arc.append(arc[-1] + step)
            times.append(t)
            kept.append((x, y))
    if arc[-1] < STEP:
        return None
    line = [interpolate(STEP * k, arc, kept) for k in range(int((arc[-1] + 1e-9) / STEP) + 1)]
    return line, arc, times


def interpolate(at, arc, values):
    """Value at an arc length; of pairs by coordinate."""
    k = min(max(bisect_left(arc, at), 1), len(arc) - 1)
    share = (at - arc[k - 1]) / (arc[k] - arc[k - 1])
    if isinstance(values[0], float):
        return values[k - 1] + share * (values[k] - values[k - 1])
    return tuple(a + share * (b - a) for a, b in zip(values[k - 1], values[k], strict=True))


def least(point, line):
    """Least distance of a point from points."""
    return min(hypot(point[0] - x, point[1] - y) for x, y in line)


def conflict(one, two, near):
    """Index of s_in on T's line and of u_in of each passage on E's; None without a conflict, 0 in the same lane."""
    s_in = next((i for i, point in enumerate(one) if least(point, two) < near), None)
    if not s_in:
        return s_in, []
    window = one[s_in : s_in + int(WINDOW / STEP) + 1]
    apart = [hypot(one[s_in][0] - x, one[s_in][1] - y) for x, y in two]
    passages = []
    j = 0
    while j < len(two):
        if apart[j] >= near:
            j += 1
            continue
        end = next((k for k in range(j, len(two)) if apart[k] >= near), len(two))
        u_in = min(range(j, end), key=apart.__getitem__)
        while u_in > 0 and least(two[u_in - 1], window) < near:
            u_in -= 1
        if not passages or u_in > passages[-1]:
            passages.append(u_in)
        j = end
    return s_in, passages


def front_at(path, at_m, length_m):
    """When the front reaches an arc length; None if that was not observed."""
    _, arc, times = path
    at = at_m - 0.5 * length_m
    return interpolate(at, arc, times) if arc[0] < at <= arc[-1] else None
