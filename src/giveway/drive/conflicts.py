"""Pairs of recorded cars that wanted the same piece of road, found from their paths alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from giveway.core import elementary
from giveway.core.arrays import FloatArray
from giveway.core.frames import wrap_angle
from giveway.core.tracks import AgentKind, Tracks
from giveway.roads.conflicts import APART_BEFORE_M, JOINED_M, SHARED_M, first_shared

SPACING_M = 1.0
"""Spacing of the points that stand for a path."""

MERGE_M = 8
"""Paths that stay together for longer than this after they met are merging, shorter ones cross."""

MIN_PATH_M = 12.0
MIN_SECONDS = 2.0
BOTH_INSIDE_S = 2.0
"""Cars that are both in the shared area for longer pass beside each other: one waits at its edge."""

CIRCLING_RAD = np.deg2rad(35.0)
"""A car that turns by more than this within 30 m around the conflict is circulating."""

Kind = Literal["crossing", "merging", "entering"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """The path of one recorded car at points 1 m apart.

    Attributes:
        row: of the car in the tracks.
        xy: (P, 2) [m].
        heading: (P,) [rad].
        time_s: (P,) when its center was there; of a stop, when it left again.
        length_m: of the car.
    """

    row: int
    xy: FloatArray
    heading: FloatArray
    time_s: FloatArray
    length_m: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Meeting:
    """Two traces that meet after coming from elsewhere.

    Attributes:
        first: trace of the car that came first.
        second: trace of the other one.
        kind: crossing, merging, or entering (merging in front of or behind a circulating car).
        first_at: point of ``first`` where the shared area begins.
        second_at: point of ``second`` where it begins.
        first_to: point of ``first`` where it ends; of a merge, where the paths are joined.
        second_to: the same of ``second``.
        enter_first_s: when the front of the first one got there.
        leave_first_s: when its rear left the area (or its start, if they merge).
        enter_second_s: when the front of the second one got there.
        leave_second_s: when its rear left.
    """

    first: Trace
    second: Trace
    kind: Kind
    first_at: int
    second_at: int
    first_to: int
    second_to: int
    enter_first_s: float
    leave_first_s: float
    enter_second_s: float
    leave_second_s: float

    @property
    def gap_s(self) -> float:
        """Time between the first one leaving and the second one entering; negative if both were inside at once."""
        return self.enter_second_s - self.leave_first_s

    @property
    def xy(self) -> FloatArray:
        """(2,) where the shared area begins for the second car."""
        return self.second.xy[self.second_at]


def traces_of(tracks: Tracks) -> list[Trace]:
    """Traces of all motor vehicles that went somewhere."""
    traces: list[Trace] = []
    for row in range(tracks.num_agents):
        seen = np.flatnonzero(tracks.observed[row])
        if AgentKind(int(tracks.kind[row])).is_vulnerable or seen.size < MIN_SECONDS / tracks.dt_s:
            continue
        xy = tracks.xy[row, seen]
        arc = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(xy, axis=0).T))])
        if arc[-1] < MIN_PATH_M:
            continue
        moved = np.concatenate([[True], np.diff(arc) > 1e-6])
        at = np.arange(0.0, arc[-1], SPACING_M)
        points = np.stack([np.interp(at, arc[moved], xy[moved, axis]) for axis in (0, 1)], axis=1)
        way = np.gradient(points, axis=0)
        length = tracks.size[row, 0]
        traces.append(
            Trace(
                row=row,
                xy=points,
                heading=np.unwrap(elementary.arctan2(way[:, 1], way[:, 0])),
                time_s=np.interp(at, arc, tracks.time_s[seen]),
                length_m=float(length) if length > 0 else 4.5,
            )
        )
    return traces


def find_meetings(traces: list[Trace], *, max_gap_s: float) -> tuple[list[Meeting], int]:
    """All conflicts whose gap is at most ``max_gap_s``, and how many pairs of paths meet at all.

    Cars side by side in neighboring lanes come closer than 2.2 m, too: paths that go on together without ever being
    joined (1 m apart) are no conflict, nor are two cars that stay in the shared area at once for more than 2 s.
    """
    found: list[Meeting] = []
    pairs = 0
    boxes = [(t.xy.min(axis=0) - SHARED_M, t.xy.max(axis=0) + SHARED_M, t.time_s[0], t.time_s[-1]) for t in traces]
    for i, one in enumerate(traces):
        for j in range(i + 1, len(traces)):
            a, b = boxes[i], boxes[j]
            if a[2] > b[3] + max_gap_s or b[2] > a[3] + max_gap_s or (a[0] > b[1]).any() or (b[0] > a[1]).any():
                continue
            at = first_shared(one.xy, traces[j].xy, SHARED_M)
            if at[0] < APART_BEFORE_M or at[1] < APART_BEFORE_M:
                continue
            pairs += 1
            meeting = _meeting(one, traces[j], int(at[0]), int(at[1]), int(at[2]), int(at[3]))
            if meeting is not None and -BOTH_INSIDE_S <= meeting.gap_s <= max_gap_s:
                found.append(meeting)
    return found, pairs


def _meeting(one: Trace, two: Trace, a0: int, b0: int, a1: int, b1: int) -> Meeting | None:
    """None if the two go on side by side."""
    together = a1 - a0 >= MERGE_M and b1 - b0 >= MERGE_M and _turned(one.heading[a1], two.heading[b1]) < np.deg2rad(45)
    b0, b1 = min(b0, b1), max(b0, b1)
    ends = a1, b1
    kind: Kind = "crossing"
    if together:
        ends = _joined(one.xy[a0 : a1 + 1], two.xy[b0 : b1 + 1])
        if ends is None:
            return None
        ends = a0 + ends[0], b0 + ends[1]
        kind = "entering" if _circles(one, a0) != _circles(two, b0) else "merging"

    def times(trace: Trace, start: int, end: int) -> tuple[float, float]:
        front = max(start - 0.5 * trace.length_m / SPACING_M, 0.0)
        rear = (start if together else end) + 0.5 * trace.length_m / SPACING_M + (1.0 if together else 0.0)
        points = np.arange(trace.time_s.size)
        return float(np.interp(front, points, trace.time_s)), float(np.interp(rear, points, trace.time_s))

    sides = [(one, a0, ends[0], times(one, a0, a1)), (two, b0, ends[1], times(two, b0, b1))]
    if sides[1][3][0] < sides[0][3][0]:
        sides.reverse()
    (first, first_at, first_to, first_s), (second, second_at, second_to, second_s) = sides
    return Meeting(
        first=first,
        second=second,
        kind=kind,
        first_at=first_at,
        second_at=second_at,
        first_to=first_to,
        second_to=second_to,
        enter_first_s=first_s[0],
        leave_first_s=first_s[1],
        enter_second_s=second_s[0],
        leave_second_s=second_s[1],
    )


def _joined(one: FloatArray, two: FloatArray) -> tuple[int, int] | None:
    """Where the first of two paths (P, 2), (Q, 2) comes within 1 m of the other, and the nearest point of that."""
    gap = np.hypot(one[:, None, 0] - two[None, :, 0], one[:, None, 1] - two[None, :, 1])
    near = np.flatnonzero(gap.min(axis=1) <= JOINED_M)
    return (int(near[0]), int(gap[near[0]].argmin())) if near.size else None


def turn_before(trace: Trace, at: int, *, over_m: int = 15) -> float:
    """How much a car turned on its last meters before a point [rad], positive to the left."""
    return float(trace.heading[at] - trace.heading[max(at - over_m, 0)])


def _turned(a: float, b: float) -> float:
    return float(np.abs(wrap_angle(np.asarray(a - b))))


def _circles(trace: Trace, at: int) -> bool:
    """Whether a car turns the same way before and after the point, as on a roundabout."""
    before = turn_before(trace, at)
    after = float(trace.heading[min(at + 15, trace.heading.size - 1)] - trace.heading[at])
    return bool(before * after > 0 and abs(before + after) > CIRCLING_RAD)
