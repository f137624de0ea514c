"""Gaps at places that are found from the paths of those who use them.

Truth (label, t_A, t_C, opening) comes from the driven paths of both, inputs from the references of the entry, see
:mod:`giveway.gaps.encounters` and :mod:`giveway.gaps.references`. Frame of a sample: origin where T's reference enters
the contested place, T arrives along +x. T accepts when its front enters that place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.frames import rotated, wrap_angle
from giveway.core.samples import AcceptanceBoundary
from giveway.gaps.encounters import ARRIVAL_M, Encounter, Meeting, Streams, Traffic, encounters_of
from giveway.gaps.order import order_between
from giveway.gaps.protocol import Candidates
from giveway.gaps.raw import Description, OneSample, RawGaps, empty_distances, stack
from giveway.gaps.references import EntryReferences, MedianReferences, Reference, ReferenceBook
from giveway.roads.path_conflicts import DrivenPath, waits_inside

ROLES = ("E", "T", "1", "2", "3", "4")
MISSING_M = 500.0
OFF_REFERENCE_M = 5.0
"""An agent farther than this from its reference is not on its way to the place."""

STREAM_M, STREAM_RAD = 2.0, np.radians(30.0)
"""A car that passes T's reference this near, at the place and 10 m before it, is in T's stream."""

STREAM_BACK_M = 10.0

NEAR_ENTRY_M, WATCH_M, FAR_SCORE = 5.0, 10.0, 1000.0
"""Role 4 comes nearest to T within 10 m of a point 5 m before the place, else nearest to that point."""


def path_candidates(
    recordings: Iterable[tuple[Traffic, Streams]], *, prefix: str, notes: Sequence[str] = ()
) -> Candidates:
    """Candidate gaps of recordings, each with those who say who gives way; references are made per location."""
    at: dict[str, list[Encounter]] = {}
    for traffic, streams in recordings:
        at.setdefault(traffic.location, []).extend(encounters_of(traffic, streams))
    samples: list[OneSample] = []
    said = list(notes)
    for location, encounters in at.items():
        book = MedianReferences(encounters, location)
        said += book.notes
        samples += path_samples(encounters, book, prefix=prefix)
    return Candidates(raw=path_gaps(samples), notes=tuple(said))


def path_samples(encounters: Sequence[Encounter], book: ReferenceBook, *, prefix: str) -> Iterator[OneSample]:
    """Candidate gaps of encounters, by target, in the order in which E passes."""
    for encounter in encounters:
        references = book.of(encounter)
        if references is None:
            continue
        for k in encounter.offered():
            sample = path_sample(encounter, k, references, prefix)
            if sample is not None:
                yield sample


def path_gaps(samples: Sequence[OneSample], *, vulnerable: Sequence[str] = ("4",)) -> RawGaps:
    """Candidate gaps of one or more sites."""
    offset = np.array([s.constants["entry_x"] for s in samples])
    boundary = AcceptanceBoundary(
        normal=np.tile([1.0, 0.0], (len(samples), 1)), offset_m=offset, radius_m=np.full(len(samples), np.nan)
    )
    return stack(samples, roles=ROLES, vulnerable=vulnerable, boundary=boundary)


def describe_paths(raw: RawGaps, *, arrival_m: float = ARRIVAL_M) -> Description:
    """Distances of fronts to the contested place; ``way_m`` and ``truth_m`` of a role are its remaining way.

    ::

        D_C = way_E   D_A = way_T   D_1 = way_E - way_1 - l_1   D_2 = way_2 - way_E - l_2   D_3 = way_T - way_3 - l_3
        L_E, L_T: extent of what is contested on each path     valid: both recorded, T within arrival_m of the place
    """
    truth = _distances(raw, raw.truth_m)
    with np.errstate(invalid="ignore"):
        valid = np.isfinite(truth[:, 0]) & np.isfinite(truth[:, 1]) & (truth[:, 1] < arrival_m)
    return Description(valid=valid, distance=_distances(raw, raw.way_m), truth=truth, missing_m=MISSING_M)


def _distances(raw: RawGaps, way: FloatArray | None) -> FloatArray:
    way = np.empty((0, len(ROLES))) if way is None else way  # None without any sample
    ego, target, ahead, behind, before = (way[:, k] for k in range(5))
    distance = empty_distances(len(raw.time_s))
    distance[:, 0] = ego
    distance[:, 1] = target
    if raw.num_samples:
        distance[:, 2] = ego - ahead - raw.per_row("length_1")
        distance[:, 3] = behind - ego - raw.per_row("length_2")
        distance[:, 4] = target - before - raw.per_row("length_3")
        distance[:, 5] = raw.per_row("shared_E")
        distance[:, 6] = raw.per_row("shared_T")
    return distance


@dataclass(frozen=True, slots=True, kw_only=True)
class _Role:
    """An agent of a sample: its row, its reference, and where its own path enters the contested place."""

    row: int
    path: DrivenPath
    reference: Reference
    in_m: float

    def way(self, traffic: Traffic, rows: slice) -> tuple[FloatArray, FloatArray]:
        """(n,) remaining way of the front along the reference and along the driven path; NaN where not recorded."""
        xy = traffic.within(self.row, rows)
        at = self.reference.line.project(xy)
        way = self.reference.in_m - at.s - 0.5 * self.path.length_m
        with np.errstate(invalid="ignore"):
            way[np.abs(at.d) > OFF_REFERENCE_M] = np.nan
        driven = self.path.front_to(self.in_m, traffic.time_s[rows])
        return way, np.where(np.isnan(xy[:, 0]), np.nan, driven)


def path_sample(encounter: Encounter, k: int, references: EntryReferences, prefix: str) -> OneSample | None:
    """The candidate gap of one meeting; None if T and E are recorded together for less than two instants."""
    traffic, meeting, pairs = encounter.traffic, encounter.meetings[k], references.pairs
    spans = traffic.span(meeting.row), traffic.span(encounter.target)
    rows = slice(max(s[0] for s in spans), min(s[1] for s in spans))
    if rows.stop - rows.start < 2:
        return None
    own, their = pairs[k]
    ego = traffic.paths[meeting.row]
    assert ego is not None
    late = 0.5 if waits_inside(encounter.path, ego, meeting.conflict, meeting.passage) else 0.0
    s_in, u_in = meeting.conflict.s_in_m + late * encounter.path.length_m, meeting.u_in_m + late * ego.length_m
    roles: list[_Role | None] = [
        _Role(row=meeting.row, path=ego, reference=their, in_m=u_in),
        _Role(row=encounter.target, path=encounter.path, reference=own, in_m=s_in),
        _role(encounter, k - 1, pairs[k - 1][1]) if k > 0 else None,
        _role(encounter, k + 1, pairs[k + 1][1]) if k + 1 < len(pairs) else None,
        _leader(encounter, meeting, own),
    ]
    length = float(encounter.path.length_m)
    place, enters = own.line.at(own.in_m), own.line.at(own.in_m - 0.5 * length)
    turn = np.pi - float(enters.heading)
    absent = np.full(rows.stop - rows.start, np.nan)
    ways = [(absent, absent) if role is None else role.way(traffic, rows) for role in (*roles, None)]
    agents = [None if r is None else r.row for r in roles] + [_most_relevant(encounter, own, rows)]
    xy = [rotated(traffic.within(row, rows) - place.xy, turn) for row in agents]
    ids = traffic.ids
    passed = int(np.searchsorted(traffic.time_s, meeting.t_other_s))
    return OneSample(
        sample_id=f"{prefix}/{traffic.recording}/T{ids[encounter.target]}/E{ids[meeting.row]}@{passed}",
        group=f"{traffic.recording}/{ids[encounter.target]}",
        location=traffic.location,
        time_s=traffic.time_s[rows],
        xy=np.stack(xy, axis=1),
        constants={
            "entry": float(references.entry),
            "entry_x": float(rotated(enters.xy - place.xy, turn)[0]),
            "place_x": float(place.xy[0]),
            "place_y": float(place.xy[1]),
            "turn_rad": turn,
            "angle_rad": meeting.conflict.angle_rad,
            "shared_E": their.out_m - their.in_m,
            "shared_T": own.out_m - own.in_m,
            "length_E": ego.length_m,
            "length_T": length,
            **{f"length_{name}": _length(role) for name, role in zip(ROLES[2:5], roles[2:], strict=True)},
        },
        way_m=np.stack([way for way, _ in ways], axis=1),
        truth_m=np.stack([way for _, way in ways], axis=1),
        order=order_between(encounter.path, ego, near_s=meeting.t_other_s),
    )


def _length(role: _Role | None) -> float:
    return 0.0 if role is None else role.path.length_m


def _role(encounter: Encounter, k: int, reference: Reference) -> _Role | None:
    meeting = encounter.meetings[k]
    path = encounter.traffic.paths[meeting.row]
    return None if path is None else _Role(row=meeting.row, path=path, reference=reference, in_m=meeting.u_in_m)


def _leader(encounter: Encounter, meeting: Meeting, own: Reference) -> _Role | None:
    """The car in T's stream that entered the place last before T; nobody leads a pedestrian."""
    traffic = encounter.traffic
    if traffic.is_walker[encounter.target]:
        return None
    marks = own.line.at(np.array([own.in_m - STREAM_BACK_M, own.in_m]))
    best: tuple[float, _Role] | None = None
    begin = traffic.time_s[traffic.span(encounter.target)[0]]
    for row, path in enumerate(traffic.paths):
        if path is None or row == encounter.target or not traffic.is_driver[row]:
            continue
        if path.time_s[0] > meeting.t_target_s or path.time_s[-1] < begin:
            continue
        apart = np.hypot(path.xy[:, None, 0] - marks.xy[:, 0], path.xy[:, None, 1] - marks.xy[:, 1])
        at = apart.argmin(axis=0)
        if (apart.min(axis=0) > STREAM_M).any() or at[0] >= at[1]:
            continue
        s_in = 0.5 * float(at[1])
        entered = path.front_at(s_in)
        turn = abs(float(wrap_angle(path.heading(s_in) - float(marks.heading[1]))))
        if turn < STREAM_RAD and entered < meeting.t_target_s and (best is None or entered > best[0]):
            best = entered, _Role(row=row, path=path, reference=own, in_m=s_in)
    return None if best is None else best[1]


def _most_relevant(encounter: Encounter, own: Reference, rows: slice) -> int | None:
    """The pedestrian or cyclist who comes closest to T near its entry."""
    traffic = encounter.traffic
    point = own.line.at(own.in_m - NEAR_ENTRY_M).xy
    target = traffic.within(encounter.target, rows)
    best: tuple[float, int] | None = None
    for row in np.flatnonzero(traffic.is_vulnerable).tolist():
        xy = traffic.within(row, rows)
        if row == encounter.target or np.isnan(xy[:, 0]).all():
            continue
        to_entry, to_target = (np.hypot(*(xy - other).T) for other in (point, target))
        with np.errstate(invalid="ignore"):
            near = to_entry < WATCH_M
        score = float(np.nanmin(to_target[near])) if near.any() else FAR_SCORE + float(np.nanmin(to_entry))
        if best is None or score < best[0]:
            best = score, row
    return None if best is None else best[1]
