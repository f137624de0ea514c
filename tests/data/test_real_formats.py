"""Against public samples of other projects' formats, where a user has them: ``GIVEWAY_REAL_FORMATS=FOLDER``.

The folder holds what ``git archive`` gives of SCP-CN-001/trajectory_dataset_support (9a459af) as ``tds``,
argoverse/av2-api (b7321d1) as ``av2api``, Emerge-Lab/gpudrive (b2e575f) as ``gpudrive``, metadriverse/scenarionet
(cebcbe6) as ``scenarionet``, SOTIF-AVLab/SinD (9fbd12a) as ``sind``, dongfang-steven-yang/vci-dataset-dut (80b8c74) and
-citr (b6a9806) as ``dut`` and ``citr``, WoodOxen/tactics2d as ``tactics2d``.
"""

import os
from pathlib import Path

import numpy as np
import pytest

from giveway.data import DATASETS
from giveway.roads.lanelet2 import read_lanelet2
from giveway.roads.osm import read_osm
from giveway.testing.datasets import check_dataset

pytestmark = pytest.mark.data


@pytest.fixture(scope="module")
def root():
    folder = os.environ.get("GIVEWAY_REAL_FORMATS")
    if not folder:
        pytest.skip("GIVEWAY_REAL_FORMATS names no folder")
    return Path(folder)


def scenes_of(name, root):
    adapter = DATASETS.get(name)
    return {r.id: scene for r in adapter.recordings(root) for scene in adapter.scenes(r)}


def counts(scene):
    return scene.tracks.num_agents, scene.tracks.num_instants, int(scene.tracks.observed.sum())


FOLDERS = {
    "argoverse2": "tds/trajectory_sample/Argoverse",
    "nuplan": "tds/trajectory_sample/NuPlan",
    "womd": "tds/trajectory_sample/WOMD",
    "scenarionet": "scenarionet",
    "dut": "dut",
    "citr": "citr/data/trajectories_filtered",
    "sind": "sind",
}


@pytest.mark.parametrize("name", FOLDERS)
def test_samples_keep_the_contract(name, root):
    check_dataset(DATASETS.get(name), root / FOLDERS[name])


def test_argoverse_2(root):
    found = {name.split("/")[0]: counts(s) for name, s in scenes_of("argoverse2", root / FOLDERS["argoverse2"]).items()}
    assert found == {"train": (40, 110, 1790), "val": (73, 110, 3210), "test": (19, 50, 569)}
    (austin,) = scenes_of("argoverse2", root / "av2api").values()
    assert counts(austin) == (58, 110, 2434) and austin.location == "austin"
    val = next(s for name, s in scenes_of("argoverse2", root / FOLDERS["argoverse2"]).items() if "val" in name)
    assert len(val.road.lanes) == 63
    assert sum(line.type == "pedestrian_marking" for line in val.road.lines) == 2 * 4


def test_nuplan(root):
    found = {}
    for name, scene in scenes_of("nuplan", root / FOLDERS["nuplan"]).items():
        a, ego = scene.attributes, int(scene.attributes["is_recorder"].sum())
        tracks = scene.tracks.num_agents - ego + a["left_out_tracks"]
        boxes = int(scene.tracks.observed[~a["is_recorder"]].sum()) + a["left_out_boxes"]
        found[name.split("/")[-2]] = (tracks, boxes, scene.tracks.num_instants, a["epsg"])
    assert found == {
        "test": (48, 1702, 1220, 32617),
        "val": (45, 2234, 1380, 32617),
        "train_pittsburgh": (57, 2509, 1240, 32617),
        "train_singapore": (35, 2129, 1280, 32648),
    }


def test_womd_json(root):
    scenes = scenes_of("womd", root / "gpudrive")
    assert [scene.tracks.num_agents for scene in scenes.values()] == [62, 81, 91, 15]
    assert {scene.tracks.num_instants for scene in scenes.values()} == {91}


def test_womd_record(root):
    (scene,) = scenes_of("womd", root / FOLDERS["womd"]).values()
    assert scene.attributes["scenario_id"] == "637f20cafde22ff8"
    assert counts(scene)[:2] == (83, 91) and scene.attributes["current_instant"] == 10
    assert len(scene.road.lanes) == 198  # of 199; one has no length
    assert len(scene.road.lanes) + 1 + len(scene.road.lines) + 8 + 1 == 301  # stop signs are points, one line is one


def test_scenarionet(root):
    scenes = scenes_of("scenarionet", root / "scenarionet")
    found = {
        name.split("_")[-1]: (
            s.tracks.num_agents + s.attributes["left_out_objects"],
            s.tracks.num_instants,
            s.attributes["num_map_features"],
        )
        for name, s in scenes.items()
    }
    assert found["scene-0061"] == (226, 191, 586)
    assert found["eb4b91b10ca94ff2"] == (45, 199, 209)


CHAINED = {
    "rounD_map/rounD_0": (25, 123),
    "rounD_map/rounD_1": (30, 66),
    "rounD_map/rounD_2": (31, 65),
    "inD_map/inD_1": (7, 137),
    "inD_map/inD_2": (7, 128),
    "inD_map/inD_3": (14, 143),
    "inD_map/inD_4": (24, 213),
}


@pytest.mark.parametrize("name", CHAINED)
def test_lanes_of_several_ways_are_whole(name, root):
    path = root / "tactics2d" / "data" / f"{name}.osm"
    document = read_osm(path)
    lanelets = [r for r in document.relations.values() if r.tags.get("type") == "lanelet"]
    several = [r for r in lanelets if max(len(r.refs(side, "way")) for side in ("left", "right")) > 1]
    assert (len(several), len(lanelets)) == CHAINED[name]
    assert len(document.dangling) == (24 if name.endswith("inD_2") else 0)
    road = read_lanelet2(path)
    assert not [warning for warning in road.warnings if "whole bound" in warning]
    place = np.concatenate([lane.center for lane in road.lanes.values()]).mean(axis=0)
    assert 292_000 < place[0] < 302_000  # zone 32


def test_dut_and_citr(root):
    dut = scenes_of("dut", root / "dut")
    clips = [name.rsplit("/", 1)[-1].rsplit("_", 1)[0] for name in dut]
    assert (clips.count("intersection"), clips.count("roundabout")) == (17, 11)
    citr = scenes_of("citr", root / "citr" / "data" / "trajectories_filtered")
    assert len(citr) == 38
    assert sum(any(name.startswith("v") for name in scene.tracks.ids) for scene in citr.values()) == 26
    for scenes in (dut, citr):
        ratio = [_rate(scene) for scene in scenes.values() if (scene.tracks.kind == 8).any()]
        assert 0.97 < np.median(ratio) < 1.02


def _rate(scene):
    """Distance by velocity over distance by position, of pedestrians who walk; one if the frame rate is right."""
    tracks = scene.tracks
    step = np.diff(tracks.xy, axis=1)
    speed = tracks.speed[:, 1:]
    with np.errstate(invalid="ignore"):
        walks = (tracks.kind == 8)[:, None] & (speed > 0.8)
    moved = np.hypot(step[..., 0], step[..., 1])
    good = walks & np.isfinite(moved)
    return speed[good].sum() * tracks.dt_s / moved[good].sum()


def test_sind(root):
    scenes = scenes_of("sind", root / "sind")
    assert sum(int(scene.tracks.observed.sum()) for scene in scenes.values()) == 29_323  # pedestrians of three cities
    assert {scene.location for scene in scenes.values()} == {"Changchun", "Chongqing", "Xi'an"}
    assert all(scene.road is not None for scene in scenes.values())
