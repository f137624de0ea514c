"""Learned methods of a comparison are trained where a training is missing, all in the same way."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from giveway.cli.main import run as giveway
from giveway.core.errors import ConfigError, GivewayError
from giveway.generate.evaluation.methods import METHODS
from giveway.generate.evaluation.trainings import MethodTrainings, train_methods
from giveway.generate.learning.config import LearningConfig
from giveway.generate.learning.policy import load_policy
from giveway.generate.objective.weights import RewardWeights
from giveway.generate.training import learning_of, world_of

SMALL = ["--train-steps", "300", "--train-worlds", "4", "--train-set", "hidden=[8,8]", "--train-set", "batch=8"]
BENCH = ["generate", "bench", "--ego", "idm", "--seeds", "2", "--budget", "10", "--workers", "1", "--json"]


def bench(capsys, *arguments: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        giveway([*BENCH, *(str(a) for a in arguments)])
    said = capsys.readouterr()
    return int(stop.value.code or 0), said.out, said.err


def test_methods_are_trained_once_per_seed_and_found_again(capsys, tmp_path: Path) -> None:
    methods = [word for name in ("independent", "single") for word in ("--method", name)]
    order = [*methods, "--trainings", tmp_path / "T", *SMALL, "--train-seeds", 2, "--out", tmp_path / "B"]
    code, out, err = bench(capsys, *order)
    assert code == 0, err
    found = json.loads(out)["result"]
    assert {name: len(runs) for name, runs in found["values"]["idm"].items()} == {
        "independent": 2,
        "single": 2,
    }
    folders = {p.name for p in (tmp_path / "T").iterdir()}
    assert folders == {
        MethodTrainings(folder=Path()).place(METHODS[m], "idm", n).name for m in methods[1::2] for n in (0, 1)
    }
    stamps = {p: p.stat().st_mtime_ns for p in (tmp_path / "T").rglob("policy.safetensors")}
    assert len(stamps) == 4, "one round each"
    again = bench(capsys, *order)
    assert (again[0], json.loads(again[1])["result"]) == (0, found)
    assert {p: p.stat().st_mtime_ns for p in stamps} == stamps

    code, _, err = bench(capsys, *order, "--train-set", "gamma=0.5")
    assert code == 2
    assert "the folder holds a training with other settings" in err


def test_settings_hold_for_all_methods_but_for_what_makes_the_method(tmp_path: Path) -> None:
    trainings = MethodTrainings(folder=tmp_path, learning={"centralized": True, "gamma": 0.9})

    def config(method: str) -> LearningConfig:
        return learning_of(trainings.spec(METHODS[method], road="straight", planner="idm"))

    assert config("independent").centralized is False
    assert config("legacy").centralized is True
    assert config("independent").gamma == 0.9


@pytest.mark.parametrize(
    ("learning", "weights", "discount"),
    [({}, {}, 0.99), ({"gamma": 0.9}, {}, 0.9), ({"gamma": 0.9}, {"discount": 0.99}, 0.99)],
)
def test_the_shaping_discounts_as_the_learner_does_unless_told_otherwise(learning, weights, discount) -> None:
    trainings = MethodTrainings(folder=Path(), learning=learning, weights=weights)
    world = world_of(trainings.spec(METHODS["policy"], road="straight", planner="idm"))
    assert world.weights == RewardWeights(discount=discount)


def test_the_published_reward_judges_itself() -> None:
    assert METHODS["legacy"].score == "", "by its own return, not by failures that count"
    assert METHODS["independent"].score == METHODS["policy"].score == "net_rate"


def test_scripted_cars_begin_a_training_that_asks_for_them(tmp_path: Path) -> None:
    learning = {"hidden": [8, 8], "batch": 8, "warm_steps": 200, "clone_updates": 20}
    trainings = MethodTrainings(folder=tmp_path, env_steps=400, worlds=4, learning=learning)
    found = train_methods([METHODS["single"], METHODS["idm"]], ["idm"], trainings, road="straight")
    assert list(found) == ["full-cars-1-traffic-2@idm"]
    (folder,) = found["full-cars-1-traffic-2@idm"]
    assert load_policy(folder).info.cars == 1


def test_methods_that_share_a_training_share_its_folder(tmp_path: Path) -> None:
    trainings = MethodTrainings(folder=tmp_path, env_steps=100, worlds=4, learning={"hidden": [8, 8], "batch": 8})
    first = train_methods([METHODS["policy"]], ["idm"], trainings, road="straight")
    assert train_methods([METHODS["sandwich"]], ["idm"], trainings, road="straight") == first


def test_a_training_that_is_stopped_is_not_compared(tmp_path: Path) -> None:
    trainings = MethodTrainings(folder=tmp_path, env_steps=60_000, worlds=4, learning={"hidden": [8, 8], "batch": 8})
    with pytest.raises(GivewayError, match="stopped before"):
        train_methods([METHODS["policy"]], ["idm"], trainings, road="straight", max_hours=0.0)


@pytest.mark.parametrize(
    "options",
    [
        ["--set", "gamma=0.9"],
        ["--env-steps", "100"],
        ["--train-seeds", "1"],
        ["--worlds", "32"],
        ["--sanity", "--method", "idm"],
        ["--sanity", "--trainings", "T"],
        ["--sanity", "--metric", "violation_rate"],
        ["--sanity", "--against", "policy"],
    ],
)
def test_options_without_effect_are_refused(capsys, tmp_path: Path, options: list[str]) -> None:
    code, _, err = bench(capsys, *options, "--out", tmp_path / "B")
    assert code == 2
    assert "the option has no effect here" in err
    assert options[1 if options[0] == "--sanity" else 0] in err
    assert not (tmp_path / "B").exists()


@pytest.mark.parametrize(
    ("option", "words"),
    [
        (["--train-set", "gama=1"], "'learning.gama'"),
        (["--train-set", "gamma"], "NAME=VALUE"),
        (["--train-set", "gamma=7"], "--set gamma"),
        (["--train-weight", "fun=1"], "'weights.fun'"),
        (["--train-weight", "terminal_scale=much"], "weights.terminal_scale"),
    ],
)
def test_nonsense_is_said_before_the_first_training(capsys, tmp_path: Path, option: list[str], words: str) -> None:
    code, _, err = bench(capsys, "--method", "policy", "--trainings", tmp_path / "T", *option, "--out", tmp_path / "B")
    assert code == 2
    assert words in err
    assert not (tmp_path / "T").exists()


def test_a_setting_out_of_range_is_an_error_of_the_user() -> None:
    with pytest.raises(ConfigError):
        world_of(
            MethodTrainings(folder=Path(), learning={"gamma": 2.0}).spec(METHODS["policy"], road="x", planner="idm")
        )
