"""The line along and across which the gaps of two cars are measured: a lane where a road is known, else a path."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from giveway.core import elementary
from giveway.core.arrays import BoolArray, FloatArray
from giveway.core.boxes import VEHICLE_SIZE_M, VULNERABLE, VULNERABLE_DIAMETER_M
from giveway.core.kernels import njit
from giveway.core.tracks import Tracks
from giveway.roads.queries import PreparedMap
from giveway.roads.tables import RoadTables

RoadLines = PreparedMap | RoadTables | Sequence[FloatArray] | None
"""A prepared lane map, the tables of a road, or center lines (P, 2) in driving direction, or (P, 5) made of them with
:func:`line_through`, which saves time where many contacts are judged."""

LINE_COLUMNS = 5

SPACING_M = 0.5
EVERY = 5
"""Ticks between two looks at the lane of a car."""

TURN_M = 10.0
"""One radian between a car and a line weighs like this many meters of offset."""

ON_PATH_M = 1.0
"""A car whose offset, direction included, is smaller drives on the path of the other."""

EQUAL_TURN_RAD = 0.02
"""Cars whose headings changed alike to this much turned alike."""


def line_through(xy: FloatArray, heading: float) -> FloatArray:
    """(P, 5) x, y, cosine, sine and arc length of a polyline, at points of equal spacing, at most half a meter.

    Args:
        xy: (N, 2) points in driving direction [m]; repeated ones are skipped.
        heading: direction if the points do not define one (less than half a meter of way) [rad].
    """
    return _resampled(np.ascontiguousarray(xy), heading)


@njit(cache=True, nogil=True)
def _resampled(xy: FloatArray, heading: float) -> FloatArray:
    arc = np.zeros(xy.shape[0])
    for i in range(1, xy.shape[0]):
        arc[i] = arc[i - 1] + math.hypot(xy[i, 0] - xy[i - 1, 0], xy[i, 1] - xy[i - 1, 1])
    if arc[-1] < SPACING_M:
        stub = np.empty((2, 5))
        for i in range(2):
            s, cos, sin = SPACING_M * i, math.cos(heading), math.sin(heading)
            stub[i, 0], stub[i, 1], stub[i, 2], stub[i, 3], stub[i, 4] = (
                xy[0, 0] + s * cos,
                xy[0, 1] + s * sin,
                cos,
                sin,
                s,
            )
        return stub
    last = math.ceil(arc[-1] / SPACING_M)
    line = np.empty((last + 1, 5))
    at = 0
    for i in range(last + 1):
        s = arc[-1] * i / last
        while at < arc.size - 2 and arc[at + 1] < s:
            at += 1
        share = min(max((s - arc[at]) / max(arc[at + 1] - arc[at], 1e-9), 0.0), 1.0)
        line[i, 0] = xy[at, 0] + share * (xy[at + 1, 0] - xy[at, 0])
        line[i, 1] = xy[at, 1] + share * (xy[at + 1, 1] - xy[at, 1])
        line[i, 4] = s
    for i in range(last + 1):
        before, after = max(i - 1, 0), min(i + 1, last)
        dx, dy = line[after, 0] - line[before, 0], line[after, 1] - line[before, 1]
        way = max(math.hypot(dx, dy), 1e-9)
        line[i, 2], line[i, 3] = dx / way, dy / way
    return line


def line_for(state: FloatArray, lanes: Sequence[FloatArray] = ()) -> FloatArray:
    """The line (P, 5) for two cars.

    With lanes, the center line that fits the first car best. Without, the path of the rear car, unless that turned more
    than the front one (a car that changes lanes must not be its own measure); the path of the front car also where the
    rear one drives on it, since then it covers the bend between the two.

    Args:
        state: (2, n, 5) x, y, heading, vx, vy of both cars, the contact last.
        lanes: center lines (P, 5), see :func:`center_lines`.
    """
    if lanes:
        return best_line(state[0], lanes)
    rear = 0 if _is_ahead(state) else 1
    front_turned, rear_turned = _turned(state[1 - rear]), _turned(state[rear])
    path = line_through(state[1 - rear, :, :2], float(state[1 - rear, -1, 2]))
    covers = path[-1, 4] >= math.hypot(*(state[1, 0, :2] - state[0, 0, :2]))
    if front_turned <= rear_turned + EQUAL_TURN_RAD and covers and _misfit(path, state[rear, -1:]) < ON_PATH_M:
        return path
    chosen = rear if rear_turned <= front_turned + EQUAL_TURN_RAD else 1 - rear
    return line_through(state[chosen, :, :2], float(state[chosen, -1, 2]))


def best_line(state: FloatArray, lanes: Sequence[FloatArray]) -> FloatArray:
    """The line that fits the states (n, 5) of one car best."""
    return lanes[0] if len(lanes) == 1 else min(lanes, key=lambda line: _misfit(line, state))


def center_lines(road: RoadLines, tracks: Tracks, car: int, first: int, last: int) -> list[FloatArray]:
    """Lines of a road that a car may be on."""
    if road is None:
        return []
    if isinstance(road, RoadTables):
        return _lines_of_tables(road)
    if isinstance(road, PreparedMap):
        return [
            line_through(road.center_of(chain).points, 0.0) for chain in lane_chains(road, tracks, car, first, last)
        ]
    return [points if points.shape[1] == LINE_COLUMNS else line_through(points[:, :2], 0.0) for points in road]


def _lines_of_tables(road: RoadTables) -> list[FloatArray]:
    """Rows of all ways as lines; they have equal spacing already."""
    lines: list[FloatArray] = []
    for first, count, step in zip(road.first.tolist(), road.num_rows.tolist(), road.step.tolist(), strict=True):
        arc = step * np.arange(count)
        lines.append(np.concatenate([road.path[first : first + count, :4], arc[:, None]], axis=1))
    return lines


def lane_chains(road: PreparedMap, tracks: Tracks, car: int, first: int, last: int) -> list[tuple[int, ...]]:
    """Lanes on which a car was, as chains of lanes that follow each other, continued by a successor."""
    seen = tracks.xy[car, first : last + 1 : EVERY], known_heading(tracks, car, first, last)[::EVERY]
    chains: list[list[int]] = []
    for lane in (int(number) for number in road.match(*seen).lane.tolist() if number >= 0):
        if chains and chains[-1][-1] == lane:
            continue
        if chains and lane in road.road.lanes[chains[-1][-1]].successors:
            chains[-1].append(lane)
        else:
            chains.append([lane])
    return [(*chain, *road.road.lanes[chain[-1]].successors[:1]) for chain in chains]


def known_heading(tracks: Tracks, car: int, first: int, last: int) -> FloatArray:
    """Headings between two instants; the direction of motion where the source gives none, 0 where it stands too."""
    heading = tracks.heading[car, first : last + 1]
    if not np.isnan(heading).any():
        return heading
    velocity = tracks.velocity[car, first : last + 1]
    return np.where(np.isnan(heading), elementary.arctan2(velocity[:, 1], velocity[:, 0]), heading)


def sizes_of(tracks: Tracks) -> FloatArray:
    """(A, 2) length and width [m], with the defaults of :func:`giveway.core.boxes.footprints` where none is given."""
    known: BoolArray = np.asarray((tracks.size > 0).all(axis=1))
    if known.all():
        return tracks.size
    default = np.where(np.isin(tracks.kind, VULNERABLE)[:, None], VULNERABLE_DIAMETER_M, VEHICLE_SIZE_M)
    return np.where(known[:, None], tracks.size, default)


def states_of(tracks: Tracks, rows: Sequence[int], first: int, last: int) -> FloatArray:
    """(N, n, 5) x, y, heading, vx, vy of some cars."""
    at = slice(first, last + 1)
    return np.stack(
        [
            np.concatenate(
                [tracks.xy[i, at], known_heading(tracks, i, first, last)[:, None], tracks.velocity[i, at]], axis=1
            )
            for i in rows
        ]
    )


@njit(cache=True, nogil=True)
def _turned(state: FloatArray) -> float:
    """How much a car turned, to either side, at half-second steps back from the contact [rad]."""
    total, k = 0.0, state.shape[0] - 1
    while k >= EVERY:
        turn = state[k, 2] - state[k - EVERY, 2]
        total += abs((turn + math.pi) % (2.0 * math.pi) - math.pi)
        k -= EVERY
    return total


@njit(cache=True, nogil=True)
def _is_ahead(state: FloatArray) -> bool:
    """Whether the second car is ahead of the first one at the first tick, seen along its heading."""
    dx, dy = state[1, 0, 0] - state[0, 0, 0], state[1, 0, 1] - state[0, 0, 1]
    return math.cos(state[0, 0, 2]) * dx + math.sin(state[0, 0, 2]) * dy >= 0.0


@njit(cache=True, nogil=True)
def _misfit(line: FloatArray, state: FloatArray) -> float:
    """Mean distance of a car from a line, with the difference in direction, at half-second steps [m]."""
    total, count = 0.0, 0
    for k in range(0, state.shape[0], EVERY):
        best, at = np.inf, 0
        for p in range(line.shape[0]):
            far = (line[p, 0] - state[k, 0]) ** 2 + (line[p, 1] - state[k, 1]) ** 2
            if far < best:
                best, at = far, p
        turn = state[k, 2] - math.atan2(line[at, 3], line[at, 2])
        total += math.sqrt(best) + TURN_M * abs((turn + math.pi) % (2.0 * math.pi) - math.pi)
        count += 1
    return total / count
