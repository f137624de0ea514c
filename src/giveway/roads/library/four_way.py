"""A crossing of two two-lane roads without signals."""

from __future__ import annotations

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.frames import rotated
from giveway.roads.library.drawing import drawn_road
from giveway.roads.library.shapes import DIVIDER, SOLID, bend, joined, lane, line
from giveway.roads.road import Road
from giveway.roads.sketch import LaneSketch, RoadSketch, RuleSketch

ARM_M = 90.0
LANE_WIDTH_M = 3.5
MOUTH_M = 11.0
"""Distance of the stop lines from the middle."""
LIMIT_MPS = 13.9
TURNS = ("right", "straight", "left")
NORTH, EAST, WEST = np.array([0.0, 1.0]), np.array([1.0, 0.0]), np.array([-1.0, 0.0])


def four_way_road(
    *,
    yielding: tuple[int, ...] = (0, 2),
    arm_m: float = ARM_M,
    mouth_m: float = MOUTH_M,
    lane_width_m: float = LANE_WIDTH_M,
    limit_mps: float = LIMIT_MPS,
    yielding_limit_mps: float | None = None,
    center: tuple[float, float] = (0.0, 0.0),
    name: str = "four_way",
) -> Road:
    """Twelve ways: from each arm (south first, then counter-clockwise) right, straight on, left.

    Args:
        yielding: arms that give way to the others; none: right before left; all four: an all-way stop, where each arm
            gives way to every other. Otherwise who turns left gives way to who comes from the opposite arm of the same
            rank.
        arm_m: distance from the middle at which an arm begins.
        mouth_m: distance of the stop lines from the middle.
        lane_width_m: of all lanes.
        limit_mps: speed limit.
        yielding_limit_mps: of the arms that give way; that of the road if None.
        center: of the crossing.
        name: of the road.
    """
    half = 0.5 * lane_width_m
    inside = _inside(half, mouth_m)
    into = line((half, -arm_m), (half, -mouth_m))
    from_south = (
        joined(into, inside["right"], line((mouth_m, -half), (arm_m, -half))),
        line((half, -arm_m), (half, arm_m)),
        joined(into, inside["left"], line((-mouth_m, half), (-arm_m, half))),
    )
    ways = [rotated(way, 0.5 * np.pi * arm) for arm in range(4) for way in from_south]
    limits = [(yielding_limit_mps or limit_mps) if arm in yielding else limit_mps for arm in range(4)]
    sketch = RoadSketch(
        lanes=tuple(_lanes(inside, half, arm_m, mouth_m, limits)), rules=_rules(yielding, lane_width_m, mouth_m)
    )
    moved = center != (0.0, 0.0)
    return drawn_road(
        name,
        [way + np.asarray(center) for way in ways] if moved else ways,
        sketch.moved(center) if moved else sketch,
        [(f"in {a}", f"{turn} {a}", f"out {(a + 1 + n) % 4}") for a in range(4) for n, turn in enumerate(TURNS)],
        lane_width_m=lane_width_m,
        shoulder_m=1.0,
        speed_limit_mps=limit_mps,
        ego_ways=tuple(range(12)),
        ego_start_m=(25.0, 55.0),
    )


def _inside(half: float, mouth_m: float) -> dict[str, FloatArray]:
    """Center lines through the middle, from the south."""
    start = np.array([half, -mouth_m])
    return {
        "right": bend(start, NORTH, np.array([mouth_m, -half]), EAST),
        "straight": line((half, -mouth_m), (half, mouth_m)),
        "left": bend(start, NORTH, np.array([-mouth_m, half]), WEST),
    }


def _lanes(
    inside: dict[str, FloatArray], half: float, arm_m: float, mouth_m: float, limits: list[float]
) -> list[LaneSketch]:
    drawn: list[LaneSketch] = []
    quarter, width = 0.5 * np.pi, 2 * half
    for arm in range(4):
        turned, limit = quarter * arm, limits[arm]
        arrive = rotated(np.array([[half, -arm_m], [half, -mouth_m]]), turned)
        depart = rotated(np.array([[-half, -mouth_m], [-half, -arm_m]]), turned)
        drawn.append(lane(f"in {arm}", arrive, width_m=width, limit_mps=limit, left=DIVIDER, right=SOLID))
        drawn.append(lane(f"out {arm}", depart, width_m=width, limit_mps=limit, left=DIVIDER, right=SOLID))
        for turn, by in zip(TURNS, (-quarter, 0.0, quarter), strict=True):
            ends = (quarter + turned, quarter + turned + by)
            center = rotated(inside[turn], turned)
            drawn.append(lane(f"{turn} {arm}", center, width_m=width, limit_mps=limit, ends_rad=ends))
    return drawn


def _rules(yielding: tuple[int, ...], width: float, mouth_m: float) -> tuple[RuleSketch, ...]:
    """Between roads, between a left turn and oncoming traffic."""
    rules: list[RuleSketch] = []
    stops = {arm: rotated(np.array([[0.0, -mouth_m], [width, -mouth_m]]), 0.5 * np.pi * arm) for arm in yielding}
    all_stop = len(set(yielding)) == 4
    for arm in range(4):
        # Seen from an arm, the next one counter-clockwise lies on its right.
        others = [n for n in range(4) if n != arm and (all_stop or n not in yielding)] if yielding else [(arm + 1) % 4]
        if arm in yielding or not yielding:
            lanes = tuple(tuple(f"{turn} {n}" for n in arms for turn in TURNS) for arms in ([arm], others))
            stop = (stops[arm],) if arm in stops else ()
            rules.append(RuleSketch(yielding=lanes[0], priority=lanes[1], stop_lines=stop))
        opposite = (arm + 2) % 4
        if not all_stop and (arm in yielding) == (opposite in yielding):
            oncoming = (f"straight {opposite}", f"right {opposite}")
            rules.append(RuleSketch(yielding=(f"left {arm}",), priority=oncoming))
    return tuple(rules)
