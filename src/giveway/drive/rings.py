"""Roundabouts in a lane map: who circulates and who enters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from giveway.drive.conflicts import Meeting, Trace
from giveway.roads.priority import ring_lanes
from giveway.roads.queries import PreparedMap

BEFORE_M = 10
"""Where a car comes from is looked up on its last meters before the conflict."""


def with_rings(meetings: Sequence[Meeting], road: PreparedMap) -> list[Meeting]:
    """The same meetings; those that share a way are *entering* if exactly one of the two cars came along a ring, else
    *merging*. Crossings, and maps without a ring, stay as they are.
    """
    rings = ring_lanes(road.road)
    if not rings:
        return [replace(m, kind="merging") if m.kind == "entering" else m for m in meetings]
    found: list[Meeting] = []
    for meeting in meetings:
        if meeting.kind == "crossing":
            found.append(meeting)
            continue
        circles = [
            _came_along(road, rings, trace, at)
            for trace, at in ((meeting.first, meeting.first_at), (meeting.second, meeting.second_at))
        ]
        found.append(replace(meeting, kind="entering" if circles[0] != circles[1] else "merging"))
    return found


def _came_along(road: PreparedMap, rings: frozenset[int], trace: Trace, at: int) -> bool:
    """Whether most of a car's last meters before the conflict lay on a ring."""
    part = slice(max(at - BEFORE_M, 0), max(at, 1))
    lanes = road.match(trace.xy[part], trace.heading[part]).lane.tolist()
    return sum(lane in rings for lane in lanes) > 0.5 * len(lanes)
