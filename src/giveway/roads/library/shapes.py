"""Pieces from which ways are put together."""

from __future__ import annotations

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.polylines import cubic_bezier

SPACING_M = 1.0


def line(start: tuple[float, float], end: tuple[float, float]) -> FloatArray:
    """(P, 2) points about 1 m apart on a straight line."""
    a, b = np.asarray(start, dtype=np.float64), np.asarray(end, dtype=np.float64)
    return np.linspace(a, b, max(int(np.hypot(*(b - a)) / SPACING_M), 1) + 1)


def arc(radius_m: float, start_rad: float, end_rad: float) -> FloatArray:
    """(P, 2) points on a circle around the origin, counter-clockwise."""
    while end_rad <= start_rad:
        end_rad += 2 * np.pi
    angle = np.linspace(start_rad, end_rad, max(int(radius_m * (end_rad - start_rad) / SPACING_M), 4) + 1)
    return radius_m * np.stack([np.cos(angle), np.sin(angle)], axis=1)


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
