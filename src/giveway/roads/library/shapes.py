"""Pieces from which ways and lanes are put together."""

from __future__ import annotations

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.polylines import cubic_bezier, polyline
from giveway.roads.sketch import LaneSketch, lane_along

SPACING_M = 1.0
OPEN_SIDE = ("virtual", "")
SOLID = ("line_thin", "solid")
DASHED = ("line_thin", "dashed")
DIVIDER = ("line_thin", "solid_solid")
CURB = ("curbstone", "low")


def line(start: object, end: object, *, spacing_m: float = SPACING_M) -> FloatArray:
    """(P, 2) points about 1 m apart on a straight line between two points."""
    a, b = np.asarray(start, dtype=np.float64), np.asarray(end, dtype=np.float64)
    return np.linspace(a, b, max(int(np.hypot(*(b - a)) / spacing_m), 1) + 1)


def arc(radius_m: float, start_rad: float, end_rad: float, *, spacing_m: float = SPACING_M) -> FloatArray:
    """(P, 2) points about 1 m apart on a circle around the origin, counter-clockwise."""
    while end_rad <= start_rad:
        end_rad += 2 * np.pi
    angle = np.linspace(start_rad, end_rad, max(int(radius_m * (end_rad - start_rad) / spacing_m), 4) + 1)
    return radius_m * np.stack([np.cos(angle), np.sin(angle)], axis=1)


def bezier(p0: object, p1: object, p2: object, p3: object) -> FloatArray:
    """(P, 2) points about 1 m apart on a cubic Bezier curve with these control points."""
    a, b, c, d = (np.asarray(p, dtype=np.float64) for p in (p0, p1, p2, p3))
    length = np.hypot(*(b - a)) + np.hypot(*(c - b)) + np.hypot(*(d - c))
    return cubic_bezier(a, b, c, d, np.linspace(0.0, 1.0, max(int(length / SPACING_M), 4) + 1))


def bend(start: FloatArray, leaving: FloatArray, end: FloatArray, arriving: FloatArray) -> FloatArray:
    """(P, 2) smooth curve (cubic Bezier) between two points with given unit directions."""
    reach = 0.45 * float(np.hypot(*(end - start)))
    b, c = start + reach * leaving, end - reach * arriving
    return cubic_bezier(start, b, c, end, np.linspace(0.0, 1.0, max(int(2.5 * reach / SPACING_M), 6) + 1))


def joined(*parts: FloatArray) -> FloatArray:
    """One way from pieces that touch."""
    points = np.concatenate(parts)
    apart = np.concatenate([[True], np.hypot(*np.diff(points, axis=0).T) > 0.05])
    return points[apart]


def direction(angle_rad: float) -> FloatArray:
    """(2,) unit vector."""
    return np.array([np.cos(angle_rad), np.sin(angle_rad)])


def lane(
    name: str,
    center: FloatArray,
    *,
    width_m: float,
    limit_mps: float,
    ends_rad: tuple[float, float] | None = None,
    left: tuple[str, str] = OPEN_SIDE,
    right: tuple[str, str] = OPEN_SIDE,
) -> LaneSketch:
    """A lane of constant width around a center line.

    Args:
        name: of the lane.
        center: (C, 2) in driving direction [m].
        width_m: between the bounds.
        limit_mps: speed limit.
        ends_rad: exact directions at both ends. Lanes follow each other only where their bounds meet, and the
            direction of the first and last segment of a sampled curve is not exact enough for that.
        left: type and subtype of the left bound.
        right: type and subtype of the right bound.
    """
    course = np.array(polyline(center, where=name).vertex_heading)
    if ends_rad is not None:
        course[0], course[-1] = ends_rad
    limit = f"{3.6 * limit_mps:.6g}kmh"
    return lane_along(name, center, width_m=width_m, heading=course, speed_limit=limit, left=left, right=right)


def across(center: FloatArray, at: int, width_m: float) -> FloatArray:
    """(2, 2) a stop line across a lane at one point of its center line."""
    before, after = center[max(at - 1, 0)], center[min(at + 1, len(center) - 1)]
    way = after - before
    normal = np.array([-way[1], way[0]]) / np.hypot(way[0], way[1])
    return center[at] + 0.5 * width_m * np.stack([-normal, normal])
