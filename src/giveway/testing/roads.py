"""Roads of the library as small worlds for tests: paths and lanes by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from giveway.core.lanes import LaneMap
from giveway.core.polylines import Polyline, polyline
from giveway.roads.library import crossing, merge, roundabout, straight
from giveway.roads.road import Road


@dataclass(frozen=True, slots=True, kw_only=True)
class TestRoad:
    """A road and the paths one can drive on it.

    Attributes:
        road: lane map.
        lane_ids: lane name to id.
        paths: name of a way through the road to its center line.
    """

    __test__ = False  # not a test, whatever its name

    road: LaneMap
    lane_ids: Mapping[str, int]
    paths: dict[str, Polyline]


def straight_road() -> TestRoad:
    """Two lanes eastward, 120 m long, side by side; paths ``right`` and ``left``."""
    return _named(straight.straight_road(2, length_m=120.0), ("right", "left"))


def crossing_road() -> TestRoad:
    """Two lanes that cross at the origin: ``east`` has priority, ``north`` gives way."""
    return _named(crossing.crossing_road(), ("east", "north"))


def merge_road() -> TestRoad:
    """A ramp that joins a lane eastward at the origin: ``main`` has priority, ``ramp`` gives way."""
    road = merge.merge_road(lanes=1, length_m=160.0, ramp_in_m=80.0, acceleration_m=0.0, center=(-80.0, 0.0))
    return _named(road, ("main", "ramp"))


def roundabout_road() -> TestRoad:
    """Four arms (0 = south, counter-clockwise) around a ring; paths ``"0-2"`` and so on, from arm to arm."""
    names = [f"{start}-{(start + turns) % 4}" for start in range(4) for turns in (1, 2, 3)]
    return _named(roundabout.roundabout_road(), names)


def _named(road: Road, names: Sequence[str]) -> TestRoad:
    paths = {name: polyline(way) for name, way in zip(names, road.ways, strict=True)}
    return TestRoad(road=road.map(), lane_ids=road.lane_ids, paths=paths)
