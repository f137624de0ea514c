"""The reward of the published system (design note 1.1), with an inside test that is right for any k; compiled."""

from __future__ import annotations

import math
from enum import IntEnum

from giveway.core.arrays import FloatArray, IntArray
from giveway.core.kernels import njit
from giveway.generate.objective.weights import LegacyWeights

FLAT_M2 = 1e-6
"""A hull with less area is taken as a line."""

ON_LINE_M = 0.9
"""Half the width of a car: how far from the line between two cars (or of collinear ones) the ego may be to count as
between them."""


class Stage(IntEnum):
    """How far the encirclement has come."""

    TRACK = 0
    ENCIRCLE = 1
    CAPTURE = 2
    FINISH = 3


TRACK, ENCIRCLE, CAPTURE, FINISH = int(Stage.TRACK), int(Stage.ENCIRCLE), int(Stage.CAPTURE), int(Stage.FINISH)


@njit(cache=True, nogil=True)
def _cross(o: FloatArray, a: FloatArray, b: FloatArray) -> float:
    return (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0])


@njit(cache=True, nogil=True)
def hull(points: FloatArray, out: IntArray) -> int:
    """Indices of the corners of the convex hull, counter-clockwise, by gift wrapping; returns how many.

    Points inside or on an edge are left out; collinear points give their two ends, equal points one.
    """
    k = points.shape[0]
    start = 0
    for i in range(1, k):
        lower = points[i, 1] < points[start, 1]
        if lower or (points[i, 1] == points[start, 1] and points[i, 0] < points[start, 0]):
            start = i
    count = 0
    at = start
    while True:
        out[count] = at
        count += 1
        following = -1
        for i in range(k):
            if points[i, 0] == points[at, 0] and points[i, 1] == points[at, 1]:
                continue
            if following < 0:
                following = i
                continue
            side = _cross(points[at], points[following], points[i])
            far_i = math.hypot(points[i, 0] - points[at, 0], points[i, 1] - points[at, 1])
            far = math.hypot(points[following, 0] - points[at, 0], points[following, 1] - points[at, 1])
            if side < -1e-12 or (abs(side) <= 1e-12 and far_i > far):
                following = i
        if following < 0 or following == start or count == k:
            return count
        at = following


@njit(cache=True, nogil=True)
def enclosure(cars: FloatArray, ego: FloatArray, corners: IntArray) -> tuple[bool, float, float]:
    """Whether the ego is inside the hull of the cars, the area S_poly of the hull and the sum S_sum of the triangles.

    S_sum adds the triangles (corner, next corner, ego); it equals S_poly inside and is larger outside. One car encloses
    nothing. Two cars, or collinear ones, enclose what lies between the outermost, within half a car's width.

    Args:
        cars: (k, 2) [m].
        ego: (2,) [m].
        corners: (k,) scratch.
    """
    count = hull(cars, corners)
    if count < 2:
        return False, 0.0, 0.0
    area, total = 0.0, 0.0
    inside = True
    for c in range(count):
        a, b = cars[corners[c]], cars[corners[(c + 1) % count]]
        area += 0.5 * (a[0] * b[1] - a[1] * b[0])
        side = _cross(a, b, ego)
        total += 0.5 * abs(side)
        if side < 0.0:
            inside = False
    if count > 2 and area > FLAT_M2:
        return inside, area, total
    a, b = cars[corners[0]], cars[corners[1]]
    if count > 2:
        longest = -1.0
        for i in range(count):
            for j in range(i):
                one, two = cars[corners[i]], cars[corners[j]]
                far = math.hypot(one[0] - two[0], one[1] - two[1])
                if far > longest:
                    longest = far
                    a, b = one, two
    length = math.hypot(b[0] - a[0], b[1] - a[1])
    along = ((ego[0] - a[0]) * (b[0] - a[0]) + (ego[1] - a[1]) * (b[1] - a[1])) / length
    beside = abs(_cross(a, b, ego)) / length
    return 0.0 <= along <= length and beside <= ON_LINE_M, 0.0, total


@njit(cache=True, nogil=True)
def stage_of(
    cars: FloatArray,
    ego: FloatArray,
    distance: FloatArray,
    distance_before: FloatArray,
    p: LegacyWeights,
    out: IntArray,
) -> tuple[int, float]:
    """Stage and its shared reward, unweighted.

        track    -D / max d                              outside, D >= d_lim and all d >= d_cap
        encircle -ln(S_sum - S_poly + 1) / k             outside otherwise
        capture  exp((D_before - D) / (k v_max))         inside and some d > d_cap
        finish   0 (the bonus is added elsewhere)        inside and all d <= d_cap

    Args:
        cars: (k, 2) [m].
        ego: (2,) [m].
        distance: (k,) of the cars to the ego [m].
        distance_before: (k,) one step earlier [m].
        p: weights.
        out: (k,) scratch.
    """
    k = cars.shape[0]
    inside, area, total = enclosure(cars, ego, out)
    summed = distance.sum()
    if inside:
        if distance.max() <= p.capture_m:
            return FINISH, 0.0
        return CAPTURE, math.exp((distance_before.sum() - summed) / (k * p.max_speed_mps))
    if summed >= p.limit_m and distance.min() >= p.capture_m:
        return TRACK, -summed / distance.max()
    return ENCIRCLE, -math.log(max(total - area, 0.0) + 1.0) / k


@njit(cache=True, nogil=True)
def legacy_reward(
    stage: int, shared: float, distance: float, distance_before: float, crashed: bool, off_road: bool, p: LegacyWeights
) -> float:
    """Reward of one car: approach + safety + stage + finish."""
    reward = p.approach if distance < distance_before else -p.approach
    if crashed:
        reward -= 10.0 * p.safety
    if off_road:
        reward -= 100.0 * p.safety
    reward += p.stage * shared
    if stage == FINISH:
        reward += p.finish * p.terminal
    return reward
