"""One direction of a motorway: who drives how fast, who overtakes whom."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray, IntArray
from giveway.synth.contact import touching
from giveway.synth.highd._kernel import run_direction
from giveway.synth.humans import Population, draw_boldness, draw_drivers
from giveway.synth.traffic import Decisions

FRAME_S = 0.04
SEEN_M = 420.0
"""Length of the road in the picture."""
BEFORE_M = 130.0
AFTER_M = 40.0
WARM_UP_S = 45.0
HEADWAY_S = (3.4, 4.0)
"""Mean time between arrivals in the right and the left lane."""
TRUCK_SHARE = 0.4
"""Of the right lane; the left lane has none."""
LANE_M = 3.9
PEOPLE = Population(critical_gap_s=8.0, between=0.3, within=0.35, speed_bias=0.5, reference_mps=5.0)
"""Gaps are measured in seconds until the car behind has closed up; the speed is the one with which it closes up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Carriageway:
    """M rows of one direction within the picture, sorted by vehicle, then frame.

    Attributes:
        vehicle: (M,) row of the vehicles below.
        frame: (M,) from 0.
        along_m: (M,) center, 0 where the picture begins, in driving direction.
        speed_mps: (M,).
        accel_mps2: (M,).
        lateral: (M,) 0 in the middle of the right lane, 1 in that of the left.
        lateral_rate: (M,) lanes per second.
        lateral_accel: (M,) lanes per second².
        length_m: (V,).
        width_m: (V,).
        is_truck: (V,).
        decisions: times relative to frame 0.
    """

    vehicle: IntArray
    frame: IntArray
    along_m: FloatArray
    speed_mps: FloatArray
    accel_mps2: FloatArray
    lateral: FloatArray
    lateral_rate: FloatArray
    lateral_accel: FloatArray
    length_m: FloatArray
    width_m: FloatArray
    is_truck: BoolArray
    decisions: Decisions


def drive_direction(rng: np.random.Generator, minutes: float) -> Carriageway:
    """Draw vehicles and let them drive."""
    frames, warm = int(minutes * 60 / FRAME_S), int(WARM_UP_S / FRAME_S)
    total_s = (frames + warm) * FRAME_S
    lanes, enter = _arrivals(rng, total_s)
    count = enter.size
    is_truck = (lanes == 0) & (rng.random(count) < TRUCK_SHARE)
    boldness = draw_boldness(rng, count)
    drivers = draw_drivers(rng, boldness)
    noise = rng.standard_normal((count, 3)).clip(-2, 2)
    desired = np.where(is_truck, 23.5 + 0.8 * noise[:, 0], 30.0 + 3.0 * lanes + 2.2 * noise[:, 0] + 1.2 * boldness)
    length = np.where(is_truck, 14.0 + 2.0 * noise[:, 1], 4.6 + 0.35 * noise[:, 1])
    width = np.where(is_truck, 2.5, 1.9 + 0.08 * noise[:, 2])
    rows, decided = run_direction(
        enter,
        lanes,
        length,
        desired,
        np.where(is_truck, 0.7, 0.6 * drivers.accel_mps2),
        drivers.reaction_s,
        boldness,
        ~is_truck,
        rng.random((count, 32)),
        PEOPLE.coefficients(),
        frames + warm,
        FRAME_S,
        BEFORE_M + SEEN_M + AFTER_M,
    )
    rows = rows[np.lexsort((rows[:, 1], rows[:, 0]))]
    rate = _rate(rows[:, 0], rows[:, 5])
    bend = _rate(rows[:, 0], rate)
    half = length[rows[:, 0].astype(np.int64)] / 2
    along = rows[:, 2] - BEFORE_M
    seen = (rows[:, 1] >= warm) & (along - half >= 0) & (along + half <= SEEN_M)
    vehicle = rows[:, 0].astype(np.int64)
    return Carriageway(
        vehicle=vehicle[seen],
        frame=rows[seen, 1].astype(np.int64) - warm,
        along_m=along[seen],
        speed_mps=rows[seen, 3],
        accel_mps2=rows[seen, 4],
        lateral=rows[seen, 5] + 0.04 * noise[vehicle[seen], 2],
        lateral_rate=rate[seen],
        lateral_accel=bend[seen],
        length_m=length,
        width_m=width,
        is_truck=is_truck,
        decisions=Decisions(
            target=decided[:, 0].astype(np.int64),
            ego=decided[:, 1].astype(np.int64),
            time_s=decided[:, 2] - WARM_UP_S,
            gap_s=decided[:, 3],
            distance_m=decided[:, 4],
            probability=decided[:, 5],
            accepted=decided[:, 6] > 0.5,
        ),
    )


def is_disturbed(road: Carriageway) -> bool:
    """Whether two cars touch; their boxes are parallel to the road, as in the files."""
    xy = np.stack([road.along_m, road.lateral * LANE_M], axis=1)
    size = np.stack([road.length_m[road.vehicle], road.width_m[road.vehicle]], axis=1)
    return touching(frame=road.frame, xy=xy, heading=np.zeros(road.frame.size), size=size)


def _arrivals(rng: np.random.Generator, total_s: float) -> tuple[IntArray, FloatArray]:
    lanes: list[IntArray] = []
    times: list[FloatArray] = []
    for lane, headway in enumerate(HEADWAY_S):
        steps = 0.9 + (headway - 0.9) * rng.standard_exponential(int(2 * total_s / headway) + 20)
        enter = np.cumsum(steps)
        enter = enter[enter < total_s]
        lanes.append(np.full(enter.size, lane))
        times.append(enter)
    order = np.argsort(np.concatenate(times), kind="stable")
    return np.concatenate(lanes)[order], np.concatenate(times)[order]


def _rate(vehicle: FloatArray, values: FloatArray) -> FloatArray:
    """Central differences within each vehicle; 0 at its ends."""
    rate = np.zeros_like(values)
    inner = (vehicle[2:] == vehicle[1:-1]) & (vehicle[1:-1] == vehicle[:-2])
    rate[1:-1] = np.where(inner, (values[2:] - values[:-2]) / (2 * FRAME_S), 0.0)
    return rate
