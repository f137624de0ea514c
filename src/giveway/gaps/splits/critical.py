"""The most unintuitive samples as test set: small gaps that were taken, large gaps that were not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from giveway.core.samples import GapSamples
from giveway.gaps.profile import Profile
from giveway.gaps.splits.protocol import TEST_SHARE, Division, SplitInfo

DEGENERATE_SPREAD_S = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class CriticalSplit:
    """Test = the ``int(0.2 n)`` largest t_C - t_0 of rejected, and smallest gaps at acceptance of accepted samples.

    At constant gaps and constant speed all t_C - t_0 are equal and the ranking is rounding noise. If their spread is
    below 0.05 s, ``critical_degenerate = rank_by_t_s`` ranks by t_C - t_S instead and says so. Ties go by sample order.
    """

    info: SplitInfo

    def divide(self, samples: GapSamples, repetition: int, profile: Profile) -> Division:
        """The one division; ``repetition`` changes nothing."""
        accepted = np.flatnonzero(samples.truth.accepted)
        rejected = np.flatnonzero(~samples.truth.accepted)
        size = samples.truth.t_close_s[rejected]
        notes: tuple[str, ...] = ()
        is_flat = len(size) > 1 and float(np.ptp(size)) < DEGENERATE_SPREAD_S
        if is_flat and profile.critical_degenerate == "rank_by_t_s":
            size = size - samples.t_open_s[rejected]
            notes = ("rejected samples of the critical split ranked by t_C - t_S: t_C - t_0 is the same for all",)
        hardest_rejected = rejected[np.argsort(-size, kind="stable")[: int(TEST_SHARE * len(rejected))]]
        gap = samples.gap_at_acceptance_s[accepted]
        hardest_accepted = accepted[np.argsort(gap, kind="stable")[: int(TEST_SHARE * len(accepted))]]
        test = np.concatenate([hardest_accepted, hardest_rejected])
        train = np.setdiff1d(np.arange(samples.num_samples), test)
        return Division(train=train, test=test, notes=notes)


CRITICAL = CriticalSplit(
    info=SplitInfo(name="critical", title="Critical split", repetitions=1, switches=frozenset({"critical_degenerate"}))
)
