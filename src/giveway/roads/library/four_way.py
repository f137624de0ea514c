"""A crossing of two two-lane roads without signals."""

from __future__ import annotations

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.frames import rotated
from giveway.roads.library.shapes import bend, joined, line
from giveway.roads.road import Road

ARM_M = 90.0
LANE_WIDTH_M = 3.5
MOUTH_M = 11.0
"""Distance of the stop lines from the middle."""
NORTH, EAST, WEST = np.array([0.0, 1.0]), np.array([1.0, 0.0]), np.array([-1.0, 0.0])


def four_way_road() -> Road:
    """Twelve ways: from each arm (south first, then counter-clockwise) right, straight on, left."""
    ways: list[FloatArray] = []
    for arm in range(4):
        ways += [rotated(way, 0.5 * np.pi * arm) for way in _from_south()]
    return Road(
        name="four_way",
        ways=tuple(ways),
        lane_width_m=LANE_WIDTH_M,
        shoulder_m=1.0,
        ego_ways=tuple(range(12)),
        ego_start_m=(25.0, 55.0),
    )


def _from_south() -> tuple[FloatArray, FloatArray, FloatArray]:
    half = 0.5 * LANE_WIDTH_M
    into = line((half, -ARM_M), (half, -MOUTH_M))
    start = np.array([half, -MOUTH_M])
    right = bend(start, NORTH, np.array([MOUTH_M, -half]), EAST)
    left = bend(start, NORTH, np.array([-MOUTH_M, half]), WEST)
    return (
        joined(into, right, line((MOUTH_M, -half), (ARM_M, -half))),
        line((half, -ARM_M), (half, ARM_M)),
        joined(into, left, line((-MOUTH_M, half), (-ARM_M, half))),
    )
