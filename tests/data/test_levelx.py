import numpy as np
import pytest

from giveway.core.errors import FileFormatError
from giveway.core.tracks import AgentKind
from giveway.data import DATASETS

ROUND = DATASETS.get("round")
IND = DATASETS.get("ind")


def scene_of(dataset, root):
    return next(dataset.scenes(dataset.recordings(root)[0]))


def test_a_round_recording_becomes_one_scene(round_root):
    scene = scene_of(ROUND, round_root)
    tracks = scene.tracks
    assert tracks.observed.sum(axis=1).tolist() == [10, 4, 8]
    assert tracks.kind.tolist() == [AgentKind.CAR, AgentKind.BICYCLE, AgentKind.TRAILER]
    np.testing.assert_allclose(tracks.time_s, np.arange(13) / 25)
    np.testing.assert_allclose(tracks.heading[tracks.observed], np.pi / 2)
    np.testing.assert_array_equal(tracks.size, [[4, 2], [1.8, 0.6], [8, 2.5]])
    np.testing.assert_allclose(tracks.xy[1, 3], [84, -59.4])
    assert scene.location == "1"
    assert scene.attributes["ortho_px_to_meter"] == 0.01480983298809042
    assert scene.attributes["frame_rate_hz"] == 25


def test_pedestrians_of_ind_have_no_size(ind_root):
    tracks = scene_of(IND, ind_root).tracks
    np.testing.assert_array_equal(tracks.size, [[4, 2], [np.nan, np.nan], [12, 2.5]])


def test_a_car_without_size_is_refused_in_ind(ind_root):
    for name in ("tracks", "tracksMeta"):
        path = ind_root / "data" / f"00_{name}.csv"
        path.write_text(path.read_text().replace("2.00000,4.00000", "0.00000,0.00000"))
    with pytest.raises(FileFormatError, match="zero or negative"):
        scene_of(IND, ind_root)


def test_mixed_up_folders_are_told_apart_by_their_classes(ind_root):
    with pytest.raises(FileFormatError, match="unknown class") as caught:
        scene_of(ROUND, ind_root)
    assert "--dataset ind" in (caught.value.hint or "")


def test_a_tracks_file_cut_at_a_line_end_does_not_fit_its_meta_file(round_root, edit):
    path = round_root / "data" / "00_tracks.csv"
    edit(path, line=23)
    with pytest.raises(FileFormatError, match="does not fit") as caught:
        scene_of(ROUND, round_root)
    assert "line 4" in (caught.value.where or "")


def test_a_lost_track_is_noticed(round_root):
    path = round_root / "data" / "00_tracks.csv"
    path.write_text("".join(line + "\n" for line in path.read_text().splitlines() if not line.startswith("0,2,")))
    with pytest.raises(FileFormatError, match="lists other tracks"):
        scene_of(ROUND, round_root)


def test_a_missing_meta_file_is_one_problem_of_the_recording(round_root):
    (round_root / "data" / "00_tracksMeta.csv").unlink()
    verification = ROUND.verify(round_root)
    assert [p.message for p in verification.problems] == ["a file of the recording is missing"]
    assert verification.problems[0].file == "data/00_tracksMeta.csv"


def test_reordered_columns_are_read_by_name_and_remarked(round_root):
    before = scene_of(ROUND, round_root).tracks
    path = round_root / "data" / "00_tracks.csv"
    rows = [line.split(",") for line in path.read_text().splitlines()]
    path.write_text("".join(",".join([*row[:4], row[5], row[4], *row[6:]]) + "\n" for row in rows))
    np.testing.assert_array_equal(scene_of(ROUND, round_root).tracks.xy, before.xy)
    verification = ROUND.verify(round_root)
    assert verification.ok
    assert "another order" in verification.problems[0].message


def test_a_decimal_comma_makes_a_line_too_long(round_root, edit):
    path = round_root / "data" / "00_tracks.csv"
    edit(path, line=5, cell=4, value="80,0000")
    with pytest.raises(FileFormatError, match="number of cells") as caught:
        scene_of(ROUND, round_root)
    assert "line 5" in (caught.value.where or "")
    assert (caught.value.found or "").startswith("18 cells instead of 17")
