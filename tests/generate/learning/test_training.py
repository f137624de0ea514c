import json
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from safetensors.torch import load_file

from giveway.core.errors import ConfigError, StoreError, UnknownNameError, UsageError
from giveway.generate.learning.config import LearningConfig
from giveway.generate.learning.policy import load_policy, save_policy
from giveway.generate.learning.session import TrainingPlan, run_training
from giveway.testing.pursuit import PursuitWorlds, capture_share

SMALL = LearningConfig(hidden=(16, 16), batch=32, learning_starts=64, update_every=8)
PLAN = TrainingPlan(steps=768, round_steps=256, settings={"road": "toy"})


def train(out, config=SMALL, plan=PLAN, **more):
    return run_training(PursuitWorlds(8), config, plan, out, seed=3, world="toy 1", **more)


def weights(folder):
    return load_file(next(folder.glob("learner-*.safetensors")))


def assert_same_training(first, second):
    one, two = weights(first), weights(second)
    assert one.keys() == two.keys()
    for name in one:
        assert one[name].equal(two[name]), name


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"algorithm": "matd3", "n_step": 3},
        {"normalize_observations": True, "normalize_rewards": True, "shared_actor": True, "noise": "ou"},
        {"buffer": 300, "centralized": False},
    ],
)
def test_a_training_in_pieces_equals_one_without_interruption(tmp_path, settings):
    config = SMALL.model_copy(update=settings)
    train(tmp_path / "whole", config)
    for _ in range(3):
        result = train(tmp_path / "pieces", config, max_rounds=1)
    assert result.resumed_at == 512
    assert_same_training(tmp_path / "whole", tmp_path / "pieces")


def test_a_training_that_is_killed_goes_on_as_if_it_had_not_been(tmp_path):
    plan = TrainingPlan(steps=4096, round_steps=256, settings={})
    program = (
        "from pathlib import Path; from giveway.testing.pursuit import PursuitWorlds;"
        "from giveway.generate.learning.config import LearningConfig;"
        "from giveway.generate.learning.session import TrainingPlan, run_training;"
        "c = LearningConfig(hidden=(16, 16), batch=32, learning_starts=64, update_every=8);"
        "p = TrainingPlan(steps=4096, round_steps=256, settings={});"
        f"run_training(PursuitWorlds(8), c, p, Path({str(tmp_path / 'killed')!r}), seed=3, world='toy 1')"
    )
    process = subprocess.Popen([sys.executable, "-c", program], env={**os.environ, "OMP_NUM_THREADS": "1"})
    state = tmp_path / "killed" / "training.json"
    while not state.exists() and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    done = json.loads(state.read_text())["steps"]
    train(tmp_path / "killed", plan=plan)
    train(tmp_path / "whole", plan=plan)
    assert 256 <= done < 4096
    assert_same_training(tmp_path / "whole", tmp_path / "killed")


def test_the_best_policy_by_evaluation_is_kept_and_history_is_written(tmp_path):
    scores = iter([0.1, 0.9, 0.4])
    plan = TrainingPlan(steps=768, round_steps=256, settings={}, score="capture_rate")
    result = train(tmp_path, plan=plan, evaluate=lambda policy: {"capture_rate": next(scores)})
    assert result.best_round == 2
    assert result.policy.info.steps == 512
    assert load_policy(tmp_path / "last.safetensors").info.steps == 768
    assert [r.evaluation["capture_rate"] for r in result.history] == [0.1, 0.9, 0.4]
    assert sum(result.history[-1].outcomes.values()) == result.history[-1].episodes
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")
    assert not list(tmp_path.glob("replay-*"))


@pytest.mark.parametrize("scores", [[math.nan, 0.9, 0.4], [math.inf, 0.9, 0.4], [math.nan, math.nan, math.nan]])
def test_a_round_without_a_score_loses_to_every_other_also_after_a_restart(tmp_path, scores):
    plan = TrainingPlan(steps=768, round_steps=256, settings={}, score="capture_rate")

    def judged(folder, **more):
        return train(tmp_path / folder, plan=plan, evaluate=lambda policy: {"capture_rate": next(left)}, **more)

    left = iter(scores)
    whole = judged("whole")
    left = iter(scores)
    for _ in range(3):
        pieces = judged("pieces", max_rounds=1)
    assert whole.best_round == pieces.best_round == (2 if 0.9 in scores else 3)
    assert whole.policy.fingerprint == pieces.policy.fingerprint


def test_a_policy_read_back_drives_as_the_actors_it_was_made_of(tmp_path):
    import torch

    from giveway.generate.learning.training import Training

    for shared in (False, True):
        training = Training(PursuitWorlds(4), SMALL.model_copy(update={"shared_actor": shared}), seed=1, steps=10)
        save_policy(tmp_path / "p.safetensors", training.policy())
        policy = load_policy(tmp_path / "p.safetensors")
        seen = PursuitWorlds(4).reset(seed=0)
        actors = training.learner.act(torch.from_numpy(seen)).transpose(0, 1).detach().numpy()
        np.testing.assert_allclose(policy.act(seen), actors, atol=1e-6)
        assert policy.fingerprint == training.policy().fingerprint


def test_going_on_with_other_settings_is_refused_by_name(tmp_path):
    train(tmp_path, max_rounds=1)
    with pytest.raises(ConfigError, match="other settings") as caught:
        train(tmp_path, SMALL.model_copy(update={"gamma": 0.5}))
    assert "gamma" in str(caught.value)


def test_a_finished_training_without_replay_is_not_extended(tmp_path):
    train(tmp_path)
    longer = TrainingPlan(steps=2000, round_steps=256, settings={"road": "toy"})
    with pytest.raises(ConfigError, match="replay was not kept"):
        train(tmp_path, plan=longer)
    assert train(tmp_path).resumed_at == 768


def test_a_kept_replay_lets_a_finished_training_go_on(tmp_path):
    short = TrainingPlan(steps=512, round_steps=256, settings={}, keep_replay=True)
    longer = TrainingPlan(steps=768, round_steps=256, settings={})
    train(tmp_path / "pieces", plan=short)
    train(tmp_path / "pieces", plan=longer)
    train(tmp_path / "whole", plan=longer)
    assert_same_training(tmp_path / "whole", tmp_path / "pieces")


def test_damaged_files_are_named(tmp_path):
    train(tmp_path, max_rounds=1)
    next(tmp_path.glob("replay-*")).write_bytes(b"nonsense")
    with pytest.raises(StoreError, match="damaged"):
        train(tmp_path)
    (tmp_path / "training.json").write_text("{")
    with pytest.raises(StoreError, match="a file of the training is damaged"):
        train(tmp_path)
    (tmp_path / "policy.safetensors").write_bytes(b"nonsense")
    with pytest.raises(StoreError, match="the policy is damaged"):
        load_policy(tmp_path)


def test_a_policy_for_another_world_is_refused_with_both_numbers(tmp_path):
    policy = train(tmp_path, max_rounds=1).policy
    policy.check(cars=2, observation=6, action=2, world="toy 1")
    with pytest.raises(UsageError, match="another world") as caught:
        policy.check(cars=3, observation=6, action=2, world="toy 1")
    assert "cars: trained for 2, asked for 3" in str(caught.value)
    with pytest.raises(UsageError, match="another world"):
        policy.check(cars=2, observation=6, action=2, world="toy 2")


def test_unknown_settings_get_the_nearest_name():
    with pytest.raises(UnknownNameError, match="learning setting") as caught:
        LearningConfig.of({"gama": 0.9})
    assert "gamma" in str(caught.value)
    with pytest.raises(ConfigError, match="does not validate"):
        LearningConfig.of({"gamma": 1.5})


@pytest.mark.parametrize("hidden", [[0], [-5], [16, 0], []])
def test_layers_without_units_are_refused(hidden):
    with pytest.raises(ConfigError, match="does not validate") as caught:
        LearningConfig.of({"hidden": hidden}, where="--set")
    assert "--set hidden" in str(caught.value)


def test_imitation_needs_somebody_to_imitate():
    with pytest.raises(ConfigError, match="imitated") as caught:
        LearningConfig.of({"imitation": 1.0}, where="--set")
    assert "warm_steps" in str(caught.value)
    assert LearningConfig.of({"imitation": 1.0, "warm_steps": 100}).imitation == 1.0


@pytest.mark.parametrize("below", ["", "P"])
def test_a_file_in_the_way_of_the_folder_is_said(tmp_path, below):
    (tmp_path / "taken").write_text("mine")
    with pytest.raises(StoreError, match="cannot make the folder"):
        train(tmp_path / "taken" / below)
    assert (tmp_path / "taken").read_text() == "mine"


def test_there_must_be_something_to_train(tmp_path):
    with pytest.raises(UsageError, match="at least one step"):
        train(tmp_path, plan=TrainingPlan(steps=0, settings={}))


@pytest.mark.slow
def test_two_cars_learn_to_catch_a_runaway(tmp_path):
    """About half a minute on one free core; the policy is picked on other scenes than it is judged on."""
    config = LearningConfig(actor_rate=2e-4, update_every=8, noise_decay=0.9999)
    plan = TrainingPlan(steps=20_000, round_steps=2_000, settings={}, score="capture_rate")
    result = run_training(
        PursuitWorlds(16),
        config,
        plan,
        Path(tmp_path),
        seed=0,
        evaluate=lambda policy: {"capture_rate": capture_share(policy.act, seed=5)},
    )
    assert capture_share(result.policy.act, seed=99, n_worlds=500) > 0.95
