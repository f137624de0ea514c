import itertools

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from giveway.core.errors import DataError
from giveway.core.polylines import crossings, polyline

METERS = st.integers(-200, 200).map(lambda n: n / 10)
CHAINS = hnp.arrays(np.float64, st.tuples(st.integers(2, 9), st.just(2)), elements=METERS).filter(
    lambda chain: np.abs(np.diff(chain, axis=0)).max() > 0
)
POINTS = hnp.arrays(np.float64, (5, 2), elements=METERS)
QUICK = settings(max_examples=150, deadline=None)


def circle(radius=20.0, angle=np.pi, num=200):
    phi = np.linspace(0, angle, num)
    return polyline(radius * np.stack([np.cos(phi), np.sin(phi)], axis=1))


def project_reference(chain, xy):
    """Nearest point on any segment, first one in a tie; distance only."""
    best = (np.inf, 0.0)
    start = 0.0
    for a, b in itertools.pairwise(chain):
        t = np.clip((xy - a) @ (b - a) / ((b - a) @ (b - a)), 0, 1)
        gap = np.linalg.norm(xy - a - t * (b - a))
        if gap < best[0] - 1e-11:
            best = (gap, start + t * np.linalg.norm(b - a))
        start += np.linalg.norm(b - a)
    return best


@QUICK
@given(chain=CHAINS)
def test_arc_length_agrees_with_shapely(chain):
    path = polyline(chain)
    line = shapely.LineString(chain)
    np.testing.assert_allclose(path.length_m, line.length)
    for fraction in (0.0, 0.3, 1.0):
        expected = line.interpolate(fraction, normalized=True)
        np.testing.assert_allclose(path.at(fraction * path.length_m).xy, [expected.x, expected.y], atol=1e-9)


@QUICK
@given(chain=CHAINS, points=POINTS)
def test_projection_finds_the_nearest_point_first_in_a_tie(chain, points):
    path = polyline(chain)
    frenet = path.project(points)
    for n, xy in enumerate(points):
        gap, s = project_reference(path.points, xy)
        assert np.clip(frenet.s[n], 0, path.length_m) == pytest.approx(s, abs=1e-6)
        foot = path.at(np.clip(frenet.s[n], 0, path.length_m)).xy
        assert np.linalg.norm(xy - foot) == pytest.approx(gap, abs=1e-7)
        if 0 <= frenet.s[n] <= path.length_m:
            assert abs(frenet.d[n]) == pytest.approx(gap, abs=1e-7)


@settings(max_examples=60, deadline=None)
@given(s=st.floats(-30, 90), d=st.floats(-15, 15))
def test_frenet_coordinates_of_a_gentle_bend_go_there_and_back(s, d):
    path = circle()
    xy = path.to_xy(s, d)
    frenet = path.project(xy)
    back = path.to_xy(frenet.s, frenet.d)
    if s < path.length_m + 5 and (d <= 0 or 0 <= s <= path.length_m):
        # The wedge of a corner of 0.3 degrees is at most d * 0.016 wide.
        np.testing.assert_allclose(back, xy, atol=abs(d) * 0.016 + 1e-9)
        np.testing.assert_allclose(frenet.d, d, atol=0.02)


def test_projection_on_a_straight_line_is_exact_beyond_both_ends():
    path = polyline([[0, 0], [10, 0], [20, 0]])
    frenet = path.project(np.array([[-3.0, 2.0], [10.0, -1.0], [25.0, 4.0], [np.nan, 0.0]]))
    np.testing.assert_allclose(frenet.s, [-3, 10, 25, np.nan])
    np.testing.assert_allclose(frenet.d, [2, -1, 4, np.nan])
    np.testing.assert_allclose(path.to_xy([-3.0, 25.0], [2.0, 4.0]), [[-3, 2], [25, 4]])


def test_outside_of_a_corner_everything_projects_to_the_corner_with_the_right_sign():
    left_bend = polyline([[0, 0], [10, 0], [10, 10]])
    frenet = left_bend.project(np.array([[13.0, -4.0], [11.0, -1.0]]))
    np.testing.assert_allclose(frenet.s, [10, 10])
    np.testing.assert_allclose(frenet.d, [-5, -np.sqrt(2)])
    hairpin = polyline([[0, 0], [10, 0], [0, 1]])
    assert hairpin.project(np.array([12.0, 0.3])).d < 0


def test_inside_of_a_corner_the_smaller_arc_length_wins_the_tie():
    path = polyline([[0, 0], [10, 0], [10, 10]])
    np.testing.assert_allclose(path.project(np.array([8.0, 2.0])).s, 8.0)


def test_a_window_keeps_a_car_on_its_branch_of_a_path_that_crosses_itself():
    loop = polyline([[-10, 0], [10, 0], [10, 10], [0, 10], [0, -10]])
    at_crossing = np.array([0.0, 0.05])
    assert loop.project(at_crossing).s == pytest.approx(50 - 0.05)
    assert loop.project(at_crossing, near_s=9.0, window_m=5.0).s == pytest.approx(10.0)
    assert loop.project(at_crossing, near_s=49.0, window_m=5.0).s == pytest.approx(50 - 0.05)
    assert loop.project(at_crossing, near_s=500.0, window_m=5.0).s == pytest.approx(50 - 0.05)
    assert loop.project(at_crossing, near_s=-500.0, window_m=5.0).s == pytest.approx(10.0)


def test_heading_and_curvature_of_a_circle():
    path = circle(radius=20.0)
    points = path.at(np.linspace(0.5, path.length_m - 0.5, 50))
    np.testing.assert_allclose(points.curvature, 1 / 20.0, rtol=1e-4)
    angle = np.arctan2(points.xy[:, 1], points.xy[:, 0])
    np.testing.assert_allclose(np.cos(points.heading - angle - np.pi / 2), 1.0, atol=1e-6)
    mirrored = polyline(path.points * [1, -1])
    np.testing.assert_allclose(mirrored.at(10.0).curvature, -1 / 20.0, rtol=1e-4)


def test_heading_is_continuous_where_the_direction_passes_pi():
    path = circle(angle=1.9 * np.pi, num=400)
    headings = path.at(np.linspace(0, path.length_m, 2000)).heading
    turns = np.abs(np.angle(np.exp(1j * np.diff(headings))))
    assert turns.max() < 0.01
    assert headings.min() >= -np.pi
    assert headings.max() < np.pi


@QUICK
@given(chain=CHAINS, spacing=st.floats(0.5, 30.0))
def test_resampling_keeps_the_ends_and_resampling_again_changes_nothing_on_a_line(chain, spacing):
    path = polyline(chain)
    if np.hypot(*(path.points[-1] - path.points[0])) < 0.1:
        return
    again = path.resample(spacing)
    np.testing.assert_allclose(again.points[[0, -1]], path.points[[0, -1]], atol=1e-9)
    straight = polyline(path.points[[0, -1]]).resample(spacing)
    steps = np.diff(straight.arc)
    assert steps.max() <= spacing + 1e-6
    np.testing.assert_allclose(straight.resample(spacing).points, straight.points, atol=1e-6)


@QUICK
@given(first=CHAINS, second=CHAINS)
def test_crossings_agree_with_shapely(first, second):
    a, b = polyline(np.round(10 * first)), polyline(np.round(10 * second))  # whole numbers: touching is exact
    common = shapely.intersection(shapely.LineString(a.points), shapely.LineString(b.points))
    if common.length > 0:  # on top of each other: not crossings by our definition
        return
    expected = shapely.get_coordinates(common)
    found = np.array([c.xy for c in crossings(a, b)]).reshape(-1, 2)
    for xy in expected:
        assert np.hypot(*(found - xy).T).min() < 1e-6
    for xy in found:
        assert np.hypot(*(expected - xy).T).min() < 1e-6


def test_crossings_come_in_the_order_of_the_first_path_with_both_arc_lengths():
    a, b = polyline([[0, 0], [30, 0]]), polyline([[20, -5], [20, 5], [10, 5], [10, -5]])
    found = crossings(a, b)
    assert [(c.s_first, c.s_second) for c in found] == [pytest.approx((10.0, 25.0)), pytest.approx((20.0, 5.0))]


def test_a_crossing_at_shared_corners_is_found_once():
    a, b = polyline([[0, 0], [5, 5], [10, 0]]), polyline([[0, 10], [5, 5], [10, 10]])
    assert len(crossings(a, b)) == 1


def test_paths_that_touch_end_to_end_in_a_straight_line_meet_there():
    found = crossings(polyline([[0, 0], [5, 0]]), polyline([[9, 0], [5, 0]]))
    assert [(c.s_first, c.s_second) for c in found] == [(5.0, 4.0)]


def test_paths_on_top_of_each_other_do_not_cross_along_the_way():
    assert crossings(polyline([[0, 0], [5, 0]]), polyline([[1, 0], [9, 0]])) == []


def test_a_piece_may_reach_beyond_the_ends():
    piece = polyline([[0, 0], [10, 0], [10, 10]]).between(-2.0, 12.0)
    np.testing.assert_allclose(piece.points, [[-2, 0], [0, 0], [10, 0], [10, 2]], atol=1e-12)


def test_repeated_points_are_dropped():
    path = polyline([[0, 0], [0, 0], [1, 0], [1, 0], [1, 1e-9], [2, 0]])
    np.testing.assert_allclose(path.points, [[0, 0], [1, 0], [2, 0]])


@pytest.mark.parametrize("points", [[[1.0, 2.0]], [[1.0, 2.0]] * 4, np.empty((0, 2))])
def test_a_single_point_is_not_a_path_and_the_error_says_where(points):
    with pytest.raises(DataError, match="two different points") as error:
        polyline(points, where="lanelet 30001")
    assert error.value.where == "lanelet 30001"


def test_points_that_are_not_finite_are_refused():
    with pytest.raises(DataError, match="not a finite number") as error:
        polyline([[0, 0], [np.nan, 1], [2, 2]])
    assert "point 1" in str(error.value)
