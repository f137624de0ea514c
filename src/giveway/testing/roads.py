"""Synthetic roads for tests: small, exact, readable."""

from __future__ import annotations

from dataclasses import dataclass
from math import cos, pi, sin

import numpy as np

from giveway.core import elementary
from giveway.core.arrays import FloatArray
from giveway.core.frames import Pose, transform_points
from giveway.core.lanes import LaneMap
from giveway.core.polylines import Polyline, polyline
from giveway.roads.lanelet2 import parse_lanelet2
from giveway.roads.sketch import LaneSketch, LineSketch, RoadSketch, RuleSketch, lane_along
from giveway.roads.writer import lanelet2_text

CURB = ("curbstone", "low")


@dataclass(frozen=True, slots=True, kw_only=True)
class TestRoad:
    """A road and the paths one can drive on it.

    Attributes:
        road: lane map.
        lane_ids: lane name to id.
        paths: name of a way through the road to its center line.
    """

    __test__ = False  # not a test, whatever its name

    road: LaneMap
    lane_ids: dict[str, int]
    paths: dict[str, Polyline]


def _finish(name: str, sketch: RoadSketch, routes: dict[str, tuple[str, ...]]) -> TestRoad:
    text, ids = lanelet2_text(sketch)
    road = parse_lanelet2(text, name=name)
    paths = {
        route: polyline(np.concatenate([road.lanes[ids[lane]].center for lane in lanes]))
        for route, lanes in routes.items()
    }
    return TestRoad(road=road, lane_ids=ids, paths=paths)


def straight_road() -> TestRoad:
    """Two lanes eastward, 120 m long, side by side; paths ``right`` and ``left``."""
    right, left = np.array([[[0.0, y], [120.0, y]] for y in (0.0, 3.5)])
    marking = ("line_thin", "dashed")
    lanes = (
        lane_along("right", right, left=marking, right=CURB, speed_limit="50kmh"),
        lane_along("left", left, left=CURB, right=marking, speed_limit="50kmh"),
    )
    return _finish("straight", RoadSketch(lanes=lanes), {"right": ("right",), "left": ("left",)})


def crossing_road() -> TestRoad:
    """Two lanes that cross at the origin: ``east`` has priority, ``north`` gives way."""
    along = np.array([[-60.0, 0.0], [60.0, 0.0]])
    lanes = (
        lane_along("east", along, speed_limit="50kmh"),
        lane_along("north", along[:, ::-1], speed_limit="30kmh"),
    )
    stop = np.array([[-1.75, -3.0], [1.75, -3.0]])
    rules = (RuleSketch(yielding=("north",), priority=("east",), stop_lines=(stop,)),)
    return _finish("crossing", RoadSketch(lanes=lanes, rules=rules), {"east": ("east",), "north": ("north",)})


def merge_road() -> TestRoad:
    """A ramp that joins a lane eastward at the origin: ``main`` has priority, ``ramp`` gives way."""
    ramp, heading = curve(Pose.of(-70.0, -12.0, 0.0), Pose.of(0.0, 0.0, 0.0))
    lanes = (
        lane_along("before", np.array([[-80.0, 0.0], [0.0, 0.0]]), speed_limit="80kmh"),
        lane_along("after", np.array([[0.0, 0.0], [80.0, 0.0]]), speed_limit="80kmh"),
        lane_along("ramp", ramp, heading=heading, right=CURB, speed_limit="50kmh"),
    )
    rules = (RuleSketch(yielding=("ramp",), priority=("before",)),)
    routes = {"main": ("before", "after"), "ramp": ("ramp", "after")}
    return _finish("merge", RoadSketch(lanes=lanes, rules=rules), routes)


def roundabout_road(*, radius_m: float = 15.0) -> TestRoad:
    """Four arms (0 = east, counter-clockwise) around a ring; paths ``"0-2"`` and so on, from arm to arm."""
    lanes: list[LaneSketch] = []
    rules: list[RuleSketch] = []
    for arm in range(4):
        out, turn = arm * pi / 2, pi / 8
        leave, join = (Pose.of(radius_m * cos(a), radius_m * sin(a), a + pi / 2) for a in (out - turn, out + turn))
        inward, outward = (_beside(out, radius_m + 10.0, side, out + flip) for side, flip in ((2.0, pi), (-2.0, 0.0)))
        lanes += [
            _arc(f"ring {arm} pass", radius_m, out - turn, out + turn),
            _arc(f"ring {arm} on", radius_m, out + turn, out + pi / 2 - turn),
            _straight(f"in {arm}", _beside(out, radius_m + 45.0, 2.0, out + pi), inward),
            _bend(f"join {arm}", inward, join),
            _bend(f"leave {arm}", leave, outward),
            _straight(f"out {arm}", outward, _beside(out, radius_m + 45.0, -2.0, out)),
        ]
        rules.append(RuleSketch(yielding=(f"join {arm}",), priority=(f"ring {arm} pass",)))
    angle = np.linspace(0.0, 2.0 * pi, 24, endpoint=False)
    island = (radius_m - 3.0) * np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    curb = LineSketch(points=np.concatenate([island, island[:1]]), type="curbstone", subtype="low")
    sketch = RoadSketch(lanes=tuple(lanes), rules=tuple(rules), keepouts=(island,), lines=(curb,))
    routes = {f"{start}-{(start + turns) % 4}": _around(start, turns) for start in range(4) for turns in (1, 2, 3, 4)}
    return _finish("roundabout", sketch, routes)


def curve(start: Pose, stop: Pose, num: int = 17) -> tuple[FloatArray, FloatArray]:
    """(num, 2) points and (num,) headings of a cubic from one pose to another [m, rad]."""
    t = np.linspace(0.0, 1.0, num)[:, None]
    reach = float(np.hypot(*(stop.xy - start.xy)))
    first, second = (reach * np.array([np.cos(pose.heading), np.sin(pose.heading)]) for pose in (start, stop))
    gap = stop.xy - start.xy
    xy = start.xy + t * first + t**2 * (3 * gap - 2 * first - second) + t**3 * (first + second - 2 * gap)
    slope = first + 2 * t * (3 * gap - 2 * first - second) + 3 * t**2 * (first + second - 2 * gap)
    return xy, elementary.arctan2(slope[:, 1], slope[:, 0])


def _beside(direction: float, distance: float, left_m: float, heading: float) -> Pose:
    """A pose ``distance`` out from the origin in ``direction`` and ``left_m`` to the left of that ray."""
    xy = transform_points(Pose.of(0.0, 0.0, direction), np.array([distance, left_m]))
    return Pose.of(float(xy[0]), float(xy[1]), heading)


def _bend(name: str, start: Pose, stop: Pose) -> LaneSketch:
    xy, heading = curve(start, stop)
    return lane_along(name, xy, heading=heading, speed_limit="30kmh")


def _straight(name: str, start: Pose, stop: Pose) -> LaneSketch:
    return lane_along(name, np.stack([start.xy, stop.xy]), speed_limit="30kmh")


def _arc(name: str, radius: float, start: float, stop: float) -> LaneSketch:
    angle = np.linspace(start, stop, 13)
    xy = radius * np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    return lane_along(name, xy, heading=angle + pi / 2, speed_limit="30kmh")


def _around(start: int, turns: int) -> tuple[str, ...]:
    """Lanes from arm ``start`` to the arm ``turns`` quarters on."""
    ring: list[str] = []
    for step in range(turns):
        arm = (start + step) % 4
        ring += [f"ring {arm} pass", f"ring {arm} on"] if step else [f"ring {arm} on"]
    goal = (start + turns) % 4
    return (f"in {start}", f"join {start}", *ring, f"leave {goal}", f"out {goal}")
