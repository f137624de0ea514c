"""Split by driver: samples of one participant or target track stay together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from giveway.core.errors import EmptySelectionError
from giveway.core.samples import GapSamples
from giveway.core.seeds import stream
from giveway.gaps.profile import Profile
from giveway.gaps.splits.protocol import TEST_SHARE, Division, SplitInfo


@dataclass(frozen=True, slots=True, kw_only=True)
class ParticipantSplit:
    """Groups in random order join the test part as long as they bring both of its classes closer to 20 %.

    One driver contributes many gaps; a random split shows the model drivers it is tested on. Here no group is in both.
    """

    info: SplitInfo

    def divide(self, samples: GapSamples, repetition: int, profile: Profile) -> Division:
        """Division number ``repetition``.

        Raises:
            EmptySelectionError: with fewer than two groups.
        """
        names, group = np.unique(samples.group, return_inverse=True)
        if len(names) < 2:
            raise EmptySelectionError(
                "a split by participant needs at least two of them",
                where=f"{samples.dataset}, {samples.prediction_time} gaps",
                found=f"{len(names)} group(s)",
                hint="use more recordings, or the random split",
            )
        labels = samples.truth.accepted
        counts = np.stack(
            [np.bincount(group[labels == label], minlength=len(names)) for label in (False, True)], axis=1
        )
        total = np.maximum(counts.sum(axis=0), 1)
        share = np.zeros(2)
        in_test = np.zeros(len(names), dtype=bool)
        for g in stream(repetition, "participant").permutation(len(names)):
            grown = share + counts[g] / total
            if np.abs(grown - TEST_SHARE).sum() < np.abs(share - TEST_SHARE).sum():
                share, in_test[g] = grown, True
        is_test = in_test[group]
        return Division(train=np.flatnonzero(~is_test), test=np.flatnonzero(is_test))


PARTICIPANT = ParticipantSplit(info=SplitInfo(name="participant", title="Unseen driver", repetitions=None))
