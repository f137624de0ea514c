"""MADDPG with six maneuvers: draws, straight-through slopes, and a training that ends in a policy that drives."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import giveway as gw
from giveway.core.errors import UsageError
from giveway.generate.drivers.cars import PolicyDriver
from giveway.generate.driving import drive_scenes
from giveway.generate.learning.config import LearningConfig
from giveway.generate.learning.maddpg import MultiAgentLearner, gumbel, one_hot
from giveway.generate.learning.policy import CHOICES, load_policy
from giveway.generate.learning.replay import Batch, Shape
from giveway.generate.policies import settings_for
from giveway.generate.worlds import Worlds

SHAPE = Shape(cars=2, observation=3, action=4)


def batch(size: int = 16) -> Batch:
    g = torch.Generator().manual_seed(3)
    return Batch(
        observations=torch.randn(size, 2, 3, generator=g),
        actions=one_hot(torch.randn(size, 2, 4, generator=g)),
        rewards=torch.randn(size, 2, generator=g),
        discounts=torch.full((size, 2), 0.99),
        active=torch.ones(size, 2),
        next_observations=torch.randn(size, 2, 3, generator=g),
    )


def learner(**settings) -> MultiAgentLearner:
    config = LearningConfig(algorithm="maddpg_discrete", hidden=(8,), **settings)
    return MultiAgentLearner(SHAPE, config, torch.Generator().manual_seed(1))


def test_the_largest_with_gumbel_noise_is_a_draw_from_the_softmax():
    outputs = torch.tensor([0.0, 1.0, -1.0, 2.0])
    drawn = one_hot(outputs + gumbel((40_000, 4), torch.Generator().manual_seed(0)))
    assert drawn.sum(dim=1).unique().tolist() == [1.0]
    assert drawn.mean(dim=0) == pytest.approx(torch.softmax(outputs, dim=0), abs=0.01)


def test_slopes_are_those_of_a_straight_through_draw():
    """The written-out gradient of the actors against autograd, with the noise that the learner draws."""
    made, seen = learner(grad_clip=1e9), batch()
    kept: list[torch.Tensor] = []
    made.actor.descend = lambda: kept.append(made.actor.gradient.clone())  # type: ignore[method-assign]
    weight = seen.active / len(seen.rewards)
    with torch.inference_mode():
        made._update_actors(seen, weight, torch.Generator().manual_seed(5))
    theta = made.actor.theta.detach().clone().requires_grad_(True)
    outputs = made.actor.network.apply(seen.observations.transpose(0, 1), theta)
    noisy = outputs + gumbel(outputs.shape, torch.Generator().manual_seed(5))
    soft = torch.softmax(noisy, dim=-1)
    own = one_hot(noisy.detach()) + soft - soft.detach()
    value = torch.zeros(())
    for car in range(2):
        joint = seen.actions.clone()
        joint[:, car] = 0
        joint = joint + torch.nn.functional.pad(own[car][:, None], (0, 0, car, 1 - car))
        x = torch.cat([seen.observations.flatten(1), joint.flatten(1)], dim=1)[None]
        q = made.critic.network.apply(x, made.critic.theta.detach()[car : car + 1])
        value = value + (q[0, :, 0] * weight[:, car]).sum()
    (-value).backward()
    assert kept[0] == pytest.approx(theta.grad, abs=1e-6)
    assert float(theta.grad.abs().max()) > 1e-4


def test_the_best_of_four_is_learned_from_nothing():
    made = learner(actor_rate=3e-3, critic_rate=1e-2, gamma=0.0)
    g = torch.Generator().manual_seed(2)
    for _ in range(4000):
        seen = torch.randn(64, 2, 3, generator=g)
        actions = one_hot(made.act(seen).detach().transpose(0, 1) + gumbel((64, 2, 4), g))
        # car 0 is paid for maneuver 2, car 1 for doing 1 where its first number is positive and 3 elsewhere
        wanted = torch.where(seen[:, 1, 0] > 0, 1, 3)
        paid = torch.stack([actions[:, 0, 2], actions[:, 1].gather(1, wanted[:, None])[:, 0]], dim=1)
        nothing = torch.zeros(64, 2)
        made.update(
            Batch(observations=seen, actions=actions, rewards=paid, discounts=nothing, active=nothing + 1,
                  next_observations=seen),
            g,
        )  # fmt: skip
    seen = torch.randn(500, 2, 3, generator=g)
    best = made.act(seen).detach().argmax(dim=2)
    assert float((best[0] == 2).float().mean()) > 0.95
    assert float((best[1] == torch.where(seen[:, 1, 0] > 0, 1, 3)).float().mean()) > 0.9


def test_a_training_ends_in_a_policy_that_drives(tmp_path):
    small = {"hidden": [16], "batch": 32, "learning_starts": 200}
    size = {"env_steps": 1200, "round_steps": 600, "worlds": 8, "ticks": 30, "cars": 2, "force": True}
    gw.train_traffic(tmp_path / "T", planner="idm", algorithm="maddpg_discrete", learning=small, **size)
    policy = load_policy(tmp_path / "T")
    assert (policy.info.action, policy.info.is_discrete) == (len(CHOICES), True)
    worlds = Worlds(settings_for(policy, road="straight", ego="idm"), n_worlds=4)
    scenes, _ = worlds.space.sample(4, seed=1)
    driven = drive_scenes(worlds, scenes, PolicyDriver(policy), seeds=range(4))
    done = np.concatenate([one.record.actions.ravel() for one in driven])
    assert set(done[np.isfinite(done)].astype(int)) <= set(CHOICES)


def test_other_learners_do_not_take_maneuvers(tmp_path):
    with pytest.raises(UsageError, match="only maddpg_discrete learns maneuvers"):
        gw.train_traffic(tmp_path / "T", planner="idm", algorithm="maddpg", actions="maneuvers")
    with pytest.raises(UsageError, match="needs lateral actions"):
        gw.train_traffic(tmp_path / "T", planner="idm", algorithm="maddpg_discrete", learning={"warm_steps": 100})
