"""INTERACTION: entries into roundabouts, found from the tracks alone.

No gap-acceptance definition was published for these recordings. Roundabouts follow the rules of rounD around a fitted
circle; sites without one are for :mod:`giveway.gaps.extractions.lanes`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.scene import Scene
from giveway.gaps.extractions.ring_finder import find_ring
from giveway.gaps.extractions.ring_geometry import describe_ring
from giveway.gaps.extractions.ring_phantoms import complete_ring
from giveway.gaps.extractions.ring_roles import ROLES, Ring, ring_gaps
from giveway.gaps.profile import Profile
from giveway.gaps.protocol import Candidates, ExtractionInfo
from giveway.gaps.raw import Description, OneSample, RawGaps, circle_boundary, stack

FIT_RECORDINGS = 5
"""The circle of a site is fitted to its first recordings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InteractionRoundabouts:
    """Entries into roundabouts."""

    info: ExtractionInfo

    def enumerate(self, scenes: Iterable[Scene], profile: Profile) -> Candidates:
        """Sites in order, recordings in order, targets in order of tracks; sites without a roundabout are noted."""
        samples: list[OneSample] = []
        notes: list[str] = []
        conflicts = 0
        for location, ring, at_site in sites_with_rings(scenes):
            if ring is None:
                notes.append(f"{location}: no roundabout found, left out")
                continue
            notes.append(
                f"{location}: circle around ({ring.center[0]:.1f}, {ring.center[1]:.1f}) m, outer radius "
                f"{ring.outer_m:.1f} m, fitted to the tracks"
            )
            for scene in at_site:
                for sample in ring_gaps(scene, ring, prefix="interaction"):
                    if sample is None:
                        conflicts += 1
                    else:
                        samples.append(sample)
        radius = np.array([s.constants["radius_m"] for s in samples])
        raw = stack(samples, roles=ROLES, vulnerable=("4",), boundary=circle_boundary(radius))
        return Candidates(raw=raw, num_role_conflicts=conflicts, notes=tuple(notes))

    def describe(self, raw: RawGaps, profile: Profile) -> Description:
        """See :func:`giveway.gaps.extractions.ring_geometry.describe_ring`."""
        return describe_ring(raw, profile)

    def complete(
        self, xy: FloatArray, roles: tuple[str, ...], constants: Mapping[str, FloatArray], profile: Profile
    ) -> FloatArray:
        """See :func:`giveway.gaps.extractions.ring_phantoms.complete_ring`."""
        return complete_ring(xy, roles, constants["radius_m"], profile)


def sites_with_rings(scenes: Iterable[Scene]) -> Iterator[tuple[str, Ring | None, Iterator[Scene]]]:
    """Scenes grouped by site, each with its roundabout; scenes must come site by site."""
    for location, at_site in itertools.groupby(scenes, key=lambda scene: scene.location):
        first = list(itertools.islice(at_site, FIT_RECORDINGS))
        ring = find_ring([scene.tracks for scene in first], is_known="roundabout" in location.lower())
        yield location, ring, itertools.chain(first, at_site)  # noqa: B031  (the rest, after the first ones)


INTERACTION = InteractionRoundabouts(
    info=ExtractionInfo(
        name="interaction",
        title="INTERACTION",
        dataset="interaction",
        situation="entry into a roundabout, circle fitted to the tracks",
        switches=frozenset({"phantoms", "ped_fill"}),
        references=("W. Zhan et al., INTERACTION Dataset, arXiv 1910.03088, 2019",),
    )
)
"""Six agents, as in rounD."""

INTERACTION_2V = InteractionRoundabouts(
    info=replace(INTERACTION.info, name="interaction_2v", title="INTERACTION_{2V}", is_reduced=True)
)
"""The same samples and times, only E and T visible."""
