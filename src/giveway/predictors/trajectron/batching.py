"""Which samples make up a batch: groups of equal length, as in the published training."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from giveway.core.arrays import IntArray

MAX_LENGTH = 100
"""Longer futures are cut to this many steps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchPlan:
    """One batch.

    Attributes:
        index: (B,) samples.
        num_steps: common length of their futures.
    """

    index: IntArray
    num_steps: int


def training_length(num_observed: IntArray) -> IntArray:
    """Length of the future used in training: n_O, rounded down to a multiple of 5 above 5, at most 100."""
    rounded = np.where(num_observed > 5, num_observed // 5 * 5, num_observed)
    return np.minimum(rounded, MAX_LENGTH)


def epoch_batches(length: IntArray, batch_size: int, rng: np.random.Generator) -> Iterator[BatchPlan]:
    """The batches of one epoch in random order.

    A group of equal length contributes ``max(1, floor(count / batch_size))`` batches. A batch draws ``batch_size``
    samples without replacement; a smaller group is used with probability ``count / batch_size`` and then draws with
    replacement. Groups of length 0 and 1 are skipped.

    Args:
        length: (N,) from :func:`training_length`.
        batch_size: samples per batch.
        rng: source of all draws.
    """
    groups = [(int(steps), np.flatnonzero(length == steps)) for steps in np.unique(length) if steps > 1]
    plan = [which for which, (_, members) in enumerate(groups) for _ in range(max(1, members.size // batch_size))]
    for which in rng.permutation(np.array(plan, dtype=np.int64)):
        steps, members = groups[int(which)]
        if members.size >= batch_size:
            yield BatchPlan(index=rng.choice(members, batch_size, replace=False), num_steps=steps)
        elif rng.random() < members.size / batch_size:
            yield BatchPlan(index=rng.choice(members, batch_size, replace=True), num_steps=steps)


def expected_batches(length: IntArray, batch_size: int) -> float:
    """Mean number of batches of an epoch of :func:`epoch_batches`."""
    counts = np.unique(length[length > 1], return_counts=True)[1]
    return float(np.where(counts >= batch_size, counts // batch_size, counts / batch_size).sum())
