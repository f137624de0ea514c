"""rounD: a vehicle (T) enters a roundabout before or after one that circulates (E)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from giveway.core.errors import DataError
from giveway.core.scene import Scene
from giveway.gaps.encounters import Streams, Traffic, traffic_of
from giveway.gaps.extractions.paths import path_candidates
from giveway.gaps.extractions.ring import RING_SWITCHES, RingExtraction, ring_candidates
from giveway.gaps.extractions.ring_fit import own_center
from giveway.gaps.extractions.ring_roles import Ring, ring_gaps
from giveway.gaps.extractions.ring_streams import RingStreams
from giveway.gaps.profile import Profile
from giveway.gaps.protocol import Candidates, ExtractionInfo
from giveway.gaps.raw import OneSample

LOCATIONS_PX = {
    "0": (801.0, -465.0, 247.5, 154.0),  # Neuweiler
    "1": (781.0, -481.0, 98.1, 45.1),  # Kackertstrasse
    "2": (1011.0, -449.0, 100.0, 48.0),  # Thiergarten
}
"""Center x, center y, outer and inner radius in pixels of the ten times reduced background image."""

IMAGE_REDUCTION = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundExtraction(RingExtraction):
    """One candidate per passage of a circulating vehicle while T approaches, and the next one after T entered."""

    def enumerate(self, scenes: Iterable[Scene], profile: Profile) -> Candidates:
        """Recordings in order, targets in order of tracks.

        A recording at an unknown location, or framed so that its vehicles circulate around another center than the
        published one, does not end the others: the first is left out, the second is read around its own center with
        ``ring_center = "fitted"`` and around the published one with ``"published"``; notes say so.
        """
        scale_of: dict[str, float] = {}
        found: list[OneSample | None] = []
        notes: list[str] = []
        recordings: list[tuple[Traffic, Streams]] = []
        for scene in scenes:
            scale = float(scene.attributes["ortho_px_to_meter"])
            if profile.scale_per_recording == "first_of_location":
                scale = scale_of.setdefault(scene.location, scale)
            where = f"recording {scene.provenance.recording}, location {scene.location}"
            try:
                ring = ring_of(scene.location, scale)
            except DataError as error:
                notes.append(f"{where}: left out, {error.what} ({error.found})")
                continue
            center, note = own_center(
                scene.tracks, ring.center, inner_m=ring.inner_m, outer_m=ring.outer_m, where=where
            )
            notes.append(note)
            if profile.ring_center == "fitted":
                ring = replace(ring, center=center)
            if profile.contested_place == "published":
                found += ring_gaps(scene, ring, prefix="round", profile=profile)
            else:
                recordings.append((traffic_of(scene), RingStreams(ring=ring)))
        return path_candidates(recordings, prefix="round", notes=notes) if recordings else ring_candidates(found, notes)


def ring_of(location: str, ortho_px_to_meter: float) -> Ring:
    """Center and radii of a location.

    Raises:
        DataError: if the location is not one of the three.
    """
    if location not in LOCATIONS_PX:
        raise DataError(
            "unknown location of rounD",
            where=f"location {location}",
            found=f"known: {', '.join(LOCATIONS_PX)}",
            hint="check locationId in the recordingMeta file",
        )
    x, y, outer, inner = (value * IMAGE_REDUCTION * ortho_px_to_meter for value in LOCATIONS_PX[location])
    return Ring(center=np.array([x, y]), outer_m=outer, inner_m=inner)


ROUND = RoundExtraction(
    info=ExtractionInfo(
        name="round",
        title="rounD",
        dataset="round",
        situation="entry into a roundabout",
        switches=RING_SWITCHES | {"scale_per_recording", "ring_center"},
        references=(
            "R. Krajewski et al., The rounD Dataset: A Drone Dataset of Road User Trajectories at Roundabouts in "
            "Germany, ITSC 2020",
        ),
    )
)
"""Six agents: E, T, before and behind E, before T, and the pedestrian or cyclist nearest to T."""

ROUND_2V = RoundExtraction(info=replace(ROUND.info, name="round_2v", title="rounD_{2V}", is_reduced=True))
"""The same samples and times, only E and T visible."""
