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
from giveway.core.errors import DataError
from giveway.core.least_squares import least_squares
from giveway.core.tracks import Tracks

MIN_SPEED_MPS = 2.0
MAX_RADIAL_SHARE = 0.15  # of the direction of travel
MIN_ARC = np.pi / 3
MIN_STRETCHES = 5
TOLERANCE_M = 0.5


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


def check_center(tracks: Tracks, center: FloatArray, *, inner_m: float, outer_m: float, where: str) -> str:
    """Compare a given center with the circulating tracks.

    Returns:
        A note for the report.

    Raises:
        DataError: if the fitted center is more than 0.5 m away.
    """
    fit = fit_center([tracks], center, low_m=inner_m, high_m=outer_m)
    if fit is None:
        return f"{where}: too few vehicles circulate to check the center of the roundabout"
    off = float(np.hypot(*(fit.center - center)))
    if off > TOLERANCE_M:
        raise DataError(
            "the circulating vehicles go around another center than the one of this location",
            where=where,
            found=f"fitted ({fit.center[0]:.2f}, {fit.center[1]:.2f}) m, "
            f"expected ({center[0]:.2f}, {center[1]:.2f}) m, {off:.2f} m apart, from {len(fit.radius_m)} stretches",
            hint="the camera may have been framed differently; leave the recording out, or try the other setting of "
            "the switch scale_per_recording",
        )
    return f"{where}: center of the roundabout confirmed within {off:.2f} m"


def _runs(flags: BoolArray) -> list[slice]:
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flags.astype(np.int8), [0]])))
    return [slice(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]
