"""What paths have to do with one another: who drives in front of whom, who crosses whom, who gives way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import shapely
from scipy.spatial import KDTree

from giveway.core.arrays import BoolArray, FloatArray, IntArray
from giveway.core.lanes import Lane
from giveway.roads.road import Road
from giveway.synth.paths import STEP_M, Path, smooth_path

TABLE_M = 0.5
"""Spacing of the tables along a path."""
SAME_LANE_M = 2.4
"""Points closer than this to a path stand in the way of a car on it."""
ZONE_M = 2.7
"""Where two paths are closer than this, cars on both cannot be at once."""
SAME_WAY_RAD = 0.9
SMOOTH_M = 1.8
"""Width of the Gaussian that makes the curvature of ways continuous."""
BEFORE_ZONE_M = 0.8
"""Without a stop line, people wait this far before the first zone."""
MAX_LATERAL_MPS2 = 3.2
COMFORT_BRAKE_MPS2 = 1.8


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """P paths and their relations; arc lengths in meters, tables every :data:`TABLE_M`.

    Attributes:
        paths: P of them.
        origin: (P,) paths with the same number begin with the same lane.
        speed: (P, K) what a calm driver does here, limits and curves considered [m/s].
        length: (P,) [m].
        line: (P,) where the front bumper waits when it must give way; inf where it need not.
        projection: (P, P, K) arc length on the first path of points along the second; NaN where they are not on it.
        gives_way: (P, P) the first path gives way to the second.
        merges: (P, P) the conflict zone is a common piece of road, not a crossing.
        zone_in: (P, P) where the first path enters the first zone it shares with the second; NaN without zone.
        zone_out: (P, P) where it leaves it.
        other_in: (P, P) where the second path enters that zone.
        other_out: (P, P) where the second path leaves it.
    """

    paths: tuple[Path, ...]
    origin: IntArray
    speed: FloatArray
    length: FloatArray
    line: FloatArray
    projection: FloatArray
    gives_way: BoolArray
    merges: BoolArray
    zone_in: FloatArray
    zone_out: FloatArray
    other_in: FloatArray
    other_out: FloatArray


def road_network(road: Road) -> Network:
    """The network of all ways of a road, with its rules, stop lines and speed limits."""
    lanes = road.map().lanes
    paths = [smooth_path(way, sigma_m=SMOOTH_M) for way in road.ways]
    origin = np.unique([route[0] for route in road.routes], return_inverse=True)[1]
    network = build_network(
        paths,
        origin=origin,
        gives_way=road.gives_way(),
        limit_mps=[_limits(path, [lanes[n] for n in route]) for path, route in zip(paths, road.routes, strict=True)],
    )
    stops = shapely.MultiLineString([line.points for line in road.map().lines if line.type == "stop_line"])
    return replace(network, line=np.array([_waiting_line(network, p, stops) for p in range(len(paths))]))


def _waiting_line(network: Network, p: int, stops: shapely.Geometry) -> float:
    """Where a car on a way waits: at the stop line, else a little before the first zone; inf if it never has to."""
    zones = network.zone_in[p][network.gives_way[p]]
    if zones.size == 0:
        return float("inf")
    way = shapely.LineString(network.paths[p].xy)
    crossed = [shapely.line_locate_point(way, point) for point in shapely.get_parts(shapely.intersection(way, stops))]
    return min((float(s) for s in crossed if s <= zones.min()), default=float(zones.min()) - BEFORE_ZONE_M)


def _limits(path: Path, lanes: Sequence[Lane]) -> FloatArray:
    """Speed limit at every entry of the tables of a path."""
    ends = np.cumsum([np.hypot(*np.diff(lane.center, axis=0).T).sum() for lane in lanes])
    at = np.arange(int(path.length_m / TABLE_M) + 2) * TABLE_M
    limits = np.array([lane.speed_limit_mps or np.inf for lane in lanes])
    return limits[np.minimum(np.searchsorted(ends, at), limits.size - 1)]


def build_network(
    paths: Sequence[Path],
    *,
    origin: Sequence[int] | IntArray,
    gives_way: BoolArray,
    limit_mps: Sequence[FloatArray | float],
) -> Network:
    """Find all relations from geometry; nobody has a waiting line yet.

    Args:
        paths: P of them.
        origin: number of the lane a path begins with.
        gives_way: (P, P) the first path gives way to the second if they meet.
        limit_mps: speed limit of each path, one number or one per entry of its tables.
    """
    count = len(paths)
    size = max(int(path.length_m / TABLE_M) for path in paths) + 2
    points = [path.xy[:: round(TABLE_M / STEP_M)] for path in paths]
    headings = [path.heading[:: round(TABLE_M / STEP_M)] for path in paths]
    trees = [KDTree(path.xy) for path in paths]
    projection = np.full((count, count, size), np.nan)
    zone_in, zone_out, other_in, other_out = (np.full((count, count), np.nan) for _ in range(4))
    merges = np.zeros((count, count), bool)
    for p in range(count):
        for q in range(count):
            apart, nearest = trees[p].query(points[q])
            turned = np.cos(paths[p].heading[nearest] - headings[q])
            along = (apart < SAME_LANE_M) & (turned > np.cos(SAME_WAY_RAD)) & _inside(np.asarray(nearest), paths[p])
            projection[p, q, : along.size] = np.where(along, nearest * STEP_M, np.nan)
            if p != q:
                back, there = trees[q].query(points[p])
                close = (back < ZONE_M) & _inside(np.asarray(there), paths[q])
                zone_in[p, q], zone_out[p, q], zone = _zone(close)
                first, last = (bound * round(TABLE_M / STEP_M) for bound in (zone.start, zone.stop))
                mirrored = (apart < ZONE_M) & (nearest >= first) & (nearest <= last)
                other_in[p, q], other_out[p, q] = _extent(mirrored)
                aligned = np.cos(headings[p] - paths[q].heading[there]) > 0.95
                merges[p, q] = bool((aligned & (back < 1.0))[zone].any())
    meets = ~np.isnan(zone_in) & ~np.isnan(other_in)
    return Network(
        paths=tuple(paths),
        origin=np.asarray(origin, dtype=np.int64),
        speed=np.stack([_speed_profile(path, limit, size) for path, limit in zip(paths, limit_mps, strict=True)]),
        length=np.array([path.length_m for path in paths]),
        line=np.full(count, np.inf),
        projection=projection,
        gives_way=meets & gives_way,
        merges=merges,
        zone_in=np.where(meets, zone_in, np.nan),
        zone_out=zone_out,
        other_in=other_in,
        other_out=other_out,
    )


def _inside(index: IntArray, path: Path) -> BoolArray:
    """Whether the nearest point is not merely an end of the path."""
    return (index > 0) & (index < path.heading.size - 1)


def _zone(close: BoolArray) -> tuple[float, float, slice]:
    """First stretch of nearness that does not begin at the very start of the path."""
    nothing = (float("nan"), float("nan"), slice(0, 0))
    far = np.flatnonzero(~close[2:]) + 2
    if far.size == 0:
        return nothing
    rest = np.flatnonzero(close[far[0] :])
    if rest.size == 0:
        return nothing
    first = int(far[0] + rest[0])
    ends = np.flatnonzero(~close[first:])
    after = first + int(ends[0]) if ends.size else close.size
    return first * TABLE_M, (after - 1) * TABLE_M, slice(first, after)


def _extent(close: BoolArray) -> tuple[float, float]:
    """First and last arc length of the first run of ``close``."""
    first = int(np.argmax(close))
    if not close[first]:
        return float("nan"), float("nan")
    ends = np.flatnonzero(~close[first:])
    after = first + int(ends[0]) if ends.size else close.size
    return first * TABLE_M, (after - 1) * TABLE_M


def _speed_profile(path: Path, limit_mps: FloatArray | float, size: int) -> FloatArray:
    curvature = np.abs(path.curvature[:: round(TABLE_M / STEP_M)])
    limit = np.asarray(limit_mps)[..., : curvature.size] if np.ndim(limit_mps) else limit_mps
    speed = np.minimum(limit, np.sqrt(MAX_LATERAL_MPS2 / np.maximum(curvature, 1e-3)))
    for step in range(speed.size - 2, -1, -1):
        speed[step] = min(speed[step], np.sqrt(speed[step + 1] ** 2 + 2 * COMFORT_BRAKE_MPS2 * TABLE_M))
    return np.concatenate([speed, np.full(size - speed.size, speed[-1])])
