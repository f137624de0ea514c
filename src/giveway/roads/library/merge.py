"""A two-lane road with an on-ramp from the right whose lane ends."""

from __future__ import annotations

import numpy as np

from giveway.roads.library.shapes import bend, joined, line
from giveway.roads.road import Road

LENGTH_M = 400.0
LANE_WIDTH_M = 3.5
RAMP_IN_M = 130.0
"""Where the ramp becomes a lane beside the road."""
LANE_END_M = 230.0
"""Where that lane begins to taper off."""
TAPER_M = 40.0


def merge_road() -> Road:
    """Ways: 0 right lane, 1 left lane, 2 ramp, which ends up in the right lane."""
    east = np.array([1.0, 0.0])
    slope = np.array([np.cos(0.18), np.sin(0.18)])
    foot = np.array([RAMP_IN_M - 30.0, -LANE_WIDTH_M - 2.9])
    ramp = joined(
        line(tuple(foot - 70.0 * slope), tuple(foot)),
        bend(foot, slope, np.array([RAMP_IN_M, -LANE_WIDTH_M]), east),
        line((RAMP_IN_M, -LANE_WIDTH_M), (LANE_END_M, -LANE_WIDTH_M)),
        bend(np.array([LANE_END_M, -LANE_WIDTH_M]), east, np.array([LANE_END_M + TAPER_M, 0.0]), east),
        line((LANE_END_M + TAPER_M, 0.0), (LENGTH_M, 0.0)),
    )
    return Road(
        name="merge",
        ways=(line((0.0, 0.0), (LENGTH_M, 0.0)), line((0.0, LANE_WIDTH_M), (LENGTH_M, LANE_WIDTH_M)), ramp),
        lane_width_m=LANE_WIDTH_M,
        lane_changes=((0, 1), (2, 0)),
        ego_ways=(0, 2),
        ego_start_m=(40.0, 90.0),
    )
