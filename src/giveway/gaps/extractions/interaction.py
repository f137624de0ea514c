"""INTERACTION: entries into roundabouts, found from the tracks alone.

No gap-acceptance definition was published for these recordings. Roundabouts follow the rules of rounD around a fitted
circle; sites without one are for :mod:`giveway.gaps.extractions.lanes`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from giveway.core.scene import Scene
from giveway.gaps.encounters import Streams, Traffic, traffic_of
from giveway.gaps.extractions.paths import path_candidates
from giveway.gaps.extractions.ring import RING_SWITCHES, RingExtraction, ring_candidates
from giveway.gaps.extractions.ring_finder import find_ring
from giveway.gaps.extractions.ring_roles import Ring, ring_gaps
from giveway.gaps.extractions.ring_streams import RingStreams
from giveway.gaps.profile import Profile
from giveway.gaps.protocol import Candidates, ExtractionInfo
from giveway.gaps.raw import OneSample

FIT_RECORDINGS = 5
"""The circle of a site is fitted to its first recordings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InteractionRoundabouts(RingExtraction):
    """Entries into roundabouts."""

    def enumerate(self, scenes: Iterable[Scene], profile: Profile) -> Candidates:
        """Sites in order, recordings in order, targets in order of tracks; sites without a roundabout are noted."""
        found: list[OneSample | None] = []
        notes: list[str] = []
        recordings: list[tuple[Traffic, Streams]] = []
        for location, ring, at_site in sites_with_rings(scenes):
            if ring is None:
                notes.append(f"{location}: no roundabout found, left out")
                continue
            if ring.turn < 0 and profile.contested_place == "published":
                notes.append(f"{location}: traffic goes around clockwise, which the published sector does not describe")
                continue
            notes.append(
                f"{location}: circle around ({ring.center[0]:.1f}, {ring.center[1]:.1f}) m, outer radius "
                f"{ring.outer_m:.1f} m, fitted to the tracks"
            )
            for scene in at_site:
                if profile.contested_place == "published":
                    found += ring_gaps(scene, ring, prefix="interaction", profile=profile)
                else:
                    recordings.append((traffic_of(scene), RingStreams(ring=ring)))
        if recordings:
            return path_candidates(recordings, prefix="interaction", notes=notes)
        return ring_candidates(found, notes)


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
        switches=RING_SWITCHES,
        references=("W. Zhan et al., INTERACTION Dataset, arXiv 1910.03088, 2019",),
    )
)
"""Six agents, as in rounD."""

INTERACTION_2V = InteractionRoundabouts(
    info=replace(INTERACTION.info, name="interaction_2v", title="INTERACTION_{2V}", is_reduced=True)
)
"""The same samples and times, only E and T visible."""
