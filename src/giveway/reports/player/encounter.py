"""The moment a replay is about: when, and which other road user the ego meets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from giveway.core.boxes import distance, footprints, time_to_overlap
from giveway.core.tracks import Tracks

NEAR_MISS_S = 0.95
"""A time to collision up to this is a near miss; the bound of nuPlan's metric, drawn as a line in the plots."""

SAME_PLACE_M = 2.0
"""Two centers this near, at whatever times, are at the same place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Encounter:
    """Attributes:
    time_s: zero of the clock, in the time base of the scene.
    kind: what happens then.
    partner: id of the road user that the ego meets; empty if it is alone.
    """

    time_s: float
    kind: Literal["contact", "near miss", "closest approach", "decision", "end"]
    partner: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Closest:
    """How near two road users came.

    Attributes:
        gap_m: least distance between their footprints; inf if they were never there together.
        ego_first: who passed the place that both use first; None if they share none.
    """

    gap_m: float
    ego_first: bool | None


def find_encounter(tracks: Tracks, ego: int, *, prefer: Sequence[int] = ()) -> Encounter | None:
    """Near miss (least time to collision up to 0.95 s), else closest approach.

    Args:
        tracks: everybody.
        ego: row of the ego.
        prefer: rows of those whom it owes the right of way; others count only if none of them is ever there with it.

    Returns:
        None if nobody else is there at the same time.
    """
    boxes = footprints(tracks)
    own, others = boxes.take(np.s_[ego : ego + 1]), [i for i in range(tracks.num_agents) if i != ego]
    gap = distance(own, boxes)
    for rows in ([i for i in prefer if i != ego], others):
        if not rows or not np.isfinite(gap[rows]).any():
            continue
        ttc = time_to_overlap(own, boxes.take(rows), tracks.velocity[ego : ego + 1], tracks.velocity[rows])
        soon = np.where(np.isnan(ttc), np.inf, ttc)
        near = np.where(np.isnan(gap[rows]), np.inf, gap[rows])
        isolated = soon.min() > NEAR_MISS_S
        row, instant = np.unravel_index(int((near if isolated else soon).argmin()), near.shape)
        return Encounter(
            time_s=float(tracks.time_s[instant]),
            kind="closest approach" if isolated else "near miss",
            partner=str(tracks.ids[rows[int(row)]]),
        )
    return None


def closest(tracks: Tracks, ego: int, other: int) -> Closest:
    """Least gap of two road users, and whose turn it was at the place that both drive over.

    The order is the sign of the median of t_other - t_ego over all pairs of instants at which the centers are within
    2 m of each other.
    """
    boxes = footprints(tracks)
    gap = distance(boxes.take(ego), boxes.take(other))
    known = gap[np.isfinite(gap)]
    apart = np.hypot(*np.moveaxis(tracks.xy[ego][:, None] - tracks.xy[other][None], -1, 0))
    mine, theirs = np.nonzero(apart < SAME_PLACE_M)
    order = float(np.median(theirs - mine)) if mine.size else 0.0
    return Closest(gap_m=float(known.min()) if known.size else np.inf, ego_first=order > 0 if order else None)
