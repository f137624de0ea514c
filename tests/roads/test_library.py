"""Roads of the library: ways, lanes, markings and who gives way."""

import hashlib
from itertools import pairwise

import numpy as np
import pytest

from giveway.roads.lanelet2 import read_lanelet2
from giveway.roads.library import ROADS, make_road
from giveway.roads.library.four_way import four_way_road
from giveway.roads.library.lanelet import road_of_map
from giveway.roads.library.merge import merge_road
from giveway.roads.library.roundabout import roundabout_road
from giveway.roads.library.straight import straight_road
from giveway.roads.queries import prepare
from giveway.roads.writer import write_lanelet2

OTHERS = {
    "ramp that joins directly": lambda: merge_road(lanes=3, acceleration_m=0.0, center=(1000.0, 1000.0)),
    "five uneven arms": lambda: roundabout_road(arms=(-1.6, -0.2, 1.0, 2.2, 3.6), radius_m=24.0, mouth_m=40.0),
    "right before left": lambda: four_way_road(yielding=(), center=(1000.0, 1000.0)),
    "all-way stop": lambda: four_way_road(yielding=(0, 1, 2, 3)),
}
ALL = {**{name: lambda name=name: make_road(name) for name in ROADS.names()}, **OTHERS}
FROZEN = {"straight": "2e9e86004f2ffdc1", "merge": "6eec0da3e88b4ec0", "roundabout": "3b8d7f95bc9d6436",
          "four_way": "9ba54a2b406a2955"}  # fmt: skip
"""SHA-256 of the ways on which generated traffic has been driven and published."""


@pytest.mark.parametrize("name", ALL)
def test_every_way_follows_its_lanes(name):
    road = ALL[name]()
    lanes, graph = road.map(), prepare(road.map())
    assert lanes.warnings == ()
    assert len(road.routes) == len(road.ways)
    for way, route in zip(road.ways, road.routes, strict=True):
        assert all(after in lanes.lanes[before].successors for before, after in pairwise(route))
        center = graph.center_of(route)
        assert np.abs(center.project(way).d).max() < 0.2
        assert abs(center.length_m - np.hypot(*np.diff(way, axis=0).T).sum()) < 1.0
        assert graph.off_road(way).max() < 1e-3


@pytest.mark.parametrize("name", FROZEN)
def test_roads_of_generated_traffic_keep_every_bit_of_their_ways(name):
    total = hashlib.sha256()
    for way in make_road(name).ways:
        total.update(np.ascontiguousarray(way).tobytes())
    assert total.hexdigest().startswith(FROZEN[name])


def test_the_written_map_of_a_road_is_the_same_road(tmp_path):
    road = four_way_road()
    write_lanelet2(tmp_path / "four_way.osm", road.sketch)
    read = road_of_map(read_lanelet2(tmp_path / "four_way.osm"))
    assert sorted(read.routes) == sorted(road.routes)
    order = [read.routes.index(route) for route in road.routes]
    np.testing.assert_array_equal(read.gives_way()[np.ix_(order, order)], road.gives_way())


def test_lanes_side_by_side_are_neighbors():
    road = straight_road(3)
    lanes = road.map().lanes
    right, middle, left = (lanes[route[0]] for route in road.routes)
    assert (right.left_neighbor, middle.left_neighbor, left.left_neighbor) == (middle.id, left.id, None)
    assert (right.right_neighbor, middle.right_neighbor) == (None, right.id)


def test_the_ramp_gives_way_to_the_right_lane_only():
    for road in (merge_road(), merge_road(acceleration_m=0.0)):
        np.testing.assert_array_equal(np.argwhere(road.gives_way()), [[2, 0]])


def test_who_enters_a_roundabout_gives_way_to_who_passes_that_arm():
    yields = roundabout_road().gives_way()
    ways = [(start, exits) for start in range(4) for exits in (1, 2, 3)]
    for a, (enters, _) in enumerate(ways):
        for b, (start, exits) in enumerate(ways):
            passes = enters in {(start + n) % 4 for n in range(1, exits)}
            assert yields[a, b] == passes, (ways[a], ways[b])


def test_arms_that_yield_can_be_chosen():
    def straight_on(road, a, b):
        return bool(road.gives_way()[3 * a + 1, 3 * b + 1])

    main = four_way_road(yielding=(0, 2))
    assert [straight_on(main, 0, 1), straight_on(main, 1, 0), straight_on(main, 0, 2)] == [True, False, False]
    free = four_way_road(yielding=())
    assert [straight_on(free, a, (a + 1) % 4) for a in range(4)] == [True] * 4
    assert [straight_on(free, (a + 1) % 4, a) for a in range(4)] == [False] * 4
    stop = four_way_road(yielding=(0, 1, 2, 3))
    assert all(straight_on(stop, a, b) for a in range(4) for b in range(4) if a != b)


def test_who_turns_left_gives_way_to_oncoming_traffic():
    yields = four_way_road().gives_way()
    for arm in range(4):
        opposite = (arm + 2) % 4
        assert yields[3 * arm + 2, 3 * opposite + 1] and yields[3 * arm + 2, 3 * opposite]
        assert not yields[3 * opposite + 1, 3 * arm + 2]


def test_yielding_lanes_have_stop_lines():
    lines = [line for line in four_way_road().map().lines if line.type == "stop_line"]
    assert len(lines) == 2
    assert all(np.isclose(np.abs(line.points[:, 1]).max(), 11.0, atol=1e-3) for line in lines)
