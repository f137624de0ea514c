"""How fast people drive where nobody is in their way, by lane: cruising speed of drivers and v_d of the metric.

One number per site is wrong where through lanes and queues meet, so the samples of a site are kept by lane, and a route
pools those of its own lanes::

    cruise = min(limit, max(p85 of free speeds on the route's lanes, largest recorded speed of the car itself))
    v_d    = p50 of free speeds on the route's lanes

Free: moving, and nobody ahead in a corridor 12 m wide for 3 s. With fewer than 50 free samples: p85 of all samples of
the lanes, else the limit, else 8 m/s, for both.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray, IntArray
from giveway.core.case import DESIRED_SPEED_MPS
from giveway.core.tracks import AgentKind, Tracks
from giveway.roads.queries import PreparedMap

EVERY_S = 1.0
AHEAD_S, HALF_WIDTH_M = 3.0, 6.0
MOVING_MPS = 0.5
"""A car that stands is not free, whoever is ahead [m/s]."""
MIN_SAMPLES = 50
SLOWEST_MPS = 1.0
"""No desired speed is below this [m/s]."""


@dataclass(slots=True)
class SiteSpeeds:
    """Speeds seen on the lanes of one site.

    Attributes:
        lanes: lane to (free, all) lists of arrays [m/s]; -1 for cars beside all lanes.
        limits: lane to speed limit [m/s].
    """

    lanes: dict[int, tuple[list[FloatArray], list[FloatArray]]] = field(
        default_factory=dict[int, tuple[list[FloatArray], list[FloatArray]]]
    )
    limits: dict[int, float] = field(default_factory=dict[int, float])

    def add(self, tracks: Tracks, road: PreparedMap | None) -> None:
        """Add the motor vehicles of a recording, once per second."""
        speed, lane, free = samples_of(tracks, road)
        for name in np.unique(lane).tolist():
            mine = lane == name
            freely, every = self.lanes.setdefault(int(name), ([], []))
            freely.append(speed[mine & free])
            every.append(speed[mine])
        if road is not None:
            known = {int(k): lane.speed_limit_mps for k, lane in road.road.lanes.items()}
            self.limits |= {k: float(limit) for k, limit in known.items() if limit is not None}

    def limit(self, lanes: set[int]) -> float | None:
        """Median limit of some lanes; None if no limit is known."""
        known = [self.limits[lane] for lane in lanes if lane in self.limits]
        return float(np.median(known)) if known else None

    def speeds(self, lanes: set[int], fastest_mps: float) -> tuple[float, float]:
        """Cruising speed and v_d of a car on these lanes that was driven at most so fast when recorded [m/s]."""
        freely, every = (
            np.concatenate([s for lane in sorted(lanes) for s in self.lanes.get(lane, ((), ()))[k]] or [np.zeros(0)])
            for k in (0, 1)
        )
        limit = self.limit(lanes)
        if freely.size >= MIN_SAMPLES:
            v_d, usual = (float(q) for q in np.quantile(freely, (0.5, 0.85)))
        elif every.size >= MIN_SAMPLES:
            v_d = usual = float(np.quantile(every, 0.85))
        else:
            v_d = usual = limit or DESIRED_SPEED_MPS
        cruise = min(limit or np.inf, max(usual, fastest_mps))
        return round(max(cruise, SLOWEST_MPS), 2), round(max(v_d, SLOWEST_MPS), 2)


def samples_of(tracks: Tracks, road: PreparedMap | None) -> tuple[FloatArray, IntArray, BoolArray]:
    """(N,) speed [m/s], lane (-1 beside all), and whether it is free, of all motor vehicles once per second."""
    motor = np.array([not AgentKind(int(kind)).is_vulnerable for kind in tracks.kind], dtype=np.bool_)
    xy: list[FloatArray] = []
    heading: list[FloatArray] = []
    speeds: list[FloatArray] = []
    free: list[BoolArray] = []
    of_all = tracks.speed
    for k in range(0, tracks.num_instants, max(round(EVERY_S / tracks.dt_s), 1)):
        here = np.flatnonzero(tracks.observed[:, k] & motor)
        if here.size == 0:
            continue
        place, angle, speed = tracks.xy[here, k], tracks.heading[here, k], of_all[here, k]
        offset = place[None] - place[:, None]
        cos, sin = np.cos(angle)[:, None], np.sin(angle)[:, None]
        ahead, aside = offset[..., 0] * cos + offset[..., 1] * sin, offset[..., 1] * cos - offset[..., 0] * sin
        blocked = (ahead > 0.0) & (ahead <= AHEAD_S * speed[:, None]) & (np.abs(aside) <= HALF_WIDTH_M)
        xy.append(place)
        heading.append(angle)
        speeds.append(speed)
        free.append(~blocked.any(axis=1) & (speed > MOVING_MPS))
    if not xy:
        return np.zeros(0), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.bool_)
    places, angles = np.concatenate(xy), np.concatenate(heading)
    lane = np.full(len(places), -1) if road is None else road.match(places, angles).lane
    return np.concatenate(speeds), lane, np.concatenate(free)
