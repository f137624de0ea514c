"""Sketches of lane maps, so that tests can write again what was read."""

from __future__ import annotations

from math import isclose

from giveway.core.arrays import FloatArray
from giveway.core.lanes import LaneMap
from giveway.roads.sketch import LaneSketch, LineSketch, RoadSketch, RuleSketch
from giveway.roads.speeds import KMH, MPH


def sketch_of(road: LaneMap) -> RoadSketch:
    """The sketch of a lane map, for writing it again; lane names are the ids as text.

    Bounds lose their line types where the map does not know them any more; rules become one per yielding lane.
    """
    types = {_key(line.points): (line.type, line.subtype) for line in road.lines}
    lanes = [
        LaneSketch(
            name=str(lane.id),
            left=_line(lane.left, types),
            right=_line(lane.right, types),
            speed_limit=_sign(lane.speed_limit_mps),
            subtype=lane.tags.get("subtype", "road"),
            region=lane.tags.get("region", "us-ca"),
        )
        for lane in road.lanes.values()
    ]
    rules = [
        RuleSketch(yielding=(str(lane.id),), priority=tuple(str(other) for other in lane.yields_to))
        for lane in road.lanes.values()
        if lane.yields_to
    ]
    drawn = {_key(bound) for lane in road.lanes.values() for bound in (lane.left, lane.right)}
    lines = [
        LineSketch(points=line.points, type=line.type, subtype=line.subtype)
        for line in road.lines
        if _key(line.points) not in drawn
    ]
    return RoadSketch(lanes=tuple(lanes), rules=tuple(rules), keepouts=road.keepouts, lines=tuple(lines))


def _key(points: FloatArray) -> tuple[bytes, bytes]:
    one, other = points.tobytes(), points[::-1].tobytes()
    return (one, other) if one < other else (other, one)


def _line(points: FloatArray, types: dict[tuple[bytes, bytes], tuple[str, str]]) -> LineSketch:
    type_, subtype = types.get(_key(points), ("virtual", ""))
    return LineSketch(points=points, type=type_, subtype=subtype)


def _sign(speed_mps: float | None) -> str:
    if speed_mps is None:
        return ""
    for unit, factor in (("mph", MPH), ("kmh", KMH)):
        value = speed_mps / factor
        if isclose(value, round(value), rel_tol=1e-9):
            return f"{round(value)}{unit}"
    return f"{speed_mps / KMH:.10g}kmh"
