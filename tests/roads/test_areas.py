"""Areas that two routes share, and who has priority there; golden values of the design note, derived by hand."""

from __future__ import annotations

from dataclasses import replace
from math import acos, cos, pi, radians, sin

import numpy as np
import pytest

from giveway.core.arrays import FloatArray
from giveway.roads.conflicts import Area, area_between, areas_between
from giveway.roads.library import make_road
from giveway.roads.priority import rules_of
from giveway.roads.queries import prepare
from giveway.roads.route_lines import route_line
from giveway.roads.routes import path_through, project
from giveway.testing.roads import crossing_road, roundabout_road

W = 1.8
LENGTH = 4.5


def straight(angle_deg: float, *, before: float = 50.0, after: float = 50.0) -> FloatArray:
    """A line through the origin, which is at arc length ``before``."""
    way = np.array([cos(radians(angle_deg)), sin(radians(angle_deg))])
    return np.array([-before * way, after * way])


def ramp(*, before: float = 40.0, after: float = 40.0, radius: float = 60.0, step: float = 0.02) -> FloatArray:
    """An arc from the left that is tangent to the x axis at the origin, then straight on."""
    back = np.arange(before, 0.0, -step) / radius
    arc = np.stack([-radius * np.sin(back), radius * (1 - np.cos(back))], axis=1)
    return np.concatenate([arc, [[0.0, 0.0], [after, 0.0]]])


def only(areas: tuple[Area, ...]) -> Area:
    assert len(areas) == 1
    return areas[0]


@pytest.mark.parametrize(("angle", "length", "half"), [(90, 1.8, 3.15), (60, 3.1177, 3.8088), (30, 6.7177, 5.6088)])
def test_straight_routes_share_the_length_of_the_formula(angle: float, length: float, half: float) -> None:
    area = only(area_between(straight(0), straight(angle), W, W))
    assert area.kind == "crossing"
    assert area.length_m == pytest.approx((length, length), abs=5e-5)
    assert sum(area.own) / 2 == pytest.approx(50.0)
    assert (area.priority, area.source) == ("none", "none")
    assert (area.length_m[0] + LENGTH) / 2 == pytest.approx(half, abs=5e-5)


def test_widths_enter_crosswise() -> None:
    area = only(area_between(straight(0), straight(60), 2.5, 1.5))
    assert area.length_m[0] == pytest.approx((1.5 + 2.5 * 0.5) / sin(pi / 3))
    assert area.length_m[1] == pytest.approx((2.5 + 1.5 * 0.5) / sin(pi / 3))


def test_distances_and_times_at_a_right_angle_are_those_of_the_note() -> None:
    area = only(area_between(straight(0, before=49.0), straight(90), W, W))
    s, v, half = 20.0, 8.0, 0.5 * LENGTH
    assert sum(area.own) / 2 - s == pytest.approx(29.0)
    assert area.own[0] - s - half == pytest.approx(25.85)
    assert (area.own[0] - s - half) / v == pytest.approx(3.23125)
    assert (area.own[1] - s + half) / v == pytest.approx(4.01875)


def test_a_ramp_merges_where_corridors_touch_until_center_lines_are_a_meter_apart() -> None:
    area = only(area_between(ramp(), straight(0, before=60.0), W, W))
    assert area.kind == "merging"
    assert (area.priority, area.source) == ("other", "geometry")
    assert 40.0 - area.own[0] == pytest.approx(60 * acos(59.1 / 60.9), abs=2e-4)
    assert 40.0 - area.own[0] == pytest.approx(14.6241, abs=2e-4)
    assert 60.0 - area.other[0] == pytest.approx(14.6969, abs=2e-4)
    assert area.joined is not None
    assert 40.0 - area.joined[0] == pytest.approx(10.9697, abs=2e-4)
    assert 60.0 - area.joined[1] == pytest.approx(10.9087, abs=2e-4)
    assert area.length_m == pytest.approx((3.6544, 3.7882), abs=2e-4)


def test_the_same_area_is_seen_from_both_sides() -> None:
    one, two = ramp(), straight(0, before=60.0)
    assert only(area_between(two, one, W, W)) == only(area_between(one, two, W, W)).mirrored()


def test_routes_that_start_together_follow_each_other() -> None:
    later = np.array([[-10.0, 0.2], [50.0, 0.2]])
    assert only(area_between(straight(0), later, W, W)).kind == "following"


def test_a_route_that_crosses_twice_has_two_areas_in_its_own_order() -> None:
    loop = np.array([[20.0, -30.0], [20.0, 30.0], [-20.0, 30.0], [-20.0, -30.0]])
    seen = area_between(straight(0), loop, W, W)
    assert [round(sum(area.own) / 2) for area in seen] == [30, 70]
    back = area_between(loop, straight(0), W, W)
    assert [round(sum(area.other) / 2) for area in back] == [70, 30]


def test_routes_that_stay_apart_or_do_not_move_share_nothing() -> None:
    beside = straight(0) + np.array([0.0, 3.5])
    standing = np.zeros((3, 2))
    assert areas_between([straight(0), beside, standing], [W, W, W]) == {}


def test_a_tabulated_path_gives_the_arc_lengths_of_its_table() -> None:
    bend = ramp(step=0.5)[:-1]
    path = path_through(np.concatenate([bend, np.stack([np.arange(0.5, 30.0, 0.5), np.zeros(59)], axis=1)]), 0.0)
    crossing = np.array([[10.0, -30.0], [10.0, 30.0]])
    area = only(area_between(path, crossing, W, W))
    assert sum(area.own) / 2 == pytest.approx(project(path, np.array([10.0, 0.0]))[0], abs=2e-4)


def test_cars_on_one_route_share_its_areas_and_none_with_each_other() -> None:
    one, two = straight(0), straight(90)
    found = areas_between([one, two, one], [W, W, W])
    assert set(found) == {(0, 1), (1, 2)}
    assert found[1, 2][0] == found[0, 1][0].mirrored()


def test_circulating_cars_go_first_on_the_library_roundabout() -> None:
    ways = make_road("roundabout").ways
    south, east = ways[2], ways[3 + 1]  # third exit from the south passes the entry from the east
    merge = [area for area in area_between(south, east, W, W) if area.kind == "merging"]
    assert [(area.priority, area.source) for area in merge[:1]] == [("own", "geometry")]


def test_the_lane_that_ends_yields_on_the_library_merge() -> None:
    right, _, ramp_way = make_road("merge").ways
    area = only(area_between(ramp_way, right, W, W))
    assert (area.kind, area.priority, area.source) == ("merging", "other", "geometry")


def test_a_left_turn_yields_to_the_oncoming_route_and_to_nobody_else_by_geometry() -> None:
    ways = make_road("four_way").ways
    left, oncoming, from_left = ways[2], ways[3 * 2 + 1], ways[3 * 3 + 1]  # arms: south, east, north, west
    assert only(area_between(left, oncoming, W, W)).priority == "other"
    assert only(area_between(left, from_left, W, W)).priority == "none"


def test_a_rule_of_the_map_decides_and_its_stop_line_is_where_a_car_waits() -> None:
    site = crossing_road()
    rules = rules_of(prepare(site.road))
    north, east = site.paths["north"].points, site.paths["east"].points
    area = only(area_between(north, east, W, W, rules=rules))
    assert (area.priority, area.source) == ("other", "map")
    assert area.own_hold_m == pytest.approx(57.0)
    assert area.other_hold_m == pytest.approx(area.other[0] - 1.0)


def test_a_ring_of_the_map_decides_where_no_rule_does() -> None:
    site = roundabout_road()
    lanes = {n: replace(lane, yields_to=()) for n, lane in site.road.lanes.items()}
    rules = rules_of(prepare(replace(site.road, lanes=lanes)))
    area = area_between(site.paths["0-2"].points, site.paths["1-3"].points, W, W, rules=rules)[0]
    assert (area.kind, area.priority, area.source) == ("merging", "own", "geometry")


def test_lanes_that_yield_to_each_other_are_an_all_way_stop() -> None:
    site = crossing_road()
    north, east = (site.lane_ids[name] for name in ("north", "east"))
    both = {n: replace(lane, yields_to=(north + east - n,)) for n, lane in site.road.lanes.items()}
    rules = rules_of(prepare(replace(site.road, lanes=both)))
    area = only(area_between(site.paths["north"].points, site.paths["east"].points, W, W, rules=rules))
    assert (area.priority, area.source) == ("none", "all_way_stop")


def test_a_car_that_leaves_a_ring_goes_before_one_that_crosses_its_exit() -> None:
    site = roundabout_road()
    lanes = {n: replace(lane, yields_to=()) for n, lane in site.road.lanes.items()}
    rules = rules_of(prepare(replace(site.road, lanes=lanes)))
    leaving = route_line(site.paths["0-1"].points, rules.road)
    assert leaving is not None
    on_ring = np.isin(leaving.lane, list(rules.rings))
    at = float(np.flatnonzero(on_ring)[-1] + 8)  # on the exit
    (x, y), heading = leaving.at(np.array([at]))[0], np.interp(at, leaving.s, leaving.heading)
    across = np.array([-np.sin(heading), np.cos(heading)])
    entering = np.stack([np.array([x, y]) + k * across for k in np.linspace(-30.0, 10.0, 41)])
    area = min(area_between(leaving.xy, entering, W, W, rules=rules), key=lambda area: abs(area.own[0] - at))
    assert (area.kind, area.priority, area.source) == ("crossing", "own", "geometry")
    assert area_between(leaving.xy, entering, W, W)[0].priority == "none"
