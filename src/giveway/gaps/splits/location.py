"""Leave one site out: does a model know a road it has not seen?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from giveway.core.errors import EmptySelectionError
from giveway.core.samples import GapSamples
from giveway.gaps.profile import Profile
from giveway.gaps.splits.protocol import Division, SplitInfo


@dataclass(frozen=True, slots=True, kw_only=True)
class LocationSplit:
    """Repetition r tests the r-th site in sorted order and trains on all others."""

    info: SplitInfo

    def divide(self, samples: GapSamples, repetition: int, profile: Profile) -> Division:
        """Site number ``repetition``.

        Raises:
            EmptySelectionError: if there is no such site, or only one.
        """
        sites = np.unique(samples.location)
        if len(sites) < 2 or repetition >= len(sites):
            raise EmptySelectionError(
                f"there is no location {repetition} to leave out",
                where=f"{samples.dataset}, {samples.prediction_time} gaps",
                found=f"{len(sites)} location(s): {', '.join(sites.tolist())}",
                hint="give the split 'location' at most as many repetitions as there are locations",
            )
        is_test = samples.location == sites[repetition]
        return Division(
            train=np.flatnonzero(~is_test), test=np.flatnonzero(is_test), notes=(f"tested on {sites[repetition]}",)
        )


LOCATION = LocationSplit(info=SplitInfo(name="location", title="Unseen location", repetitions=None))
