"""Two one-way lanes that cross: the smallest place where somebody must give way."""

from __future__ import annotations

import numpy as np

from giveway.roads.library.drawing import drawn_road
from giveway.roads.library.shapes import SOLID, lane, line
from giveway.roads.road import Road
from giveway.roads.sketch import RoadSketch, RuleSketch


def crossing_road(
    *,
    reach_m: float = 60.0,
    lane_width_m: float = 3.5,
    limit_mps: float = 50 / 3.6,
    yielding_limit_mps: float = 30 / 3.6,
    stop_m: float = 3.0,
    name: str = "crossing",
) -> Road:
    """Ways: 0 eastward, which has priority, 1 northward, which waits ``stop_m`` before the origin, where they cross."""
    east = np.array([[-reach_m, 0.0], [reach_m, 0.0]])
    north = east[:, ::-1]
    lanes = tuple(
        lane(word, points, width_m=lane_width_m, limit_mps=limit, left=SOLID, right=SOLID)
        for word, points, limit in (("east", east, limit_mps), ("north", north, yielding_limit_mps))
    )
    wait = np.array([[-0.5 * lane_width_m, -stop_m], [0.5 * lane_width_m, -stop_m]])
    rule = RuleSketch(yielding=("north",), priority=("east",), stop_lines=(wait,))
    return drawn_road(
        name,
        [line(*east), line(*north)],
        RoadSketch(lanes=lanes, rules=(rule,)),
        [("east",), ("north",)],
        lane_width_m=lane_width_m,
        speed_limit_mps=limit_mps,
        ego_ways=(0, 1),
        ego_start_m=(5.0, 25.0),
    )
