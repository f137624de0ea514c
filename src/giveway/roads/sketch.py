"""A road as one would draw it: lanes with bounds and rules, without ids; :mod:`giveway.roads.writer` writes it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.polylines import polyline


@dataclass(frozen=True, slots=True, kw_only=True)
class LineSketch:
    """A line that can be seen.

    Attributes:
        points: (P, 2) [m].
        type: as in :class:`giveway.core.lanes.Line`.
        subtype: as there.
    """

    points: FloatArray
    type: str = "virtual"
    subtype: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneSketch:
    """One lane. Lanes whose ends share both end points follow each other; equal bounds make neighbors.

    Attributes:
        name: unique; how rules speak of the lane.
        left: left bound, in driving direction.
        right: right bound, in driving direction.
        speed_limit: as on the sign, ``"25mph"`` or ``"50kmh"``; empty for none.
        subtype: ``road`` or ``highway``.
        region: country and state, e.g. ``us-ca``.
    """

    name: str
    left: LineSketch
    right: LineSketch
    speed_limit: str = ""
    subtype: str = "road"
    region: str = "us-ca"


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleSketch:
    """Who gives way to whom.

    Attributes:
        yielding: names of lanes that give way.
        priority: names of lanes that go first; empty for an all-way stop among the ``yielding``.
        stop_lines: (P, 2) each [m].
    """

    yielding: tuple[str, ...]
    priority: tuple[str, ...] = ()
    stop_lines: tuple[FloatArray, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RoadSketch:
    """Everything of a site.

    Attributes:
        lanes: in the order of their ids.
        rules: right of way.
        keepouts: closed polygons that nobody drives on, (P, 2) each, without repeating the first point [m].
        lines: further lines: curbs, crossings, signs.
    """

    lanes: tuple[LaneSketch, ...]
    rules: tuple[RuleSketch, ...] = ()
    keepouts: tuple[FloatArray, ...] = ()
    lines: tuple[LineSketch, ...] = field(default=())

    def moved(self, by_m: tuple[float, float]) -> RoadSketch:
        """The same drawing elsewhere."""
        shift = np.asarray(by_m, dtype=np.float64)

        def line(drawn: LineSketch) -> LineSketch:
            return replace(drawn, points=drawn.points + shift)

        return RoadSketch(
            lanes=tuple(replace(lane, left=line(lane.left), right=line(lane.right)) for lane in self.lanes),
            rules=tuple(replace(rule, stop_lines=tuple(p + shift for p in rule.stop_lines)) for rule in self.rules),
            keepouts=tuple(points + shift for points in self.keepouts),
            lines=tuple(line(drawn) for drawn in self.lines),
        )


def lane_along(
    name: str,
    center: FloatArray,
    *,
    width_m: float = 3.5,
    heading: FloatArray | None = None,
    speed_limit: str = "",
    left: tuple[str, str] = ("virtual", ""),
    right: tuple[str, str] = ("virtual", ""),
) -> LaneSketch:
    """A lane of constant width around a center line.

    Args:
        name: of the lane.
        center: (C, 2) in driving direction, no point repeated [m].
        width_m: between the bounds.
        heading: (C,) direction at each point [rad]; that of the polyline without it. Lanes that shall follow each other
            need the same direction where they meet.
        speed_limit: see :class:`LaneSketch`.
        left: type and subtype of the left bound.
        right: type and subtype of the right bound.
    """
    course = polyline(center, where=name).vertex_heading if heading is None else heading
    normal = np.stack([-np.sin(course), np.cos(course)], axis=-1)
    sides = [
        LineSketch(points=center + 0.5 * sign * width_m * normal, type=kind[0], subtype=kind[1])
        for sign, kind in ((1.0, left), (-1.0, right))
    ]
    return LaneSketch(name=name, left=sides[0], right=sides[1], speed_limit=speed_limit)
