"""Markings of a road that a replay draws."""

from __future__ import annotations

import numpy as np
import pytest

from giveway.core.lanes import Lane, LaneMap, Line
from giveway.reports.player.road import arrows, markings, teeth


def lane(number: int, center: list[tuple[float, float]], **more) -> Lane:
    """A lane of 4 m around a straight center line."""
    line = np.array(center, dtype=float)
    along = (line[-1] - line[0]) / np.hypot(*(line[-1] - line[0]))
    normal = np.array([-along[1], along[0]])
    return Lane(id=number, left=line + 2 * normal, right=line - 2 * normal, center=line, **more)


def crossing(**more) -> LaneMap:
    """A road to the east that has priority, and one to the north that yields."""
    main = lane(1, [(-30, 0), (30, 0)], conflicts=(2,))
    side = lane(2, [(0, -30), (0, 30)], conflicts=(1,), yields_to=(1,))
    return LaneMap(name="x", lanes={1: main, 2: side}, **more)


def test_teeth_lie_across_the_yielding_lane_just_before_the_other() -> None:
    (left, right) = teeth(crossing())[0]
    assert left == pytest.approx([-2.0, -2.4], abs=0.6)
    assert right == pytest.approx([2.0, left[1]])
    assert left[1] < -1.9, "the line is before the area of the main road"


def test_a_stop_line_replaces_the_teeth() -> None:
    stop = Line(id=9, points=np.array([[-2.0, -3.0], [2.0, -3.0]]), type="stop_line")
    assert teeth(crossing(lines=(stop,))) == []


def test_a_lane_that_opens_into_a_junction_has_its_teeth_where_it_is_narrow() -> None:
    main = lane(1, [(-30, 40), (30, 40)])
    flared = Lane(
        id=2,
        left=np.array([[-2.0, -30.0], [-2.0, 0.0], [-20.0, 10.0]]),
        right=np.array([[2.0, -30.0], [2.0, 0.0], [20.0, 10.0]]),
        center=np.array([[0.0, -30.0], [0.0, 10.0]]),
        yields_to=(1,),
    )
    (ends,) = teeth(LaneMap(name="x", lanes={1: main, 2: flared}))
    assert np.hypot(*(ends[1] - ends[0])) <= 6.0 + 1e-9


def test_arrows_point_along_lanes_that_nobody_crosses() -> None:
    road = LaneMap(name="x", lanes={1: lane(1, [(0, 0), (0, 36)]), 2: lane(2, [(50, 0), (90, 0)], conflicts=(1,))})
    found = arrows(road)
    assert found[:, 0] == pytest.approx([0.0, 0.0]) and found[:, 1] == pytest.approx([9.0, 27.0])
    assert found[:, 2] == pytest.approx(np.pi / 2)


def test_a_map_without_markings_gets_a_joining_line_and_others_are_left_alone() -> None:
    made = [line for line in markings(crossing()) if line.subtype == "dashed"]
    assert {round(float(line.points[0, 1])) for line in made} == {-2, 2}, "both edges of the main road"
    painted = Line(id=9, points=np.array([[0.0, 0.0], [5.0, 0.0]]), type="line_thin", subtype="solid")
    virtual = Line(id=8, points=np.array([[0.0, 0.0], [5.0, 0.0]]), type="virtual")
    assert markings(crossing(lines=(painted, virtual))) == [painted]
