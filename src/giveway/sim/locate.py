"""Lane coordinates of cars, the edge of the road, and poses on a route; compiled."""

from __future__ import annotations

import math

from giveway.core.arrays import FloatArray
from giveway.core.kernels import njit
from giveway.roads.route_tables import descend
from giveway.roads.tables import EDGE_STEP_M, RoadTables


@njit(cache=True, nogil=True)
def locate(road: RoadTables, way: int, row: int, x: float, y: float) -> tuple[int, float, float, float]:
    """Row, arc length, offset to the left and heading of a way next to a point, walking from ``row``."""
    first = road.first[way]
    path = road.path[first : first + road.num_rows[way]]
    at = descend(path, x, y, row)
    near = path[at]
    dx, dy = x - near[0], y - near[1]
    return at, at * road.step[way] + near[2] * dx + near[3] * dy, near[2] * dy - near[3] * dx, near[4]


@njit(cache=True, nogil=True)
def locate_car(
    road: RoadTables, way: int, row: int, x: float, y: float, heading: float, lane: FloatArray
) -> tuple[int, int]:
    """Write s, d and the relative heading of a car; change the way if it is beyond the line to a neighboring one.

    Returns:
        (way, row).
    """
    row, s, d, direction = locate(road, way, row, x, y)
    if abs(d) > road.half_width:
        at = road.first[way] + row
        neighbor = int(road.left[at] if d > 0.0 else road.right[at])
        if neighbor >= 0:
            row = int(road.left_row[at] if d > 0.0 else road.right_row[at])
            way = neighbor
            row, s, d, direction = locate(road, way, row, x, y)
    lane[0] = s
    lane[1] = d
    lane[2] = wrapped(heading - direction)
    return way, row


@njit(cache=True, nogil=True, inline="always")
def wrapped(angle: float) -> float:
    """An angle in [-pi, pi)."""
    return (angle + math.pi) % (2.0 * math.pi) - math.pi


@njit(cache=True, nogil=True)
def rows_of(road: RoadTables, way: int) -> tuple[FloatArray, float]:
    """Rows of one way and their spacing [m]."""
    first = road.first[way]
    return road.path[first : first + road.num_rows[way]], float(road.step[way])


@njit(cache=True, nogil=True)
def pose_on(road: RoadTables, way: int, s: float, d: float) -> tuple[float, float, float]:
    """x, y and heading at lane coordinates; beyond an end along the straight continuation."""
    path, step = rows_of(road, way)
    return pose_at(path, step, s, d)


@njit(cache=True, nogil=True)
def pose_at(path: FloatArray, step: float, s: float, d: float) -> tuple[float, float, float]:
    """The same for the rows of one way; cheap to call, because few arrays are handed over."""
    last = path.shape[0] - 1
    at = s / step
    k = min(max(math.floor(at), 0), last - 1)
    w = min(max(at - k, 0.0), 1.0)
    beyond = (at - k - w) * step
    a, b = path[k], path[k + 1]
    heading = a[4] + w * (b[4] - a[4])
    cos, sin = math.cos(heading), math.sin(heading)
    x = a[0] + w * (b[0] - a[0]) + beyond * cos - d * sin
    y = a[1] + w * (b[1] - a[1]) + beyond * sin + d * cos
    return x, y, heading


@njit(cache=True, nogil=True)
def outside(edge: FloatArray, edge_x: float, edge_y: float, x: float, y: float) -> float:
    """Signed distance to the edge of the road, negative on it; bilinear in the raster [m]."""
    u = (x - edge_x) / EDGE_STEP_M
    v = (y - edge_y) / EDGE_STEP_M
    rows, columns = edge.shape
    if u < 0.0 or v < 0.0 or u >= columns - 1 or v >= rows - 1:
        return 99.0
    i, j = int(v), int(u)
    p, q = v - i, u - j
    low = edge[i, j] * (1.0 - q) + edge[i, j + 1] * q
    high = edge[i + 1, j] * (1.0 - q) + edge[i + 1, j + 1] * q
    return low * (1.0 - p) + high * p


@njit(cache=True, nogil=True)
def farthest_outside(
    edge: FloatArray, edge_x: float, edge_y: float, x: float, y: float, heading: float, length: float, width: float
) -> float:
    """The largest signed distance of the four corners of a box to the edge of the road [m]."""
    cos, sin = math.cos(heading), math.sin(heading)
    worst = -99.0
    for u in (-0.5 * length, 0.5 * length):
        for v in (-0.5 * width, 0.5 * width):
            worst = max(worst, outside(edge, edge_x, edge_y, x + u * cos - v * sin, y + u * sin + v * cos))
    return worst
