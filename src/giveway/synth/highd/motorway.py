"""One direction of a motorway: who drives how fast, who overtakes whom."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray, IntArray
from giveway.core.case import TICK_S
from giveway.roads.library.motorway import motorway_road
from giveway.sim.drivers.people import Population
from giveway.synth.contact import touching
from giveway.synth.road_users import View, between, vehicle_rows, view_frames
from giveway.synth.traffic import Fleet, GapDecisions, Habits, Motion, Place, draw_fleet, place_of, simulate

RATE_HZ = 25
FRAME_S = 1 / RATE_HZ
COLUMNS = ("along_m", "speed_mps", "accel_mps2", "lateral", "lateral_rate", "lateral_accel")
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
LIMIT_MPS = 70.0
"""There is none."""
HABITS = Habits(headway_s=0.9, min_gap_m=2.5, comfort_mps2=1.8, settle_mps2=1.0, jerk_mps3=3.0)
PEOPLE = Population(critical_gap_s=5.0, between=0.3, within=0.62, speed_bias=0.5, reference_mps=5.0)
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
    decisions: GapDecisions


@cache
def _place() -> Place:
    length_m = BEFORE_M + SEEN_M + AFTER_M
    return place_of(motorway_road(2, length_m=length_m, lane_width_m=LANE_M, limit_mps=LIMIT_MPS), side_by_side=True)


def drive_direction(rng: np.random.Generator, minutes: float) -> Carriageway:
    """Draw vehicles and let them drive."""
    view = View(
        sees=lambda xy: xy[..., 0] >= 0, warm_up_s=WARM_UP_S, frame_rate_hz=RATE_HZ, frames=int(minutes * 60 * RATE_HZ)
    )
    total_s = view.frames / RATE_HZ + WARM_UP_S
    lanes, enter = _arrivals(rng, total_s)
    fleet = draw_fleet(rng, route=lanes, enter_s=enter, length_m=np.zeros(enter.size), width_m=np.zeros(enter.size))
    is_truck = (lanes == 0) & (rng.random(enter.size) < TRUCK_SHARE)
    noise = rng.standard_normal((enter.size, 3)).clip(-2, 2)
    speed = 30.0 + 3.0 * lanes + 2.2 * noise[:, 0] + 1.2 * fleet.boldness
    fleet = replace(
        fleet,
        length_m=np.where(is_truck, 14.0 + 2.0 * noise[:, 1], 4.6 + 0.35 * noise[:, 1]),
        width_m=np.where(is_truck, 2.5, 1.9 + 0.08 * noise[:, 2]),
        accel_mps2=np.where(is_truck, 0.7, 0.6 * fleet.accel_mps2),
        desired_mps=np.where(is_truck, 23.5 + 0.8 * noise[:, 0], speed),
        overtakes=~is_truck,
    )
    ticks = math.ceil(total_s / TICK_S) + 1
    motion, decisions = simulate(_place(), fleet, PEOPLE, rng, ticks=ticks, habits=HABITS)
    pieces = [piece for rows in vehicle_rows(motion) if (piece := _seen(motion, rows, fleet, noise, view))]
    vehicle, frame, *columns = (np.concatenate(values) for values in zip(*pieces, strict=True))
    return Carriageway(
        vehicle=vehicle,
        frame=frame,
        **dict(zip(COLUMNS, columns, strict=True)),
        length_m=fleet.length_m,
        width_m=fleet.width_m,
        is_truck=is_truck,
        decisions=replace(decisions, time_s=decisions.time_s - WARM_UP_S),
    )


def _seen(
    motion: Motion, rows: slice, fleet: Fleet, noise: FloatArray, view: View
) -> tuple[IntArray | FloatArray, ...] | None:
    """Columns of :class:`Carriageway` of one vehicle while all of it is in the picture; None if it never is."""
    vehicle = int(motion.vehicle[rows.start])
    frames = view_frames(int(motion.tick[rows.start]), int(motion.tick[rows.stop - 1]), view)
    if rows.stop - rows.start < 3:
        return None
    ticks = (frames / RATE_HZ + WARM_UP_S) / TICK_S - motion.tick[rows.start]
    along, speed, accel = between(ticks, motion.xy[rows, 0] - BEFORE_M, motion.v_mps[rows])
    side = motion.xy[rows, 1] / LANE_M
    lateral, rate, bend = between(ticks, side, np.gradient(side, TICK_S))
    half = fleet.length_m[vehicle] / 2
    seen = (along - half >= 0) & (along + half <= SEEN_M)
    lateral = lateral + 0.04 * noise[vehicle, 2]
    columns = np.full(frames.size, vehicle), frames, along, speed, accel, lateral, rate, bend
    return tuple(values[seen] for values in columns) if seen.any() else None


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
