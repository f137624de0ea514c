"""Paths with continuous curvature, and where a vehicle on them is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from giveway.core import elementary
from giveway.core.arrays import FloatArray
from giveway.core.smoothing import weighted_windows

STEP_M = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Path:
    """A smooth line sampled every :data:`STEP_M`.

    Attributes:
        xy: (K, 2) points [m].
        heading: (K,) direction of travel [rad], unwrapped.
        curvature: (K,) 1/m, positive to the left.
    """

    xy: FloatArray
    heading: FloatArray
    curvature: FloatArray

    @property
    def length_m(self) -> float:
        """Arc length from the first to the last point."""
        return (self.heading.shape[0] - 1) * STEP_M

    def at(self, s_m: FloatArray, offset_m: FloatArray | float = 0.0) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Position (..., 2), heading (...) and curvature (...) at arc lengths ``s_m``.

        The position is shifted ``offset_m`` to the left; arc lengths outside the path are clamped to its ends.
        """
        where = np.clip(s_m, 0.0, self.length_m) / STEP_M
        low = np.minimum(where.astype(np.int64), self.heading.shape[0] - 2)
        share = where - low
        heading = self.heading[low] * (1 - share) + self.heading[low + 1] * share
        curvature = self.curvature[low] * (1 - share) + self.curvature[low + 1] * share
        xy = self.xy[low] * (1 - share)[..., None] + self.xy[low + 1] * share[..., None]
        normal = np.stack([-np.sin(heading), np.cos(heading)], axis=-1)
        return xy + normal * np.asarray(offset_m)[..., None], heading, curvature


def smooth_path(*pieces: FloatArray, sigma_m: float = 1.0) -> Path:
    """One path through consecutive pieces, corners and jumps of curvature rounded by a Gaussian.

    Args:
        pieces: (K, 2) points each, in order of travel; the end of one is the start of the next.
        sigma_m: width of the Gaussian along the path; the ends of the path stay straight.
    """
    even = _resample(np.concatenate(pieces))
    reach = int(4 * sigma_m / STEP_M)
    kernel = elementary.exp(-0.5 * (np.arange(-reach, reach + 1) * STEP_M / sigma_m) ** 2)
    kernel /= kernel.sum()
    before = 2 * even[0] - even[reach:0:-1]
    after = 2 * even[-1] - even[-2 : -reach - 2 : -1]
    padded = np.concatenate([before, even, after])
    xy = _resample(weighted_windows(padded, kernel))
    slope = np.gradient(xy, STEP_M, axis=0)
    heading = np.unwrap(elementary.arctan2(slope[:, 1], slope[:, 0]))
    return Path(xy=xy, heading=heading, curvature=np.gradient(heading, STEP_M))


def _resample(points: FloatArray) -> FloatArray:
    step = np.hypot(*np.diff(points, axis=0).T)
    keep = np.concatenate([[True], step > 1e-9])
    points = points[keep]
    along = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(points, axis=0).T))])
    grid = np.arange(int(along[-1] / STEP_M) + 1) * STEP_M
    return np.stack([np.interp(grid, along, points[:, k]) for k in (0, 1)], axis=1)
