"""Who meets whom in a recording: the driven paths of all road users, and the conflicts that a target has on its way in.

What is found here is the *truth* of a gap, taken from whole tracks: who came first, and when. What models may see comes
from :mod:`giveway.gaps.references`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray, IntArray, StrArray
from giveway.core.scene import Scene
from giveway.core.tracks import AgentKind
from giveway.roads.path_conflicts import (
    DrivenPath,
    PathConflict,
    boxes_of,
    driven_paths,
    near_to,
    order_of,
    path_conflict,
)

NOT_DRIVERS = (AgentKind.BICYCLE, AgentKind.PEDESTRIAN, AgentKind.PEDESTRIAN_OR_BICYCLE, AgentKind.TRAILER)
"""Kinds that neither take gaps nor offer them to drivers."""

WALKERS = (AgentKind.PEDESTRIAN, AgentKind.PEDESTRIAN_OR_BICYCLE)
"""Kinds that cross in front of vehicles; INTERACTION does not tell pedestrians from cyclists."""

ARRIVAL_M = 40.0
"""A gap is offered to a target that is this near to the contested place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """One recording, reduced to what gaps need, so that all recordings of a site fit into memory.

    Attributes:
        recording, location: names.
        time_s: (T,) of the instants.
        ids: (A,) of the agents.
        is_driver: (A,) bool.
        is_vulnerable: (A,) bool, pedestrians and cyclists.
        is_walker: (A,) bool, pedestrians.
        first: (A,) first observed instant.
        xy: per agent, (n, 2) from the first to the last observed instant [m]; NaN in holes.
        paths: per agent, None for those who did not move.
    """

    recording: str
    location: str
    time_s: FloatArray
    ids: StrArray
    is_driver: BoolArray
    is_vulnerable: BoolArray
    is_walker: BoolArray
    first: IntArray
    xy: tuple[FloatArray, ...]
    paths: tuple[DrivenPath | None, ...]

    def within(self, row: int | None, rows: slice) -> FloatArray:
        """(n, 2) positions of an agent at instants; NaN where it is not recorded, or for None."""
        out = np.full((rows.stop - rows.start, 2), np.nan)
        if row is not None:
            begin, own = int(self.first[row]), self.xy[row]
            low, high = max(rows.start, begin), min(rows.stop, begin + len(own))
            if high > low:
                out[low - rows.start : high - rows.start] = own[low - begin : high - begin]
        return out

    def span(self, row: int) -> tuple[int, int]:
        """First instant of an agent and the one after its last."""
        return int(self.first[row]), int(self.first[row]) + len(self.xy[row])


def traffic_of(scene: Scene) -> Traffic:
    """A scene without what gaps do not need."""
    tracks = scene.tracks
    first, last = tracks.first, tracks.last
    return Traffic(
        recording=scene.provenance.recording,
        location=scene.location,
        time_s=tracks.time_s,
        ids=tracks.ids,
        is_driver=~np.isin(tracks.kind, [int(kind) for kind in NOT_DRIVERS]),
        is_vulnerable=np.isin(tracks.kind, [int(kind) for kind in AgentKind if kind.is_vulnerable]),
        is_walker=np.isin(tracks.kind, [int(kind) for kind in WALKERS]),
        first=first,
        xy=tuple(tracks.xy[k, first[k] : last[k] + 1].copy() for k in range(tracks.num_agents)),
        paths=tuple(driven_paths(tracks)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Meeting:
    """One passage of an agent with priority through the place where a target enters.

    Attributes:
        row: of the agent.
        passage: number of the passage of this conflict.
        conflict: of T's path with its path.
        t_target_s, t_other_s: when the fronts of T and of the agent reached the contested stretch.
    """

    row: int
    passage: int
    conflict: PathConflict
    t_target_s: float
    t_other_s: float

    @property
    def u_in_m(self) -> float:
        """Arc length on the path of the agent where the contested stretch begins."""
        return self.conflict.passages[self.passage].u_in_m


@dataclass(frozen=True, slots=True, kw_only=True)
class Encounter:
    """A target and everybody with priority at its entry, in the order in which they passed.

    Attributes:
        traffic: the recording.
        target: row of T.
        meetings: at least one, with observed times.
        arrival_m: a gap is offered while T is this near to the place.
        follows: numbers of the meetings in which T follows the first one of its group and decides nothing.
    """

    traffic: Traffic
    target: int
    meetings: tuple[Meeting, ...]
    arrival_m: float = ARRIVAL_M
    follows: frozenset[int] = frozenset()

    @property
    def path(self) -> DrivenPath:
        """Of T."""
        path = self.traffic.paths[self.target]
        assert path is not None
        return path

    @property
    def s_in_m(self) -> float:
        """Arc length on T's path at which the contested place begins: the median over the meetings."""
        return float(np.median([m.conflict.s_in_m for m in self.meetings]))

    def arrives(self, meeting: Meeting) -> int | None:
        """First instant at which T is near to the place of a meeting."""
        begin, end = self.traffic.span(self.target)
        way = self.path.front_to(meeting.conflict.s_in_m, self.traffic.time_s[begin:end])
        near = np.flatnonzero(way < self.arrival_m)
        return begin + int(near[0]) if near.size else None

    def offered(self) -> Iterator[int]:
        """Numbers of the meetings that are gaps: all that passed while T was near, and the first one after it."""
        took = False
        for k, meeting in enumerate(self.meetings):
            arrived = self.arrives(meeting)
            if arrived is None or meeting.t_other_s < self.traffic.time_s[arrived]:
                continue
            if meeting.t_other_s <= meeting.t_target_s:
                if k not in self.follows:
                    yield k
            elif not took:
                took = True
                entered = int(np.searchsorted(self.traffic.time_s, meeting.t_target_s))
                first, stop = self.traffic.span(meeting.row)
                if first <= entered < stop and k not in self.follows:
                    yield k


class Streams(Protocol):
    """Says who must give way to whom at a kind of site."""

    def targets(self, traffic: Traffic) -> Sequence[int]:
        """Rows of agents that come to a place where they must give way."""
        ...

    def contests(self, traffic: Traffic, target: int, other: int, conflict: PathConflict) -> bool:
        """Whether a conflict is one in which the other agent has priority."""
        ...


def encounters_of(traffic: Traffic, streams: Streams, *, arrival_m: float = ARRIVAL_M) -> Iterator[Encounter]:
    """Encounters of every target that meets somebody with priority, in the order of tracks."""
    boxes = boxes_of(traffic.paths)
    for target in streams.targets(traffic):
        own = traffic.paths[target]
        if own is None:
            continue
        meetings: list[Meeting] = []
        for other in near_to(boxes, target).tolist():
            path = traffic.paths[other]
            if path is None or not traffic.is_driver[other]:
                continue
            conflict = path_conflict(own, path)
            if conflict.status != "conflict" or not streams.contests(traffic, target, other, conflict):
                continue
            for number in range(len(conflict.passages)):
                t_target, t_other = order_of(own, path, conflict, number)
                if np.isfinite(t_target) and np.isfinite(t_other):
                    meetings.append(
                        Meeting(row=other, passage=number, conflict=conflict, t_target_s=t_target, t_other_s=t_other)
                    )
        if meetings:
            meetings.sort(key=lambda m: (m.t_other_s, m.row))
            yield Encounter(traffic=traffic, target=target, meetings=tuple(meetings), arrival_m=arrival_m)
