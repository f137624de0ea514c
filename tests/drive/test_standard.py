"""Standard sets: goldens of the note, strata, splits, content ids, and what happens with foreign recordings."""

import json
import os
from dataclasses import replace

import numpy as np
import pytest

from giveway.cli.main import run
from giveway.core.case import Role, set_id
from giveway.core.errors import FileFormatError
from giveway.core.tracks import AgentKind
from giveway.drive.conflicts import traces_of
from giveway.drive.events import find_following, find_pedestrians
from giveway.drive.speeds import SiteSpeeds
from giveway.drive.standard import selected, split_of, split_share, stratified
from giveway.sim.case_files import read_cases, write_cases
from giveway.sim.prepare import prepare
from giveway.sim.verify import content_id
from giveway.testing.drive_scenes import DrivenCar, crossing_case, crossing_scene, scene_of


def call(capsys, *args, code=0):
    with pytest.raises(SystemExit) as stop:
        run(["drive", *args])
    out = capsys.readouterr()
    assert stop.value.code == code, out.err
    return out.out


@pytest.mark.parametrize(
    ("recording", "share", "split"),
    [("DR_USA_Roundabout_FT/000", 0.082761, "test"), ("DR_DEU_Merging_MT/004", 0.662777, "train")],
)
def test_the_split_of_the_note(recording, share, split):
    assert split_share(recording) == pytest.approx(share, abs=1e-6)
    assert split_of(recording) == split


def test_the_content_id_of_the_note():
    cars = [
        DrivenCar(id="12", points=((1000.123, 999.877), (1100.0, 999.877)), speed_mps=4.0),
        DrivenCar(id="7", points=((1010.0, 1000.0), (1000.0, 1000.0)), speed_mps=3.0),
    ]
    tracks = scene_of(cars, duration_s=0.1).tracks
    observed = tracks.observed.copy()
    seven = tracks.index_of("7")
    observed[seven, 1:] = False
    velocity = tracks.velocity.copy()
    velocity[seven] = (-3.0, 0.5)
    tracks = replace(tracks, observed=observed, velocity=velocity)
    start = float(tracks.time_s[0])
    case = replace(crossing_case(), start_s=start, end_s=start + 0.1)
    wanted = "ad290d390a7c6a399275c25f6ada71a2077797f4889bae97448a7a145544e58d"
    assert content_id(case, tracks) == wanted


def tagged(name, start, *, ego="ego", interest=4.0, recording="crossing", tag="merge"):
    case = crossing_case(case_id=name)
    cars = (replace(case.cars[0], id=ego), *case.cars[1:])
    shifted = {"start_s": start, "end_s": start + 6.0, "tags": (tag,), "interest": interest, "recording": recording}
    return replace(case, cars=cars, **shifted)


def test_strata_keep_25_of_a_tag_and_no_ego_twice_within_ten_seconds():
    cases = [tagged(f"m{k}", 100.0 * k) for k in range(30)] + [
        tagged(f"c{k}", 50 + 100.0 * k, tag="crossing") for k in range(3)
    ]
    kept = stratified(cases)
    assert [sum(case.tags[0] == tag for case in kept) for tag in ("merge", "crossing")] == [25, 3]
    close = [
        tagged("a", 0.0, interest=3.0),
        tagged("b", 9.0, interest=4.0),
        tagged("c", 19.0),
        tagged("d", 9.0, ego="other one"),
    ]
    assert {case.id for case in stratified(close)} == {"b", "c", "d"}


def test_splits_are_filled_recording_by_recording():
    names = [f"site/{k:03d}" for k in range(40)]
    found = {name: [tagged(f"x{k}-{i}", 20.0 * i, recording=name) for i in range(6)] for k, name in enumerate(names)}
    chosen = selected(found, {"test": 10, "validation": 2, "train": 20})
    test = [case.recording for case in chosen if split_of(case.recording) == "test"]
    assert len(test) == 10
    assert max(test.count(name) for name in test) - min(test.count(name) for name in test) <= 1
    assert chosen == selected(dict(reversed(found.items())), {"test": 10, "validation": 2, "train": 20})


def test_a_set_file_knows_its_cases_and_its_version(tmp_path):
    cases = [replace(crossing_case(case_id=name), content_id="a" * 64) for name in "ab"]
    path = tmp_path / "set.json"
    write_cases(path, cases, {"name": "standard", "version": 1})
    assert read_cases(path) == tuple(cases)
    document = json.loads(path.read_text())
    assert document["set"]["content_id"] == set_id(case.fingerprint for case in reversed(cases))
    path.write_text(json.dumps({**document, "set": {**document["set"], "version": 9}}))
    with pytest.raises(FileFormatError, match="another version"):
        read_cases(path)
    document["cases"][0]["start_s"] += 0.1
    path.write_text(json.dumps(document))
    with pytest.raises(FileFormatError, match="not those the set was made with"):
        read_cases(path)


def test_every_car_with_the_right_of_way_is_driven_where_traffic_reacts():
    case = crossing_case()
    other = case.right_of_way[0]
    on_replay = replace(case, cars=tuple(replace(c, role=Role.REPLAY) if c.id == other else c for c in case.cars))
    unlisted = replace(case, cars=tuple(c for c in case.cars if c.id != other))
    for changed in (on_replay, unlisted):
        prepared = prepare(changed, crossing_scene(), reacts=True)
        assert prepared.role[prepared.ids.tolist().index(other)] is Role.REACTIVE
        as_in_the_challenge = prepare(changed, crossing_scene())
        assert as_in_the_challenge.role[prepared.ids.tolist().index(other)] is Role.REPLAY


def test_cars_drive_at_their_own_cruising_speed_and_the_metric_has_its_own():
    case = crossing_case()
    cars = (replace(case.cars[0], cruise_mps=12.0), *case.cars[1:])
    prepared = prepare(replace(case, cars=cars, desired_speed_mps=6.0), crossing_scene())
    assert prepared.desired_speed[prepared.ego] == 12.0
    assert prepared.desired_speed[prepared.ids.tolist().index(case.cars[1].id)] == 6.0


def test_speeds_by_lane_are_those_of_cars_that_nobody_holds_up():
    speeds = SiteSpeeds()
    speeds.lanes = {1: ([np.linspace(4.0, 8.0, 101)], [np.zeros(500)]), 2: ([np.full(9, 30.0)], [np.full(60, 3.0)])}
    speeds.limits = {1: 7.0, 3: 13.9}
    assert speeds.speeds({1}, 5.0) == (7.0, 6.0), "p85 7.4 is above the limit; v_d is the median"
    assert speeds.speeds({2}, 5.0) == (5.0, 3.0), "too few free samples: p85 of all, or what the car itself drove"
    assert speeds.speeds({3}, 0.0) == (13.9, 13.9), "no samples: the limit"
    assert speeds.speeds({4}, 0.0) == (8.0, 8.0)


def test_a_leader_that_brakes_and_a_pedestrian_in_the_way_are_found():
    scene = scene_of(
        [
            DrivenCar(id="lead", points=((920.0, 1000.0), (1200.0, 1000.0)), speed_mps=10.0),
            DrivenCar(id="ego", points=((900.0, 1000.0), (1200.0, 1000.0)), speed_mps=10.0),
            DrivenCar(id="walker", points=((950.0, 990.0), (950.0, 1010.0)), speed_mps=1.5),
        ],
        duration_s=12.0,
    )
    tracks = scene.tracks
    velocity = tracks.velocity.copy()
    lead, walker = tracks.index_of("lead"), tracks.index_of("walker")
    velocity[lead, 60:, 0] = 4.0
    kind = tracks.kind.copy()
    kind[walker] = int(AgentKind.PEDESTRIAN)
    tracks = replace(tracks, velocity=velocity, kind=kind)
    traces = traces_of(tracks)
    (event,) = find_following(tracks, traces)
    assert (str(tracks.ids[event.ego.row]), event.other) == ("ego", lead)
    assert event.gap_s == pytest.approx(1.55, abs=0.01)
    met = find_pedestrians(tracks, traces)
    assert {str(tracks.ids[e.ego.row]) for e in met} == {"lead", "ego"}
    assert all(e.gap_s <= 4.0 for e in met)


@pytest.mark.data
def test_a_standard_set_of_real_recordings_is_made_verified_and_refused_elsewhere(capsys, tmp_path):
    root, challenge = os.environ.get("GIVEWAY_REAL_INTERACTION"), os.environ.get("GIVEWAY_CHALLENGE")
    if not root or not challenge:
        pytest.skip("GIVEWAY_REAL_INTERACTION and GIVEWAY_CHALLENGE are not set")
    out = tmp_path / "set.json"
    arguments = ["mine", root, "--set", "standard", "--site", "Roundabout_FT", "--max-recordings", "2"]
    made = json.loads(call(capsys, *arguments, "-o", str(out), "--json"))["result"]
    assert made["cases"] >= 10
    again = json.loads(call(capsys, *arguments, "-o", str(tmp_path / "again.json"), "--json"))["result"]
    assert again["content_id"] == made["content_id"]
    for case in read_cases(out):
        assert all(car.role is not Role.REPLAY for car in case.cars if car.id in case.right_of_way)
        assert case.ego.cruise_mps
        assert case.content_id
    assert f"{made['cases']} of {made['cases']}" in call(capsys, "mine", root, "--verify", str(out))
    assert "other content" in call(capsys, "mine", challenge, "--verify", str(out), code=1)


@pytest.mark.data
def test_the_48_cases_of_the_challenge_in_one_command(capsys, tmp_path):
    challenge = os.environ.get("GIVEWAY_CHALLENGE")
    if not challenge:
        pytest.skip("GIVEWAY_CHALLENGE is not set")
    out = call(capsys, "mine", challenge, "--set", "challenge", "-o", str(tmp_path / "c.json"), "--json")
    result = json.loads(out)["result"]
    assert (result["cases"], result["verified"], result["reproduced"]) == (48, 48, True)
    assert result["recorded_humans"]["score"] == pytest.approx(2.658, abs=1e-3)
    assert len(read_cases(tmp_path / "c.json")) == 48
