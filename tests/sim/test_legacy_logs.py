"""The text logs of the challenge's simulator: a writer in the same form, the reader, and the published anchors."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from giveway.core.errors import DataError, FileFormatError
from giveway.metrics.challenge import AS_CODED, challenge_terms
from giveway.metrics.challenge_score import challenge_score
from giveway.sim.legacy_logs import challenge_inputs_of_legacy, read_legacy_case, read_legacy_run

CONFIG = """Map:DR_X
Track:000
StartTimestamp(ms):1000
EndTimestamp(ms):1400
RobotCarNum:2
InitState:a,b
1 Astar N GroundTruth 0.1 3.0 no 0.1 3.0 yes
2 ReactivePlanner N GroundTruth 0.1 3.0 yes 0.1 3.0 no
ReplayCarWithPredictor:0
InitState:a
EgoEndPosition:20.0 0.0
TargetRightofWay:{targets}
"""


def write_case(folder, *, ego=(5.0, 5.0, 5.1, 5.3, 5.3), other=(6.0,) * 5, progress="1,10.0,20.0", **more):
    """One ``configN`` folder as the simulator left it behind."""
    folder.mkdir(parents=True)
    stamp = "_Thu_Dec__3_00:23:35_2020" if more.get("dated", True) else ""
    (folder / f"scenario_config{stamp}.txt").write_text(CONFIG.format(targets=more.get("targets", "2")))
    lines = ["Simulation Begin Time:x", "Config Path: y", "id,x,y,...,is_ego_car"]
    for tick in range(max(len(ego), len(other))):
        rows = []
        if tick < len(ego):
            rows.append(f"1,{tick}.0,0.0,0.1,{ego[tick]},0.0,0.0,4.5,1.8,30000,0.1,BehaveCar,yes")
        if tick < len(other):
            rows.append(f"2,{tick}.0,9.0,0.1,{other[tick]},0.0,0.0,4.0,1.7,30001,0.1,BehaveCar,no")
        lines += ["-----------------", f"{tick} {len(rows)}", *rows]
    if more.get("finished", True):
        lines += ["no crash", "EgoCarFinalState:id,s_now,s_tot"]
        lines += [progress] if progress else []
    (folder / f"scenario_test{stamp}.txt").write_text("\n".join(lines) + "\n")
    collisions = ["Simulation Begin Time:x", "Config Path: y", *more.get("collisions", [])]
    name = f"scenario_Collision_test{stamp}.txt" if stamp else "scenario_Collision.txt"
    (folder / name).write_text("\n".join(collisions) + "\n")


def score_of(folder):
    return challenge_score(
        [challenge_terms(challenge_inputs_of_legacy(log), AS_CODED) for log in read_legacy_run(folder)], AS_CODED
    )


@pytest.mark.parametrize("dated", [True, False])
def test_a_synthetic_log_gives_the_worked_example(tmp_path, dated):
    write_case(tmp_path / "config0", dated=dated)
    score = score_of(tmp_path)
    assert (score.cases, score.n_col) == (1, 0)
    assert score.s_eff == 0.5
    assert score.s_jer == pytest.approx(10.954451, abs=1e-6)
    assert score.s_vel == pytest.approx(2.863215, abs=1e-6)
    assert score.s_cou == pytest.approx(2.0)


def test_states_sizes_and_presence_are_read(tmp_path):
    write_case(tmp_path / "config0", other=(6.0,) * 3)
    log = read_legacy_case(tmp_path / "config0")
    assert log.ids == ("1", "2")
    assert log.present.sum(axis=1).tolist() == [5, 3]
    assert log.xy[0, 3].tolist() == [3.0, 0.0]
    assert log.size.tolist() == [[4.5, 1.8], [4.0, 1.7]]
    assert np.isnan(log.speed[1, 4])


def test_each_pair_counts_once_although_the_file_has_both_orders(tmp_path):
    lines = ["3 collision between cars(CarID CarID):1 2", "3 collision between cars(CarID CarID):2 1"]
    write_case(tmp_path / "config0", collisions=[*lines, "4 collision with lane(CarID laneID):1 30050"])
    log = read_legacy_case(tmp_path / "config0")
    assert log.pair_collisions == ((3, "1", "2"),)
    assert log.lane_departures == ((4, "1", "30050"),)
    assert score_of(tmp_path).n_col == 1


def test_an_ego_that_has_left_counts_as_fully_efficient(tmp_path):
    write_case(tmp_path / "config0", progress="")
    assert score_of(tmp_path).s_eff == 1.0


def test_a_crashed_run_is_dropped_from_the_means_and_counted(tmp_path):
    write_case(tmp_path / "config0")
    write_case(tmp_path / "config1", finished=False)
    score = score_of(tmp_path)
    assert (score.cases, score.failed) == (2, 1)
    assert score.s_eff == 0.5


def test_a_folder_without_logs_says_what_it_looked_for(tmp_path):
    with pytest.raises(DataError, match="no logs of the challenge"):
        read_legacy_run(tmp_path)


def test_a_broken_row_is_named(tmp_path):
    write_case(tmp_path / "config0")
    file = next((tmp_path / "config0").glob("scenario_test*"))
    file.write_text(file.read_text().replace("2.0,9.0,0.1", "2.0,9.0,zero", 1))
    with pytest.raises(FileFormatError, match="line"):
        read_legacy_case(tmp_path / "config0")


ANCHORS = {
    "Log-Vector": (1, 0.7998937, 3.421371, 4.0133776, 5.2967099, -4.7325215),
    "Log-sgan": (0, 0.8048923, 4.0808999, 4.2173706, 4.9488206, -5.1981681),
    "Log-TNT": (1, 0.7748787, 3.5629246, 4.1366546, 5.283612, -5.2344038),
    "Log-LSTM": (0, 0.7367818, 3.4032782, 4.4433394, 4.7752685, -5.2540676),
    "Log-GR": (0, 0.7798576, 3.84875, 4.2451274, 5.3275967, -5.6228978),
    "Log-CNN": (0, 0.7580756, 3.8662295, 4.307595, 5.291267, -5.8843354),
    "Log-LSTM-JXS": (0, 0.7378851, 4.2959877, 4.4893047, 5.1986315, -6.605073),
}
"""What the organizers' own evaluator prints for the published logs: n_col, S_eff, S_jer, S_vel, S_cou, Score."""


def published(name):
    root = os.environ.get("GIVEWAY_LEGACY_LOGS")
    if not root:
        pytest.skip("GIVEWAY_LEGACY_LOGS does not point to the published logs")
    return next(folder for folder in sorted(Path(root).rglob(name)) if folder.is_dir())


@pytest.mark.data
@pytest.mark.parametrize("name", sorted(ANCHORS))
def test_published_logs_give_the_published_scores(name):
    score = score_of(published(name))
    found = (score.n_col, score.s_eff, score.s_jer, score.s_vel, score.s_cou, score.score)
    assert found == pytest.approx(ANCHORS[name], abs=1e-6)
    assert (score.cases, score.failed) == (48, 0)


@pytest.mark.data
def test_the_command_gives_the_keys_and_values_of_the_published_scores(capsys):
    from giveway.cli.main import run

    folder = published("Log-TNT")
    with pytest.raises(SystemExit) as stop:
        run(["drive", "score", str(folder), "--format", "legacy", "--metric", "as_coded", "--json"])
    assert stop.value.code in (0, None)
    document = json.loads(capsys.readouterr().out)["result"]["predictors"][0]
    keys = ("n_col", "s_eff", "s_jer", "s_vel", "s_cou", "score")
    assert [document[key] for key in keys] == pytest.approx(ANCHORS["Log-TNT"], abs=1e-6)
    assert document["cases"] == 48
