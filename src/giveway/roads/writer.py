"""Write a road sketch as a lanelet2 map, in the style of the INTERACTION files.

Ids as there: nodes from 1000, ways from 10000, lanelets from 30000, areas from 40000, rules from 50000.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from xml.sax.saxutils import quoteattr

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.errors import UsageError
from giveway.core.files import write_text
from giveway.roads.projection import UtmProjection
from giveway.roads.sketch import LaneSketch, LineSketch, RoadSketch, RuleSketch

FIRST_NODE, FIRST_WAY, FIRST_LANELET, FIRST_AREA, FIRST_RULE = 1000, 10000, 30000, 40000, 50000
SAME_POINT_M = 1e-3
"""Points nearer than this become one node; this is what makes lanes follow each other."""


def write_lanelet2(path: Path, road: RoadSketch) -> dict[str, int]:
    """Write ``road`` to ``path`` (``.osm``), whole or not at all.

    Returns:
        lanelet id of each lane name.

    Raises:
        UsageError: if lane names repeat, a rule names an unknown lane, or there are more elements than ids.
    """
    text, ids = lanelet2_text(road)
    write_text(path, text)
    return ids


def lanelet2_text(road: RoadSketch) -> tuple[str, dict[str, int]]:
    """The text that :func:`write_lanelet2` writes, and the ids of the lanes."""
    ids = {lane.name: FIRST_LANELET + n for n, lane in enumerate(road.lanes)}
    if len(ids) < len(road.lanes):
        raise UsageError("two lanes of a road sketch have the same name", found=[lane.name for lane in road.lanes])
    drawing = _Drawing()
    bounds = [(drawing.way(lane.left), drawing.way(lane.right)) for lane in road.lanes]
    areas = [drawing.way(_ring(polygon)) for polygon in road.keepouts]
    stops = [[drawing.way(LineSketch(points=p, type="stop_line")) for p in rule.stop_lines] for rule in road.rules]
    for line in road.lines:
        drawing.way(line)
    limits = sorted({lane.speed_limit for lane in road.lanes if lane.speed_limit})
    limit_ids = {limit: FIRST_RULE + n for n, limit in enumerate(limits)}
    rule_ids = [FIRST_RULE + len(limits) + n for n in range(len(road.rules))]
    _check_room(len(drawing.points), len(drawing.ways), len(road.lanes), len(areas))

    body = [*drawing.xml()]
    for lane, (left, right) in zip(road.lanes, bounds, strict=True):
        rules = [limit_ids[lane.speed_limit]] if lane.speed_limit else []
        rules += [n for n, rule in zip(rule_ids, road.rules, strict=True) if lane.name in rule.yielding]
        body += _lanelet_xml(ids[lane.name], lane, left, right, rules)
    for n, way in enumerate(areas):
        tags = {"location": "urban", "subtype": "keepout", "type": "multipolygon"}
        body += _element("relation", FIRST_AREA + n, [_member("way", way, "outer")], tags)
    for limit, n in limit_ids.items():
        tags = {"sign_type": limit, "subtype": "speed_limit", "type": "regulatory_element"}
        body += _element("relation", n, [], tags)
    for n, rule, lines in zip(rule_ids, road.rules, stops, strict=True):
        body += _rule_xml(n, rule, lines, ids)
    head = ['<?xml version="1.0"?>', '<osm version="0.6" generator="lanelet2">']
    return "\n".join([*head, *body, "</osm>", ""]), ids


class _Drawing:
    """Points and lines with their ids, each stored once."""

    def __init__(self) -> None:
        self.points: list[FloatArray] = []
        self.ways: dict[tuple[int, ...], LineSketch] = {}
        self._way_ids: dict[tuple[int, ...], int] = {}
        self._cells: dict[tuple[int, int], int] = {}

    def way(self, line: LineSketch) -> int:
        nodes = tuple(self._node(point) for point in np.asarray(line.points, dtype=np.float64))
        key = nodes if nodes in self.ways or nodes[::-1] not in self.ways else nodes[::-1]
        if key not in self.ways or self.ways[key].type == "virtual":
            self.ways[key] = line
        return self._way_ids.setdefault(key, FIRST_WAY + len(self._way_ids))

    def xml(self) -> Iterable[str]:
        latlon = UtmProjection().to_latlon(np.array(self.points).reshape(-1, 2))
        for n, (lat, lon) in enumerate(latlon, start=FIRST_NODE):
            place = f'lat="{_decimal(float(lat))}" lon="{_decimal(float(lon))}"'
            yield f'  <node id="{n}" visible="true" version="1" {place} />'
        for n, (nodes, line) in enumerate(self.ways.items(), start=FIRST_WAY):
            tags = {"subtype": line.subtype, "type": line.type} if line.subtype else {"type": line.type}
            yield from _element("way", n, [f'    <nd ref="{node}" />' for node in nodes], tags)

    def _node(self, point: FloatArray) -> int:
        x, y = (int(np.floor(value / SAME_POINT_M)) for value in point)
        for cell in ((x + i, y + j) for i in (-1, 0, 1) for j in (-1, 0, 1)):
            node = self._cells.get(cell)
            if node is not None and np.hypot(*(self.points[node - FIRST_NODE] - point)) < SAME_POINT_M:
                return node
        self.points.append(point)
        node = FIRST_NODE + len(self.points) - 1
        self._cells[x, y] = node
        return node


def _lanelet_xml(n: int, lane: LaneSketch, left: int, right: int, rules: Sequence[int]) -> list[str]:
    members = [_member("way", left, "left"), _member("way", right, "right")]
    members += [_member("relation", rule, "regulatory_element") for rule in rules]
    tags = {"location": "urban", "one_way": "yes", "region": lane.region, "subtype": lane.subtype, "type": "lanelet"}
    return _element("relation", n, members, tags)


def _rule_xml(n: int, rule: RuleSketch, stop_lines: Sequence[int], ids: dict[str, int]) -> list[str]:
    unknown = sorted({*rule.yielding, *rule.priority} - ids.keys())
    if unknown:
        raise UsageError("a rule of a road sketch names lanes that do not exist", found=", ".join(unknown))
    members = [_member("way", line, "ref_line") for line in stop_lines]
    members += [_member("relation", ids[name], "right_of_way") for name in rule.priority]
    members += [_member("relation", ids[name], "yield") for name in rule.yielding]
    kind = "right_of_way" if rule.priority else "all_way_stop"
    return _element("relation", n, members, {"subtype": kind, "type": "regulatory_element"})


def _member(kind: str, ref: int, role: str) -> str:
    return f'    <member type="{kind}" ref="{ref}" role="{role}" />'


def _element(kind: str, n: int, children: Sequence[str], tags: dict[str, str]) -> list[str]:
    lines = [f"    <tag k={quoteattr(key)} v={quoteattr(value)} />" for key, value in tags.items()]
    return [f'  <{kind} id="{n}" visible="true" version="1">', *children, *lines, f"  </{kind}>"]


def _decimal(degrees: float) -> str:
    """Eleven decimals (a micrometer) without trailing zeros."""
    text = f"{degrees:.11f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def _ring(polygon: FloatArray) -> LineSketch:
    closed = polygon if np.array_equal(polygon[0], polygon[-1]) else np.concatenate([polygon, polygon[:1]])
    return LineSketch(points=closed, type="curbstone", subtype="low")


def _check_room(nodes: int, ways: int, lanes: int, areas: int) -> None:
    room = {
        "points": (nodes, FIRST_WAY - FIRST_NODE),
        "lines": (ways, FIRST_LANELET - FIRST_WAY),
        "lanes": (lanes, FIRST_AREA - FIRST_LANELET),
        "keepouts": (areas, FIRST_RULE - FIRST_AREA),
    }
    for what, (count, limit) in room.items():
        if count > limit:
            raise UsageError(f"a road sketch has too many {what} for the ids of the format", found=f"{count} > {limit}")
