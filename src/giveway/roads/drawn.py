"""Lane maps from sources that give lanes one by one: bounds or center line, and which lane follows which."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.errors import DataError
from giveway.core.lanes import Lane, LaneMap, Line
from giveway.roads import topology
from giveway.roads.road import sides_of

LANE_WIDTH_M = 3.5
"""Of lanes that are given by their center line only."""

MIN_STEP_M = 0.01
"""Nearer points of a line are one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnLane:
    """One lane as its source gives it.

    Attributes:
        id: unique.
        left, right: (P, 2) bounds in driving direction [m]; None where the source has none.
        center: (P, 2) center line [m]; needed without bounds.
        successors: ids, which may be of lanes outside the map.
        left_neighbor, right_neighbor: in the same direction.
        speed_limit_mps: None where unknown.
        yields_to: ids of lanes that have priority over this one.
        tags: everything else.
    """

    id: int
    left: FloatArray | None = None
    right: FloatArray | None = None
    center: FloatArray | None = None
    successors: Sequence[int] = ()
    left_neighbor: int | None = None
    right_neighbor: int | None = None
    speed_limit_mps: float | None = None
    yields_to: Sequence[int] = ()
    tags: dict[str, str] = field(default_factory=dict[str, str])


def lane_map(
    name: str, drawn: Sequence[DrawnLane], lines: Sequence[Line] = (), *, warnings: Sequence[str] = ()
) -> LaneMap | None:
    """The map of drawn lanes; None if no lane is left.

    Lanes shorter than 1 cm are left out. References to lanes outside the map are dropped and counted in a warning.
    Bounds that are not given lie half of 3.5 m beside the center line, and the lane has the tag ``width = assumed``.
    """
    told = list(warnings)
    shapes = {lane.id: shape for lane in drawn if (shape := _shape(lane)) is not None}
    if len(shapes) < len(drawn):
        told.append(f"{len(drawn) - len(shapes)} lanes have no length and were left out")
    if not shapes:
        return None
    follows = {
        lane.id: tuple(sorted({n for n in lane.successors if n in shapes})) for lane in drawn if lane.id in shapes
    }
    outside = sum(n not in shapes for lane in drawn for n in lane.successors)
    if outside:
        told.append(f"{outside} references to lanes outside the map were dropped")
    leads: dict[int, list[int]] = {n: [] for n in shapes}
    for n, others in follows.items():
        for other in others:
            leads[other].append(n)
    outlines = {n: topology.outline(left, right) for n, (left, right, _) in shapes.items()}
    shared = topology.conflicts(outlines, follows)
    lanes = {
        lane.id: Lane(
            id=lane.id,
            left=shapes[lane.id][0],
            right=shapes[lane.id][1],
            center=shapes[lane.id][2],
            successors=follows[lane.id],
            predecessors=tuple(sorted(leads[lane.id])),
            left_neighbor=lane.left_neighbor if lane.left_neighbor in shapes else None,
            right_neighbor=lane.right_neighbor if lane.right_neighbor in shapes else None,
            conflicts=shared[lane.id],
            speed_limit_mps=lane.speed_limit_mps,
            yields_to=tuple(sorted(n for n in lane.yields_to if n in shapes)),
            tags=MappingProxyType(lane.tags if lane.left is not None else {**lane.tags, "width": "assumed"}),
        )
        for lane in sorted(drawn, key=lambda one: one.id)
        if lane.id in shapes
    }
    return LaneMap(name=name, lanes=MappingProxyType(lanes), lines=tuple(lines), warnings=tuple(told))


def _shape(lane: DrawnLane) -> tuple[FloatArray, FloatArray, FloatArray] | None:
    """Left, right and center; None without length."""
    center = None if lane.center is None else _distinct(lane.center)
    if lane.left is None or lane.right is None:
        return None if center is None or len(center) < 2 else (*sides_of(center, 0.5 * LANE_WIDTH_M), center)
    left, right = _distinct(lane.left), _distinct(lane.right)
    if len(left) < 2 or len(right) < 2:
        return None
    if center is None or len(center) < 2:
        try:
            center = topology.center_line(left, right)
        except DataError:
            return None
    return left, right, center


def _distinct(line: FloatArray) -> FloatArray:
    """The line without points nearer than :data:`MIN_STEP_M` to the one before."""
    points = line[np.isfinite(line).all(axis=1)]
    if len(points) < 2:
        return points
    far = np.hypot(*np.diff(points, axis=0).T) > MIN_STEP_M
    return points[np.concatenate([[True], far])]
