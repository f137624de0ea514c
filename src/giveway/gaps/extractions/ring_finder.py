"""Finds a roundabout that nobody has described: many vehicles turn left for a long way around one point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from giveway.core import elementary
from giveway.core.arrays import FloatArray
from giveway.core.least_squares import least_squares
from giveway.core.tracks import Tracks
from giveway.gaps.extractions.ring_fit import fit_center
from giveway.gaps.extractions.ring_geometry import LANE_WIDTH_M
from giveway.gaps.extractions.ring_roles import Ring

SPACING_M = 1.0
WINDOW_M = 8.0
SURE_TURN = np.radians(160)  # no left turn at an intersection goes that far round
LIKELY_TURN = np.radians(120)  # enough where a roundabout is known to be
RADII_M = (5.0, 40.0)
AGREEMENT_M = 3.0
MIN_VOTES = 4
MIN_PATH_M = 20.0


def find_ring(recordings: Sequence[Tracks], *, is_known: bool) -> Ring | None:
    """Center and radii of the roundabout in recordings of one site; None if there is none.

    Every track that keeps turning left by more than 160 degrees votes for the center of the circle through that part;
    if nobody does and the site ``is_known`` to be a roundabout, 120 degrees are enough. The point with most votes
    within 3 m is refined by :func:`fit_center`; the outer radius is half a lane outside the 90 % quantile of the radii
    that are driven, the island a lane inside the 5 % quantile. Where nobody turns left that far, those who turn right
    are asked: traffic on the left side goes around clockwise.
    """
    for min_turn in (SURE_TURN, LIKELY_TURN) if is_known else (SURE_TURN,):
        ring = _ring_with(recordings, min_turn)
        if ring is not None:
            return ring
        ring = _ring_with([_mirrored(tracks) for tracks in recordings], min_turn)
        if ring is not None:
            return replace(ring, center=ring.center * MIRROR, turn=-1)
    return None


MIRROR = np.array([1.0, -1.0])


def _mirrored(tracks: Tracks) -> Tracks:
    """The same tracks seen from below."""
    return replace(tracks, xy=tracks.xy * MIRROR, velocity=tracks.velocity * MIRROR, heading=-tracks.heading)


def _ring_with(recordings: Sequence[Tracks], min_turn: float) -> Ring | None:
    ballots = (_vote(tracks, agent, min_turn) for tracks in recordings for agent in range(tracks.num_agents))
    votes = [vote for vote in ballots if vote is not None]
    if len(votes) < MIN_VOTES:
        return None
    centers = np.array([center for center, _ in votes])
    near = np.linalg.norm(centers[:, None] - centers[None], axis=2) < AGREEMENT_M
    best = int(near.sum(axis=1).argmax())
    if near[best].sum() < MIN_VOTES:
        return None
    guess = np.median(centers[near[best]], axis=0)
    radius = float(np.median([r for (_, r), chosen in zip(votes, near[best], strict=True) if chosen]))
    fit = fit_center(recordings, guess, low_m=0.6 * radius, high_m=1.5 * radius)
    if fit is None or np.hypot(*(fit.center - guess)) > AGREEMENT_M:
        return None
    low, high = np.quantile(fit.radius_m, (0.05, 0.9))
    return Ring(
        center=fit.center,
        outer_m=float(high) + LANE_WIDTH_M / 2,
        inner_m=max(float(low) - LANE_WIDTH_M, 1.0),
    )


def _vote(tracks: Tracks, agent: int, min_turn: float) -> tuple[FloatArray, float] | None:
    """Center and radius of the longest part of a track that turns left steadily."""
    points = _evenly_spaced(tracks.xy[agent, tracks.observed[agent]])
    if points is None:
        return None
    steps = round(WINDOW_M / SPACING_M / 2)
    heading = np.unwrap(elementary.arctan2(*(points[steps:] - points[:-steps]).T[::-1]))
    turn = heading[steps:] - heading[:-steps]
    curvature = turn / (steps * SPACING_M)
    left = (curvature > 1 / RADII_M[1]) & (curvature < 1 / RADII_M[0])
    edges = np.flatnonzero(np.diff(np.concatenate([[0], left.astype(np.int8), [0]])))
    for begin, end in sorted(zip(edges[::2], edges[1::2], strict=True), key=lambda run: run[0] - run[1]):
        part = points[begin + steps : end + steps]
        if len(part) > 3 and curvature[begin:end].sum() * SPACING_M > min_turn:
            design = np.column_stack([2 * part, np.ones(len(part))])
            solution = least_squares(design, (part**2).sum(axis=1))
            center = solution[:2]
            radius = float(np.sqrt(max(solution[2] + (center**2).sum(), 0.0)))
            return (center, radius) if RADII_M[0] <= radius <= RADII_M[1] else None
    return None


def _evenly_spaced(xy: FloatArray) -> FloatArray | None:
    way = np.concatenate([[0.0], np.hypot(*np.diff(xy, axis=0).T).cumsum()])
    if way[-1] < MIN_PATH_M:
        return None
    at = np.arange(0.0, way[-1], SPACING_M)
    return np.column_stack([np.interp(at, way, xy[:, 0]), np.interp(at, way, xy[:, 1])])
