"""Roundabouts in a lane map: who circulates and who enters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from giveway.core.lanes import LaneMap
from giveway.drive.conflicts import Meeting, Trace
from giveway.roads.queries import PreparedMap

BEFORE_M = 10
"""Where a car comes from is looked up on its last meters before the conflict."""


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
