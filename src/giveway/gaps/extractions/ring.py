"""What extractions at roundabouts share: candidates of samples, their description, agents that are not there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.gaps.extractions.paths import describe_paths
from giveway.gaps.extractions.ring_geometry import describe_ring
from giveway.gaps.extractions.ring_phantoms import complete_ring
from giveway.gaps.extractions.ring_roles import ROLES
from giveway.gaps.profile import Profile
from giveway.gaps.protocol import Candidates, ExtractionInfo
from giveway.gaps.raw import Description, OneSample, RawGaps, circle_boundary, stack

RING_SWITCHES = frozenset(
    {"contested_place", "phantoms", "ped_fill", "candidate_order", "role_2", "role_4", "ring_radius"}
)
"""Switches that roundabouts read beside those of every extraction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RingExtraction:
    """Base of the extractions at roundabouts."""

    info: ExtractionInfo

    def describe(self, raw: RawGaps, profile: Profile) -> Description:
        """See :func:`~giveway.gaps.extractions.ring_geometry.describe_ring`, or ``describe_paths`` for found places."""
        return describe_ring(raw, profile) if profile.contested_place == "published" else describe_paths(raw)

    def complete(
        self, xy: FloatArray, roles: tuple[str, ...], constants: Mapping[str, FloatArray], profile: Profile
    ) -> FloatArray:
        """See :func:`giveway.gaps.extractions.ring_phantoms.complete_ring`."""
        return complete_ring(xy, roles, constants["radius_m"], profile) if "radius_m" in constants else xy


def ring_candidates(found: Sequence[OneSample | None], notes: Sequence[str]) -> Candidates:
    """Candidates of samples in order; None stands for one whose roles contradict one another."""
    samples = [sample for sample in found if sample is not None]
    radius = np.array([s.constants["radius_m"] for s in samples])
    raw = stack(samples, roles=ROLES, vulnerable=("4",), boundary=circle_boundary(radius))
    return Candidates(raw=raw, num_role_conflicts=len(found) - len(samples), notes=tuple(notes))
