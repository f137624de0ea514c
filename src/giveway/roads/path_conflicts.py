"""The conflict of two driven paths: where and when two road users need the same piece of road.

    c      = (w_T + w_E) / 2 + 0.3 m                    corridors overlap
    D(s,u) = |P_T(s) - P_E(u)|                          centers by arc length, points 0.5 m apart
    s_in   = first s with min_u D(s, u) < c             none: no_conflict;  s_in = 0: same_lane
    u*     = argmin_u D(s_in, u)                        one per connected run of {u : D(s_in, u) < c}: a passage
    u_in   = from u* back while min over s in [s_in, s_in + 6 m] of D(s, u) < c
    t_i    = when the front, half a length ahead of the center, reaches s_in or u_in; see :func:`order_of`

The window of 6 m matters: later on its way T may come near places that E used long before, as on a roundabout. What is
contested ends where the corridors part again, or where the paths have joined (1 m); there one follows the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from giveway.core import elementary
from giveway.core.arrays import BoolArray, FloatArray, IntArray
from giveway.core.frames import wrap_angle
from giveway.core.kernels import njit
from giveway.core.tracks import AgentKind, Tracks

STEP_M = 0.5
"""Spacing of the points of a path."""

JITTER_M = 0.05
"""Shorter moves of a center are noise of a standing car."""

MARGIN_M = 0.3
"""Corridors that come this near to each other conflict."""

WINDOW_M = 6.0
"""Part of T's path behind s_in that E's way in is compared with."""

JOINED_M = 1.0
"""Paths this near to each other are one."""

MAX_SHARED_M = 30.0
"""Longest contested stretch."""

MERGE_RAD = np.radians(60.0)
"""Paths that meet at a smaller angle merge, others cross."""

CHORD_M = 3.0
"""Length over which the direction of a path is measured."""

SIZES_M: dict[AgentKind, tuple[float, float]] = {
    AgentKind.TRUCK: (10.0, 2.5),
    AgentKind.BUS: (12.0, 2.5),
    AgentKind.VAN: (5.5, 2.0),
    AgentKind.MOTORCYCLE: (2.2, 0.8),
    AgentKind.BICYCLE: (1.8, 0.6),
    AgentKind.PEDESTRIAN: (0.5, 0.5),
    AgentKind.PEDESTRIAN_OR_BICYCLE: (0.5, 0.5),
}
"""Length and width of kinds without a recorded size; others are (4.5, 1.8)."""

USUAL_SIZE_M = (4.5, 1.8)

Status = Literal["conflict", "no_conflict", "same_lane"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DrivenPath:
    """The path of one agent by arc length, and when it was where.

    Attributes:
        row: of the agent in its tracks.
        xy: (P, 2) points 0.5 m apart [m].
        arc_m: (n,) arc length of the center at the instants at which it had moved, increasing strictly.
        time_s: (n,) of these instants.
        length_m, width_m: of the agent.
    """

    row: int
    xy: FloatArray
    arc_m: FloatArray
    time_s: FloatArray
    length_m: float
    width_m: float

    def front_at(self, s_m: float) -> float:
        """When the front reaches an arc length [s]; NaN if it was there at the first instant, or never is."""
        return self.center_at(s_m - 0.5 * self.length_m)

    def center_at(self, s_m: float) -> float:
        """When the center reaches an arc length [s]; NaN if it was there at the first instant, or never is."""
        if not self.arc_m[0] < s_m <= self.arc_m[-1]:
            return np.nan
        return float(np.interp(s_m, self.arc_m, self.time_s))

    def front_to(self, s_m: float, time_s: FloatArray) -> FloatArray:
        """Way of the front to an arc length at given times [m], negative behind it; ends of the track are held."""
        return s_m - 0.5 * self.length_m - np.interp(time_s, self.time_s, self.arc_m)

    def point(self, s_m: float) -> FloatArray:
        """(2,) center at an arc length, ends held."""
        at = min(max(s_m / STEP_M, 0.0), len(self.xy) - 1.0)
        low = min(int(at), len(self.xy) - 2)
        return self.xy[low] + (at - low) * (self.xy[low + 1] - self.xy[low])

    def heading(self, s_m: float) -> float:
        """Direction from 1.5 m before an arc length to 1.5 m behind it [rad]."""
        step = self.point(s_m + 0.5 * CHORD_M) - self.point(s_m - 0.5 * CHORD_M)
        return float(elementary.arctan2(step[1], step[0]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """One passage of E: arc lengths on its path where the contested stretch begins and ends [m]."""

    u_in_m: float
    u_out_m: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PathConflict:
    """Where T's path first meets that of E.

    Attributes:
        status: ``conflict``; ``no_conflict`` if corridors never overlap, ``same_lane`` if they do from the start.
        s_in_m, s_out_m: arc length on T's path where the contested stretch begins and ends.
        passages: of E, in the order of its path; empty unless there is a conflict.
        place: (2,) point of T's path at s_in.
        angle_rad: between the directions of both where they come in, first passage; 0 to pi.
        side: +1 if E comes from the left of T, -1 from the right, 0 if that cannot be told.
    """

    status: Status
    s_in_m: float = np.nan
    s_out_m: float = np.nan
    passages: tuple[Passage, ...] = ()
    place: tuple[float, float] = (np.nan, np.nan)
    angle_rad: float = np.nan
    side: int = 0

    @property
    def kind(self) -> Literal["merge", "cross"]:
        """Merge below 60 degrees."""
        return "merge" if self.angle_rad < MERGE_RAD else "cross"


def size_of(tracks: Tracks, row: int) -> tuple[float, float]:
    """Length and width of an agent, by its kind where none is recorded [m]."""
    usual = SIZES_M.get(AgentKind(int(tracks.kind[row])), USUAL_SIZE_M)
    recorded = (float(v) for v in tracks.size[row])
    length, width = (own if own > 0 else other for own, other in zip(recorded, usual, strict=True))
    return length, width


def driven_path(tracks: Tracks, row: int) -> DrivenPath | None:
    """Path of one agent; None if it moved by less than half a meter."""
    seen = np.flatnonzero(tracks.observed[row] & np.isfinite(tracks.xy[row, :, 0]))
    if len(seen) < 2:
        return None
    xy = tracks.xy[row, seen]
    moved, arc = _arc_lengths(xy, JITTER_M)
    moved, arc = seen[moved], arc[moved]
    if arc[-1] < STEP_M:
        return None
    length, width = size_of(tracks, row)
    return path_along(tracks.xy[row, moved], arc, tracks.time_s[moved], row=row, length_m=length, width_m=width)


def path_along(
    xy: FloatArray, arc_m: FloatArray, time_s: FloatArray, *, row: int = -1, length_m: float, width_m: float
) -> DrivenPath:
    """A path through points (n, 2) with increasing arc lengths and times."""
    at = np.arange(0.0, arc_m[-1] + 1e-9, STEP_M)
    points = np.column_stack([np.interp(at, arc_m, xy[:, 0]), np.interp(at, arc_m, xy[:, 1])])
    return DrivenPath(row=row, xy=points, arc_m=arc_m, time_s=time_s, length_m=length_m, width_m=width_m)


def path_of_points(
    xy: FloatArray, *, length_m: float = USUAL_SIZE_M[0], width_m: float = USUAL_SIZE_M[1]
) -> DrivenPath:
    """A path without times (NaN) through points (n, 2) of which no two neighbors are equal, e.g. a center line."""
    arc = np.concatenate([[0.0], np.hypot(*np.diff(xy, axis=0).T).cumsum()])
    return path_along(xy, arc, np.full(len(arc), np.nan), length_m=length_m, width_m=width_m)


def driven_paths(tracks: Tracks) -> list[DrivenPath | None]:
    """Path of every agent, None where it did not move."""
    return [driven_path(tracks, row) for row in range(tracks.num_agents)]


def path_conflict(target: DrivenPath, other: DrivenPath) -> PathConflict:
    """First conflict along T's path with the path of E, see the module.

    Args:
        target: path of T.
        other: path of E.

    Returns:
        Both paths may be driven ones (truth) or references (center lines, medians), which have no times.
    """
    near = 0.5 * (target.width_m + other.width_m) + MARGIN_M
    if not _may_meet(target.xy, other.xy, near):
        return PathConflict(status="no_conflict")
    s_in, s_out, runs = _first_conflict(target.xy, other.xy, near)
    if s_in < 0:
        return PathConflict(status="no_conflict")
    if s_in == 0:
        return PathConflict(status="same_lane")
    u_in = float(runs[0, 0]) * STEP_M
    s_in_m = s_in * STEP_M
    turn = wrap_angle(other.heading(u_in) - target.heading(s_in_m))
    return PathConflict(
        status="conflict",
        s_in_m=s_in_m,
        s_out_m=s_out * STEP_M,
        passages=tuple(Passage(u_in_m=a * STEP_M, u_out_m=b * STEP_M) for a, b in runs.tolist()),
        place=(float(target.xy[s_in, 0]), float(target.xy[s_in, 1])),
        angle_rad=abs(float(turn)),
        side=_side(target, other, s_in_m, u_in),
    )


SIDE_BACK_M = 10.0
"""How far before the conflict the sides are compared."""


def _side(target: DrivenPath, other: DrivenPath, s_in: float, u_in: float) -> int:
    """Whether E comes from the left (+1) or from the right (-1) of T's way in."""
    begin = target.point(s_in - SIDE_BACK_M)
    own = target.point(s_in) - begin
    came = other.point(u_in - SIDE_BACK_M) - begin
    return int(np.sign(own[0] * came[1] - own[1] * came[0]))


def order_of(target: DrivenPath, other: DrivenPath, conflict: PathConflict, passage: int = 0) -> tuple[float, float]:
    """(t_T, t_E): when both reach the contested stretch with their fronts [s]; NaN where that was not observed.

    A car that waits with its front already over the edge of the stretch has not passed: where fronts and centers come
    in different orders, the times are those of the centers.
    """
    if conflict.status != "conflict":
        return np.nan, np.nan
    u_in = conflict.passages[passage].u_in_m
    if waits_inside(target, other, conflict, passage):
        return target.center_at(conflict.s_in_m), other.center_at(u_in)
    return target.front_at(conflict.s_in_m), other.front_at(u_in)


def waits_inside(target: DrivenPath, other: DrivenPath, conflict: PathConflict, passage: int = 0) -> bool:
    """Whether the fronts of two cars reach the contested stretch in another order than their centers."""
    u_in = conflict.passages[passage].u_in_m
    fronts = target.front_at(conflict.s_in_m) - other.front_at(u_in)
    centers = target.center_at(conflict.s_in_m) - other.center_at(u_in)
    return bool(fronts * centers < 0)  # NaN, where one of them is not observed, is not


def boxes_of(paths: Sequence[DrivenPath | None]) -> FloatArray:
    """(A, 6) least and largest x, y and time of each path; NaN, which overlaps nothing, for None."""
    out = np.full((len(paths), 6), np.nan)
    for k, path in enumerate(paths):
        if path is not None:
            out[k] = *path.xy.min(axis=0), *path.xy.max(axis=0), path.time_s[0], path.time_s[-1]
    return out


def near_to(boxes: FloatArray, row: int, *, within_m: float = 4.0) -> IntArray:
    """Rows whose path may come near that of a row while both are recorded; without the row itself."""
    own = boxes[row]
    with np.errstate(invalid="ignore"):
        near: BoolArray = (boxes[:, :2] <= own[2:4] + within_m).all(axis=1)
        near &= (boxes[:, 2:4] >= own[:2] - within_m).all(axis=1)
        near &= (boxes[:, 4] <= own[5]) & (boxes[:, 5] >= own[4])
    near[row] = False
    return np.flatnonzero(near)


@njit(cache=True, nogil=True)
def _arc_lengths(xy: FloatArray, jitter: float) -> tuple[IntArray, FloatArray]:
    """Indices of the points at which the center had moved, and arc lengths at all of them."""
    count = len(xy)
    kept = np.empty(count, dtype=np.int64)
    arc = np.zeros(count)
    kept[0] = 0
    num = 1
    last = 0
    for k in range(1, count):
        step = np.sqrt((xy[k, 0] - xy[last, 0]) ** 2 + (xy[k, 1] - xy[last, 1]) ** 2)
        arc[k] = arc[last] + step
        if step >= jitter:
            kept[num] = k
            num += 1
            last = k
    return kept[:num], arc


@njit(cache=True, nogil=True)
def _may_meet(one: FloatArray, two: FloatArray, near: float) -> bool:
    """Whether every fourth points, 2 m apart, come near enough for the paths to conflict."""
    limit = (near + 4.0 * STEP_M) ** 2
    for i in range(0, len(one), 4):
        for j in range(0, len(two), 4):
            if (one[i, 0] - two[j, 0]) ** 2 + (one[i, 1] - two[j, 1]) ** 2 < limit:
                return True
    return False


@njit(cache=True, nogil=True)
def _least(point: FloatArray, path: FloatArray, first: int, stop: int) -> float:
    """Least squared distance of a point from some points of a path."""
    best = np.inf
    for j in range(first, stop):
        d = (point[0] - path[j, 0]) ** 2 + (point[1] - path[j, 1]) ** 2
        if d < best:
            best = d
    return best


@njit(cache=True, nogil=True)
def _run_together(one: FloatArray, i: int, two: FloatArray, j: int) -> bool:
    """Whether two paths go the same way, within 60 degrees, at a point of each."""
    a, b = max(i - 1, 0), min(i + 1, len(one) - 1)
    c, d = max(j - 1, 0), min(j + 1, len(two) - 1)
    ax, ay = one[b, 0] - one[a, 0], one[b, 1] - one[a, 1]
    bx, by = two[d, 0] - two[c, 0], two[d, 1] - two[c, 1]
    return ax * bx + ay * by > 0.5 * np.sqrt((ax * ax + ay * ay) * (bx * bx + by * by))


@njit(cache=True, nogil=True)
def _end_of(own: FloatArray, start: int, path: FloatArray, first: int, stop: int, near: float) -> int:
    """Where the contested stretch that begins at ``start`` ends: corridors part, paths have joined, or 30 m."""
    last = min(len(own) - 1, start + int(MAX_SHARED_M / STEP_M))
    for k in range(start + 1, last + 1):
        best = np.inf
        at = first
        for j in range(first, stop):
            d = (own[k, 0] - path[j, 0]) ** 2 + (own[k, 1] - path[j, 1]) ** 2
            if d < best:
                best, at = d, j
        if best >= near * near or (best < JOINED_M * JOINED_M and _run_together(own, k, path, at)):
            return k
    return last


@njit(cache=True, nogil=True)
def _first_conflict(one: FloatArray, two: FloatArray, near: float) -> tuple[int, int, IntArray]:
    """s_in and s_out on T's path and (passages, 2) u_in and u_out on E's; -1 without a conflict."""
    square = near * near
    s_in = -1
    for i in range(len(one)):
        if _least(one[i], two, 0, len(two)) < square:
            s_in = i
            break
    if s_in <= 0:
        return s_in, s_in, np.empty((0, 2), dtype=np.int64)
    stop = min(s_in + int(WINDOW_M / STEP_M) + 1, len(one))
    reach = min(s_in + int(2.0 * MAX_SHARED_M / STEP_M) + 1, len(one))
    runs = np.empty((len(two), 2), dtype=np.int64)
    num = 0
    j = 0
    while j < len(two):
        best = (one[s_in, 0] - two[j, 0]) ** 2 + (one[s_in, 1] - two[j, 1]) ** 2
        if best >= square:
            j += 1
            continue
        nearest = j
        while j < len(two):
            d = (one[s_in, 0] - two[j, 0]) ** 2 + (one[s_in, 1] - two[j, 1]) ** 2
            if d >= square:
                break
            if d < best:
                best, nearest = d, j
            j += 1
        u_in = nearest
        while u_in > 0 and _least(two[u_in - 1], one, s_in, stop) < square:
            u_in -= 1
        if num > 0 and u_in <= runs[num - 1, 0]:
            continue  # walked back into the passage before: E only swerved
        runs[num, 0] = u_in
        runs[num, 1] = _end_of(two, nearest, one, s_in, reach, near)
        num += 1
    u_stop = min(runs[0, 0] + int(2.0 * MAX_SHARED_M / STEP_M) + 1, len(two))
    s_out = _end_of(one, s_in, two, runs[0, 0], u_stop, near)
    return s_in, s_out, runs[:num]
