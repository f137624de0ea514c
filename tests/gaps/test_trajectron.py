"""Trajectron++ in a run: conditional path models, progress, learning curves, fallbacks, devices."""

from __future__ import annotations

import json
from dataclasses import replace

import polars as pl
import pytest
from typer.testing import CliRunner

from giveway.cli.main import app
from giveway.core.errors import GivewayError
from giveway.experiments import SerialExecutor, Store, collect, run
from giveway.experiments.progress import SilentProgress
from giveway.gaps.experiment import GAPS
from giveway.gaps.spec import spec_from
from giveway.gaps.splits import SPLITS
from giveway.predictors import PREDICTORS
from giveway.predictors.trajectron import predictor, recipe
from giveway.predictors.trajectron.config import SMALL

TINY = "TPP_tiny_for_tests"
SPEC = {
    "datasets": ["lgap"],
    "t0": ["constant"],
    "n_input": [8],
    "splits": {"random": 2},
    "models": ["LR_1D", "DDM"],
    "metrics": ["auc", "ade"],
    "conditional_paths": TINY,
    "min_samples": 20,
}


@pytest.fixture(scope="module", autouse=True)
def tiny():
    if TINY not in PREDICTORS:
        config = replace(SMALL, updates=3, num_modes=3, decoder_size=8, batch_size=10, validation_share=0.2)
        PREDICTORS.register(TINY, recipe.Trajectron(name=TINY, config=config))


@pytest.fixture
def trainings(monkeypatch):
    """Number of samples of each training, in order."""
    counts: list[int] = []
    real = predictor.train

    def counted(samples, config, **options):
        counts.append(samples.num_samples)
        return real(samples, config, **options)

    monkeypatch.setattr(predictor, "train", counted)
    return counts


class Listener(SilentProgress):
    def __init__(self):
        self.heard: list[str] = []

    def hear(self, text):
        self.heard.append(text)


def compute(folder, root, progress=None, **changes):
    store = Store(folder, create=True)
    spec = spec_from({**SPEC, **changes}, where="test")
    return store, run(GAPS, spec, store.root, roots={"lgap": root}, engine=SerialExecutor(), progress=progress)


def test_conditional_models_are_trained_once_per_split_and_class(lgap_root, tmp_path, trainings):
    store, summary = compute(tmp_path / "store", lgap_root)
    assert (summary.done, summary.failed) == (4, 0)
    assert len(trainings) == 4
    compute(store.root, lgap_root, models=["LR_1D", "DDM", "LR_2D", "CV"])
    assert len(trainings) == 4
    frame = collect(store).filter(pl.col("metric") == "ade")
    assert set(frame["model"]) == {"LR_1D", "DDM", "LR_2D", "CV"}
    assert frame["value"].is_finite().all()


def test_in_paper_they_learn_from_all_samples_once_for_all_splits(lgap_root, tmp_path, trainings):
    _, clean = compute(tmp_path / "clean", lgap_root, models=["LR_1D"])
    part = sum(trainings[:2])
    trainings.clear()
    _, paper = compute(tmp_path / "paper", lgap_root, models=["LR_1D"], switches={"conditional_training": "all"})
    assert clean.ok
    assert paper.ok
    assert len(trainings) == 2
    assert sum(trainings) > part


def test_a_store_tells_how_training_went(lgap_root, tmp_path, monkeypatch):
    monkeypatch.setattr("giveway.experiments.messages.EVERY_S", 0.0)
    listener = Listener()
    store, summary = compute(tmp_path / "store", lgap_root, listener, models=[TINY], splits={"random": 1})
    assert summary.ok
    assert not (store.root / "runs" / "now").exists()
    result = CliRunner().invoke(
        app,
        ["gaps", "figure", str(store.root), "learning", "--out", str(tmp_path / "c.png"), "--json"],
        catch_exceptions=False,
    )
    cell = json.loads(result.stdout)["result"]["cells"][0]
    assert cell["epochs"] >= 1
    assert cell["validation_ade_m"] > 0
    assert cell["own_nll"] is not None
    assert (tmp_path / "c.png").stat().st_size > 1000
    words = CliRunner().invoke(app, ["gaps", "figure", str(store.root), "learning"], catch_exceptions=False).stdout
    assert "own NLL" in words
    drawn = CliRunner().invoke(
        app, ["gaps", "figure", str(store.root), "calibration", "-p", TINY, "--out", str(tmp_path / "k.png")]
    )
    assert drawn.exit_code == 0
    assert (tmp_path / "k.png").stat().st_size > 1000
    samples = store.read_samples(collect(store)["key"][0])
    assert "own_nll" in samples.columns


def test_a_specification_sets_how_networks_are_trained(lgap_root, tmp_path):
    training = {"updates": 0, "epochs": 40, "patience": 2, "validation_share": 0.3, "learning_rate": 0.1}
    store, _ = compute(
        tmp_path / "s", lgap_root, models=[TINY], splits={"random": 1}, metrics=["auc"], training=training
    )
    curve = store.read(collect(store)["key"][0]).info["learning_curve"]
    errors = [entry["validation_ade_m"] for entry in curve]
    assert 3 < len(errors) < 40
    assert errors.index(min(errors)) == len(errors) - 3
    plain = spec_from({**SPEC, "training": training, "conditional_paths": "CV_residual"}, where="test")
    cells = GAPS.cells(plain, GAPS.resolve(plain, {"lgap": lgap_root}, store.artifacts))
    assert not any("training" in cell.settings for cell in cells)
    for bad, message in (
        ({"epoks": 3}, "epochs"),
        ({"epochs": "many"}, "wrong type"),
        ({"patience": 2}, "validate on"),
    ):
        with pytest.raises(GivewayError, match=message):
            spec_from({**SPEC, "conditional_paths": "TPP", "training": bad}, where="test")


def test_a_killed_run_goes_on_with_an_unfinished_training(lgap_root, tmp_path, monkeypatch):
    class Killed(BaseException):
        pass

    def stop(report, total):
        if report.epoch == 1:
            raise Killed

    monkeypatch.setattr("giveway.gaps.evaluate.CHECKPOINT_EVERY_S", 0.0)
    one = {"models": [TINY], "splits": {"random": 1}, "metrics": ["auc"]}
    whole, _ = compute(tmp_path / "whole", lgap_root, **one)
    with monkeypatch.context() as patch:
        patch.setattr(predictor, "spoken", lambda tell: stop)
        with pytest.raises(Killed):
            compute(tmp_path / "killed", lgap_root, **one)
    assert list((tmp_path / "killed" / "scratch").glob("*/*/trajectron.safetensors"))
    epochs: list[int] = []
    monkeypatch.setattr(predictor, "spoken", lambda tell: lambda report, total: epochs.append(report.epoch))
    store, _ = compute(tmp_path / "killed", lgap_root, **one)
    assert epochs[0] == 2
    assert not list((store.root / "scratch").iterdir())
    keys = [collect(s)["key"][0] for s in (whole, store)]
    assert whole.read(keys[0]) == store.read(keys[1])


def test_lines_of_workers_reach_whoever_watches(tmp_path):
    import time

    from giveway.experiments import Control
    from giveway.experiments.messages import Messenger, listening

    listener = Listener()
    with listening(tmp_path, listener, Control()):
        Messenger(tmp_path)("epoch 1/3, loss 2.00")
        deadline = time.monotonic() + 20
        while not listener.heard and time.monotonic() < deadline:
            time.sleep(0.05)
    assert listener.heard == ["epoch 1/3, loss 2.00"]


def test_no_accepted_sample_in_a_split_is_a_failed_cell_that_says_so(lgap_root, tmp_path, monkeypatch):
    import numpy as np

    split = SPLITS.get("random")

    def without(self, samples, repetition, profile):
        division = original(self, samples, repetition, profile)
        return replace(division, train=division.train[~samples.truth.accepted[division.train]])

    original = type(split).divide
    monkeypatch.setattr(type(split), "divide", without)
    _, summary = compute(tmp_path / "store", lgap_root, models=[TINY, "CV"], splits={"random": 1})
    assert (summary.done, summary.failed) == (0, 2)
    assert all("the training part has one class only" in failure.message for failure in summary.failures)
    assert all("0 accepted" in failure.message for failure in summary.failures)
    assert np.isfinite(summary.wall_s)


@pytest.mark.parametrize("device", ["cuda", "tpu9", "cuda:7"])
def test_a_device_that_is_not_there_is_refused_before_the_first_cell(device, tmp_path):
    import torch

    if device.startswith("cuda") and torch.cuda.device_count() > 7:
        pytest.skip("this machine has it")
    if device == "cuda" and torch.cuda.is_available():
        pytest.skip("this machine has it")
    done = CliRunner().invoke(
        app, ["gaps", "run", "--preset", "quick", "--out", str(tmp_path / "R"), "--device", device]
    )
    assert done.exit_code != 0
    assert not (tmp_path / "R").exists()


def test_the_path_model_can_be_named_on_the_command_line(lgap_root, tmp_path):
    spec = tmp_path / "spec.toml"
    spec.write_text('datasets = ["lgap"]\nt0 = ["constant"]\nmodels = ["LR_1D"]\n')
    plan = [
        "gaps",
        "run",
        str(spec),
        "--data",
        f"lgap={lgap_root}",
        "--out",
        str(tmp_path / "R"),
        "--dry-run",
        "--json",
    ]
    good = CliRunner().invoke(app, [*plan, "--paths", "TPP_small"])
    assert good.exit_code == 0
    assert json.loads(good.stdout)["ok"]
    for name in ("LR_1D", "TPP_smal"):
        assert CliRunner().invoke(app, [*plan, "--paths", name]).exit_code != 0
