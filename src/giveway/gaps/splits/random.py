"""Stratified random split, one seed per repetition."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from giveway.core.arrays import IntArray
from giveway.core.samples import GapSamples
from giveway.gaps.profile import Profile
from giveway.gaps.splits.protocol import TEST_SHARE, Division, SplitInfo


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomSplit:
    """Shuffle accepted, then rejected samples with one legacy stream; the first 80 % of each train.

    Training takes ``int(0.8 n)`` of each class. The generator is numpy's RandomState with seed = repetition, as in the
    released code, so that the published divisions can be repeated on the same samples.
    """

    info: SplitInfo

    def divide(self, samples: GapSamples, repetition: int, profile: Profile) -> Division:
        """Division number ``repetition``."""
        stream = np.random.RandomState(repetition)
        train: list[IntArray] = []
        test: list[IntArray] = []
        for label in (True, False):
            indices = np.flatnonzero(samples.truth.accepted == label)
            stream.shuffle(indices)
            cut = int((1 - TEST_SHARE) * len(indices))
            train.append(indices[:cut])
            test.append(indices[cut:])
        return Division(train=np.concatenate(train), test=np.concatenate(test))


RANDOM = RandomSplit(info=SplitInfo(name="random", title="Random split", repetitions=None))
