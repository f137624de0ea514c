"""Questions to a lane map: where is this car, how far off the road, which way can it go.

Answers need indices over the map; :func:`prepare` builds them once and hands them back as a value.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import shapely

from giveway.core.arrays import AnyArray, FloatArray, IntArray
from giveway.core.errors import UnknownNameError
from giveway.core.frames import wrap_angle
from giveway.core.lanes import LaneMap
from giveway.core.polylines import Polyline, polyline
from giveway.roads.topology import lane_polygons, outline

ON_LANE_M = 1e-6
"""A point this near to a lane is on it, so that the end of a center line is on its lane despite rounding."""

OFFSET_COST_RAD_PM = 0.1
"""A meter beside the center line counts as much as this many radians of wrong heading when lanes lie on each other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneMatch:
    """Where on the lane graph points are.

    Attributes:
        lane: (...) lane id, -1 off all lanes.
        s: (...) arc length on the center line of the lane [m]; NaN off all lanes.
        d: (...) offset from it, positive to the left [m]; NaN off all lanes.
    """

    lane: IntArray
    s: FloatArray
    d: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedMap:
    """A lane map with its indices; make one with :func:`prepare`.

    Attributes:
        road: the map.
        lane_ids: (L,) in the order of ``areas``.
        areas: (L,) shapely area of each lane.
        drivable: shapely area of all lanes without the keep-outs.
        centers: center line of each lane.
    """

    road: LaneMap
    lane_ids: IntArray
    areas: AnyArray
    drivable: shapely.Geometry
    centers: Mapping[int, Polyline]
    _lane_tree: shapely.STRtree
    _edge_tree: shapely.STRtree

    def lanes_at(self, xy: FloatArray) -> list[tuple[int, ...]]:
        """For each of (N, 2) points, the ids of all lanes it lies on, sorted; NaN lies on none."""
        found: list[list[int]] = [[] for _ in range(len(xy))]
        for point, lane in zip(*self._hits(xy), strict=True):
            found[int(point)].append(int(self.lane_ids[lane]))
        return [tuple(sorted(lanes)) for lanes in found]

    def match(self, xy: FloatArray, heading: FloatArray | None = None) -> LaneMatch:
        """The lane each point is on.

        Where lanes lie on each other the best one has the smallest heading difference plus 0.1 rad per meter of offset;
        without a heading (or where it is NaN) only the offset counts. Ties go to the smaller id.

        Args:
            xy: (..., 2) points [m].
            heading: (...) directions of travel [rad].
        """
        batch = xy.shape[:-1]
        flat = xy.reshape(-1, 2)
        course = np.full(len(flat), np.nan) if heading is None else np.broadcast_to(heading, batch).ravel()
        best = np.full(len(flat), np.inf)
        lane, s, d = np.full(len(flat), -1, dtype=np.int64), np.full(len(flat), np.nan), np.full(len(flat), np.nan)
        points, lanes = self._hits(flat)
        for index in np.unique(lanes):
            n = int(self.lane_ids[index])
            here = points[lanes == index]
            frenet = self.centers[n].project(flat[here])
            turn = np.abs(wrap_angle(course[here] - self.centers[n].at(frenet.s).heading))
            cost = np.where(np.isnan(turn), 0.0, turn) + OFFSET_COST_RAD_PM * np.abs(frenet.d)
            better = cost < best[here]
            won = here[better]
            best[won], lane[won], s[won], d[won] = cost[better], n, frenet.s[better], frenet.d[better]
        return LaneMatch(lane=lane.reshape(batch), s=s.reshape(batch), d=d.reshape(batch))

    def off_road(self, xy: FloatArray) -> FloatArray:
        """(...) signed distance to the edge of the drivable area [m]: negative on it, positive off it, NaN for NaN."""
        flat = np.ascontiguousarray(xy.reshape(-1, 2))
        out = np.full(len(flat), np.nan)
        known = np.flatnonzero(np.isfinite(flat).all(axis=1))
        points = shapely.points(flat[known])
        if len(known):
            (hits, _), gap = self._edge_tree.query_nearest(points, return_distance=True, all_matches=False)
            inside = shapely.contains_xy(self.drivable, flat[known, 0], flat[known, 1])
            out[known[hits]] = np.where(inside[hits], -gap, gap)
        return out.reshape(xy.shape[:-1])

    def route(self, start: int, goal: int) -> tuple[int, ...] | None:
        """The shortest sequence of lanes from ``start`` to ``goal`` along successors, both included; None without one.

        Raises:
            UnknownNameError: if either lane does not exist.
        """
        self._check(start, goal)
        queue: list[tuple[float, tuple[int, ...]]] = [(0.0, (start,))]
        done: set[int] = set()
        while queue:
            length, path = heapq.heappop(queue)
            lane = path[-1]
            if lane == goal:
                return path
            if lane in done:
                continue
            done.add(lane)
            for following in self.road.lanes[lane].successors:
                if following not in done:
                    heapq.heappush(queue, (length + self.centers[lane].length_m, (*path, following)))
        return None

    def routes_from(self, start: int, *, length_m: float) -> Iterator[tuple[int, ...]]:
        """All sequences of lanes from ``start`` that are ``length_m`` long or end before, without repeating a lane.

        Raises:
            UnknownNameError: if the lane does not exist.
        """
        self._check(start)
        stack: list[tuple[float, tuple[int, ...]]] = [(self.centers[start].length_m, (start,))]
        while stack:
            length, path = stack.pop()
            following = [n for n in self.road.lanes[path[-1]].successors if n not in path]
            if length >= length_m or not following:
                yield path
                continue
            stack += [(length + self.centers[n].length_m, (*path, n)) for n in reversed(following)]

    def center_of(self, route: Sequence[int]) -> Polyline:
        """The center lines of a route, one after the other."""
        self._check(*route)
        return polyline(np.concatenate([self.road.lanes[lane].center for lane in route]))

    def _hits(self, xy: FloatArray) -> tuple[IntArray, IntArray]:
        known = np.flatnonzero(np.isfinite(xy).all(axis=1))
        points, lanes = self._lane_tree.query(shapely.points(xy[known]), predicate="dwithin", distance=ON_LANE_M)
        return known[points], lanes

    def _check(self, *lanes: int) -> None:
        for lane in lanes:
            if lane not in self.road.lanes:
                raise UnknownNameError("lane", str(lane), [str(n) for n in self.road.lanes], where=self.road.name)


def prepare(road: LaneMap) -> PreparedMap:
    """Build the indices of a map; a few tens of milliseconds for a junction."""
    areas = lane_polygons([outline(lane.left, lane.right) for lane in road.lanes.values()])
    keepouts = shapely.union_all(lane_polygons(list(road.keepouts)))
    drivable = shapely.difference(shapely.union_all(areas), keepouts)
    shapely.prepare(drivable)
    return PreparedMap(
        road=road,
        lane_ids=np.array(list(road.lanes), dtype=np.int64),
        areas=areas,
        drivable=drivable,
        centers=MappingProxyType({n: polyline(lane.center) for n, lane in road.lanes.items()}),
        _lane_tree=shapely.STRtree(areas),
        _edge_tree=shapely.STRtree(_edges(drivable)),
    )


def _edges(area: shapely.Geometry) -> AnyArray:
    """Single segments of the boundary, so that the index is fine."""
    segments: list[FloatArray] = []
    for part in shapely.get_parts(shapely.boundary(area)):
        points = shapely.get_coordinates(part)
        segments.append(np.stack([points[:-1], points[1:]], axis=1))
    return np.asarray(shapely.linestrings(np.concatenate(segments))) if segments else np.array([], dtype=object)
