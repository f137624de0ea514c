"""One drone recording: vehicles from the traffic simulation, people on foot and bicycle in between, a parked car."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from giveway.core.arrays import FloatArray, IntArray, StrArray
from giveway.core.seeds import stream
from giveway.data.synthetic.contact import run_without_contact, touching
from giveway.data.synthetic.drivers import AcceptanceRule
from giveway.data.synthetic.network import Network
from giveway.data.synthetic.paths import Path, rotated
from giveway.data.synthetic.round.sites import Site, inside_image, site_network
from giveway.data.synthetic.traffic import Decisions, Fleet, Motion, draw_fleet, simulate
from giveway.data.synthetic.walkers import Occupancy, cross

FRAME_RATE_HZ = 25
WARM_UP_S = 30.0
MEAN_HEADWAY_S = 2.1
"""Mean time between arrivals, all arms together."""
RULE = AcceptanceRule(intercept=-2.4, per_second=1.1, per_meter=0.0, individual=0.9)
CLASSES = ("car", "van", "truck", "bus", "motorcycle")
SHARES = (0.82, 0.08, 0.04, 0.01, 0.05)
SIZES = {"car": (4.5, 1.85), "van": (5.6, 2.05), "truck": (8.2, 2.45), "bus": (10.8, 2.5), "motorcycle": (2.1, 0.8)}
ENTRY_SHARES = (0.3, 0.2, 0.3, 0.2)
EXIT_SHARES = (0.42, 0.08, 0.42, 0.08)
"""A main road through arms 0 and 2, so that those who enter at 1 and 3 meet cars that go on."""
CROSSING_M = {"pedestrian": 7.0, "bicycle": 9.5}
"""How far outside the ring people cross an arm."""
SIDEWAYS_M = {"pedestrian": 9.0, "bicycle": 16.0}
"""How far from the axis of an arm their tracks begin and end."""
WALK_SPEED_MPS = {"pedestrian": 1.35, "bicycle": 3.8}
WALK_SIZE_M = {"pedestrian": (0.5, 0.5), "bicycle": (1.75, 0.6)}
WALKERS_PER_MINUTE = 1.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Track:
    """One road user in the coordinates of the files; frames without holes.

    Attributes:
        first_frame: of the recording.
        kind: class of the dataset.
        length_m: size.
        width_m: size.
        xy: (F, 2).
        heading: (F,).
        speed: (F,).
        lon_accel: (F,) along the heading.
        lat_accel: (F,) to the left.
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
    dense_xy: FloatArray
    vehicle: int

    @property
    def last_frame(self) -> int:
        """Last frame of the recording in which it is seen."""
        return self.first_frame + self.xy.shape[0] - 1


DENSE = 8
"""Instants per frame at which the truth is evaluated."""


def simulate_recording(seed: int, number: int, site: Site, minutes: float) -> tuple[list[Track], Decisions]:
    """All tracks in the order of their ids, and what the drivers decided (times of the recording)."""
    network, _ = site_network(site)
    frames = int(minutes * 60 * FRAME_RATE_HZ)
    warm = int(WARM_UP_S * FRAME_RATE_HZ)
    tracks, decisions = run_without_contact(
        lambda rng: _vehicles(site, network, rng, frames, warm), _contacts, seed, "round", number
    )
    tracks += _others(seed, number, site, tracks, frames)
    tracks.sort(key=lambda track: (track.first_frame, -track.last_frame))
    return tracks, replace(decisions, time_s=decisions.time_s - warm / FRAME_RATE_HZ)


def _vehicles(
    site: Site, network: Network, rng: np.random.Generator, frames: int, warm: int
) -> tuple[list[Track], Decisions]:
    fleet, kinds = _fleet(rng, network.origin, (frames + warm) / FRAME_RATE_HZ)
    motion, decisions = simulate(network, fleet, RULE, rng, steps=frames + warm, dt_s=1 / FRAME_RATE_HZ)
    return _vehicle_tracks(site, network.paths, fleet, kinds, motion, warm), decisions


def _contacts(tracks: list[Track]) -> bool:
    frame = np.concatenate([np.arange(t.first_frame, t.last_frame + 1) for t in tracks])
    return touching(
        frame=frame,
        xy=np.concatenate([t.xy for t in tracks]),
        heading=np.concatenate([t.heading for t in tracks]),
        size=np.concatenate([np.tile([t.length_m, t.width_m], (t.xy.shape[0], 1)) for t in tracks]),
    )


def _fleet(rng: np.random.Generator, origin: IntArray, total_s: float) -> tuple[Fleet, StrArray]:
    enter = np.cumsum(rng.standard_exponential(int(total_s / MEAN_HEADWAY_S * 1.3) + 20) * MEAN_HEADWAY_S)
    enter = enter[enter < total_s]
    kinds = np.asarray(CLASSES)[np.searchsorted(np.cumsum(SHARES), rng.random(enter.size) * 0.9999)]
    base = np.array([SIZES[kind] for kind in kinds])
    size = np.round(base * (1 + 0.06 * np.clip(rng.standard_normal(base.shape), -2, 2)), 4)
    arms = int(origin.max()) + 1
    entry = np.searchsorted(np.cumsum(ENTRY_SHARES), rng.random(enter.size) * 0.9999)
    wanted = np.asarray(EXIT_SHARES)[None, :] * (np.arange(arms)[None, :] != entry[:, None])
    chance = np.cumsum(wanted / wanted.sum(axis=1, keepdims=True), axis=1)
    leave = (rng.random(enter.size)[:, None] * 0.9999 > chance).sum(axis=1)
    path = entry * (arms - 1) + leave - (leave > entry)
    return draw_fleet(rng, path=path, enter_s=enter, length_m=size[:, 0], width_m=size[:, 1]), kinds


def _vehicle_tracks(
    site: Site, paths: tuple[Path, ...], fleet: Fleet, kinds: StrArray, motion: Motion, warm: int
) -> list[Track]:
    starts = np.flatnonzero(np.concatenate([[True], np.diff(motion.vehicle) > 0]))
    ends = np.concatenate([starts[1:], [motion.vehicle.size]])
    center = np.asarray(site.center_m)
    tracks: list[Track] = []
    for begin, end in zip(starts, ends, strict=True):
        vehicle = int(motion.vehicle[begin])
        path = paths[fleet.path[vehicle]]
        s, v, a = motion.s_m[begin:end], motion.v_mps[begin:end], motion.a_mps2[begin:end]
        step = motion.step[begin:end]
        local, heading, curvature = path.at(s, fleet.offset_m[vehicle])
        xy = local + center
        seen = np.flatnonzero((step >= warm) & inside_image(site, xy))
        if seen.size < FRAME_RATE_HZ:
            continue
        kept = slice(int(seen[0]), int(seen[-1]) + 1)
        fine = _between(s[kept], v[kept], motion.dt_s)
        stretch = 1 - curvature * fleet.offset_m[vehicle]
        speed = v * stretch
        tracks.append(
            Track(
                first_frame=int(step[kept.start]) - warm,
                kind=str(kinds[vehicle]),
                length_m=float(fleet.length_m[vehicle]),
                width_m=float(fleet.width_m[vehicle]),
                xy=xy[kept],
                heading=heading[kept],
                speed=speed[kept],
                lon_accel=(a * stretch)[kept],
                lat_accel=(speed * v * curvature)[kept],
                dense_xy=path.at(fine, fleet.offset_m[vehicle])[0] + center,
                vehicle=vehicle,
            )
        )
    return tracks


def _between(s: FloatArray, v: FloatArray, dt_s: float) -> FloatArray:
    """Arc lengths at :data:`DENSE` instants per frame, by the cubic through positions and speeds."""
    u = np.arange(DENSE) / DENSE
    low, high = s[:-1, None], s[1:, None]
    slope_low, slope_high = v[:-1, None] * dt_s, v[1:, None] * dt_s
    fine = (
        low * (2 * u**3 - 3 * u**2 + 1)
        + slope_low * (u**3 - 2 * u**2 + u)
        + high * (3 * u**2 - 2 * u**3)
        + slope_high * (u**3 - u**2)
    )
    return np.concatenate([fine.ravel(), s[-1:]])


def _others(seed: int, number: int, site: Site, vehicles: list[Track], frames: int) -> list[Track]:
    rng = stream(seed, "round", number, "others")
    center = np.asarray(site.center_m)
    beside = site.arms_rad[0] + 0.5
    parked_at = rotated(np.array([site.radius_m + 11.0, 0.0]), beside) + center
    others = [_standing(parked_at, beside + np.pi / 2, frames)]
    for _ in range(max(1, round(frames / FRAME_RATE_HZ / 60 * WALKERS_PER_MINUTE))):
        kind = "pedestrian" if rng.random() < 0.6 else "bicycle"
        arm = site.arms_rad[int(rng.integers(len(site.arms_rad)))]
        side = 1.0 if rng.random() < 0.5 else -1.0
        out = site.radius_m + CROSSING_M[kind] + 0.6 * rng.random()
        ends = rotated(np.array([[out, -side * SIDEWAYS_M[kind]], [out, side * SIDEWAYS_M[kind]]]), arm) + center
        walk = cross(
            _occupancy(vehicles + others),
            start=ends[0],
            end=ends[1],
            speed_mps=WALK_SPEED_MPS[kind] * (1 + 0.1 * (2 * rng.random() - 1)),
            earliest_frame=int(rng.random() * frames * 0.9),
            last_frame=frames - 1,
            frame_rate_hz=FRAME_RATE_HZ,
        )
        if walk is not None:
            still = np.zeros(walk.xy.shape[0])
            others.append(
                Track(
                    first_frame=walk.first_frame,
                    kind=kind,
                    length_m=WALK_SIZE_M[kind][0],
                    width_m=WALK_SIZE_M[kind][1],
                    xy=walk.xy,
                    heading=still + walk.heading_rad,
                    speed=still + walk.speed_mps,
                    lon_accel=still,
                    lat_accel=still,
                    dense_xy=np.empty((0, 2)),
                    vehicle=-1,
                )
            )
    return others


def _standing(xy: FloatArray, heading_rad: float, frames: int) -> Track:
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
        dense_xy=np.empty((0, 2)),
        vehicle=-1,
    )


def _occupancy(tracks: list[Track]) -> Occupancy:
    frame = np.concatenate([np.arange(t.first_frame, t.last_frame + 1) for t in tracks])
    reach = np.concatenate([np.full(t.xy.shape[0], np.hypot(t.length_m, t.width_m) / 2) for t in tracks])
    order = np.argsort(frame, kind="stable")
    return Occupancy(frame=frame[order], xy=np.concatenate([t.xy for t in tracks])[order], reach_m=reach[order])
