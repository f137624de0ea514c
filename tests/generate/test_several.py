"""Cars that learn against several planners at once."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import giveway as gw
from giveway.core.errors import UsageError
from giveway.generate.learning.config import LearningConfig
from giveway.generate.learning.policy import load_policy
from giveway.generate.learning.training import Training
from giveway.generate.several import SeveralEgos, egos_of, worlds_of
from giveway.generate.spec import TrainingSpec
from giveway.generate.worlds import Worlds, WorldSettings

SETTINGS = WorldSettings(road="straight", actions="lateral", ego="idm+constant_speed", cars=2, steps=40)


def test_a_world_is_that_of_its_planner_alone():
    several = SeveralEgos(SETTINGS, n_worlds=6)
    seen = several.reset(seed=3)
    alone = Worlds(several.parts[1].settings, n_worlds=3)
    np.testing.assert_array_equal(alone.reset(seed=4), seen[3:])
    rng = np.random.default_rng(0)
    for _ in range(30):
        actions = rng.uniform(-1, 1, (6, 2, 2))
        both, one = several.step(actions), alone.step(actions[3:])
        np.testing.assert_array_equal(both.observations[3:], one.observations)
        np.testing.assert_array_equal(both.rewards[3:], one.rewards)
        # some worlds of both halves are started again, with the scenes that a seed gives their half
        done = np.array([True, False, False, False, True, True])
        several.reset(seed=9, worlds=done)
        alone.reset(seed=10, worlds=done[3:])
    assert several.contexts.tolist() == [[1, 0]] * 3 + [[0, 1]] * 3


def test_planners_of_a_training_are_named_once_and_in_one_way():
    assert TrainingSpec.model_validate({"planner": ["default", "idm", "lattice"]}).planner == "lattice+idm"
    assert TrainingSpec.model_validate({"planner": "default"}).planner == "lattice"
    assert egos_of("lattice+idm") == ("lattice", "idm")
    assert isinstance(worlds_of(WorldSettings(ego="idm"), 2), Worlds)
    with pytest.raises(UsageError, match="cannot be shared out evenly"):
        SeveralEgos(SETTINGS, n_worlds=5)


def test_the_critic_is_told_which_planner_drives_and_the_actor_is_not():
    config = LearningConfig.of({"algorithm": "mappo", "hidden": (16,), "rollout": 10, "minibatch": 60})
    worlds = SeveralEgos(SETTINGS, n_worlds=6)
    training = Training(worlds, config, seed=1, steps=1000)
    report = training.run_round(600)
    assert np.isfinite(report.critic_loss)
    seen = torch.zeros(2, 2, worlds.observation_size)
    values = training.learner.value(seen, torch.eye(2))
    assert not torch.equal(values[0], values[1])
    assert training.policy().info.observation == worlds.observation_size


def test_a_training_against_two_planners_is_evaluated_on_each(tmp_path):
    small = {"hidden": [16], "rollout": 16, "minibatch": 128}
    size = {"env_steps": 1024, "round_steps": 512, "worlds": 8, "ticks": 30, "force": True}
    gw.train_traffic(tmp_path / "T", planner=["idm", "constant_speed"], algorithm="mappo", learning=small, **size)
    found = gw.Results.open(tmp_path / "T", kind="training").frame()
    assert {"avoidable_rate_idm", "avoidable_rate_constant_speed"} <= set(found["metric"])
    assert set(found["planner"]) == {"idm+constant_speed"}
    assert load_policy(tmp_path / "T").info.made["world"]["ego"] == "idm+constant_speed"


def test_failures_are_searched_for_several_planners_in_one_call(tmp_path):
    quick = {"driver": "cut_in", "search": "random", "budget": 4, "ticks": 40}
    found = gw.find_failures(tmp_path / "S", planner=["idm", "constant_speed"], **quick).frame()
    assert set(found["planner"]) == {"idm", "constant_speed"}
