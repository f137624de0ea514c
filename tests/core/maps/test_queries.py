import os
from pathlib import Path

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from giveway.core.errors import UnknownNameError
from giveway.roads.lanelet2 import read_lanelet2
from giveway.roads.queries import PreparedMap, prepare
from giveway.roads.sketch import RoadSketch
from giveway.roads.writer import write_lanelet2

from .roads import crossroads, strip


def prepared(folder, road) -> PreparedMap:
    write_lanelet2(folder / "site.osm", road)
    return prepare(read_lanelet2(folder / "site.osm"))


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    return prepared(tmp_path_factory.mktemp("maps"), crossroads())


@pytest.fixture(scope="module")
def fork(tmp_path_factory):
    """a -> b -> d and a -> c -> d; b and c lie on each other, c is longer; d leads back to a."""
    corner = {"a": (0, 0, 10, 0), "b": (10, 0, 20, 0), "d": (20, 0, 30, 0)}
    lanes = [strip(name, ends[:2], ends[2:]) for name, ends in corner.items()]
    detour = strip("c", (10, 0), (20, 0))
    bow = np.array([[0.0, 0.0], [0.0, -9.0], [0.0, -9.0], [0.0, 0.0]])
    sides = [type(side)(points=side.points + bow) for side in (detour.left, detour.right)]
    lanes.append(type(detour)(name="c", left=sides[0], right=sides[1]))
    return prepared(tmp_path_factory.mktemp("maps"), RoadSketch(lanes=tuple(lanes)))


def test_lanes_at_a_point(site):
    xy = np.array([[960.0, 1000.0], [980.0, 1001.0], [900.0, 900.0], [np.nan, 0.0]])
    assert site.lanes_at(xy) == [(30000,), (30000, 30003), (), ()]


def test_heading_decides_between_lanes_that_cross(site):
    xy = np.array([[980.0, 1000.5]] * 3)
    match = site.match(xy, np.array([0.1, np.pi / 2 - 0.1, np.nan]))
    np.testing.assert_array_equal(match.lane, [30000, 30003, 30003])
    np.testing.assert_allclose(match.s, [30.0, 50.5, 50.5], atol=1e-4)
    np.testing.assert_allclose(match.d, [0.5, 0.0, 0.0], atol=1e-4)


def test_points_off_the_road_match_nothing(site):
    match = site.match(np.array([[[900.0, 900.0], [np.nan, 0.0]]]))
    np.testing.assert_array_equal(match.lane, [[-1, -1]])
    assert np.isnan(match.s).all()


def test_off_road_is_negative_on_the_road_and_positive_beside_it(site):
    xy = np.array([[[960.0, 1000.0], [960.0, 990.0]], [[1015.0, 1012.0], [np.nan, 1.0]]])
    np.testing.assert_allclose(site.off_road(xy), [[-2.0, 8.0], [10.0, np.nan]], atol=1e-4)


def test_a_lane_that_ends_in_a_line_leaves_the_road_measurable(tmp_path):
    """Both bounds run on over the same points, as lanes that taper off are drawn."""
    lane, tail = strip("taper", (0, 0), (10, 0)), np.array([[12.0, 0.0], [15.0, 0.0]])
    left, right = (type(side)(points=np.concatenate([side.points, tail])) for side in (lane.left, lane.right))
    road = RoadSketch(lanes=(type(lane)(name="taper", left=left, right=right), strip("next", (0, -4), (10, -4))))
    found = prepared(tmp_path, road)
    assert isinstance(found.drivable, shapely.Polygon | shapely.MultiPolygon)
    np.testing.assert_allclose(found.off_road(np.array([[5.0, -2.0], [5.0, -50.0]])), [-4.0, 44.0], atol=1e-6)


def test_keepouts_are_not_drivable(tmp_path):
    island = np.array([[970.0, 999.0], [972.0, 999.0], [972.0, 1001.0], [970.0, 1001.0]])
    road = prepared(tmp_path, RoadSketch(lanes=crossroads().lanes[:1], keepouts=(island,)))
    assert road.off_road(np.array([[971.0, 1000.0]]))[0] == pytest.approx(1.0, abs=1e-4)


@settings(max_examples=60, deadline=None)
@given(xy=hnp.arrays(np.float64, (4, 2), elements=st.floats(930, 1070)))
def test_off_road_agrees_with_shapely_on_the_whole_area(site, xy):
    points = shapely.points(xy)
    sign = np.where(shapely.contains(site.drivable, points), -1.0, 1.0)
    expected = sign * shapely.distance(shapely.boundary(site.drivable), points)
    np.testing.assert_allclose(site.off_road(xy), expected, atol=1e-9)


def test_the_shortest_route_is_found_and_can_be_driven(fork):
    assert fork.route(30000, 30002) == (30000, 30001, 30002)
    path = fork.center_of((30000, 30001, 30002))
    assert path.length_m == pytest.approx(30.0, abs=1e-4)
    np.testing.assert_allclose(path.at(15.0).xy, [15.0, 0.0], atol=1e-4)


def test_no_way_back_is_no_route(fork):
    assert fork.route(30002, 30000) is None
    assert fork.route(30000, 30000) == (30000,)


def test_all_routes_branch_at_a_fork_and_stop_at_the_length(fork):
    assert sorted(fork.routes_from(30000, length_m=100.0)) == [(30000, 30001, 30002), (30000, 30003, 30002)]
    assert sorted(fork.routes_from(30000, length_m=15.0)) == [(30000, 30001), (30000, 30003)]
    assert list(fork.routes_from(30000, length_m=5.0)) == [(30000,)]


def test_unknown_lanes_are_told(fork):
    with pytest.raises(UnknownNameError, match="unknown lane '7'"):
        fork.route(7, 30000)


@pytest.mark.data
@pytest.mark.parametrize("name", ["DR_USA_Roundabout_FT", "DR_USA_Intersection_EP0", "DR_USA_Intersection_MA"])
def test_recorded_cars_are_on_the_road_and_drive_the_right_way(name):
    import polars as pl

    root = Path(os.environ["GIVEWAY_REAL_INTERACTION"])
    site = prepare(read_lanelet2(root / "maps" / f"{name}.osm"))
    rows = pl.read_csv(root / "recorded_trackfiles" / name / "vehicle_tracks_000.csv")
    xy, heading = rows.select("x", "y").to_numpy(), rows["psi_rad"].to_numpy()
    assert np.mean(site.off_road(xy) < 0.5) > 0.998
    match = site.match(xy, heading)
    on = match.lane >= 0
    direction = np.full(len(xy), np.nan)
    for n, center in site.centers.items():
        direction[match.lane == n] = center.at(match.s[match.lane == n]).heading
    assert np.mean(np.cos(heading - direction)[on] > 0) > 0.97
