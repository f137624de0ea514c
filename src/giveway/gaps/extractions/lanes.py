"""INTERACTION by lanes: a vehicle (T) that must give way by a rule of the map, and those with priority (E).

The contested space is one lane width around the point where the center lines of the two routes cross or merge. Frame of
a sample: origin in that point, T arrives along +x. T accepts when its front enters the contested space.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from giveway.core.arrays import FloatArray, IntArray
from giveway.core.frames import rotated
from giveway.core.samples import AcceptanceBoundary
from giveway.core.scene import Scene
from giveway.gaps.extractions.lane_routes import Route, RouteBook
from giveway.gaps.profile import Profile
from giveway.gaps.protocol import Candidates, ExtractionInfo
from giveway.gaps.raw import Description, OneSample, RawGaps, empty_distances, stack

LANE_WIDTH_M = 3.5
VEHICLE_LENGTH_M = 5.0
REACH_M = (LANE_WIDTH_M + VEHICLE_LENGTH_M) / 2  # from the conflict back to where a vehicle's center enters
MISSING_M = 500.0
NEAR_M = 40.0  # T must be this near for a passing vehicle to be a gap it could take
MIN_APPROACH_M = 3.0
ROLES = ("E", "T", "1", "2", "3")


@dataclass(frozen=True, slots=True, kw_only=True)
class Passing:
    """A vehicle with priority on its way through the contested space.

    Attributes:
        agent: row of the tracks.
        frame: in which its front enters.
        way_m: (T,) remaining way of its center [m].
    """

    agent: int
    frame: int
    way_m: FloatArray


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
            samples.extend(_gaps(scene, book))
        offset = np.array([s.constants["entry_x"] for s in samples])
        boundary = AcceptanceBoundary(
            normal=np.tile([1.0, 0.0], (len(samples), 1)), offset_m=offset, radius_m=np.full(len(samples), np.nan)
        )
        raw = stack(samples, roles=ROLES, vulnerable=(), boundary=boundary)
        return Candidates(raw=raw, notes=tuple(notes))

    def describe(self, raw: RawGaps, profile: Profile) -> Description:
        """Distances along the routes; ``way_m`` of a role is its remaining way to the contested space.

        ::

            D_C = way_E   D_A = way_T   D_1 = way_E - way_1 - l   D_2 = way_2 - way_E - l   D_3 = way_T - way_3 - l
        """
        way = np.empty((0, len(ROLES))) if raw.way_m is None else raw.way_m  # None without any sample
        ego, target, ahead, behind, before = (way[:, k] for k in range(5))
        distance = empty_distances(len(raw.time_s))
        distance[:, 0] = ego
        distance[:, 1] = target
        distance[:, 2] = ego - ahead - VEHICLE_LENGTH_M
        distance[:, 3] = behind - ego - VEHICLE_LENGTH_M
        distance[:, 4] = target - before - VEHICLE_LENGTH_M
        distance[:, 5:] = LANE_WIDTH_M
        return Description(valid=np.isfinite(ego) & np.isfinite(target), distance=distance, missing_m=MISSING_M)

    def complete(
        self, xy: FloatArray, roles: tuple[str, ...], constants: Mapping[str, FloatArray], profile: Profile
    ) -> FloatArray:
        """Absent agents stay NaN; nothing was published that could be reproduced."""
        return xy


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """Everybody in a scene with their routes.

    Attributes:
        scene: tracks and map.
        book: conflicts between routes.
        routes: lanes of each agent.
        s_m: (A, T) where on its route each agent is.
        first, last: (A,) frames between which each agent is recorded.
    """

    scene: Scene
    book: RouteBook
    routes: list[Route | None]
    s_m: FloatArray
    first: IntArray
    last: IntArray

    def met_by(self, target: int) -> Iterator[tuple[int, Route]]:
        """Others with a route who are recorded at some time while T is."""
        together = (self.first <= self.last[target]) & (self.last >= self.first[target])
        for agent in np.flatnonzero(together):
            route = self.routes[agent]
            if agent != target and route is not None:
                yield int(agent), route


@dataclass(frozen=True, slots=True, kw_only=True)
class Approach:
    """A target on its way to the first place where it must give way.

    Attributes:
        target: row of the tracks.
        route: its lanes.
        s_conflict: of that place on its route.
        way_m: (T,) remaining way of its center [m].
        frame: in which its front enters.
    """

    target: int
    route: Route
    s_conflict: float
    way_m: FloatArray
    frame: int


def _gaps(scene: Scene, book: RouteBook) -> Iterator[OneSample]:
    routes = book.routes(scene.tracks)
    traffic = Traffic(
        scene=scene,
        book=book,
        routes=routes,
        s_m=book.along(scene.tracks, routes),
        first=scene.tracks.first,
        last=scene.tracks.last,
    )
    for target, route in enumerate(routes):
        if route is not None:
            yield from _of_target(traffic, target, route)


def _of_target(traffic: Traffic, target: int, route: Route) -> Iterator[OneSample]:
    """Candidate gaps of one target, by the frame in which E passes."""
    s_conflict, passings = _passing(traffic, target, route)
    way = s_conflict - REACH_M - traffic.s_m[target]
    entered = _first_entry(way)
    with np.errstate(invalid="ignore"):
        near = np.flatnonzero(way < NEAR_M)
    if not passings or entered is None or not np.nanmax(way) > MIN_APPROACH_M:
        return
    approach = Approach(target=target, route=route, s_conflict=s_conflict, way_m=way, frame=entered)
    observed = traffic.scene.tracks.observed
    before = [p for p in passings if near[0] <= p.frame <= entered and observed[target, p.frame]]
    after = [p for p in passings if p.frame > entered and observed[p.agent, entered]]
    leader = _leader(traffic, approach)
    for passing in before + after[:1]:
        place = passings.index(passing)
        ahead = passings[place - 1] if place > 0 else None
        behind = passings[place + 1] if place + 1 < len(passings) else None
        yield _sample(traffic, approach, passing, (ahead, behind, leader))


def _first_entry(way: FloatArray) -> int | None:
    """Frame in which a remaining way ends; None if it never does."""
    with np.errstate(invalid="ignore"):
        enters = np.flatnonzero((way[:-1] > 0) & (way[1:] <= 0)) + 1
    return int(enters[0]) if len(enters) else None


def _passing(traffic: Traffic, target: int, route: Route) -> tuple[float, list[Passing]]:
    """Vehicles with priority at the first place where T must give way, by frame, and that place on T's route."""
    found: list[tuple[float, Passing]] = []
    for agent, other in traffic.met_by(target):
        conflict = traffic.book.conflict(route, other)
        if conflict is None:
            continue
        way = conflict.s_priority - REACH_M - traffic.s_m[agent]
        frame = _first_entry(way)
        if frame is not None:
            found.append((conflict.s_yield, Passing(agent=agent, frame=frame, way_m=way)))
    if not found:
        return np.nan, []
    first = min(s for s, _ in found)
    nearby = [(s, p) for s, p in found if s - first < 2 * LANE_WIDTH_M]
    place = float(np.median([s for s, _ in nearby]))
    return place, sorted((p for _, p in nearby), key=lambda p: (p.frame, p.agent))


def _leader(traffic: Traffic, approach: Approach) -> Passing | None:
    """The vehicle that entered the contested space from T's lanes last before T."""
    best: Passing | None = None
    for agent, other in traffic.met_by(approach.target):
        shift = traffic.book.shift(approach.route, other)
        if shift is None:
            continue
        way = approach.s_conflict - REACH_M - (traffic.s_m[agent] + shift)
        frame = _first_entry(way)
        if frame is not None and frame < approach.frame and (best is None or frame > best.frame):
            best = Passing(agent=agent, frame=frame, way_m=way)
    return best


def _sample(traffic: Traffic, approach: Approach, passing: Passing, others: tuple[Passing | None, ...]) -> OneSample:
    tracks, target = traffic.scene.tracks, approach.target
    both = np.flatnonzero(tracks.observed[passing.agent] & tracks.observed[target])
    rows = slice(int(both[0]), int(both[-1]) + 1)
    center = traffic.book.center(approach.route)
    entry, conflict = center.at(approach.s_conflict - REACH_M), center.at(approach.s_conflict)
    turn = np.pi - float(entry.heading)
    absent = np.full((rows.stop - rows.start, 2), np.nan)
    agents = [passing.agent, target, *(None if p is None else p.agent for p in others)]
    ways = [passing.way_m, approach.way_m, *(None if p is None else p.way_m for p in others)]
    xy = [absent if k is None else rotated(tracks.xy[k, rows] - conflict.xy, turn) for k in agents]
    recording = traffic.scene.provenance.recording
    return OneSample(
        sample_id=f"lanes/{recording}/T{tracks.ids[target]}/E{tracks.ids[passing.agent]}@{passing.frame}",
        group=f"{recording}/{tracks.ids[target]}",
        location=traffic.scene.location,
        time_s=tracks.time_s[rows],
        xy=np.stack(xy, axis=1),
        constants={"entry_x": float(rotated(entry.xy - conflict.xy, turn)[0])},
        way_m=np.stack([absent[:, 0] if way is None else way[rows] for way in ways], axis=1),
    )


LANES = LaneExtraction(
    info=ExtractionInfo(
        name="interaction_lanes",
        title="INTERACTION (lanes)",
        dataset="interaction",
        situation="crossing or merging where the map says who gives way",
        references=("W. Zhan et al., INTERACTION Dataset, arXiv 1910.03088, 2019",),
    )
)
"""Five agents: E, T, before and behind E, before T."""
