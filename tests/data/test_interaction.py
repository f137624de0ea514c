from pathlib import Path

import numpy as np
import pytest

from giveway.core.errors import DatasetLayoutError, FileFormatError
from giveway.core.tracks import AgentKind
from giveway.data import DATASETS

INTERACTION = DATASETS.get("interaction")
SITE = "recorded_trackfiles/DR_TEST_Merging_A"


def scene_of(root):
    return next(INTERACTION.scenes(INTERACTION.recordings(root)[0]))


def test_vehicles_and_pedestrians_share_one_time_grid(interaction_root):
    tracks = scene_of(interaction_root).tracks
    np.testing.assert_allclose(tracks.time_s, [0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    np.testing.assert_array_equal(
        tracks.observed.astype(int), [[1, 1, 1, 1, 1, 0], [0, 0, 1, 1, 1, 1], [0, 0, 0, 1, 1, 0]]
    )
    assert tracks.ids.tolist() == ["1", "2", "P4"]
    assert tracks.kind.tolist() == [AgentKind.CAR, AgentKind.CAR, AgentKind.PEDESTRIAN_OR_BICYCLE]


def test_values_are_those_of_the_file_and_nan_elsewhere(interaction_root):
    tracks = scene_of(interaction_root).tracks
    np.testing.assert_array_equal(tracks.xy[1, 2:], [[1001.5, 998], [1002.0, 998], [1002.5, 998], [1003.0, 998]])
    assert np.isnan(tracks.xy[1, :2]).all() and np.isnan(tracks.velocity[1, :2]).all()
    np.testing.assert_array_equal(tracks.size, [[4.5, 1.8], [4.5, 1.8], [np.nan, np.nan]])
    assert np.isnan(tracks.heading[2]).all()


def test_the_source_files_are_named_with_their_hashes(interaction_root):
    provenance = scene_of(interaction_root).provenance
    assert set(provenance.files) == {f"{SITE}/vehicle_tracks_000.csv", f"{SITE}/pedestrian_tracks_000.csv"}
    assert all(len(digest) == 64 for digest in provenance.files.values())


@pytest.mark.parametrize("below", ["", "recorded_trackfiles", SITE])
def test_any_level_of_the_tree_can_be_the_root(interaction_root, below):
    ids = [recording.id for recording in INTERACTION.recordings(interaction_root / below)]
    assert ids == ["DR_TEST_Merging_A/000"]


def test_a_site_is_known_from_inside_its_folder(interaction_root, monkeypatch):
    (interaction_root / "maps").mkdir()
    (interaction_root / "maps" / "DR_TEST_Merging_A.osm").touch()
    monkeypatch.chdir(interaction_root / SITE)
    (found,) = INTERACTION.recordings(Path())
    assert (found.id, found.location) == ("DR_TEST_Merging_A/000", "DR_TEST_Merging_A")
    assert found.files["map"].resolve() == interaction_root / "maps" / "DR_TEST_Merging_A.osm"


def test_hidden_folders_are_not_sites(interaction_root):
    site = interaction_root / SITE
    (site.parent / ".TestScenarioForScripts").mkdir()
    (site.parent / ".TestScenarioForScripts" / "vehicle_tracks_000.csv").write_bytes(
        (site / "vehicle_tracks_000.csv").read_bytes()
    )
    assert len(INTERACTION.recordings(interaction_root)) == 1


def test_an_empty_folder_says_what_was_expected(tmp_path):
    with pytest.raises(DatasetLayoutError, match="no recordings of INTERACTION") as caught:
        INTERACTION.recordings(tmp_path)
    assert caught.value.found == "an empty folder"
    assert "vehicle_tracks_NNN.csv" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("line", "cell", "value", "message", "column"),
    [
        (3, 4, "abc", "not a number", "x"),
        (3, 4, "", "an empty cell", "x"),
        (4, 5, "nan", "not a finite number", "y"),
        (4, 6, "inf", "not a finite number", "vx"),
        (5, 1, "3", "a frame appears twice", "frame_id"),
        (5, 1, "2", "frames are not in ascending order", "frame_id"),
        (6, 1, "9", "frames are missing inside a track", "frame_id"),
        (4, 2, "301", "timestamp_ms is not 100 times", "timestamp_ms"),
        (4, 3, "lorry", "agent_type is not 'car'", "agent_type"),
        (4, 4, "181.5", "the position jumps", "x"),
        (4, 9, "4.6", "the value changes inside a track", "length"),
        (4, 8, "31.4", "outside the possible range", "psi_rad"),
        (4, 0, "1.0", "not an integer", "track_id"),
    ],
)
def test_a_damaged_cell_is_named_by_line_and_column(interaction_root, edit, line, cell, value, message, column):
    path = interaction_root / SITE / "vehicle_tracks_000.csv"
    edit(path, line=line, cell=cell, value=value)
    if column == "frame_id":
        edit(path, line=line, cell=2, value=f"{value}00")
    with pytest.raises(FileFormatError, match=message) as caught:
        scene_of(interaction_root)
    assert caught.value.where == f"{path}, line {line}, column {column!r}"
    problems = INTERACTION.verify(interaction_root).problems
    assert any((p.line, p.column) == (line, column) and message in p.message for p in problems)


def test_zero_sizes_are_refused(interaction_root):
    path = interaction_root / SITE / "vehicle_tracks_000.csv"
    path.write_text(path.read_text().replace("4.5,1.8", "4.5,0.0"))
    with pytest.raises(FileFormatError, match="zero or negative"):
        scene_of(interaction_root)


def test_verify_lists_all_problems_and_counts_what_it_does_not_list(interaction_root):
    path = interaction_root / SITE / "vehicle_tracks_000.csv"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], *(line.replace("car,100", "car,x") for line in lines[1:])]) + "\n")
    verification = INTERACTION.verify(interaction_root)
    listed = [problem for problem in verification.problems if problem.column == "x"]
    assert not verification.ok
    assert len(listed) == 5
    assert "and 4 more" in (listed[-1].found or "")


def test_windows_files_may_lack_the_last_line_break_but_others_may_not(interaction_root):
    path = interaction_root / SITE / "vehicle_tracks_000.csv"
    whole = scene_of(interaction_root).tracks
    text = path.read_text().rstrip("\n")
    path.write_bytes(text.replace("\n", "\r\n").encode())
    np.testing.assert_array_equal(scene_of(interaction_root).tracks.xy, whole.xy)
    path.write_text(text)
    with pytest.raises(FileFormatError, match="no line break"):
        scene_of(interaction_root)


def test_counts_of_a_recording(interaction_root):
    (summary,) = INTERACTION.verify(interaction_root).recordings
    assert (summary.num_tracks, summary.num_frames, summary.num_rows) == (3, 6, 11)
    assert summary.duration_s == pytest.approx(0.6)
