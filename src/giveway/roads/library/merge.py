"""A road with a ramp that joins from the right: through a lane of its own that ends, or directly."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.roads.library.drawing import drawn_road
from giveway.roads.library.shapes import DASHED, OPEN_SIDE, SOLID, across, bend, direction, joined, lane, line
from giveway.roads.road import Road
from giveway.roads.sketch import LaneSketch, RoadSketch, RuleSketch

LENGTH_M = 400.0
LANE_WIDTH_M = 3.5
RAMP_IN_M = 130.0
"""Where the ramp becomes a lane beside the road, or joins it."""
RAMP_RAD = 0.18
FOOT_M = (30.0, 2.9)
"""Where the bend of the ramp begins: before its end, and to the right of it."""


def merge_road(
    *,
    lanes: int = 2,
    length_m: float = LENGTH_M,
    ramp_in_m: float = RAMP_IN_M,
    ramp_m: float = 70.0,
    acceleration_m: float = 100.0,
    taper_m: float = 40.0,
    lane_width_m: float = LANE_WIDTH_M,
    limit_mps: float = 13.9,
    ramp_limit_mps: float | None = None,
    center: tuple[float, float] = (0.0, 0.0),
    name: str = "merge",
) -> Road:
    """Ways: the lanes from the right, then the ramp, which ends up in the right lane and gives way to it.

    Args:
        lanes: of the main road, along +x.
        length_m: of the main road.
        ramp_in_m: where on it the ramp arrives.
        ramp_m: length of the straight part of the ramp.
        acceleration_m: length of the lane beside the road that the ramp becomes; 0 for a ramp that joins directly.
        taper_m: length over which that lane ends.
        lane_width_m: of all lanes.
        limit_mps: speed limit.
        ramp_limit_mps: of the ramp; that of the road if None.
        center: where the main road begins.
        name: of the road.
    """
    width, direct = lane_width_m, acceleration_m == 0.0
    arrives = np.array([ramp_in_m, 0.0 if direct else -width])
    pieces = _ramp(arrives, ramp_m, acceleration_m, taper_m, width)
    ends = arrives[0] if direct else ramp_in_m + acceleration_m + taper_m
    ways = [line((0.0, width * n), (length_m, width * n)) for n in range(lanes)]
    ways.append(joined(*pieces.values(), line((ends, 0.0), (length_m, 0.0))))
    cuts = [0.0, ramp_in_m, length_m] if direct else [0.0, ramp_in_m, ramp_in_m + acceleration_m, ends, length_m]
    sketch = _sketch(cuts, lanes, pieces, width, limit_mps, ramp_limit_mps or limit_mps)
    shifted = sketch if center == (0.0, 0.0) else sketch.moved(center)
    main = [[f"lane {n} {k}" for k in range(len(cuts) - 1)] for n in range(lanes)]
    return drawn_road(
        name,
        ways if center == (0.0, 0.0) else [way + np.asarray(center) for way in ways],
        shifted,
        [*main, [*pieces, main[0][-1]]],
        lane_width_m=width,
        speed_limit_mps=limit_mps,
        lane_changes=(*((n, n + 1) for n in range(lanes - 1)), *(() if direct else ((lanes, 0),))),
        ego_ways=(0, lanes),
        ego_start_m=(40.0, 90.0),
    )


def _ramp(
    arrives: FloatArray, ramp_m: float, acceleration_m: float, taper_m: float, width_m: float
) -> dict[str, FloatArray]:
    """Center line of each lane of the ramp, in driving order."""
    east, slope = np.array([1.0, 0.0]), direction(RAMP_RAD)
    foot = np.array([arrives[0] - FOOT_M[0], arrives[1] - FOOT_M[1]])
    pieces = {
        "ramp": line(tuple(foot - ramp_m * slope), tuple(foot)),
        "ramp end": bend(foot, slope, arrives, east),
    }
    if acceleration_m > 0.0:
        end_m = float(arrives[0]) + acceleration_m
        pieces["beside"] = line(arrives, (end_m, -width_m))
        pieces["taper"] = bend(np.array([end_m, -width_m]), east, np.array([end_m + taper_m, 0.0]), east)
    return pieces


def _sketch(
    cuts: list[float], lanes: int, pieces: dict[str, FloatArray], width: float, limit: float, ramp_limit: float
) -> RoadSketch:
    drawn: list[LaneSketch] = []
    for n in range(lanes):
        for k, (start, end) in enumerate(pairwise(cuts)):
            meets = n == 0 and 0 < k < len(cuts) - 2
            right = DASHED if n or (meets and k == 1) else OPEN_SIDE if meets else SOLID
            center = np.array([[start, width * n], [end, width * n]])
            left = DASHED if n + 1 < lanes else SOLID
            drawn.append(lane(f"lane {n} {k}", center, width_m=width, limit_mps=limit, left=left, right=right))
    turns = {"ramp": (RAMP_RAD, RAMP_RAD), "ramp end": (RAMP_RAD, 0.0)}
    for name, center in pieces.items():
        shown = center[[0, -1]] if name in ("ramp", "beside") else center
        sides = {"ramp": (SOLID, SOLID), "beside": (DASHED, SOLID)}.get(name, (OPEN_SIDE, SOLID))
        drawn.append(
            lane(name, shown, width_m=width, limit_mps=ramp_limit, ends_rad=turns.get(name, (0.0, 0.0)),
                 left=sides[0], right=sides[1])
        )  # fmt: skip
    if "taper" in pieces:
        rule = RuleSketch(yielding=("taper",), priority=("lane 0 2",))
    else:
        end = pieces["ramp end"]
        rule = RuleSketch(yielding=("ramp end",), priority=("lane 0 0",), stop_lines=(across(end, 1, width),))
    return RoadSketch(lanes=tuple(drawn), rules=(rule,))
