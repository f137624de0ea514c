"""How participants drive, and which gap of the stream they take.

Frame of a crossing, left-hand traffic: the stream (protocol's E, the logs' drones) drives along +y at x = -w/2, the
participant (T) along -x at y = -w/2. The stream's contested space begins a lane and a traffic island before y = 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from giveway.core import elementary
from giveway.core.arrays import FloatArray
from giveway.core.seeds import stream
from giveway.synth.humans import Drivers, Population, draw_boldness, draw_drivers

LANE_WIDTH_M = 3.65
ISLAND_M = 1.0
VEHICLE_LENGTH_M = 5.0
LOG_HZ = 60
CROSSING_M = (180.0, 560.0)
"""Position of the two crossings along the participant's route."""
ROUTE_M = 680.0
CRUISE_MPS = 12.0
OPEN_M = VEHICLE_LENGTH_M / 2
"""The gap opens when the car before has this y."""
CLOSE_M = -(LANE_WIDTH_M + ISLAND_M + VEHICLE_LENGTH_M / 2)
"""y of E at which the gap closes."""
CLEAR_M = 5.8
"""x of T, beyond the crossing, at which the stream's lane is free again."""
MARGIN_S = 0.9
PEOPLE = Population(critical_gap_s=6.1, between=0.07, within=0.087, speed_bias=0.05)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """The cars one participant meets at one crossing.

    Attributes:
        speed_mps: of all of them.
        passes_s: (n,) time at which each is at y = 0.
        probability: (n,) of acceptance of the gap before each; NaN where the participant was gone or not yet there.
        go_s: when the participant starts.
        accepted: index of the car before which it crosses; n if after all of them.
    """

    speed_mps: float
    passes_s: FloatArray
    probability: FloatArray
    go_s: float
    accepted: int

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


def simulate_sessions(seed: int, count: int) -> list[Session]:
    """All participants, moved together in steps of 1/60 s."""
    rng = stream(seed, "leeds", "participants")
    drivers = draw_drivers(rng, draw_boldness(rng, count))
    behind = np.clip(5.6 - 0.4 * drivers.boldness + 0.4 * rng.standard_normal(count), 4.4, 7.5)
    creep = np.clip(0.1 + 0.1 * drivers.boldness, 0.0, 0.3)
    cruise = CRUISE_MPS * np.clip(1 + 0.06 * drivers.boldness, 0.88, 1.15)
    stops = np.stack([position - behind for position in CROSSING_M])
    leg = np.zeros(count, dtype=np.int64)
    go_s = np.full(count, np.inf)
    streams: list[list[Stream]] = [[] for _ in range(count)]
    s, v, a = np.zeros(count), cruise.copy(), np.zeros(count)
    history = [s]
    dt = 1 / LOG_HZ
    while bool((s < ROUTE_M).any()):
        now = (len(history) - 1) * dt
        has_stop = leg < len(CROSSING_M)
        left = np.where(has_stop, stops[np.minimum(leg, 1), np.arange(count)] - s, 1e6)
        for who in np.flatnonzero(has_stop & np.isinf(go_s) & (v < 0.5) & (left < 1.0)):
            met = _meet(seed, int(who), int(leg[who]), now, float(behind[who]), drivers)
            streams[who].append(met)
            go_s[who] = met.go_s
        passed = has_stop & (now >= go_s)
        leg, go_s = leg + passed, np.where(passed, np.inf, go_s)
        wanted = np.sqrt(2 * 1.5 * np.clip(left, 0, None))
        wanted = np.where(left > 0, wanted + creep, np.where(left > -0.8, creep, 0.0))
        held = np.clip((np.minimum(wanted, cruise) - v) / 0.4, -3.0, 1.2)
        freed = drivers.accel_mps2 * (1 - elementary.power(v / cruise, 4.0))
        command = np.where(passed | ~has_stop | (left > 60.0), freed, np.minimum(held, freed))
        fresh = a + np.clip(command - a, -8.0 * dt, 5.0 * dt)
        faster = np.maximum(v + (a + fresh) / 2 * dt, 0.0)
        s = s + (v + faster) / 2 * dt
        v, a = faster, np.where(faster > 0, fresh, np.maximum(fresh, 0.0))
        history.append(s)
    along = np.stack(history)
    offset = np.clip(0.12 * rng.standard_normal(count), -0.3, 0.3)
    return [
        Session(
            s_m=along[: int(np.argmax(along[:, k] >= ROUTE_M)) + 1, k],
            offset_m=float(offset[k]),
            streams=tuple(streams[k]),
            boldness=float(drivers.boldness[k]),
        )
        for k in range(count)
    ]


def _meet(seed: int, who: int, leg: int, now_s: float, behind_m: float, drivers: Drivers) -> Stream:
    """The stream that passes while a participant waits, and the gap it takes."""
    rng = stream(seed, "leeds", "stream", who, leg)
    speed = 10.0 + 4.0 * rng.random()
    size = int(rng.integers(10, 17))
    gaps = np.linspace(1.0, 8.0, size - 1) + 0.25 * (2 * rng.random(size - 1) - 1)
    passes = now_s + 0.6 + rng.random() + np.concatenate([[0.0], np.cumsum(np.maximum(gaps, 0.85))])
    reaction, accel = float(drivers.reaction_s[who]), float(drivers.accel_mps2[who])
    needs = reaction + 0.3 + np.sqrt(2 * (behind_m + CLEAR_M) / accel) + MARGIN_S
    probability = np.full(size, np.nan)
    probability[0] = 0.0
    accepted = size
    for number in range(1, size):
        opens = passes[number - 1] + OPEN_M / speed
        gap = passes[number] + CLOSE_M / speed - opens
        chance = PEOPLE.probability(np.array(gap), np.array(speed), np.array(drivers.boldness[who]))
        probability[number] = float(chance[0]) if gap > needs else 0.0
        if rng.random() < probability[number]:
            accepted = number
            break
    start = passes[accepted - 1] + OPEN_M / speed + reaction
    return Stream(speed_mps=speed, passes_s=passes, probability=probability, go_s=float(start), accepted=accepted)
