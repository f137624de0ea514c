"""Polylines with arc length: paths, center lines, bounds; and coordinates along and beside them (Frenet)."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import ArrayLike

from giveway.core import _polyline_kernels, elementary
from giveway.core.arrays import FloatArray
from giveway.core.errors import DataError
from giveway.core.frames import wrap_angle

MIN_STEP_M = 1e-6
"""Points nearer than this to the one before are the same point."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PathPoints:
    """Where a path is, and how it lies there.

    Attributes:
        xy: (..., 2) position [m].
        heading: (...) direction of travel in [-pi, pi) [rad].
        curvature: (...) [1/m], positive to the left.
    """

    xy: FloatArray
    heading: FloatArray
    curvature: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Frenet:
    """Coordinates along and beside a path.

    Attributes:
        s: (...) arc length [m]; negative before the start, beyond ``length_m`` after the end.
        d: (...) offset [m], positive to the left.
    """

    s: FloatArray
    d: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Crossing:
    """Where two paths meet.

    Attributes:
        xy: (2,) point [m].
        s_first: arc length on the first path [m].
        s_second: arc length on the second path [m].
    """

    xy: FloatArray
    s_first: float
    s_second: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Polyline:
    """A chain of at least two different points; make one with :func:`polyline`.

    Attributes:
        points: (P, 2) no two consecutive ones equal [m].
        arc: (P,) arc length at the points, from 0 [m].
        vertex_heading: (P,) direction at the points: halfway between both segments, that of the segment at the ends;
            unwrapped, so that it can be interpolated [rad].
        vertex_curvature: (P,) of the circle through a point and its neighbors, positive to the left; the ends repeat
            their neighbor's; 0 for two points [1/m].
    """

    points: FloatArray
    arc: FloatArray
    vertex_heading: FloatArray
    vertex_curvature: FloatArray

    @property
    def length_m(self) -> float:
        """Arc length of the last point."""
        return float(self.arc[-1])

    def at(self, s: ArrayLike) -> PathPoints:
        """Position, heading and curvature at arc lengths.

        Positions are linear between the points; heading and curvature are linear between their values at the points,
        so they are continuous. Before the start and after the end the path goes on straight, with curvature 0.

        Args:
            s: (...) [m]; NaN gives NaN.
        """
        s = np.asarray(s, dtype=np.float64)
        inside = np.clip(s, 0.0, self.length_m)
        heading = np.interp(inside, self.arc, self.vertex_heading)
        xy = np.stack([np.interp(inside, self.arc, self.points[:, axis]) for axis in (0, 1)], axis=-1)
        beyond = (s - inside)[..., None]
        xy = xy + beyond * np.stack([np.cos(heading), np.sin(heading)], axis=-1)
        curvature = np.where(s == inside, np.interp(inside, self.arc, self.vertex_curvature), 0.0)
        curvature = np.where(np.isnan(s), np.nan, curvature)
        return PathPoints(xy=xy, heading=wrap_angle(heading), curvature=curvature)

    def project(self, xy: FloatArray, *, near_s: ArrayLike | None = None, window_m: float = 10.0) -> Frenet:
        """Arc length of the nearest point of the path, and the offset from it.

        Ties go to the smaller arc length. On the outside of a bend, where the corner is nearest to a whole wedge, s is
        that of the corner and d the distance to it. Where the first or last point is nearest, s and d are measured
        along the straight continuation of the end segment, so s leaves [0, length_m].

        Args:
            xy: (..., 2) points [m]; NaN gives NaN.
            near_s: (...) expected arc lengths; only stretches within ``window_m`` of them compete. Follow a car this
                way where a path crosses itself.
            window_m: see ``near_s``.
        """
        xy = np.asarray(xy, dtype=np.float64)
        batch = xy.shape[:-1]
        near = np.full(batch, np.nan) if near_s is None else np.broadcast_to(np.asarray(near_s, np.float64), batch)
        flat = np.ascontiguousarray(xy.reshape(-1, 2))
        out = _polyline_kernels.project(self.points, self.arc, flat, np.ascontiguousarray(near.ravel()), window_m)
        return Frenet(s=out[:, 0].reshape(batch), d=out[:, 1].reshape(batch))

    def to_xy(self, s: ArrayLike, d: ArrayLike) -> FloatArray:
        """(..., 2) points at arc length s and offset d, along the normal of the segment that holds s [m].

        At a corner the segment after it counts. The inverse of :meth:`project` wherever that is one to one: off the
        outside of corners, and nearer to the path than its radius of curvature.
        """
        s, d = np.broadcast_arrays(np.asarray(s, dtype=np.float64), np.asarray(d, dtype=np.float64))
        segment = np.clip(np.searchsorted(self.arc, s, side="right") - 1, 0, len(self.arc) - 2)
        step = np.diff(self.points, axis=0) / np.diff(self.arc)[:, None]
        along = step[segment]
        normal = np.stack([-along[..., 1], along[..., 0]], axis=-1)
        return self.points[segment] + (s - self.arc[segment])[..., None] * along + d[..., None] * normal

    def resample(self, spacing_m: float) -> Polyline:
        """The same path with points every ``spacing_m`` or a little less, so that both ends stay."""
        if not spacing_m > 0:
            raise ValueError(f"spacing_m must be positive, got {spacing_m}")
        return self.resample_to(max(ceil(self.length_m / spacing_m - 1e-9), 1) + 1)

    def resample_to(self, num_points: int) -> Polyline:
        """The same path with ``num_points`` equally spaced points (at least 2)."""
        if num_points < 2:
            raise ValueError(f"num_points must be at least 2, got {num_points}")
        return polyline(self.at(np.linspace(0.0, self.length_m, num_points)).xy)

    def between(self, start_s: float, stop_s: float) -> Polyline:
        """The piece from ``start_s`` to ``stop_s``; either may lie beyond the ends."""
        inner = self.points[(self.arc > start_s) & (self.arc < stop_s)]
        ends = self.at([start_s, stop_s]).xy
        return polyline(np.concatenate([ends[:1], inner, ends[1:]]))


def polyline(points: ArrayLike, *, where: object = None) -> Polyline:
    """Prepare a chain of points; repeated ones are dropped.

    Args:
        points: (P, 2) [m].
        where: said in the error message, e.g. ``"lanelet 30001"``.

    Raises:
        DataError: if there are fewer than two different points, or any is not finite.
    """
    chain = np.ascontiguousarray(points, dtype=np.float64)
    if chain.ndim != 2 or chain.shape[1] != 2:
        raise ValueError(f"a polyline is made of (P, 2) points, got shape {chain.shape}")
    if not np.isfinite(chain).all():
        bad = int(np.flatnonzero(~np.isfinite(chain).all(axis=1))[0])
        raise DataError(
            "a path has a point that is not a finite number", where=where, found=f"point {bad}: {chain[bad]}"
        )
    chain = _without_repeats(chain)
    if len(chain) < 2:
        raise DataError(
            "a path needs at least two different points",
            where=where,
            found=f"{len(np.atleast_1d(points))} point(s), {len(chain)} different",
            hint="leave out agents that never move, or give the path another point",
        )
    step = np.diff(chain, axis=0)
    length = np.hypot(step[:, 0], step[:, 1])
    return Polyline(
        points=chain,
        arc=np.concatenate([[0.0], np.cumsum(length)]),
        vertex_heading=_vertex_heading(step),
        vertex_curvature=_vertex_curvature(chain, step, length),
    )


def crossings(first: Polyline, second: Polyline) -> list[Crossing]:
    """All points where two paths cross or touch, in the order of the first.

    Where stretches lie on top of each other, only their corners and ends are. Meetings nearer than :data:`MIN_STEP_M`
    on both paths (at a shared corner) are one.
    """
    found = _polyline_kernels.crossings(first.points, first.arc, second.points, second.arc)
    found = found[np.lexsort((found[:, 1], found[:, 0]))]
    kept: list[Crossing] = []
    for s, r in found:
        if kept and abs(s - kept[-1].s_first) < MIN_STEP_M and abs(r - kept[-1].s_second) < MIN_STEP_M:
            continue
        kept.append(Crossing(xy=first.at(s).xy, s_first=float(s), s_second=float(r)))
    return kept


def _without_repeats(chain: FloatArray) -> FloatArray:
    keep = np.ones(len(chain), dtype=bool)
    last = 0
    for i in range(1, len(chain)):
        keep[i] = bool(np.hypot(*(chain[i] - chain[last])) >= MIN_STEP_M)
        last = i if keep[i] else last
    return chain[keep]


def _vertex_heading(step: FloatArray) -> FloatArray:
    """Half the turn at each corner belongs to either side; a full reversal turns left."""
    heading = elementary.arctan2(step[:, 1], step[:, 0])
    turn = wrap_angle(np.diff(heading))
    unwrapped = heading[0] + np.concatenate([[0.0], np.cumsum(turn)])
    return np.concatenate([unwrapped[:1], unwrapped[:-1] + 0.5 * turn, unwrapped[-1:]])


def _vertex_curvature(chain: FloatArray, step: FloatArray, length: FloatArray) -> FloatArray:
    """Menger curvature: four times the signed area of a triangle over the product of its sides."""
    if len(step) < 2:
        return np.zeros(2)
    cross = step[:-1, 0] * step[1:, 1] - step[:-1, 1] * step[1:, 0]
    across = np.hypot(*(chain[2:] - chain[:-2]).T)
    inner = np.divide(2.0 * cross, length[:-1] * length[1:] * across, out=np.zeros_like(cross), where=across > 0)
    return np.concatenate([inner[:1], inner, inner[-1:]])


def cubic_bezier(
    start: FloatArray, first: FloatArray, second: FloatArray, end: FloatArray, t: FloatArray
) -> FloatArray:
    """Points (N, 2) of a cubic Bezier curve with two control points, at parameters ``t`` (N,) in [0, 1]."""
    t = t[:, None]
    u = 1.0 - t
    # Products, not powers: NumPy's power has another last bit on another vector unit.
    return u * u * u * start + 3.0 * u * u * t * first + 3.0 * u * t * t * second + t * t * t * end
