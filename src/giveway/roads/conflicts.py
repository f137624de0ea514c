"""Where two paths need the same area.

Two rules. ``first_shared``, centers closer than 2.2 m, finds conflicts in recordings and is what predictors are given;
its lengths are about twice too long. :func:`areas_between` gives the areas that drivers yield at: the corridor of a
route is its center line swept by the width of the car, with flat ends, and an area is one connected part of the overlap
of two corridors, projected on both routes. (The conflict of two *driven* paths, with times, is
:func:`giveway.roads.path_conflicts.path_conflict`.) For straight routes at an angle phi

    L_A = (w_B + w_A |cos phi|) / |sin phi|

A *crossing* ends where the overlap ends. Of a *merging* pair only the stretch up to the *joined point* is contested,
where the yielding route is 1 m from the other one: once the rear of one car is past it, the other follows. Routes that
are joined from the start *follow* each other and contest nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import shapely

from giveway.core.arrays import AnyArray, FloatArray
from giveway.core.frames import wrap_angle
from giveway.core.kernels import njit
from giveway.roads.priority import Priority, RoadRules, Source, Where, priority_between
from giveway.roads.route_lines import Route, RouteLine, route_line

SHARED_M = 2.2
"""Centers of two cars closer than this would touch."""

APART_BEFORE_M = 4
"""A conflict starts only after both came from elsewhere for at least this far; otherwise one follows the other."""


Kind = Literal["crossing", "merging", "following"]

JOINED_M = 1.0
"""Center lines this near to each other are one."""

TOGETHER_M = 8.0
"""Shorter overlaps are crossed, not driven along."""

TOGETHER_RAD = 0.35
"""Routes that differ by more than this where they are nearest cross; at this angle cars of 1.8 m share 10.2 m."""

MIN_AREA_M2 = 0.05
"""Corridors that share less only touch."""

HOLD_BEFORE_M = 1.0
"""A car that waits keeps its front this far from the area where there is no stop line."""

SAMPLE_M, FINE_M = 1.0, 0.02
"""Spacing of the points at which the distance of two routes is measured, and of those at a joined point."""

MIRRORED: dict[Priority, Priority] = {"own": "other", "other": "own", "none": "none"}


@njit(cache=True, nogil=True)
def first_shared(one: FloatArray, two: FloatArray, near: float) -> tuple[int, int, int, int]:
    """Where two paths (P, 2) first come closer than ``near``, and where that run ends: (start, start, end, end).

    (-1, -1, -1, -1) if they never do. The run is followed along the first path; its partners are nearest points.
    """
    start = -1
    start_other = -1
    end = -1
    end_other = -1
    for i in range(one.shape[0]):
        best = near * near
        at = -1
        for j in range(two.shape[0]):
            d = (one[i, 0] - two[j, 0]) ** 2 + (one[i, 1] - two[j, 1]) ** 2
            if d < best:
                best = d
                at = j
        if at >= 0:
            if start < 0:
                start = i
                # The earliest point of the other path that is near as well: it may come in sideways.
                start_other = at
                for j in range(at):
                    if (one[i, 0] - two[j, 0]) ** 2 + (one[i, 1] - two[j, 1]) ** 2 < near * near:
                        start_other = j
                        break
            end = i
            end_other = at
        elif start >= 0:
            break
    return start, start_other, end, end_other


@dataclass(frozen=True, slots=True, kw_only=True)
class Area:
    """An area shared by two routes, seen from the first one. All arc lengths are of the route, in meters.

    Attributes:
        kind: crossing, merging or following.
        own: arc length on the first route where the area begins and ends; a merge ends at its joined point.
        other: the same on the second route.
        own_hold_m: where the front of a car on the first route waits: the stop line, else 1 m before the area.
        other_hold_m: the same on the second route.
        angle_rad: direction of the second route where the area begins on it, relative to that of the first; positive
            if the second one comes from the right.
        priority: which route goes first.
        source: what says so.
    """

    kind: Kind
    own: Where
    other: Where
    own_hold_m: float
    other_hold_m: float
    angle_rad: float
    priority: Priority = "none"
    source: Source = "none"

    @property
    def length_m(self) -> Where:
        """Length of the area along the first and along the second route."""
        return self.own[1] - self.own[0], self.other[1] - self.other[0]

    @property
    def joined(self) -> Where | None:
        """Joined point on the first and on the second route; None unless they merge."""
        return (self.own[1], self.other[1]) if self.kind == "merging" else None

    def mirrored(self) -> Area:
        """The same area seen from the second route."""
        return replace(
            self,
            own=self.other,
            other=self.own,
            own_hold_m=self.other_hold_m,
            other_hold_m=self.own_hold_m,
            angle_rad=-self.angle_rad,
            priority=MIRRORED[self.priority],
        )


def area_between(
    one: Route, two: Route, one_width_m: float, two_width_m: float, *, rules: RoadRules | None = None
) -> tuple[Area, ...]:
    """All areas of two routes, see :func:`areas_between`; empty if their corridors do not overlap."""
    return areas_between([one, two], [one_width_m, two_width_m], rules=rules).get((0, 1), ())


def areas_between(
    routes: Sequence[Route], widths_m: Sequence[float] | FloatArray, *, rules: RoadRules | None = None
) -> dict[tuple[int, int], tuple[Area, ...]]:
    """Areas of all pairs of routes whose corridors overlap.

    Cars on one and the same route object and of one width share a corridor, so a road of the library costs as many
    overlaps as it has pairs of routes, whatever the number of cars.

    Args:
        routes: of N cars.
        widths_m: (N,) of the cars [m].
        rules: rules, rings and stop lines of the map; without them priority comes from geometry alone.

    Returns:
        (i, j), i < j, to the areas in the order of route i, seen from route i. Pairs without an overlap, cars on the
        same route object, and routes with fewer than two distinct points are left out.
    """
    keys = [(id(route), float(width)) for route, width in zip(routes, widths_m, strict=True)]
    lines = {id(route): route_line(route, None if rules is None else rules.road) for route in routes}
    names = [key for key in dict.fromkeys(keys) if lines[key[0]] is not None]
    found = _areas_of_corridors(names, {key: line for key, line in lines.items() if line is not None}, rules)
    out: dict[tuple[int, int], tuple[Area, ...]] = {}
    members = {key: [n for n, k in enumerate(keys) if k == key] for key in names}
    for (a, b), areas in found.items():
        seen = areas, tuple(sorted((area.mirrored() for area in areas), key=lambda area: area.own))
        for i in members[a]:
            for j in members[b]:
                out[min(i, j), max(i, j)] = seen[0] if i < j else seen[1]
    return dict(sorted(out.items()))


def _areas_of_corridors(
    keys: Sequence[tuple[int, float]], lines: dict[int, RouteLine], rules: RoadRules | None
) -> dict[tuple[tuple[int, float], tuple[int, float]], tuple[Area, ...]]:
    """Areas of pairs of corridors (route, width) on different routes."""
    shapes: AnyArray = np.array([lines[route].shape for route, _ in keys], dtype=object)
    half_widths = 0.5 * np.array([width for _, width in keys])
    corridors: AnyArray = np.asarray(shapely.buffer(shapes, half_widths, cap_style="flat", join_style="bevel"))
    rows, columns = shapely.STRtree(corridors).query(corridors, predicate="intersects")
    other_route = [keys[i][0] != keys[j][0] for i, j in zip(rows.tolist(), columns.tolist(), strict=True)]
    pairs = (rows < columns) & np.array(other_route, dtype=np.bool_)
    rows, columns = rows[pairs], columns[pairs]
    overlaps = shapely.intersection(corridors[rows], corridors[columns])
    found: dict[tuple[tuple[int, float], tuple[int, float]], tuple[Area, ...]] = {}
    for i, j, overlap in zip(rows.tolist(), columns.tolist(), overlaps, strict=True):
        one, two = lines[keys[i][0]], lines[keys[j][0]]
        parts = shapely.get_parts(overlap)
        areas = [_area(part, one, two, rules) for part in parts[shapely.area(parts) > MIN_AREA_M2]]
        if areas:
            found[keys[i], keys[j]] = tuple(sorted(areas, key=lambda area: area.own))
    return found


def _area(overlap: shapely.Geometry, one: RouteLine, two: RouteLine, rules: RoadRules | None) -> Area:
    corners = shapely.get_coordinates(overlap)
    spans = [(float(s.min()), float(s.max())) for s in (one.locate(corners)[0], two.locate(corners)[0])]
    own, other = spans
    angle = float(wrap_angle(np.interp(other[0], two.s, two.heading) - np.interp(own[0], one.s, one.heading)))
    kind: Kind = "crossing"
    if min(own[1] - own[0], other[1] - other[0]) >= TOGETHER_M and _are_aligned(one, two, own):
        kind = "merging"
        own, other = _contested(one, two, own, other, "none")
        if own[1] < APART_BEFORE_M or other[1] < APART_BEFORE_M:
            return Area(
                kind="following",
                own=spans[0],
                other=spans[1],
                own_hold_m=math.nan,
                other_hold_m=math.nan,
                angle_rad=angle,
            )
    priority, source = priority_between(one, two, own, other, merging=kind == "merging", rules=rules)
    if kind == "merging" and priority != "none":
        own, other = _contested(one, two, spans[0], spans[1], priority)
    return Area(
        kind=kind,
        own=own,
        other=other,
        own_hold_m=_hold(one, own[0], rules),
        other_hold_m=_hold(two, other[0], rules),
        angle_rad=angle,
        priority=priority,
        source=source,
    )


def _are_aligned(one: RouteLine, two: RouteLine, own: Where) -> bool:
    """Whether two routes run in the same direction where they are nearest to each other."""
    s, gap, foot = _gaps(one, two, own)
    at = int(gap.argmin())
    turn = np.interp(s[at], one.s, one.heading) - np.interp(foot[at], two.s, two.heading)
    return abs(float(wrap_angle(turn))) < TOGETHER_RAD


def _contested(one: RouteLine, two: RouteLine, own: Where, other: Where, priority: Priority) -> tuple[Where, Where]:
    """The part of both overlaps up to the joined point.

    It is measured from the route that yields; without priority each route has the first of its own points that is near
    enough, so that neither is preferred.
    """
    if priority == "other":
        ends = _joined(one, two, own)
    elif priority == "own":
        ends = _joined(two, one, other)[::-1]
    else:
        ends = _joined(one, two, own)[0], _joined(two, one, other)[0]
    return (own[0], max(ends[0], own[0])), (other[0], max(ends[1], other[0]))


def _joined(line: RouteLine, to: RouteLine, span: Where) -> Where:
    """First point of a route within 1 m of another one, else its nearest, and the foot of it on the other one."""
    s, gap, foot = _gaps(line, to, span)
    near = np.flatnonzero(gap <= JOINED_M)
    at = int(near[0]) if near.size else int(gap.argmin())
    if at > 0 and near.size:
        s, gap, foot = _gaps(line, to, (float(s[at - 1]), float(s[at])), FINE_M)
        at = int(np.flatnonzero(gap <= JOINED_M)[0])
        share = (gap[at] - JOINED_M) / (gap[at] - gap[at - 1]) if gap[at] < gap[at - 1] else 0.0
        return tuple(float(v[at] + share * (v[at - 1] - v[at])) for v in (s, foot))  # pyright: ignore[reportReturnType]
    return float(s[at]), float(foot[at])


def _gaps(
    line: RouteLine, to: RouteLine, span: Where, spacing_m: float = SAMPLE_M
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Arc length of points of a route, their distance from another one, and the arc length of the foot on it."""
    s = np.linspace(*span, max(math.ceil((span[1] - span[0]) / spacing_m), 1) + 1)
    foot, gap = to.locate(line.at(s))
    return s, gap, foot


def _hold(line: RouteLine, s_in: float, rules: RoadRules | None) -> float:
    stop = math.nan if rules is None else rules.stop_before(line, s_in)
    return s_in - HOLD_BEFORE_M if math.isnan(stop) else stop
