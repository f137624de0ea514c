"""Agents that are not there, invented for models with inputs of fixed size (published behavior at roundabouts)."""

from __future__ import annotations

import numpy as np

from giveway.core import elementary
from giveway.core.arrays import BoolArray, FloatArray, IntArray
from giveway.gaps.prediction_time import DT_S
from giveway.gaps.profile import Profile

DRIVING_MPS = 10.0
CIRCLING_MPS = 5.0
FAR_M = 500.0  # distance of absent agents from the center, as printed
NOWHERE = np.array([-200.0, 50.0])


def complete_ring(xy: FloatArray, roles: tuple[str, ...], radius_m: FloatArray, profile: Profile) -> FloatArray:
    """Invent roles 1 to 4 where they are absent, and extend those that are there part of the time.

    ======  =====================================  ==========================================================
    role    never recorded (radius, angle)         recorded part of the time
    ======  =====================================  ==========================================================
    1       (R + 40 + 10 t, 0.4 pi)                outside R: same angle, radius goes on (10 m/s from one point)
    2       (R + 40 + 10 (n_I dt - t), -0.9 pi)    inside R: same radius, angle goes on (5 m/s from one point)
    3       (R + 20 + 10 t, 0.4 pi)                as 1
    4       at (-200, 50)                          linear in time; ``ped_fill = x_from_y``: x and y are the known y,
                                                   ends held, as published by a slip
    ======  =====================================  ==========================================================

    Args:
        xy: (M, A, n_I, 2) [m].
        roles: along axis 1.
        radius_m: (M,) R.
        profile: uses ``phantoms`` and ``ped_fill``.
    """
    if profile.phantoms == "mask" or len(roles) <= 2:
        return xy
    xy = xy.copy()
    steps = np.arange(xy.shape[2])
    t = steps * DT_S
    rest = (xy.shape[2] - steps) * DT_S
    far = {"1": (40.0, t, 0.4 * np.pi), "2": (40.0, rest, -0.9 * np.pi), "3": (20.0, t, 0.4 * np.pi)}
    for i in range(len(xy)):
        for role, (beyond, seconds, angle) in far.items():
            k = roles.index(role)
            known = np.isfinite(xy[i, k]).all(axis=1)
            if not known.any():
                radius = radius_m[i] + beyond + DRIVING_MPS * seconds
                if profile.phantoms == "far":
                    radius = np.full(len(steps), FAR_M)
                xy[i, k] = radius[:, None] * np.array([np.cos(angle), np.sin(angle)])
            elif not known.all():
                xy[i, k] = _extended(xy[i, k], known, float(radius_m[i]))
        k = roles.index("4")
        known = np.isfinite(xy[i, k]).all(axis=1)
        if not known.any():
            xy[i, k] = NOWHERE if profile.phantoms == "invented" else FAR_M * NOWHERE / np.hypot(*NOWHERE)
        elif not known.all() and profile.ped_fill == "x_from_y":
            xy[i, k] = np.interp(steps, steps[known], xy[i, k, known, 1])[:, None]
        elif not known.all():
            for axis in (0, 1):
                xy[i, k, ~known, axis] = _linear(steps, known, xy[i, k, :, axis].copy())[~known]
    return xy


def _extended(xy: FloatArray, known: BoolArray, outer: float) -> FloatArray:
    """Polar continuation of a track that begins or ends within the inputs; holes are interpolated.

    A single point outside the ring drives away, whichever way its car went: the published code does so for all roles.
    """
    default = DRIVING_MPS * DT_S
    steps = np.arange(len(xy))
    radius = np.hypot(xy[:, 0], xy[:, 1])
    angle = np.full(len(xy), np.nan)
    angle[known] = np.unwrap(elementary.arctan2(xy[known, 1], xy[known, 0]))
    first, last = int(steps[known][0]), int(steps[known][-1])
    inner = (steps >= first) & (steps <= last)
    for values in (radius, angle):
        values[inner] = np.interp(steps[inner], steps[known], values[known])
    for edge, neighbor, missing in ((last, last - 1, steps > last), (first, first + 1, steps < first)):
        has_step = first <= neighbor <= last
        count = (steps - edge)[missing]
        if radius[edge] > outer:
            change = (radius[edge] - radius[neighbor]) * np.sign(edge - neighbor) if has_step else default
            radius[missing], angle[missing] = radius[edge] + change * count, angle[edge]
        else:
            change = (angle[edge] - angle[neighbor]) * np.sign(edge - neighbor) if has_step else None
            if change is None:
                change = CIRCLING_MPS * DT_S / max(float(radius[edge]), 1.0)
            radius[missing], angle[missing] = radius[edge], angle[edge] + change * count
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1).astype(np.float64)


def _linear(steps: IntArray, known: BoolArray, values: FloatArray) -> FloatArray:
    """Linear in time through the known points, also beyond them; constant from a single one."""
    if known.sum() == 1:
        return np.full(len(steps), float(values[known][0]))
    inside = np.interp(steps, steps[known], values[known])
    a, b = np.flatnonzero(known)[:2]
    c, d = np.flatnonzero(known)[-2:]
    before = values[a] + (values[b] - values[a]) / (b - a) * (steps - a)
    after = values[d] + (values[d] - values[c]) / (d - c) * (steps - d)
    return np.where(steps < a, before, np.where(steps > d, after, inside))
