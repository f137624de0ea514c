"""Who is responsible for a contact: one graded law for drives, generated traffic, recordings and clips.

Responsibility-sensitive safety names who did not respond properly to a danger; right of way decides where paths cross
or merge; UN Regulation No. 157 says when an automated ego is obliged to cope with a cut-in although the other car is to
blame; whether a careful driver would have avoided the contact is another question and another column.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.log import Collision, Grade, Region
from giveway.core.tracks import Tracks
from giveway.sim.careful_drive import avoids
from giveway.sim.contacts import find_contacts
from giveway.sim.cut_in import CutIn, cut_in_of
from giveway.sim.junctions import Junction, junction_of
from giveway.sim.lines import RoadLines, center_lines, line_for, sizes_of, states_of
from giveway.sim.responses import drifts_on, fails_to_brake, hits_the_brakes, speeds_up
from giveway.sim.rss import GAP_LAT, GAP_LON, NEED_LAT, NEED_LON, REAR, U0, V0, Law, danger_before, relate

LOOK_BACK_TICKS = 100
"""Danger is followed back for this long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What the law says about one contact.

    Attributes:
        violators: ids of the cars that did not respond as they should; one or both.
        grade: for the ego; NONE if it has no part in the contact.
        by_default: neither car violated its proper response, the law names the nearer cause.
        obliged: the ego had to cope with this cut-in (R157, 5.2.5.2 a, b, c); None where it was none.
        avoidable: the careful driver of R157 avoids it; None without the ego. Nobody avoids being hit from behind: the
            careful driver only brakes.
        conflict: ``lateral``, ``longitudinal`` or ``junction``.
        numbers: what the verdict rests on, by name [SI units].
        sentence: the verdict in words.
    """

    violators: tuple[str, ...]
    grade: Grade
    by_default: bool
    obliged: bool | None
    avoidable: bool | None
    conflict: str
    numbers: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    sentence: str


def judge(
    tracks: Tracks,
    event: Collision,
    road: RoadLines = None,
    law: Law | None = None,
    *,
    ego: str | None = None,
    yields_to: Mapping[str, Collection[str]] = MappingProxyType({}),
) -> Verdict:
    """Judge one contact.

    Args:
        tracks: everybody, up to the contact at least.
        event: which contact; see :func:`giveway.sim.contacts.find_contacts`.
        road: lanes, in whose coordinates gaps are measured; without, the path of one of the two cars.
        law: constants.
        ego: car under test; ``event.first`` if left out. Contacts of others have violators and no grade.
        yields_to: car to those it must give way to, where that is known from elsewhere than the map.
    """
    law = law or Law()
    rows = tracks.index_of(event.first), tracks.index_of(event.second)
    if event.at_spawn:
        return _nobody("in contact from the first tick of one of them")
    first, last, dt = _window(tracks, rows, event.start_tick), event.start_tick, tracks.dt_s
    state, size = states_of(tracks, rows, first, last), sizes_of(tracks)[list(rows)]
    related = relate(line_for(state, center_lines(road, tracks, rows[0], first, last)), state, size, law)
    start, is_lateral = danger_before(related)
    found = _blame(related[start:], is_lateral, (event.first, event.second), law, dt)
    junction = junction_of(tracks, rows, first, last, road, yields_to, law, dt, danger=start, is_lateral=is_lateral)
    if junction is not None:
        found = _junction_blame(junction, (event.first, event.second), law)
    tested = event.first if ego is None else ego
    if tested not in (event.first, event.second):
        return _verdict(found, Grade.NONE, None, None)
    own = 0 if tested == event.first else 1
    cut_in = cut_in_of(related, size, own, law, dt, _half_lane(road, law)) if junction is None else None
    if cut_in is not None:
        found.numbers.update(cut_in.numbers)
    from_behind = (event.first_region, event.second_region)[own] is Region.REAR
    avoidable, by_plus = (False, False) if from_behind else avoids(tracks, rows[own], last, road, dt)
    found.numbers.update({"careful_avoids": float(avoidable), "careful+_avoids": float(by_plus)})
    obliged = None if cut_in is None else cut_in.obliged
    grade = grade_of(at_fault=tested in found.violators, obliged=bool(obliged), avoidable=avoidable)
    return _verdict(found, grade, obliged, avoidable, cut_in=cut_in)


def judged_contacts(
    tracks: Tracks,
    road: RoadLines = None,
    law: Law | None = None,
    *,
    ego: str,
    right_of_way: Collection[str] = (),
) -> tuple[Collision, ...]:
    """All contacts of a drive or a recording with their verdicts, in order of time.

    Args:
        tracks: everybody.
        road: see :func:`judge`.
        law: constants.
        ego: car under test.
        right_of_way: cars to which the ego must give way.
    """
    found: list[Collision] = []
    for contact in find_contacts(tracks, ego=ego):
        verdict = judge(tracks, contact, road, law, ego=ego, yields_to={ego: right_of_way})
        facts = {name: getattr(verdict, name) for name in ("violators", "grade", "by_default", "obliged", "avoidable")}
        found.append(replace(contact, **facts, conflict=verdict.conflict, sentence=verdict.sentence))
    return tuple(found)


def grade_of(*, at_fault: bool, obliged: bool, avoidable: bool, contact: bool = True, near_miss: bool = False) -> Grade:
    """The decision table.

    Args:
        at_fault: the ego is a violator; also for failures without contact (planner that raised, hung or gave no usable
            plan, ego off the road, standing for no reason).
        obliged: R157 obliges it to avoid this cut-in.
        avoidable: a careful driver avoids the contact.
        contact: there was one.
        near_miss: time to collision with a car ahead below 0.5 s.
    """
    if at_fault:
        return Grade.A
    if not contact:
        return Grade.NEAR_MISS if near_miss else Grade.NONE
    if obliged:
        return Grade.B
    return Grade.C if avoidable else Grade.D


@dataclass(slots=True, kw_only=True)
class _Blame:
    violators: tuple[str, ...]
    by_default: bool
    conflict: str
    numbers: dict[str, float]
    text: str


def _blame(related: FloatArray, is_lateral: bool, names: tuple[str, str], law: Law, dt: float) -> _Blame:
    """Violators of the proper response in an interval of danger (n, 15)."""
    begin, rear = related[0], int(related[0, REAR])
    numbers = {
        "danger_s": (len(related) - 1) * dt,
        "gap_lon_m": float(begin[GAP_LON]),
        "safe_lon_m": float(begin[NEED_LON]),
        "gap_lat_m": float(begin[GAP_LAT]),
        "safe_lat_m": float(begin[NEED_LAT]),
    }
    if is_lateral:
        wrong = [drifts_on(related[:, U0 + i], law, dt) for i in (0, 1)]
        nearer = int(begin[U0 + 1] > begin[U0])
        what = "moved sideways into the other's line and did not stop in time"
        least = "moved sideways faster, though nobody violated the proper response"
        numbers["lateral_mps"] = float(max(begin[U0], begin[U0 + 1]))
    else:
        speed = np.abs(related[:, V0 : V0 + 2])
        wrong = [False, False]
        wrong[rear] = fails_to_brake(speed[:, rear], law, dt) or speeds_up(speed[:, rear], law, dt)
        wrong[1 - rear] = hits_the_brakes(speed[:, 1 - rear], law, dt)
        nearer = rear
        what = f"was behind and did not brake by {law.min_brake_mps2:g} m/s^2 after {law.response_s:g} s"
        least = "was behind, though nobody violated the proper response"
        if wrong[1 - rear]:
            what = f"braked harder than {law.max_brake_mps2:g} m/s^2" if not wrong[rear] else "did not respond properly"
    by_default = not any(wrong)
    violators = (
        (names[nearer],) if by_default else tuple(name for name, is_wrong in zip(names, wrong, strict=True) if is_wrong)
    )
    gaps = (
        f"{numbers['danger_s']:.1f} s before the contact the gaps were {begin[GAP_LON]:.1f} m along and "
        f"{begin[GAP_LAT]:.2f} m across (safe: {begin[NEED_LON]:.1f} m, {begin[NEED_LAT]:.2f} m)"
    )
    return _Blame(
        violators=violators,
        by_default=by_default,
        conflict="lateral" if is_lateral else "longitudinal",
        numbers=numbers,
        text=f"{' and '.join(violators)} {least if by_default else what}: {gaps}",
    )


def _junction_blame(junction: Junction, names: tuple[str, str], law: Law) -> _Blame:
    """Violators where the paths of two cars cross or merge."""
    yielding, other = names[junction.yielding], names[1 - junction.yielding]
    away = f"{junction.distance_m:.1f} m away at {junction.speed_mps:.1f} m/s"
    facts = f"{other} was {away} (needs {junction.needed_m:.1f} m)"
    if junction.distance_m < junction.needed_m:
        violators, text = (yielding,), f"{yielding} entered although it must give way ({junction.source}): {facts}"
    elif junction.brakes_too_late:
        violators, text = (other,), f"{other} did not brake for {yielding}, who had entered in time: {facts}"
    else:
        violators, text = (
            (yielding,),
            f"{yielding} must give way ({junction.source}), though nobody violated more: {facts}",
        )
    return _Blame(
        violators=violators,
        by_default=junction.distance_m >= junction.needed_m and not junction.brakes_too_late,
        conflict="junction",
        numbers={
            "distance_m": junction.distance_m,
            "needed_m": junction.needed_m,
            "speed_mps": junction.speed_mps,
            "entered_s": junction.entered_s,
        },
        text=text,
    )


def _verdict(
    found: _Blame, grade: Grade, obliged: bool | None, avoidable: bool | None, *, cut_in: CutIn | None = None
) -> Verdict:
    text = f"{found.conflict}: {found.text}"
    if grade is not Grade.NONE:
        parts = [] if cut_in is None else [cut_in.text]
        parts.append(f"a careful driver {'avoids' if avoidable else 'does not avoid'} it")
        text = f"{grade} ({grade.meaning}). {text}; {'; '.join(parts)}"
    return Verdict(
        violators=found.violators,
        grade=grade,
        by_default=found.by_default,
        obliged=obliged,
        avoidable=avoidable,
        conflict=found.conflict,
        numbers=MappingProxyType(found.numbers),
        sentence=text,
    )


def _nobody(text: str) -> Verdict:
    return Verdict(
        violators=(), grade=Grade.NONE, by_default=False, obliged=None, avoidable=None, conflict="", sentence=text
    )


def _window(tracks: Tracks, rows: tuple[int, int], last: int) -> int:
    """First instant since which both cars are there without interruption."""
    both = tracks.observed[rows[0], : last + 1] & tracks.observed[rows[1], : last + 1]
    missing = np.flatnonzero(~both)
    return max(last - LOOK_BACK_TICKS, int(missing[-1]) + 1 if missing.size else 0)


def _half_lane(road: RoadLines, law: Law) -> float:
    return float(getattr(road, "half_width", 0.5 * law.lane_width_m))
