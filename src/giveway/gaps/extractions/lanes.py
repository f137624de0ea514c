"""INTERACTION by lanes: a vehicle (T) that must give way by a rule of the map, and those with priority (E).

The map says who gives way, and the center lines of the lanes are the references; see
:mod:`giveway.gaps.extractions.paths` for everything else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.scene import Scene
from giveway.gaps.encounters import Encounter, Traffic, encounters_of, traffic_of
from giveway.gaps.extractions.lane_routes import Route, RouteBook
from giveway.gaps.extractions.paths import describe_paths, path_gaps, path_samples
from giveway.gaps.profile import Profile
from giveway.gaps.protocol import Candidates, ExtractionInfo
from giveway.gaps.raw import Description, OneSample, RawGaps
from giveway.gaps.references import EntryReferences, Reference
from giveway.roads.path_conflicts import PathConflict

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
        pair = self._pair(target, other)
        if pair is None:
            return False
        at = float(pair[0].line.project(np.array(conflict.place)).s)
        return abs(at - self._first_place(target)) < 2 * SAME_PLACE_M

    def of(self, encounter: Encounter) -> EntryReferences | None:
        """Center lines of T and of those with priority."""
        pairs = [self._pair(encounter.target, m.row) for m in encounter.meetings]
        known = tuple(pair for pair in pairs if pair is not None)
        route = self.routes[encounter.target]
        if route is None or len(known) < len(pairs):
            return None
        lanes = self.book.map.road.lanes
        entry = next(lane for lane in route if lanes[lane].yields_to)
        return EntryReferences(entry=entry, pairs=known)

    def _pair(self, target: int, other: int) -> tuple[Reference, Reference] | None:
        own, their = self.routes[target], self.routes[other]
        return None if own is None or their is None else self.book.references(own, their)

    def _first_place(self, target: int) -> float:
        """Least arc length on T's route at which it contests a route that anybody in the recording has taken."""
        own = self.routes[target]
        assert own is not None
        found = (self.book.references(own, their) for their in set(self.routes) if their is not None)
        return min(pair[0].in_m for pair in found if pair is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneExtraction:
    """One candidate per vehicle with priority that passes while T is near, and the next one after T went."""

    info: ExtractionInfo

    def enumerate(self, scenes: Iterable[Scene], profile: Profile) -> Candidates:
        """Recordings in order, targets in order of tracks; scenes without a map, or without rules, are noted."""
        books: dict[str, RouteBook] = {}
        samples: list[OneSample] = []
        notes: dict[str, None] = {}
        for scene in scenes:
            if scene.road is None or not any(lane.yields_to for lane in scene.road.lanes.values()):
                notes[f"{scene.location}: no map, or no rule in it that says who gives way; left out"] = None
                continue
            book = books.setdefault(scene.location, RouteBook(scene.road))
            streams = LaneStreams(book=book, routes=book.routes(scene.tracks))
            encounters = list(encounters_of(traffic_of(scene), streams))
            samples += path_samples(encounters, streams, prefix="lanes")
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
        revision=1,
    )
)
"""Six agents: E, T, before and behind E, before T, and the pedestrian or cyclist nearest to T."""
