"""Right of way where the paths of two cars cross or merge."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.frames import wrap_angle
from giveway.core.tracks import Tracks
from giveway.roads.conflicts import APART_BEFORE_M, area_between
from giveway.roads.queries import PreparedMap
from giveway.sim.lines import RoadLines, known_heading, lane_chains, line_through
from giveway.sim.responses import fails_to_brake
from giveway.sim.rss import ONCOMING_RAD, Law, stopping

CROSSING_RAD = 0.8
"""Cars whose headings differ by more than this, and are not oncoming, cross; without a rule, right before left."""

MARGIN_M = 1.0
"""Paths are continued by this much beyond the bumpers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Junction:
    """Two cars that took the same area.

    Attributes:
        yielding: 0 or 1, which of the two must give way.
        source: where that is known from: ``case``, ``map`` or ``right before left``.
        entered_s: when the yielding car entered the area, before the contact.
        distance_m: of the other car's front from the area then; not positive if it was inside.
        speed_mps: of the other car then.
        needed_m: way D(v) that it needs to stop.
        brakes_too_late: it did not brake properly since then.
    """

    yielding: int
    source: str
    entered_s: float
    distance_m: float
    speed_mps: float
    needed_m: float
    brakes_too_late: bool


def junction_of(
    tracks: Tracks,
    rows: tuple[int, int],
    first: int,
    last: int,
    road: RoadLines,
    yields_to: Mapping[str, Collection[str]],
    law: Law,
    dt: float,
    *,
    danger: int,
    is_lateral: bool,
) -> Junction | None:
    """The conflict of right of way before a contact; None if the cars drove one behind the other or beside each other.

    Args:
        tracks: everybody.
        rows: of the two cars.
        first: first instant to look at.
        last: instant of the contact.
        road: lanes, whose rules tell who yields.
        yields_to: car to those it must give way to.
        law: constants.
        dt: length of a tick [s].
        danger: tick at which the danger began, counted from ``first``.
        is_lateral: of that danger.
    """
    turn = [known_heading(tracks, i, first, last)[-1] for i in rows]
    apart = float(wrap_angle(np.asarray(turn[1] - turn[0])))
    crosses = CROSSING_RAD < abs(apart) < ONCOMING_RAD
    yielding, source = _who_yields(tracks, rows, first, last, road, yields_to, apart if crosses else 0.0)
    if yielding < 0:
        return None
    lines = [_swept(tracks, i, first, last) for i in rows]
    area = conflict_area(lines, [float(tracks.size[i, 1]) if tracks.size[i, 1] > 0 else 1.8 for i in rows])
    if area is None:
        return None
    fronts = [_front(tracks, i, first, last) for i in rows]
    entered = [int(np.searchsorted(front, area[i] - 1e-9)) for i, front in enumerate(fronts)]
    entered = [min(tick, last - first) for tick in entered]
    if not crosses and not is_lateral and danger > max(entered):
        return None  # both have long been in the same lane: one follows the other
    other, at = 1 - yielding, entered[yielding]
    speed = tracks.speed[rows[other], first : last + 1]
    return Junction(
        yielding=yielding,
        source=source,
        entered_s=(last - first - at) * dt,
        distance_m=float(area[other] - fronts[other][at]),
        speed_mps=float(speed[at]),
        needed_m=float(stopping(float(speed[at]), law)),
        brakes_too_late=fails_to_brake(speed[at:], law, dt),
    )


def conflict_area(lines: list[FloatArray], widths: list[float]) -> tuple[float, float] | None:
    """Arc lengths at which two swept corridors begin to overlap; None if one car did not come from elsewhere.

    Args:
        lines: (P, 2+) paths of both cars, from behind the car to beyond its front at the contact.
        widths: of the corridors [m].
    """
    # The contact is near the ends of both paths: of several areas the one that is reached last counts.
    areas = area_between(lines[0][:, :2], lines[1][:, :2], widths[0], widths[1])
    begins = max(((area.own[0], area.other[0]) for area in areas), key=sum, default=(0.0, 0.0))
    return begins if min(begins) >= APART_BEFORE_M else None


def _swept(tracks: Tracks, row: int, first: int, last: int) -> FloatArray:
    """The path of a car from behind its rear to beyond its front."""
    heading = known_heading(tracks, row, first, last)
    reach = 0.5 * float(tracks.size[row, 0] if tracks.size[row, 0] > 0 else 4.5) + MARGIN_M
    line = line_through(tracks.xy[row, first : last + 1], float(heading[-1]))
    ends = [
        line[0, :2] - reach * line[0, 2:4],
        line[-1, :2] + reach * np.array([np.cos(heading[-1]), np.sin(heading[-1])]),
    ]
    return np.concatenate([ends[0][None], line[:, :2], ends[1][None]])


def _front(tracks: Tracks, row: int, first: int, last: int) -> FloatArray:
    """(n,) arc length of the front bumper on the swept path of the same car [m]."""
    length = float(tracks.size[row, 0] if tracks.size[row, 0] > 0 else 4.5)
    way = np.hypot(*np.diff(tracks.xy[row, first : last + 1], axis=0).T)
    return length + MARGIN_M + np.concatenate([[0.0], np.cumsum(way)])


def _who_yields(
    tracks: Tracks,
    rows: tuple[int, int],
    first: int,
    last: int,
    road: RoadLines,
    yields_to: Mapping[str, Collection[str]],
    apart: float,
) -> tuple[int, str]:
    """Which of two cars must give way, and the source of the rule; -1 if none is known.

    The given rule first, then that of the map, then right before left for cars that cross.
    """
    names = [str(tracks.ids[i]) for i in rows]
    for i in (0, 1):
        if names[1 - i] in yields_to.get(names[i], ()):
            return i, "case"
    if isinstance(road, PreparedMap):
        lanes = [{lane for chain in lane_chains(road, tracks, i, first, last) for lane in chain} for i in rows]
        owes = [any(set(road.road.lanes[n].yields_to) & lanes[1 - i] for n in lanes[i]) for i in (0, 1)]
        if owes[0] != owes[1]:
            return owes.index(True), "map"
    if apart == 0.0:
        return -1, ""
    return (0 if apart > 0.0 else 1), "right before left"
