"""MAPPO: advantages, gradients against autograd, masks, noise, and a toy that is solved."""

import numpy as np
import pytest
import torch

from giveway.generate.learning.config import MAPPO, WARM_MAPPO, LearningConfig
from giveway.generate.learning.mappo import PpoLearner, advantages
from giveway.generate.learning.noise import Noise
from giveway.generate.learning.on_policy import OnPolicyRound
from giveway.generate.learning.replay import Shape
from giveway.generate.learning.training import Training
from support.pursuit import PursuitWorlds, capture_share

CONFIG = LearningConfig.of({"algorithm": "mappo", "hidden": (8, 8), "epochs": 1, "logit_penalty": 0.01})
SHAPE = Shape(cars=2, observation=3, action=2)


def plain_advantages(rewards, values, after, terminated, done, gamma, decay):
    """Sum over later deltas, world by world and car by car."""
    out = np.zeros_like(rewards)
    steps, worlds, cars = rewards.shape
    for w in range(worlds):
        for c in range(cars):
            for t in range(steps):
                total, factor = 0.0, 1.0
                for u in range(t, steps):
                    ended = terminated[u, w, c]
                    total += factor * (rewards[u, w, c] + (0.0 if ended else gamma * after[u, w, c]) - values[u, w, c])
                    if ended or done[u, w]:
                        break
                    factor *= gamma * decay
                out[t, w, c] = total
    return out


def test_advantages_stop_at_ends_and_bootstrap_at_time_outs():
    rng = np.random.default_rng(0)
    rewards, values, after = rng.normal(size=(3, 12, 4, 2))
    terminated = rng.random((12, 4, 2)) < 0.1
    done = terminated.all(axis=2) | (rng.random((12, 4)) < 0.1)
    expected = plain_advantages(rewards, values, after, terminated, done, 0.9, 0.8)
    assert advantages(rewards, values, after, terminated, done, gamma=0.9, decay=0.8) == pytest.approx(expected)


def learner(config=CONFIG):
    return PpoLearner(SHAPE, config, torch.Generator().manual_seed(1))


def rows(count=40):
    generator = torch.Generator().manual_seed(2)
    seen = torch.randn(count, 2, 3, generator=generator)
    actions, old = (0.3 * torch.randn(count, 2, 2, generator=generator) for _ in range(2))
    gains, returns = (torch.randn(count, 2, generator=generator) for _ in range(2))
    active = (torch.rand(count, 2, generator=generator) < 0.7).float()
    return seen, actions, old, gains, returns, active


def learn(agent, seen, actions, old, gains, returns, active):
    order = torch.Generator().manual_seed(0)
    none, values = torch.zeros(len(seen), 0), torch.zeros_like(gains)
    agent.learn(seen, none, actions, old, 0.2, gains, values, returns, active, rate=1.0, generator=order)


def test_gradients_are_those_of_the_losses():
    """Written-out gradients against autograd, with clipped and masked rows."""
    agent, scale = learner(), 0.6
    with torch.no_grad():
        agent.actor.theta += 0.3 * torch.randn(agent.actor.theta.shape, generator=torch.Generator().manual_seed(3))
    seen, actions, old, gains, returns, active = rows()
    theta = agent.actor.theta.detach().clone().requires_grad_(True)
    critic = agent.critic.theta.detach().clone().requires_grad_(True)
    mu = agent.actor.network.apply(agent._own(seen), theta)
    mean = torch.tanh(mu).reshape(actions.shape)
    log_ratio = torch.distributions.Normal(mean, scale).log_prob(actions).sum(dim=2)
    log_ratio = log_ratio - torch.distributions.Normal(old, scale).log_prob(actions).sum(dim=2)
    ratio = torch.exp(log_ratio.clamp(-20.0, 20.0))
    clipped = torch.clamp(ratio, 1.0 - CONFIG.ratio_clip, 1.0 + CONFIG.ratio_clip)
    assert 0.1 < float((ratio != clipped).float().mean()) < 1.0
    worth = torch.minimum(ratio * gains, clipped * gains)
    loss = -(worth * active).sum() / active.sum() + CONFIG.logit_penalty * mu.square().mean()
    value = agent.critic.network.apply(agent._all(seen, torch.zeros(len(seen), 0)), critic).reshape(active.shape)
    error = (((value - returns) ** 2) * active).sum() / active.sum()
    (wanted,) = torch.autograd.grad(loss, theta)
    (wanted_critic,) = torch.autograd.grad(error, critic)
    found = {}
    for part in (agent.actor, agent.critic):
        part.descend = lambda part=part: found.setdefault(id(part), part.gradient.clone())
    with torch.no_grad():
        agent._update(seen, torch.zeros(len(seen), 0), actions, old, gains, returns, active, scale=scale)
    assert found[id(agent.actor)].numpy() == pytest.approx(wanted.numpy(), rel=1e-4, abs=1e-6)
    assert found[id(agent.critic)].numpy() == pytest.approx(wanted_critic.numpy(), rel=1e-4, abs=1e-6)


def test_rows_of_cars_that_are_gone_teach_nothing():
    seen, actions, old, gains, returns, active = rows()
    spoiled = [x.clone() for x in (actions, gains, returns)]
    for x in spoiled:
        x[active == 0.0] = 1e3
    found = []
    for a, g, r in ((actions, gains, returns), spoiled):
        agent = learner(CONFIG.model_copy(update={"logit_penalty": 0.0}))
        learn(agent, seen, a, old, g, r, active)
        found.append((agent.actor.theta.detach().clone(), agent.critic.theta.detach().clone()))
    assert torch.equal(found[0][0], found[1][0]) and torch.equal(found[0][1], found[1][1])


def test_only_the_critic_learns_at_first():
    agent = learner(CONFIG.model_copy(update={"critic_first": 1, "minibatch": 100}))
    actor, critic = agent.actor.theta.detach().clone(), agent.critic.theta.detach().clone()
    given = rows()
    learn(agent, *given)
    assert torch.equal(agent.actor.theta.detach(), actor) and not torch.equal(agent.critic.theta.detach(), critic)
    learn(agent, *given)
    assert not torch.equal(agent.actor.theta.detach(), actor)


def test_values_after_a_step_are_those_before_the_next_but_at_ends():
    """Against values of the states after every step, taken one by one."""
    training = Training(PursuitWorlds(4), CONFIG, seed=0, steps=100, world="toy 1")
    round_, rng = OnPolicyRound(training, None), np.random.default_rng(0)
    after = rng.normal(size=(6, 4, *round_.observations.shape[1:])).astype(np.float32)
    done = rng.random((6, 4)) < 0.4
    assert (done.any(axis=1) & ~done.all(axis=1)).any() and done[-1].any()
    begun = np.where(done[..., None, None], rng.normal(size=after.shape), after).astype(np.float32)
    seen = np.concatenate([round_.observations[None], begun[:-1]])
    round_.rollout.ends = [after[t][done[t]] for t in range(6)]
    round_.observations = begun[-1]
    before, later = round_._values(round_.scaled(np.concatenate(seen)), done)
    none = torch.zeros(len(seen[0]), 0)
    value = lambda x: np.stack([training.learner.value(round_.scaled(one), none).numpy() for one in x])  # noqa: E731
    assert before == pytest.approx(value(seen), abs=1e-6)
    assert later == pytest.approx(value(after), abs=1e-6)


def test_held_noise_is_standard_normal_and_lasts():
    config = LearningConfig(noise="held", noise_hold=5.0)
    noise = Noise(config, (4000, 1, 1), np.random.default_rng(0))
    drawn = np.stack([noise.draw(0.5) for _ in range(6)])[..., 0, 0]
    assert drawn.std(axis=1) == pytest.approx(np.full(6, 0.5), abs=0.03)
    assert np.corrcoef(drawn[0], drawn[1])[0, 1] == pytest.approx(0.8, abs=0.03)
    noise.restart(np.ones(4000, dtype=bool))
    assert abs(np.corrcoef(drawn[-1], noise.draw(0.5)[:, 0, 0])[0, 1]) < 0.05


def test_defaults_follow_the_algorithm_and_the_warm_start():
    cold, warm = (LearningConfig.of({"algorithm": "mappo", "warm_steps": n}) for n in (0, 1000))
    assert (cold.actor_rate, cold.noise_scale) == (MAPPO["actor_rate"], MAPPO["noise_scale"])
    assert (warm.actor_rate, warm.noise_scale) == (WARM_MAPPO["actor_rate"], WARM_MAPPO["noise_scale"])
    assert LearningConfig.of({"algorithm": "mappo", "actor_rate": 0.5}).actor_rate == 0.5
    assert LearningConfig.of({}) == LearningConfig(), "the published table is untouched"


def test_two_cars_learn_to_catch_a_runaway_quickly():
    """From nothing; random actions catch it in a small share of the scenes."""
    config = LearningConfig.of(
        {"algorithm": "mappo", "hidden": (32, 32), "rollout": 32, "minibatch": 1024, "gamma": 0.95, "epochs": 4}
    )
    training = Training(PursuitWorlds(64), config, seed=0, steps=60_000, world="toy 1")
    before = capture_share(training.policy().act, seed=9)
    report = training.run_round(60_000)
    after = capture_share(training.policy().act, seed=9)
    assert after > before + 0.3 and after > 0.7, (before, after)
    assert {"kl", "clip_fraction", "explained_variance", "actor_gradient", "critic_gradient"} <= set(report.learning)
