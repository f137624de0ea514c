"""Areas that routes share, by pairs of routes: for traffic in which many cars take few routes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray, IntArray
from giveway.core.lanes import LaneMap
from giveway.roads.conflicts import Area, areas_between
from giveway.roads.priority import rules_of
from giveway.roads.queries import prepare
from giveway.roads.routes import CarPath

CORRIDOR_M = 2.8
"""Width of the corridors: that of a car, which need not keep to the middle, and whose corners swing out in bends."""

YIELDS, NEITHER, GOES_FIRST = -1, 0, 1
"""Ranks of the own route at an area."""

RANKS = {"other": YIELDS, "none": NEITHER, "own": GOES_FIRST}

PAST_LINE_M, BEFORE_AREA_M = 0.3, 0.5
"""A car may still change its mind this far beyond its line, or until this far before the first area where it yields."""


class RouteAreas(NamedTuple):
    """Areas of R routes; N rows, those of a pair in the order of the first route.

    Attributes:
        first: (R, R) first row of a pair, seen from the first route of it.
        num_rows: (R, R) its number of rows.
        span: (N, 4) arc length where the area begins and ends on the own route and on the other one [m].
        merging: (N,) the routes go on together; otherwise they cross.
        rank: (N,) YIELDS, NEITHER or GOES_FIRST.
        line: (R,) where the front of a car waits that must yield; infinite where it need not [m].
        last_chance: (R,) where it can still wait [m].
    """

    first: IntArray
    num_rows: IntArray
    span: FloatArray
    merging: BoolArray
    rank: IntArray
    line: FloatArray
    last_chance: FloatArray


def route_areas(paths: Sequence[CarPath], road: LaneMap, gives_way: BoolArray) -> RouteAreas:
    """Areas of all pairs of routes, with the stop lines of a map.

    Args:
        paths: of R routes.
        road: the map.
        gives_way: (R, R) whether the first route must give way to the second; where neither must, shape decides.
    """
    rules = rules_of(prepare(road))
    pairs: dict[tuple[int, int], list[Area]] = {}
    for (a, b), areas in areas_between(paths, [CORRIDOR_M] * len(paths), rules=rules).items():
        shared = [area for area in areas if area.kind != "following"]
        if gives_way[a, b] != gives_way[b, a]:
            shared = [replace(area, priority="other" if gives_way[a, b] else "own") for area in shared]
        pairs[a, b] = shared
        pairs[b, a] = sorted((area.mirrored() for area in shared), key=lambda area: area.own)
    size = len(paths), len(paths)
    first, num_rows = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
    rows: list[Area] = []
    line, begins = np.full(len(paths), np.inf), np.full(len(paths), np.inf)
    for (a, b), areas in sorted(pairs.items()):
        first[a, b], num_rows[a, b] = len(rows), len(areas)
        rows += areas
        yielding = [area for area in areas if area.priority == "other"]
        line[a] = min([line[a], *(area.own_hold_m for area in yielding)])
        begins[a] = min([begins[a], *(area.own[0] for area in yielding)])
    return RouteAreas(
        first=first,
        num_rows=num_rows,
        span=np.array([(*area.own, *area.other) for area in rows]).reshape(-1, 4),
        merging=np.array([area.kind == "merging" for area in rows], dtype=np.bool_),
        rank=np.array([RANKS[area.priority] for area in rows], dtype=np.int64),
        line=line,
        last_chance=np.maximum(line + PAST_LINE_M, begins - BEFORE_AREA_M),
    )


def yielding_row(areas: RouteAreas, route: int, other: int) -> int:
    """First row of a pair at which the first route yields, else its first row."""
    rows = np.arange(areas.first[route, other], areas.first[route, other] + areas.num_rows[route, other])
    return int(rows[np.argmax(areas.rank[rows] == YIELDS)])
