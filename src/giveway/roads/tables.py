"""What compiled code knows about a road: its ways, which of them run side by side, where its edge is."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import shapely

from giveway.core.arrays import AnyArray, FloatArray, IntArray
from giveway.core.frames import wrap_angle
from giveway.roads.road import Road
from giveway.roads.route_tables import COARSE_COLUMNS, PATH_COLUMNS, SKETCH_COLUMNS, coarse_points, sketch_of
from giveway.roads.routes import CarPath, path_of_way, table_of

EDGE_STEP_M = 0.5
"""Spacing of the raster of distances to the edge of the road."""

EDGE_MARGIN_M = 8.0
"""How far the raster reaches beyond the road."""


class RoadTables(NamedTuple):
    """What compiled code knows about a road. Rows of all ways lie one after the other.

    Attributes:
        path: (R, 6) x, y, cosine, sine, heading, reference speed in curves; see :mod:`giveway.roads.route_tables`.
        first: (L,) first row of each way.
        num_rows: (L,) how many it has.
        coarse: (C, 5) coarse points of all ways, see :func:`giveway.roads.route_tables.coarse_points`.
        coarse_first: (L,) first coarse point of each way.
        coarse_count: (L,) how many it has.
        sketch: (S, 4) sketches of all ways, see :func:`giveway.roads.route_tables.sketch_of`.
        sketch_first: (L,) first row of the sketch of each way.
        sketch_count: (L,) how many it has.
        step: (L,) their spacing [m].
        length: (L,) of the way [m].
        left: (R,) way on the left at that place, or -1.
        left_row: (R,) the row there, counted from the start of that way.
        right: (R,) way on the right, or -1.
        right_row: (R,) the row there.
        half_width: of a lane [m].
        limit: speed limit [m/s].
        edge: (Y, X) signed distance to the edge of the road, negative on it [m].
        edge_x: x of column 0 [m].
        edge_y: y of row 0 [m].
        extent: (2,) width and height of the road, for the artefact's observation [m].
        center: (2,) its middle [m].
    """

    path: FloatArray
    first: IntArray
    num_rows: IntArray
    coarse: FloatArray
    coarse_first: IntArray
    coarse_count: IntArray
    sketch: FloatArray
    sketch_first: IntArray
    sketch_count: IntArray
    step: FloatArray
    length: FloatArray
    left: IntArray
    left_row: IntArray
    right: IntArray
    right_row: IntArray
    half_width: float
    limit: float
    edge: FloatArray
    edge_x: float
    edge_y: float
    extent: FloatArray
    center: FloatArray


def road_tables(road: Road) -> RoadTables:
    """Tabulate a road; takes a fraction of a second the first time. Nobody writes into the tables."""
    paths = [path_of_way(way) for way in road.ways]
    loose = tables_of_routes(paths)
    tables = [loose.path[a : a + n] for a, n in zip(loose.first, loose.num_rows, strict=True)]
    for a, b in road.lane_changes:
        for ways, rows_there, one, other, side in (
            (loose.left, loose.left_row, a, b, 1.0),
            (loose.right, loose.right_row, b, a, -1.0),
        ):
            rows, at = _beside(tables[one], tables[other], road.lane_width_m, side)
            ways[loose.first[one] + rows] = other
            rows_there[loose.first[one] + rows] = at
    area = road.area()
    x0, y0, x1, y1 = shapely.bounds(area)
    edge, edge_x, edge_y = _edge_raster(shapely.to_wkb(area))
    return loose._replace(
        half_width=0.5 * road.lane_width_m,
        limit=road.speed_limit_mps,
        edge=edge,
        edge_x=edge_x,
        edge_y=edge_y,
        extent=np.array([max(x1 - x0, 1.0), max(y1 - y0, 1.0)]),
        center=np.array([0.5 * (x0 + x1), 0.5 * (y0 + y1)]),
    )


def tables_of_routes(paths: Sequence[CarPath]) -> RoadTables:
    """Tables of routes that know nothing of one another: no neighbors, no edge, no limit."""
    tables = [table_of(path) for path in paths]
    columns = (PATH_COLUMNS, COARSE_COLUMNS, SKETCH_COLUMNS)
    parts = [tables, [coarse_points(table) for table in tables], [sketch_of(table) for table in tables]]
    count = [np.array([len(part) for part in kind], dtype=np.int64) for kind in parts]
    first = [np.concatenate([[0], np.cumsum(n)])[: n.size].astype(np.int64) for n in count]
    rows = int(count[0].sum())
    return RoadTables(
        path=np.concatenate([np.zeros((0, columns[0])), *parts[0]]),
        first=first[0],
        num_rows=count[0],
        coarse=np.concatenate([np.zeros((0, columns[1])), *parts[1]]),
        coarse_first=first[1],
        coarse_count=count[1],
        sketch=np.concatenate([np.zeros((0, columns[2])), *parts[2]]),
        sketch_first=first[2],
        sketch_count=count[2],
        step=np.array([p.step_m for p in paths], dtype=np.float64),
        length=np.array([p.length_m for p in paths], dtype=np.float64),
        left=np.full(rows, -1, dtype=np.int64),
        left_row=np.zeros(rows, dtype=np.int64),
        right=np.full(rows, -1, dtype=np.int64),
        right_row=np.zeros(rows, dtype=np.int64),
        half_width=np.inf,
        limit=np.inf,
        edge=np.full((2, 2), -EDGE_MARGIN_M),
        edge_x=0.0,
        edge_y=0.0,
        extent=np.ones(2),
        center=np.zeros(2),
    )


def _beside(own: FloatArray, other: FloatArray, width: float, side: float) -> tuple[IntArray, IntArray]:
    """Rows of a way that run beside another one (on its ``side``, left +1), and the rows there."""
    theirs: AnyArray = np.asarray(shapely.points(other[:, :2]))
    ours: AnyArray = np.asarray(shapely.points(own[:, :2]))
    (rows, at), gap = shapely.STRtree(theirs).query_nearest(ours, return_distance=True, all_matches=False)
    to = other[at, :2] - own[rows, :2]
    across = own[rows, 2] * to[:, 1] - own[rows, 3] * to[:, 0]
    turn = np.abs(wrap_angle(other[at, 4] - own[rows, 4]))
    inner = (at > 0) & (at < len(other) - 1)
    near = (np.abs(gap - width) < 0.4 * width) & (side * across > 0.0) & (turn < 0.3)
    keep = near & (inner | (gap < 1.05 * width))
    return rows[keep], at[keep]


@lru_cache(maxsize=8)
def _edge_raster(wkb: bytes) -> tuple[FloatArray, float, float]:
    """Distances to the edge of an area; campaigns make worlds of the same road again and again, which share them."""
    area = shapely.from_wkb(wkb)
    x0, y0, x1, y1 = shapely.bounds(area)
    xs = np.arange(x0 - EDGE_MARGIN_M, x1 + EDGE_MARGIN_M + EDGE_STEP_M, EDGE_STEP_M)
    ys = np.arange(y0 - EDGE_MARGIN_M, y1 + EDGE_MARGIN_M + EDGE_STEP_M, EDGE_STEP_M)
    shapely.prepare(area)
    grid_x, grid_y = np.meshgrid(xs, ys)
    inside = shapely.contains_xy(area, grid_x, grid_y)
    near = inside | shapely.contains_xy(shapely.buffer(area, EDGE_MARGIN_M), grid_x, grid_y)
    gap = np.full(grid_x.shape, EDGE_MARGIN_M)
    tree = shapely.STRtree(_segments(area))
    points: AnyArray = np.asarray(shapely.points(grid_x[near], grid_y[near]))
    (rows, _), distance = tree.query_nearest(points, return_distance=True, all_matches=False)
    found = np.empty(points.size)
    found[rows] = distance
    gap[near] = found
    return np.where(inside, -gap, gap), float(xs[0]), float(ys[0])


def _segments(area: shapely.Geometry) -> AnyArray:
    pieces: list[FloatArray] = []
    for part in shapely.get_parts(shapely.boundary(area)):
        points = shapely.get_coordinates(part)
        pieces.append(np.stack([points[:-1], points[1:]], axis=1))
    return np.asarray(shapely.linestrings(np.concatenate(pieces)))
