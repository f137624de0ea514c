"""Trainings in a store: interrupted, killed or extended, the same bytes; found again by whoever wants the policy."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import giveway as gw
from giveway.core.errors import ConfigError, StoreError
from giveway.experiments import Cell, Store
from giveway.generate.learning.policy import load_policy
from giveway.generate.learning.rounds import best_round, stored_rounds
from giveway.generate.policies import shipped_file
from giveway.generate.spec import TrainingSpec
from giveway.generate.train import train

SMALL = {
    "planner": "idm",
    "ticks": 30,
    "worlds": 8,
    "round_steps": 200,
    "learning": {"hidden": [8, 8], "batch": 16, "learning_starts": 64},
}
SPEC = TrainingSpec(env_steps=600, **SMALL)


def content(store: Path) -> dict[str, str]:
    files = (p for folder in ("cells", "attachments") for p in (store / folder).rglob("*") if p.is_file())
    return {p.relative_to(store).as_posix(): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("training") / "P"
    train(SPEC, out)
    return out


def test_a_training_is_rounds_with_policies_and_a_record_of_its_start(whole: Path) -> None:
    results = gw.Results.open(whole)
    assert results.kind == "training"
    assert sorted(results.frame(metric="mean_return")["env_steps"]) == [200, 400, 600], "rows are in the order of keys"
    assert (results.status.done, results.status.missing) == (3, 0)
    assert results.runs[0]["experiment"] == "training"
    assert results.runs[0]["spec"]["learning"]["hidden"] == [8, 8]
    assert "400" in results.table("rounds").text()
    assert len(results.figure("learning").axes) == 6
    assert "Multi-Agent Actor-Critic" in gw.cite(whole)
    assert not list((whole / "scratch").iterdir()), "what a finished training needed to go on is deleted"
    rounds = stored_rounds(Store(whole))
    best = best_round(rounds)
    assert load_policy(whole).info.steps == best.report.steps
    assert best.score == max(one.score for one in rounds)


def test_a_training_in_pieces_writes_the_same_bytes(whole: Path, tmp_path: Path) -> None:
    found = [train(SPEC, tmp_path / "P", max_rounds=1).resumed_at for _ in range(3)]
    assert found == [0, 200, 400]
    assert content(tmp_path / "P") == content(whole)


def test_a_training_that_is_killed_goes_on_and_writes_the_same_bytes(whole: Path, tmp_path: Path) -> None:
    out = tmp_path / "P"
    program = (
        "from pathlib import Path; from giveway.generate.spec import TrainingSpec;"
        f"from giveway.generate.train import train; train(TrainingSpec(env_steps=600, **{SMALL!r}), Path({str(out)!r}))"
    )
    process = subprocess.Popen([sys.executable, "-c", program], env=os.environ)
    while process.poll() is None and not list(out.rglob("cells/*/*.json")):
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = len(list(out.rglob("cells/*/*.json")))
    assert before >= 1
    assert train(SPEC, out).resumed_at == 200 * before
    assert content(out) == content(whole)


def test_a_finished_training_can_be_made_longer(whole: Path, tmp_path: Path) -> None:
    train(SPEC.model_copy(update={"env_steps": 300}), tmp_path / "P")
    longer = train(SPEC, tmp_path / "P")
    assert [one.report.steps for one in longer.rounds] == [200, 400, 600], "the round that was cut short is replaced"
    assert longer.policy.fingerprint == load_policy(whole).fingerprint
    assert content(whole).items() <= content(tmp_path / "P").items()


def test_a_round_that_is_another_one_when_learned_again_is_refused(whole: Path, tmp_path: Path) -> None:
    short = SPEC.model_copy(update={"env_steps": 200})
    train(short, tmp_path / "P")
    store = Store(tmp_path / "P")
    (first,) = stored_rounds(store)
    cell, result = Cell.from_json(store.read_record(first.key)["cell"]), store.read(first.key)
    store.write(cell, replace(result, info={**result.info, "policy": "of another machine"}))
    with pytest.raises(StoreError, match="a round of the training failed") as caught:
        train(SPEC, tmp_path / "P")
    assert "had to be learned again" in str(caught.value)


def test_a_training_with_other_settings_is_refused_by_name(whole: Path) -> None:
    before = content(whole)
    with pytest.raises(ConfigError, match="other settings") as caught:
        train(SPEC.model_copy(update={"learning": {**SMALL["learning"], "gamma": 0.5}}), whole)
    assert "learning.gamma = 0.99 (asked for 0.5)" in str(caught.value)
    assert content(whole) == before


@pytest.mark.parametrize("algorithm", ["mappo", "matd3"])
def test_a_training_begins_as_the_policy_that_it_is_given(tmp_path: Path, algorithm: str) -> None:
    """While only the critic learns, what comes out drives like what went in; its shape is not asked for again."""
    given = shipped_file("lattice")
    spec = TrainingSpec(
        **{**SMALL, "learning": {"critic_first": 1000}}, env_steps=64, algorithm=algorithm, policy=given
    )
    train(spec, tmp_path / "P", force=True)
    made, before = load_policy(tmp_path / "P"), load_policy(given)
    assert made.theta.tobytes() == before.theta.tobytes() and made.info.hidden == before.info.hidden
    assert abs(made.mean - before.mean).max() < 1e-3
    seen = np.random.default_rng(0).normal(size=(5, made.info.cars, made.info.observation)).astype(np.float32)
    assert made.act(seen) == pytest.approx(before.act(seen), abs=1e-2)
    learned = spec.model_copy(update={"learning": {"rollout": 8, "critic_first": 0, "learning_starts": 0, "batch": 16}})
    train(learned, tmp_path / "Q", force=True)
    assert load_policy(tmp_path / "Q").theta.tobytes() != before.theta.tobytes()
    with pytest.raises(ConfigError, match="begins_as"):
        train(spec.model_copy(update={"policy": tmp_path / "Q"}), tmp_path / "P", force=True)


def test_a_policy_of_another_shape_cannot_be_begun_with(tmp_path: Path) -> None:
    spec = TrainingSpec(**SMALL, env_steps=64, algorithm="mappo", policy=shipped_file("lattice"))
    with pytest.raises(StoreError, match="do not fit the settings of learning"):
        train(spec, tmp_path / "P", force=True)


def test_a_training_of_release_0_1_is_refused_but_its_policy_can_be_used(tmp_path: Path) -> None:
    (tmp_path / "training.json").write_text("{}")
    (tmp_path / "policy.safetensors").write_bytes(shipped_file("idm").read_bytes())
    for use in (lambda: train(SPEC, tmp_path), lambda: gw.Results.open(tmp_path)):
        with pytest.raises(StoreError, match=r"release 0\.1") as caught:
            use()
        assert "new folder" in str(caught.value)
    assert load_policy(tmp_path).fingerprint == load_policy(shipped_file("idm")).fingerprint


@pytest.mark.parametrize("below", ["", "P"])
def test_a_file_in_the_way_of_the_folder_is_said(tmp_path: Path, below: str) -> None:
    (tmp_path / "taken").write_text("mine")
    with pytest.raises(StoreError):
        train(SPEC, tmp_path / "taken" / below)
    assert (tmp_path / "taken").read_text() == "mine"


@pytest.mark.slow
def test_a_training_on_workers_writes_the_same_bytes(whole: Path, tmp_path: Path) -> None:
    train(SPEC, tmp_path / "P", engine=gw.LocalEngine(workers=1))
    assert content(tmp_path / "P") == content(whole)
