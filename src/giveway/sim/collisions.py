"""Contacts between cars: one event per pair and episode, with speed, region and fault."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import shapely

from giveway.core.arrays import FloatArray
from giveway.core.boxes import Boxes, corners, overlapping_pairs
from giveway.core.log import Collision, Region
from giveway.core.tracks import AgentKind, Tracks
from giveway.roads.queries import PreparedMap

SHRINK_M = 0.05
"""Taken from length and width before testing: recordings touch by the accuracy of their tracking."""

STOPPED_MPS = 0.05
"""Below this a car counts as standing (nuPlan)."""

REJOIN_TICKS = 5
"""Contacts of a pair that are at most this far apart are one episode."""


def find_collisions(
    tracks: Tracks,
    *,
    ego: str | None = None,
    right_of_way: Collection[str] = (),
    road: PreparedMap | None = None,
    shrink_m: float = SHRINK_M,
) -> tuple[Collision, ...]:
    """All contact episodes of all agents, in order of time.

    Args:
        tracks: states of everybody.
        ego: listed as ``first`` where it is involved.
        right_of_way: cars to which the ego must give way.
        road: lanes, to tell whether a car hit at its side was inside its lane; without, a side hit blames nobody.
        shrink_m: see :data:`SHRINK_M`.
    """
    contacts = overlapping_pairs(tracks, shrink_m=shrink_m)
    pairs: dict[tuple[int, int], list[int]] = {}
    for instant, a, b in zip(contacts.instant.tolist(), contacts.first.tolist(), contacts.second.tolist(), strict=True):
        pairs.setdefault((a, b), []).append(instant)
    found: list[Collision] = []
    for (a, b), instants in sorted(pairs.items()):
        one, two = (b, a) if ego is not None and str(tracks.ids[b]) == ego else (a, b)
        owes = ego is not None and str(tracks.ids[one]) == ego and str(tracks.ids[two]) in right_of_way
        found += [_collision(tracks, one, two, start, end, road, owes=owes) for start, end in _episodes(instants)]
    return tuple(sorted(found, key=lambda c: (c.start_tick, c.first, c.second)))


def _episodes(instants: Sequence[int]) -> list[tuple[int, int]]:
    episodes: list[tuple[int, int]] = []
    for instant in instants:
        if episodes and instant - episodes[-1][1] <= REJOIN_TICKS:
            episodes[-1] = (episodes[-1][0], instant)
        else:
            episodes.append((instant, instant))
    return episodes


def _collision(
    tracks: Tracks, a: int, b: int, start: int, end: int, road: PreparedMap | None, *, owes: bool
) -> Collision:
    at_spawn = any(start == 0 or not tracks.observed[i, start - 1] for i in (a, b))
    regions = _regions(tracks, a, b, start)
    if at_spawn:
        blame, reason = (False, False), "in contact from the first tick of one of them"
    elif owes and regions[0] is not Region.REAR and _moves(tracks, a, start):
        blame, reason = (True, False), f"{tracks.ids[a]}: did not give way"
    else:
        (one, why_one), (two, why_two) = (
            _at_fault(tracks, i, j, start, region, road) for i, j, region in ((a, b, regions[0]), (b, a, regions[1]))
        )
        blame, reason = (one, two), f"{tracks.ids[a]}: {why_one}; {tracks.ids[b]}: {why_two}"
    relative = tracks.velocity[a, start] - tracks.velocity[b, start]
    return Collision(
        first=str(tracks.ids[a]),
        second=str(tracks.ids[b]),
        start_tick=start,
        end_tick=end,
        time_s=float(tracks.time_s[start]),
        relative_speed_mps=float(np.hypot(relative[0], relative[1])),
        first_region=regions[0],
        second_region=regions[1],
        first_at_fault=blame[0],
        second_at_fault=blame[1],
        reason=reason,
        at_spawn=at_spawn,
        vulnerable=any(AgentKind(int(tracks.kind[i])).is_vulnerable for i in (a, b)),
    )


def _moves(tracks: Tracks, i: int, instant: int) -> bool:
    return bool(np.hypot(*tracks.velocity[i, instant]) > STOPPED_MPS)


def _at_fault(
    tracks: Tracks, i: int, j: int, instant: int, region: Region, road: PreparedMap | None
) -> tuple[bool, str]:
    """Rules of nuPlan: who stands or is hit from behind is innocent, who hits with the front or hits a standing car
    not.

    A side hit is the fault of a car that is not fully inside one lane.
    """
    speed = np.hypot(*tracks.velocity[[i, j], instant].T)
    if speed[0] <= STOPPED_MPS:
        return False, "stood still"
    if speed[1] <= STOPPED_MPS:
        return True, "hit a standing car"
    if region is Region.FRONT:
        return True, "hit with its front"
    if region is Region.REAR:
        return False, "hit from behind"
    if road is None:
        return False, "hit at its side, lanes unknown"
    if _inside_one_lane(road, _corners(tracks, i, instant)):
        return False, "hit at its side inside its lane"
    return True, "hit at its side while not inside one lane"


def _inside_one_lane(road: PreparedMap, box: FloatArray) -> bool:
    """Whether all corners (4, 2) lie on one and the same lane."""
    lanes = [set(found) for found in road.lanes_at(box)]
    return bool(set.intersection(*lanes))


def _corners(tracks: Tracks, i: int, instant: int) -> FloatArray:
    heading = tracks.heading[i, instant]
    size = np.where(tracks.size[i] > 0, tracks.size[i], 1.5)
    return corners(Boxes.of(tracks.xy[i, instant], 0.0 if np.isnan(heading) else heading, size))


def _regions(tracks: Tracks, a: int, b: int, instant: int) -> tuple[Region, Region]:
    """Side of each box on which the center of the shared area lies."""
    one, two = (shapely.Polygon(_corners(tracks, i, instant)) for i in (a, b))
    shared = one.intersection(two)
    point = shared.centroid if not shared.is_empty else shapely.Point(tracks.xy[[a, b], instant].mean(axis=0))
    return _region(tracks, a, instant, point), _region(tracks, b, instant, point)


def _region(tracks: Tracks, i: int, instant: int, point: shapely.Point) -> Region:
    heading = tracks.heading[i, instant]
    heading = 0.0 if np.isnan(heading) else heading
    dx, dy = point.x - tracks.xy[i, instant, 0], point.y - tracks.xy[i, instant, 1]
    length, width = np.where(tracks.size[i] > 0, tracks.size[i], 1.5)
    along = (np.cos(heading) * dx + np.sin(heading) * dy) / (0.5 * length)
    across = (np.cos(heading) * dy - np.sin(heading) * dx) / (0.5 * width)
    if abs(along) >= abs(across):
        return Region.FRONT if along >= 0 else Region.REAR
    return Region.LEFT if across >= 0 else Region.RIGHT
