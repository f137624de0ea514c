from contextlib import closing
from itertools import islice

import numpy as np
import pytest
import torch

from giveway.generate.learning.config import LearningConfig
from giveway.generate.learning.demonstrations import Demonstrations
from giveway.generate.learning.maddpg import MultiAgentLearner
from giveway.generate.learning.replay import Batch, Shape
from giveway.generate.learning.rounds import round_ends
from giveway.generate.learning.session import learn_rounds
from giveway.generate.learning.training import Training
from giveway.generate.learning.warm_start import warm_start
from support.pursuit import PursuitWorlds, capture_share

CONFIG = LearningConfig(
    hidden=(32, 32),
    batch=64,
    learning_starts=64,
    update_every=8,
    warm_steps=2400,
    clone_updates=600,
    clone_parts=3,
    critic_first=40,
)


def chase(worlds, observations):
    """Straight towards the runaway."""
    to = observations[..., 2:4]
    return to / np.maximum(np.linalg.norm(to, axis=-1, keepdims=True), 1e-6)


def test_clones_drive_like_the_demonstrator():
    training = Training(PursuitWorlds(8), CONFIG, seed=0, steps=5000, demonstrator=chase)
    error = warm_start(training, chase)
    assert error < 0.15
    assert training.steps == 2400
    assert len(training.buffer) == 800
    assert capture_share(training.policy().act, seed=1) > 0.6 * capture_share(lambda o: chase(None, o), seed=1) > 0


def test_actors_wait_until_the_critics_have_learned():
    training = Training(PursuitWorlds(8), CONFIG, seed=0, steps=5000, demonstrator=chase)
    training.run_round(2400)
    cloned = training.learner.actor.theta.detach().clone()
    training.run_round(200)
    assert 0 < training.learner.updates <= 40
    assert training.learner.actor.theta.detach().equal(cloned)
    training.run_round(400)
    assert training.learner.updates > 40
    assert not training.learner.actor.theta.detach().equal(cloned)


@pytest.mark.parametrize("imitation", [0.0, 1.0])
def test_a_warm_training_in_pieces_equals_one_without_interruption(tmp_path, imitation):
    config = CONFIG.model_copy(update={"imitation": imitation})
    ends = round_ends(env_steps=3200, round_steps=400, worlds=8, warm_steps=config.warm_steps)
    assert ends == [2400, 2800, 3200]

    def learn(folder, first, limit=None):
        training = Training(PursuitWorlds(8), config, seed=1, steps=3200, demonstrator=chase)
        with closing(learn_rounds(training, ends, tmp_path / folder, first=first)) as rounds:
            return list(islice(rounds, limit))

    whole = learn("whole", 1)
    learn("pieces", 1, limit=1)
    pieces = learn("pieces", 2)
    assert [one.report.steps for one in pieces] == ends
    assert whole[-1].policy.fingerprint == pieces[-1].policy.fingerprint


def test_a_large_weight_brings_actors_to_what_was_demonstrated():
    shape = Shape(cars=2, observation=3, action=1)
    config = CONFIG.model_copy(update={"imitation": 100.0, "critic_first": 0, "grad_clip": 100.0, "actor_rate": 1e-2})
    generator = torch.Generator().manual_seed(0)
    learner = MultiAgentLearner(shape, config, generator)
    seen = torch.rand(64, 2, 3, generator=generator)
    shown = Demonstrations(seen, torch.full((64, 2, 1), 0.5))
    nothing = torch.zeros(64, 2)
    batch = Batch(
        observations=seen,
        actions=shown.shown,
        rewards=nothing,
        discounts=nothing,
        active=nothing + 1,
        next_observations=seen,
    )
    with torch.no_grad():
        learner.critic.theta.zero_()
    start = (learner.act(seen) - 0.5).abs().mean()
    for _ in range(200):
        learner.critic.theta.detach().zero_()
        learner.update(batch, generator, shown)
    assert (learner.act(seen) - 0.5).abs().mean() < 0.05 < start
