"""Unnaturalness of a step: how rare it is among recorded steps of the same maneuver; compiled.

One set of features for recorded and simulated tracks, from differences over 0.5 s. A step belongs to one of six
classes, {free, following} x {keeping, changing lanes, turning}. With the log-density l of its features in its class,

    p = (#{recorded l' <= l} + 1/2) / (n + 1),     raw = clip(ln(alpha / p), 0, 5),     c = raw / 5,     alpha = 0.05

so that recorded traffic has the mean raw cost alpha (1 - exp(-5)) = 0.0497. Standing has a rule of its own. Without
recordings c is what exceeds bounds of comfort.
"""

from __future__ import annotations

import math

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.kernels import njit
from giveway.generate.objective.arrays import DT_S, ManeuverPrior
from giveway.sim.locate import wrapped

VARIABLES = ("accel_mps2", "jerk_mps3", "lateral_accel_mps2", "lateral_speed_mps", "headway_s")
MANEUVERS = ("keeping", "changing lanes", "turning")
CLASSES = tuple(f"{lead}, {maneuver}" for lead in ("free", "following") for maneuver in MANEUVERS)
HEADWAY = VARIABLES.index("headway_s")

ALPHA = 0.05
"""Steps that are no rarer than this cost nothing."""
LARGEST = 5.0
LEVELS = 256
"""Entries of the table of ranks, alpha exp(-5 j / 256)."""

SPAN = 5
"""Ticks of a difference: 0.5 s, as if speeds were averaged that long, because tracking noise is no acceleration."""
STANDING_MPS = 0.5
FOLLOWING_S = 4.0
CHANGING_MPS = 0.3
TURNING_PM = 0.02
"""Curvature of the lane from which on a car turns, 1/50 m."""

COMFORT = np.array([3.0, 5.0, 2.0, 1.5])
"""Magnitudes of acceleration [m/s^2], jerk [m/s^3], lateral acceleration [m/s^2] and lateral speed [m/s] beyond which a
step is unnatural where no recordings say so; about the limits of ISO 15622 for assisted driving at town speeds."""

STANDING = -1
WAITS_BEHIND_M, WAITS_BEFORE_M = 10.0, 15.0
"""Standing is natural with somebody at most this far ahead, or a give-way line at most this far ahead."""


def rank_levels() -> FloatArray:
    """(256,) ranks at which the cost grows by a step, falling."""
    return np.array([ALPHA * math.exp(-LARGEST * j / LEVELS) for j in range(LEVELS)])


@njit(nogil=True)
def step_features(recent: FloatArray, curvature: float, headway: float, out: FloatArray) -> int:
    """Write the five features of a step; returns its class, or -1 for a standing car.

    Args:
        recent: (7, 2) speed [m/s] and heading relative to the lane [rad] of the last ticks, newest first.
        curvature: of the lane [1/m].
        headway: time to the car ahead [s]; inf without one.
        out: (5,) in the order of :data:`VARIABLES`; sides do not matter.
    """
    span = SPAN * DT_S
    speed, turn = recent[0, 0], recent[0, 1]
    accel, before = (speed - recent[SPAN, 0]) / span, (recent[1, 0] - recent[SPAN + 1, 0]) / span
    turned = wrapped(turn - recent[SPAN, 1])
    out[0] = accel
    out[1] = (accel - before) / DT_S
    out[2] = abs(speed * turned / span)
    out[3] = abs(speed * math.sin(turn))
    out[4] = headway
    if speed < STANDING_MPS:
        return STANDING
    maneuver = 2 if abs(curvature) > TURNING_PM else (1 if out[3] > CHANGING_MPS else 0)
    return maneuver + (3 if headway < FOLLOWING_S else 0)


@njit(nogil=True)
def class_density(prior: ManeuverPrior, kind: int, features: FloatArray) -> float:
    """Log-density of a step in its class; the headway counts behind somebody only."""
    total = 0.0
    last = prior.log_density.shape[2] - 1
    for v in range(HEADWAY + 1 if kind >= len(MANEUVERS) else HEADWAY):
        at = math.floor((features[v] - prior.low[v]) / prior.width[v])
        total += prior.log_density[kind, v, min(max(at, 0), last)]
    return total


@njit(nogil=True)
def unnaturalness(prior: ManeuverPrior, kind: int, features: FloatArray) -> float:
    """Cost in [0, 1] of a moving car; without recordings clip(max_v |x_v| / bound_v - 1, 0, 1)."""
    if prior.log_density.shape[2] == 0:
        excess = 0.0
        for v in range(COMFORT.size):
            excess = max(excess, abs(features[v]) / COMFORT[v] - 1.0)
        return min(excess, 1.0)
    density = class_density(prior, kind, features)
    low, high = 0, LEVELS  # the number of levels whose bound lies above the density
    while low < high:
        middle = (low + high) // 2
        if prior.ranks[kind, middle] > density:
            low = middle + 1
        else:
            high = middle
    return low / LEVELS


@njit(nogil=True)
def standing_cost(gap: float, front_m: float, lines: FloatArray) -> float:
    """1 for a car that stands for no reason, else 0.

    Args:
        gap: to the car ahead [m]; inf without one.
        front_m: place of the front bumper along the way [m].
        lines: give-way lines of the way [m], NaN where there are fewer.
    """
    if gap <= WAITS_BEHIND_M:
        return 0.0
    for line in lines:
        if 0.0 <= line - front_m <= WAITS_BEFORE_M:
            return 0.0
    return 1.0
