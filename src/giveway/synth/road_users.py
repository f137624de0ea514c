"""From simulated traffic to the tracks a drone would record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray, StrArray
from giveway.synth.contact import touching
from giveway.synth.paths import Path
from giveway.synth.traffic import Fleet, Motion
from giveway.synth.walkers import Occupancy, Walk

DENSE = 8
"""Instants per frame at which the truth is evaluated."""
SHORTEST_S = 1.0
LONGEST_WAIT_S = 90.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Track:
    """One road user in the coordinates of the files; frames without holes.

    Attributes:
        first_frame: of the recording.
        kind: what it is, in the words of the dataset.
        length_m: size.
        width_m: size.
        xy: (F, 2).
        heading: (F,) unwrapped.
        speed: (F,).
        lon_accel: (F,) along the heading.
        lat_accel: (F,) to the left.
        s_m: (F,) position along the path; empty for those without one.
        dense_xy: (F * DENSE - DENSE + 1, 2) the same motion between the frames; empty for those who walk or stand.
        vehicle: row of the fleet, -1 for others.
    """

    first_frame: int
    kind: str
    length_m: float
    width_m: float
    xy: FloatArray
    heading: FloatArray
    speed: FloatArray
    lon_accel: FloatArray
    lat_accel: FloatArray
    s_m: FloatArray
    dense_xy: FloatArray
    vehicle: int

    @property
    def last_frame(self) -> int:
        """Last frame of the recording in which it is seen."""
        return self.first_frame + self.xy.shape[0] - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """How a drone sees the traffic.

    Attributes:
        sees: whether file coordinates (..., 2) are within the picture.
        first_step: step of the simulation that becomes frame 0.
        every: steps per frame.
    """

    sees: Callable[[FloatArray], BoolArray]
    first_step: int
    every: int


def vehicle_tracks(paths: Sequence[Path], fleet: Fleet, kinds: StrArray, motion: Motion, view: View) -> list[Track]:
    """Tracks of all vehicles that are seen for at least a second, in order of the fleet."""
    starts = np.flatnonzero(np.concatenate([[True], np.diff(motion.vehicle) > 0]))
    ends = np.concatenate([starts[1:], [motion.vehicle.size]])
    frame_s = motion.dt_s * view.every
    tracks: list[Track] = []
    for begin, end in zip(starts, ends, strict=True):
        vehicle = int(motion.vehicle[begin])
        shift = (view.first_step - int(motion.step[begin])) % view.every
        rows = slice(int(begin) + shift, int(end), view.every)
        path, offset = paths[fleet.path[vehicle]], float(fleet.offset_m[vehicle])
        s, v, a = motion.s_m[rows], motion.v_mps[rows], motion.a_mps2[rows]
        xy, heading, curvature = path.at(s, offset)
        seen = np.flatnonzero((motion.step[rows] >= view.first_step) & view.sees(xy))
        if seen.size < SHORTEST_S / frame_s:
            continue
        kept = slice(int(seen[0]), int(seen[-1]) + 1)
        stretch = 1 - curvature * offset
        tracks.append(
            Track(
                first_frame=(int(motion.step[rows][kept.start]) - view.first_step) // view.every,
                kind=str(kinds[vehicle]),
                length_m=float(fleet.length_m[vehicle]),
                width_m=float(fleet.width_m[vehicle]),
                xy=xy[kept],
                heading=heading[kept],
                speed=(v * stretch)[kept],
                lon_accel=(a * stretch)[kept],
                lat_accel=(v * v * stretch * curvature)[kept],
                s_m=s[kept],
                dense_xy=path.at(_between(s[kept], v[kept], frame_s), offset)[0],
                vehicle=vehicle,
            )
        )
    return tracks


def walking_track(walk: Walk, kind: str, size_m: tuple[float, float]) -> Track:
    """Somebody on foot or bicycle."""
    still = np.zeros(walk.xy.shape[0])
    return Track(
        first_frame=walk.first_frame,
        kind=kind,
        length_m=size_m[0],
        width_m=size_m[1],
        xy=walk.xy,
        heading=still + walk.heading_rad,
        speed=still + walk.speed_mps,
        lon_accel=still,
        lat_accel=still,
        s_m=np.empty(0),
        dense_xy=np.empty((0, 2)),
        vehicle=-1,
    )


def parked_track(xy: FloatArray, heading_rad: float, frames: int) -> Track:
    """A car that stands there throughout."""
    still = np.zeros(frames)
    return Track(
        first_frame=0,
        kind="car",
        length_m=4.3871,
        width_m=1.8402,
        xy=np.tile(xy, (frames, 1)),
        heading=still + heading_rad,
        speed=still,
        lon_accel=still,
        lat_accel=still,
        s_m=np.empty(0),
        dense_xy=np.empty((0, 2)),
        vehicle=-1,
    )


def is_disturbed(tracks: Sequence[Track], frame_rate_hz: float) -> bool:
    """Whether any two of them ever touch, or one stands for more than :data:`LONGEST_WAIT_S`."""
    patience = int(LONGEST_WAIT_S * frame_rate_hz)
    for track in tracks:
        moved = np.flatnonzero(np.concatenate([[True], track.speed > 0.05, [True]]))
        if int(np.diff(moved).max()) > patience:
            return True
    return touching(
        frame=np.concatenate([np.arange(t.first_frame, t.last_frame + 1) for t in tracks]),
        xy=np.concatenate([t.xy for t in tracks]),
        heading=np.concatenate([t.heading for t in tracks]),
        size=np.concatenate([np.tile([t.length_m, t.width_m], (t.xy.shape[0], 1)) for t in tracks]),
    )


def occupancy(tracks: Sequence[Track]) -> Occupancy:
    """Where they are, for people who want to cross."""
    frame = np.concatenate([np.arange(t.first_frame, t.last_frame + 1) for t in tracks])
    reach = np.concatenate([np.full(t.xy.shape[0], np.hypot(t.length_m, t.width_m) / 2) for t in tracks])
    order = np.argsort(frame, kind="stable")
    return Occupancy(frame=frame[order], xy=np.concatenate([t.xy for t in tracks])[order], reach_m=reach[order])


def _between(s: FloatArray, v: FloatArray, frame_s: float) -> FloatArray:
    """Arc lengths at :data:`DENSE` instants per frame, by the cubic through positions and speeds."""
    u = np.arange(DENSE) / DENSE
    square, cube = u * u, u * u * u
    low, high = s[:-1, None], s[1:, None]
    slope_low, slope_high = v[:-1, None] * frame_s, v[1:, None] * frame_s
    fine = (
        low * (2 * cube - 3 * square + 1)
        + slope_low * (cube - 2 * square + u)
        + high * (3 * square - 2 * cube)
        + slope_high * (cube - square)
    )
    return np.concatenate([fine.ravel(), s[-1:]])
