import numpy as np
import pytest
import torch

from giveway.generate.learning.replay import Accumulator, ReplayBuffer, Shape

SHAPE = Shape(cars=2, observation=3, action=1)
GAMMA = 0.9


def push(memory, t, *, rewards, terminated=((False, False),), done=(False,), active=((True, True),)):
    """A step of one world whose observations and actions all carry the number of the step."""
    return memory.push(
        np.full((1, 2, 3), t, dtype=np.float32),
        np.full((1, 2, 1), t, dtype=np.float32),
        np.array([rewards], dtype=np.float32),
        np.array(terminated),
        np.array(active),
        np.full((1, 2, 3), t + 1, dtype=np.float32),
        np.array(done),
    )


def as_batch(records):
    buffer = ReplayBuffer(SHAPE, len(records))
    buffer.add(records)
    return buffer.records.split([6, 2, 2, 2, 2, 6], dim=1)


def test_one_step_transitions_come_at_once_and_a_time_limit_bootstraps():
    memory = Accumulator(SHAPE, 1, 1, GAMMA)
    _, _, reward, discount, active, after = as_batch(push(memory, 5, rewards=(1.0, 2.0), done=(True,)))
    assert reward.tolist() == [[1.0, 2.0]]
    assert discount[0].tolist() == pytest.approx([0.9, 0.9])
    assert active.tolist() == [[1.0, 1.0]]
    assert after.tolist() == [[6.0] * 6]


def test_only_the_agent_that_ended_loses_its_future():
    memory = Accumulator(SHAPE, 1, 1, GAMMA)
    discount = as_batch(push(memory, 0, rewards=(0.0, 0.0), terminated=((True, False),)))[3]
    assert discount[0].tolist() == pytest.approx([0.0, 0.9])


def test_three_step_returns_equal_the_sum_by_hand():
    memory = Accumulator(SHAPE, 1, 3, GAMMA)
    assert len(push(memory, 0, rewards=(1.0, 0.0))) == 0
    assert len(push(memory, 1, rewards=(2.0, 1.0))) == 0
    obs, act, reward, discount, _, after = as_batch(push(memory, 2, rewards=(4.0, 0.0)))
    assert obs.tolist() == [[0.0] * 6]
    assert act.tolist() == [[0.0] * 2]
    assert reward[0].tolist() == pytest.approx([1 + 0.9 * 2 + 0.81 * 4, 0.9], rel=1e-6)
    assert discount[0].tolist() == pytest.approx([0.9**3] * 2, rel=1e-6)
    assert after.tolist() == [[3.0] * 6]


def test_an_episode_that_ends_early_gives_all_its_shorter_returns():
    memory = Accumulator(SHAPE, 1, 3, GAMMA)
    push(memory, 0, rewards=(1.0, 1.0))
    rows = push(memory, 1, rewards=(2.0, 2.0), terminated=((True, False),), done=(True,))
    obs, _, reward, discount, _, _ = as_batch(rows)
    assert obs[:, 0].tolist() == [0.0, 1.0]
    assert reward.tolist() == [pytest.approx([2.8, 2.8]), [2.0, 2.0]]
    assert discount.tolist() == [pytest.approx([0.0, 0.81]), pytest.approx([0.0, 0.9])]
    assert len(push(memory, 2, rewards=(0.0, 0.0))) == 0


def test_n_step_transitions_equal_a_plain_loop_over_random_episodes():
    rng = np.random.default_rng(3)
    worlds, steps, n = 4, 40, 3
    rewards = rng.normal(size=(steps, worlds, 2)).astype(np.float32)
    dead = rng.random((steps, worlds, 2)) < 0.05
    done = (rng.random((steps, worlds)) < 0.15) | dead.all(axis=2)
    done[-1] = True
    memory = Accumulator(SHAPE, worlds, n, GAMMA)
    found = []
    for t in range(steps):
        now = np.zeros((worlds, 2, 3), dtype=np.float32) + t + 100 * np.arange(worlds)[:, None, None]
        found.append(
            memory.push(
                now,
                np.zeros((worlds, 2, 1), dtype=np.float32),
                rewards[t],
                dead[t],
                np.ones((worlds, 2), bool),
                now + 1,
                done[t],
            )
        )
    found = {row[0]: row for row in np.concatenate(found)}
    assert len(found) == worlds * steps
    for w in range(worlds):
        for t in range(steps):
            total, factor = np.zeros(2), np.ones(2)
            for m in range(n):
                total += factor * rewards[t + m, w]
                factor = factor * GAMMA * ~dead[t + m, w]
                if done[t + m, w]:
                    break
            row = found[t + 100 * w]
            np.testing.assert_allclose(row[8:10], total, rtol=1e-4, atol=1e-5)
            np.testing.assert_allclose(row[10:12], factor, rtol=1e-5)
            assert row[14] == t + m + 1 + 100 * w


def test_the_oldest_rows_give_way_when_the_ring_is_full():
    buffer = ReplayBuffer(SHAPE, 4)
    for start in (0, 3):
        buffer.add(np.full((3, SHAPE.record), start, dtype=np.float32) + np.arange(3, dtype=np.float32)[:, None])
    assert len(buffer) == 4
    assert sorted(buffer.records[:, 0].tolist()) == [2.0, 3.0, 4.0, 5.0]
    assert buffer.since(4)[:, 0].tolist() == [4.0, 5.0]
    assert buffer.since(0)[:, 0].tolist() == [2.0, 3.0, 4.0, 5.0]


def test_a_batch_is_drawn_from_filled_rows_only():
    buffer = ReplayBuffer(SHAPE, 100)
    buffer.add(np.ones((5, SHAPE.record), dtype=np.float32))
    batch = buffer.sample(64, torch.Generator().manual_seed(0))
    assert bool((batch.observations == 1).all())
    assert batch.next_observations.shape == (64, 2, 3)
