"""What is drawn of a road: areas, markings, give-way teeth, arrows along the lanes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import shapely

from giveway.core import elementary
from giveway.core.arrays import FloatArray
from giveway.core.lanes import Lane, LaneMap, Line

ARROW_EVERY_M = 18.0
MIN_ARROW_LANE_M = 8.0
"""Shorter lanes carry no arrow."""
TEETH_STEP_M = 0.5
WIDENS = 1.5
"""Where a lane is wider than this times its beginning it opens into a junction and carries no teeth."""
STOP_LINE_NEAR_M = 8.0
"""A stop line this near replaces the teeth."""
MARKINGS = ("line_thin", "line_thick")


def area_of(lane: Lane) -> FloatArray:
    """(P, 2) outline of a lane."""
    return np.concatenate([lane.left, lane.right[::-1]])


def arrows(road: LaneMap) -> FloatArray:
    """(N, 3) x, y, heading of direction arrows, on lanes that no other lane crosses."""
    found: list[tuple[float, float, float]] = []
    for lane in road.lanes.values():
        line = shapely.LineString(lane.center)
        if lane.conflicts or line.length < MIN_ARROW_LANE_M:
            continue
        count = max(1, round(line.length / ARROW_EVERY_M))
        for s in (np.arange(count) + 0.5) * line.length / count:
            a, b = line.interpolate(s - 0.25), line.interpolate(s + 0.25)
            found.append((0.5 * (a.x + b.x), 0.5 * (a.y + b.y), float(elementary.arctan2(b.y - a.y, b.x - a.x))))
    return np.array(found, dtype=np.float64).reshape(-1, 3)


def teeth(road: LaneMap) -> list[FloatArray]:
    """(2, 2) left and right end of every give-way line.

    It lies across a lane that yields, where it first touches a lane that has priority, else at its end; where the map
    has a stop line there are no teeth.
    """
    stops = shapely.MultiLineString([line.points for line in road.lines if _is_stop(line)])
    found: list[FloatArray] = []
    for lane in road.lanes.values():
        others = [_polygon(road.lanes[n]) for n in lane.yields_to if n in road.lanes]
        if not others:
            continue
        across = _sections(lane)
        width = np.hypot(*np.moveaxis(across[:, 1] - across[:, 0], -1, 0))
        opens = np.flatnonzero(width > WIDENS * width[0])
        across = across[: max(int(opens[0]), 1)] if opens.size else across
        touches = shapely.intersects(shapely.linestrings(across), shapely.union_all(others).buffer(-0.1))
        at = across[max(int(touches.argmax()) - 1, 0)] if touches.any() else across[-1]
        if stops.is_empty or stops.distance(shapely.Point(at.mean(axis=0))) > STOP_LINE_NEAR_M:
            found.append(at)
    return found


def markings(road: LaneMap) -> list[Line]:
    """Lines to draw; on a map without any, dashed ones between neighbors and where a yielding lane joins another."""
    drawn = [line for line in road.lines if line.type != "virtual" and line.points.shape[0] > 1]
    return drawn if any(line.type in MARKINGS for line in drawn) else [*drawn, *_made_up(road)]


def _made_up(road: LaneMap) -> Iterator[Line]:
    for lane in road.lanes.values():
        if lane.left_neighbor is not None:
            yield Line(id=0, points=lane.left, type="line_thin", subtype="dashed")
        for other in (road.lanes[n] for n in lane.yields_to if n in road.lanes):
            for bound in (other.left, other.right):
                inside = shapely.intersection(shapely.LineString(bound), _polygon(lane))
                for part in shapely.get_parts(inside):
                    if part.geom_type == "LineString" and part.length > 1.0:
                        yield Line(id=0, points=np.asarray(part.coords), type="line_thin", subtype="dashed")


def _is_stop(line: Line) -> bool:
    return line.type == "stop_line" and line.points.shape[0] > 1


def _polygon(lane: Lane) -> shapely.Geometry:
    return shapely.make_valid(shapely.Polygon(area_of(lane)))


def _sections(lane: Lane) -> FloatArray:
    """(N, 2, 2) left and right end of cross sections along a lane."""
    count = max(2, int(shapely.LineString(lane.center).length / TEETH_STEP_M))
    share = np.linspace(0.0, 1.0, count)
    sides = [
        shapely.get_coordinates(shapely.line_interpolate_point(shapely.LineString(bound), share, normalized=True))
        for bound in (lane.left, lane.right)
    ]
    return np.stack(sides, axis=1)
