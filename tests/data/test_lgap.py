import numpy as np
import pytest

from giveway.core.errors import FileFormatError
from giveway.data import DATASETS

LGAP = DATASETS.get("lgap")


def scenes_of(root):
    return list(LGAP.scenes(LGAP.recordings(root)[0]))


def test_every_row_of_measures_is_a_scene_of_human_and_bot(lgap_root):
    scenes = scenes_of(lgap_root)
    assert [scene.attributes["intersection_no"] for scene in scenes] == [1, 2]
    assert [scene.attributes["is_go"] for scene in scenes] == [True, False]
    tracks = scenes[0].tracks
    assert tracks.ids.tolist() == ["human", "bot"]
    np.testing.assert_allclose(tracks.time_s, np.arange(8) * 0.01)
    np.testing.assert_allclose(tracks.xy[0, 2], [140.02, 301.75])
    np.testing.assert_allclose(scenes[0].attributes["intersection_m"], [150, 300])


def test_the_bot_is_observed_once_it_drives_steadily(lgap_root):
    tracks = scenes_of(lgap_root)[0].tracks
    assert tracks.observed.sum(axis=1).tolist() == [8, 5]
    assert np.isnan(tracks.xy[1, :3]).all()
    np.testing.assert_allclose(tracks.xy[1, 3], [151.75, 399.28])


def test_carla_yaw_turns_the_other_way(lgap_root):
    np.testing.assert_allclose(scenes_of(lgap_root)[0].tracks.heading[1, 3], -np.pi / 2)


def test_the_earlier_version_of_measures_reads_the_same(lgap_root):
    current = scenes_of(lgap_root)
    path = lgap_root / "measures.csv"
    rows = [line.split(",") for line in path.read_text().splitlines()]
    header = ["", *(cell.replace("is_go", "is_turn") for cell in rows[0] if cell != "is_collision")]
    words = {"Go": "Turn", "Stay": "Wait"}
    body = [[str(k), *(words.get(c, c) for c in row[:10] + row[11:])] for k, row in enumerate(rows[1:])]
    path.write_text("".join(",".join(row) + "\n" for row in [header, *body]))
    old = scenes_of(lgap_root)
    assert LGAP.verify(lgap_root).version == "earlier public version"
    assert LGAP.verify(lgap_root).problems == ()
    for one, other in zip(current, old, strict=True):
        assert {**one.attributes, "is_collision": None}.keys() == other.attributes.keys()
        assert one.attributes["is_go"] == other.attributes["is_go"]
        np.testing.assert_array_equal(one.tracks.xy, other.tracks.xy)


@pytest.mark.parametrize(
    ("file", "line", "cell", "value", "message", "column"),
    [
        ("measures.csv", 3, 3, "1", "a trial is listed twice", "subj_id"),
        ("measures.csv", 3, 3, "9", "no rows in the other file", "subj_id"),
        ("measures.csv", 2, 11, "Maybe", "unknown word", "decision"),
        ("measures.csv", 2, 11, "Stay", "contradict", "decision"),
        ("processed_data.csv", 5, 7, "5.01", "time does not increase", "t"),
        ("processed_data.csv", 5, 12, "1400", "the position jumps", "ego_x"),
        ("processed_data.csv", 5, 3, "2", "rows of a track are not together", "subj_id"),
        ("processed_data.csv", 5, 12, "inf", "not a finite number", "ego_x"),
    ],
)
def test_damage_is_named_by_line_and_column(lgap_root, edit, file, line, cell, value, message, column):
    edit(lgap_root / file, line=line, cell=cell, value=value)
    with pytest.raises(FileFormatError, match=message) as caught:
        scenes_of(lgap_root)
    assert file in (caught.value.where or "") and f"column {column!r}" in (caught.value.where or "")
    assert any(message in problem.message for problem in LGAP.verify(lgap_root).problems)


def test_trials_that_measures_does_not_list_are_left_out_with_a_warning(lgap_root, edit):
    edit(lgap_root / "measures.csv", line=3)
    assert len(scenes_of(lgap_root)) == 1
    verification = LGAP.verify(lgap_root)
    assert verification.ok
    assert verification.problems[0].line == 10
