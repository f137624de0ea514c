import hashlib

import numpy as np
import pytest

from giveway.core.errors import FileFormatError
from giveway.core.tracks import AgentKind
from giveway.data import DATASETS, released
from giveway.data.layout import identify
from giveway.roads.projection import UtmProjection

from .conftest import write_levelx

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


def meta_of(root):
    return root / "data" / "00_recordingMeta.csv"


def test_an_empty_start_time_as_in_ind_07_to_10_is_none(ind_root, edit):
    edit(meta_of(ind_root), line=2, cell=5, value="")
    edit(meta_of(ind_root), line=2, cell=4, value="tuesdays")
    scene = scene_of(IND, ind_root)
    assert scene.attributes["start_hour"] is None and scene.attributes["weekday"] == "tuesdays"
    assert IND.verify(ind_root).ok


def test_an_export_version_is_no_unknown_column(round_root):
    path = meta_of(round_root)
    header, row = path.read_text().splitlines()
    path.write_text(f"{header},exportVersion\n{row},2.1\n")
    assert not ROUND.verify(round_root).problems


def test_motorcycles_and_animals_may_have_no_size_in_any_dataset_of_the_family(unid_root):
    tracks = scene_of(DATASETS.get("unid"), unid_root).tracks
    assert np.isnan(tracks.size[1:]).all() and tracks.size[0].tolist() == [4, 2]
    assert tracks.kind.tolist() == [AgentKind.CAR, AgentKind.UNKNOWN, AgentKind.MOTORCYCLE]


def test_exid_keeps_lanelets_and_neighbors_of_every_state(exid_root):
    scene = scene_of(DATASETS.get("exid"), exid_root)
    assert len(scene.attributes["lanelet_id"]) == scene.tracks.observed.sum()
    firsts = {name: scene.attributes[name][0] for name in ("lanelet_id", "lead_id", "left_alongside_id", "rear_id")}
    assert firsts == {"lanelet_id": 1500, "lead_id": 7, "left_alongside_id": 4, "rear_id": -1}


def test_exid_is_not_taken_for_round(exid_root):
    assert identify(exid_root) == ["exid"]
    assert "--dataset exid" in (DATASETS.get("interaction").verify(exid_root).problems[0].hint or "")


@pytest.mark.parametrize(
    ("folder", "place", "expected"),
    [
        ("uniD-v1.0", (50.7905, 6.0593), ["unid"]),  # the folder speaks before the position
        ("recordings", (50.7905, 6.0593), ["round"]),
        ("recordings", (50.7684, 6.1024), ["ind"]),
        ("recordings", (50.7, 5.0), ["unid"]),  # none of the sites of inD and rounD
    ],
)
def test_cars_alone_are_told_apart_by_folder_and_position(tmp_path, edit, folder, place, expected):
    root = write_levelx(tmp_path / folder, [("car", 0, 9, 4.0, 2.0)])
    for cell, value in zip((10, 11), place, strict=True):
        edit(meta_of(root), line=2, cell=cell, value=str(value))
    assert identify(root) == expected


def test_files_of_two_recordings_are_not_mixed(round_root, edit):
    path = round_root / "data" / "00_tracksMeta.csv"
    edit(path, line=3, cell=0, value="7")
    with pytest.raises(FileFormatError, match="of two recordings") as caught:
        scene_of(ROUND, round_root)
    assert (caught.value.where or "").endswith("00_tracksMeta.csv, line 3, column 'recordingId'")
    assert caught.value.found == "7, but 0 in 00_recordingMeta.csv"


def write_map(root, name, *, origin=(292669.4681, 5630731.7040)):
    """One lane along the tracks, 4 m wide around x = 80 m, at the true position of the recording."""
    projection = UtmProjection(origin_lon_deg=6.06, grid_origin_m=origin)
    corners = projection.to_latlon(np.array([[78.0, -70.0], [78.0, -20.0], [82.0, -70.0], [82.0, -20.0]]))
    nodes = "".join(f'<node id="{n}" lat="{a:.11f}" lon="{b:.11f}" />' for n, (a, b) in enumerate(corners, 1))
    ways = '<way id="10"><nd ref="1" /><nd ref="2" /></way><way id="11"><nd ref="3" /><nd ref="4" /></way>'
    members = '<member type="way" ref="10" role="left" /><member type="way" ref="11" role="right" />'
    lane = f'<relation id="20">{members}<tag k="type" v="lanelet" /><tag k="subtype" v="road" /></relation>'
    path = root / "maps" / "lanelet2" / name
    path.parent.mkdir(parents=True)
    path.write_text(f'<osm version="0.6">{nodes}{ways}{lane}</osm>')


@pytest.mark.parametrize("name", ["1_kackertstrasse.osm", "location1.osm", "rounD_1.osm", "01.osm"])
def test_the_map_of_the_location_is_read_in_the_coordinates_of_the_recording(round_root, name):
    write_map(round_root, name)
    scene = scene_of(ROUND, round_root)
    assert scene.road is not None
    np.testing.assert_allclose(scene.road.lanes[20].center[[0, -1]], [[80, -70], [80, -20]], atol=1e-4)
    assert f"maps/lanelet2/{name}" in scene.provenance.files
    assert ROUND.verify(round_root).ok


@pytest.mark.parametrize("name", ["2_thiergarten.osm", "location11.osm", "rounD_10.osm"])
def test_a_map_of_another_location_is_left_alone(round_root, name):
    write_map(round_root, name)
    assert scene_of(ROUND, round_root).road is None


def test_a_map_in_another_zone_is_refused_with_file_and_fields(round_root, edit):
    write_map(round_root, "location1.osm")
    edit(meta_of(round_root), line=2, cell=11, value="5.99")  # zone 31
    with pytest.raises(FileFormatError, match="does not lie where the tracks are") as caught:
        scene_of(ROUND, round_root)
    assert "location1.osm" in (caught.value.where or "") and "lonLocation" in (caught.value.hint or "")
    assert [problem.severity for problem in ROUND.verify(round_root).problems] == ["error"]


def test_another_version_of_an_official_recording_is_a_warning(ind_root):
    verification = IND.verify(ind_root)
    assert verification.extra["released"] == {"00": "unknown version"}
    (problem,) = verification.problems
    assert problem.severity == "warning" and "not that of release 1.0" in problem.message


def test_official_files_are_as_released_and_a_changed_byte_is_an_error(ind_root, monkeypatch):
    files = {path.name: path.read_bytes() for path in (ind_root / "data").iterdir()}
    known = {name: (len(data), hashlib.sha256(data).hexdigest()) for name, data in files.items()}
    monkeypatch.setattr(released, "release_of", lambda dataset: released.Release(version="9", files=known))
    verification = IND.verify(ind_root)
    assert verification.extra["released"] == {"00": "as released"} and not verification.problems
    meta_of(ind_root).write_bytes(files["00_recordingMeta.csv"].replace(b"tuesday", b"tuesdaz"))
    verification = IND.verify(ind_root)
    assert verification.extra["released"] == {"00": "same size, other content"} and not verification.ok


def test_fingerprints_of_ind_are_the_ones_of_the_release():
    files = released.release_of("ind").files
    assert len(files) == 33 * 3
    assert files["07_tracks.csv"][0] == 25_807_461 and files["07_tracks.csv"][1].startswith("9ee416b0")
    assert files["00_recordingMeta.csv"][0] == 283 and files["00_recordingMeta.csv"][1].endswith("608a")
