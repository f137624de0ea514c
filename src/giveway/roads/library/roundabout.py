"""A roundabout with one lane; who enters gives way."""

from __future__ import annotations

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.frames import rotated
from giveway.roads.library.drawing import drawn_road
from giveway.roads.library.shapes import (
    CURB,
    DIVIDER,
    OPEN_SIDE,
    across,
    arc,
    bend,
    direction,
    joined,
    lane,
    line,
)
from giveway.roads.road import Road
from giveway.roads.sketch import LaneSketch, RoadSketch, RuleSketch

ARM_M = 90.0
LANE_WIDTH_M = 4.0
RADIUS_M = 16.0
MOUTH_M = 30.0
"""Distance from the middle at which an arm begins to bend."""
ENTRY_RAD = 0.35
"""Angle on the ring between the axis of an arm and where its lanes meet the ring."""
LINE_M = 1.2
"""Distance of the waiting line from the outer edge of the ring."""
SOUTH_RAD = -0.5 * np.pi


def roundabout_road(
    *,
    arms: int | tuple[float, ...] = 4,
    radius_m: float = RADIUS_M,
    arm_m: float = ARM_M,
    mouth_m: float = MOUTH_M,
    entry_rad: float = ENTRY_RAD,
    exit_rad: float | None = None,
    lane_width_m: float = LANE_WIDTH_M,
    offset_m: float | None = None,
    limit_mps: float = 11.0,
    center: tuple[float, float] = (0.0, 0.0),
    name: str = "roundabout",
) -> Road:
    """From each arm (counter-clockwise) by the first, second, ... exit, without turning back.

    Args:
        arms: number of arms at equal angles, the first one in the south; or the direction of each [rad], ascending.
        radius_m: of the center line of the ring.
        arm_m: distance from the middle at which an arm begins.
        mouth_m: distance at which it begins to bend.
        entry_rad: angle between the axis of an arm and where its entry meets the ring.
        exit_rad: the same of its exit; as the entry if None. Wide exits leave the ring early, as drivers do.
        lane_width_m: of all lanes.
        offset_m: distance of the lanes of an arm from its axis; half their width if None, more with an island between.
        limit_mps: speed limit.
        center: of the ring.
        name: of the road.
    """
    turns = _turns(arms)
    count = len(turns)
    gates = (entry_rad, entry_rad if exit_rad is None else exit_rad)
    beside = 0.5 * lane_width_m if offset_m is None else offset_m
    shape = _Shape(radius_m, arm_m, mouth_m, gates, lane_width_m, beside)
    ways: list[FloatArray] = []
    routes: list[list[str]] = []
    for k, turn in enumerate(turns):
        for exits in range(1, count):
            onward = 2 * np.pi / count * exits if isinstance(arms, int) else (turns[(k + exits) % count] - turn)
            ways.append(rotated(shape.way(onward % (2 * np.pi)), turn))
            ring = [
                f"{word} {(k + n) % count}" for n in range(exits) for word in (("between",), ("pass", "between"))[n > 0]
            ]
            goal = (k + exits) % count
            routes.append([f"in {k}", f"join {k}", *ring, f"leave {goal}", f"out {goal}"])
    sketch = _sketch(shape, turns, limit_mps)
    moved = center != (0.0, 0.0)
    return drawn_road(
        name,
        [way + np.asarray(center) for way in ways] if moved else ways,
        sketch.moved(center) if moved else sketch,
        routes,
        lane_width_m=lane_width_m,
        shoulder_m=1.0,
        speed_limit_mps=limit_mps,
        ego_ways=tuple(range(len(ways))),
        ego_start_m=(15.0, 45.0),
    )


def _turns(arms: int | tuple[float, ...]) -> list[float]:
    """Angle of each arm, counter-clockwise from the south."""
    if isinstance(arms, int):
        return [2 * np.pi / arms * k for k in range(arms)]
    return [angle - SOUTH_RAD for angle in arms]


class _Shape:
    """Curves of the southern arm; the others are turned copies."""

    def __init__(
        self,
        radius_m: float,
        arm_m: float,
        mouth_m: float,
        gates_rad: tuple[float, float],
        width_m: float,
        offset_m: float,
    ) -> None:
        self.radius_m, self.exit_rad, self.width_m = radius_m, gates_rad[1], width_m
        self.enters_at, self.leaves_at = SOUTH_RAD + gates_rad[0], SOUTH_RAD - gates_rad[1]
        self.half, self.beside = 0.5 * width_m, offset_m
        self.far, self.mouth = -arm_m, -mouth_m

    def way(self, onward: float) -> FloatArray:
        """Center line from the south to the arm at ``onward`` radians counter-clockwise of it."""
        leave = SOUTH_RAD + onward - self.exit_rad
        ring = arc(self.radius_m, self.enters_at, leave)
        # The exit arm seen from its own frame points south; its outgoing lane lies on the left of its axis there.
        start, end = rotated(np.array([[-self.beside, self.mouth], [-self.beside, self.far]]), onward)
        away = (end - start) / np.hypot(*(end - start))
        return joined(
            line((self.beside, self.far), (self.beside, self.mouth)),
            bend(np.array([self.beside, self.mouth]), np.array([0.0, 1.0]), ring[0], _tangent(self.enters_at)),
            ring,
            bend(ring[-1], _tangent(leave), start, away),
            line(tuple(start), tuple(end)),
        )

    def join(self) -> FloatArray:
        """From the mouth onto the ring."""
        ring = self.radius_m * direction(self.enters_at)
        return bend(np.array([self.beside, self.mouth]), np.array([0.0, 1.0]), ring, _tangent(self.enters_at))

    def leave(self) -> FloatArray:
        """From the ring to the mouth."""
        ring = self.radius_m * direction(self.leaves_at)
        return bend(ring, _tangent(self.leaves_at), np.array([-self.beside, self.mouth]), np.array([0.0, -1.0]))


def _tangent(angle: float) -> FloatArray:
    """Direction of travel on the ring, counter-clockwise."""
    return np.array([-np.sin(angle), np.cos(angle)])


def _sketch(shape: _Shape, turns: list[float], limit: float) -> RoadSketch:
    lanes: list[LaneSketch] = []
    rules: list[RuleSketch] = []
    quarter, width = 0.5 * np.pi, shape.width_m

    def add(name: str, center: FloatArray, turn: float, start: float, end: float, **sides: tuple[str, str]) -> None:
        ends = (start + turn, end + turn)
        lanes.append(lane(name, rotated(center, turn), width_m=width, limit_mps=limit, ends_rad=ends, **sides))

    for k, turn in enumerate(turns):
        onward = (turns[(k + 1) % len(turns)] - turn) % (2 * np.pi)
        enters, leaves, next_exit = shape.enters_at, shape.leaves_at, shape.leaves_at + onward
        inward = np.array([[shape.beside, shape.far], [shape.beside, shape.mouth]])
        outward = np.array([[-shape.beside, shape.mouth], [-shape.beside, shape.far]])
        add(f"in {k}", inward, turn, quarter, quarter, left=DIVIDER, right=CURB)
        add(f"join {k}", shape.join(), turn, quarter, enters + quarter, left=OPEN_SIDE, right=CURB)
        add(f"pass {k}", arc(shape.radius_m, leaves, enters), turn, leaves + quarter, enters + quarter, left=CURB)
        around = arc(shape.radius_m, enters, next_exit)
        add(f"between {k}", around, turn, enters + quarter, next_exit + quarter, left=CURB, right=CURB)
        add(f"leave {k}", shape.leave(), turn, leaves + quarter, -quarter, left=OPEN_SIDE, right=CURB)
        add(f"out {k}", outward, turn, -quarter, -quarter, left=DIVIDER, right=CURB)
        entry = rotated(shape.join(), turn)
        waits = int(np.argmax(np.hypot(*entry.T) < shape.radius_m + shape.half + LINE_M))
        rules.append(
            RuleSketch(yielding=(f"join {k}",), priority=(f"pass {k}",), stop_lines=(across(entry, waits, width),))
        )
    island = arc(max(shape.radius_m - width, 1.0), 0.0, 2 * np.pi)[:-1:2]
    return RoadSketch(lanes=tuple(lanes), rules=tuple(rules), keepouts=(island,))
