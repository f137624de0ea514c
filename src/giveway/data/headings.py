"""Headings for sources that give none."""

from __future__ import annotations

import numpy as np

from giveway.core import elementary
from giveway.core.arrays import BoolArray, FloatArray

MIN_SPEED_FOR_HEADING_MPS = 0.5
"""Below this the direction of the velocity is mostly noise, so the last good heading is kept."""


def heading_from_velocity(velocity: FloatArray, observed: BoolArray) -> FloatArray:
    """Direction of motion, held while an agent is slow.

    Causal: a value depends on the present and the past only.

    Args:
        velocity: (A, T, 2) [m/s]; NaN allowed.
        observed: (A, T).

    Returns:
        (A, T) radians; NaN where not observed and until an agent first moves.
    """
    speed = np.hypot(velocity[..., 0], velocity[..., 1])
    moving = observed & (speed > MIN_SPEED_FOR_HEADING_MPS)
    instants = np.arange(observed.shape[1])
    latest = np.maximum.accumulate(np.where(moving, instants, -1), axis=1)
    direction = np.full(observed.shape, np.nan)
    direction[moving] = elementary.arctan2(velocity[moving, 1], velocity[moving, 0])
    held = np.take_along_axis(direction, np.maximum(latest, 0), axis=1)
    return np.where(observed & (latest >= 0), held, np.nan)
