"""Pedestrians (T) who cross in front of vehicles (E), with or without a map.

Every pedestrian whose path crosses that of a vehicle at more than 30 degrees is a target; a group that walks together
decides once. Truth (label, t_A, t_C) comes from the paths that were walked and driven, as everywhere
(:mod:`giveway.gaps.extractions.paths`). Pedestrians cross where they like, so inputs have no reference per entry: from
T's arrival, 6 m before the place, T is taken to walk straight on (the shortest way across if it stands), and E to
follow the median of the others who came by where it is, or to drive straight on where fewer than five did.

Three outcomes: T passes first (``accepted``), E passes first (``rejected``), or T passes first because E gave way
(``yielded``), which is counted apart and not scored::

    yielded  <=>  t_T < t_E, and between T's arrival and its onset E, within 30 m of the place,
                  is slower than 1 m/s or brakes by more than 1 m/s^2 (mean of 0.5 s)
    onset    =    when T last began to walk (0.3 m/s) before it enters, or t_A if it never stood since its arrival
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from giveway.core import elementary
from giveway.core.arrays import FloatArray
from giveway.core.frames import wrap_angle
from giveway.core.polylines import polyline
from giveway.core.scene import Scene
from giveway.gaps.encounters import Encounter, Meeting, Traffic, encounters_of, traffic_of
from giveway.gaps.extractions.lanes import LaneExtraction
from giveway.gaps.extractions.paths import describe_paths, path_gaps, path_sample
from giveway.gaps.profile import Profile
from giveway.gaps.protocol import Candidates, ExtractionInfo
from giveway.gaps.raw import Description, OneSample, RawGaps
from giveway.gaps.references import LEAST_GROUP, MIN_OTHER_RECORDINGS, EntryReferences, Reference, contested
from giveway.roads.path_conflicts import (
    MARGIN_M,
    STEP_M,
    DrivenPath,
    PathConflict,
    path_conflict,
    path_of_points,
    waits_inside,
)

BODY_M = 0.5
"""Width of a pedestrian's corridor, and length of a pedestrian; the front is half of it ahead."""

ARRIVAL_M = 6.0
"""A gap is offered to a pedestrian this near to the place: four seconds of walking."""

CROSSING_RAD = np.radians(30.0)
"""Who meets a vehicle's path at less, or at more than 180 degrees minus this, walks along it."""

GROUP_M, GROUP_RAD = 1.5, np.radians(20.0)
"""Pedestrians this near to each other, in about the same direction, decide together."""

SLOW_MPS, BRAKING_MPS2, BRAKING_S, YIELDS_WITHIN_M = 1.0, 1.0, 0.5, 30.0
"""A vehicle this slow, or braking this hard on average over this time, this near to the place, gives way."""

WALKING_MPS = 0.3
"""A slower pedestrian stands."""

LOOK_BACK_S, LEAST_HISTORY_S = 1.0, 0.2
"""The direction of a road user is that of its last second, of a fifth of one at the beginning of its track."""

CAME_BY_M, CAME_BY_RAD = 1.5, np.radians(20.0)
"""Vehicles that passed this near to where E is, in about its direction, show where it goes."""

MAX_OBLIQUE = 2.0
"""T is taken to walk straight on unless that is this many times the shortest way to E's path, then across."""

AHEAD_M = 60.0
NO_ENTRY = -1
"""Number of the entry of those who may cross anywhere."""


class CrossingStreams:
    """Pedestrians are targets wherever they cross, see :class:`giveway.gaps.encounters.Streams`."""

    def targets(self, traffic: Traffic) -> Sequence[int]:
        """All pedestrians."""
        return np.flatnonzero(traffic.is_walker).tolist()

    def contests(self, traffic: Traffic, target: int, other: int, conflict: PathConflict) -> bool:
        """Whether T crosses the path of the other one, rather than walking along it."""
        return bool(CROSSING_RAD < conflict.angle_rad < np.pi - CROSSING_RAD)


def walking(scene: Scene) -> Traffic:
    """A recording in which pedestrians are half a meter long and wide, whatever their file says."""
    traffic = traffic_of(scene)
    paths = (
        path if path is None or not walks else replace(path, length_m=BODY_M, width_m=BODY_M)
        for path, walks in zip(traffic.paths, traffic.is_walker.tolist(), strict=True)
    )
    return replace(traffic, paths=tuple(paths))


def sharpened(encounter: Encounter) -> Encounter:
    """The same with T's entries between the points of its path: half a meter is a third of a second of walking."""
    meetings: list[Meeting] = []
    for meeting in encounter.meetings:
        ego = encounter.traffic.paths[meeting.row]
        assert ego is not None
        s_in = _edge(encounter.path, ego, meeting.conflict.s_in_m)
        late = waits_inside(encounter.path, ego, meeting.conflict, meeting.passage)
        t_in = encounter.path.center_at(s_in) if late else encounter.path.front_at(s_in)
        if np.isfinite(t_in):
            conflict = replace(meeting.conflict, s_in_m=s_in)
            meeting = replace(meeting, conflict=conflict, t_target_s=t_in)
        meetings.append(meeting)
    return replace(encounter, meetings=tuple(meetings))


def _edge(own: DrivenPath, other: DrivenPath, s_in_m: float) -> float:
    """Where a path enters the corridor of another one, linear between the last point outside and ``s_in_m``."""
    near = 0.5 * (own.width_m + other.width_m) + MARGIN_M
    points = np.stack([own.point(s_in_m - STEP_M), own.point(s_in_m)])
    before, after = np.abs(polyline(other.xy).project(points).d).tolist()
    return s_in_m - STEP_M * float(np.clip((near - after) / max(before - after, 1e-9), 0.0, 1.0))


def as_groups(encounters: Sequence[Encounter]) -> tuple[list[Encounter], list[dict[int, int]]]:
    """Encounters of one recording in which only the first one of a group decides, and sizes of the groups.

    Two pedestrians are linked at a vehicle if they pass it in the same order, and are within 1.5 m and 20 degrees when
    the first of them enters; single linkage.

    Returns:
        The encounters with ``follows``, and per encounter the number of a meeting to that of the members of the group.
    """
    at: dict[int, list[tuple[int, int]]] = {}
    for e, encounter in enumerate(encounters):
        for k, meeting in enumerate(encounter.meetings):
            at.setdefault(meeting.row, []).append((e, k))
    follows: list[set[int]] = [set() for _ in encounters]
    sizes: list[dict[int, int]] = [{} for _ in encounters]
    for members in at.values():
        ordered = sorted(members, key=lambda m: (encounters[m[0]].meetings[m[1]].t_target_s, m))
        leader = list(range(len(ordered)))
        for j, (e, k) in enumerate(ordered):
            near = [i for i in range(j) if _together(encounters[ordered[i][0]], ordered[i][1], encounters[e], k)]
            joined = {leader[i] for i in near}
            if joined:
                first = min(joined)
                leader = [first if one in joined or i == j else one for i, one in enumerate(leader)]
        for j, (e, k) in enumerate(ordered):
            sizes[e][k] = leader.count(leader[j])
            if leader[j] != j:
                follows[e].add(k)
    return [replace(e, follows=frozenset(f)) for e, f in zip(encounters, follows, strict=True)], sizes


def _together(one: Encounter, k: int, two: Encounter, m: int) -> bool:
    """Whether two pedestrians, of whom the first one enters first, walk together when it does."""
    first, second = one.meetings[k], two.meetings[m]
    if (first.t_target_s < first.t_other_s) != (second.t_target_s < second.t_other_s) or one.target == two.target:
        return False
    row = int(np.searchsorted(one.traffic.time_s, first.t_target_s))
    here = slice(row, row + 1)
    apart = one.traffic.within(one.target, here) - one.traffic.within(two.target, here)
    turn = one.path.heading(first.conflict.s_in_m) - two.path.heading(second.conflict.s_in_m)
    return bool(np.hypot(*apart[0]) < GROUP_M and abs(float(wrap_angle(turn))) < GROUP_RAD)


def gave_way(encounter: Encounter, meeting: Meeting) -> bool:
    """Whether T passed first because E stopped or braked for it, see the module."""
    arrived = encounter.arrives(meeting)
    if arrived is None or not meeting.t_target_s < meeting.t_other_s:
        return False
    traffic = encounter.traffic
    ego = traffic.paths[meeting.row]
    assert ego is not None
    start = max(traffic.time_s[arrived], traffic.time_s[traffic.span(meeting.row)[0]])
    time_s = np.arange(start, meeting.t_target_s, 0.1)
    pace = _speeds(encounter.path, time_s)
    slow = np.flatnonzero(pace < WALKING_MPS)
    time_s = time_s[: slow[-1] + 1] if slow.size else time_s
    speed = _speeds(ego, time_s)
    braking = (_speeds(ego, time_s - BRAKING_S) - speed) / BRAKING_S
    braking[time_s - BRAKING_S < ego.time_s[0]] = 0.0  # not seen before
    near = ego.front_to(meeting.u_in_m, time_s) < YIELDS_WITHIN_M
    return bool((near & ((speed < SLOW_MPS) | (braking > BRAKING_MPS2))).any())


def _speeds(path: DrivenPath, time_s: FloatArray) -> FloatArray:
    """(n,) mean speed over the last 0.5 s, or since the first instant [m/s]; ends of the track are held."""
    back = np.clip(time_s - 0.5, path.time_s[0], path.time_s[-1] - 0.5)
    now = np.maximum(time_s, back + 1e-3)
    arc = np.interp(np.stack([back, now]), path.time_s, path.arc_m)
    return (arc[1] - arc[0]) / (now - back)


@dataclass(frozen=True, slots=True, kw_only=True)
class StraightReferences:
    """What can be expected of both when T arrives, see :class:`giveway.gaps.references.ReferenceBook`.

    Attributes:
        others: recording to the paths of its vehicles, of one site.
    """

    others: dict[str, list[DrivenPath]]

    def of(self, encounter: Encounter) -> EntryReferences:
        """References of every meeting."""
        return EntryReferences(entry=NO_ENTRY, pairs=tuple(self._pair(encounter, m) for m in encounter.meetings))

    def _pair(self, encounter: Encounter, meeting: Meeting) -> tuple[Reference, Reference]:
        traffic = encounter.traffic
        arrived = encounter.arrives(meeting)
        rows = (encounter.target, meeting.row)
        first = max(traffic.span(row)[0] for row in rows)
        at = max(traffic.time_s[first] + LEAST_HISTORY_S, traffic.time_s[first if arrived is None else arrived])
        ego = traffic.paths[meeting.row]
        assert ego is not None
        their = self._ahead(traffic, meeting.row, ego, at)
        place, way = _direction(encounter.path, at)
        step = their.xy[int(np.argmin(np.hypot(*(their.xy - place).T)))] - place
        if way is not None:
            own = _line(place, way, encounter.path)
            met = path_conflict(own, their)
            inside = met.status == "same_lane"  # T has all but entered: where it walks is where it crosses
            if inside or (met.status == "conflict" and met.s_in_m < MAX_OBLIQUE * np.hypot(*step)):
                return _contested(own, their)
        return _contested(_line(place, float(elementary.arctan2(step[1], step[0])), encounter.path), their)

    def _ahead(self, traffic: Traffic, row: int, path: DrivenPath, at: float) -> DrivenPath:
        """The way that E has come, and on from where it is."""
        place, way = _direction(path, at)
        way = path.heading(float(np.interp(at, path.time_s, path.arc_m))) if way is None else way
        steps = np.arange(0.0, AHEAD_M, STEP_M)
        on = steps[:, None] * np.array([np.cos(way), np.sin(way)])
        shapes: list[FloatArray] = []
        for other in self._those_who_came_by(traffic.recording, row):
            nearest = int(np.argmin(np.hypot(*(other.xy - place).T)))
            turn = abs(float(wrap_angle(other.heading(nearest * STEP_M) - way)))
            if np.hypot(*(other.xy[nearest] - place)) < CAME_BY_M and turn < CAME_BY_RAD:
                shapes.append(other.xy[nearest : nearest + len(steps)] - other.xy[nearest])
        if len(shapes) >= LEAST_GROUP:
            on = _median_of(shapes)
        came = path.xy[: int(np.interp(at, path.time_s, path.arc_m) / STEP_M)]
        come = came[np.hypot(*(came - place).T) > STEP_M] if len(came) else came
        return path_of_points(np.concatenate([come, place + on]), length_m=path.length_m, width_m=path.width_m)

    def _those_who_came_by(self, recording: str, row: int) -> Iterator[DrivenPath]:
        apart = len(self.others) > MIN_OTHER_RECORDINGS
        for name, paths in self.others.items():
            if name != recording:
                yield from paths
            elif not apart:
                yield from (path for path in paths if path.row != row)


def _contested(own: DrivenPath, their: DrivenPath) -> tuple[Reference, Reference]:
    """References whose entry lies between the points of T's line."""
    first, second = contested(own, their)
    return replace(first, in_m=_edge(own, their, first.in_m)), second


def _median_of(shapes: Sequence[FloatArray]) -> FloatArray:
    """(n, 2) pointwise median of paths, as far as five of them reach, without standing still."""
    length = sorted((len(shape) for shape in shapes), reverse=True)[LEAST_GROUP - 1]
    padded = np.full((len(shapes), length, 2), np.nan)
    for row, shape in zip(padded, shapes, strict=True):
        row[: min(len(shape), length)] = shape[:length]
    median = np.nanmedian(padded, axis=0)
    moved = np.concatenate([[True], np.hypot(*np.diff(median, axis=0).T) > 0.1 * STEP_M])
    return median[moved]


def _direction(path: DrivenPath, at: float) -> tuple[FloatArray, float | None]:
    """Position and direction at a time, from the last second only; None for one who stands."""
    arc = np.interp([at - LOOK_BACK_S, at], path.time_s, path.arc_m)
    now, then = path.point(float(arc[1])), path.point(float(arc[0]))
    seen = max(min(LOOK_BACK_S, at - path.time_s[0]), 1e-3)
    if arc[1] - arc[0] < WALKING_MPS * seen:
        return now, None
    return now, float(elementary.arctan2(*(now - then)[::-1]))


def _line(place: FloatArray, way: float, path: DrivenPath) -> DrivenPath:
    """A straight line from a place, long enough to cross a road at an angle."""
    points = place + np.arange(0.0, 4.0 * ARRIVAL_M, STEP_M)[:, None] * np.array([np.cos(way), np.sin(way)])
    return path_of_points(points, length_m=path.length_m, width_m=path.width_m)


@dataclass(frozen=True, slots=True, kw_only=True)
class PedestrianExtraction(LaneExtraction):
    """One candidate per vehicle that passes while T is near, and the next one after T went."""

    def enumerate(self, scenes: Iterable[Scene], profile: Profile) -> Candidates:
        """Recordings in order, targets in order of tracks; notes say how many pedestrians follow others."""
        at: dict[str, list[Traffic]] = {}
        for scene in scenes:
            at.setdefault(scene.location, []).append(walking(scene))
        samples: list[OneSample] = []
        notes: list[str] = []
        for location, recordings in at.items():
            others = {
                traffic.recording: [
                    path
                    for path, drives in zip(traffic.paths, traffic.is_driver.tolist(), strict=True)
                    if path and drives
                ]
                for traffic in recordings
            }
            book = StraightReferences(others=others)
            name = location or "all recordings"
            walkers = sum(int(traffic.is_walker.sum()) for traffic in recordings)
            vehicles = sum(len(paths) for paths in others.values())
            if not walkers or not vehicles:
                notes.append(
                    f"{name}: {walkers} pedestrians and {vehicles} moving vehicles, so nobody crosses; left out"
                )
                continue
            for traffic in recordings:
                samples += self._of(traffic, book)
            joined = sum(int(s.constants["members"]) - 1 for s in samples if s.location == location)
            if joined:
                notes.append(
                    f"{name}: {joined} pedestrians cross as followers of a group and decide nothing themselves"
                )
        return Candidates(raw=path_gaps(samples, vulnerable=("T", "4")), notes=tuple(notes))

    def _of(self, traffic: Traffic, book: StraightReferences) -> Iterator[OneSample]:
        met = [sharpened(e) for e in encounters_of(traffic, CrossingStreams(), arrival_m=ARRIVAL_M)]
        for encounter, members in zip(*as_groups(met), strict=True):
            offered = list(encounter.offered())
            references = book.of(encounter) if offered else None
            for k in offered:
                assert references is not None
                meeting = encounter.meetings[k]
                sample = path_sample(encounter, k, references, self.info.name)
                if sample is not None and sample.order is not None:
                    facts = {"members": float(members[k]), "yielded": float(gave_way(encounter, meeting))}
                    order = replace(sample.order, t_target_s=meeting.t_target_s, t_other_s=meeting.t_other_s)
                    yield replace(sample, constants={**sample.constants, **facts}, order=order)

    def describe(self, raw: RawGaps, profile: Profile) -> Description:
        """See :func:`giveway.gaps.extractions.paths.describe_paths`, with the arrival of a pedestrian."""
        return describe_paths(raw, arrival_m=ARRIVAL_M)


def _of(dataset: str, title: str, name: str = "") -> PedestrianExtraction:
    return PedestrianExtraction(
        info=ExtractionInfo(
            name=name or f"{dataset}_pedestrians",
            title=title,
            dataset=dataset,
            situation="pedestrians, alone or in groups, who cross in front of vehicles",
        )
    )


DUT, CITR = _of("dut", "DUT", "dut"), _of("citr", "CITR", "citr")
IND, UNID, SIND = _of("ind", "inD (ped.)"), _of("unid", "uniD (ped.)"), _of("sind", "SinD (ped.)")
ARGOVERSE2, NUPLAN = _of("argoverse2", "Argoverse 2 (ped.)"), _of("nuplan", "nuPlan (ped.)")
WOMD, SCENARIONET = _of("womd", "WOMD (ped.)"), _of("scenarionet", "ScenarioNet (ped.)")
GENERIC, INTERACTION = _of("generic", "Own data (ped.)"), _of("interaction", "INTERACTION (ped.)")
