"""Planners that are learned: what they see, how they are trained, resumed, kept, and driven like any other."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("gymnasium")

import giveway as gw
from giveway.cli.main import run
from giveway.core.errors import ConfigError, EmptySelectionError, FileFormatError, UnknownNameError, UsageError
from giveway.drive.bundled import bundled_set
from giveway.drive.driving import Drive, drive_cases
from giveway.drive.environment import prepared_for_ego
from giveway.drive.learning.evaluation import evaluate_planner
from giveway.drive.learning.imitation import demonstrations
from giveway.planning import make_planner
from giveway.planning.features import NUM_FEATURES, features_of
from giveway.planning.learned import LearnedPlanner, next_accel, output_for, planner_bytes
from giveway.predictors import make_predictor
from giveway.sim.state import LANE_S
from giveway.sim.views.acting import reward, reward_of_log
from giveway.sim.views.ego_batch import EgoBatch

CASES, SOURCE = bundled_set()
SMALL: dict[str, Any] = {
    "env_steps": 3000, "rounds": 3, "worlds": 16, "split": "all", "max_cases": 6, "learning": {"batch": 256},
}  # fmt: skip


def random_planner(seed: int = 0) -> LearnedPlanner:
    rng = np.random.default_rng(seed)
    shapes = ((NUM_FEATURES, 16), (16, 1))
    layers = tuple(
        (rng.normal(0, 0.2, shape).astype("f4"), rng.normal(0, 0.2, shape[1]).astype("f4")) for shape in shapes
    )
    return LearnedPlanner(name="ppo", layers=layers)


def test_a_slow_and_jerky_car_with_the_right_of_way_costs_the_ego() -> None:
    none = np.zeros(1)
    plain = reward(np.array([10.0]), np.array([10.8]), np.array([50.0]), np.array([2.0]), none, none > 0)
    assert plain[0] == pytest.approx(0.156)
    hit = reward(
        np.array([10.0]), np.array([10.8]), np.array([50.0]), np.array([2.0]), none, none > 0, np.array([0.05])
    )
    assert hit[0] == pytest.approx(0.106)


@pytest.mark.parametrize("traffic", ["clean", "paper"])
def test_a_planner_in_a_drive_sees_and_drives_what_the_environment_shows(traffic: str) -> None:
    chosen = [CASES[0], CASES[17], CASES[35]]
    planner, cases = random_planner(), prepared_for_ego(chosen, SOURCE, traffic=traffic)
    batch = EgoBatch(cases, len(chosen), observation="features")
    batch.begin({n: n for n in range(len(chosen))})
    rows, total = np.arange(len(chosen)), np.zeros(len(chosen))
    progress: list[Any] = []
    while batch.drivers_here().any():
        for w in np.flatnonzero(batch.drivers_here()).tolist():
            seen = features_of(batch.simulation.situation(w, int(batch.static.ego[w])))
            assert seen.tobytes() == batch.observation["features"][w].tobytes()
        accel = batch.state.car[rows, batch.static.ego, 5]
        batch.accelerate(next_accel(planner.outputs(batch.observation["features"]), accel), bounded=False)
        total += batch.step().rewards
        progress.append(batch.state.lane[rows, batch.static.ego, LANE_S].copy())
    drives = drive_cases(chosen, SOURCE, predictor=make_predictor("echo"), planner=planner, traffic=traffic)
    for w, drive in enumerate(drives):
        assert isinstance(drive, Drive)
        there = np.flatnonzero(drive.log.tracks.observed[drive.log.ego])
        mine = batch.log(w, {"planner": "ppo"})
        assert mine.tracks.xy[mine.ego, there].tobytes() == drive.log.tracks.xy[drive.log.ego, there].tobytes()
        if not drive.log.ego_left:
            assert reward_of_log(drive.log)["reward"] == pytest.approx(total[w], abs=1e-6)


def test_every_feature_is_within_its_bounds_and_most_of_them_vary() -> None:
    seen, said = demonstrations(prepared_for_ego(CASES, SOURCE, traffic="clean"), "recorded")
    assert np.abs(seen).max() <= 4.0
    assert (seen.std(axis=0) > 0).mean() > 0.7
    assert np.isfinite(said).all()


def test_recorded_demonstrations_are_the_recorded_drive() -> None:
    cases = prepared_for_ego(CASES[:6], SOURCE, traffic="clean")
    seen, said = demonstrations(cases, "recorded")
    count = sum(case.case.num_ticks for case in cases.cases)
    assert 0.9 * count <= len(seen) == len(said) <= count
    accel = 4.0 * seen[:, 1].astype(np.float64)
    assert np.abs(next_accel(said, accel)).max() < 8.0


def test_what_the_network_should_have_said_gives_the_acceleration_back() -> None:
    now, after = np.array([0.0, -1.0, 2.0]), np.array([0.5, -1.5, 2.1])
    assert next_accel(output_for(after, now), now) == pytest.approx(after)
    assert next_accel(np.array([-100.0]), np.zeros(1)) == pytest.approx([-1.6])


@pytest.mark.parametrize("planner", ["ppo", "imitation"])
def test_a_training_that_is_killed_goes_on_and_ends_with_the_same_bytes(planner: str, tmp_path: Path) -> None:
    whole = gw.train_planner(tmp_path / "whole", planner=planner, **SMALL)
    settings = json.dumps({"planner": planner, **SMALL})
    code = f"import json, giveway; giveway.train_planner({str(tmp_path / 'killed')!r}, **json.loads({settings!r}))"
    path = {"PYTHONPATH": str(Path(str(files("giveway"))).parent)}
    process = subprocess.Popen([sys.executable, "-c", code], env={**os.environ, **path})
    state = tmp_path / "killed" / "scratch"
    until = time.monotonic() + 240
    while not list(state.glob("*/state/state.json")):
        assert process.poll() is None
        assert time.monotonic() < until
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    done = len(list((tmp_path / "killed" / "attachments").rglob("planner.safetensors")))
    assert done < SMALL["rounds"]
    again = gw.train_planner(tmp_path / "killed", planner=planner, **SMALL)
    for name in ("planner.safetensors", "curves.csv"):
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "killed" / name).read_bytes()
    assert again.frame().equals(whole.frame())
    assert "round" in whole.table().text()
    assert len(whole.figure("learning").axes) == 4


def test_a_learned_planner_is_driven_by_name_and_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "planner.safetensors"
    file.write_bytes(planner_bytes(random_planner()))
    out = str(tmp_path / "R")
    with pytest.raises(SystemExit) as stop:
        run(["drive", "run", "-p", "echo", "--planner", f"ppo:{file}", "--max-cases", "2", "-o", out, "--json"])
    printed = json.loads(capsys.readouterr().out)
    assert stop.value.code == 0
    assert printed["result"]["planner"]["name"] == "ppo"
    assert random_planner().fingerprint in printed["result"]["planner"]["version"]
    other = tmp_path / "other.safetensors"
    other.write_bytes(planner_bytes(random_planner(1)))
    assert make_planner(f"ppo:{other}").info.version != make_planner(f"ppo:{file}").info.version


def test_what_is_no_learned_planner_is_refused_with_a_sentence(tmp_path: Path) -> None:
    file = tmp_path / "planner.safetensors"
    content = planner_bytes(random_planner())
    file.write_bytes(content[:-3] + b"abc")
    with pytest.raises(FileFormatError):
        make_planner(f"ppo:{file}")
    file.write_bytes(content)
    with pytest.raises(UsageError, match="another planner"):
        make_planner(f"imitation:{file}")
    with pytest.raises(UsageError, match="needs a file"):
        make_planner("ppo")
    with pytest.raises(UsageError, match="no learned planner"):
        make_planner(f"ppo:{tmp_path / 'none'}")


def test_trainings_that_cannot_be_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="gama"):
        gw.train_planner(tmp_path / "a", learning={"gama": 0.9})
    with pytest.raises(EmptySelectionError, match="no cases to learn on"):
        gw.train_planner(tmp_path / "b", max_cases=1)
    gw.train_planner(tmp_path / "c", planner="imitation", **{**SMALL, "rounds": 1})
    with pytest.raises(ConfigError, match="other settings"):
        gw.train_planner(tmp_path / "c", planner="imitation", **{**SMALL, "rounds": 1, "seed": 1})


def test_ppo_learns_to_earn_more_than_it_did(tmp_path: Path) -> None:
    results = gw.train_planner(
        tmp_path, planner="ppo", env_steps=60_000, rounds=3, worlds=64, split="all", max_cases=16,
        learning={"batch": 1024, "rate": 0.003},
    )  # fmt: skip
    cases = prepared_for_ego(CASES[:16], SOURCE, traffic="clean")
    trained = evaluate_planner(make_planner(f"ppo:{tmp_path / 'planner.safetensors'}"), cases)  # type: ignore[arg-type]
    still = LearnedPlanner(name="ppo", layers=((np.zeros((NUM_FEATURES, 1), "f4"), np.full(1, -1.5, "f4")),))
    assert trained["return"] > evaluate_planner(still, cases)["return"] + 2.0
    assert trained["return"] == pytest.approx(results.frame(metric="return")["value"].max())
