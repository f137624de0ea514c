"""Lane maps to JSON and back, for the store."""

from __future__ import annotations

import dataclasses
from typing import Any

from giveway.core.lanes import Lane, LaneMap, Line
from giveway.data.plain import from_plain, to_plain


def road_to_plain(road: LaneMap) -> dict[str, Any]:
    """Everything of a map in JSON's types."""
    return {
        "name": road.name,
        "lanes": [_fields(lane) for lane in road.lanes.values()],
        "lines": [_fields(line) for line in road.lines],
        "keepouts": [to_plain(polygon) for polygon in road.keepouts],
        "warnings": list(road.warnings),
    }


def road_from_plain(content: dict[str, Any]) -> LaneMap:
    """The map that :func:`road_to_plain` was given."""
    lanes = [Lane(**from_plain(lane)) for lane in content["lanes"]]
    return LaneMap(
        name=content["name"],
        lanes={lane.id: lane for lane in lanes},
        lines=tuple(Line(**from_plain(line)) for line in content["lines"]),
        keepouts=tuple(from_plain(polygon) for polygon in content["keepouts"]),
        warnings=tuple(content["warnings"]),
    )


def _fields(value: Lane | Line) -> dict[str, Any]:
    return {field.name: to_plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
