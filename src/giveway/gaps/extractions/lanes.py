"""INTERACTION by lanes: a vehicle (T) that must give way by a rule of the map, and those with priority (E).

The map says who gives way, and the center lines of the lanes are the references; see
:mod:`giveway.gaps.extractions.paths` for everything else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.scene import Scene
from giveway.gaps.encounters import Encounter, Traffic, encounters_of, traffic_of
from giveway.gaps.extractions.lane_routes import Route, RouteBook
from giveway.gaps.extractions.paths import describe_paths, path_gaps, path_samples
from giveway.gaps.profile import Profile
from giveway.gaps.protocol import Candidates, ExtractionInfo
from giveway.gaps.raw import Description, OneSample, RawGaps
from giveway.gaps.references import LEAST_GROUP, MIN_OTHER_RECORDINGS, EntryReferences, Reference
from giveway.roads.path_conflicts import DrivenPath, PathConflict

SAME_PLACE_M = 7.0
"""Two lane widths: where T must give way twice, only what lies this near to the first place belongs to one decision."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneStreams:
    """Who gives way by the rules of a map, see :class:`giveway.gaps.encounters.Streams` and ``ReferenceBook``.

    Attributes:
        book: routes and their conflicts.
        routes: lanes of each agent of one recording.
    """

    book: RouteBook
    routes: list[Route | None]

    def targets(self, traffic: Traffic) -> Sequence[int]:
        """Drivers on a route with a lane that gives way to another."""
        lanes = self.book.map.road.lanes
        yields = (route is not None and any(lanes[lane].yields_to for lane in route) for route in self.routes)
        return [row for row, gives_way in enumerate(yields) if gives_way and traffic.is_driver[row]]

    def contests(self, traffic: Traffic, target: int, other: int, conflict: PathConflict) -> bool:
        """Whether T must give way to the route of the other one, not before the first place where it must at all."""
        pair = self.on(target, other)[1]
        if pair is None:
            return False
        at = float(pair[0].line.project(np.array(conflict.place)).s)
        return abs(at - self._first_place(target)) < 2 * SAME_PLACE_M

    def of(self, encounter: Encounter) -> EntryReferences | None:
        """Center lines of T and of those with priority."""
        pairs = [self.on(encounter.target, m.row)[1] for m in encounter.meetings]
        known = tuple(pair for pair in pairs if pair is not None)
        route = self.routes[encounter.target]
        if route is None or len(known) < len(pairs):
            return None
        lanes = self.book.map.road.lanes
        entry = next(lane for lane in route if lanes[lane].yields_to)
        return EntryReferences(entry=entry, pairs=known)

    def on(self, target: int, other: int) -> tuple[tuple[Route, Route], tuple[Reference, Reference] | None]:
        """Routes of two agents, empty where unknown, and their references."""
        own, their = self.routes[target] or (), self.routes[other] or ()
        return (own, their), self.book.references(own, their) if own and their else None

    def _first_place(self, target: int) -> float:
        """Least arc length on T's route at which it contests a route that anybody in the recording has taken."""
        own = self.routes[target]
        assert own is not None
        found = (self.book.references(own, their) for their in set(self.routes) if their is not None)
        return min(pair[0].in_m for pair in found if pair is not None)


class PlacedRoutes:
    """Center lines of the routes of one site, contested where drivers on the same two routes met.

    The conflict of center lines alone is off by meters, because drivers cut curves, and tens of meters where center
    lines that conflict by rule never come near. So both entries are medians over the encounters on the same two routes,
    of the other recordings if the site has five or more, measured from where both are when T arrives. Routes that
    differ far from the place are rare each: below five encounters those of all routes count that agree in the lanes
    that follow the one that gives way, and the first it gives way to; without five of them center lines decide.
    """

    def __init__(self) -> None:
        self._streams: dict[str, LaneStreams] = {}
        self._met: dict[tuple[Route, Route], list[tuple[float, float, str]]] = {}
        """Entries along both center lines from the beginnings of these two lanes, and the recording."""

    def add(self, streams: LaneStreams, encounters: Sequence[Encounter]) -> None:
        """Remember where the encounters of one recording took place."""
        for encounter in encounters:
            recording = encounter.traffic.recording
            self._streams[recording] = streams
            for meeting in encounter.meetings:
                key, pair = streams.on(encounter.target, meeting.row)
                path = encounter.traffic.paths[meeting.row]
                arrived = encounter.arrives(meeting)
                if pair is None or path is None or arrived is None:
                    continue
                first = max(arrived, encounter.traffic.span(meeting.row)[0])
                at_s = float(encounter.traffic.time_s[first])
                parts, begins = streams.book.parts(*key)
                s_in = _entry(pair[0], encounter.path, meeting.conflict.s_in_m, at_s) - begins[0]
                u_in = _entry(pair[1], path, meeting.u_in_m, at_s) - begins[1]
                for one in {key, *parts}:
                    self._met.setdefault(one, []).append((s_in, u_in, recording))

    def of(self, encounter: Encounter) -> EntryReferences | None:
        """See :class:`giveway.gaps.references.ReferenceBook`."""
        recording = encounter.traffic.recording
        streams = self._streams[recording]
        found = streams.of(encounter)
        if found is None:
            return None
        keys = [streams.on(encounter.target, meeting.row)[0] for meeting in encounter.meetings]
        pairs = (self._placed(pair, key, recording) for pair, key in zip(found.pairs, keys, strict=True))
        return replace(found, pairs=tuple(pairs))

    def _placed(
        self, pair: tuple[Reference, Reference], key: tuple[Route, Route], recording: str
    ) -> tuple[Reference, Reference]:
        apart = len(self._streams) > MIN_OTHER_RECORDINGS
        parts, begins = self._streams[recording].book.parts(*key)
        for one in (key, *parts):
            met = [(s, u) for s, u, where in self._met.get(one, ()) if not (apart and where == recording)]
            if len(met) >= LEAST_GROUP:
                at = (np.median(met, axis=0) + begins).tolist()
                own, their = (replace(r, in_m=a, out_m=a + r.out_m - r.in_m) for r, a in zip(pair, at, strict=True))
                return own, their
        return pair


def _entry(reference: Reference, path: DrivenPath, in_m: float, at_s: float) -> float:
    """Arc length on a center line that is as far ahead of an agent at a time as its entry was on its own path."""
    arc = float(np.interp(at_s, path.time_s, path.arc_m))
    return float(reference.line.project(path.point(arc)).s) + in_m - arc


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneExtraction:
    """One candidate per vehicle with priority that passes while T is near, and the next one after T went."""

    info: ExtractionInfo

    def enumerate(self, scenes: Iterable[Scene], profile: Profile) -> Candidates:
        """Recordings in order, targets in order of tracks; scenes without a map, or without rules, are noted."""
        books: dict[str, RouteBook] = {}
        placed: dict[str, PlacedRoutes] = {}
        met: dict[str, list[Encounter]] = {}
        notes: dict[str, None] = {}
        for scene in scenes:
            if scene.road is None or not any(lane.yields_to for lane in scene.road.lanes.values()):
                notes[f"{scene.location}: no map, or no rule in it that says who gives way; left out"] = None
                continue
            book = books.setdefault(scene.location, RouteBook(scene.road))
            streams = LaneStreams(book=book, routes=book.routes(scene.tracks))
            encounters = list(encounters_of(traffic_of(scene), streams))
            placed.setdefault(scene.location, PlacedRoutes()).add(streams, encounters)
            met.setdefault(scene.location, []).extend(encounters)
        samples: list[OneSample] = []
        for location, encounters in met.items():
            samples += path_samples(encounters, placed[location], prefix="lanes")
        return Candidates(raw=path_gaps(samples), notes=tuple(notes))

    def describe(self, raw: RawGaps, profile: Profile) -> Description:
        """See :func:`giveway.gaps.extractions.paths.describe_paths`."""
        return describe_paths(raw)

    def complete(
        self, xy: FloatArray, roles: tuple[str, ...], constants: Mapping[str, FloatArray], profile: Profile
    ) -> FloatArray:
        """Absent agents stay NaN; nothing was published that could be reproduced."""
        return xy


LANES = LaneExtraction(
    info=ExtractionInfo(
        name="interaction_lanes",
        title="INTERACTION (lanes)",
        dataset="interaction",
        situation="crossing or merging where the map says who gives way",
        references=("W. Zhan et al., INTERACTION Dataset, arXiv 1910.03088, 2019",),
        revision=3,
    )
)
"""Six agents: E, T, before and behind E, before T, and the pedestrian or cyclist nearest to T."""
