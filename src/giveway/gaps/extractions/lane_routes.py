"""Which lanes a vehicle used, and where two such routes contest a piece of road."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from giveway.core.arrays import FloatArray, IntArray
from giveway.core.lanes import LaneMap
from giveway.core.polylines import Polyline, crossings
from giveway.core.tracks import Tracks
from giveway.roads.queries import PreparedMap, prepare

MIN_FRAMES_ON_LANE = 3
MAX_BRIDGED = 4  # lanes that may be missing between two that were seen
MERGE_M = 1.0  # center lines this close have merged
SEARCH_STEP_M = 0.5

Route = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """Where a yielding route meets one with priority.

    Attributes:
        s_yield: arc length on the yielding route [m].
        s_priority: arc length on the other [m].
    """

    s_yield: float
    s_priority: float


class RouteBook:
    """Routes of vehicles on one map and the conflicts between them, each computed once.

    Args:
        road: the map.
    """

    def __init__(self, road: LaneMap) -> None:
        self.map: PreparedMap = prepare(road)
        self._centers: dict[Route, Polyline] = {}
        self._conflicts: dict[tuple[Route, Route], Conflict | None] = {}

    def routes(self, tracks: Tracks) -> list[Route | None]:
        """The connected sequence of lanes each agent used; None where it left the lanes or jumped between them."""
        lane = self.map.match(tracks.xy, tracks.heading).lane
        return [self._route(lane[k, tracks.observed[k]]) for k in range(tracks.num_agents)]

    def along(self, tracks: Tracks, routes: list[Route | None]) -> FloatArray:
        """(A, T) arc length of every agent on its own route [m]; NaN without one or where not recorded."""
        s = np.full(tracks.observed.shape, np.nan)
        for k, route in enumerate(routes):
            if route is not None:
                seen = tracks.observed[k]
                s[k, seen] = self.center(route).project(tracks.xy[k, seen]).s
        return s

    def shift(self, route: Route, other: Route) -> float | None:
        """What arc lengths on ``other`` must be increased by to be arc lengths on ``route``; None if none is shared."""
        for k, lane in enumerate(route):
            if lane in other:
                return self._start(route, k) - self._start(other, other.index(lane))
        return None

    def _start(self, route: Route, place: int) -> float:
        """Arc length at which a lane of a route begins."""
        return sum(self.map.centers[lane].length_m for lane in route[:place])

    def center(self, route: Route) -> Polyline:
        """Center line of a route."""
        if route not in self._centers:
            self._centers[route] = self.map.center_of(route)
        return self._centers[route]

    def conflict(self, yielding: Route, priority: Route) -> Conflict | None:
        """First point of a yielding route that it contests with a route that has priority by a rule of the map."""
        key = (yielding, priority)
        if key not in self._conflicts:
            self._conflicts[key] = self._find(yielding, priority)
        return self._conflicts[key]

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

    def _find(self, yielding: Route, priority: Route) -> Conflict | None:
        lanes = self.map.road.lanes
        giving_way = [k for k, lane in enumerate(yielding) if set(lanes[lane].yields_to) & set(priority)]
        if not giving_way:
            return None
        start = self._start(yielding, giving_way[0])
        own, other = self.center(yielding), self.center(priority)
        points = [(c.s_first, c.s_second) for c in crossings(own, other) if c.s_first >= start]
        at = np.arange(start, own.length_m, SEARCH_STEP_M)
        projected = other.project(own.at(at).xy)
        near = (np.abs(projected.d) < MERGE_M) & (projected.s >= 0) & (projected.s <= other.length_m)
        if near.any():
            points.append((float(at[near][0]), float(projected.s[near][0])))
        if not points:
            return None
        s_yield, s_priority = min(points)
        return Conflict(s_yield=s_yield, s_priority=s_priority)
