import numpy as np
import pytest

from giveway.core.errors import FileFormatError
from giveway.core.tracks import AgentKind
from giveway.data import DATASETS
from giveway.data.convert import convert

CASES = DATASETS.get("interaction_cases")
CASES_HEADER = "case_id,track_id,frame_id,timestamp_ms,agent_type,x,y,vx,vy,psi_rad,length,width"


def scenes_of(root):
    return [scene for recording in CASES.recordings(root) for scene in CASES.scenes(recording)]


def test_every_case_is_a_scene_and_float_numbers_are_whole(interaction_cases_root):
    test, first, second = scenes_of(interaction_cases_root)
    assert [scene.attributes["case_id"] for scene in (test, first, second)] == [7, 1, 2]
    assert first.tracks.ids.tolist() == ["1", "P7"]
    assert second.tracks.ids.tolist() == ["5", "P7"]
    assert (first.location, first.attributes["split"]) == ("DR_TEST_Merging_A", "train")
    np.testing.assert_allclose(first.tracks.time_s, [0.1, 0.2, 0.3, 0.4])
    np.testing.assert_array_equal(second.tracks.xy[0, :, 1], [995.0] * 4)


def test_pedestrians_may_lack_heading_and_size_and_cars_may_not(interaction_cases_root, edit):
    tracks = scenes_of(interaction_cases_root)[1].tracks
    assert tracks.kind.tolist() == [AgentKind.CAR, AgentKind.PEDESTRIAN_OR_BICYCLE]
    assert np.isnan(tracks.size[1]).all() and np.isnan(tracks.heading[1]).all()
    assert tracks.observed[1].tolist() == [False, True, False, False]
    edit(interaction_cases_root / "train" / "DR_TEST_Merging_A_train.csv", line=3, cell=9, value="")
    with pytest.raises(FileFormatError, match="an empty cell") as caught:
        scenes_of(interaction_cases_root)
    assert "line 3, column 'psi_rad'" in (caught.value.where or "")


def test_marked_agents_of_test_files_are_attributes(interaction_cases_root):
    attributes = scenes_of(interaction_cases_root)[0].attributes
    assert attributes["track_to_predict"] == ("1", "P7")
    assert attributes["interesting_agent"] == ("1",)


def test_the_segmented_form_of_2020_reads_the_same(interaction_cases_root):
    before = scenes_of(interaction_cases_root)[1:]
    path = interaction_cases_root / "train" / "DR_TEST_Merging_A_train.csv"
    rows = [line.split(",") for line in path.read_text().splitlines()]
    body = [[r[0], r[2], r[3], r[1], "others" if r[1] == "P7" else "agent", *r[4:]] for r in rows[1:]]
    body.sort(key=lambda row: (float(row[0]), int(row[1])))
    header = [rows[0][0], rows[0][2], rows[0][3], rows[0][1], "agent_role", *rows[0][4:]]
    path.write_text("".join(",".join(row) + "\n" for row in [header, *body]))
    assert CASES.verify(interaction_cases_root).problems == ()
    after = scenes_of(interaction_cases_root)[1:]
    for one, other in zip(before, after, strict=True):
        np.testing.assert_array_equal(one.tracks.xy, other.tracks.xy)
        assert one.tracks.ids.tolist() == other.tracks.ids.tolist()
        assert other.attributes["agent"] == tuple(one.tracks.ids[:1])
    (interaction_cases_root / "test_multi-agent").rename(interaction_cases_root / "other")
    assert CASES.verify(interaction_cases_root).version == "2020, segmented"


def test_the_same_frame_twice_is_found_in_unsorted_files_too(interaction_cases_root, edit):
    path = interaction_cases_root / "train" / "DR_TEST_Merging_A_train.csv"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], *reversed(lines[1:]), lines[1]]) + "\n")
    with pytest.raises(FileFormatError, match="a frame appears twice") as caught:
        scenes_of(interaction_cases_root)
    assert f"line {len(lines) + 1}" in (caught.value.where or "")


def test_a_case_number_must_be_whole(interaction_cases_root, edit):
    edit(interaction_cases_root / "train" / "DR_TEST_Merging_A_train.csv", line=3, cell=0, value="1.5")
    with pytest.raises(FileFormatError, match="not a whole number"):
        scenes_of(interaction_cases_root)


def test_a_surplus_cell_is_not_made_up_for_by_a_missing_one(interaction_cases_root):
    """Empty cells are allowed at the end of a line, so the number of separators of the file is no proof."""
    path = interaction_cases_root / "train" / "DR_TEST_Merging_A_train.csv"
    lines = path.read_text().splitlines()
    assert lines[5].endswith(",,,") and lines[10].endswith(",,,")
    lines[5], lines[10] = lines[5][:-1], lines[10] + ","
    path.write_text("".join(f"{line}\n" for line in lines))
    with pytest.raises(FileFormatError, match="number of cells") as caught:
        scenes_of(interaction_cases_root)
    assert "line 6" in (caught.value.where or "")


HEADLESS = {
    "0 bytes": (b"", "the file is empty"),
    "blank": (b" \n", "the file is empty"),
    "no header": (b"1,1,1,100,car,1000,990,10,0,0.0,4.5,1.8\n", "a column is missing"),
    "UTF-16": ("case_id,track_id\n1,2\n".encode("utf-16"), "the file is UTF-16"),
    "UTF-16 without a mark": ("case_id,track_id\n1,2\n".encode("utf-16-be"), "the file is UTF-16"),
}


@pytest.mark.parametrize("kind", HEADLESS)
def test_a_file_whose_name_says_it_is_ours_is_read_or_refused(interaction_cases_root, kind):
    data, words = HEADLESS[kind]
    (interaction_cases_root / "val").mkdir()
    path = interaction_cases_root / "val" / "DR_TEST_Merging_A_val.csv"
    path.write_bytes(data)
    adapter = CASES
    recordings = adapter.recordings(interaction_cases_root)
    assert [recording.id for recording in recordings if "val" in recording.id] == ["val/DR_TEST_Merging_A_val"]
    with pytest.raises(FileFormatError, match=words) as caught:
        list(adapter.scenes(recordings[-1]))
    assert f"{path}, line 1" in caught.value.where
    assert kind[:6] != "UTF-16" or caught.value.hint == "save the file as UTF-8"
    assert not adapter.verify(interaction_cases_root).ok


def test_a_header_without_cases_is_a_warning_and_holds_nothing(interaction_cases_root, tmp_path):
    (interaction_cases_root / "val").mkdir()
    path = interaction_cases_root / "val" / "DR_TEST_Merging_A_val.csv"
    path.write_text(CASES_HEADER + "\n")
    adapter = CASES
    recording = next(r for r in adapter.recordings(interaction_cases_root) if r.id.startswith("val"))
    assert list(adapter.scenes(recording)) == []
    verification = adapter.verify(interaction_cases_root)
    assert verification.ok
    assert [p.message for p in verification.problems if p.file.startswith("val")] == [
        "the file has a header and no rows"
    ]
    states = [c.state for c in convert("interaction_cases", interaction_cases_root, tmp_path / "store")]
    assert states == ["written", "written", "empty"]


def test_a_lost_row_inside_a_track_names_the_frames(interaction_cases_root):
    path = interaction_cases_root / "train" / "DR_TEST_Merging_A_train.csv"
    lines = path.read_text().splitlines()
    path.write_text("\n".join(lines[:2] + lines[3:]) + "\n")
    adapter = CASES
    recording = next(r for r in adapter.recordings(interaction_cases_root) if r.id.startswith("train"))
    with pytest.raises(FileFormatError, match="frames are missing inside a track") as caught:
        list(adapter.scenes(recording))
    assert caught.value.found == "frame 3 follows 1"
