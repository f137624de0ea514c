"""Read lanelet2 maps (``.osm``, and ``.osm_xy`` with metric nodes) into lane maps; no lanelet2 library needed."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from types import MappingProxyType
from typing import Literal

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.errors import DataError, MapError
from giveway.core.lanes import Lane, LaneMap, Line
from giveway.roads import topology
from giveway.roads.osm import OsmDocument, OsmRelation, parse_osm, read_osm
from giveway.roads.projection import UtmProjection
from giveway.roads.rules import Warn, keepout_rings, read_rules
from giveway.roads.topology import Bounds

SHIFT_M = 1000.0
"""The closed-loop challenge's maps are the public ones minus this in both axes."""

NOT_FOR_CARS = frozenset({"walkway", "shared_walkway", "crosswalk", "stairs", "bicycle_lane", "exit"})
"""Lanelet subtypes without motor vehicles; they are left out."""

MAX_CHAIN_GAP_M = 0.5
"""Ends of ways that form one side of a lane may be this far apart."""

NULL_ISLAND_DEG = 1.0
"""Maps nearer to the equator than this have no true position: they were drawn around latitude and longitude 0."""


def read_lanelet2(
    path: Path, *, frame: Literal["file", "dataset"] = "file", projection: UtmProjection | None = None
) -> LaneMap:
    """The lane map in a file.

    Bounds may be drawn in either direction; they are turned so that the left one lies left. Several ways on one side
    are chained end to end. A lane follows another when it begins at both its end points. What a map may get wrong
    without harm (a line in the place of a lane in a rule, a sign that is not understood, an area that is not closed, a
    member that is not in the file) is told in ``LaneMap.warnings``.

    Args:
        path: ``.osm`` with latitude and longitude, or ``.osm_xy`` with ``x`` and ``y`` in meters; the nodes tell which.
        frame: ``"file"`` leaves coordinates as they are. ``"dataset"`` adds 1000 m in both axes to maps of the shifted
            family of the closed-loop challenge (center within 500 m of the origin), so that they fit the recordings.
        projection: UTM zone and origin. By default that of INTERACTION, origin (0, 0), for maps within a degree of the
            equator, and UTM coordinates of the zone they lie in for all others.

    Raises:
        MapError: see :func:`giveway.roads.osm.read_osm`; also if there is no lane, or a lane without area.
    """
    return _build(read_osm(path), frame, projection)


def parse_lanelet2(text: str, *, name: str) -> LaneMap:
    """The lane map in a text, e.g. of :func:`giveway.roads.writer.lanelet2_text`; otherwise as from a file."""
    return _build(parse_osm([text.encode()], Path(name)), "file", None)


def _build(document: OsmDocument, frame: str, projection: UtmProjection | None) -> LaneMap:
    warnings: list[str] = []

    def warn(line: int, text: str) -> None:
        warnings.append(f"line {line}: {text}")

    for line, text in document.dangling:
        warn(line, text)
    positions = _positions(document, frame, projection, warnings)
    bounds = _all_bounds(document, positions, warn)
    if not bounds:
        raise MapError(
            "a map has no lanes", where=document.path, found=f"{len(document.relations)} relations, none a road lanelet"
        )
    return LaneMap(
        name=document.path.stem,
        lanes=MappingProxyType(_lanes(document, bounds, positions, warn)),
        lines=_lines(document, positions, warn),
        keepouts=tuple(_chain(ring, positions) for ring in keepout_rings(document, warn)),
        warnings=tuple(warnings),
    )


def _positions(
    document: OsmDocument, frame: str, projection: UtmProjection | None, warnings: list[str]
) -> dict[int, FloatArray]:
    raw = np.array(list(document.nodes.values()), dtype=np.float64).reshape(-1, 2)
    projection = projection or _own_projection(raw)
    xy = raw if document.is_metric else projection.to_xy(raw[:, 0], raw[:, 1])
    if frame == "dataset" and len(xy) and np.hypot(*(0.5 * (xy.min(axis=0) + xy.max(axis=0)))) < 0.5 * SHIFT_M:
        xy = xy + SHIFT_M
        warnings.append(
            f"moved by {SHIFT_M:g} m in both axes, from the frame of the challenge to that of the recordings"
        )
    return dict(zip(document.nodes, xy, strict=True))


def _own_projection(latlon: FloatArray) -> UtmProjection:
    if not len(latlon) or float(np.abs(latlon[:, 0]).min()) < NULL_ISLAND_DEG:
        return UtmProjection()
    return UtmProjection(origin_lon_deg=float(np.median(latlon[:, 1])), grid_origin_m=(0.0, 0.0))


def _chain(nodes: tuple[int, ...], positions: dict[int, FloatArray]) -> FloatArray:
    return np.array([positions[node] for node in nodes], dtype=np.float64).reshape(-1, 2)


def _all_bounds(document: OsmDocument, positions: dict[int, FloatArray], warn: Warn) -> list[Bounds]:
    """Bounds of all road lanelets, by ascending id."""
    bounds: list[Bounds] = []
    left_out: Counter[str] = Counter()
    for _, relation in sorted(document.relations.items()):
        if relation.tags.get("type") != "lanelet":
            continue
        subtype = relation.tags.get("subtype", "")
        if subtype in NOT_FOR_CARS:
            left_out[subtype] += 1
            continue
        if relation.tags.get("one_way", "yes") not in ("yes", "true", "1"):
            warn(relation.line, f"lane {relation.id} is for both directions; it is read in the one it is drawn in")
        found = _bounds(document, relation, positions)
        if found is None:
            warn(relation.line, f"lane {relation.id} does not have a whole bound on both sides and was left out")
        else:
            bounds.append(found)
    for subtype, count in sorted(left_out.items()):
        warn(1, f"{count} lanelets of subtype {subtype!r} are not for cars and were left out")
    return bounds


def _bounds(document: OsmDocument, relation: OsmRelation, positions: dict[int, FloatArray]) -> Bounds | None:
    left, right = (
        _chained([document.ways[n].nodes for n in relation.refs(side, "way")], positions) for side in ("left", "right")
    )
    if left is None or right is None:
        return None
    turn_left, turn_right = topology.orient(_chain(left, positions), _chain(right, positions))
    return Bounds(
        lane=relation.id,
        left=left[::-1] if turn_left else left,
        right=right[::-1] if turn_right else right,
    )


def _chained(ways: list[tuple[int, ...]], positions: dict[int, FloatArray]) -> tuple[int, ...] | None:
    """Node ids of ways that lie end to end in any order and direction; None if they do not form one line."""
    if not ways or min(len(way) for way in ways) < 2:
        return None
    chain, *rest = ways
    while rest:
        gap, n, joined = min(
            (_gap(a[-1], b[0], positions), n, (a, b))
            for n, way in enumerate(rest)
            for turned in (way, way[::-1])
            for a, b in ((chain, turned), (turned, chain))
        )
        if gap > MAX_CHAIN_GAP_M:
            return None
        head, tail = joined
        chain = head + tail[head[-1] == tail[0] :]
        del rest[n]
    return chain


def _gap(one: int, other: int, positions: dict[int, FloatArray]) -> float:
    return 0.0 if one == other else float(np.hypot(*(positions[one] - positions[other])))


def _lanes(
    document: OsmDocument, bounds: list[Bounds], positions: dict[int, FloatArray], warn: Warn
) -> dict[int, Lane]:
    follows = topology.successors(bounds)
    leads: dict[int, list[int]] = {lane.lane: [] for lane in bounds}
    for lane, others in follows.items():
        for other in others:
            leads[other].append(lane)
    to_left, to_right = topology.neighbors(bounds)
    sides = {lane.lane: (_chain(lane.left, positions), _chain(lane.right, positions)) for lane in bounds}
    outlines = {lane: topology.outline(left, right) for lane, (left, right) in sides.items()}
    shared = topology.conflicts(outlines, follows)
    rules = read_rules(document, follows.keys(), warn)
    lanes: dict[int, Lane] = {}
    for n, (left, right) in sides.items():
        relation = document.relations[n]
        lanes[n] = Lane(
            id=n,
            left=left,
            right=right,
            center=_center(document, relation, left, right),
            successors=follows[n],
            predecessors=tuple(sorted(leads[n])),
            left_neighbor=to_left.get(n),
            right_neighbor=to_right.get(n),
            conflicts=shared[n],
            speed_limit_mps=rules.speed_limit_mps.get(n),
            yields_to=tuple(sorted(rules.yields_to.get(n, ()))),
            tags=MappingProxyType(dict(relation.tags)),
        )
    return lanes


def _center(document: OsmDocument, relation: OsmRelation, left: FloatArray, right: FloatArray) -> FloatArray:
    try:
        return topology.center_line(left, right)
    except DataError as error:
        where = f"{document.path}, line {relation.line}"
        raise MapError(f"lane {relation.id}: {error.what}", where=where, found=error.found) from error


def _lines(document: OsmDocument, positions: dict[int, FloatArray], warn: Warn) -> tuple[Line, ...]:
    lines: list[Line] = []
    for n, way in sorted(document.ways.items()):
        if len(way.nodes) < 2:
            warn(way.line, f"way {n} has fewer than two nodes and was left out")
            continue
        tags = way.tags
        lines.append(
            Line(id=n, points=_chain(way.nodes, positions), type=tags.get("type", ""), subtype=tags.get("subtype", ""))
        )
    return tuple(lines)
