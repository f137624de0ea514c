"""Lane maps to JSON and back, for stores that keep each map once, by its SHA-256."""

from __future__ import annotations

import dataclasses
import json
from functools import lru_cache
from pathlib import Path
from typing import Any

from giveway.core.checked import Expect, read_json
from giveway.core.errors import StoreError
from giveway.core.lanes import Lane, LaneMap, Line
from giveway.core.tagged_json import from_plain, to_plain

MAP_BYTES = 1 << 30
MAP = Expect(error=StoreError, what="a map of the store", hint="convert the recording or drive the cases again")


def map_bytes(road: LaneMap) -> bytes:
    """Content of the file of a map; equal maps give equal bytes."""
    return json.dumps(road_to_plain(road), ensure_ascii=False, allow_nan=False).encode()


@lru_cache(maxsize=32)
def read_map(path: Path, expect: Expect = MAP) -> LaneMap:
    """The map in a file that is called by its digest.

    Raises:
        GivewayError: as ``expect`` says; the file is damaged.
    """
    return road_from_plain(read_json(path, limit=MAP_BYTES, sha256=path.stem, expect=expect))


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
