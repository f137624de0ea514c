"""Read OpenDRIVE maps (``.xodr``) into lane maps: plan view, lane sections, widths, links and junctions.

Lanes are sampled every meter. Elevation, objects, signals and lane borders other than widths are not read; a lane of
another type than those of :data:`FOR_CARS` is left out.
Format: ASAM OpenDRIVE 1.4 to 1.8, https://publications.pages.asam.net/standards/ASAM_OpenDRIVE/.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from giveway.core import elementary
from giveway.core.arrays import FloatArray
from giveway.core.errors import MapError
from giveway.core.lanes import LaneMap
from giveway.roads.drawn import DrawnLane, lane_map
from giveway.roads.projection import UtmProjection
from giveway.roads.speeds import KMH, MPH

MAX_BYTES = 256 * 1024 * 1024
STEP_M = 1.0
FINE_M = 0.1
"""Spacing of the points along which curves without a closed form are integrated."""

MAX_ROAD_M = 100_000.0
FOR_CARS = frozenset(
    {
        "driving",
        "entry",
        "exit",
        "onRamp",
        "offRamp",
        "connectingRamp",
        "slipLane",
        "bus",
        "taxi",
        "HOV",
        "bidirectional",
    }
)
UNITS = {"m/s": 1.0, "km/h": KMH, "mph": MPH, "": 1.0}
ENDS = ("start", "end")

Key = tuple[str, int, int]
"""Road, number of the lane section, lane id."""


@dataclass(slots=True)
class _Lane:
    key: Key
    number: int
    along: bool
    left: FloatArray
    right: FloatArray
    kind: str
    limit_mps: float | None
    links: dict[str, int] = field(default_factory=dict[str, int])


def read_opendrive(path: Path, *, projection: UtmProjection | None = None) -> LaneMap:
    """The lane map in a file.

    Args:
        path: of the map.
        projection: origin of the recording; subtracted if the header says that the map is in UTM.

    Raises:
        MapError: the file cannot be read, is not OpenDRIVE, or has no lane for cars; naming road and element.
    """
    root = _parse(path)
    offset, warnings = _offset(root, projection)
    lanes: dict[Key, _Lane] = {}
    for road in root.iter("road"):
        for lane in _road_lanes(road, path, offset, len(lanes)):
            lanes[lane.key] = lane
    follows = _links(root, lanes)
    drawn = [
        DrawnLane(
            id=lane.number,
            left=lane.left,
            right=lane.right,
            successors=sorted(lanes[other].number for other in follows[lane.key]),
            left_neighbor=_beside(lanes, lane, inner=True),
            right_neighbor=_beside(lanes, lane, inner=False),
            speed_limit_mps=lane.limit_mps,
            tags={"road": lane.key[0], "section": str(lane.key[1]), "lane": str(lane.key[2]), "lane_type": lane.kind},
        )
        for lane in lanes.values()
    ]
    made = lane_map(path.stem, drawn, warnings=warnings)
    if made is None:
        raise MapError("a map has no lanes", where=path, found=f"{len(lanes)} lanes for cars")
    return made


def _parse(path: Path) -> ElementTree.Element:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise MapError("a map file cannot be read", where=path, found=error.strerror or str(error)) from error
    if len(data) > MAX_BYTES:
        raise MapError("a map file is too large", where=path, found=f"{len(data)} bytes, at most {MAX_BYTES} are read")
    if b"<!DOCTYPE" in data or b"<!ENTITY" in data:
        raise MapError("a map file declares a document type, which maps never need", where=path, found="<!DOCTYPE")
    try:
        root = ElementTree.fromstring(data)
    except (ElementTree.ParseError, LookupError, ValueError) as error:
        raise MapError("a map file is not well-formed XML", where=path, found=str(error)) from error
    if root.tag != "OpenDRIVE":
        raise MapError("a map file is not OpenDRIVE", where=path, found=f"the outermost element is <{root.tag}>")
    return root


def _offset(root: ElementTree.Element, projection: UtmProjection | None) -> tuple[FloatArray, list[str]]:
    """(2,) what is added to the coordinates of the file, and warnings."""
    header = root.find("header")
    stated = None if header is None else header.find("offset")
    shift = np.zeros(2) if stated is None else np.array([float(stated.get(name, 0.0)) for name in ("x", "y")])
    if projection is None:
        return np.zeros(2), []
    text = ("" if header is None else header.findtext("geoReference")) or ""
    zone = re.search(r"\+proj=utm\b.*\+zone=(\d+)", text)
    if zone is None:
        return np.zeros(2), ["the header names no UTM zone; coordinates are taken for local ones"]
    if int(zone[1]) != projection.zone:
        return shift - projection.origin_m, [f"the map is in UTM zone {zone[1]}, the recording in {projection.zone}"]
    return shift - projection.origin_m, []


def _number(element: ElementTree.Element, name: str, path: Path, default: float | None = None) -> float:
    text = element.get(name)
    try:
        value = float(text) if text is not None else default
    except ValueError:
        value = None
    if value is None or not np.isfinite(value):
        raise MapError(f"<{element.tag}> has no number {name!r}", where=path, found=repr(text))
    return value


def _reference(road: ElementTree.Element, s: FloatArray, path: Path) -> tuple[FloatArray, FloatArray]:
    """(P, 2) positions and (P,) headings of the reference line at arc lengths."""
    parts = sorted(road.findall("planView/geometry"), key=lambda part: _number(part, "s", path))
    if not parts:
        raise MapError("a road has no plan view", where=path, found=f"road {road.get('id')}")
    starts = np.array([_number(part, "s", path) for part in parts])
    which = np.clip(np.searchsorted(starts, s + 1e-9, side="right") - 1, 0, len(parts) - 1)
    xy, heading = np.zeros((len(s), 2)), np.zeros(len(s))
    for n, part in enumerate(parts):
        mine = which == n
        if mine.any():
            u, v, turn = _curve(part, s[mine] - starts[n], path)
            h = _number(part, "hdg", path)
            x, y = _number(part, "x", path), _number(part, "y", path)
            xy[mine, 0], xy[mine, 1] = x + u * np.cos(h) - v * np.sin(h), y + u * np.sin(h) + v * np.cos(h)
            heading[mine] = h + turn
    return xy, heading


def _curve(part: ElementTree.Element, ds: FloatArray, path: Path) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Position along and beside the start direction, and turn, after arc lengths ``ds``."""
    length = _number(part, "length", path)
    shape = next((child for child in part if child.tag in SHAPES), None)
    if shape is None:
        raise MapError("a geometry has no known shape", where=path, found=", ".join(c.tag for c in part) or "nothing")
    if shape.tag == "line":
        return ds, np.zeros_like(ds), np.zeros_like(ds)
    if shape.tag in ("arc", "spiral"):
        first = _number(shape, "curvature" if shape.tag == "arc" else "curvStart", path)
        last = first if shape.tag == "arc" else _number(shape, "curvEnd", path)
        rate = (last - first) / length if length > 0 else 0.0
        fine = np.linspace(0.0, max(float(ds.max()), 1e-9), int(ds.max() / FINE_M) + 2)
        turn = first * fine + 0.5 * rate * fine**2
        step = np.diff(fine)
        # The chord of a small arc has the heading of its middle: second order in the spacing.
        middle = 0.5 * (turn[1:] + turn[:-1])
        u = np.concatenate([[0.0], np.cumsum(step * np.cos(middle))])
        v = np.concatenate([[0.0], np.cumsum(step * np.sin(middle))])
        return np.interp(ds, fine, u), np.interp(ds, fine, v), first * ds + 0.5 * rate * ds**2
    if shape.tag == "poly3":
        a, b, c, d = (_number(shape, name, path) for name in "abcd")
        return ds, a + ds * (b + ds * (c + ds * d)), elementary.arctan(b + ds * (2 * c + ds * 3 * d))
    p = ds if shape.get("pRange") == "arcLength" else ds / max(length, 1e-9)
    u, du = _cubic([_number(shape, f"{name}U", path) for name in "abcd"], p)
    v, dv = _cubic([_number(shape, f"{name}V", path) for name in "abcd"], p)
    return u, v, elementary.arctan2(dv, du)


SHAPES = ("line", "arc", "spiral", "poly3", "paramPoly3")


def _cubic(c: Sequence[float], p: FloatArray) -> tuple[FloatArray, FloatArray]:
    return c[0] + p * (c[1] + p * (c[2] + p * c[3])), c[1] + p * (2 * c[2] + p * 3 * c[3])


def _piecewise(parts: Sequence[ElementTree.Element], start: str, s: FloatArray, path: Path) -> FloatArray:
    """(P,) value of cubic polynomials that begin at ``start``; zero before the first."""
    value = np.zeros_like(s)
    for part in sorted(parts, key=lambda one: _number(one, start, path)):
        ds = s - _number(part, start, path)
        later = ds >= -1e-9
        value[later] = _cubic([_number(part, name, path, 0.0) for name in "abcd"], ds[later])[0]
    return value


def _road_lanes(road: ElementTree.Element, path: Path, offset: FloatArray, first: int) -> list[_Lane]:
    name, length = road.get("id", ""), _number(road, "length", path)
    if not 0 <= length <= MAX_ROAD_M:
        raise MapError("a road is too long", where=path, found=f"road {name}: {length:g} m")
    sections = sorted(road.findall("lanes/laneSection"), key=lambda section: _number(section, "s", path))
    starts = [_number(section, "s", path) for section in sections] + [length]
    flipped = road.get("rule") == "LHT"
    limit = _limit(road.find("type/speed"), path)
    found: list[_Lane] = []
    for n, section in enumerate(sections):
        begin, end = starts[n], starts[n + 1]
        if end - begin < 1e-3:
            continue
        s = np.linspace(begin, end, max(int((end - begin) / STEP_M), 1) + 1)
        xy, heading = _reference(road, s, path)
        normal = np.stack([-np.sin(heading), np.cos(heading)], axis=1)
        zero = _piecewise(road.findall("lanes/laneOffset"), "s", s, path)
        for side, sign in (("left", 1), ("right", -1)):
            edge = zero
            lanes = sorted(section.findall(f"{side}/lane"), key=lambda lane: abs(int(_number(lane, "id", path))))
            for lane in lanes:
                inner = edge
                edge = inner + sign * _piecewise(lane.findall("width"), "sOffset", s - begin, path)
                if lane.get("type", "none") not in FOR_CARS:
                    continue
                lines = [xy + t[:, None] * normal + offset for t in (inner, edge)]
                along = (sign < 0) != flipped
                high, low = (lines[1], lines[0]) if sign > 0 else (lines[0], lines[1])
                left, right = (high, low) if along else (low[::-1], high[::-1])
                links = {
                    kind: int(_number(link, "id", path))
                    for kind in ("predecessor", "successor")
                    if (link := lane.find(f"link/{kind}")) is not None
                }
                found.append(
                    _Lane(
                        key=(name, n, int(_number(lane, "id", path))),
                        number=first + len(found),
                        along=along,
                        left=left,
                        right=right,
                        kind=lane.get("type", ""),
                        limit_mps=_limit(lane.find("speed"), path) or limit,
                        links=links,
                    )
                )
    return found


def _limit(speed: ElementTree.Element | None, path: Path) -> float | None:
    if speed is None or speed.get("max", "undefined") in ("no limit", "undefined"):
        return None
    return _number(speed, "max", path) * UNITS.get(speed.get("unit", ""), 1.0) or None


def _links(root: ElementTree.Element, lanes: dict[Key, _Lane]) -> dict[Key, set[Key]]:
    """Lanes that can be entered at the end of each: pairs of lane ends that touch, in driving direction."""
    last = defaultdict(int)
    for road, section, _ in lanes:
        last[road] = max(last[road], section)
    touching: set[tuple[tuple[Key, str], tuple[Key, str]]] = set()

    def touch(one: tuple[Key, str], other: tuple[Key, str]) -> None:
        if one[0] in lanes and other[0] in lanes:
            touching.update({(one, other), (other, one)})

    def at(road: str, contact: str, lane: int) -> tuple[Key, str]:
        return (road, 0 if contact == "start" else last[road], lane), contact

    for road in root.iter("road"):
        name = road.get("id", "")
        for kind, end in (("predecessor", "start"), ("successor", "end")):
            link = road.find(f"link/{kind}")
            for key, lane in lanes.items():
                if key[0] != name or kind not in lane.links:
                    continue
                section = key[1] + (1 if end == "end" else -1)
                if 0 <= section <= last[name]:
                    touch((key, end), ((name, section, lane.links[kind]), "start" if end == "end" else "end"))
                elif link is not None and link.get("elementType") == "road":
                    touch(
                        (key, end), at(link.get("elementId", ""), link.get("contactPoint", "start"), lane.links[kind])
                    )
    ends = {
        (road.get("id", ""), link.get("elementId", "")): end
        for road in root.iter("road")
        for kind, end in (("predecessor", "start"), ("successor", "end"))
        if (link := road.find(f"link/{kind}")) is not None and link.get("elementType") == "junction"
    }
    for junction in root.iter("junction"):
        for connection in junction.findall("connection"):
            incoming, inside = connection.get("incomingRoad", ""), connection.get("connectingRoad", "")
            end = ends.get((incoming, junction.get("id", "")))
            for link in connection.findall("laneLink") if end is not None else ():
                one = at(incoming, end or "end", int(link.get("from", "0")))
                touch(one, at(inside, connection.get("contactPoint", "start"), int(link.get("to", "0"))))
    follows: dict[Key, set[Key]] = {key: set() for key in lanes}
    for (one, out), (other, into) in touching:
        leaves, enters = ("end" if lanes[one].along else "start"), ("start" if lanes[other].along else "end")
        if out == leaves and into == enters:
            follows[one].add(other)
    return follows


def _beside(lanes: dict[Key, _Lane], lane: _Lane, *, inner: bool) -> int | None:
    """Number of the next lane in the same direction, toward the reference line or away from it."""
    road, section, number = lane.key
    sign = 1 if number > 0 else -1
    # Right-hand traffic has the reference line on the left of both directions, left-hand traffic on the right.
    toward = inner == (lane.along == (number < 0))
    other = lanes.get((road, section, number - sign if toward else number + sign))
    return None if other is None else other.number
