"""Parallel lanes in one direction: a straight road, a motorway."""

from __future__ import annotations

import numpy as np

from giveway.roads.library.drawing import drawn_road
from giveway.roads.library.shapes import DASHED, SOLID, lane, line
from giveway.roads.road import Road
from giveway.roads.sketch import RoadSketch

LENGTH_M = 500.0
LANE_WIDTH_M = 3.5
LIMIT_MPS = 13.9


def straight_road(
    lanes: int = 4,
    *,
    length_m: float = LENGTH_M,
    lane_width_m: float = LANE_WIDTH_M,
    limit_mps: float = LIMIT_MPS,
    ego_start_m: tuple[float, float] = (60.0, 120.0),
    shoulder_m: float = 0.5,
    name: str = "straight",
) -> Road:
    """Lanes numbered from the right, along +x; four as in the artefact's training road."""
    names = [f"lane {n}" for n in range(lanes)]
    drawn = tuple(
        lane(
            names[n],
            np.array([[0.0, lane_width_m * n], [length_m, lane_width_m * n]]),
            width_m=lane_width_m,
            limit_mps=limit_mps,
            left=DASHED if n + 1 < lanes else SOLID,
            right=DASHED if n else SOLID,
        )
        for n in range(lanes)
    )
    return drawn_road(
        name,
        [line((0.0, lane_width_m * n), (length_m, lane_width_m * n)) for n in range(lanes)],
        RoadSketch(lanes=drawn),
        [(lane_name,) for lane_name in names],
        lane_width_m=lane_width_m,
        shoulder_m=shoulder_m,
        speed_limit_mps=limit_mps,
        lane_changes=tuple((n, n + 1) for n in range(lanes - 1)),
        ego_ways=tuple(range(lanes)),
        ego_start_m=ego_start_m,
    )
