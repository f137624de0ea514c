"""What extractions at roundabouts share: candidates of samples, their description, agents that are not there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.gaps.extractions.ring_geometry import describe_ring
from giveway.gaps.extractions.ring_phantoms import complete_ring
from giveway.gaps.extractions.ring_roles import ROLES
from giveway.gaps.profile import Profile
from giveway.gaps.protocol import Candidates, ExtractionInfo
from giveway.gaps.raw import Description, OneSample, RawGaps, circle_boundary, stack


@dataclass(frozen=True, slots=True, kw_only=True)
class RingExtraction:
    """Base of the extractions at roundabouts."""

    info: ExtractionInfo

    def describe(self, raw: RawGaps, profile: Profile) -> Description:
        """See :func:`giveway.gaps.extractions.ring_geometry.describe_ring`."""
        return describe_ring(raw, profile)

    def complete(
        self, xy: FloatArray, roles: tuple[str, ...], constants: Mapping[str, FloatArray], profile: Profile
    ) -> FloatArray:
        """See :func:`giveway.gaps.extractions.ring_phantoms.complete_ring`."""
        return complete_ring(xy, roles, constants["radius_m"], profile)


def ring_candidates(found: Sequence[OneSample | None], notes: Sequence[str]) -> Candidates:
    """Candidates of samples in order; None stands for one whose roles contradict one another."""
    samples = [sample for sample in found if sample is not None]
    radius = np.array([s.constants["radius_m"] for s in samples])
    raw = stack(samples, roles=ROLES, vulnerable=("4",), boundary=circle_boundary(radius))
    return Candidates(raw=raw, num_role_conflicts=len(found) - len(samples), notes=tuple(notes))
