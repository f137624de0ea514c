"""From simulated traffic to the tracks a drone would record."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray, IntArray, StrArray
from giveway.core.case import TICK_S
from giveway.roads.routes import CarPath, poses_along
from giveway.sim.drivers.people import Population
from giveway.synth.contact import run_undisturbed, touching
from giveway.synth.traffic import Fleet, GapDecisions, Habits, Motion, Place, simulate
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
        warm_up_s: time of the simulation that becomes frame 0.
        frame_rate_hz: frames per second.
        frames: number of frames.
    """

    sees: Callable[[FloatArray], BoolArray]
    warm_up_s: float
    frame_rate_hz: int
    frames: int


def record(
    place: Place,
    people: Population,
    habits: Habits,
    view: View,
    draw: Callable[[np.random.Generator, float], tuple[Fleet, StrArray]],
    seed: int,
    *names: object,
) -> tuple[list[Track], Fleet, GapDecisions]:
    """Tracks of all vehicles in order of appearance, their drivers, and what they decided, in seconds after frame 0.

    Args:
        place: where they drive.
        people: how they accept gaps.
        habits: what they have in common.
        view: of the drone.
        draw: vehicles and their kinds, for so many seconds.
        seed: root of all random streams.
        names: of the recording.
    """
    total_s = view.warm_up_s + view.frames / view.frame_rate_hz

    def attempt(rng: np.random.Generator) -> tuple[list[Track], tuple[Fleet, GapDecisions]]:
        fleet, kinds = draw(rng, total_s)
        motion, decisions = simulate(place, fleet, people, rng, ticks=math.ceil(total_s / TICK_S) + 1, habits=habits)
        return vehicle_tracks(place.paths, fleet, kinds, motion, view), (fleet, decisions)

    tracks, (fleet, decisions) = run_undisturbed(
        attempt, lambda found: is_disturbed(found, view.frame_rate_hz), seed, *names
    )
    tracks.sort(key=lambda track: track.first_frame)
    return tracks, fleet, replace(decisions, time_s=decisions.time_s - view.warm_up_s)


def vehicle_tracks(paths: Sequence[CarPath], fleet: Fleet, kinds: StrArray, motion: Motion, view: View) -> list[Track]:
    """Tracks of all vehicles that are seen for at least a second, in order of the fleet."""
    rate = view.frame_rate_hz
    tracks: list[Track] = []
    for rows in vehicle_rows(motion):
        begin, vehicle = rows.start, int(motion.vehicle[rows.start])
        path, offset = paths[fleet.route[vehicle]], float(fleet.offset_m[vehicle])
        frames = view_frames(int(motion.tick[begin]), int(motion.tick[rows.stop - 1]), view)
        if frames.size < SHORTEST_S * rate:
            continue
        ticks = (frames / rate + view.warm_up_s) / TICK_S - motion.tick[begin]
        along = motion.s_m[rows], motion.v_mps[rows]
        seen = np.flatnonzero(view.sees(poses_along(path, between(ticks, *along)[0], offset)[0]))
        if seen.size < SHORTEST_S * rate:
            continue
        kept = slice(int(seen[0]), int(seen[-1]) + 1)
        s, v, a = between(ticks[kept], *along)
        xy, heading, curvature = poses_along(path, s, offset)
        first, last = float(ticks[kept][0]), float(ticks[kept][-1])
        fine = np.linspace(first, last, (s.size - 1) * DENSE + 1)
        stretch = 1 - curvature * offset
        tracks.append(
            Track(
                first_frame=int(frames[kept.start]),
                kind=str(kinds[vehicle]),
                length_m=float(fleet.length_m[vehicle]),
                width_m=float(fleet.width_m[vehicle]),
                xy=xy,
                heading=heading,
                speed=v * stretch,
                lon_accel=a * stretch,
                lat_accel=v * v * stretch * curvature,
                s_m=s,
                dense_xy=poses_along(path, between(fine, *along)[0], offset)[0],
                vehicle=vehicle,
            )
        )
    return tracks


def vehicle_rows(motion: Motion) -> list[slice]:
    """Rows of each vehicle that appeared, in order of the fleet."""
    edges = [0, *(np.flatnonzero(np.diff(motion.vehicle)) + 1).tolist(), motion.vehicle.size]
    return [slice(a, b) for a, b in pairwise(edges)]


def view_frames(first_tick: int, last_tick: int, view: View) -> IntArray:
    """Frames between two ticks, both included."""
    first, last = ((tick * TICK_S - view.warm_up_s) * view.frame_rate_hz for tick in (first_tick, last_tick))
    return np.arange(max(math.ceil(first - 1e-6), 0), min(math.floor(last + 1e-6), view.frames - 1) + 1)


def between(ticks: FloatArray, place: FloatArray, rate: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Place, rate and its change at fractional ticks of a motion logged at ticks 0, 1, ...

    Places by the cubic through logged places and rates, which is the motion of constant acceleration of the simulator;
    rates linearly; their changes linearly between the middles of ticks, as if smoothed.

    Args:
        ticks: (K,) clipped to the log.
        place: (N,) logged, N at least 2.
        rate: (N,) logged, per second.
    """
    at = np.clip(ticks, 0.0, place.size - 1.0)
    low = np.minimum(at.astype(np.int64), place.size - 2)
    u = at - low
    square, cube = u * u, u * u * u
    where = (
        place[low] * (2 * cube - 3 * square + 1)
        + rate[low] * TICK_S * (cube - 2 * square + u)
        + place[low + 1] * (3 * square - 2 * cube)
        + rate[low + 1] * TICK_S * (cube - square)
    )
    change = np.diff(rate) / TICK_S
    return where, rate[low] + u * (rate[low + 1] - rate[low]), np.interp(at, np.arange(change.size) + 0.5, change)


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
