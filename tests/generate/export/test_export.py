from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from giveway.core.lanes import LaneMap
from giveway.data import DATASETS
from giveway.generate.evaluation.results import TestResult as Result
from giveway.generate.export.cases import Failure, case_of, rolled_out, tracks_hash, write_failures
from giveway.generate.export.frames import frame_of, tracks_of
from giveway.generate.export.openscenario import write_openscenario, write_scenarios
from giveway.roads.library import make_road
from giveway.roads.opendrive import read_opendrive
from giveway.sim.case_files import read_cases
from giveway.testing.worlds import car
from giveway.testing.worlds import tracks_of as moved


@pytest.fixture
def failure():
    """Ego closes in on a slower car and ends bumper to bumper after 5 s; a third car leaves half-way."""
    tracks = moved(
        car([(0, 0), (500, 0)], 10.0),
        car([(0, 0), (500, 0)], 6.0, start_s=24.5),
        car([(0, 3.5), (500, 3.5)], 8.0, leave_s=2.0),
        duration_s=5.0,
    )
    tracks = replace(tracks, ids=np.array(["ego", "car1", "car2"]))
    result = Result(
        number=7,
        genes=(0.5, 0.5),
        scene={"road": "straight", "ego_desired_speed": 12.0},
        outcome="collision",
        grade="A",
        violators=("ego",),
        conflict="longitudinal",
        sentence="A (at fault). longitudinal: ego was behind",
        failed=True,
        avoidable=True,
        avoidable_plus=True,
        near_miss=False,
        other="car1",
        kind="front-steady-8",
        finding="",
        steps=50,
        min_ttc_s=0.0,
        min_escape_ratio=0.2,
        impact_speed_mps=4.0,
        infeasible_share=0.0,
        off_road_share=0.0,
        responsibility_per_100_s=0.0,
    )
    road = LaneMap(name="straight", lanes={})
    return Failure(id="straight-idm-s0-0a1b2c3d-0007", result=result, tracks=tracks, road=road, site="straight")


def test_tracks_survive_their_way_through_a_table(failure):
    back = tracks_of(frame_of(failure.tracks))
    assert tracks_hash(back) == tracks_hash(failure.tracks)
    assert back.ids.tolist() == failure.tracks.ids.tolist()
    np.testing.assert_array_equal(back.size, failure.tracks.size)


def test_a_failure_becomes_a_case_whose_ego_is_driven_anew(failure):
    case = case_of(failure)
    assert case.ego.id == "ego"
    assert case.num_ticks == 50 + 30, "it goes on for 3 s after the failure"
    assert case.desired_speed_mps == 12.0
    assert {c.id: c.predicted for c in case.cars} == {"ego": False, "car1": True, "car2": True}


def test_cases_and_recordings_read_back_and_fit_together(tmp_path, failure):
    write_failures(tmp_path, [failure])
    (case,) = read_cases(tmp_path / "cases.json")
    adapter = DATASETS.get("store")
    (recording,) = adapter.recordings(tmp_path / "recordings")
    assert recording.id == case.recording
    (scene,) = adapter.scenes(recording)
    assert case.tracks_sha256 in scene.provenance.files.values()
    assert scene.attributes["rated"] == "car1"
    np.testing.assert_allclose(scene.tracks.xy[0, :51], failure.tracks.xy[0])
    before = (tmp_path / "cases.json").read_bytes()
    write_failures(tmp_path, [failure])
    assert (tmp_path / "cases.json").read_bytes() == before


def test_after_the_failure_everybody_brakes_to_a_stop(failure):
    after = rolled_out(failure.tracks)
    assert after.time_s[-1] == pytest.approx(12.0)
    assert np.all(np.diff(after.time_s) > 0)
    assert after.speed[0, -1] == 0.0
    assert after.xy[0, -1, 0] == pytest.approx(50.0 + 10.0**2 / (2 * 5.0))
    assert not after.observed[2, -1]


def test_openscenario_is_read_by_a_published_reader(tmp_path, failure):
    xosc = pytest.importorskip("scenariogeneration.xosc")
    path = tmp_path / "a.xosc"
    write_openscenario(path, failure, map_file="straight.osm")
    read = xosc.ParseOpenScenario(str(path))
    assert [e.name for e in read.entities.scenario_objects] == ["ego", "car1", "car2"]
    car1 = read.entities.scenario_objects[1].entityobject
    assert car1.boundingbox.boundingbox.length == pytest.approx(4.5)
    assert read.roadnetwork.road_file == "straight.osm"
    story = read.storyboard.stories[0]
    groups = story.acts[0].maneuvergroup
    assert [g.actors.actors[0].entity for g in groups] == ["car1", "car2"]
    line = groups[0].maneuvers[0].events[0].action[0].action.trajectory.shapes
    assert len(line.positions) == 51
    assert line.positions[-1].x == pytest.approx(24.5 + 30.0)
    assert len(groups[1].maneuvers[0].events[0].action[0].action.trajectory.shapes.positions) == 20


def test_scenarios_name_the_road_that_lies_beside_them(tmp_path, failure):
    """Two failures on one road share its file, which holds its lanes."""
    straight, merge = (make_road(name).map() for name in ("straight", "merge"))
    given = [replace(failure, id=f"f{n}", road=road) for n, road in enumerate((straight, straight, merge))]
    files = write_scenarios(tmp_path, given)
    assert [path.suffix for path in files] == [".xosc"] * 3 + [".xodr"] * 2 and all(path.is_file() for path in files)
    logic = [ElementTree.parse(path).find("RoadNetwork/LogicFile").get("filepath") for path in files[:3]]
    assert logic[0] == logic[1] == files[3].name and logic[2] == files[4].name
    assert len(read_opendrive(tmp_path / logic[0]).lanes) == len(straight.lanes)


def test_equal_failures_give_equal_files(tmp_path, failure):
    for name in ("a", "b"):
        write_openscenario(tmp_path / f"{name}.xosc", failure)
    assert (tmp_path / "a.xosc").read_bytes() == (tmp_path / "b.xosc").read_bytes()
