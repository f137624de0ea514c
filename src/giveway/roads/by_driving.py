"""Lanes from tracks alone: where many drove the same way there is a lane, and who waited for whom gives way.

Tracks are grouped by where they begin and end (single linkage in position and heading), and the lane of a group is the
pointwise median of its paths by relative arc length. Of two lanes whose paths conflict, that whose drivers stand more
before the place gives way; equal shares give no rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from giveway.core import elementary
from giveway.core.arrays import FloatArray, IntArray
from giveway.core.errors import EmptySelectionError, UsageError
from giveway.core.frames import wrap_angle
from giveway.core.polylines import polyline
from giveway.core.tracks import AgentKind, Tracks
from giveway.roads.path_conflicts import DrivenPath, driven_path, path_conflict, path_of_points
from giveway.roads.sketch import RoadSketch, RuleSketch, lane_along

LINK_M, LINK_RAD = 3.0, np.radians(25.0)
"""Ends of tracks this near to each other are ends of one lane."""

MIN_TRACKS = 3
"""Fewer tracks make no lane."""

MIN_LENGTH_M = 20.0
MIN_SPREAD_M = 40.0
"""A way through the site is longer than this, measured along it."""

SPACING_M = 2.0
STANDING_MPS, BEFORE_M = 1.0, 15.0
"""Who is slower than this within this distance before a place waits there."""

CLEARER = 1.5
"""One lane gives way if its drivers wait at least this many times as often as those of the other."""

MIN_WAITING, MIN_RULE_TRACKS = 0.2, 10
"""No rule is guessed from a smaller share of waiting drivers, or from fewer drivers."""

FARTHEST_M = 100_000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DrivenLanes:
    """Lanes of a site, as a drawing.

    Attributes:
        sketch: lanes with rules.
        num_tracks: lane name to the number of tracks it is made of.
        notes: what was left out or guessed.
    """

    sketch: RoadSketch
    num_tracks: dict[str, int]
    notes: tuple[str, ...]


def lanes_by_driving(recordings: Iterable[Tracks], *, width_m: float = 3.5) -> DrivenLanes:
    """Lanes of the motor vehicles of one site.

    Args:
        recordings: in one coordinate system, at most 100 km from its origin.
        width_m: of every lane.

    Raises:
        EmptySelectionError: fewer than three tracks go the same way.
        UsageError: positions farther than 100 km from the origin.
    """
    paths: list[DrivenPath] = []
    slow: list[FloatArray] = []
    for tracks in recordings:
        for row in range(tracks.num_agents):
            if AgentKind(int(tracks.kind[row])).is_vulnerable:
                continue
            path = driven_path(tracks, row)
            if path is not None and path.arc_m[-1] >= MIN_LENGTH_M:
                paths.append(path)
                with np.errstate(invalid="ignore"):
                    stands = tracks.observed[row] & (tracks.speed[row] < STANDING_MPS)
                slow.append(tracks.xy[row, stands])
    farthest = max((float(np.abs(path.xy).max()) for path in paths), default=0.0)
    if farthest > FARTHEST_M:
        raise UsageError(
            "lanes can only be written in local coordinates",
            where="positions of the tracks",
            found=f"{farthest:.0f} m from the origin",
            hint="subtract an origin, and give it as georeference.origin_m",
        )
    groups = _groups(np.array([_ends(path) for path in paths]).reshape(-1, 6))
    notes: list[str] = []
    lanes: dict[str, FloatArray] = {}
    members: dict[str, list[int]] = {}
    for group in sorted(groups, key=len, reverse=True):
        if len(group) < MIN_TRACKS:
            continue
        line = _median([paths[n] for n in group])
        if polyline(line).length_m < MIN_SPREAD_M:
            continue
        name = f"way {len(lanes)}"
        lanes[name], members[name] = line, group.tolist()
    used = sum(len(group) for group in members.values())
    if not lanes:
        raise EmptySelectionError(
            "no lane can be made of these tracks",
            where="motor vehicles",
            found=f"{len(paths)} tracks, no {MIN_TRACKS} of them go the same way for {MIN_SPREAD_M:g} m",
            hint="give more recordings of the site, or a map",
        )
    notes.append(f"{len(lanes)} ways made of {used} of {len(paths)} tracks; the others go a way of their own")
    rules, said = _rules(lanes, members, slow)
    drawn = tuple(lane_along(name, line, width_m=width_m) for name, line in lanes.items())
    return DrivenLanes(
        sketch=RoadSketch(lanes=drawn, rules=rules),
        num_tracks={name: len(group) for name, group in members.items()},
        notes=(*notes, *said),
    )


def _ends(path: DrivenPath) -> FloatArray:
    """(6,) x, y, heading of the first and of the last three meters."""
    line = polyline(path.xy)
    first, last = line.at(np.array([0.0, 3.0])).xy, line.at(np.array([line.length_m - 3.0, line.length_m])).xy
    return np.array([*first[0], _direction(first), *last[1], _direction(last)])


def _direction(points: FloatArray) -> float:
    step = points[1] - points[0]
    return float(elementary.arctan2(step[1], step[0]))


def _groups(ends: FloatArray) -> list[IntArray]:
    """Rows that are linked by near ends."""
    if not len(ends):
        return []
    apart = np.zeros((len(ends), len(ends)), dtype=np.bool_)
    for at in (0, 3):
        away = np.hypot(*(ends[:, None, at : at + 2] - ends[None, :, at : at + 2]).transpose(2, 0, 1))
        turned = np.abs(wrap_angle(ends[:, None, at + 2] - ends[None, :, at + 2]))
        apart |= (away > LINK_M) | (turned > LINK_RAD)
    _, label = connected_components(csr_matrix(~apart), directed=False)
    return [np.flatnonzero(label == n) for n in np.unique(label)]


def _median(paths: Sequence[DrivenPath]) -> FloatArray:
    """(P, 2) pointwise median at equal shares of the arc length."""
    lines = [polyline(path.xy) for path in paths]
    count = max(int(np.median([line.length_m for line in lines]) / SPACING_M), 2) + 1
    share = np.linspace(0.0, 1.0, count)
    return np.median(np.stack([line.at(share * line.length_m).xy for line in lines]), axis=0)


def _rules(
    lanes: dict[str, FloatArray], members: dict[str, list[int]], slow: list[FloatArray]
) -> tuple[tuple[RuleSketch, ...], list[str]]:
    """Who gives way, by who waits more before the place where two ways meet."""
    rules: list[RuleSketch] = []
    notes: list[str] = []
    names = list(lanes)
    paths = {name: path_of_points(line) for name, line in lanes.items()}
    for n, one in enumerate(names):
        for other in names[n + 1 :]:
            if min(len(members[one]), len(members[other])) < MIN_RULE_TRACKS:
                continue
            found = path_conflict(paths[one], paths[other])
            if found.status != "conflict" or not found.passages:
                continue
            at = {one: found.s_in_m, other: found.passages[0].u_in_m}
            waits = {name: _waiting(lanes[name], at[name], [slow[k] for k in members[name]]) for name in (one, other)}
            few, many = sorted((one, other), key=lambda name: waits[name])
            if waits[many] > max(MIN_WAITING, CLEARER * waits[few]):
                rules.append(RuleSketch(yielding=(many,), priority=(few,)))
                notes.append(
                    f"{many} gives way to {few}: {100 * waits[many]:.0f} % of its drivers wait before the place, "
                    f"{100 * waits[few]:.0f} % of the others; guessed from the tracks, confirm it"
                )
    return tuple(rules), notes


def _waiting(line: FloatArray, at_m: float, slow: Sequence[FloatArray]) -> float:
    """Share of tracks with a standing moment on the last meters before a place."""
    way = polyline(line)
    part = way.at(np.linspace(max(at_m - BEFORE_M, 0.0), at_m, 16)).xy
    near = [
        len(points) > 0
        and bool((np.hypot(*(points[:, None] - part[None]).transpose(2, 0, 1)).min(axis=1) < LINK_M).any())
        for points in slow
    ]
    return float(np.mean(near))
