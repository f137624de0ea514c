"""Formats of other projects: tiny files written by ``giveway.testing.formats``, and bad ones."""

import math
import pickle
import sqlite3

import numpy as np
import pytest

from giveway.core.errors import FileFormatError
from giveway.core.tracks import AgentKind
from giveway.data import DATASETS
from giveway.data.layout import identify
from giveway.data.restricted_pickle import restricted_load
from giveway.data.scenarionet_writer import write_scenarionet
from giveway.testing.datasets import check_dataset
from giveway.testing.formats import AGENTS, STEPS, WRITERS, state_at, write_bomb, write_format

MOVING = ("argoverse2", "nuplan", "scenarionet", "womd")


def scenes_of(name, root):
    adapter = DATASETS.get(name)
    return [scene for recording in adapter.recordings(root) for scene in adapter.scenes(recording)]


def problem_of(name, root):
    (problem,) = [p for p in DATASETS.get(name).verify(root).problems if p.severity == "error"]
    return problem


@pytest.mark.parametrize("name", MOVING)
def test_states_are_those_of_the_file(name, tmp_path):
    write_format(name, tmp_path)
    for scene in scenes_of(name, tmp_path):
        tracks = scene.tracks
        assert tracks.num_instants == STEPS and tracks.num_agents == len(AGENTS)
        names = dict(zip(tracks.ids.tolist(), range(len(AGENTS)), strict=True))
        for agent in AGENTS:
            id_in_file = {"argoverse2": "AV", "nuplan": "ego"}.get(name, "7") if agent is AGENTS[0] else agent[0]
            row = names[id_in_file.encode().hex() if name == "nuplan" and id_in_file != "ego" else id_in_file]
            seen = np.flatnonzero(tracks.observed[row])
            assert (seen[0], seen[-1], len(seen)) == (agent[6], agent[7], agent[7] - agent[6] + 1)
            expected = np.array([state_at(agent, step) for step in seen])
            np.testing.assert_allclose(tracks.xy[row, seen], expected[:, :2], atol=1e-5)
            np.testing.assert_allclose(tracks.heading[row, seen], expected[:, 2], atol=1e-6)
            np.testing.assert_allclose(tracks.velocity[row, seen], expected[:, 3:], atol=1e-6)
            assert tracks.kind[row] == (AgentKind.CAR if agent[1] == "vehicle" else AgentKind.PEDESTRIAN)
        (recorder,) = np.flatnonzero(scene.attributes["is_recorder"])
        assert recorder == names[{"argoverse2": "AV", "nuplan": "ego"}.get(name, "7")]


@pytest.mark.parametrize("name", ["argoverse2", "scenarionet", "womd"])
def test_lanes_follow_one_another_and_references_outside_are_told(name, tmp_path):
    write_format(name, tmp_path)
    roads = [scene.road for scene in scenes_of(name, tmp_path)]
    assert all(sorted(road.lanes) == [11, 12] for road in roads)
    road = roads[-1]  # of the record, for womd
    assert road.lanes[11].successors == (12,) and road.lanes[12].predecessors == (11,)
    np.testing.assert_allclose(road.lanes[11].left[:, 1], 51.75)
    assert name == "scenarionet" or "1 references to lanes outside" in road.warnings[0]


def test_what_is_not_a_driver_is_left_out_and_counted(tmp_path):
    write_format("scenarionet", tmp_path / "s")
    write_format("nuplan", tmp_path / "n")
    (scene,) = scenes_of("scenarionet", tmp_path / "s")
    assert scene.attributes["left_out_objects"] == 1
    (log,) = scenes_of("nuplan", tmp_path / "n")
    assert (log.attributes["left_out_tracks"], log.attributes["left_out_boxes"]) == (1, 4)


def test_lights_are_kept(tmp_path):
    write_format("nuplan", tmp_path / "n")
    write_format("womd", tmp_path / "w")
    (log,) = scenes_of("nuplan", tmp_path / "n")
    assert (log.attributes["light_instant"][0], log.attributes["light_status"][0]) == (3, "red")
    scene = scenes_of("womd", tmp_path / "w")[-1]
    assert (scene.attributes["light_instant"][0], scene.attributes["light_lane"][0]) == (3, 11)
    assert scene.attributes["light_state"][0] == 4 and scene.attributes["current_instant"] == 5


def test_pickles_inside_a_database_are_never_read(tmp_path):
    write_format("nuplan", tmp_path)
    assert len(scenes_of("nuplan", tmp_path)) == 1
    assert not (tmp_path / "executed").exists()


def test_a_database_is_opened_read_only(tmp_path):
    path = write_format("nuplan", tmp_path)
    before = path.read_bytes()
    path.chmod(0o444)
    scenes_of("nuplan", tmp_path)
    assert path.read_bytes() == before and [p.name for p in tmp_path.iterdir()] == ["log.db"]


def test_a_pickle_that_calls_a_program_is_refused_by_name_without_effect(tmp_path):
    path = tmp_path / "sd_evil_1.pkl"
    mark = write_bomb(path)
    problem = problem_of("scenarionet", tmp_path)
    assert problem.message == "a pickle asks for code that is no data"
    assert problem.file.endswith("field 'posix.system'") or "posix.system" in problem.file
    assert not mark.exists()
    pickle.loads(path.read_bytes())  # the same bytes do have an effect elsewhere
    assert mark.exists()


@pytest.mark.parametrize(
    ("value", "word"),
    [
        (np.array([object()], dtype=object), "builtins.object"),
        ({"a": math.sin}, "math.sin"),
        ({"a": bytearray(3)}, "builtins.bytearray"),
        ({"a": b"bytes"}, "is no data"),
        (complex(1, 2), "builtins.complex"),
    ],
)
def test_a_pickle_that_holds_more_than_data_is_refused(value, word, tmp_path):
    with pytest.raises(FileFormatError) as caught:
        restricted_load(pickle.dumps(value), tmp_path / "sd_1.pkl")
    assert word in str(caught.value)


def test_the_summary_of_a_scenarionet_folder_is_never_opened(tmp_path):
    path = write_format("scenarionet", tmp_path)
    assert len(scenes_of("scenarionet", tmp_path)) == 1
    assert not (path.parent / "executed").exists()


CUTS = {"argoverse2": "not Parquet", "nuplan": "cannot be read", "scenarionet": "cut or damaged", "womd": "cut"}


@pytest.mark.parametrize("name", MOVING)
@pytest.mark.parametrize("share", [0.3, 0.7, 0.98])
def test_a_cut_file_is_one_sentence_with_the_file(name, share, tmp_path):
    path = write_format(name, tmp_path)
    data = path.read_bytes()
    path.write_bytes(data[: int(share * len(data))])
    problem = problem_of(name, tmp_path)
    assert CUTS[name] in problem.message
    assert path.name in problem.file


@pytest.mark.parametrize("share", [0.2, 0.6, 0.97])
def test_a_message_cut_inside_names_the_field(share, tmp_path):
    path = write_format("womd", tmp_path)
    data = path.read_bytes()
    size = int(share * (len(data) - 16))
    path.write_bytes(size.to_bytes(8, "little") + data[8 : 12 + size] + bytes(4))
    problem = problem_of("womd", tmp_path)
    assert problem.message.startswith(("the message is cut", "a track has another number", "the recording car"))
    assert "field '" in problem.file


def test_a_missing_column_is_named(tmp_path):
    import polars as pl

    path = write_format("argoverse2", tmp_path)
    pl.read_parquet(path).drop("heading").write_parquet(path)
    problem = problem_of("argoverse2", tmp_path)
    assert problem.message == "a column is missing" and "'heading'" in problem.file


def test_a_missing_table_is_named(tmp_path):
    path = write_format("nuplan", tmp_path)
    with sqlite3.connect(path) as database:
        database.execute("DROP TABLE lidar_box")
    assert "lidar_box" in (problem_of("nuplan", tmp_path).found or "")


@pytest.mark.parametrize("name", sorted(WRITERS))
def test_formats_are_recognized(name, tmp_path):
    write_format(name, tmp_path)
    assert identify(tmp_path) == [name]


@pytest.mark.parametrize("name", ["citr", "dut", "sind"])
def test_vehicles_and_pedestrians_of_two_files_are_one_scene(name, tmp_path):
    write_format(name, tmp_path)
    (scene,) = scenes_of(name, tmp_path)
    tracks, rate = scene.tracks, DATASETS.get(name).info.frame_rate_hz
    assert tracks.ids.tolist() == (["7", "8", "P9"] if name == "sind" else ["v0", "v1", "p0"])
    assert tracks.kind.tolist() == [AgentKind.CAR, AgentKind.CAR, AgentKind.PEDESTRIAN]
    assert scene.attributes["frame_rate_hz"] == rate
    for row, agent in enumerate(AGENTS):
        seen = np.flatnonzero(tracks.observed[row])
        assert (seen[0], seen[-1]) == agent[6:]
        velocity = state_at(agent, 0)[3:]
        np.testing.assert_allclose(tracks.velocity[row, seen], np.tile(velocity, (len(seen), 1)), atol=1e-5)
    sizes = {"sind": [[4.6, 1.9], [np.nan] * 2], "dut": [[4.5, 1.8], [0.5] * 2], "citr": [[2.4, 1.2], [0.5] * 2]}[name]
    np.testing.assert_array_equal(tracks.size[[0, 2]], sizes)


def test_a_scene_that_lacks_a_file_is_read_without_it(tmp_path):
    write_format("dut", tmp_path).unlink()
    (scene,) = scenes_of("dut", tmp_path)
    assert scene.tracks.ids.tolist() == ["p0"]
    assert "read without **/*_traj_veh_filtered.csv: this scene has no such file" in scene.provenance.notes
    assert [p.severity for p in DATASETS.get("dut").verify(tmp_path).problems] == ["warning"]


def test_a_pointer_of_git_lfs_counts_as_absent(tmp_path):
    path = write_format("sind", tmp_path)
    path.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 3\n")
    (scene,) = scenes_of("sind", tmp_path)
    assert scene.tracks.ids.tolist() == ["P9"]


def test_scenes_survive_the_writer_of_scenarionet(tmp_path):
    write_format("womd", tmp_path / "w")
    before = scenes_of("womd", tmp_path / "w")[-1]
    write_scenarionet(tmp_path / "out", [before])
    check_dataset(DATASETS.get("scenarionet"), tmp_path / "out")
    (after,) = scenes_of("scenarionet", tmp_path / "out")
    for field in ("xy", "heading", "velocity", "observed", "size", "kind", "ids"):
        np.testing.assert_array_equal(getattr(after.tracks, field), getattr(before.tracks, field))
    np.testing.assert_allclose(after.tracks.time_s, before.tracks.time_s)
    assert after.attributes["is_recorder"].tolist() == before.attributes["is_recorder"].tolist()
    for number, lane in before.road.lanes.items():
        np.testing.assert_array_equal(after.road.lanes[number].center, lane.center)
        assert after.road.lanes[number].successors == lane.successors
