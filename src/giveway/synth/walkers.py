"""People who cross the road on foot or by bicycle when no vehicle is near.

They are added to a finished traffic simulation: each waits until a crossing at constant speed keeps clear of
every vehicle, so that nobody has to react to them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from giveway.core import elementary
from giveway.core.arrays import FloatArray, IntArray

CLEARANCE_M = 0.9
RETRY_S = 0.8
PATIENCE_S = 60.0
CHECK_EVERY = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Occupancy:
    """Where vehicles are, one row per vehicle and frame, sorted by frame.

    Attributes:
        frame: (M,).
        xy: (M, 2).
        reach_m: (M,) half the diagonal of the vehicle.
    """

    frame: IntArray
    xy: FloatArray
    reach_m: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """A straight way at constant speed.

    Attributes:
        first_frame: when it begins.
        xy: (F, 2).
        heading_rad: direction.
        speed_mps: constant.
    """

    first_frame: int
    xy: FloatArray
    heading_rad: float
    speed_mps: float


def cross(
    occupancy: Occupancy,
    *,
    start: FloatArray,
    end: FloatArray,
    speed_mps: float,
    earliest_frame: int,
    last_frame: int,
    frame_rate_hz: int,
) -> Walk | None:
    """The first undisturbed crossing from ``start`` to ``end`` (2,); None if there is none soon enough.

    The walk is cut at the end of the recording.
    """
    way = float(np.hypot(*(end - start)))
    frames = int(way / speed_mps * frame_rate_hz) + 1
    xy = start + (end - start) * (np.arange(frames) * speed_mps / frame_rate_hz / way)[:, None]
    for wait in range(int(PATIENCE_S / RETRY_S)):
        first = earliest_frame + int(wait * RETRY_S * frame_rate_hz)
        if first + frame_rate_hz > last_frame:
            return None
        seen = xy[: last_frame - first + 1]
        if _is_clear(occupancy, first, seen):
            heading = float(elementary.arctan2(*(end - start)[::-1]))
            return Walk(first_frame=first, xy=seen, heading_rad=heading, speed_mps=speed_mps)
    return None


def _is_clear(occupancy: Occupancy, first: int, xy: FloatArray) -> bool:
    for step in range(0, xy.shape[0], CHECK_EVERY):
        rows = slice(*np.searchsorted(occupancy.frame, [first + step, first + step + 1]))
        apart = np.hypot(*(occupancy.xy[rows] - xy[step]).T)
        if bool((apart < occupancy.reach_m[rows] + CLEARANCE_M).any()):
            return False
    return True
