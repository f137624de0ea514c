"""One recording of a site."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray, IntArray, StrArray
from giveway.core.seeds import stream
from giveway.synth.interaction.sites import CENTER_M, Site
from giveway.synth.road_users import Track, View, occupancy, record, walking_track
from giveway.synth.traffic import Fleet, GapDecisions, Habits, draw_fleet
from giveway.synth.walkers import cross

FRAME_RATE_HZ = 10
WARM_UP_S = 40.0
WALKERS_PER_MINUTE = 1.2
LONG_SHARE = 0.05
"""Share of vans and lorries; the dataset calls them cars, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """What a camera saw of a site.

    Attributes:
        vehicles: in order of appearance.
        walkers: people on foot and bicycle, in order of appearance.
        decisions: what drivers decided, in seconds after frame 0.
        fleet: the drivers.
    """

    vehicles: list[Track]
    walkers: list[Track]
    decisions: GapDecisions
    fleet: Fleet


def simulate_site(
    seed: int, site: Site, number: int, minutes: float, *, frame_rate_hz: int = FRAME_RATE_HZ
) -> Recorded:
    """One recording."""
    frames = int(minutes * 60 * frame_rate_hz)
    view = View(sees=lambda xy: _sees(site, xy), warm_up_s=WARM_UP_S, frame_rate_hz=frame_rate_hz, frames=frames)
    habits = Habits(decides_m=site.decides_m)
    vehicles, fleet, decisions = record(
        site.place, site.people, habits, view, lambda rng, total_s: _fleet(site, rng, total_s), seed, site.name, number
    )
    return Recorded(
        vehicles=vehicles,
        walkers=_walkers(seed, site, number, vehicles, frames, frame_rate_hz),
        decisions=decisions,
        fleet=fleet,
    )


def _fleet(site: Site, rng: np.random.Generator, total_s: float) -> tuple[Fleet, StrArray]:
    route: list[IntArray] = []
    enter: list[FloatArray] = []
    for number, headway in enumerate(site.headway_s):
        times = np.cumsum(rng.standard_exponential(int(total_s / headway * 2) + 20) * headway)
        times = times[times < total_s]
        route.append(np.full(times.size, number))
        enter.append(times)
    count = sum(times.size for times in enter)
    noise = np.clip(rng.standard_normal((count, 2)), -2, 2)
    length, width = 4.6 + 0.32 * noise[:, 0], 1.88 + 0.09 * noise[:, 1]
    is_long = rng.random(count) < LONG_SHARE
    length, width = np.where(is_long, 7.4 + 0.6 * noise[:, 0], length), np.where(is_long, 2.35, width)
    fleet = draw_fleet(
        rng,
        route=np.concatenate(route),
        enter_s=np.concatenate(enter),
        length_m=np.round(length, 2).astype(np.float64),
        width_m=np.round(width, 2).astype(np.float64),
    )
    return fleet, np.full(count, "car")


def _sees(site: Site, xy: FloatArray) -> BoolArray:
    away = np.abs(xy - np.asarray(CENTER_M))
    return (away[..., 0] < site.half_extent_m[0]) & (away[..., 1] < site.half_extent_m[1])


def _walkers(seed: int, site: Site, number: int, vehicles: list[Track], frames: int, rate: int) -> list[Track]:
    rng = stream(seed, site.name, number, "walkers")
    walkers: list[Track] = []
    if not site.crossings:
        return walkers
    for _ in range(max(1, round(frames / rate / 60 * WALKERS_PER_MINUTE))):
        ends = site.crossings[int(rng.integers(len(site.crossings)))]
        ends = (ends if rng.random() < 0.5 else ends[::-1]) + 0.4 * (2 * rng.random() - 1)
        walk = cross(
            occupancy(vehicles + walkers),
            start=ends[0],
            end=ends[1],
            speed_mps=1.4 if rng.random() < 0.8 else 3.5,
            earliest_frame=int(rng.random() * frames * 0.9),
            last_frame=frames - 1,
            frame_rate_hz=rate,
        )
        if walk is not None:
            walkers.append(walking_track(walk, "pedestrian/bicycle", (0.6, 0.6)))
    return sorted(walkers, key=lambda track: track.first_frame)
