"""Routes as lines for geometry at preparation time: points, arc length, direction, lanes of the map below them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import shapely

from giveway.core import elementary
from giveway.core.arrays import FloatArray, IntArray
from giveway.core.kernels import njit
from giveway.roads.queries import PreparedMap
from giveway.roads.routes import CarPath

Route = CarPath | FloatArray
"""A tabulated path, or the points (P, 2) of a center line [m]."""

THIN_M = 0.002
"""Rows of a tabulated path that are this near to the chord over them are left out: a straight needs none."""

BLOCK = 16
"""Segments of a line that are skipped together where they are too far away to be nearest."""

LANE_SPACING_M = 1.0
"""Spacing of the points at which the lane below a route is looked up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteLine:
    """A route with P points, in order.

    Attributes:
        xy: (P, 2) [m].
        s: (P,) arc length: of a tabulated path its own, of points the length of the chords [m].
        heading: (P,) direction of travel [rad], unwrapped.
        shape: the shapely line.
        lane: (K,) lane of the map every meter, -1 off all lanes; empty without a map.
    """

    xy: FloatArray
    s: FloatArray
    heading: FloatArray
    shape: shapely.LineString
    lane: IntArray

    @property
    def length_m(self) -> float:
        """Arc length of the whole route."""
        return float(self.s[-1])

    def locate(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Arc length (K,) of the point of the route nearest to each of (K, 2) points, in the route, and distance."""
        return _nearest(self.xy, self.s, np.ascontiguousarray(points))

    def at(self, s: FloatArray) -> FloatArray:
        """(K, 2) points at arc lengths, clamped to both ends."""
        return np.stack([np.interp(s, self.s, self.xy[:, axis]) for axis in (0, 1)], axis=1)

    def turn(self, start_m: float, end_m: float) -> float:
        """Change of heading between two arc lengths, clamped to both ends; positive to the left [rad]."""
        a, b = np.interp([start_m, end_m], self.s, self.heading)
        return float(b - a)

    def lanes(self, start_m: float, end_m: float) -> list[int]:
        """Lanes of the map between two arc lengths, one per meter, without places off all lanes."""
        part = self.lane[max(int(start_m / LANE_SPACING_M), 0) : max(int(end_m / LANE_SPACING_M) + 1, 0)]
        return [n for n in part.tolist() if n >= 0]


def route_line(route: Route, road: PreparedMap | None = None) -> RouteLine | None:
    """The line of a route; None if it has fewer than two distinct points."""
    if isinstance(route, CarPath):
        rows = _kept_rows(route.x, route.y, THIN_M)
        xy = np.stack([route.x[rows], route.y[rows]], axis=1)
        s, heading = route.step_m * rows, route.heading[rows]
    else:
        gaps = np.hypot(*np.diff(route, axis=0).T)
        xy = route[np.concatenate([[True], gaps > 0.0])]
        if len(xy) < 2:
            return None
        s = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(xy, axis=0).T))])
        way = np.gradient(xy, s, axis=0)
        heading = np.unwrap(elementary.arctan2(way[:, 1], way[:, 0]))
    lane = np.zeros(0, dtype=np.int64)
    if road is not None:
        at = np.arange(0.0, s[-1] + LANE_SPACING_M, LANE_SPACING_M)
        points = np.stack([np.interp(at, s, xy[:, axis]) for axis in (0, 1)], axis=1)
        lane = road.match(points, np.interp(at, s, heading)).lane
    return RouteLine(xy=xy, s=s, heading=heading, shape=shapely.LineString(xy), lane=lane)


def arc_lengths(path: CarPath, points: FloatArray) -> FloatArray:
    """(K,) arc length of the point of a path nearest to each of (K, 2) points; NaN for NaN."""
    table = np.stack([path.x, path.y], axis=1)
    out = np.full(len(points), np.nan)
    known = np.isfinite(points).all(axis=1)
    out[known] = _nearest(table, path.step_m * np.arange(len(table)), np.ascontiguousarray(points[known]))[0]
    return out


@njit(cache=True, nogil=True)
def _nearest(xy: FloatArray, s: FloatArray, points: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Arc length and distance of the nearest point of a line (P, 2) with arc lengths (P,), for points (K, 2)."""
    segments = xy.shape[0] - 1
    at, gap = np.empty(points.shape[0]), np.empty(points.shape[0])
    last = 0  # the block of the point before: looked at first, so that nearly all others can be skipped
    for k in range(points.shape[0]):
        x, y = points[k, 0], points[k, 1]
        best = np.inf
        blocks = (segments + BLOCK - 1) // BLOCK
        for turn in range(blocks + 1):
            block = last if turn == 0 else turn - 1
            begin = block * BLOCK
            end = min(begin + BLOCK, segments)
            # No point of the block is nearer than its first one by more than its length.
            reach = np.sqrt(best) + (s[end] - s[begin]) * 1.01
            if (xy[begin, 0] - x) ** 2 + (xy[begin, 1] - y) ** 2 > reach * reach:
                continue
            for i in range(begin, end):
                ux, uy = xy[i + 1, 0] - xy[i, 0], xy[i + 1, 1] - xy[i, 1]
                wx, wy = x - xy[i, 0], y - xy[i, 1]
                share = min(max((wx * ux + wy * uy) / (ux * ux + uy * uy), 0.0), 1.0)
                squared = (wx - share * ux) ** 2 + (wy - share * uy) ** 2
                if squared < best:
                    best = squared
                    at[k] = s[i] + share * (s[i + 1] - s[i])
                    last = block
        gap[k] = np.sqrt(best)
    return at, gap


@njit(cache=True, nogil=True)
def _kept_rows(x: FloatArray, y: FloatArray, near: float) -> IntArray:
    """Rows of a table that describe its curve: from each one the chord reaches as far as all rows below stay near it.

    A row is near if twice the area of the triangle with the ends of the chord is below ``near`` times its length; at
    most 64 rows are spanned.
    """
    count = x.size
    kept = np.empty(count, dtype=np.int64)
    kept[0] = 0
    size = 1
    at = 0
    while at < count - 1:
        end = at + 1
        while end + 1 < count and end + 1 - at <= 64:
            ux, uy = x[end + 1] - x[at], y[end + 1] - y[at]
            length = np.hypot(ux, uy)
            fits = True
            for k in range(at + 1, end + 1):
                if abs((x[k] - x[at]) * uy - (y[k] - y[at]) * ux) > near * length:
                    fits = False
                    break
            if not fits:
                break
            end += 1
        kept[size] = end
        size += 1
        at = end
    return kept[:size]
