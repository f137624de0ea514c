import copy
import itertools
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from giveway.generate.learning.config import LearningConfig
from giveway.generate.learning.maddpg import MultiAgentLearner
from giveway.generate.learning.networks import StackedNetwork
from giveway.generate.learning.replay import Batch, Shape

SHAPE = Shape(cars=3, observation=5, action=2)


def random_batch(shape, size=32, seed=0):
    g = torch.Generator().manual_seed(seed)

    def normal(*dims):
        return torch.randn(*dims, generator=g)

    ended = torch.rand(size, shape.cars, generator=g) < 0.2
    return Batch(
        observations=normal(size, shape.cars, shape.observation),
        actions=torch.tanh(normal(size, shape.cars, shape.action)),
        rewards=normal(size, shape.cars),
        discounts=0.99 * (~ended).float(),
        active=torch.ones(size, shape.cars),
        next_observations=normal(size, shape.cars, shape.observation),
    )


def learner(shape=SHAPE, **settings):
    return MultiAgentLearner(shape, LearningConfig(hidden=(16, 16), **settings), torch.Generator().manual_seed(7))


class PlainDDPG:
    """DDPG as in Lillicrap et al. 2016, written with separate layers for one agent."""

    def __init__(self, made: MultiAgentLearner):
        config, shape = made.config, made.shape
        self.config = config
        self.actor = self.layers(made.actor.theta[0], (shape.observation, *config.hidden, shape.action))
        self.critic = self.layers(made.critic.theta[0], (shape.observation + shape.action, *config.hidden, 1))
        self.actor_target = [p.detach().clone() for p in self.actor]
        self.critic_target = [p.detach().clone() for p in self.critic]
        self.actor_adam = torch.optim.Adam(self.actor, lr=config.actor_rate, fused=True)
        self.critic_adam = torch.optim.Adam(self.critic, lr=config.critic_rate, fused=True)

    @staticmethod
    def layers(theta, sizes):
        found, at = [], 0
        for a, b in itertools.pairwise(sizes):
            for shape in ((a, b), (b,)):
                n = int(np.prod(shape))
                found.append(theta[at : at + n].detach().clone().reshape(shape).requires_grad_(True))
                at += n
        return found

    @staticmethod
    def forward(x, layers):
        for n in range(0, len(layers), 2):
            x = torch.addmm(layers[n + 1], x, layers[n])
            x = torch.relu(x) if n + 2 < len(layers) else x
        return x

    def step(self, adam, parameters, loss):
        adam.zero_grad()
        loss.backward(inputs=parameters)
        norm = torch.linalg.vector_norm(torch.cat([p.grad.flatten() for p in parameters]))
        for p in parameters:
            p.grad *= torch.clamp(self.config.grad_clip / (norm + 1e-6), max=1.0)
        adam.step()

    def update(self, batch):
        o, a, o2 = batch.observations[:, 0], batch.actions[:, 0], batch.next_observations[:, 0]
        with torch.no_grad():
            a2 = torch.tanh(self.forward(o2, self.actor_target))
            q2 = self.forward(torch.cat([o2, a2], 1), self.critic_target)[:, 0]
            y = batch.rewards[:, 0] + batch.discounts[:, 0] * q2
        q = self.forward(torch.cat([o, a], 1), self.critic)[:, 0]
        self.step(self.critic_adam, self.critic, ((q - y) ** 2).mean())
        mu = torch.tanh(self.forward(o, self.actor))
        self.step(self.actor_adam, self.actor, -self.forward(torch.cat([o, mu], 1), self.critic)[:, 0].mean())
        with torch.no_grad():
            for target, learned in ((self.actor_target, self.actor), (self.critic_target, self.critic)):
                for t, p in zip(target, learned, strict=True):
                    t.lerp_(p, self.config.tau)


def test_one_car_learns_bit_for_bit_like_ddpg():
    shape = Shape(cars=1, observation=5, action=2)
    ours = learner(shape)
    plain = PlainDDPG(ours)
    g = torch.Generator().manual_seed(0)
    for seed in range(20):
        batch = random_batch(shape, seed=seed)
        ours.update(batch, g)
        plain.update(batch)
    for mine, theirs in (
        (ours.actor.theta[0], plain.actor),
        (ours.critic.theta[0], plain.critic),
        (ours.actor.target[0], plain.actor_target),
        (ours.critic.target[0], plain.critic_target),
    ):
        assert torch.equal(mine.detach(), torch.cat([p.detach().flatten() for p in theirs]))


def test_stacked_networks_equal_separate_ones():
    stack = StackedNetwork(3, (4, 8, 2), torch.Generator().manual_seed(0))
    x = torch.randn(3, 6, 4, generator=torch.Generator().manual_seed(1))
    together = stack.apply(x, stack.theta)
    for n in range(3):
        alone = stack.apply(x[n : n + 1], stack.theta[n : n + 1])
        torch.testing.assert_close(together[n], alone[0], rtol=1e-5, atol=1e-6)


def test_an_actor_is_moved_through_its_own_action_only():
    """Car 0's actor must not change when critic 0 ignores car 0's action, however much it likes the others'."""
    ours = learner()
    o, a = SHAPE.observation, SHAPE.action
    inputs = 3 * (o + a)
    with torch.no_grad():
        first = ours.critic.theta[:, : inputs * 16].view(3, inputs, 16)
        first[0, 3 * o : 3 * o + a] = 0.0
    before = ours.actor.theta.detach().clone()
    ours._update_actors(random_batch(SHAPE), torch.full((32, 3), 1 / 32), torch.Generator())
    assert torch.equal(ours.actor.theta[0], before[0])
    assert not torch.equal(ours.actor.theta[1], before[1])


def test_critics_see_everybody_unless_they_learn_alone():
    batch = random_batch(SHAPE)
    other = copy.copy(batch)
    object.__setattr__(other, "actions", batch.actions.clone())
    other.actions[:, 2] = -batch.actions[:, 2]
    for centralized in (True, False):
        ours = learner(centralized=centralized)
        values = [
            ours.critic.network.apply(ours._inputs(b.observations, b.actions), ours.critic.theta)[0, :, 0]
            for b in (batch, other)
        ]
        assert torch.equal(*values) is not centralized


def test_targets_follow_by_the_rate_tau():
    ours = learner(tau=0.25)
    start = ours.critic.target.clone()
    ours.update(random_batch(SHAPE), torch.Generator().manual_seed(0))
    expected = 0.75 * start + 0.25 * ours.critic.theta.detach()
    torch.testing.assert_close(ours.critic.target, expected)


def test_gradients_are_clipped_per_car():
    ours = learner()
    gradient = ours.actor.gradient
    gradient.fill_(1.0)
    gradient[1] *= 1e-6
    ours.actor.clip_gradient()
    norms = torch.linalg.vector_norm(gradient, dim=1)
    assert norms[0] == pytest.approx(0.5, rel=1e-4)
    assert torch.equal(gradient[1], torch.full_like(gradient[1], 1e-6))


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("centralized", [True, False])
@pytest.mark.parametrize(("algorithm", "imitated"), [("maddpg", False), ("matd3", False), ("matd3", True)])
def test_written_out_gradients_are_those_of_autograd(algorithm, centralized, shared, imitated):
    ours = learner(algorithm=algorithm, centralized=centralized, shared_actor=shared, imitation=0.7, warm_steps=1)
    ours.updates = 1
    seen = {}
    ours.critic.descend = lambda: seen.update(critic=ours.critic.gradient.clone())
    ours.actor.descend = lambda: seen.update(actor=ours.actor.gradient.clone())
    batch = random_batch(SHAPE)
    batch.active[:5, 2] = 0.0
    g = torch.Generator().manual_seed(3)
    shown = SimpleNamespace(
        seen=torch.randn(9, 3, SHAPE.observation, generator=g), shown=torch.rand(9, 3, SHAPE.action, generator=g)
    )
    target = ours.critic.target.clone()
    ours.update(batch, torch.Generator().manual_seed(0), shown if imitated else None)

    critics, copies = ours.critic.network, ours.config.num_critics
    weight = (batch.active / batch.active.sum(dim=0)).T
    with torch.no_grad():
        following = ours.act(batch.next_observations)  # nobody has moved: actors and their targets are the same
        if algorithm == "matd3":
            noise = torch.randn(following.shape, generator=torch.Generator().manual_seed(0)) * ours.config.target_noise
            clip = ours.config.target_noise_clip
            following = (following + noise.clamp(-clip, clip)).clamp(-1, 1)
        after = critics.apply(ours._inputs(batch.next_observations, following.transpose(0, 1)), target)
        y = batch.rewards.T + batch.discounts.T * after.reshape(copies, 3, -1).amin(dim=0)
    q = critics.apply(ours._inputs(batch.observations, batch.actions), ours.critic.theta).reshape(copies, 3, -1)
    (expected,) = torch.autograd.grad((((q - y) ** 2) * weight).sum(), ours.critic.theta)
    torch.testing.assert_close(seen["critic"], expected)

    mu, values = ours.act(batch.observations), []
    for i in range(3):
        actions = batch.actions.clone()
        actions[:, i] = mu[i]
        values.append(critics.apply(ours._inputs(batch.observations, actions), ours.critic.theta.detach())[i, :, 0])
    value = torch.stack(values)
    loss = -(value * weight).sum()
    if imitated:
        loss = -((value * weight).sum(dim=1) / value.detach().abs().mean(dim=1)).sum()
        loss = loss + 0.7 * ((ours.act(shown.seen) - shown.shown.transpose(0, 1)) ** 2).mean(dim=(1, 2)).sum()
    (expected,) = torch.autograd.grad(loss, ours.actor.theta)
    torch.testing.assert_close(seen["actor"], expected)


def test_a_car_that_is_out_does_not_pull_at_its_critic():
    ours = learner()
    batch = random_batch(SHAPE)
    batch.active[:, 1] = 0.0
    before = ours.critic.theta.detach().clone()
    ours.update(batch, torch.Generator().manual_seed(0))
    assert torch.equal(ours.critic.theta[1], before[1])
    assert not torch.equal(ours.critic.theta[0], before[0])


def test_matd3_delays_actors_and_bootstraps_from_the_smaller_critic():
    ours = learner(algorithm="matd3", target_noise=0.0)
    assert ours.critic.theta.shape[0] == 6
    actor = ours.actor.theta.detach().clone()
    with torch.no_grad():
        ours.critic.target[3:, -1] -= 1000.0
    g = torch.Generator().manual_seed(0)
    first = ours.update(random_batch(SHAPE), g)
    assert first.value is None
    assert torch.equal(ours.actor.theta, actor)
    assert float(first.critic.min()) > 1e5
    second = ours.update(random_batch(SHAPE, seed=1), g)
    assert second.value is not None
    assert not torch.equal(ours.actor.theta, actor)


def test_a_shared_actor_knows_which_car_it_drives():
    ours = learner(shared_actor=True)
    same = torch.ones(4, 3, SHAPE.observation)
    actions = ours.act(same)
    assert ours.actor.theta.shape[0] == 1
    assert not torch.equal(actions[0], actions[1])
    assert torch.equal(actions[0, 0], actions[0, 1])
    ours.update(random_batch(SHAPE), torch.Generator().manual_seed(0))
