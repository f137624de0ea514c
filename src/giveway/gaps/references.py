"""Reference paths of an entry: what is known about the ways to it before they are driven.

Inputs of models must not see the future, so distances to the contested place are measured along references instead of
driven paths: targets are grouped by approach, those with priority by the way they come, and the reference of a group is
the pointwise median of its paths by arc length. With five or more recordings of a site, the references of a recording
are made from the others, so that no sample helps to place itself. Where there is a map, the center lines of the lanes
take their place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from giveway.core import elementary
from giveway.core.arrays import FloatArray, IntArray
from giveway.core.frames import rotated, wrap_angle
from giveway.core.kernels import njit
from giveway.core.polylines import Polyline, polyline
from giveway.gaps.encounters import Encounter, Meeting
from giveway.roads.path_conflicts import JITTER_M, STEP_M, DrivenPath, path_conflict, path_of_points

BACK_M, AHEAD_M = 60.0, 30.0
"""Part of a path around the contested place that its reference describes."""

APPROACH_M, ORIGIN_M = 15.0, 40.0
"""How far before the contested place approaches, and where somebody with priority comes from, are told apart."""

LINK_M, LINK_RAD = 2.0, np.radians(20.0)
"""Single linkage: paths this near to each other there belong to one group."""

FULL_GROUP, LEAST_GROUP = 20, 5
"""Smaller groups join a neighbor; without one they are used, with a note, or left out below the second number."""

NEIGHBOR_M, NEIGHBOR_RAD = 6.0, np.radians(45.0)
"""Groups that may join."""

MIN_OTHER_RECORDINGS = 4
"""Enough recordings to do without the own one."""

MAX_PATHS = 200
"""Paths of a group that are used for its reference, evenly spread."""

MIN_SHARE = 0.3
"""Share of the paths of a group that must reach a point of the reference."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A path and the arc lengths on it between which it is contested [m]."""

    line: Polyline
    in_m: float
    out_m: float


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryReferences:
    """References of one target.

    Attributes:
        entry: number of the entry at its site.
        pairs: references of T and of the other agent, for each meeting of the encounter.
    """

    entry: int
    pairs: tuple[tuple[Reference, Reference], ...]


Way = tuple[DrivenPath, tuple[Reference, Reference]]
"""A way on which others come to an entry: its path, and the references of T and of those who come on it."""


class ReferenceBook(Protocol):
    """Gives the references of an encounter, None where there are none."""

    def of(self, encounter: Encounter, /) -> EntryReferences | None:
        """References of the meetings of an encounter."""
        ...


class MedianReferences:
    """References from the paths of all encounters at a site.

    Args:
        encounters: of all recordings of the site.
        location: name of the site, for notes.
    """

    def __init__(self, encounters: Sequence[Encounter], location: str) -> None:
        self.notes: list[str] = []
        recordings = {e.traffic.recording for e in encounters}
        self._apart = len(recordings) > MIN_OTHER_RECORDINGS
        self._entry_of: dict[tuple[str, int], int] = {}
        self._members: list[_Members] = []
        self._cache: dict[tuple[int, str], list[Way]] = {}
        poses = np.array([_pose(e.path, e.s_in_m - APPROACH_M) for e in encounters]).reshape(-1, 3)
        for entry, group in enumerate(_groups(poses, location, "targets", self.notes)):
            members = [encounters[k] for k in group]
            self._members.append(_members(members))
            self._entry_of |= {(e.traffic.recording, e.target): entry for e in members}
        if encounters and not self._apart:
            self.notes.append(
                f"{location}: reference paths of {len(recordings)} recordings help to place their own samples; from 5 "
                "recordings on they do not"
            )

    def of(self, encounter: Encounter) -> EntryReferences | None:
        """See :class:`ReferenceBook`."""
        recording = encounter.traffic.recording
        entry = self._entry_of.get((recording, encounter.target))
        if entry is None:
            return None
        key = (entry, recording if self._apart else "")
        if key not in self._cache:
            self._cache[key] = _ways(self._members[entry], key[1])
        ways = self._cache[key]
        if not ways:
            return None
        pairs = tuple(_nearest(ways, _path(encounter, m))[1] for m in encounter.meetings)
        return EntryReferences(entry=entry, pairs=pairs)


Placed = tuple[DrivenPath, float, str]
"""A path, the arc length of the contested place on it, and its recording."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Members:
    """Paths of the targets of an entry, and those of others who come to it, grouped by their ways, busiest first."""

    targets: list[Placed]
    streams: list[list[Placed]]


def _members(encounters: Sequence[Encounter]) -> _Members:
    paths = [(_path(e, m), m.u_in_m, e.traffic.recording) for e in encounters for m in e.meetings]
    near = np.array([_pose(path, u - APPROACH_M) for path, u, _ in paths])
    far = np.array([_pose(path, u - ORIGIN_M) for path, u, _ in paths])
    labels = _linked(near, LINK_M, LINK_RAD) * len(paths) + _linked(far, LINK_M, LINK_RAD)
    groups = [np.flatnonzero(labels == label) for label in np.unique(labels)]
    large = [g for g in groups if len(g) >= LEAST_GROUP] or [np.arange(len(paths))]
    large.sort(key=lambda g: (-len(g), int(g[0])))
    return _Members(
        targets=[(e.path, e.s_in_m, e.traffic.recording) for e in encounters],
        streams=[[paths[k] for k in group] for group in large],
    )


def _path(encounter: Encounter, meeting: Meeting) -> DrivenPath:
    path = encounter.traffic.paths[meeting.row]
    assert path is not None
    return path


def _pose(path: DrivenPath, s_m: float) -> tuple[float, float, float]:
    """Position and direction at an arc length, that of the start before it."""
    at = max(s_m, 0.0)
    x, y = path.point(at)
    return float(x), float(y), path.heading(at)


def _ways(members: _Members, without: str) -> list[Way]:
    """Ways on which others come to an entry, made without one recording; empty if nothing can be made."""
    target = _median([p for p in members.targets if p[2] != without])
    if target is None:
        return []
    medians = [_median([p for p in group if p[2] != without]) for group in members.streams]
    return [(path, contested(target, path)) for path in medians if path is not None]


def _median(paths: Sequence[Placed]) -> DrivenPath | None:
    """Pointwise median of paths that are laid upon one another at the contested place."""
    if not paths:
        return None
    chosen = [paths[k] for k in np.unique(np.linspace(0, len(paths) - 1, min(len(paths), MAX_PATHS)).astype(int))]
    back, ahead = round(BACK_M / STEP_M), round(AHEAD_M / STEP_M)
    points = np.full((len(chosen), back + ahead + 1, 2), np.nan)
    for k, (path, s_m, _) in enumerate(chosen):
        at = round(s_m / STEP_M)
        low, high = max(at - back, 0), min(at + ahead + 1, len(path.xy))
        points[k, low - at + back : high - at + back] = path.xy[low:high]
    there = np.isfinite(points[..., 0]).sum(axis=0)
    enough = np.flatnonzero(there >= max(1, MIN_SHARE * len(chosen)))
    # A median per coordinate depends on the axes; laid along the paths, a turned site has the same references.
    turns = np.array([path.heading(s_m) for path, s_m, _ in chosen])
    along = float(elementary.arctan2(np.sin(turns).sum(), np.cos(turns).sum()))
    line = rotated(np.nanmedian(rotated(points[:, enough[0] : enough[-1] + 1], -along), axis=0), along)
    moved = np.concatenate([[True], np.hypot(*np.diff(line, axis=0).T) > JITTER_M])
    if moved.sum() < 3:
        return None
    size = np.median([(p.length_m, p.width_m) for p, _, _ in chosen], axis=0)
    return path_of_points(line[moved], length_m=float(size[0]), width_m=float(size[1]))


def _nearest(ways: Sequence[Way], path: DrivenPath) -> Way:
    """The way that passes nearest to where an agent was seen first, in its direction."""
    x, y, heading = _pose(path, 0.0)
    best, chosen = np.inf, ways[0]
    for way in ways:
        apart = np.hypot(way[0].xy[:, 0] - x, way[0].xy[:, 1] - y)
        at = int(apart.argmin())
        turn = abs(float(wrap_angle(way[0].heading(at * STEP_M) - heading)))
        cost = float(apart[at]) + (0.0 if turn < NEIGHBOR_RAD else 100.0)
        if cost < best - 1e-9:
            best, chosen = cost, way
    return chosen


def contested(target: DrivenPath, other: DrivenPath) -> tuple[Reference, Reference]:
    """Both references with the stretches that they contest; 1 m from where they are nearest if they never meet."""
    found = path_conflict(target, other)
    if found.status == "conflict":
        last = found.passages[-1]
        spans = (found.s_in_m, found.s_out_m), (last.u_in_m, last.u_out_m)
    else:
        apart = np.hypot(*(target.xy[:, None] - other.xy[None]).reshape(-1, 2).T).reshape(len(target.xy), -1)
        i, j = np.unravel_index(int(apart.argmin()), apart.shape)
        spans = (i * STEP_M, i * STEP_M + 1.0), (j * STEP_M, j * STEP_M + 1.0)
    (a, b), (c, d) = spans
    own, their = polyline(target.xy), polyline(other.xy)
    return Reference(line=own, in_m=float(a), out_m=float(b)), Reference(line=their, in_m=float(c), out_m=float(d))


def _groups(poses: FloatArray, location: str, what: str, notes: list[str]) -> Iterator[list[int]]:
    """Indices of the members of each group, largest first; small ones join a neighbor."""
    labels = _linked(poses, LINK_M, LINK_RAD)
    sizes = {int(k): int((labels == k).sum()) for k in np.unique(labels)}
    large = sorted((k for k in sizes if sizes[k] >= FULL_GROUP), key=lambda k: -sizes[k]) or sorted(
        sizes, key=lambda k: -sizes[k]
    )
    middle = {k: np.median(poses[labels == k], axis=0) for k in sizes}
    joins: dict[int, int] = {}
    dropped = small = 0
    for k in sizes:
        if k in large:
            continue
        near = [g for g in large if _are_neighbors(middle[k], middle[g])]
        if near:
            joins[k] = min(near, key=lambda g: float(np.hypot(*(middle[k] - middle[g])[:2])))
        elif sizes[k] >= LEAST_GROUP:
            large.append(k)
        else:
            dropped += sizes[k]
    for group in large:
        parts = [group, *(k for k, into in joins.items() if into == group)]
        members = np.flatnonzero(np.isin(labels, parts)).tolist()
        small += len(members) < FULL_GROUP
        yield members
    if small:
        notes.append(f"{location}: {small} entries have fewer than {FULL_GROUP} {what}")
    if dropped:
        notes.append(f"{location}: {dropped} {what} come by ways that fewer than {LEAST_GROUP} take; left out")


def _are_neighbors(a: FloatArray, b: FloatArray) -> bool:
    return bool(np.hypot(*(a - b)[:2]) < NEIGHBOR_M and abs(float(wrap_angle(a[2] - b[2]))) < NEIGHBOR_RAD)


def _linked(poses: FloatArray, within_m: float, within_rad: float) -> IntArray:
    """(N,) single linkage of poses (x, y, heading): smallest index of each group."""
    unit = np.column_stack([np.cos(poses[:, 2]), np.sin(poses[:, 2])]) if len(poses) else poses[:, :2]
    return _link(np.ascontiguousarray(poses[:, :2]), unit, within_m, float(np.cos(within_rad)))


@njit(cache=True, nogil=True)
def _link(xy: FloatArray, unit: FloatArray, within: float, cosine: float) -> IntArray:
    label = np.full(len(xy), -1, dtype=np.int64)
    queue = np.empty(len(xy), dtype=np.int64)
    for start in range(len(xy)):
        if label[start] >= 0:
            continue
        label[start] = start
        queue[0] = start
        head, tail = 0, 1
        while head < tail:
            i = queue[head]
            head += 1
            for j in range(len(xy)):
                if (
                    label[j] < 0
                    and (xy[i, 0] - xy[j, 0]) ** 2 + (xy[i, 1] - xy[j, 1]) ** 2 < within * within
                    and unit[i, 0] * unit[j, 0] + unit[i, 1] * unit[j, 1] > cosine
                ):
                    label[j] = start
                    queue[tail] = j
                    tail += 1
    return label
