"""Which area the route of a car shares with that of another one, and how far both are from it."""

from __future__ import annotations

import numpy as np

from giveway.core.arrays import FloatArray, IntArray
from giveway.core.histories import VX, VY, Conflict
from giveway.roads.conflicts import APART_BEFORE_M, SHARED_M, first_shared
from giveway.sim.state import State, Static

BEHIND_M, AHEAD_M = 20, 60
"""Part of a route that is looked at, from the center of the car; one point per meter."""

SLOW_MPS = 0.1
"""Speed that a standing car is taken to have when arrivals are compared."""


def routes_and_conflicts(
    static: Static, state: State, column: int, case: IntArray, agent: IntArray, others: IntArray, past: IntArray
) -> tuple[FloatArray, Conflict]:
    """Routes of R cars and the nearest area ahead that each of them shares with another car present now.

    A car that is driven follows its path; the route of a car on replay is not known to anybody before it is driven, so
    it is a straight line along its heading. Of two cars the one without the right of way yields; where both or neither
    have it, the one that would arrive later at its current speed.

    Args:
        static: of the batch.
        state: of the batch.
        column: of the present instant in the time tables.
        case: (R,) of each car.
        agent: (R,) index of each car.
        others: (R, M) indices of the other cars, as in ``MotionInputs.others``.
        past: (R, H) columns of the instants of a history.

    Returns:
        (R, 61, 2) points of the routes from the cars on, in the coordinates of the simulator, and the conflicts.
    """
    count, instants = past.shape
    routes = np.empty((count, AHEAD_M + 1, 2))
    found = Conflict(
        other=np.full(count, -1, dtype=np.int64),
        own_m=np.full((count, instants), np.nan),
        other_m=np.full((count, instants), np.nan),
        own_length_m=np.full(count, np.nan),
        other_length_m=np.full(count, np.nan),
        yields=np.zeros(count, dtype=np.bool_),
    )
    for row in range(count):
        c, a = int(case[row]), int(agent[row])
        own = _route(static, state, column, c, a)
        routes[row] = own[BEHIND_M:]
        nearest = np.inf
        for slot, b in enumerate(others[row].tolist()):
            if not state.on[c, b, column]:
                continue
            rest = _route(static, state, column, c, b)
            start, start_other, end, end_other = first_shared(own, rest, SHARED_M)
            if start < APART_BEFORE_M or start_other < APART_BEFORE_M:
                continue
            fronts, lengths = [], []
            for who, first, last in ((a, start, end), (b, min(start_other, end_other), max(start_other, end_other))):
                fronts.append(first - BEHIND_M - 0.5 * float(static.size[c, who, 0]))
                lengths.append(float(last - first + 1))
            gone = [
                front + length + float(static.size[c, who, 0]) < 0.0
                for front, length, who in zip(fronts, lengths, (a, b), strict=True)
            ]
            if any(gone) or fronts[0] >= nearest:
                continue
            nearest = fronts[0]
            found.other[row] = slot
            for out, who, front in ((found.own_m, a, fronts[0]), (found.other_m, b, fronts[1])):
                out[row] = front + _driven_since(state.log[c, who], np.maximum(past[row], state.first[c, who]))
            found.own_length_m[row], found.other_length_m[row] = lengths
            found.yields[row] = _yields(static, state, column, c, a, b, fronts)
    return routes, found


def _route(static: Static, state: State, column: int, case: int, agent: int) -> FloatArray:
    """(81, 2) points one meter apart, the car at number 20."""
    at = np.arange(-BEHIND_M, AHEAD_M + 1.0)
    x, y, _, _, heading = state.log[case, agent, column]
    road, route = static.road, int(state.route[case, agent])
    if route < 0:
        return np.array([x, y]) + at[:, None] * np.array([np.cos(heading), np.sin(heading)])
    size, step = int(road.num_rows[route]), float(road.step[route])
    path = road.path[road.first[route] : road.first[route] + size]
    s = state.lane[case, agent, 0] + at
    end = (size - 1) * step
    inside = np.clip(s, 0.0, end) / step
    points = np.stack([np.interp(inside, np.arange(size), path[:, axis]) for axis in (0, 1)], axis=1)
    points += np.maximum(s - end, 0.0)[:, None] * path[-1, 2:4]
    points += np.minimum(s, 0.0)[:, None] * path[0, 2:4]
    return points


def _driven_since(log: FloatArray, columns: IntArray) -> FloatArray:
    """(H,) way driven from each of the columns to the last one [m]."""
    steps = np.hypot(*np.diff(log[columns, :2], axis=0).T)
    return np.concatenate([np.cumsum(steps[::-1])[::-1], [0.0]])


def _yields(static: Static, state: State, column: int, case: int, a: int, b: int, fronts: list[float]) -> bool:
    if static.favored[case, a] != static.favored[case, b]:
        return bool(static.favored[case, b])
    speeds = [float(np.hypot(*state.log[case, who, column, [VX, VY]])) for who in (a, b)]
    own, other = (front / max(speed, SLOW_MPS) for front, speed in zip(fronts, speeds, strict=True))
    return own > other
