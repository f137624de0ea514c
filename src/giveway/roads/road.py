"""A road as whole ways through it, with the lanes, markings and rules it is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import shapely

from giveway.core.arrays import BoolArray, FloatArray
from giveway.core.errors import UsageError
from giveway.core.lanes import Lane, LaneMap
from giveway.roads.sketch import RoadSketch

MIN_WAY_M = 40.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Road:
    """Ways through a piece of road.

    A *way* is a whole lane-true path from where traffic comes in to where it leaves: a lane of a motorway, or "from the
    south, left" at a junction. Lane coordinates (s, d) are measured along one way.

    Attributes:
        name: registered name or the name of the map.
        ways: center line of each way, (P, 2) [m].
        lane_width_m: of all ways.
        shoulder_m: paved beyond the outer lines.
        speed_limit_mps: of the road.
        lane_changes: pairs (way, way on its left) between which cars may change where they run side by side.
        ego_ways: ways that the ego may take.
        ego_start_m: range of the ego's start along its way [m]; the upper end is cut at a third of the way.
        drivable: area; the ways at full width if None.
        lane_map: lanes with rules; one lane per way and no rules if None.
        routes: ids of the lanes of each way, in driving order; empty if the ways themselves are the lanes.
        lane_ids: lane name to id, for roads that were drawn with names.
        sketch: the drawing that :mod:`giveway.roads.writer` writes as a lanelet2 map; None if the road was read from
            one or has no drawing.
    """

    name: str
    ways: tuple[FloatArray, ...]
    lane_width_m: float = 3.5
    shoulder_m: float = 0.5
    speed_limit_mps: float = 13.9
    lane_changes: tuple[tuple[int, int], ...] = ()
    ego_ways: tuple[int, ...] = (0,)
    ego_start_m: tuple[float, float] = (10.0, 30.0)
    drivable: shapely.Geometry | None = None
    lane_map: LaneMap | None = None
    routes: tuple[tuple[int, ...], ...] = ()
    lane_ids: Mapping[str, int] = field(default_factory=dict[str, int])
    sketch: RoadSketch | None = None

    def __post_init__(self) -> None:
        if not self.ways or not self.ego_ways:
            raise UsageError("a road needs at least one way for the ego", where=self.name)
        for number, way in enumerate(self.ways):
            length = float(np.hypot(*np.diff(way, axis=0).T).sum())
            if not np.isfinite(length) or length < MIN_WAY_M:
                raise UsageError(
                    "a way through the road is too short to drive on",
                    where=f"{self.name}, way {number}",
                    found=f"{length:.1f} m, at least {MIN_WAY_M:g} m are needed",
                )

    def area(self) -> shapely.Geometry:
        """The drivable area."""
        if self.drivable is not None:
            return self.drivable
        half = 0.5 * self.lane_width_m + self.shoulder_m
        return shapely.union_all([shapely.LineString(w).buffer(half, cap_style="flat") for w in self.ways])

    def gives_way(self) -> BoolArray:
        """(L, L) whether the first way must give way to the second by a rule of the map, anywhere along it."""
        lanes = self.map().lanes
        routes = self.routes or tuple((n,) for n in range(len(self.ways)))
        yields = [frozenset(other for lane in route for other in lanes[lane].yields_to) for route in routes]
        return np.array([[bool(rules & set(route)) for route in routes] for rules in yields], dtype=np.bool_)

    def drawing(self) -> RoadSketch:
        """What :mod:`giveway.roads.writer` writes as a map.

        Raises:
            UsageError: the road was not drawn.
        """
        if self.sketch is None:
            raise UsageError("this road has no drawing that could be written as a map", where=self.name)
        return self.sketch

    def map(self) -> LaneMap:
        """Lanes, with their rules where the road has any."""
        if self.lane_map is not None:
            return self.lane_map
        lanes = {n: _lane(n, way, 0.5 * self.lane_width_m, self.speed_limit_mps) for n, way in enumerate(self.ways)}
        return LaneMap(name=self.name, lanes=lanes)


def sides_of(center: FloatArray, half_width_m: float) -> tuple[FloatArray, FloatArray]:
    """Left and right bound of a lane of constant width around a center line, (P, 2) each [m]."""
    way = np.gradient(center, axis=0)
    normal = np.stack([-way[:, 1], way[:, 0]], axis=1) / np.hypot(way[:, 0], way[:, 1])[:, None]
    return center + half_width_m * normal, center - half_width_m * normal


def _lane(number: int, center: FloatArray, half_width_m: float, limit_mps: float) -> Lane:
    left, right = sides_of(center, half_width_m)
    return Lane(id=number, left=left, right=right, center=center, speed_limit_mps=limit_mps)
