"""Terms over the speed of one car: jerk and shortfall below a desired speed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray

Normalizer = Literal["n", "n-1", "valid"]
"""What a sum of squares is divided by: all samples, one less, or those that have a second difference."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedRecord:
    """Speed of one car over a case.

    Attributes:
        speed: (T,) m/s; anything where absent.
        present: (T,) bool.
    """

    speed: FloatArray
    present: BoolArray


def jerk_of_speed(speed: FloatArray, dt_s: float) -> FloatArray:
    """Second difference of scalar speed, unsmoothed.

        j_k = (v_k - 2 v_{k-1} + v_{k-2}) / dt^2,   j_0 = j_1 = 0

    Args:
        speed: (T,) m/s without gaps.
        dt_s: sampling interval.

    Returns:
        (T,) m/s^3.
    """
    jerk = np.zeros(speed.shape)
    jerk[2:] = (speed[2:] - 2.0 * speed[1:-1] + speed[:-2]) / dt_s**2
    return jerk


def runs_of(present: BoolArray) -> list[tuple[int, int]]:
    """Half-open runs of True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], present, [False]]).astype(np.int8)))
    return [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def rms_jerk(record: SpeedRecord, dt_s: float, normalizer: Normalizer) -> float:
    """Root of the normalized sum of squared jerks; differences never cross a gap.

    Returns:
        m/s^3; 0 with fewer than three samples in every run.
    """
    runs = runs_of(record.present)
    squares = sum(float((jerk_of_speed(record.speed[a:b], dt_s) ** 2).sum()) for a, b in runs)
    count = {
        "n": sum(b - a for a, b in runs),
        "n-1": sum(b - a for a, b in runs) - 1,
        "valid": sum(max(b - a - 2, 0) for a, b in runs),
    }[normalizer]
    return float(np.sqrt(squares / count)) if count > 0 else 0.0


def rms_shortfall(record: SpeedRecord, desired_speed_mps: float, normalizer: Normalizer) -> float:
    """Root of the normalized sum of squares of min(v - v_d, 0).

    All samples are valid here, so ``valid`` equals ``n``.

    Returns:
        m/s; 0 without samples (with ``n-1``: with fewer than two).
    """
    short = np.minimum(record.speed[record.present] - desired_speed_mps, 0.0)
    count = short.size - 1 if normalizer == "n-1" else short.size
    return float(np.sqrt((short**2).sum() / count)) if count > 0 else 0.0
