"""Rounds of a training: the same to the bit, in one go, in pieces, or after a kill."""

import json
import math
import os
import signal
import subprocess
import sys
import time
from contextlib import closing
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from safetensors.torch import load_file

from giveway.core.errors import ConfigError, StoreError, UnknownNameError, UsageError
from giveway.generate.learning.checkpoint import read_state
from giveway.generate.learning.config import LearningConfig
from giveway.generate.learning.policy import load_policy, policy_bytes
from giveway.generate.learning.rounds import RoundReport, StoredRound, best_round, round_ends
from giveway.generate.learning.session import learn_rounds
from giveway.generate.learning.training import Training
from support.pursuit import PursuitWorlds, capture_share

SMALL = LearningConfig(hidden=(16, 16), batch=32, learning_starts=64, update_every=8)
ENDS = [256, 512, 768]


def learn(state, config=SMALL, ends=ENDS, *, first=1, limit=None, **more):
    training = Training(PursuitWorlds(8), config, seed=3, steps=ends[-1], world="toy 1")
    with closing(learn_rounds(training, ends, state, first=first, **more)) as rounds:
        return list(islice(rounds, limit))


def assert_same_state(first, second):
    one, two = (load_file(next(folder.glob("learner-*.safetensors"))) for folder in (first, second))
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
        {"algorithm": "mappo", "rollout": 8, "minibatch": 24, "noise": "held", "normalize_observations": True},
    ],
)
def test_a_training_in_pieces_equals_one_without_interruption(tmp_path, settings):
    config = SMALL.model_copy(update=settings)
    whole = learn(tmp_path / "whole", config)
    pieces = [
        learn(tmp_path / "pieces", config, first=1, limit=1),
        learn(tmp_path / "pieces", config, first=2, limit=2),
        learn(tmp_path / "pieces", config, first=3),
    ]
    assert [[one.report.round for one in piece] for piece in pieces] == [[1], [1, 2], [2, 3]]
    assert_same_state(tmp_path / "whole", tmp_path / "pieces")
    for piece in pieces:
        for one in piece:
            same = whole[one.report.round - 1]
            assert one.report.as_dict() == same.report.as_dict()
            assert one.policy.fingerprint == same.policy.fingerprint


def test_a_training_that_is_killed_goes_on_as_if_it_had_not_been(tmp_path):
    ends = [256 * n for n in range(1, 17)]
    program = (
        "from pathlib import Path; from support.pursuit import PursuitWorlds;"
        "from giveway.generate.learning.config import LearningConfig;"
        "from giveway.generate.learning.session import learn_rounds;"
        "from giveway.generate.learning.training import Training;"
        "c = LearningConfig(hidden=(16, 16), batch=32, learning_starts=64, update_every=8);"
        "t = Training(PursuitWorlds(8), c, seed=3, steps=4096, world='toy 1');"
        f"list(learn_rounds(t, {ends}, Path({str(tmp_path / 'killed')!r})))"
    )
    tests = Path(__file__).parents[2]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen([sys.executable, "-c", program], env=environment, cwd=tests)
    state = tmp_path / "killed" / "state.json"
    while not state.exists() and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    done = json.loads(state.read_text())["rounds"]
    assert 1 <= done < 16
    rest = learn(tmp_path / "killed", ends=ends, first=done + 1)
    assert [one.report.round for one in rest] == list(range(done, 17))
    learn(tmp_path / "whole", ends=ends)
    assert_same_state(tmp_path / "whole", tmp_path / "killed")


@pytest.mark.parametrize("what", ["replay", "document", "round that is past", "round of another length"])
def test_a_state_that_cannot_be_used_costs_time_but_no_bit(tmp_path, what):
    ends = [200, 512, 768] if what == "round of another length" else ENDS
    learn(tmp_path / "state", ends=ends, limit=1 if ends != ENDS else 2)
    if what == "replay":
        next((tmp_path / "state").glob("replay-*")).write_bytes(b"nonsense")
        with pytest.raises(StoreError, match="damaged"):
            read_state(tmp_path / "state")
    elif what == "document":
        (tmp_path / "state" / "state.json").write_text("{")
    again = learn(tmp_path / "state", first=1 if what == "round that is past" else 3)
    assert [one.report.round for one in again] == [1, 2, 3]
    learn(tmp_path / "whole")
    assert_same_state(tmp_path / "whole", tmp_path / "state")


def test_rounds_are_evaluated_and_count_their_episodes(tmp_path):
    scores = iter([0.1, 0.9, 0.4])
    rounds = learn(tmp_path, evaluate=lambda policy: {"capture_rate": next(scores)})
    assert [one.report.evaluation["capture_rate"] for one in rounds] == [0.1, 0.9, 0.4]
    assert [one.policy.info.steps for one in rounds] == ENDS
    last = rounds[-1].report
    assert sum(last.outcomes.values()) == last.episodes
    assert last.measures["capture_rate"] == 0.4


@pytest.mark.parametrize(
    ("scores", "best"),
    [([0.1, 0.9, 0.4], 2), ([math.nan, 0.9, 0.4], 2), ([math.inf, 0.9, 0.4], 2), ([math.nan] * 3, 3)],
)
def test_a_round_without_a_score_loses_to_every_other(scores, best):
    facts = {"updates": 0, "episodes": 0, "mean_return": 0.0, "noise": 0.0, "critic_loss": math.nan, "value": math.nan}
    reports = [
        RoundReport(round=n, steps=n, evaluation={"capture_rate": score}, **facts) for n, score in enumerate(scores, 1)
    ]
    rounds = [StoredRound(key="", report=r, score=r.score("capture_rate")) for r in reports]
    assert best_round(rounds).report.round == best
    read = [RoundReport.of(json.loads(json.dumps(r.as_dict(), allow_nan=False))) for r in reports]
    assert [r.score("capture_rate") for r in read] == [r.score("capture_rate") for r in reports]
    assert reports[0].score("") == 0.0, "the mean return without a measure"


@pytest.mark.parametrize("warm", [0, 100, 700])
def test_the_ends_of_rounds_are_known_before_they_are_learned(tmp_path, warm):
    config = SMALL.model_copy(update={"warm_steps": warm, "clone_parts": 3, "clone_updates": 8})
    ends = round_ends(env_steps=1003, round_steps=250, worlds=8, warm_steps=warm)
    training = Training(PursuitWorlds(8), config, seed=3, steps=1003, demonstrator=lambda worlds, seen: seen[..., :2])
    found = []
    while training.steps < 1003:
        found.append(training.run_round(min(250, 1003 - training.steps)).steps)
    assert found == ends
    assert ends[0] == max(256, math.ceil(warm / 8) * 8)


def test_a_policy_read_back_drives_as_the_actors_it_was_made_of(tmp_path):
    import torch

    for shared in (False, True):
        training = Training(PursuitWorlds(4), SMALL.model_copy(update={"shared_actor": shared}), seed=1, steps=10)
        (tmp_path / "p.safetensors").write_bytes(policy_bytes(training.policy()))
        policy = load_policy(tmp_path / "p.safetensors")
        seen = PursuitWorlds(4).reset(seed=0)
        actors = training.learner.act(torch.from_numpy(seen)).transpose(0, 1).detach().numpy()
        np.testing.assert_allclose(policy.act(seen), actors, atol=1e-6)
        assert policy.fingerprint == training.policy().fingerprint


def test_a_damaged_policy_is_named(tmp_path):
    (tmp_path / "policy.safetensors").write_bytes(b"nonsense")
    with pytest.raises(StoreError, match="the policy is damaged"):
        load_policy(tmp_path)


def test_a_policy_for_another_world_is_refused_with_both_numbers(tmp_path):
    policy = learn(tmp_path, limit=1)[0].policy
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


@pytest.mark.slow
def test_two_cars_learn_to_catch_a_runaway(tmp_path):
    """About half a minute on one free core; the policy is picked on other scenes than it is judged on."""
    config = LearningConfig(actor_rate=2e-4, update_every=8, noise_decay=0.9999)
    training = Training(PursuitWorlds(16), config, seed=0, steps=20_000)
    rounds = learn_rounds(
        training,
        round_ends(env_steps=20_000, round_steps=2_000, worlds=16),
        tmp_path,
        evaluate=lambda policy: {"capture_rate": capture_share(policy.act, seed=5)},
    )
    best = max(rounds, key=lambda one: (one.report.score("capture_rate"), one.report.round))
    assert capture_share(best.policy.act, seed=99, n_worlds=500) > 0.95
