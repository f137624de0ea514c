"""Recordings of the same names with other content are refused, case by case, and tables say so."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from giveway.cli.main import run
from giveway.core.case import Car, Role, Start
from giveway.core.errors import DataError
from giveway.sim.case_files import read_cases
from giveway.sim.prepare import prepare
from giveway.synth.protocol import synthesize
from giveway.testing.drive_scenes import crossing_case, crossing_scene


def call(capsys, *args, code):
    with pytest.raises(SystemExit) as stop:
        run([*args])
    out = capsys.readouterr()
    assert stop.value.code == code, out.err
    return out


@pytest.fixture(scope="module")
def foreign(tmp_path_factory):
    """Files of the same names as those of ``altered_cases``, from another seed."""
    root = tmp_path_factory.mktemp("foreign") / "data"
    synthesize("interaction", root, seed=6, count=1, minutes=1)
    return root


def test_same_named_files_of_another_release_are_refused_for_all_cases(capsys, altered_cases, foreign, tmp_path):
    _, cases = altered_cases
    arguments = ["drive", "run", "-p", "constant_velocity", "--cases", str(cases), "--data", str(foreign)]
    found = json.loads(call(capsys, *arguments, "--out", str(tmp_path / "R"), "--json", code=1).out)["result"]
    (row,) = found["predictors"]
    assert row["coverage"] == "0 of 6 cases, 6 failed"
    assert found["humans"]["coverage"] == "0 of 6 cases, 6 failed"
    assert sorted(row["failed_cases"]) == [f"config_{n}" for n in range(6)]
    assert all("not the one this case was made for" in reason for reason in row["failed_cases"].values())


@pytest.fixture(scope="module")
def partly(altered_cases, tmp_path_factory):
    """A run of six cases of which one does not fit its recording."""
    root, cases = altered_cases
    folder = tmp_path_factory.mktemp("partly")
    for path in cases.iterdir():
        text = path.read_text()
        if path.stem == "config_3":
            text = re.sub("EgoEndPosition:.*", "EgoEndPosition:0.0 0.0", text)
        (folder / path.name).write_text(text)
    out = folder.parent / "R"
    return ["drive", "run", "-p", "constant_velocity", "--cases", str(folder), "--data", str(root), "--out", str(out)]


def test_a_row_over_fewer_cases_says_so_in_text_and_json(capsys, partly):
    text = call(capsys, *partly, code=1).out
    lines = text.splitlines()
    (own,) = (line for line in lines if line.startswith("CV") and "of 6 cases" in line)
    assert own.endswith("5 of 6 cases, 1 failed, scored with the worst values of the rest")
    assert "case config_3 failed: DataError: the recording is not the one this case was made for" in text
    document = json.loads(call(capsys, *partly, "--json", code=1).out)["result"]
    assert [row["coverage"] for row in document["predictors"]] == ["5 of 6 cases, 1 failed"]
    assert document["humans"]["coverage"] == "5 of 6 cases, 1 failed"
    coded = json.loads(call(capsys, *partly, "--metric", "as_coded", "--json", code=1).out)["result"]
    assert coded["predictors"][0]["failed_are"] == "left out of the means"


def test_score_and_report_say_it_as_well(capsys, partly, tmp_path):
    call(capsys, *partly, code=1)
    store = partly[-1]
    lines = call(capsys, "drive", "score", store, code=0).out.splitlines()
    assert any(line.startswith("CV ") and "5 of 6 cases, 1 failed" in line for line in lines)
    call(capsys, "report", store, "--out", str(tmp_path / "site"), code=0)
    pages = [path.read_text() for path in (tmp_path / "site").rglob("*.html")]
    assert any("5 of 6 cases, 1 failed" in page for page in pages)


@pytest.fixture(scope="module")
def scene():
    return crossing_scene()


@pytest.fixture(scope="module")
def unhashed(scene):
    """The crossing case as the challenge would have written it."""
    tracks = scene.tracks
    end = tracks.xy[0, round(7.0 / 0.1)]
    return replace(crossing_case(), tracks_sha256="", ego_end_m=(float(end[0]), float(end[1])))


def test_without_a_hash_the_end_of_the_ego_decides(scene, unhashed):
    prepare(unhashed, scene)
    x, y = unhashed.ego_end_m
    prepare(replace(unhashed, ego_end_m=(x + 0.04, y)), scene)
    with pytest.raises(DataError, match=r"the ego ends 0\.06 m away"):
        prepare(replace(unhashed, ego_end_m=(x + 0.06, y)), scene)


def test_without_a_hash_the_whole_cast_must_be_there(scene, unhashed):
    with pytest.raises(DataError, match="no car ghost in the window"):
        prepare(replace(unhashed, cars=(*unhashed.cars, Car(id="ghost", role=Role.REPLAY, predicted=True))), scene)
    with pytest.raises(DataError, match="no car ghost in the window"):
        prepare(replace(unhashed, right_of_way=("other", "ghost")), scene)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y_m": 1004.9}, None),
        ({"y_m": 1005.2}, "start of car ego is 5.2 m from its recorded path"),
        ({"x_m": 925.0}, "start of car ego is 15.0 m from its recorded path"),
        ({"length_m": 4.51}, None),
        ({"length_m": 4.6}, "length of car ego is 4.50 m, not 4.60 m"),
    ],
)
def test_an_altered_start_lies_near_the_recorded_path_of_a_car_of_that_size(scene, unhashed, change, message):
    start = replace(Start(time_s=1.0, x_m=945.0, y_m=1000.0, heading_rad=0.0, speed_mps=6.0), **change)
    case = replace(unhashed, cars=(replace(unhashed.ego, start=start), *unhashed.cars[1:]))
    if message is None:
        prepare(case, scene)
        return
    with pytest.raises(DataError, match=message):
        prepare(case, scene)


def test_a_case_that_says_nothing_about_its_recording_is_refused(scene):
    with pytest.raises(DataError, match="nothing in this case tells its recording"):
        prepare(replace(crossing_case(), tracks_sha256=""), scene)


def test_the_challenge_positions_fit_the_recording_they_were_taken_from(altered_cases):
    root, folder = altered_cases
    from giveway.drive.scenes import RecordedScenes

    source = RecordedScenes(Path(root))
    for case in read_cases(folder):
        made = prepare(case, source.scene_of(case))
        assert np.isfinite(made.rec[made.ego, made.rec_on[made.ego]]).all()
