"""Moments without a conflict of two routes that still ask for a decision: a leader that brakes, a pedestrian."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from giveway.core.arrays import FloatArray, IntArray
from giveway.core.tracks import AgentKind, Tracks
from giveway.drive.conflicts import Trace

BRAKES_MPS2 = 2.0
"""A leader that loses this much speed within a second brakes."""
LEADER_M, LANE_M, SAME_WAY = 30.0, 1.8, 0.87
"""A leader is at most this far ahead, this far aside, and its heading differs by less than 30 degrees (cosine)."""
PEDESTRIAN_S, PEDESTRIAN_M = 4.0, 2.0
"""A pedestrian who is this near to a point of a path within this time of the car is in conflict with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One moment.

    Attributes:
        kind: what happens.
        ego: trace of the car that has to react.
        other: row of the leader or pedestrian.
        time_s: when.
        gap_s: time headway, or time between pedestrian and car at the point they share.
        interest: 1 to 5, as for conflicts.
        xy: (2,) where.
    """

    kind: Literal["following", "pedestrian"]
    ego: Trace
    other: int
    time_s: float
    gap_s: float
    interest: float
    xy: FloatArray


def find_following(tracks: Tracks, traces: list[Trace]) -> list[Event]:
    """Followers whose leader brakes by at least 2 m/s within a second, once per leader and stop."""
    ticks = max(round(1.0 / tracks.dt_s), 1)
    known = {trace.row: trace for trace in traces}
    rows = np.array(sorted(known), dtype=np.int64)
    found: list[Event] = []
    for leader in rows.tolist():
        speed = np.hypot(*tracks.velocity[leader].T)
        lost = np.full(speed.shape, -np.inf)
        lost[:-ticks] = speed[:-ticks] - speed[ticks:]
        lost = np.where(np.isfinite(lost), lost, -np.inf)
        at = 0
        while (later := np.flatnonzero(lost[at:] >= BRAKES_MPS2)).size:
            k = at + int(later[0])
            at = k + 5 * ticks
            event = _behind(tracks, known, rows, leader, k, float(lost[k : k + 2 * ticks].max()))
            if event is not None:
                found.append(event)
    return found


def _behind(
    tracks: Tracks, known: dict[int, Trace], rows: IntArray, leader: int, k: int, braking: float
) -> Event | None:
    """The nearest car behind a leader at an instant."""
    others = rows[tracks.observed[rows, k] & (rows != leader)]
    offset = tracks.xy[leader, k] - tracks.xy[others, k]
    heading = tracks.heading[others, k]
    cos, sin = np.cos(heading), np.sin(heading)
    ahead, aside = offset[:, 0] * cos + offset[:, 1] * sin, offset[:, 1] * cos - offset[:, 0] * sin
    same = np.cos(heading - tracks.heading[leader, k]) > SAME_WAY
    fits = same & (ahead > 0) & (ahead <= LEADER_M) & (np.abs(aside) <= LANE_M)
    if not fits.any():
        return None
    which = int(np.where(fits, ahead, np.inf).argmin())
    row = int(others[which])
    gap = float(ahead[which]) - 0.5 * (known[leader].length_m + known[row].length_m)
    headway = max(gap, 0.0) / max(float(np.hypot(*tracks.velocity[row, k])), 0.5)
    closeness = float(np.clip(1.0 - headway / 3.0, 0.0, 1.0))
    return Event(
        kind="following",
        ego=known[row],
        other=leader,
        time_s=float(tracks.time_s[k]),
        gap_s=headway,
        interest=round(1.0 + 4.0 * (0.6 * closeness + 0.4 * min(braking / 3.0, 1.0)), 2),
        xy=tracks.xy[leader, k],
    )


def find_pedestrians(tracks: Tracks, traces: list[Trace]) -> list[Event]:
    """Cars and pedestrians who are within 2 m of one place within 4 s; the closest moment of each pair."""
    found: list[Event] = []
    walking = [row for row in range(tracks.num_agents) if AgentKind(int(tracks.kind[row])).is_vulnerable]
    for row in walking:
        seen = np.flatnonzero(tracks.observed[row])[::2]
        for trace in traces:
            if seen.size == 0 or trace.time_s[0] > tracks.time_s[seen[-1]] + PEDESTRIAN_S:
                continue
            apart = np.hypot(*np.moveaxis(trace.xy[:, None] - tracks.xy[row, seen][None], -1, 0))
            later = np.abs(trace.time_s[:, None] - tracks.time_s[seen][None])
            later = np.where(apart <= PEDESTRIAN_M, later, np.inf)
            point, instant = np.unravel_index(int(later.argmin()), later.shape)
            gap = float(later[point, instant])
            if gap > PEDESTRIAN_S or point < 10:
                continue
            found.append(
                Event(
                    kind="pedestrian",
                    ego=trace,
                    other=row,
                    time_s=float(trace.time_s[point]),
                    gap_s=gap,
                    interest=round(1.0 + 4.0 * (1.0 - gap / PEDESTRIAN_S), 2),
                    xy=trace.xy[point],
                )
            )
    return found
