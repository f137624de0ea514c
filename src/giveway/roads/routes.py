"""The path of a car: a cubic spline through its recorded positions, tabulated at equal arc length."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.interpolate import CubicSpline

from giveway.core import elementary
from giveway.core.arrays import FloatArray, IntArray
from giveway.core.errors import DataError
from giveway.core.kernels import njit
from giveway.core.smoothing import weighted_windows

STEP_M = 0.25
"""Largest spacing of the table; at 10 m radius the chord is 0.8 mm off the arc."""

KNOT_SPACING_M = 0.5
"""Recorded positions closer than this to the last knot are skipped: at walking pace they are tracking noise."""

STUB_M = 2.0
"""Length of the straight piece that stands for the path of a car that hardly moved."""

CURVE_ACCEL_MPS2 = 3.0
"""Lateral acceleration that the reference speed in a curve allows."""

CURVE_BRAKE_MPS2 = 1.5
"""Deceleration with which the reference speed falls ahead of a curve."""

MAX_SPEED_MPS = 60.0

MAX_LENGTH_M = 20_000.0
"""Longer paths are a mistake in the recording, and would fill the memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CarPath:
    """A planar curve, tabulated at P points of equal spacing.

    Attributes:
        x: (P,) [m].
        y: (P,) [m].
        heading: (P,) direction of travel [rad], unwrapped.
        curve_speed: (P,) reference speed that keeps the lateral acceleration of this and the coming curves low [m/s].
        step_m: spacing along the curve.
    """

    x: FloatArray
    y: FloatArray
    heading: FloatArray
    curve_speed: FloatArray
    step_m: float

    @property
    def length_m(self) -> float:
        """Arc length of the whole table."""
        return (self.x.size - 1) * self.step_m


def path_through(xy: FloatArray, heading_rad: float) -> CarPath:
    """The path through recorded positions.

    Args:
        xy: (N, 2) positions in order of time [m]; N may be 1.
        heading_rad: direction used if the positions do not define one.

    Returns:
        The path. A car that moved less than half a meter gets a straight stub of 2 m along its heading, so that
        geometry stays defined; it starts at the first position.

    Raises:
        DataError: positions that are no path of a car: not finite, or further than 20 km from end to end.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        way = float(np.hypot(*np.diff(xy, axis=0).T).sum())
    if not np.isfinite(xy).all() or not way <= MAX_LENGTH_M:
        raise DataError(
            "these positions are no path of a car",
            found=f"{len(xy)} positions, {way:g} m from the first to the last",
            hint=f"finite positions in meters, at most {MAX_LENGTH_M:g} m of way",
        )
    knots = xy[_knots(np.ascontiguousarray(xy))]
    if len(knots) < 2:
        end = xy[0] + STUB_M * np.array([np.cos(heading_rad), np.sin(heading_rad)])
        knots = np.stack([xy[0], end])
    if len(knots) == 2:
        knots = np.stack([knots[0], knots.mean(axis=0), knots[1]])
    chord = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(knots, axis=0).T))])
    spline = CubicSpline(chord, knots)
    fine = np.linspace(0.0, chord[-1], max(int(chord[-1] / 0.05), 8) + 1)
    points = spline(fine)
    arc = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(points, axis=0).T))])
    count = int(np.ceil(arc[-1] / STEP_M)) + 1
    at = np.interp(np.linspace(0.0, arc[-1], count), arc, fine)
    x, y = spline(at).T
    dx, dy = spline(at, 1).T
    heading = np.unwrap(elementary.arctan2(dy, dx))
    step = float(arc[-1] / (count - 1))
    return CarPath(
        x=np.ascontiguousarray(x),
        y=np.ascontiguousarray(y),
        heading=heading,
        curve_speed=_curve_speed(heading, step),
        step_m=step,
    )


def path_of_way(way: FloatArray) -> CarPath:
    """The path along the center line (P, 2) of a way."""
    return path_through(np.ascontiguousarray(way), float(elementary.arctan2(*(way[-1] - way[0])[::-1])))


def project(path: CarPath, xy: FloatArray) -> tuple[float, float]:
    """Arc length of the foot point and signed lateral offset (left positive) of a position [m].

    The nearest table point decides where on the curve to look; the arc length is not clamped, so a position before the
    start has a negative one.
    """
    at = int(np.argmin((path.x - xy[0]) ** 2 + (path.y - xy[1]) ** 2))
    cos, sin = np.cos(path.heading[at]), np.sin(path.heading[at])
    dx, dy = xy[0] - path.x[at], xy[1] - path.y[at]
    return float(at * path.step_m + cos * dx + sin * dy), float(cos * dy - sin * dx)


@njit(cache=True, nogil=True)
def _knots(xy: FloatArray) -> IntArray:
    """Indices of positions at least half a meter apart, and the last one."""
    kept = np.zeros(xy.shape[0], dtype=np.int64)
    count = 1
    for i in range(1, xy.shape[0]):
        if np.hypot(xy[i, 0] - xy[kept[count - 1], 0], xy[i, 1] - xy[kept[count - 1], 1]) >= KNOT_SPACING_M:
            kept[count] = i
            count += 1
    last = xy.shape[0] - 1
    rest = np.hypot(xy[last, 0] - xy[kept[count - 1], 0], xy[last, 1] - xy[kept[count - 1], 1])
    if count > 1 and rest > 0.5 * KNOT_SPACING_M:
        kept[count] = last
        count += 1
    return kept[:count]


@njit(cache=True, nogil=True)
def _brake_ahead(speed: FloatArray, step: float) -> None:
    """Lower the speeds ahead of slow points so that braking stays comfortable."""
    for i in range(speed.size - 2, -1, -1):
        speed[i] = min(speed[i], np.sqrt(speed[i + 1] ** 2 + 2.0 * CURVE_BRAKE_MPS2 * step))


def _curve_speed(heading: FloatArray, step: float) -> FloatArray:
    curvature = np.abs(np.gradient(heading, step))
    window = min(9, curvature.size)
    smooth = weighted_windows(np.pad(curvature, window // 2, mode="edge"), np.ones(window) / window)
    speed = np.minimum(np.sqrt(CURVE_ACCEL_MPS2 / np.maximum(smooth[: curvature.size], 1e-6)), MAX_SPEED_MPS)
    _brake_ahead(speed, step)
    return speed


def limited(path: CarPath, limit_mps: FloatArray) -> CarPath:
    """The same path with reference speeds that keep to limits (P,) and slow down in time for lower ones."""
    speed = np.minimum(path.curve_speed, limit_mps)
    _brake_ahead(speed, path.step_m)
    return replace(path, curve_speed=speed)


def poses_along(
    path: CarPath, s_m: FloatArray, offset_m: FloatArray | float = 0.0
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Position (..., 2), heading and curvature (...) at arc lengths, shifted to the left; clamped to both ends."""
    where = np.clip(s_m / path.step_m, 0.0, path.x.size - 1.0)
    low = np.minimum(where.astype(np.int64), path.x.size - 2)
    share = where - low
    bend = np.gradient(path.heading, path.step_m)
    x, y, heading, curvature = (v[low] + share * (v[low + 1] - v[low]) for v in (path.x, path.y, path.heading, bend))
    return np.stack([x - offset_m * np.sin(heading), y + offset_m * np.cos(heading)], axis=-1), heading, curvature


def table_of(path: CarPath) -> FloatArray:
    """(P, 6) table for the compiled kernels; columns as in :mod:`giveway.roads.route_tables`."""
    cos, sin = np.cos(path.heading), np.sin(path.heading)
    return np.stack([path.x, path.y, cos, sin, path.heading, path.curve_speed], axis=1)
