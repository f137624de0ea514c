"""The three sites: roads of the library, how many people use them, and how they accept gaps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.frames import rotated
from giveway.roads.library.four_way import TURNS, four_way_road
from giveway.roads.library.merge import merge_road
from giveway.roads.library.roundabout import roundabout_road
from giveway.roads.road import Road
from giveway.sim.drivers.people import Population
from giveway.synth.traffic import Place, place_of

CENTER_M = (1000.0, 1000.0)
"""Sites lie about here, as the real ones do."""
LANE_WIDTH_M = 3.5
MAIN_MPS, SIDE_MPS = 11.2, 8.9
"""Speed limits, 25 and 20 mph."""
FOUR_WAY_HEADWAY_S = {
    (True, "right"): 45.0,
    (True, "straight"): 16.0,
    (True, "left"): 38.0,
    (False, "right"): 34.0,
    (False, "straight"): 40.0,
    (False, "left"): 42.0,
}
"""Mean time between arrivals by whether the arm has priority, and turn."""
RING_ARMS_RAD = tuple(np.radians([5.0, 95.0, 184.0, 272.0]).tolist())
RING_EXIT_SHARES = (0.42, 0.08, 0.42, 0.08)
"""Where people leave the roundabout."""
RING_HEADWAY_S = 3.0
"""Mean time between arrivals, all arms together."""
MERGE_BEFORE_M, MERGE_LENGTH_M = 150.0, 280.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A place with its traffic.

    Attributes:
        name: folder and map name.
        road: about :data:`CENTER_M`.
        place: the same for the simulator.
        headway_s: (P,) mean time between arrivals on each way.
        people: how they accept gaps.
        decides_m: how far before their line they decide.
        half_extent_m: half the width and height of the picture.
        crossings: where people cross on foot: start and end, (2, 2) each.
    """

    name: str
    road: Road
    place: Place
    headway_s: tuple[float, ...]
    people: Population
    decides_m: float
    half_extent_m: tuple[float, float]
    crossings: tuple[FloatArray, ...] = ()


def four_way(name: str) -> Site:
    """A junction whose road along x has priority."""
    road = four_way_road(
        yielding=(0, 2), arm_m=85.0, mouth_m=8.0, limit_mps=MAIN_MPS, yielding_limit_mps=SIDE_MPS, center=CENTER_M
    )
    return Site(
        name=name,
        road=road,
        place=place_of(road),
        headway_s=tuple(FOUR_WAY_HEADWAY_S[arm % 2 == 1, turn] for arm in range(4) for turn in TURNS),
        people=Population(critical_gap_s=4.3, between=0.3, within=0.4, impatience_per_s=0.02),
        decides_m=16.0,
        half_extent_m=(62.0, 48.0),
        crossings=_zebras(13.0, 8.0, (0.0, 0.5 * np.pi, np.pi, 1.5 * np.pi)),
    )


def merging(name: str) -> Site:
    """A road with two lanes and a ramp that joins directly."""
    start = (CENTER_M[0] - MERGE_BEFORE_M, CENTER_M[1])
    road = merge_road(
        length_m=MERGE_LENGTH_M,
        ramp_in_m=MERGE_BEFORE_M,
        ramp_m=110.0,
        acceleration_m=0.0,
        limit_mps=12.5,
        ramp_limit_mps=10.0,
        center=start,
    )
    return Site(
        name=name,
        road=road,
        place=place_of(road),
        headway_s=(4.2, 3.6, 7.5),
        people=Population(critical_gap_s=2.2, between=0.4, within=0.65, impatience_per_s=0.02),
        decides_m=45.0,
        half_extent_m=(95.0, 32.0),
    )


def roundabout(name: str) -> Site:
    """A roundabout with four arms."""
    road = roundabout_road(
        arms=RING_ARMS_RAD,
        radius_m=15.0,
        arm_m=90.0,
        mouth_m=28.0,
        entry_rad=0.52,
        exit_rad=0.65,
        lane_width_m=LANE_WIDTH_M,
        offset_m=2.4,
        limit_mps=MAIN_MPS,
        center=CENTER_M,
    )
    share = np.array([RING_EXIT_SHARES[(arm + exits) % 4] for arm in range(4) for exits in (1, 2, 3)])
    return Site(
        name=name,
        road=road,
        place=place_of(road),
        headway_s=tuple((RING_HEADWAY_S * share.sum() / share).tolist()),
        people=Population(critical_gap_s=2.8, between=0.5, within=0.8, impatience_per_s=0.02),
        decides_m=16.0,
        half_extent_m=(55.0, 55.0),
        crossings=_zebras(26.0, 9.0, RING_ARMS_RAD),
    )


def _zebras(away_m: float, half_m: float, arms_rad: tuple[float, ...]) -> tuple[FloatArray, ...]:
    across = np.array([[away_m, -half_m], [away_m, half_m]])
    return tuple(rotated(across, arm) + np.asarray(CENTER_M) for arm in arms_rad)


SITES: dict[str, Callable[[str], Site]] = {
    "DR_SYN_Intersection_A": four_way,
    "DR_SYN_Merging_A": merging,
    "DR_SYN_Roundabout_A": roundabout,
}
"""Site name to what builds it; a new site is one function and one line here."""


@cache
def build_site(name: str) -> Site:
    """The site with this name."""
    return SITES[name](name)
