"""Stratified folds: every sample is tested once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from giveway.core.samples import GapSamples
from giveway.core.seeds import stream
from giveway.gaps.profile import Profile
from giveway.gaps.splits.protocol import Division, SplitInfo

NUM_FOLDS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossValidation:
    """Repetition r tests fold ``r mod 5`` of shuffle ``r // 5``; every fold has its share of both classes."""

    info: SplitInfo

    def divide(self, samples: GapSamples, repetition: int, profile: Profile) -> Division:
        """Fold number ``repetition``."""
        shuffle, fold = divmod(repetition, NUM_FOLDS)
        rng = stream(shuffle, "cross_validation")
        fold_of = np.empty(samples.num_samples, dtype=np.int64)
        for label in (True, False):
            indices = np.flatnonzero(samples.truth.accepted == label)
            fold_of[rng.permutation(indices)] = np.arange(len(indices)) % NUM_FOLDS
        return Division(train=np.flatnonzero(fold_of != fold), test=np.flatnonzero(fold_of == fold))


CROSS_VALIDATION = CrossValidation(
    info=SplitInfo(name="cross_validation", title="5-fold cross-validation", repetitions=None)
)
