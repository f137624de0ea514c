"""How participants drive, and which gap of the stream they take: one-way roads that cross, in the simulator.

Frame of a crossing, left-hand traffic: the stream (protocol's E, the logs' drones) drives along +y at x = -w/2, the
participant (T) along -x at y = -w/2. The stream's contested space begins a lane and a traffic island before y = 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from giveway.core.arrays import FloatArray, IntArray
from giveway.core.case import TICK_S
from giveway.core.seeds import stream
from giveway.roads.library.crossing import crossing_road
from giveway.sim.drivers.human import CHANCE, DRAWS, OTHER, Humans
from giveway.sim.drivers.people import Population, draw_boldness, draw_drivers
from giveway.sim.state import DriverCode, Static
from giveway.synth.road_users import between, vehicle_rows
from giveway.synth.traffic import Habits, Place, drive, place_of, worlds_of

LANE_WIDTH_M = 3.65
ISLAND_M = 1.0
VEHICLE_LENGTH_M = 5.0
VEHICLE_WIDTH_M = 1.9
LOG_HZ = 60
CROSSING_M = (180.0, 560.0)
"""Position of the two crossings along the participant's route."""
LEGS_M = (0.0, 300.0, 680.0)
"""Where on the route the two drives over a crossing begin and end; the last is the end of the route."""
CRUISE_MPS = 12.0
REACH_M, STOP_M = 300.0, 4.4
"""Length of the arms of a crossing, and how far before the stream's lane its line is."""
MOST_CARS = 16
APPROACH_TICKS, TICKS = 450, 1500
NEVER_TICK = 10**6
HABITS = Habits(stop_s=0.4, margin_s=0.6, decides_m=4.0)
PEOPLE = Population(critical_gap_s=6.2, between=0.07, within=0.087, speed_bias=0.05)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """The cars one participant meets at one crossing.

    Attributes:
        speed_mps: of all of them.
        passes_s: (n,) time at which each is at y = 0.
        probability: (n,) of acceptance of the gap before each; NaN where the participant was gone or not yet there.
    """

    speed_mps: float
    passes_s: FloatArray
    probability: FloatArray

    def y_at(self, number: int, time_s: FloatArray) -> FloatArray:
        """Position of a car along its road."""
        return self.speed_mps * (time_s - self.passes_s[number])


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One participant.

    Attributes:
        s_m: (K,) position along the route at k / 60 s.
        offset_m: lateral offset to the left.
        streams: one per crossing.
        boldness: trait.
    """

    s_m: FloatArray
    offset_m: float
    streams: tuple[Stream, ...]
    boldness: float


@cache
def _crossing() -> Place:
    """Route 0 of the stream, route 1 of the participant."""
    return place_of(crossing_road(reach_m=REACH_M, lane_width_m=LANE_WIDTH_M, limit_mps=50.0, yielding_limit_mps=50.0,
                                  stop_m=STOP_M))  # fmt: skip


def simulate_sessions(seed: int, count: int) -> list[Session]:
    """All participants, one world each per crossing.

    The stream comes when the participant has stopped, so each crossing is driven twice: until then without it.
    """
    rng = stream(seed, "leeds", "participants")
    boldness = draw_boldness(rng, count)
    drivers = draw_drivers(rng, boldness)
    back = np.clip(0.6 - 0.3 * boldness + 0.4 * rng.standard_normal(count), 0.0, 2.0)
    cruise = CRUISE_MPS * np.clip(1 + 0.06 * boldness, 0.88, 1.15)
    traits = np.stack([boldness, drivers.reaction_s, drivers.accel_mps2, np.ones(count), back], axis=1)
    offset = np.clip(0.12 * rng.standard_normal(count), -0.3, 0.3)
    speed, begins = cruise.copy(), np.zeros(count)
    logs: list[list[FloatArray]] = [[] for _ in range(count)]
    streams: list[list[Stream]] = [[] for _ in range(count)]
    for leg, crossing_m in enumerate(CROSSING_M):
        shift = REACH_M - crossing_m - LANE_WIDTH_M / 2
        draws = rng.random((count, DRAWS))

        def worlds(leg: int = leg, shift: float = shift, draws: FloatArray = draws) -> tuple[Static, Humans]:
            return _worlds(traits, draws, speed, LEGS_M[leg] + shift, cruise)

        approach = drive(*worlds(), APPROACH_TICKS)
        static, own = worlds()
        met = [
            _stream(seed, who, leg, float(np.argmax(approach.v_mps[rows] < 0.5)) * TICK_S)
            for who, rows in enumerate(vehicle_rows(approach))
        ]
        for who, cars in enumerate(met):
            _add(static, who, cars)
        motion = drive(static, own, TICKS)
        people = [rows for rows in vehicle_rows(motion) if motion.vehicle[rows.start] % (MOST_CARS + 1) == 0]
        for who, rows in enumerate(people):
            s, v = motion.s_m[rows] - shift, motion.v_mps[rows]
            ends = _time_at(s, v, LEGS_M[leg + 1])
            ticks = (
                np.arange(np.ceil(begins[who] * LOG_HZ - 1e-9), (begins[who] + ends) * LOG_HZ) / LOG_HZ - begins[who]
            )
            logs[who].append(between(ticks / TICK_S, s, v)[0])
            decided = own.decided[who, 0, : own.num_decided[who, 0]]
            probability = np.full(met[who].passes_s.size, np.nan)
            probability[decided[:, OTHER].astype(np.int64) - 1] = decided[:, CHANCE]
            streams[who].append(
                Stream(speed_mps=met[who].speed_mps, passes_s=met[who].passes_s + begins[who], probability=probability)
            )
            speed[who] = between(np.array([ends / TICK_S]), s, v)[1][0]
            begins[who] += ends
    return [
        Session(
            s_m=np.concatenate(logs[k]), offset_m=float(offset[k]), streams=tuple(streams[k]),
            boldness=float(boldness[k]),
        )
        for k in range(count)
    ]  # fmt: skip


def _worlds(
    traits: FloatArray, draws: FloatArray, speed: FloatArray, start_m: float, cruise: FloatArray
) -> tuple[Static, Humans]:
    """One world per participant, who is car 0; cars of the stream never appear yet."""
    shape = len(traits), MOST_CARS + 1
    route: IntArray = np.zeros(shape, dtype=np.int64)
    route[:, 0] = 1
    static, own = worlds_of(
        _crossing(), route, np.repeat(traits[:, None], shape[1], axis=1), np.repeat(draws[:, None], shape[1], axis=1),
        PEOPLE, HABITS,
    )  # fmt: skip
    static.driver[:, 1:] = int(DriverCode.CONSTANT_SPEED)
    static.size[:] = VEHICLE_LENGTH_M, VEHICLE_WIDTH_M
    static.desired_speed[:] = cruise[:, None]
    static.spawn_tick[:, 1:] = NEVER_TICK
    static.start_lane[:, 0, 0] = start_m
    static.start[:, 0, 3] = speed
    return static, own


def _add(static: Static, who: int, cars: Stream) -> None:
    """Let the cars of a stream appear, in time to pass when they should; their lane crosses half a lane after y = 0."""
    for car, passes_s in enumerate(cars.passes_s.tolist(), start=1):
        first = passes_s - (REACH_M - LANE_WIDTH_M / 2) / cars.speed_mps
        tick = max(int(np.ceil(first / TICK_S)), 0)
        static.spawn_tick[who, car] = tick
        static.start_lane[who, car, 0] = REACH_M - LANE_WIDTH_M / 2 + cars.speed_mps * (tick * TICK_S - passes_s)
        static.start[who, car, 3] = cars.speed_mps


def _stream(seed: int, who: int, leg: int, stops_s: float) -> Stream:
    """The stream that passes while a participant waits; gaps become longer."""
    rng = stream(seed, "leeds", "stream", who, leg)
    speed = 10.0 + 4.0 * rng.random()
    size = int(rng.integers(10, MOST_CARS + 1))
    gaps = np.linspace(1.0, 8.0, size - 1) + 0.25 * (2 * rng.random(size - 1) - 1)
    passes = stops_s + 0.6 + rng.random() + np.concatenate([[0.0], np.cumsum(np.maximum(gaps, 0.85))])
    return Stream(speed_mps=speed, passes_s=passes, probability=np.full(size, np.nan))


def _time_at(s: FloatArray, v: FloatArray, place_m: float) -> float:
    """When a participant, who stops only long before it, is at a place [s]."""
    last = int(np.argmax(s >= place_m))
    a = (v[last] - v[last - 1]) / TICK_S
    left = place_m - s[last - 1]
    return float(((last - 1) * TICK_S) + 2 * left / (v[last - 1] + np.sqrt(v[last - 1] ** 2 + 2 * a * left)))
