"""Write lane maps as OpenDRIVE, for simulators that read nothing else.

Every lane becomes a road of its own: a plan view of straight pieces through its center line and one lane, whose offset
and width follow the bounds linearly in between. Roads are linked where a lane has one successor that has no other
predecessor; forks and merges would need junctions and stay unlinked, as does the right of way. Timed trajectories and
routes in world coordinates need no links.

Reference:
    ASAM OpenDRIVE 1.6, sections 7 (geometry), 8 (roads), 9 (lanes).
"""

from __future__ import annotations

import math
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import shapely

from giveway.core.arrays import FloatArray
from giveway.core.files import write_atomically
from giveway.core.lanes import Lane, LaneMap

MIN_PIECE_M = 1e-3
"""Points of a center line that are nearer to each other are one."""


def write_opendrive(path: Path, road: LaneMap) -> None:
    """Write a lane map as an ``.xodr`` file, atomically; equal maps give equal files."""
    tree = ElementTree.ElementTree(opendrive(road))
    ElementTree.indent(tree)
    with write_atomically(path) as temporary:
        tree.write(temporary, encoding="utf-8", xml_declaration=True)


def opendrive(road: LaneMap) -> ElementTree.Element:
    """The document of a lane map."""
    root = ElementTree.Element("OpenDRIVE")
    _add(root, "header", revMajor="1", revMinor="6", name=road.name, version="1.00", vendor="giveway")
    for lane in road.lanes.values():
        _road(root, lane, road)
    return root


def _road(root: ElementTree.Element, lane: Lane, road: LaneMap) -> None:
    points = _apart(lane.center)
    pieces = np.diff(points, axis=0)
    lengths = np.hypot(pieces[:, 0], pieces[:, 1])
    starts = np.concatenate([[0.0], lengths.cumsum()])
    out = _add(root, "road", name=str(lane.id), length=starts[-1], id=str(lane.id), junction="-1", rule="RHT")
    follows, follower = _only_link(lane, road)
    if follows is not None or follower is not None:
        link = _add(out, "link")
        for name, other, at in (("predecessor", follows, "end"), ("successor", follower, "start")):
            if other is not None:
                _add(link, name, elementType="road", elementId=str(other), contactPoint=at)
    if lane.speed_limit_mps is not None:
        _add(_add(out, "type", s=0.0, type="town"), "speed", max=lane.speed_limit_mps, unit="m/s")
    view = _add(out, "planView")
    for s, (x, y), (dx, dy), length in zip(starts, points, pieces, lengths, strict=False):
        _add(_add(view, "geometry", s=s, x=x, y=y, hdg=math.atan2(dy, dx), length=length), "line")
    at = shapely.points(points)
    left, right = (np.asarray(shapely.distance(shapely.LineString(side), at)) for side in (lane.left, lane.right))
    lanes = _add(out, "lanes")
    for s, a, slope in _linear(starts, left):
        _add(lanes, "laneOffset", s=s, a=a, b=slope, c=0.0, d=0.0)
    section = _add(lanes, "laneSection", s=0.0)
    _add(_add(section, "center"), "lane", id="0", type="none", level="false")
    one = _add(_add(section, "right"), "lane", id="-1", type="driving", level="false")
    if follows is not None or follower is not None:
        link = _add(one, "link")
        for name, other in (("predecessor", follows), ("successor", follower)):
            if other is not None:
                _add(link, name, id="-1")
    for s, a, slope in _linear(starts, left + right):
        _add(one, "width", sOffset=s, a=a, b=slope, c=0.0, d=0.0)


def _only_link(lane: Lane, road: LaneMap) -> tuple[int | None, int | None]:
    """The lane before and the lane after, where neither forks nor merges."""
    before = lane.predecessors[0] if len(lane.predecessors) == 1 and lane.predecessors[0] in road.lanes else None
    after = lane.successors[0] if len(lane.successors) == 1 and lane.successors[0] in road.lanes else None
    if before is not None and len(road.lanes[before].successors) != 1:
        before = None
    if after is not None and len(road.lanes[after].predecessors) != 1:
        after = None
    return before, after


def _apart(points: FloatArray) -> FloatArray:
    """The points without those that repeat the one before."""
    kept = [0]
    for n in range(1, len(points)):
        if math.dist(points[n], points[kept[-1]]) >= MIN_PIECE_M:
            kept.append(n)
    return points[kept]


def _linear(starts: FloatArray, values: FloatArray) -> list[tuple[float, float, float]]:
    """Start, value and slope of every piece; pieces that go on as the one before are left out."""
    found: list[tuple[float, float, float]] = []
    for n in range(len(starts) - 1):
        slope = float(values[n + 1] - values[n]) / float(starts[n + 1] - starts[n])
        if (
            not found
            or abs(found[-1][1] + found[-1][2] * (starts[n] - found[-1][0]) - values[n]) > 1e-6
            or (abs(slope - found[-1][2]) > 1e-9)
        ):
            found.append((float(starts[n]), float(values[n]), slope))
    return found


def _add(parent: ElementTree.Element, tag: str, **attributes: str | float) -> ElementTree.Element:
    texts = {name: value if isinstance(value, str) else f"{value:.9g}" for name, value in attributes.items()}
    return ElementTree.SubElement(parent, tag, texts)
