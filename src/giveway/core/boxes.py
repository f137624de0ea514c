"""Oriented boxes and discs: do they overlap, how far are they apart, how deep do they sit in each other.

A footprint is a box of ``size`` grown by a disc of ``radius``: cars have radius 0, pedestrians size 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from giveway.core import _box_kernels
from giveway.core.arrays import BoolArray, FloatArray, IntArray
from giveway.core.tracks import AgentKind, Tracks

VULNERABLE_DIAMETER_M = 1.5
"""Disc for pedestrians and cyclists without a size; the official INTERACTION viewer draws a square of this side."""

VEHICLE_SIZE_M = (4.5, 1.8)
"""Length and width of a motor vehicle whose source gives none: a passenger car."""

VULNERABLE = (AgentKind.BICYCLE, AgentKind.PEDESTRIAN, AgentKind.PEDESTRIAN_OR_BICYCLE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Boxes:
    """Footprints of any shape of batch.

    Attributes:
        xy: (..., 2) centers [m]; NaN for an absent one, which overlaps nothing and is NaN away from everything.
        heading: (...) direction of the length [rad].
        size: (..., 2) length and width [m], not negative.
        radius: (...) the box is grown by this much on all sides, with round corners [m].
    """

    xy: FloatArray
    heading: FloatArray
    size: FloatArray
    radius: FloatArray

    @staticmethod
    def of(xy: ArrayLike, heading: ArrayLike, size: ArrayLike, radius: ArrayLike = 0.0) -> Boxes:
        """Boxes whose fields are broadcast against each other."""
        xy, size = np.asarray(xy, dtype=np.float64), np.asarray(size, dtype=np.float64)
        heading, radius = np.asarray(heading, dtype=np.float64), np.asarray(radius, dtype=np.float64)
        batch = np.broadcast_shapes(xy.shape[:-1], heading.shape, size.shape[:-1], radius.shape)
        return Boxes(
            xy=np.broadcast_to(xy, (*batch, 2)),
            heading=np.broadcast_to(heading, batch),
            size=np.broadcast_to(size, (*batch, 2)),
            radius=np.broadcast_to(radius, batch),
        )

    def take(self, index: object) -> Boxes:
        """Some of the batch, by any numpy index of the leading axes."""
        return Boxes(
            xy=self.xy[index],  # pyright: ignore[reportArgumentType, reportCallIssue]
            heading=np.asarray(self.heading[index]),  # pyright: ignore[reportArgumentType, reportCallIssue]
            size=self.size[index],  # pyright: ignore[reportArgumentType, reportCallIssue]
            radius=np.asarray(self.radius[index]),  # pyright: ignore[reportArgumentType, reportCallIssue]
        )


def footprints(tracks: Tracks, *, shrink_m: float = 0.0) -> Boxes:
    """(A, T) footprints of all agents at all instants.

    Sizes that the source does not give (NaN or zero) become a disc of 1.5 m for pedestrians and cyclists and the box of
    a passenger car (4.5 m x 1.8 m) for everything else. Where a heading is unknown there is no box: the footprint is a
    disc, of 1.5 m for pedestrians and cyclists without a size and of (length + width) / 2 otherwise.
    Absent agents have NaN positions.

    Args:
        tracks: A agents at T instants.
        shrink_m: taken from length, width and diameter, which stop at zero; against touching boxes of noisy tracks.
    """
    vulnerable = np.isin(tracks.kind, VULNERABLE)
    known: BoolArray = np.asarray((tracks.size > 0).all(axis=1))
    size = np.where(known[:, None], tracks.size, VEHICLE_SIZE_M)
    size = np.where((~known & vulnerable)[:, None], VULNERABLE_DIAMETER_M, size)
    is_disc = np.isnan(tracks.heading) | (~known & vulnerable)[:, None]
    sides = np.maximum(size - shrink_m, 0.0)
    diameter = np.maximum(size.mean(axis=1) - shrink_m, 0.0)
    return Boxes(
        xy=np.where(tracks.observed[..., None], tracks.xy, np.nan),
        heading=np.where(is_disc, 0.0, tracks.heading),
        size=np.where(is_disc[..., None], 0.0, sides[:, None, :]),
        radius=np.where(is_disc, 0.5 * diameter[:, None], 0.0),
    )


def corners(boxes: Boxes) -> FloatArray:
    """(..., 4, 2) corners, counter-clockwise from front left: front left, rear left, rear right, front right [m].

    The radius is ignored; the corners of a disc all are its center.
    """
    signs = np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
    local = 0.5 * boxes.size[..., None, :] * signs
    cos, sin = np.cos(boxes.heading)[..., None], np.sin(boxes.heading)[..., None]
    x = cos * local[..., 0] - sin * local[..., 1]
    y = sin * local[..., 0] + cos * local[..., 1]
    return np.stack([x, y], axis=-1) + boxes.xy[..., None, :]


def separation(first: Boxes, second: Boxes) -> FloatArray:
    """Signed distance: positive apart, zero touching, negative by how much the boxes sit in each other.

    Apart, it is the exact Euclidean distance. In each other, it is minus the shortest translation that
    parts them (separating axis theorem; for two boxes the four face normals suffice).

    Returns:
        broadcast shape of both [m]; NaN where either is absent.
    """
    batch = np.broadcast_shapes(first.heading.shape, second.heading.shape)
    rows = [np.ascontiguousarray(_rows(boxes, batch)) for boxes in (first, second)]
    return _box_kernels.separations(rows[0], rows[1]).reshape(batch)


def distance(first: Boxes, second: Boxes) -> FloatArray:
    """Exact distance [m], 0 where they overlap (one inside the other included), NaN where either is absent."""
    return np.maximum(separation(first, second), 0.0)


def overlaps(first: Boxes, second: Boxes) -> BoolArray:
    """Whether they share a point; touching and containment count, absent ones never overlap."""
    return separation(first, second) <= 0.0


def time_to_overlap(first: Boxes, second: Boxes, velocity: ArrayLike, other_velocity: ArrayLike) -> FloatArray:
    """First time from now on at which two footprints share a point if both go straight on without turning.

    Convex shapes overlap exactly while their shadows overlap on every face normal n (separating axes)::

        |d . n + t (v2 - v1) . n| <= r1(n) + r2(n),   d = x2 - x1

    which is one interval of t per axis; the answer is the beginning of their intersection.

    Args:
        first: one footprint; a radius widens its box on all sides, without rounding the corners.
        second: the other one.
        velocity: (..., 2) of the first [m/s].
        other_velocity: (..., 2) of the second [m/s].

    Returns:
        broadcast shape [s]: 0 in contact, inf if they miss each other, NaN where either is absent.
    """
    apart = second.xy - first.xy
    closing = np.asarray(other_velocity, dtype=np.float64) - np.asarray(velocity, dtype=np.float64)
    sides = [(b, np.cos(b.heading), np.sin(b.heading)) for b in (first, second)]
    enter, leave = -np.inf, np.inf
    for _, c, s in sides:
        for nx, ny in ((c, s), (-s, c)):
            reach = sum(
                0.5 * b.size[..., 0] * np.abs(nx * bc + ny * bs)
                + 0.5 * b.size[..., 1] * np.abs(ny * bc - nx * bs)
                + b.radius
                for b, bc, bs in sides
            )
            at, rate = apart[..., 0] * nx + apart[..., 1] * ny, closing[..., 0] * nx + closing[..., 1] * ny
            with np.errstate(divide="ignore", invalid="ignore"):
                low, high = (-reach - at) / rate, (reach - at) / rate
            low, high = np.minimum(low, high), np.maximum(low, high)
            still = np.abs(rate) < 1e-9
            inside = np.abs(at) <= reach
            enter = np.maximum(enter, np.where(still, np.where(inside, -np.inf, np.inf), low))
            leave = np.minimum(leave, np.where(still, np.where(inside, np.inf, -np.inf), high))
    meets = (enter <= leave) & (leave >= 0.0)
    return np.where(np.isnan(apart).any(axis=-1), np.nan, np.where(meets, np.maximum(enter, 0.0), np.inf))


@dataclass(frozen=True, slots=True, kw_only=True)
class Contacts:
    """Which agents overlap when; one entry per instant and pair, in ascending order.

    Attributes:
        instant: (C,) index of the instant.
        first: (C,) the smaller agent index.
        second: (C,) the larger agent index.
    """

    instant: IntArray
    first: IntArray
    second: IntArray

    @property
    def num_contacts(self) -> int:
        """C."""
        return self.instant.shape[0]


def overlapping_pairs(tracks: Tracks, *, shrink_m: float = 0.0) -> Contacts:
    """All pairs of agents whose footprints overlap, at all instants.

    Broad phase: agents are swept along x by their half diagonals (the order is kept from one instant to the next, so
    sorting is nearly free), then tested by the sum of half diagonals; narrow phase: separating axes.

    Args:
        tracks: A agents at T instants; absent agents never overlap.
        shrink_m: see :func:`footprints`.
    """
    found = _box_kernels.all_overlaps(_track_rows(footprints(tracks, shrink_m=shrink_m)))
    found = found[np.lexsort((found[:, 2], found[:, 1], found[:, 0]))]
    return Contacts(instant=found[:, 0], first=found[:, 1], second=found[:, 2])


@dataclass(frozen=True, slots=True, kw_only=True)
class Nearest:
    """The nearest other agent of each agent at each instant.

    Attributes:
        distance: (A, T) between footprints [m], 0 in contact; inf for an agent that is alone, NaN for an absent one.
        other: (A, T) index of the nearest agent, the smallest one in a tie; -1 where there is none.
    """

    distance: FloatArray
    other: IntArray


def nearest_agents(tracks: Tracks, *, shrink_m: float = 0.0) -> Nearest:
    """Distance to and index of the nearest other agent, for all agents at all instants."""
    gap, other = _box_kernels.nearest(_track_rows(footprints(tracks, shrink_m=shrink_m)))
    return Nearest(distance=np.ascontiguousarray(gap.T), other=np.ascontiguousarray(other.T))


def _rows(boxes: Boxes, batch: tuple[int, ...]) -> FloatArray:
    """(N, 7) x, y, cos, sin, half length, half width, radius; what the kernels work on."""
    columns = [
        boxes.xy[..., 0],
        boxes.xy[..., 1],
        np.cos(boxes.heading),
        np.sin(boxes.heading),
        0.5 * boxes.size[..., 0],
        0.5 * boxes.size[..., 1],
        boxes.radius,
    ]
    return np.stack([np.broadcast_to(column, batch).ravel() for column in columns], axis=1)


def _track_rows(boxes: Boxes) -> FloatArray:
    """(T, A, 7) kernel rows of (A, T) footprints, frame by frame."""
    return _box_kernels.frame_rows(boxes.xy, boxes.heading, boxes.size, boxes.radius)
