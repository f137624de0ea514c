"""``giveway drive train-predictor`` on INTERACTION-format recordings, and a drive with what it wrote."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from giveway.cli.main import app
from giveway.core.errors import EmptySelectionError, UnknownNameError, UsageError
from giveway.data import DATASETS
from giveway.drive.training import TrainingRules, train_on_scenes, windows_of
from giveway.predictors.windows import TrainingOptions
from giveway.synth.protocol import synthesize


@pytest.fixture(scope="module")
def recordings(tmp_path_factory):
    root = tmp_path_factory.mktemp("interaction") / "data"
    synthesize("interaction", root, seed=2, count=1, minutes=1)
    return root


def invoke(*words: str):
    return CliRunner().invoke(app, ["drive", *words], catch_exceptions=False)


def test_a_trained_trajectron_drives(recordings, tmp_path):
    file, figure = tmp_path / "t.safetensors", tmp_path / "curve.png"
    done = invoke(
        "train", "-p", "trajectron", str(recordings), "--out", str(file), "--epochs", "2",
        "--picture", str(figure), "--json",
    )  # fmt: skip
    assert done.exit_code == 0
    report = json.loads(done.stdout[done.stdout.index("{") :])["result"]
    assert len(report["loss"]) == 2
    assert all(value > 0 for value in report["validation_ade_m"])
    assert report["ade_m"] > 0
    assert figure.stat().st_size > 1000
    drive = invoke("run", "-p", f"trajectron:{file}", "--max-cases", "1", "--out", str(tmp_path / "R"), "--json")
    assert drive.exit_code == 0
    row = json.loads(drive.stdout[drive.stdout.index("{") :])["result"]["predictors"][0]
    assert row["name"] == "T++"
    assert row["fallbacks"] == 0


def test_windows_know_their_neighbors(recordings):
    adapter = DATASETS.get("interaction")
    scene = next(iter(adapter.scenes(adapter.recordings(recordings)[0])))
    windows, names = windows_of(scene.tracks, stride=10)
    assert len(names) == len(windows.history) == len(windows.others) == len(windows.future) > 20
    gap = np.linalg.norm(windows.others[:, :, -1, :2] - windows.history[:, None, -1, :2], axis=-1)
    assert np.isfinite(gap).any()
    assert (np.nan_to_num(gap, nan=1.0) > 0.1).all()
    ordered = np.where(np.isnan(gap), np.inf, gap)
    assert (np.sort(ordered, axis=1) == ordered).all()
    # Neighbors that are present are seen at the same instants: none is in the future of its window.
    one = int(np.argmax(np.isfinite(gap[:, 0])))
    at = (scene.tracks.xy == windows.history[one, -1, :2]).all(axis=-1)
    instant = np.flatnonzero(at.any(axis=0))[0]
    assert (scene.tracks.xy[:, instant] == windows.others[one, 0, -1, :2]).all(axis=1).any()


def test_refusals(recordings, tmp_path):
    adapter = DATASETS.get("interaction")
    scenes = list(adapter.scenes(adapter.recordings(recordings)[0]))
    out = tmp_path / "x.safetensors"
    with pytest.raises(UnknownNameError, match="trajectron"):
        train_on_scenes(scenes, out, TrainingRules(kind="trajectory"))
    with pytest.raises(EmptySelectionError, match="too few windows"):
        train_on_scenes(scenes, out, TrainingRules(kind="trajectron", stride=100_000))
    with pytest.raises(UsageError, match="processor"):
        train_on_scenes(scenes, out, TrainingRules(options=TrainingOptions(device="cuda")))
    with pytest.raises(UsageError, match="unknown device"):
        train_on_scenes(scenes, out, TrainingRules(kind="trajectron", options=TrainingOptions(device="tpu9")))
    assert not list(tmp_path.iterdir())
