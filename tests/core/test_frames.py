import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from giveway.core import frames
from giveway.core.frames import Pose
from giveway.core.tracks import AgentKind, Tracks

ANGLES = st.floats(-50.0, 50.0)
METERS = st.floats(-2000.0, 2000.0)
POSES = st.builds(Pose.of, METERS, METERS, ANGLES)
POINTS = hnp.arrays(np.float64, hnp.array_shapes(max_dims=2, max_side=4).map(lambda s: (*s, 2)), elements=METERS)


def matrix(pose: Pose) -> np.ndarray:
    cos, sin = np.cos(pose.heading), np.sin(pose.heading)
    return np.array([[cos, -sin, pose.xy[0]], [sin, cos, pose.xy[1]], [0, 0, 1]])


@given(angle=st.floats(-1e6, 1e6))
def test_wrapped_angles_lie_in_the_half_open_interval_and_point_the_same_way(angle):
    wrapped = frames.wrap_angle(angle)
    assert -np.pi <= wrapped < np.pi
    np.testing.assert_allclose([np.cos(wrapped), np.sin(wrapped)], [np.cos(angle), np.sin(angle)], atol=1e-9)


@pytest.mark.parametrize(
    ("angle", "expected"),
    [(np.pi, -np.pi), (-np.pi, -np.pi), (np.nextafter(-np.pi, -4), -np.pi), (1e-20, 1e-20), (3 * np.pi, -np.pi)],
)
def test_wrapping_at_the_ends_of_the_interval(angle, expected):
    assert frames.wrap_angle(angle) == pytest.approx(expected, rel=1e-12, abs=1e-25)


@given(outer=POSES, inner=POSES)
def test_composing_poses_multiplies_their_matrices(outer, inner):
    np.testing.assert_allclose(matrix(frames.compose(outer, inner)), matrix(outer) @ matrix(inner), atol=1e-8)


@given(pose=POSES, points=POINTS)
def test_inverse_takes_points_back(pose, points):
    there = frames.transform_points(pose, points)
    np.testing.assert_allclose(frames.transform_points(frames.inverse(pose), there), points, atol=1e-8)


def test_an_array_of_poses_aligns_with_the_leading_axes_of_points():
    poses = Pose(xy=np.array([[1.0, 0.0], [0.0, 2.0]]), heading=np.array([0.0, np.pi / 2]))
    points = np.array([[[1.0, 0.0]] * 3, [[1.0, 0.0]] * 3])
    np.testing.assert_allclose(frames.transform_points(poses, points), [[[2.0, 0.0]] * 3, [[0.0, 3.0]] * 3], atol=1e-12)


def test_pose_refuses_shapes_that_do_not_belong_together():
    with pytest.raises(ValueError, match="expected"):
        Pose(xy=np.zeros((3, 2)), heading=np.zeros(2))


def one_car(heading: float) -> Tracks:
    return Tracks(
        time_s=np.array([0.0, 0.1]),
        xy=np.array([[[10.0, 5.0], [np.nan, np.nan]]]),
        heading=np.array([[heading, np.nan]]),
        velocity=np.array([[[3 * np.cos(heading), 3 * np.sin(heading)], [np.nan, np.nan]]]),
        observed=np.array([[True, False]]),
        size=np.array([[4.0, 2.0]]),
        kind=np.array([AgentKind.CAR]),
        ids=np.array(["7"]),
    )


@settings(max_examples=30)
@given(heading=ANGLES)
def test_an_agent_stands_at_the_origin_of_its_own_frame_and_drives_along_x(heading):
    tracks = one_car(heading)
    transform = frames.to_ego(tracks, 0, 0)
    moved = transform.tracks(tracks)
    np.testing.assert_allclose(moved.xy[0, 0], [0, 0], atol=1e-12)
    np.testing.assert_allclose(moved.velocity[0, 0], [3, 0], atol=1e-12)
    np.testing.assert_allclose(np.cos(moved.heading[0, 0]), 1.0)
    assert np.isnan(moved.xy[0, 1]).all()
    assert (transform.source, transform.target) == ("map", "ego")
    np.testing.assert_allclose(transform.inverse().points(moved.xy), tracks.xy, atol=1e-9)


def test_frames_that_do_not_meet_cannot_be_chained():
    transform = frames.to_ego(one_car(0.3), 0, 0)
    assert transform.then(transform.inverse()).target == "map"
    with pytest.raises(ValueError, match="'ego'"):
        transform.then(transform)


def test_an_absent_agent_has_no_frame():
    with pytest.raises(ValueError, match="agent 7 has no pose at instant 1"):
        frames.to_ego(one_car(0.0), 0, 1)
