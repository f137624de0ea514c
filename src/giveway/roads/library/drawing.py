"""From a drawing to a road: the lane map is what a reader of the written lanelet2 file would get."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from giveway.core.arrays import FloatArray
from giveway.roads.lanelet2 import parse_lanelet2
from giveway.roads.road import Road
from giveway.roads.sketch import RoadSketch
from giveway.roads.writer import lanelet2_text


def drawn_road(
    name: str, ways: Sequence[FloatArray], sketch: RoadSketch, routes: Sequence[Sequence[str]], **more: Any
) -> Road:
    """A road whose lanes, markings and rules are those of a drawing.

    Args:
        name: of the road.
        ways: center line of each way, (P, 2) [m].
        sketch: lanes and rules.
        routes: names of the lanes of each way, in driving order.
        **more: further fields of :class:`~giveway.roads.road.Road`.
    """
    text, ids = lanelet2_text(sketch)
    return Road(
        name=name,
        ways=tuple(ways),
        lane_map=parse_lanelet2(text, name=name),
        routes=tuple(tuple(ids[lane] for lane in route) for route in routes),
        lane_ids=ids,
        sketch=sketch,
        **more,
    )
