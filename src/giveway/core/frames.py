"""Poses in the plane (SE(2)), and the frames they connect.

A pose says where a frame stands in its parent: the point ``p`` of the frame is at ``R(heading) p + xy`` in the parent.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from giveway.core.arrays import FloatArray
from giveway.core.tracks import Tracks

MAP = "map"
"""The frame of the recording or of the lane map."""

EGO = "ego"
"""Origin at the center of an agent's box, +x along its heading, at one instant."""


def wrap_angle(angle: ArrayLike) -> FloatArray:
    """The same direction in [-pi, pi).

    Angles inside the interval come back to the bit; NaN and infinity give NaN.

    Args:
        angle: radians, any shape.
    """
    values = np.asarray(angle, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        wrapped = np.mod(values + np.pi, 2.0 * np.pi) - np.pi
    wrapped = np.where(wrapped >= np.pi, -np.pi, wrapped)
    return np.where((values >= -np.pi) & (values < np.pi), values, wrapped)


def rotated(xy: FloatArray, angle_rad: float) -> FloatArray:
    """(..., 2) points or vectors turned counter-clockwise around the origin; never through BLAS, whose sums differ."""
    cos, sin = np.cos(angle_rad), np.sin(angle_rad)
    return np.stack([cos * xy[..., 0] - sin * xy[..., 1], sin * xy[..., 0] + cos * xy[..., 1]], axis=-1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pose:
    """One pose, or an array of them.

    Attributes:
        xy: (..., 2) origin in the parent frame [m].
        heading: (...) direction of +x in the parent frame [rad].
    """

    xy: FloatArray
    heading: FloatArray

    def __post_init__(self) -> None:
        xy = np.asarray(self.xy, dtype=np.float64)
        heading = np.asarray(self.heading, dtype=np.float64)
        if xy.shape != (*heading.shape, 2):
            raise ValueError(f"Pose.xy has shape {xy.shape}, expected {(*heading.shape, 2)} from the heading")
        object.__setattr__(self, "xy", xy)
        object.__setattr__(self, "heading", heading)

    @staticmethod
    def of(x_m: float, y_m: float, heading_rad: float = 0.0) -> Pose:
        """A single pose from three numbers."""
        return Pose(xy=np.array([x_m, y_m], dtype=np.float64), heading=np.array(heading_rad, dtype=np.float64))


def compose(outer: Pose, inner: Pose) -> Pose:
    """The pose of ``inner``'s frame in the parent of ``outer``; shapes broadcast from the left."""
    extra = max(inner.heading.ndim - outer.heading.ndim, 0)
    heading = outer.heading.reshape(outer.heading.shape + (1,) * extra) + inner.heading
    xy = transform_points(outer, inner.xy)
    heading = np.broadcast_to(heading, xy.shape[:-1])
    return Pose(xy=xy, heading=wrap_angle(heading))


def inverse(pose: Pose) -> Pose:
    """The pose of the parent in the frame, so that composing both gives the identity."""
    back = Pose(xy=np.zeros_like(pose.xy), heading=-pose.heading)
    return Pose(xy=-transform_vectors(back, pose.xy), heading=wrap_angle(-pose.heading))


def transform_vectors(pose: Pose, vectors: FloatArray) -> FloatArray:
    """Rotate free vectors (velocities, normals) from the frame into its parent.

    Args:
        pose: shape B.
        vectors: (B..., ..., 2); the leading axes belong to the poses, further ones are free.
    """
    extra = max(vectors.ndim - 1 - pose.heading.ndim, 0)
    heading = pose.heading.reshape(pose.heading.shape + (1,) * extra)
    cos, sin = np.cos(heading), np.sin(heading)
    x, y = vectors[..., 0], vectors[..., 1]
    return np.stack([cos * x - sin * y, sin * x + cos * y], axis=-1)


def transform_points(pose: Pose, xy: FloatArray) -> FloatArray:
    """Move points from the frame into its parent; shapes as in :func:`transform_vectors`."""
    extra = max(xy.ndim - pose.xy.ndim, 0)
    origin = pose.xy.reshape(pose.xy.shape[:-1] + (1,) * extra + (2,))
    return transform_vectors(pose, xy) + origin


def transform_tracks(pose: Pose, tracks: Tracks) -> Tracks:
    """Tracks given in the frame of one ``pose``, in its parent; mask, sizes and times stay.

    Raises:
        ValueError: if ``pose`` is an array of poses.
    """
    if pose.heading.ndim:
        raise ValueError(f"tracks need one pose, got {pose.heading.shape}")
    return replace(
        tracks,
        xy=transform_points(pose, tracks.xy),
        heading=wrap_angle(tracks.heading + pose.heading),
        velocity=transform_vectors(pose, tracks.velocity),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Transform:
    """A pose that knows which frames it connects, so that mixing them up is an error.

    Attributes:
        source: frame of what goes in.
        target: frame of what comes out.
        pose: pose of ``source`` in ``target``.
    """

    source: str
    target: str
    pose: Pose

    def inverse(self) -> Transform:
        """From ``target`` to ``source``."""
        return Transform(source=self.target, target=self.source, pose=inverse(self.pose))

    def then(self, following: Transform) -> Transform:
        """First this, then ``following``.

        Raises:
            ValueError: if ``following`` does not start where this one ends.
        """
        if following.source != self.target:
            raise ValueError(f"cannot go on from frame {self.target!r} with a transform of frame {following.source!r}")
        return Transform(source=self.source, target=following.target, pose=compose(following.pose, self.pose))

    def points(self, xy: FloatArray) -> FloatArray:
        """Points of ``source`` in ``target``."""
        return transform_points(self.pose, xy)

    def vectors(self, vectors: FloatArray) -> FloatArray:
        """Free vectors of ``source`` in ``target``."""
        return transform_vectors(self.pose, vectors)

    def tracks(self, tracks: Tracks) -> Tracks:
        """Tracks of ``source`` in ``target``."""
        return transform_tracks(self.pose, tracks)


def to_ego(tracks: Tracks, agent: int, instant: int) -> Transform:
    """From the frame of ``tracks`` (``map``) into that of one agent at one instant (``ego``).

    Raises:
        ValueError: if the agent is absent or its heading unknown at that instant.
    """
    heading = tracks.heading[agent, instant]
    if not tracks.observed[agent, instant] or np.isnan(heading):
        raise ValueError(f"agent {tracks.ids[agent]} has no pose at instant {instant}")
    pose = Pose(xy=tracks.xy[agent, instant], heading=heading)
    return Transform(source=EGO, target=MAP, pose=pose).inverse()
