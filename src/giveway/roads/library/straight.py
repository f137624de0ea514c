"""A straight road with several lanes in one direction."""

from __future__ import annotations

from giveway.roads.library.shapes import line
from giveway.roads.road import Road

LENGTH_M = 500.0
LANE_WIDTH_M = 3.5


def straight_road(lanes: int = 4) -> Road:
    """Lanes numbered from the right, along +x; four as in the artefact's training road."""
    return Road(
        name="straight",
        ways=tuple(line((0.0, LANE_WIDTH_M * n), (LENGTH_M, LANE_WIDTH_M * n)) for n in range(lanes)),
        lane_width_m=LANE_WIDTH_M,
        lane_changes=tuple((n, n + 1) for n in range(lanes - 1)),
        ego_ways=tuple(range(lanes)),
        ego_start_m=(60.0, 120.0),
    )
