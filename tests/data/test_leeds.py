import numpy as np
import pytest

from giveway.core.errors import FileFormatError
from giveway.data import DATASETS

LEEDS = DATASETS.get("leeds")


def scenes_of(root):
    return [next(LEEDS.scenes(recording)) for recording in LEEDS.recordings(root)]


def test_each_crossing_of_a_participant_is_a_scene(leeds_root):
    first, second = scenes_of(leeds_root)
    assert first.tracks.ids.tolist() == ["subject", "300", "301"]
    assert second.tracks.ids.tolist() == ["subject", "1000"]
    assert (first.attributes["participant"], first.attributes["crossing"]) == ("sub1", 1)


def test_logs_are_resampled_to_multiples_of_a_thirtieth_of_a_second(leeds_root):
    tracks = scenes_of(leeds_root)[0].tracks
    np.testing.assert_allclose(tracks.time_s * 30, np.round(tracks.time_s * 30), atol=1e-9)
    seen = tracks.observed[0]
    assert tracks.time_s[seen][0] == pytest.approx(301 / 30)
    np.testing.assert_allclose(tracks.xy[0, seen, 0], 5 * tracks.time_s[seen], atol=1e-3)
    np.testing.assert_allclose(tracks.xy[1, tracks.observed[1], 1], 12 * tracks.time_s[tracks.observed[1]], atol=1e-3)


def test_leaders_and_followers_come_from_the_first_row_and_small_numbers_mean_none(leeds_root):
    attributes = scenes_of(leeds_root)[0].attributes
    assert attributes["leader_id"].tolist() == ["", "", "300"]
    assert attributes["follower_id"].tolist() == ["", "301", ""]


def test_offsets_are_kept_both_resampled_and_as_first_written(leeds_root):
    scene = scenes_of(leeds_root)[0]
    np.testing.assert_allclose(scene.attributes["first_offset_m"], [-1.83, 1.83, 1.81])
    drone = scene.attributes["offset_m"][1]
    np.testing.assert_allclose(drone[scene.tracks.observed[1]][-1], 1.83 - 0.1 * 29 / 60, atol=2e-3)
    assert np.isnan(drone[~scene.tracks.observed[1]]).all()


def test_a_log_that_stops_in_the_middle_of_a_line_is_named(leeds_root):
    path = leeds_root / "sub1" / "drone301_a.txt"
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(FileFormatError, match="number of cells") as caught:
        scenes_of(leeds_root)
    assert "drone301_a.txt, line 31" in (caught.value.where or "")


def test_a_defect_of_a_log_that_serves_both_crossings_is_listed_once_and_spoils_both(leeds_root):
    path = leeds_root / "sub1" / "subject_1_2.txt"
    path.write_text(path.read_text().replace("-1.83", "x", 1))
    verification = LEEDS.verify(leeds_root)
    assert [problem.message for problem in verification.problems] == ["not a number"]
    assert verification.recordings == ()


def test_a_comma_separated_log_is_recognized_as_such(leeds_root):
    path = leeds_root / "sub1" / "subject_1_2.txt"
    path.write_text(path.read_text().replace("\t", ","))
    with pytest.raises(FileFormatError, match="not separated by tab") as caught:
        scenes_of(leeds_root)
    assert "looks separated by comma" in (caught.value.found or "")


def test_time_that_stands_still_is_refused(leeds_root, edit):
    edit(leeds_root / "sub1" / "drone300_a.txt", line=4, cell=0, value="10.0000", separator="\t")
    with pytest.raises(FileFormatError, match="time does not increase"):
        scenes_of(leeds_root)
