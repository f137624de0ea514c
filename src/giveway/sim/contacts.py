"""Contacts of cars: one test, one event per pair and episode, and the side on which each car was touched.

Boxes are shrunk by 0.05 m in length and width before they are tested: recordings touch by the accuracy of their
tracking. The kernels work on rows of seven numbers as in :mod:`giveway.core.boxes` and can be called by other kernels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import shapely

from giveway.core._box_kernels import fill_row, pair_overlaps  # pyright: ignore[reportUnknownVariableType]
from giveway.core.arrays import FloatArray
from giveway.core.boxes import Boxes, corners, footprints, overlapping_pairs
from giveway.core.kernels import njit
from giveway.core.log import Collision, Region
from giveway.core.tracks import AgentKind, Tracks

SHRINK_M = 0.05
"""Taken from length and width before testing."""

REJOIN_TICKS = 5
"""Contacts of a pair that are at most this far apart are one episode."""

FRONT, REAR, LEFT, RIGHT = range(4)
"""Codes of the sides of a box in compiled code, in the order of :class:`giveway.core.log.Region`."""

REGIONS = tuple(Region)


@njit(cache=True, nogil=True)
def fill_box(x: float, y: float, heading: float, length: float, width: float, out: FloatArray) -> None:
    """Row of the box of a car as contacts are tested: shrunk in length and width."""
    half_length, half_width = 0.5 * max(length - SHRINK_M, 0.0), 0.5 * max(width - SHRINK_M, 0.0)
    fill_row(x, y, math.cos(heading), math.sin(heading), half_length, half_width, out)


@njit(cache=True, nogil=True)
def boxes_touch(a: FloatArray, b: FloatArray) -> bool:
    """Whether two rows share a point; far ones cost little."""
    dx, dy = b[0] - a[0], b[1] - a[1]
    reach = a[4] + a[5] + a[6] + b[4] + b[5] + b[6]
    if dx * dx + dy * dy > reach * reach:
        return False
    return pair_overlaps(a, b)


@njit(cache=True, nogil=True)
def _gaps(a: FloatArray, b: FloatArray) -> tuple[float, float, float, float]:
    """Gap along and across box a to the bounding rectangle of b in a's axes, and where b's middle lies there."""
    dx, dy = b[0] - a[0], b[1] - a[1]
    along, across = dx * a[2] + dy * a[3], dy * a[2] - dx * a[3]
    same, turned = abs(a[2] * b[2] + a[3] * b[3]), abs(a[2] * b[3] - a[3] * b[2])
    round_m = a[6] + b[6]
    return (
        abs(along) - a[4] - b[4] * same - b[5] * turned - round_m,
        abs(across) - a[5] - b[4] * turned - b[5] * same - round_m,
        along,
        across,
    )


@njit(cache=True, nogil=True)
def touched_side(a_before: FloatArray, b_before: FloatArray, a: FloatArray, b: FloatArray) -> int:
    """Side of box a that met box b during the last tick.

    In the axes of a the boxes meet when the second of the two gaps (along, across) closes; gaps are taken to change
    evenly over the tick. If both were closed before (rotating boxes), the shallower overlap decides.
    """
    along_before, across_before, _, _ = _gaps(a_before, b_before)
    along, across, u, v = _gaps(a, b)
    when_along = along_before / max(along_before - along, 1e-9) if along_before > 0.0 else -1.0
    when_across = across_before / max(across_before - across, 1e-9) if across_before > 0.0 else -1.0
    lengthwise = when_along > when_across if max(when_along, when_across) >= 0.0 else along > across
    if lengthwise:
        return FRONT if u > 0.0 else REAR
    return LEFT if v > 0.0 else RIGHT


def find_contacts(tracks: Tracks, *, ego: str | None = None, shrink_m: float = SHRINK_M) -> tuple[Collision, ...]:
    """All contact episodes of all agents, in order of time; nobody has judged them yet.

    Args:
        tracks: states of everybody.
        ego: listed as ``first`` where it is involved.
        shrink_m: see :data:`SHRINK_M`.
    """
    contacts = overlapping_pairs(tracks, shrink_m=shrink_m)
    pairs: dict[tuple[int, int], list[int]] = {}
    for instant, a, b in zip(contacts.instant.tolist(), contacts.first.tolist(), contacts.second.tolist(), strict=True):
        pairs.setdefault((a, b), []).append(instant)
    if not pairs:
        return ()
    boxes = footprints(tracks, shrink_m=shrink_m)
    found: list[Collision] = []
    for (a, b), instants in sorted(pairs.items()):
        one, two = (b, a) if ego is not None and str(tracks.ids[b]) == ego else (a, b)
        found += [_contact(tracks, boxes, one, two, start, end) for start, end in _episodes(instants)]
    return tuple(sorted(found, key=lambda c: (c.start_tick, c.first, c.second)))


def _episodes(instants: Sequence[int]) -> list[tuple[int, int]]:
    episodes: list[tuple[int, int]] = []
    for instant in instants:
        if episodes and instant - episodes[-1][1] <= REJOIN_TICKS:
            episodes[-1] = (episodes[-1][0], instant)
        else:
            episodes.append((instant, instant))
    return episodes


def _contact(tracks: Tracks, boxes: Boxes, a: int, b: int, start: int, end: int) -> Collision:
    at_spawn = any(start == 0 or not tracks.observed[i, start - 1] for i in (a, b))
    if at_spawn:
        regions = _shared_sides(boxes, a, b, start)
    else:
        rows = [[_row(boxes, i, k) for i in (a, b)] for k in (start - 1, start)]
        regions = (
            REGIONS[touched_side(*rows[0], *rows[1])],
            REGIONS[touched_side(*rows[0][::-1], *rows[1][::-1])],
        )
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
        at_spawn=at_spawn,
        vulnerable=any(AgentKind(int(tracks.kind[i])).is_vulnerable for i in (a, b)),
    )


def _row(boxes: Boxes, i: int, instant: int) -> FloatArray:
    heading, size = float(boxes.heading[i, instant]), 0.5 * boxes.size[i, instant]
    return np.array(
        [*boxes.xy[i, instant], math.cos(heading), math.sin(heading), *size, float(boxes.radius[i, instant])]
    )


def _shared_sides(boxes: Boxes, a: int, b: int, instant: int) -> tuple[Region, Region]:
    """Side of each box on which the center of the shared area lies; for contacts without a tick before."""
    one, two = (shapely.Polygon(corners(_squared(boxes, i, instant))) for i in (a, b))
    shared = one.intersection(two)
    point = shared.centroid if not shared.is_empty else shapely.Point(boxes.xy[[a, b], instant].mean(axis=0))
    return _side(boxes, a, instant, point), _side(boxes, b, instant, point)


def _squared(boxes: Boxes, i: int, instant: int) -> Boxes:
    """A box; the square around a disc."""
    size = boxes.size[i, instant] + 2.0 * boxes.radius[i, instant]
    return Boxes.of(boxes.xy[i, instant], boxes.heading[i, instant], size)


def _side(boxes: Boxes, i: int, instant: int, point: shapely.Point) -> Region:
    heading = float(boxes.heading[i, instant])
    dx, dy = point.x - boxes.xy[i, instant, 0], point.y - boxes.xy[i, instant, 1]
    length, width = boxes.size[i, instant] + 2.0 * boxes.radius[i, instant]
    along = (math.cos(heading) * dx + math.sin(heading) * dy) / (0.5 * length)
    across = (math.cos(heading) * dy - math.sin(heading) * dx) / (0.5 * width)
    if abs(along) >= abs(across):
        return Region.FRONT if along >= 0 else Region.REAR
    return Region.LEFT if across >= 0 else Region.RIGHT
