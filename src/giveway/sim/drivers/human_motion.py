"""How people follow, and what they note of a decision; compiled pieces of the driver ``human``."""

from __future__ import annotations

import math

from giveway.core.arrays import FloatArray
from giveway.core.kernels import njit

JERK_DOWN = 9.0
"""Largest fall of the acceleration [m/s^3]."""


@njit(cache=True, nogil=True)
def follow(
    v: float, desired: float, gap: float, lead_speed: float, go: float, headway: float, min_gap: float, comfort: float,
    settle: float,
) -> float:  # fmt: skip
    """Acceleration behind a car at bumper distance ``gap`` (infinite without one), see the driver [m/s^2]."""
    free = go * (1.0 - (v / desired) ** 4) if v <= desired else -comfort * (1.0 - (desired / v) ** 2)
    if gap == math.inf:
        return free
    wanted = min_gap + max(v * headway + v * (v - lead_speed) / (2.0 * math.sqrt(go * comfort)), 0.0)
    ratio = wanted / max(gap, 0.1)
    closing = max(v - lead_speed, 0.0)
    needed = closing * closing / (2.0 * max(gap - 0.5, 0.1))
    tight = 3.0 * max(1.0 - 0.5 * gap, 0.0)
    return min(free, max(go * (1.0 - ratio * ratio), -(settle + 1.6 * needed + tight)))


@njit(cache=True, nogil=True)
def time_to_cover(distance: float, v: float, accel: float, top: float) -> float:
    """Seconds to drive a distance from speed ``v`` with an acceleration up to ``top``; 0 if it is not positive."""
    if distance <= 0.0:
        return 0.0
    top = max(top, v + 1e-3)
    ramp = (top - v) / accel
    covered = v * ramp + 0.5 * accel * ramp * ramp
    if covered >= distance:
        return (math.sqrt(v * v + 2.0 * accel * distance) - v) / accel
    return ramp + (distance - covered) / top


@njit(cache=True, nogil=True)
def note_decision(row: FloatArray, other: int, time: float, gap_s: float, gap_m: float, p: float, takes: bool) -> None:
    """Write a row of ``Humans.decided``."""
    row[0] = other
    row[1] = time
    row[2] = gap_s
    row[3] = gap_m
    row[4] = p
    row[5] = 1.0 if takes else 0.0
