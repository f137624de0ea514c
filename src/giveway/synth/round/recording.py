"""One drone recording: vehicles from the traffic simulation, people on foot and bicycle in between, a parked car."""

from __future__ import annotations

import numpy as np

from giveway.core.arrays import IntArray, StrArray
from giveway.core.frames import rotated
from giveway.core.seeds import stream
from giveway.sim.drivers.people import Population
from giveway.synth.levelx import FRAME_RATE_HZ
from giveway.synth.road_users import Track, View, occupancy, parked_track, record, walking_track
from giveway.synth.round.sites import Site, inside_image, site_place
from giveway.synth.traffic import Fleet, GapDecisions, Habits, draw_fleet
from giveway.synth.walkers import cross

WARM_UP_S = 30.0
MEAN_HEADWAY_S = 3.0
"""Mean time between arrivals, all arms together."""
PEOPLE = Population(critical_gap_s=2.2, between=0.5, within=0.8, impatience_per_s=0.02)
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


def simulate_recording(seed: int, number: int, site: Site, minutes: float) -> tuple[list[Track], GapDecisions]:
    """All tracks in the order of their ids, and what the drivers decided (times of the recording)."""
    place, frames = site_place(site), int(minutes * 60 * FRAME_RATE_HZ)
    view = View(sees=lambda xy: inside_image(site, xy), warm_up_s=WARM_UP_S, frame_rate_hz=FRAME_RATE_HZ, frames=frames)
    tracks, _, decisions = record(
        place, PEOPLE, Habits(), view, lambda rng, total_s: _fleet(rng, place.origin, total_s), seed, "round", number
    )
    tracks += _others(seed, number, site, tracks, frames)
    tracks.sort(key=lambda track: (track.first_frame, -track.last_frame))
    return tracks, decisions


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
    route = entry * (arms - 1) + (leave - entry - 1) % arms
    return draw_fleet(rng, route=route, enter_s=enter, length_m=size[:, 0], width_m=size[:, 1]), kinds


def _others(seed: int, number: int, site: Site, vehicles: list[Track], frames: int) -> list[Track]:
    rng = stream(seed, "round", number, "others")
    center = np.asarray(site.center_m)
    beside = site.arms_rad[0] + 0.5
    parked_at = rotated(np.array([site.radius_m + 11.0, 0.0]), beside) + center
    others = [parked_track(parked_at, beside + np.pi / 2, frames)]
    for _ in range(max(1, round(frames / FRAME_RATE_HZ / 60 * WALKERS_PER_MINUTE))):
        kind = "pedestrian" if rng.random() < 0.6 else "bicycle"
        arm = site.arms_rad[int(rng.integers(len(site.arms_rad)))]
        side = 1.0 if rng.random() < 0.5 else -1.0
        out = site.radius_m + CROSSING_M[kind] + 0.6 * rng.random()
        ends = rotated(np.array([[out, -side * SIDEWAYS_M[kind]], [out, side * SIDEWAYS_M[kind]]]), arm) + center
        walk = cross(
            occupancy(vehicles + others),
            start=ends[0],
            end=ends[1],
            speed_mps=WALK_SPEED_MPS[kind] * (1 + 0.1 * (2 * rng.random() - 1)),
            earliest_frame=int(rng.random() * frames * 0.9),
            last_frame=frames - 1,
            frame_rate_hz=FRAME_RATE_HZ,
        )
        if walk is not None:
            others.append(walking_track(walk, kind, WALK_SIZE_M[kind]))
    return others
