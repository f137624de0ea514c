"""The row of the recorded humans, derived a second time from nothing but the CSV files."""

import csv
import json
import math
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from giveway.cli.main import run
from giveway.core.case import Car, Role, Start
from giveway.drive.driving import Drive, drive_cases, humans
from giveway.drive.scenes import GivenScenes
from giveway.metrics import measure_log
from giveway.metrics.challenge import AS_CODED, challenge_terms
from giveway.metrics.challenge_logs import challenge_inputs
from giveway.planning import make_planner
from giveway.predictors import make_predictor
from giveway.sim.prepare import prepare, with_drivers
from giveway.sim.simulation import Simulation
from giveway.sim.state import PAST, DriverCode
from giveway.testing.drive_scenes import crossing_case, crossing_scene

TERMS = ("s_eff", "s_jer", "s_vel", "s_cou", "score")


def read_rows(path):
    """Track to its rows, in order of time."""
    tracks = {}
    with path.open() as file:
        for row in csv.DictReader(file):
            tracks.setdefault(row["track_id"], []).append(row)
    return tracks


def speeds(track, start_ms, end_ms):
    inside = [row for row in track if start_ms <= int(row["timestamp_ms"]) <= end_ms]
    return np.array([math.hypot(float(row["vx"]), float(row["vy"])) for row in inside])


def costs(speed):
    """RMS of the second difference of speed (first two samples 0) and of the shortfall to 8 m/s."""
    jerk = np.zeros(speed.size)
    jerk[2:] = (speed[2:] - 2 * speed[1:-1] + speed[:-2]) / 0.1**2
    return math.sqrt((jerk**2).mean()), math.sqrt((np.minimum(speed - 8.0, 0.0) ** 2).mean())


def human_row(root, folder):
    """Means over the case files of a folder, as the evaluator of the challenge coded them; S_eff is 1 by definition."""
    table = []
    for path in sorted(folder.glob("*.txt")):
        lines = path.read_text().splitlines()
        head = dict(line.split(":", 1) for line in lines if ":" in line)
        tracks = read_rows(root / "recorded_trackfiles" / head["Map"] / f"vehicle_tracks_{head['Track']}.csv")
        span = int(head["StartTimestamp(ms)"]), int(head["EndTimestamp(ms)"])
        (ego,) = (line.split()[0] for line in lines if line.split()[-1] == "yes" and len(line.split()) in (10, 21))
        jerk, velocity = costs(speeds(tracks[ego], *span))
        targets = [speeds(tracks[car], *span) for car in head["TargetRightofWay"].split()]
        table.append((1.0, jerk, velocity, sum(sum(costs(speed)) for speed in targets if speed.size)))
    means = np.array(table).mean(axis=0)
    return dict(zip(TERMS, (*means, 10 * means[0] - means[1:].sum()), strict=True))


def driven(capsys, root, folder, out, *more):
    arguments = ["drive", "run", "-p", "constant_velocity", "--metric", "as_coded", "--cases", str(folder)]
    with pytest.raises(SystemExit) as stop:
        run([*arguments, "--data", str(root), "--out", str(out), "--json", *more])
    found = capsys.readouterr()
    assert stop.value.code == 0, found.err
    return json.loads(found.out)["result"]


def test_the_humans_of_cases_with_altered_starts_are_those_of_the_csv_files(capsys, altered_cases, tmp_path):
    root, folder = altered_cases
    document = driven(capsys, root, folder, tmp_path / "R")
    wanted = human_row(root, folder)
    assert wanted["s_cou"] > 0, "the set must have targets"
    assert {term: document["humans"][term] for term in TERMS} == pytest.approx(wanted, abs=1e-9)


def test_the_replay_planner_scores_like_the_recorded_humans_whatever_the_starts(capsys, altered_cases, tmp_path):
    root, folder = altered_cases
    document = driven(capsys, root, folder, tmp_path / "R", "--planner", "replay")
    (row,) = document["predictors"]
    for term in ("s_eff", "s_jer", "s_vel"):
        assert row[term] == pytest.approx(document["humans"][term], abs=1e-9)


ALTERED = st.builds(
    Start,
    time_s=st.sampled_from([1.0, 1.4]),
    x_m=st.floats(940.0, 955.0),
    y_m=st.floats(998.5, 1001.5),
    heading_rad=st.floats(-0.2, 0.2),
    speed_mps=st.floats(0.0, 14.0),
    length_m=st.sampled_from([None, 6.0]),
    width_m=st.none(),
)


@given(ego=ALTERED, follower=st.none() | ALTERED)
def test_altering_any_start_changes_no_bit_of_what_was_recorded(ego, follower):
    case, scene = crossing_case(), crossing_scene()
    cars = (
        Car(id="ego", role=Role.EGO, start=ego),
        case.cars[1],
        Car(id="follower", role=Role.IDM, start=follower),
    )
    plain, moved = prepare(case, scene), prepare(replace(case, cars=cars), scene)
    assert moved.rec.tobytes() == plain.rec.tobytes()
    assert moved.rec_on.tobytes() == plain.rec_on.tobytes()
    assert moved.recorded_size.tobytes() == plain.recorded_size.tobytes()
    assert moved.recorded_start_s == plain.recorded_start_s
    replayed = with_drivers(moved, DriverCode.REPLAY, everyone_replays=True)
    assert replayed.past.tobytes() == plain.past.tobytes()


def test_the_recording_of_a_prepared_case_cannot_be_written_to():
    prepared = prepare(crossing_case(), crossing_scene())
    for array in (prepared.rec, prepared.rec_on):
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 0


MOVED = Start(time_s=1.0, x_m=945.0, y_m=1000.5, heading_rad=0.0, speed_mps=6.0, length_m=6.0)


@pytest.fixture(scope="module")
def moved_case():
    return replace(
        crossing_case(), cars=(Car(id="ego", role=Role.EGO, start=MOVED), *crossing_case().cars[1:])
    ), GivenScenes({"crossing": crossing_scene()})


def test_with_every_car_on_replay_an_altered_case_gives_the_recording(moved_case):
    case, source = moved_case
    (drive,) = drive_cases([case], source, predictor=None, everyone_replays=True)
    assert isinstance(drive, Drive)
    log = drive.log
    np.testing.assert_array_equal(log.tracks.xy, log.recorded.xy)
    np.testing.assert_array_equal(log.tracks.velocity, log.recorded.velocity)
    np.testing.assert_array_equal(log.tracks.size, log.recorded.size)
    assert log.recorded.xy[0, 0] == pytest.approx([948.0, 1000.0])
    assert challenge_terms(challenge_inputs(log), AS_CODED).efficiency == 1.0


def test_predictors_are_shown_the_past_of_an_altered_start_and_not_the_recorded_one(moved_case):
    case, source = moved_case
    simulation = Simulation([prepare(case, source.scene_of(case))])
    shown = simulation.state.log[0, 0, : PAST + 1]
    assert simulation.state.on[0, 0, : PAST + 1].all()
    np.testing.assert_allclose(np.diff(shown[:, 0]), 0.6, atol=0.02)
    late = replace(case, cars=(replace(case.ego, start=replace(MOVED, time_s=1.5)), *case.cars[1:]))
    simulation = Simulation([prepare(late, source.scene_of(late))])
    assert not simulation.state.on[0, 0, : PAST + 5].any(), "it is not there before its start"


def test_the_recorded_ego_makes_its_own_progress_from_its_own_start(moved_case):
    case, source = moved_case
    (drive,) = drive_cases([case], source, predictor=make_predictor("constant_velocity"))
    assert isinstance(drive, Drive)
    assert drive.log.recorded_ego_s[0] == pytest.approx(0.0, abs=1e-6)
    assert drive.log.recorded_ego_s[-1] == pytest.approx(48.0, abs=0.05), "6 s at 8 m/s from 948 m"
    assert drive.log.expected_progress_m == pytest.approx(51.0, abs=0.1), "from 945 m to where the recording ends"
    assert drive.log.tracks.size[0].tolist() == [6.0, 1.8]
    assert drive.log.recorded.size[0].tolist() == [4.5, 1.8]
    assert challenge_terms(challenge_inputs(humans(drive.log)), AS_CODED).efficiency == 1.0


def test_differences_to_the_recording_are_not_taken_from_another_start(moved_case):
    case, source = moved_case
    (drive,) = drive_cases([case], source, predictor=make_predictor("constant_velocity"))
    assert isinstance(drive, Drive)
    found = measure_log(drive.log)
    assert all(math.isnan(found[name].value) for name in ("realism", "courtesy_jerk", "courtesy_delay_s"))
    (plain,) = drive_cases([crossing_case()], source, predictor=make_predictor("constant_velocity"))
    assert isinstance(plain, Drive)
    assert not math.isnan(measure_log(plain.log)["realism"].value)


def test_recorded_cars_that_touch_count_as_a_collision_of_the_humans():
    scene = crossing_scene(other_lead_m=0.0)
    case = replace(crossing_case(seconds=8.0))
    planner = make_planner("default")
    (drive,) = drive_cases([case], GivenScenes({"crossing": scene}), predictor=None, planner=planner)
    assert isinstance(drive, Drive)
    assert challenge_inputs(humans(drive.log)).ego_collided, "both are at the crossing after 7.5 s"


@pytest.mark.data
def test_the_humans_of_the_48_challenge_cases(capsys, tmp_path):
    """GIVEWAY_CHALLENGE: folder with ``cases/config_N.txt``, ``recorded_trackfiles`` and ``maps`` of the challenge."""
    found = os.environ.get("GIVEWAY_CHALLENGE")
    if not found:
        pytest.skip("GIVEWAY_CHALLENGE does not point to the challenge's cases and recordings")
    root = Path(found)
    document = driven(capsys, root, root / "cases", tmp_path / "R")
    row = {term: document["humans"][term] for term in TERMS}
    assert row == pytest.approx(human_row(root, root / "cases"), abs=1e-9)
    assert row == pytest.approx(
        {"s_eff": 1.0, "s_jer": 0.977, "s_vel": 3.700, "s_cou": 2.664, "score": 2.658}, abs=1e-3
    )
    assert document["humans"]["n_col"] == 0
