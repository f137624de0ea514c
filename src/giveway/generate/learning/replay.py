"""Transitions to learn from: one preallocated block, one gather per batch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from giveway.core.arrays import BoolArray, FloatArray

Float32Array = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """k cars with o observed numbers and a action numbers each."""

    cars: int
    observation: int
    action: int

    @property
    def record(self) -> int:
        """Numbers per transition."""
        return self.cars * (2 * self.observation + self.action + 3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """B transitions.

    Attributes:
        observations: (B, k, o).
        actions: (B, k, a).
        rewards: (B, k) sum of discounted rewards until ``next_observations``.
        discounts: (B, k) weight of what comes after; 0 for an agent whose episode ended, also by nobody's time limit.
        active: (B, k) 1 where the agent was still taking part.
        next_observations: (B, k, o).
    """

    observations: Tensor
    actions: Tensor
    rewards: Tensor
    discounts: Tensor
    active: Tensor
    next_observations: Tensor


class ReplayBuffer:
    """A ring of transitions.

    Args:
        shape: of the observations and actions.
        capacity: transitions; memory is only taken as it fills.
    """

    def __init__(self, shape: Shape, capacity: int) -> None:
        self.shape = shape
        self.capacity = capacity
        self.records = torch.empty(capacity, shape.record)
        self._view: Float32Array = self.records.numpy()
        self.added = 0

    def __len__(self) -> int:
        return min(self.added, self.capacity)

    def add(self, records: Float32Array) -> None:
        """Append rows; the oldest give way."""
        rows = (self.added + np.arange(len(records))) % self.capacity
        self._view[rows] = records
        self.added += len(records)

    def since(self, added: int) -> Tensor:
        """Rows appended after the count stood at ``added``, oldest first; at most ``capacity``."""
        first = max(added, self.added - self.capacity)
        return self.records[torch.arange(first, self.added) % self.capacity]

    def sample(self, batch: int, generator: torch.Generator) -> Batch:
        """Rows drawn with replacement."""
        rows = torch.randint(len(self), (batch,), generator=generator)
        taken = torch.index_select(self.records, 0, rows)
        k, o, a = self.shape.cars, self.shape.observation, self.shape.action
        obs, act, rew, disc, live, after = taken.split([k * o, k * a, k, k, k, k * o], dim=1)
        return Batch(
            observations=obs.reshape(batch, k, o),
            actions=act.reshape(batch, k, a),
            rewards=rew,
            discounts=disc,
            active=live,
            next_observations=after.reshape(batch, k, o),
        )


class Accumulator:
    """Turns steps of W worlds into transitions over n steps.

        R = sum_{j < m} gamma^j r_j,   discount = gamma^m, or 0 if the agent ended within the m <= n steps

    m is n, or less where the episode ended or ran out of time earlier.

    Args:
        shape: of the observations and actions.
        worlds: W.
        n_step: n.
        gamma: discount per step.
    """

    def __init__(self, shape: Shape, worlds: int, n_step: int, gamma: float) -> None:
        k = shape.cars
        self._n, self._gamma = n_step, gamma
        self._count = np.zeros(worlds, dtype=np.int64)
        self._head = np.zeros((n_step, worlds, k * (shape.observation + shape.action)), dtype=np.float32)
        self._reward = np.zeros((n_step, worlds, k), dtype=np.float32)
        self._discount = np.zeros((n_step, worlds, k), dtype=np.float32)
        self._active = np.zeros((n_step, worlds, k), dtype=np.float32)

    def push(
        self,
        observations: Float32Array,
        actions: Float32Array,
        rewards: FloatArray | Float32Array,
        terminated: BoolArray,
        active: BoolArray,
        next_observations: Float32Array,
        done: BoolArray,
    ) -> Float32Array:
        """Take in one step of all worlds.

        Args:
            observations: (W, k, o) before.
            actions: (W, k, a) taken.
            rewards: (W, k).
            terminated: (W, k) the agent's episode ended for good.
            active: (W, k) the agent took part before the step.
            next_observations: (W, k, o) after, before any reset.
            done: (W,) the world will be reset, ended or out of time.

        Returns:
            (N, record) transitions that are complete now.
        """
        worlds = len(done)
        after = next_observations.reshape(worlds, -1)
        going = (self._gamma * ~terminated).astype(np.float32)
        for j in range(self._n - 1):
            old = j < self._count
            self._reward[j] += np.where(old[:, None], self._discount[j] * rewards, 0.0)
            self._discount[j] *= np.where(old[:, None], going, 1.0)
        everyone = np.arange(worlds)
        slot = self._count
        self._head[slot, everyone] = np.concatenate(
            [observations.reshape(worlds, -1), actions.reshape(worlds, -1)], axis=1
        )
        self._reward[slot, everyone] = rewards
        self._discount[slot, everyone] = going
        self._active[slot, everyone] = active
        self._count = self._count + 1
        ready = [(0, (self._count == self._n) | done)]
        ready += [(j, done & (self._count > j)) for j in range(1, self._n)]
        rows = [self._rows(j, which, after) for j, which in ready if which.any()]
        if self._n > 1:
            for block in (self._head, self._reward, self._discount, self._active):
                block[:-1, self._count == self._n] = block[1:, self._count == self._n]
        self._count = np.where(done, 0, np.minimum(self._count, self._n - 1))
        return np.concatenate(rows) if rows else np.zeros((0, self._record(after)), dtype=np.float32)

    def _rows(self, j: int, which: BoolArray, after: Float32Array) -> Float32Array:
        parts = (self._head[j], self._reward[j], self._discount[j], self._active[j], after)
        return np.concatenate([part[which] for part in parts], axis=1)

    def _record(self, after: Float32Array) -> int:
        return self._head.shape[2] + 3 * self._reward.shape[2] + after.shape[1]
