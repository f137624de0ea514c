"""A roundabout with one lane and four arms."""

from __future__ import annotations

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.frames import rotated
from giveway.roads.library.shapes import arc, bend, joined, line
from giveway.roads.road import Road

ARM_M = 90.0
LANE_WIDTH_M = 4.0
RADIUS_M = 16.0
MOUTH_M = 30.0
"""Distance from the middle at which an arm begins to bend."""
ENTRY_RAD = 0.35
"""Angle on the ring between the axis of an arm and where its lanes meet the ring."""


def roundabout_road() -> Road:
    """Twelve ways: from each arm (south first, then counter-clockwise) by the first, second and third exit."""
    ways: list[FloatArray] = []
    for arm in range(4):
        for exits in (1, 2, 3):
            ways.append(rotated(_from_south(exits), 0.5 * np.pi * arm))
    return Road(
        name="roundabout",
        ways=tuple(ways),
        lane_width_m=LANE_WIDTH_M,
        shoulder_m=1.0,
        speed_limit_mps=11.0,
        ego_ways=tuple(range(12)),
        ego_start_m=(15.0, 45.0),
    )


def _from_south(exits: int) -> FloatArray:
    half = 0.5 * LANE_WIDTH_M
    entry = -0.5 * np.pi + ENTRY_RAD
    leave = -0.5 * np.pi + 0.5 * np.pi * exits - ENTRY_RAD
    ring = arc(RADIUS_M, entry, leave)
    at_entry, at_exit = np.array([-np.sin(entry), np.cos(entry)]), np.array([-np.sin(leave), np.cos(leave)])
    arm = 0.5 * np.pi * exits
    # The exit arm seen from its own frame points south; its outgoing lane lies on the left of its axis there.
    out_start, out_end = rotated(np.array([[-half, -MOUTH_M], [-half, -ARM_M]]), arm)
    away = (out_end - out_start) / np.hypot(*(out_end - out_start))
    return joined(
        line((half, -ARM_M), (half, -MOUTH_M)),
        bend(np.array([half, -MOUTH_M]), np.array([0.0, 1.0]), ring[0], at_entry),
        ring,
        bend(ring[-1], at_exit, out_start, away),
        line(tuple(out_start), tuple(out_end)),
    )
