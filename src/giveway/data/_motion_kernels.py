"""Compiled: rows of tracks whose columns contradict one another, without an array for every intermediate step."""
# pyright: reportMissingParameterType=false, reportUnknownParameterType=false

from __future__ import annotations

from math import isfinite, sqrt

import numpy as np

from giveway.core.kernels import njit

COUNTED, OFF, FAR_OFF, BACKWARDS = 1, 2, 4, 8
"""Bits of a row: it is compared at all; it contradicts; it contradicts so much that one row is enough."""


@njit(cache=True)
def jump_marks(x, y, time_s, inner, most_mps):
    """(R,) whether row r > 0 continues its track, and lies farther from row r - 1 than anybody drives."""
    marks = np.zeros(len(x), dtype=np.bool_)
    for r in range(1, len(x)):
        dx, dy = x[r] - x[r - 1], y[r] - y[r - 1]
        marks[r] = inner[r - 1] and sqrt(dx * dx + dy * dy) > most_mps * (time_s[r] - time_s[r - 1])
    return marks


@njit(cache=True)
def velocity_marks(x, y, vx, vy, time_s, offsets, step_s, most, far):
    """(R,) bits of the step that ends at each row; ``most`` and ``far`` are bounds [m/s] and shares of the speed.

    A step is compared with the mean of the velocities at its ends. NaN compares false on purpose: a source without
    velocities cannot contradict itself.
    """
    marks = np.zeros(len(x), dtype=np.uint8)
    for a in range(len(offsets) - 1):
        for r in range(offsets[a] + 1, offsets[a + 1]):
            step = time_s[r] - time_s[r - 1]
            if step > 0 and step <= step_s:
                mean_x, mean_y = 0.5 * (vx[r] + vx[r - 1]), 0.5 * (vy[r] + vy[r - 1])
                dx, dy = (x[r] - x[r - 1]) / step - mean_x, (y[r] - y[r - 1]) / step - mean_y
                mismatch, speed = sqrt(dx * dx + dy * dy), sqrt(mean_x * mean_x + mean_y * mean_y)
                off, far_off = mismatch > most[0] + most[1] * speed, mismatch > far[0] + far[1] * speed
                marks[r] = COUNTED | OFF * off | FAR_OFF * far_off
    return marks


@njit(cache=True)
def heading_marks(vx, vy, heading, cos, sin, offsets, walks, vehicle, moving_mps, most_tan, far_tan):
    """(R,) bits of rows of those who move and do not walk; only vehicles are ever far off."""
    marks = np.zeros(len(vx), dtype=np.uint8)
    for a in range(len(offsets) - 1):
        for r in range(offsets[a], offsets[a + 1]):
            moving = vx[r] * vx[r] + vy[r] * vy[r] > moving_mps**2
            if moving and not walks[a] and isfinite(heading[r]):
                along, across = vx[r] * cos[r] + vy[r] * sin[r], vy[r] * cos[r] - vx[r] * sin[r]
                off, far_off = abs(across) > most_tan * abs(along), vehicle[a] and abs(across) > far_tan * abs(along)
                marks[r] = COUNTED | OFF * off | FAR_OFF * far_off | BACKWARDS * (along < 0)
    return marks
