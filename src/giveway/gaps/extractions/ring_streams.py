"""Who gives way at a roundabout: those who come from outside, to those who come along the ring."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from giveway.gaps.encounters import Traffic
from giveway.gaps.extractions.ring_roles import APPROACH_M, Ring
from giveway.roads.path_conflicts import STEP_M, PathConflict

ENTRY_M = 10.0
"""T enters from where it is 10 m outside the ring to where it has driven this far inside it."""

ONCOMING_RAD = np.radians(120.0)
"""Somebody who meets T at a larger angle comes towards it, not along the ring."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RingStreams:
    """See :class:`giveway.gaps.encounters.Streams`.

    The circle says who enters; where and when is told by the paths. Circulating traffic comes from the left where it
    goes around counter-clockwise, from the right where it goes around clockwise.
    """

    ring: Ring

    def targets(self, traffic: Traffic) -> Sequence[int]:
        """Drivers who come from at least 10 m outside the ring, get inside, and do not cross the island."""
        return [row for row in np.flatnonzero(traffic.is_driver).tolist() if self._entry(traffic, row) is not None]

    def contests(self, traffic: Traffic, target: int, other: int, conflict: PathConflict) -> bool:
        """Whether the other one comes along the ring while T enters it."""
        span = self._entry(traffic, target)
        at_entry = span is not None and span[0] <= conflict.s_in_m <= span[1]
        return at_entry and conflict.side == self.ring.turn and conflict.angle_rad < ONCOMING_RAD

    def _entry(self, traffic: Traffic, row: int) -> tuple[float, float] | None:
        """Arc lengths between which a driver enters the ring; None if it does not."""
        path = traffic.paths[row]
        if path is None:
            return None
        radius = np.hypot(path.xy[:, 0] - self.ring.center[0], path.xy[:, 1] - self.ring.center[1])
        inside = radius < self.ring.outer_m
        if radius[0] <= self.ring.outer_m + APPROACH_M or not inside.any() or (radius < self.ring.inner_m).any():
            return None
        begin = int(np.argmax(radius < self.ring.outer_m + APPROACH_M))
        return begin * STEP_M, int(np.argmax(inside)) * STEP_M + ENTRY_M
