"""Lane graph: what a driver may use, and how its pieces hang together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from giveway.core.arrays import FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """One drivable lane between two bounds.

    Attributes:
        id: identifier of the source (lanelet id).
        left: (L, 2) left bound in driving direction [m].
        right: (R, 2) right bound in driving direction [m].
        center: (C, 2) center line, resampled mean of the bounds [m].
        successors: lanes that can be entered at the end, sorted.
        predecessors: lanes that lead here, sorted.
        left_neighbor: lane that shares the left bound in the same direction, or None.
        right_neighbor: lane that shares the right bound in the same direction, or None.
        conflicts: lanes whose area overlaps this one although neither follows the other, sorted.
        speed_limit_mps: None where the map gives none.
        yields_to: lanes that have priority over this one by a rule of the map, sorted.
        tags: everything else the source says.
    """

    id: int
    left: FloatArray
    right: FloatArray
    center: FloatArray
    successors: tuple[int, ...] = ()
    predecessors: tuple[int, ...] = ()
    left_neighbor: int | None = None
    right_neighbor: int | None = None
    conflicts: tuple[int, ...] = ()
    speed_limit_mps: float | None = None
    yields_to: tuple[int, ...] = ()
    tags: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A visible or virtual line: curb, marking, stop line.

    Attributes:
        id: identifier of the source.
        points: (P, 2) [m].
        type: ``curbstone``, ``line_thin``, ``line_thick``, ``stop_line``, ``virtual``, ...
        subtype: ``solid``, ``dashed``, ... or empty.
    """

    id: int
    points: FloatArray
    type: str
    subtype: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneMap:
    """All lanes and lines of a site, in one planar frame.

    Attributes:
        name: site.
        lanes: by id, in ascending order.
        lines: everything that can be drawn.
        keepouts: closed polygons that are not drivable, each (P, 2) [m].
        warnings: what the reader tolerated, for people.
    """

    name: str
    lanes: Mapping[int, Lane]
    lines: tuple[Line, ...] = ()
    keepouts: tuple[FloatArray, ...] = ()
    warnings: tuple[str, ...] = ()
