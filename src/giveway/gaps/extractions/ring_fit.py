"""Where the center of a roundabout is, told by those who drive around it.

Vehicles on the ring keep their distance to the center for a while. For stretches s of such tracks, all around one
center c but at radii of their own,

    |x|² = 2 c . x + k_s

is linear in c and k_s, so the center follows from least squares without a starting value for the radii.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from giveway.core import elementary
from giveway.core.arrays import BoolArray, FloatArray
from giveway.core.least_squares import least_squares
from giveway.core.tracks import Tracks

MIN_SPEED_MPS = 2.0
MAX_RADIAL_SHARE = 0.15  # of the direction of travel
MIN_ARC = np.pi / 3
MIN_STRETCHES = 5
TOLERANCE_M = 0.5
SETTLED_M = 0.01
MAX_REFITS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class CircleFit:
    """Attributes:
    center: (2,) [m].
    radius_m: (S,) of each stretch.
    """

    center: FloatArray
    radius_m: FloatArray


def fit_center(recordings: Sequence[Tracks], guess: FloatArray, *, low_m: float, high_m: float) -> CircleFit | None:
    """Common center of the stretches that circle counter-clockwise around ``guess``.

    Args:
        recordings: of one site.
        guess: (2,) approximate center [m].
        low_m, high_m: radii between which circulating vehicles are looked for.

    Returns:
        None with fewer than five stretches of at least 60 degrees.
    """
    stretches = [p for tracks in recordings for p in _circling_stretches(tracks, guess, low_m, high_m)]
    if len(stretches) < MIN_STRETCHES:
        return None
    design: list[FloatArray] = []
    target: list[FloatArray] = []
    for points in stretches:
        square = (points**2).sum(axis=1)
        weight = 1 / np.sqrt(len(points))
        design.append(2 * (points - points.mean(axis=0)) * weight)
        target.append((square - square.mean()) * weight)
    shift = least_squares(np.concatenate(design), np.concatenate(target))
    radii = np.array([np.hypot(*(points - shift).T).mean() for points in stretches])
    return CircleFit(center=guess + shift, radius_m=radii)


def _circling_stretches(tracks: Tracks, guess: FloatArray, low_m: float, high_m: float) -> Iterator[FloatArray]:
    """Positions relative to the guess, one array per stretch."""
    relative = tracks.xy - guess
    radius = np.hypot(relative[..., 0], relative[..., 1])
    speed = tracks.speed
    with np.errstate(invalid="ignore", divide="ignore"):
        radial = (relative * tracks.velocity).sum(axis=2) / (radius * speed)
        turn = relative[..., 0] * tracks.velocity[..., 1] - relative[..., 1] * tracks.velocity[..., 0]
        circling = (radius > low_m) & (radius < high_m) & (speed > MIN_SPEED_MPS) & (turn > 0)
        circling &= np.abs(radial) < MAX_RADIAL_SHARE
    for agent in np.flatnonzero(circling.any(axis=1)):
        for stretch in _runs(circling[agent]):
            points = relative[agent, stretch]
            angle = np.unwrap(elementary.arctan2(points[:, 1], points[:, 0]))
            if len(points) >= 3 and np.ptp(angle) >= MIN_ARC:
                yield points


def own_center(
    tracks: Tracks, center: FloatArray, *, inner_m: float, outer_m: float, where: str
) -> tuple[FloatArray, str]:
    """The center that the vehicles of one recording circulate around, and a note for the report.

    The published center is kept where the fit confirms it within 0.5 m: the camera is then framed as published, and the
    rest is noise of the fit. Otherwise the fit is repeated around its own result, until it stays within 1 cm.

    Args:
        tracks: of the recording.
        center: (2,) published [m].
        inner_m, outer_m: radii of the ring.
        where: for the note.
    """
    guess, off, stretches = center, 0.0, 0
    for _ in range(MAX_REFITS):
        fit = fit_center([tracks], guess, low_m=inner_m, high_m=outer_m)
        if fit is None:
            return center, f"{where}: too few vehicles circulate to check the center of the roundabout"
        off = float(np.hypot(*(fit.center - center)))
        if off <= TOLERANCE_M:
            return center, f"{where}: center of the roundabout confirmed within {off:.2f} m"
        moved, guess, stretches = float(np.hypot(*(fit.center - guess))), fit.center, len(fit.radius_m)
        if moved < SETTLED_M:
            break
    shift = guess - center
    return guess, (
        f"{where}: the vehicles circulate around a center {off:.2f} m from the published one "
        f"({shift[0]:+.2f}, {shift[1]:+.2f}) m, from {stretches} stretches"
    )


def _runs(flags: BoolArray) -> list[slice]:
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flags.astype(np.int8), [0]])))
    return [slice(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]
