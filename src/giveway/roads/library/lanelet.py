"""Any lanelet2 or OpenDRIVE map as a road: all ways from where traffic comes in to where it leaves."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.errors import MapError
from giveway.core.lanes import LaneMap
from giveway.roads.lanelet2 import read_lanelet2
from giveway.roads.opendrive import read_opendrive
from giveway.roads.queries import prepare
from giveway.roads.road import MIN_WAY_M, Road

MAX_WAYS = 64
LONGEST_WAY_M = 400.0
DEFAULT_LIMIT_MPS = 11.0


def lanelet_road(path: Path) -> Road:
    """The road of a map file.

    Raises:
        MapError: no way of at least 40 m leads through the map.
    """
    return road_of_map(read_opendrive(path) if path.suffix == ".xodr" else read_lanelet2(path))


def road_of_map(lanes: LaneMap) -> Road:
    """The road of a lane map; the longest 64 ways are kept, shorter ones than 40 m are not."""
    prepared = prepare(lanes)
    entries = [n for n, lane in lanes.lanes.items() if not lane.predecessors] or list(lanes.lanes)
    routes = [r for n in entries for r in prepared.routes_from(n, length_m=LONGEST_WAY_M)]
    named = [(route, _spread(prepared.center_of(route).points)) for route in routes]
    long = [(route, way) for route, way in named if _length(way) >= MIN_WAY_M]
    long.sort(key=lambda item: (-_length(item[1]), item[0]))
    kept = long[:MAX_WAYS]
    if not kept:
        raise MapError(
            "no way through this map is long enough to drive on", where=lanes.name, found=f"{len(routes)} routes"
        )
    limits = [lane.speed_limit_mps for lane in lanes.lanes.values() if lane.speed_limit_mps]
    widths = [float(np.median(_widths(lane.left, lane.right))) for lane in lanes.lanes.values()]
    return Road(
        name=lanes.name,
        ways=tuple(way for _, way in kept),
        lane_width_m=float(np.clip(np.median(widths), 2.5, 5.0)),
        speed_limit_mps=float(np.median(limits)) if limits else DEFAULT_LIMIT_MPS,
        lane_changes=_changes(lanes, [route for route, _ in kept]),
        ego_ways=tuple(range(len(kept))),
        ego_start_m=(5.0, 40.0),
        drivable=prepared.drivable,
        lane_map=lanes,
        routes=tuple(route for route, _ in kept),
    )


def _spread(points: FloatArray) -> FloatArray:
    """Points at least half a meter apart, both ends kept."""
    kept = [points[0]]
    for point in points[1:]:
        if np.hypot(*(point - kept[-1])) >= 0.5:
            kept.append(point)
    return np.array(kept)


def _length(way: FloatArray) -> float:
    return float(sum(np.hypot(*(b - a)) for a, b in pairwise(way)))


def _widths(left: FloatArray, right: FloatArray) -> FloatArray:
    return np.array([np.hypot(*(right - point).T).min() for point in left])


def _changes(lanes: LaneMap, routes: list[tuple[int, ...]]) -> tuple[tuple[int, int], ...]:
    """Pairs of ways that have lanes beside each other."""
    pairs: list[tuple[int, int]] = []
    for a, first in enumerate(routes):
        lefts = {lanes.lanes[n].left_neighbor for n in first} - {None}
        pairs += [(a, b) for b, second in enumerate(routes) if a != b and lefts & set(second)]
    return tuple(pairs)
