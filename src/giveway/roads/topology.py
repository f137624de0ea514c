"""How lanes hang together: direction of bounds, center lines, successors, neighbors, conflicts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np
import shapely

from giveway.core.arrays import AnyArray, FloatArray
from giveway.core.errors import DataError
from giveway.core.polylines import polyline

CENTER_SPACING_M = 1.0
"""Center lines have a point at least this often."""

MAX_LANE_M = 50_000.0
"""A longer lane is a misplaced node."""

MIN_CONFLICT_M2 = 0.1
"""Lanes whose areas share less only touch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Both bounds of a lane, in driving direction, as chains of node ids.

    Attributes:
        lane: id of the lane.
        left: node ids.
        right: node ids.
    """

    lane: int
    left: tuple[int, ...]
    right: tuple[int, ...]


def orient(left: FloatArray, right: FloatArray) -> tuple[bool, bool]:
    """Which of two bounds must be turned round so that both run in driving direction.

    First the right bound is aligned with the left one (the pairing of ends with the shorter sum of distances); then
    both are turned if the left one would lie on the right.

    Args:
        left: (L, 2) as drawn.
        right: (R, 2) as drawn.

    Returns:
        (turn left, turn right)
    """
    straight = np.hypot(*(left[0] - right[0])) + np.hypot(*(left[-1] - right[-1]))
    crossed = np.hypot(*(left[0] - right[-1])) + np.hypot(*(left[-1] - right[0]))
    turn_right = bool(crossed < straight)
    ring = outline(left, right[::-1] if turn_right else right)
    is_backward = _signed_area(ring) < 0.0
    return is_backward, turn_right != is_backward


def outline(left: FloatArray, right: FloatArray) -> FloatArray:
    """(L + R, 2) ring around a lane, counter-clockwise for bounds in driving direction."""
    return np.concatenate([right, left[::-1]])


def center_line(left: FloatArray, right: FloatArray, *, where: object = None) -> FloatArray:
    """(C, 2) mean of both bounds, each resampled to equally many points by its own arc length [m].

    Raises:
        DataError: if a bound has no length, or more than :data:`MAX_LANE_M`.
    """
    one, other = polyline(left, where=where), polyline(right, where=where)
    longest = max(one.length_m, other.length_m)
    if longest > MAX_LANE_M:
        raise DataError("a lane is too long", where=where, found=f"{longest:.0f} m, at most {MAX_LANE_M:.0f} m")
    count = max(ceil(longest / CENTER_SPACING_M), 1) + 1
    share = np.linspace(0.0, 1.0, count)
    return 0.5 * (one.at(share * one.length_m).xy + other.at(share * other.length_m).xy)


def successors(bounds: Sequence[Bounds]) -> dict[int, tuple[int, ...]]:
    """Lanes that begin at both end points of a lane, sorted."""
    starts: dict[tuple[int, int], list[int]] = defaultdict(list)
    for lane in bounds:
        starts[lane.left[0], lane.right[0]].append(lane.lane)
    return {
        lane.lane: tuple(sorted(n for n in starts.get((lane.left[-1], lane.right[-1]), ()) if n != lane.lane))
        for lane in bounds
    }


def neighbors(bounds: Sequence[Bounds]) -> tuple[dict[int, int], dict[int, int]]:
    """Left and right neighbors: lanes in the same direction that share a whole bound.

    Where several do (lanes that lie on top of each other), the smallest id is taken.
    """
    lefts: dict[tuple[int, ...], list[int]] = defaultdict(list)
    rights: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for lane in bounds:
        lefts[lane.left].append(lane.lane)
        rights[lane.right].append(lane.lane)
    to_left = {lane.lane: min(rights[lane.left]) for lane in bounds if lane.left in rights}
    to_right = {lane.lane: min(lefts[lane.right]) for lane in bounds if lane.right in lefts}
    return to_left, to_right


def lane_polygons(outlines: Sequence[FloatArray]) -> AnyArray:
    """(N,) valid shapely areas; bounds that cross each other give the areas of the true pieces.

    Where both bounds run on as one line there is no area: that part is left out.
    """
    shapes = np.array([shapely.Polygon(ring) for ring in outlines], dtype=object)
    valid = shapely.make_valid(shapes) if len(shapes) else shapes
    for n in np.flatnonzero(shapely.get_type_id(valid) == shapely.GeometryType.GEOMETRYCOLLECTION):
        parts = shapely.get_parts(shapely.get_parts(valid[n]))
        valid[n] = shapely.union_all(parts[shapely.get_dimensions(parts) == 2])
    return valid


def conflicts(outlines: Mapping[int, FloatArray], follows: Mapping[int, Sequence[int]]) -> dict[int, tuple[int, ...]]:
    """Lanes whose areas share more than :data:`MIN_CONFLICT_M2` although neither follows the other, sorted."""
    ids = list(outlines)
    shapes = lane_polygons(list(outlines.values()))
    found: dict[int, set[int]] = {lane: set() for lane in ids}
    if ids:
        first, second = shapely.STRtree(shapes).query(shapes, predicate="intersects")
        first, second = first[first < second], second[first < second]
        shared = shapely.area(shapely.intersection(shapes[first], shapes[second]))
        for i, j, area in zip(first, second, shared, strict=True):
            a, b = ids[int(i)], ids[int(j)]
            if area > MIN_CONFLICT_M2 and b not in follows[a] and a not in follows[b]:
                found[a].add(b)
                found[b].add(a)
    return {lane: tuple(sorted(others)) for lane, others in found.items()}


def _signed_area(ring: FloatArray) -> float:
    x, y = (ring - ring[0]).T
    return 0.5 * float((x * np.roll(y, -1)).sum() - (y * np.roll(x, -1)).sum())
