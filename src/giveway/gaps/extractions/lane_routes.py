"""Which lanes a vehicle used, and where two such routes contest a piece of road."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from giveway.core.arrays import IntArray
from giveway.core.lanes import LaneMap
from giveway.core.polylines import Polyline
from giveway.core.tracks import Tracks
from giveway.gaps.references import Reference, contested
from giveway.roads.path_conflicts import path_of_points
from giveway.roads.queries import PreparedMap, prepare

MIN_FRAMES_ON_LANE = 3
MAX_BRIDGED = 4  # lanes that may be missing between two that were seen
BEFORE_LANE_M = 5.0  # from where on before a lane that gives way its center line is looked at

PART_LANES = (6, 4, 3, 2, 1)  # in how many lanes rare routes must agree to be taken together
Route = tuple[int, ...]


class RouteBook:
    """Routes of vehicles on one map and the conflicts between them, each computed once.

    Args:
        road: the map.
    """

    def __init__(self, road: LaneMap) -> None:
        self.map: PreparedMap = prepare(road)
        self._centers: dict[Route, Polyline] = {}
        self._references: dict[tuple[Route, Route], tuple[Reference, Reference] | None] = {}

    def routes(self, tracks: Tracks) -> list[Route | None]:
        """The connected sequence of lanes each agent used; None where it left the lanes or jumped between them."""
        lane = self.map.match(tracks.xy, tracks.heading).lane
        return [self._route(lane[k, tracks.observed[k]]) for k in range(tracks.num_agents)]

    def start_of(self, route: Route, place: int) -> float:
        """Arc length at which a lane of a route begins."""
        return sum(self.map.centers[lane].length_m for lane in route[:place])

    def center(self, route: Route) -> Polyline:
        """Center line of a route."""
        if route not in self._centers:
            self._centers[route] = self.map.center_of(route)
        return self._centers[route]

    def gives_way(self, yielding: Route, priority: Route) -> int | None:
        """Place in a route of the first lane that must give way to a lane of another one by a rule of the map."""
        lanes = self.map.road.lanes
        return next((k for k, lane in enumerate(yielding) if set(lanes[lane].yields_to) & set(priority)), None)

    def parts(self, yielding: Route, priority: Route) -> tuple[list[tuple[Route, Route]], tuple[float, float]]:
        """Parts of two routes from the lane that must give way and the first lane it gives way to, longest first.

        Returns:
            The parts, and where they begin on the center lines of both routes.
        """
        place = self.gives_way(yielding, priority)
        assert place is not None
        over = self.map.road.lanes[yielding[place]].yields_to
        first = next(k for k, lane in enumerate(priority) if lane in over)
        parts = [(yielding[place : place + n], priority[first : first + n]) for n in PART_LANES]
        return parts, (self.start_of(yielding, place), self.start_of(priority, first))

    def references(self, yielding: Route, priority: Route) -> tuple[Reference, Reference] | None:
        """Center lines of two routes with the stretches they contest from where the first one must give way."""
        key = (yielding, priority)
        if key not in self._references:
            self._references[key] = self._find(yielding, priority)
        return self._references[key]

    def _route(self, lanes: IntArray) -> Route | None:
        known = lanes[lanes >= 0]
        if len(known) == 0:
            return None
        edges = np.flatnonzero(np.diff(known)) + 1
        runs = np.split(known, edges)
        seen = [int(run[0]) for run in runs if len(run) >= MIN_FRAMES_ON_LANE]
        route: list[int] = []
        for lane in seen:
            if lane in route:
                continue
            if not route or lane in self.map.road.lanes[route[-1]].successors:
                route.append(lane)
                continue
            bridge = self.map.route(route[-1], lane)
            if bridge is None or len(bridge) > MAX_BRIDGED + 2:
                continue
            route.extend(bridge[1:])
        return tuple(route) if len(set(route)) == len(route) else None

    def _find(self, yielding: Route, priority: Route) -> tuple[Reference, Reference] | None:
        place = self.gives_way(yielding, priority)
        if place is None:
            return None
        center, other = self.center(yielding), self.center(priority)
        start = max(self.start_of(yielding, place) - BEFORE_LANE_M, 0.0)
        rest = path_of_points(center.between(start, center.length_m).points)
        own, their = contested(rest, path_of_points(other.points))
        return Reference(line=center, in_m=start + own.in_m, out_m=start + own.out_m), replace(their, line=other)
