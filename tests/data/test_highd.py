import numpy as np
import pytest

from giveway.core.errors import FileFormatError
from giveway.core.tracks import AgentKind
from giveway.data import DATASETS

HIGHD = DATASETS.get("highd")


def scene_of(root):
    return next(HIGHD.scenes(HIGHD.recordings(root)[0]))


def test_corners_in_an_image_become_centers_with_y_up(highd_root):
    tracks = scene_of(highd_root).tracks
    np.testing.assert_allclose(tracks.xy[0, 0], [100 - 1.2 + 2.0, -(9.5 + 1.0)])
    np.testing.assert_allclose(tracks.xy[1, 2], [100 + 3.0 + 6.0, -(22.0 + 1.25)])
    np.testing.assert_allclose(tracks.velocity[0, 0], [-30, -0.1])
    np.testing.assert_array_equal(tracks.size, [[4, 2], [12, 2.5]])


def test_heading_follows_the_driving_direction(highd_root):
    tracks = scene_of(highd_root).tracks
    np.testing.assert_allclose(tracks.heading[0, :6], np.pi)
    np.testing.assert_allclose(tracks.heading[1, 2:], 0)
    assert tracks.kind.tolist() == [AgentKind.CAR, AgentKind.TRUCK]
    np.testing.assert_allclose(tracks.time_s, np.arange(1, 9) / 25)


def test_lanes_and_neighbors_are_flat_in_the_order_of_observed_states(highd_root):
    scene = scene_of(highd_root)
    lane = np.zeros(scene.tracks.observed.shape, dtype=int)
    lane[scene.tracks.observed] = scene.attributes["lane_id"]
    assert lane[0].tolist() == [2] * 6 + [0] * 2
    assert lane[1].tolist() == [0] * 2 + [3] * 6
    assert set(scene.attributes["following_id"].tolist()) == {1, 2}
    np.testing.assert_allclose(scene.attributes["upper_lane_markings_m"], [-8.51, -12.59, -16.43])


@pytest.mark.parametrize(
    ("file", "line", "cell", "value", "message", "column"),
    [
        ("01_recordingMeta.csv", 2, 13, "8.51;x", "lane markings do not parse", "upperLaneMarkings"),
        ("01_recordingMeta.csv", 2, 10, "3", "announced number of tracks", "numVehicles"),
        ("01_tracksMeta.csv", 2, 6, "Bus", "unknown class", "class"),
        ("01_tracksMeta.csv", 3, 1, "0.00", "zero or negative", "length"),
        ("01_tracksMeta.csv", 3, 7, "3", "outside the possible range", "drivingDirection"),
        ("01_tracks.csv", 4, 0, "2", "a frame appears twice", "frame"),
        ("01_tracks.csv", 4, 24, "", "an empty cell", "laneId"),
    ],
)
def test_damage_is_named_by_line_and_column(highd_root, edit, file, line, cell, value, message, column):
    edit(highd_root / "data" / file, line=line, cell=cell, value=value)
    with pytest.raises(FileFormatError, match=message) as caught:
        scene_of(highd_root)
    assert f"{file}, line {line}, column {column!r}" in (caught.value.where or "")
