"""Which of two routes goes first where they meet: by a rule of the map, else by the shape of the lanes, if at all."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import shapely
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from giveway.core import elementary
from giveway.core.arrays import AnyArray
from giveway.core.frames import wrap_angle
from giveway.core.lanes import LaneMap
from giveway.roads.queries import PreparedMap
from giveway.roads.route_lines import RouteLine

Priority = Literal["own", "other", "none"]
Source = Literal["map", "all_way_stop", "geometry", "none"]

LANES_BEFORE_M, LANES_INSIDE_M = 30.0, 5.0
"""Lanes that a car uses from here before an area to here in it decide by which rule it is bound."""

RING_BEFORE_M = 10.0
"""A route whose last meters before an area lie on a ring circulates."""

LEFT_RING_M = (20.0, 5.0)
"""Where a route that crosses an entry came from is looked up this far before the area."""

TURN_BEFORE_M, TURN_AFTER_M = 15.0, 10.0
"""How far before an area and after the joined point a turn is measured."""

CIRCLING_RAD = 0.2
"""A route that turns by more than this both before a merge and after it, to the same side, circulates: R < 75 m."""

BEND_BEFORE_M, BEND_AFTER_M, BEND_SPACING_M = 30.0, 10.0, 5.0
"""The bend of a route is the sum of its absolute changes of direction here, between points this far apart."""

BEND_RAD = 0.1
"""Of two merging routes the one that bends by this much more yields; a lane of 3.5 m that tapers off over 40 m bends by
0.26 rad."""

OPPOSITE_RAD = 2.1
"""Cars whose headings differ by more than this come towards each other."""

LEFT_TURN_RAD = 0.7
"""A route that turns left by this much more than an oncoming one turns across it."""

STOP_WITHIN_M = 15.0
"""A stop line further before an area belongs to another one."""

Where = tuple[float, float]
"""Arc length where an area begins and ends on a route [m]."""

Pair = tuple[bool, bool]
"""Of both routes, whether it yields; equal values decide nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoadRules:
    """What a map says about priority; make one with :func:`rules_of`.

    Attributes:
        road: the map, with indices.
        rings: lanes of roundabouts.
        stop_lines: (K,) shapely lines.
    """

    road: PreparedMap
    rings: frozenset[int]
    stop_lines: AnyArray

    def stop_before(self, line: RouteLine, s_in: float) -> float:
        """Arc length of the last stop line that a route crosses on the 15 m before an area; NaN without one."""
        hits = self.stop_lines[shapely.intersects(self.stop_lines, line.shape)]
        crossed = line.locate(shapely.get_coordinates(shapely.centroid(shapely.intersection(hits, line.shape))))[0]
        return max((s for s in crossed.tolist() if s_in - STOP_WITHIN_M <= s <= s_in), default=math.nan)


def rules_of(road: PreparedMap) -> RoadRules:
    """The rules of a map."""
    stops = [shapely.LineString(line.points) for line in road.road.lines if line.type == "stop_line"]
    return RoadRules(road=road, rings=ring_lanes(road.road), stop_lines=np.array(stops, dtype=object))


def priority_between(
    one: RouteLine, two: RouteLine, own: Where, other: Where, *, merging: bool, rules: RoadRules | None
) -> tuple[Priority, Source]:
    """Which route goes first at an area, and what says so.

    The first of these that applies: (1) the map: lanes that must yield to lanes of the other route; if each must yield
    to the other it is an all-way stop. (2) merging: the route that circulates goes first; the lane that ends, then the
    one that bends into the other, yields. (3) crossing: the route that came along a ring of the map goes first; the
    one that turns left across an oncoming one yields.

    Args:
        one: first route.
        two: second route.
        own: where the area begins and ends on the first route; of a merge, ends where they are joined.
        other: the same on the second route.
        merging: whether the routes go on together.
        rules: of the map, or None.
    """
    if rules is not None:
        first, second = _lanes_used(one, own), _lanes_used(two, other)
        yields = _owes(rules, first, second), _owes(rules, second, first)
        if yields[0] and yields[1]:
            return "none", "all_way_stop"
        if yields[0] or yields[1]:
            return ("other" if yields[0] else "own"), "map"
    tests = (_circulating, _ending, _bending) if merging else (_leaving_ring, _turning_left)
    for test in tests:
        yields = test(one, two, own, other, rules)
        if yields[0] != yields[1]:
            return ("other" if yields[0] else "own"), "geometry"
    return "none", "none"


def _lanes_used(line: RouteLine, at: Where) -> set[int]:
    return set(line.lanes(at[0] - LANES_BEFORE_M, at[0] + LANES_INSIDE_M))


def _owes(rules: RoadRules, own: set[int], other: set[int]) -> bool:
    return any(other & set(rules.road.road.lanes[lane].yields_to) for lane in own)


def _circulating(one: RouteLine, two: RouteLine, own: Where, other: Where, rules: RoadRules | None) -> Pair:
    """Who yields to a car on a ring: by the lanes of the map, else by steady turning before and after the merge."""
    if rules is not None and rules.rings:
        return _came_along_none(one, two, own, other, rules, (RING_BEFORE_M, 0.0))
    pair = ((one, own), (two, other))
    after = sum(0.5 * line.turn(at[1], at[1] + TURN_AFTER_M) for line, at in pair)
    if abs(after) < CIRCLING_RAD:
        return False, False
    before = [line.turn(at[0] - TURN_BEFORE_M, at[0]) * math.copysign(1.0, after) for line, at in pair]
    return before[0] < CIRCLING_RAD, before[1] < CIRCLING_RAD


def _leaving_ring(one: RouteLine, two: RouteLine, own: Where, other: Where, rules: RoadRules | None) -> Pair:
    """Who enters a ring across the way of a car that leaves it, and so is on the exit already."""
    return (True, True) if rules is None else _came_along_none(one, two, own, other, rules, LEFT_RING_M)


def _came_along_none(one: RouteLine, two: RouteLine, own: Where, other: Where, rules: RoadRules, before: Where) -> Pair:
    """Which of two routes did not lie on a ring of the map between these distances before the area, for the most."""
    lanes = [line.lanes(at[0] - before[0], at[0] - before[1]) for line, at in ((one, own), (two, other))]
    yields = [2 * sum(lane in rules.rings for lane in passed) <= len(passed) for passed in lanes]
    return yields[0], yields[1]


def _ending(one: RouteLine, two: RouteLine, own: Where, other: Where, rules: RoadRules | None) -> Pair:
    """Who is on a lane that ends: without a successor, where the map has lanes."""
    if rules is None:
        return False, False
    ends: list[bool] = []
    for line, at in ((one, own), (two, other)):
        lanes = line.lanes(at[0] - RING_BEFORE_M, at[0])
        ends.append(bool(lanes) and not rules.road.road.lanes[lanes[-1]].successors)
    return ends[0], ends[1]


def _bending(one: RouteLine, two: RouteLine, own: Where, other: Where, _: RoadRules | None) -> Pair:
    bends = _bend(one, own[1]), _bend(two, other[1])
    return bends[0] > bends[1] + BEND_RAD, bends[1] > bends[0] + BEND_RAD


def _bend(line: RouteLine, joined: float) -> float:
    """Sum of absolute changes of direction around a joined point, without the noise of recorded positions [rad]."""
    at = np.arange(joined - BEND_BEFORE_M, joined + BEND_AFTER_M + 1e-9, BEND_SPACING_M)
    way = np.diff(line.at(at[(at >= 0.0) & (at <= line.length_m)]), axis=0)
    return float(np.abs(wrap_angle(np.diff(elementary.arctan2(way[:, 1], way[:, 0])))).sum())


def _turning_left(one: RouteLine, two: RouteLine, own: Where, other: Where, _: RoadRules | None) -> Pair:
    """Who turns left across an oncoming route."""
    come = [np.interp(at[0] - TURN_BEFORE_M, line.s, line.heading) for line, at in ((one, own), (two, other))]
    if abs(float(wrap_angle(come[0] - come[1]))) < OPPOSITE_RAD:
        return False, False
    turns = one.turn(own[0] - TURN_BEFORE_M, own[1]), two.turn(other[0] - TURN_BEFORE_M, other[1])
    return turns[0] > turns[1] + LEFT_TURN_RAD, turns[1] > turns[0] + LEFT_TURN_RAD


def ring_lanes(road: LaneMap) -> frozenset[int]:
    """Lanes from which one can come back to the same lane: the ring of a roundabout."""
    names = sorted(road.lanes)
    number = {name: i for i, name in enumerate(names)}
    links = [(number[n], number[s]) for n in names for s in road.lanes[n].successors if s in number]
    if not links:
        return frozenset()
    start, end = np.array(links).T
    graph = coo_array((np.ones(len(links)), (start, end)), shape=(len(names), len(names)))
    _, part = connected_components(graph, directed=True, connection="strong")
    return frozenset(name for i, name in enumerate(names) if np.count_nonzero(part == part[i]) > 1)
