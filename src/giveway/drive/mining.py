"""Finding cases in recordings: conflicts, who had to give way, how interesting it was, who plays which role."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.boxes import VULNERABLE
from giveway.core.case import Car, Case, Conflict, Role
from giveway.core.errors import UnknownNameError
from giveway.core.scene import Scene
from giveway.core.tracks import Tracks
from giveway.drive.conflicts import Meeting, Trace, find_meetings, traces_of
from giveway.drive.events import Event, find_following, find_pedestrians
from giveway.drive.rings import with_rings
from giveway.drive.speeds import SiteSpeeds
from giveway.roads.priority import RoadRules, priority_between, rules_of
from giveway.roads.queries import PreparedMap, prepare
from giveway.roads.route_lines import RouteLine, route_line

KINDS = ("crossing", "merging", "entering", "following", "pedestrian")
TAGS = {
    "crossing": "crossing",
    "merging": "merge",
    "entering": "roundabout_entry",
    "following": "following",
    "pedestrian": "pedestrian",
}
"""Kind of a conflict to the tag of its case."""
DENSE_CARS, DENSE_M = 3, 30.0
"""A case with at least this many cars this near to the ego at the start is dense."""
BEFORE_S, AFTER_S = 4.0, 1.5
"""A case starts this long before the first car gets there and ends this long after the second one left."""

SHORTEST_S, LONGEST_S = 3.0, 10.0
WARM_UP_S = 1.0
"""Both cars must have been recorded for this long when the case starts: predictors are given ten states."""

NEAR_M, MAX_PREDICTED = 20.0, 5
"""Cars that come this near to the ego are predicted, at most so many."""

FOLLOW_M = 25.0
"""A car on the ego's path at most this far behind follows it."""

HARD_BRAKING_MPS2 = 3.0

Rule = Literal["map", "geometry", "inferred", "law"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MiningRules:
    """What counts as a case.

    Attributes:
        kinds: kinds of conflicts; empty for all.
        min_interest: 1 to 5.
        max_cases: per recording, the most interesting ones.
        max_gap_s: between the two cars at the shared place.
        desired_speed_mps: one speed for drivers and metric; None takes those of the site, by lane
            (:mod:`giveway.drive.speeds`).
        following: also leaders that brake, without a conflict.
        pedestrians: also conflicts with pedestrians.
    """

    kinds: tuple[str, ...] = ()
    min_interest: float = 3.0
    max_cases: int = 20
    max_gap_s: float = 3.0
    desired_speed_mps: float | None = None
    following: bool = False
    pedestrians: bool = False

    def __post_init__(self) -> None:
        for kind in self.kinds:
            if kind not in KINDS:
                raise UnknownNameError("kind of conflict", kind, KINDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mined:
    """What a scene holds.

    Attributes:
        cases: most interesting first.
        pairs: pairs of cars whose paths meet.
        conflicts: those that did so within the time allowed.
    """

    cases: tuple[Case, ...]
    pairs: int
    conflicts: int


def mine_scene(
    scene: Scene,
    *,
    dataset: str,
    recording: str,
    rules: MiningRules | None = None,
    speeds: SiteSpeeds | None = None,
) -> Mined:
    """All cases of a scene.

    The ego is the car that had to give way, so that prediction matters: it must know what the other one will do.

    Args:
        scene: a recording.
        dataset: registered name of the adapter.
        recording: identifier for that adapter.
        rules: what counts.
        speeds: of the whole site; those of this scene without it.
    """
    chosen = rules or MiningRules()
    traces = traces_of(scene.tracks)
    meetings, pairs = find_meetings(traces, max_gap_s=chosen.max_gap_s)
    road = None if scene.road is None else prepare(scene.road)
    if road is not None:
        meetings = with_rings(meetings, road)
    if speeds is None:
        speeds = SiteSpeeds()
        if chosen.desired_speed_mps is None:
            speeds.add(scene.tracks, road)
    frame = _Frame(scene, road, RightOfWay(road), traces, meetings, chosen, dataset, recording, speeds)
    candidates = [
        case
        for meeting in meetings
        if not chosen.kinds or meeting.kind in chosen.kinds
        if interest_of(scene.tracks, meeting) >= chosen.min_interest
        if (case := _case(frame, meeting)) is not None
    ]
    if chosen.following:
        candidates += [case for event in find_following(scene.tracks, traces) if (case := _event_case(frame, event))]
    if chosen.pedestrians:
        candidates += [case for event in find_pedestrians(scene.tracks, traces) if (case := _event_case(frame, event))]
    candidates.sort(key=lambda case: (-(case.interest or 0.0), case.id))
    return Mined(cases=_without_repeats(candidates)[: chosen.max_cases], pairs=pairs, conflicts=len(meetings))


class RightOfWay:
    """Who had to give way where two recorded cars met.

    Args:
        road: lanes of the site, or None.
    """

    def __init__(self, road: PreparedMap | None) -> None:
        self.rules: RoadRules | None = None if road is None else rules_of(road)
        self._lines: dict[int, RouteLine] = {}

    def yields(self, meeting: Meeting) -> tuple[Literal["first", "second"], Rule]:
        """By a rule of the map, else the shape of the paths (:func:`giveway.roads.priority.priority_between`), else
        whoever came second: by law at an all-way stop, otherwise only ``inferred``.
        """
        one, two = self._line(meeting.first), self._line(meeting.second)
        priority, source = priority_between(
            one,
            two,
            (float(one.s[meeting.first_at]), float(one.s[meeting.first_to])),
            (float(two.s[meeting.second_at]), float(two.s[meeting.second_to])),
            merging=meeting.kind != "crossing",
            rules=self.rules,
        )
        if source == "none" or source == "all_way_stop":
            return "second", "inferred" if source == "none" else "law"
        return ("first" if priority == "other" else "second"), source

    def _line(self, trace: Trace) -> RouteLine:
        if trace.row not in self._lines:
            line = route_line(trace.xy, None if self.rules is None else self.rules.road)
            assert line is not None  # a trace is at least 12 m long
            self._lines[trace.row] = line
        return self._lines[trace.row]


def interest_of(tracks: Tracks, meeting: Meeting) -> float:
    """1 (dull) to 5: how close it was (60 %) and how hard one of them braked in the five seconds before (40 %)."""
    closeness = float(np.clip(1.0 - max(meeting.gap_s, 0.0) / 3.0, 0.0, 1.0))
    braking = 0.0
    for trace in (meeting.first, meeting.second):
        window = tracks.observed[trace.row] & (np.abs(tracks.time_s - meeting.enter_second_s + 2.5) <= 2.5)
        speed = np.hypot(*tracks.velocity[trace.row, window].T)
        if speed.size > 10:
            braking = max(braking, float((speed[:-10] - speed[10:]).max()) / (10 * tracks.dt_s))
    return round(1.0 + 4.0 * (0.6 * closeness + 0.4 * min(braking / HARD_BRAKING_MPS2, 1.0)), 2)


@dataclass(frozen=True, slots=True)
class _Frame:
    """What all cases of a scene have in common."""

    scene: Scene
    road: PreparedMap | None
    right_of_way: RightOfWay
    traces: list[Trace]
    meetings: list[Meeting]
    rules: MiningRules
    dataset: str
    recording: str
    speeds: SiteSpeeds
    of_car: dict[int, tuple[float, float]] = field(default_factory=dict[int, tuple[float, float]])


def _case(frame: _Frame, meeting: Meeting) -> Case | None:
    tracks = frame.scene.tracks
    yields, rule = frame.right_of_way.yields(meeting)
    ego, other = (meeting.first, meeting.second) if yields == "first" else (meeting.second, meeting.first)
    window = _window(tracks, meeting, ego, other)
    if window is None:
        return None
    other_id = str(tracks.ids[other.row])
    owed = [other.row, *(row for row in _other_owed(frame, ego, window) if row != other.row)]
    conflict = Conflict(
        kind=meeting.kind,
        other=other_id,
        time_gap_s=round(meeting.gap_s, 2),
        first="ego" if meeting.first is ego else "other",
        yields="ego",
        rule=rule,
        x_m=round(float(meeting.xy[0]), 2),
        y_m=round(float(meeting.xy[1]), 2),
    )
    return _made(frame, ego, owed, window, conflict, interest_of(tracks, meeting))


def _event_case(frame: _Frame, event: Event) -> Case | None:
    """A case of a leader that brakes or of a pedestrian; None if another conflict of the ego is in its window."""
    tracks, ego = frame.scene.tracks, event.ego
    since = float(tracks.time_s[tracks.first[ego.row]]) + WARM_UP_S
    until = float(tracks.time_s[tracks.last[ego.row]])
    window = _on_grid(tracks, max(event.time_s - BEFORE_S, since), min(event.time_s + LONGEST_S - BEFORE_S, until))
    if window is None or window[1] < event.time_s + AFTER_S or event.interest < frame.rules.min_interest:
        return None
    busy = [m for m in frame.meetings if ego is m.first or ego is m.second]
    if any(window[0] <= m.enter_second_s and m.enter_first_s <= window[1] for m in busy):
        return None
    conflict = Conflict(
        kind=event.kind,
        other=str(tracks.ids[event.other]),
        time_gap_s=round(event.gap_s, 2),
        first="other",
        yields="ego",
        rule="law",
        x_m=round(float(event.xy[0]), 2),
        y_m=round(float(event.xy[1]), 2),
    )
    return _made(frame, ego, [], window, conflict, event.interest)


def _made(
    frame: _Frame,
    ego: Trace,
    owed: list[int],
    window: tuple[float, float],
    conflict: Conflict,
    interest: float,
) -> Case:
    """A case of an ego; the cars at ``owed`` have the right of way."""
    scene, rules, tracks = frame.scene, frame.rules, frame.scene.tracks
    cars = _cast(tracks, frame.traces, ego, owed, window)
    v_d = rules.desired_speed_mps
    if v_d is None:
        known = {str(tracks.ids[trace.row]): trace for trace in frame.traces}
        of_car = {car.id: _speeds(frame, known[car.id]) for car in cars if car.id in known}
        v_d = of_car[cars[0].id][1]
        cars = tuple(replace(car, cruise_mps=of_car[car.id][0]) if car.role is not Role.REPLAY else car for car in cars)
    return Case(
        id=f"{frame.recording.replace('/', '-')}-{round(window[0] * 10):05d}-{tracks.ids[ego.row]}-{conflict.other}",
        dataset=frame.dataset,
        recording=frame.recording,
        site=scene.location,
        tracks_sha256=_track_hash(scene.provenance.files),
        start_s=window[0],
        end_s=window[1],
        cars=cars,
        right_of_way=tuple(str(tracks.ids[row]) for row in owed),
        desired_speed_mps=v_d,
        conflicts=(conflict,),
        interest=interest,
        source="mined",
        origin=scene.provenance.origin if scene.provenance.declared_by != "assumed" else None,
        tags=(TAGS[conflict.kind], *(("dense",) if _is_dense(tracks, ego, window[0]) else ())),
    )


def _speeds(frame: _Frame, car: Trace) -> tuple[float, float]:
    """Cruising speed and v_d of a car on its recorded route [m/s]."""
    if car.row in frame.of_car:
        return frame.of_car[car.row]
    lanes = {-1} if frame.road is None else set(frame.road.match(car.xy, car.heading).lane.tolist())
    tracks = frame.scene.tracks
    velocity = tracks.velocity[car.row, tracks.observed[car.row]]
    frame.of_car[car.row] = frame.speeds.speeds(lanes, float(np.nanmax(np.hypot(*velocity.T))))
    return frame.of_car[car.row]


def _is_dense(tracks: Tracks, ego: Trace, start_s: float) -> bool:
    """Whether at least three cars are within 30 m of the ego at the start."""
    at = int(np.abs(tracks.time_s - start_s).argmin())
    gap = np.hypot(*(tracks.xy[:, at] - tracks.xy[ego.row, at]).T)
    near = tracks.observed[:, at] & (gap <= DENSE_M) & ~np.isin(tracks.kind, VULNERABLE)
    return int(near.sum()) - 1 >= DENSE_CARS


def _track_hash(files: Mapping[str, str]) -> str:
    tracks = [
        digest for name, digest in sorted(files.items()) if not name.endswith(".osm") and "pedestrian" not in name
    ]
    return tracks[0] if tracks else ""


def _window(tracks: Tracks, meeting: Meeting, ego: Trace, other: Trace) -> tuple[float, float] | None:
    """Start and end on the tick grid, with both cars there from start to conflict; None if that is too short."""
    first, last = tracks.first, tracks.last
    since = max(float(tracks.time_s[first[row]]) for row in (ego.row, other.row)) + WARM_UP_S
    until = float(tracks.time_s[last[ego.row]])
    start = max(meeting.enter_first_s - BEFORE_S, since)
    end = min(meeting.leave_second_s + AFTER_S, until, start + LONGEST_S)
    if start > meeting.enter_second_s - 1.0 or end < meeting.enter_second_s:
        return None
    return _on_grid(tracks, start, end)


def _on_grid(tracks: Tracks, start: float, end: float) -> tuple[float, float] | None:
    """Start and end on the tick grid; None if that is too short."""
    if end - start < SHORTEST_S:
        return None
    origin = float(tracks.time_s[0])
    start = origin + round((start - origin) * 10) / 10
    ticks = int((end - start) * 10 + 1e-6)
    return round(start, 3), round(start + ticks / 10, 3)


def _other_owed(frame: _Frame, ego: Trace, window: tuple[float, float]) -> list[int]:
    """Further cars to which the ego had to give way during the case."""
    owed: list[int] = []
    for meeting in frame.meetings:
        if ego is not meeting.first and ego is not meeting.second:
            continue
        if not window[0] <= meeting.enter_second_s <= window[1]:
            continue
        yields, rule = frame.right_of_way.yields(meeting)
        loser = meeting.first if yields == "first" else meeting.second
        winner = meeting.second if yields == "first" else meeting.first
        if loser is ego and rule != "inferred":
            owed.append(winner.row)
    return sorted(set(owed))


def _cast(
    tracks: Tracks, traces: list[Trace], ego: Trace, owed: list[int], window: tuple[float, float]
) -> tuple[Car, ...]:
    """Ego, cars with the right of way (driven and predicted), followers of the ego, predicted cars near it."""
    inside = (tracks.time_s >= window[0] - 1e-6) & (tracks.time_s <= window[1] + 1e-6)
    distance = np.hypot(*np.moveaxis(tracks.xy[:, inside] - tracks.xy[ego.row, inside], -1, 0))
    both = tracks.observed[:, inside] & tracks.observed[ego.row, inside]
    nearest = np.where(both, distance, np.inf).min(axis=1)
    known = {trace.row: trace for trace in traces}
    cast = [
        Car(id=str(tracks.ids[ego.row]), role=Role.EGO),
        *(Car(id=str(tracks.ids[row]), role=Role.REACTIVE, predicted=True) for row in owed),
    ]
    rest = [int(row) for row in np.argsort(nearest, kind="stable") if row not in (ego.row, *owed)]
    predicted = len(owed)
    for row in rest:
        if not np.isfinite(nearest[row]) or row not in known:
            continue
        if _follows(tracks, known[row], ego, window[0]):
            cast.append(Car(id=str(tracks.ids[row]), role=Role.IDM))
        elif nearest[row] <= NEAR_M and predicted < MAX_PREDICTED:
            cast.append(Car(id=str(tracks.ids[row]), role=Role.REPLAY, predicted=True))
            predicted += 1
    return tuple(cast)


def _follows(tracks: Tracks, car: Trace, ego: Trace, start_s: float) -> bool:
    """Whether a car is on the ego's path behind it at the start of the case and stays on it."""
    at = int(np.abs(tracks.time_s - start_s).argmin())
    if not (tracks.observed[car.row, at] and tracks.observed[ego.row, at]):
        return False
    here, there = (_point_at(trace.xy, tracks.xy[trace.row, at]) for trace in (car, ego))
    if here is None or there is None or here >= len(car.xy) - 1:
        return False
    on_path = _point_at(ego.xy, tracks.xy[car.row, at])
    if on_path is None or not 0 < there - on_path <= FOLLOW_M:
        return False
    ahead = car.xy[here : here + 20]
    gaps = np.hypot(ego.xy[None, :, 0] - ahead[:, None, 0], ego.xy[None, :, 1] - ahead[:, None, 1]).min(axis=1)
    return bool(gaps.max() < 1.5)


def _point_at(path: FloatArray, xy: FloatArray) -> int | None:
    gap = np.hypot(path[:, 0] - xy[0], path[:, 1] - xy[1])
    at = int(gap.argmin())
    return at if gap[at] < 1.5 else None


def _without_repeats(cases: list[Case]) -> tuple[Case, ...]:
    """Of cases with the same ego or the same pair that overlap by more than half, only the most interesting one."""
    kept: list[Case] = []
    for case in cases:
        pair = {case.ego.id, case.conflicts[0].other}
        if not any(_overlap(case, old) > 0.5 and pair & {old.ego.id, old.conflicts[0].other} for old in kept):
            kept.append(case)
    return tuple(kept)


def _overlap(a: Case, b: Case) -> float:
    shared = min(a.end_s, b.end_s) - max(a.start_s, b.start_s)
    return max(shared, 0.0) / min(a.end_s - a.start_s, b.end_s - b.start_s)
