"""What a learning ego sees, in its own coordinates: x ahead, y to the left, origin in the center of its box."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray, IntArray
from giveway.core.case import TICK_S
from giveway.core.kernels import njit
from giveway.planning import features, occupancy
from giveway.planning.features import NUM_FEATURES, turn_rate, write_features
from giveway.sim import motion
from giveway.sim.bicycle import ACCEL, HEADING, SPEED, X, Y
from giveway.sim.compiling import compiled
from giveway.sim.motion import look_up
from giveway.sim.state import PAST, State, Static

PATH_POINTS, PATH_SPACING_M = 40, 2.0
"""The route is seen for 78 m ahead, a point each 2 m."""

NUM_OTHERS = 16
"""Cars that are seen, nearest first."""

NUM_AREAS = 8
"""Conflict areas that are seen, nearest first."""

MIN_SPEED_MPS = 0.5
"""A slower car is taken to arrive with this speed."""

LATEST_S = 60.0
"""Later arrivals are shown as this."""

PART_BOUNDS: dict[str, tuple[list[float], list[float]]] = {
    "ego": ([-1e4, 0.0, -30.0, 0.0, -1e4], [1e4, 100.0, 30.0, 100.0, 1e4]),
    "path": ([-1e3, -1e3, -math.pi, 0.0], [1e3, 1e3, math.pi, 100.0]),
    "others": ([-1e4, -1e4, -1.0, -1.0, 0.0, 0.0, 0.0, -1.0, 0.0], [1e4, 1e4, 1.0, 1.0, 100.0, 100.0, 10.0, 1.0, 1.0]),
    "areas": ([-1e3, 0.0, 0.0, 0.0, -1.0], [1e3, 1e3, LATEST_S, LATEST_S, 1.0]),
}
"""Lowest and highest value of each column; what is beyond is shown as the bound.

- ``ego``: s, speed, acceleration, cruising speed, way that remains.
- ``path``: x, y, heading, reference speed of points of the route.
- ``others``: x, y, cosine and sine of the heading, speed, length, width, priority, 1.
- ``areas``: way of the own front to the area, length of the area on the own route, arrival of the other car's front at
  it and departure of its rear [s from now], priority.

Priority is 1 where the own car goes first, -1 where the other one does, 0 where neither has it. Rows without a car or
area are 0.
"""

PART_ROWS = {"ego": 0, "path": PATH_POINTS, "others": NUM_OTHERS, "areas": NUM_AREAS}
"""Rows of each part; 0: a single row."""


ObservationKind = Literal["parts", "features"]
"""``parts`` as above, or ``features``: the numbers that learned planners see, :mod:`giveway.planning.features`."""


def empty_observation(worlds: int, kind: ObservationKind = "parts") -> dict[str, Any]:
    """Arrays of float32 for ``worlds`` observations."""
    if kind == "features":
        return {"features": np.zeros((worlds, NUM_FEATURES), "f4")}
    return {
        name: np.zeros((worlds, rows, len(PART_BOUNDS[name][0])) if rows else (worlds, len(PART_BOUNDS[name][0])), "f4")
        for name, rows in PART_ROWS.items()
    }


def clip_observation(parts: dict[str, Any]) -> None:
    """Bring every value within its bounds, in place."""
    for name, (low, high) in PART_BOUNDS.items():
        np.clip(parts[name], np.array(low, "f4"), np.array(high, "f4"), out=parts[name])


@njit(cache=True, nogil=True)
def observe_path(path: FloatArray, step: float, s: float, x: float, y: float, heading: float, out: Any) -> None:
    """Write (40, 4) the route from the foot point on; straight on beyond its end."""
    cos, sin = math.cos(heading), math.sin(heading)
    end = (path.shape[0] - 1) * step
    for k in range(PATH_POINTS):
        at = s + PATH_SPACING_M * k
        px, py, direction = look_up(path, step, at)
        over = max(at - end, 0.0)
        dx, dy = px + over * math.cos(direction) - x, py + over * math.sin(direction) - y
        turn = direction - heading
        out[k, 0] = cos * dx + sin * dy
        out[k, 1] = cos * dy - sin * dx
        out[k, 2] = math.atan2(math.sin(turn), math.cos(turn))
        out[k, 3] = path[min(max(int(at / step), 0), path.shape[0] - 1), 5]


@njit(cache=True, nogil=True)
def observe_others(
    own: int, heading: float, states: FloatArray, present: BoolArray, sizes: FloatArray, priority: IntArray, out: Any
) -> None:
    """Write (16, 9) the nearest cars.

    Args:
        own: row of the own car.
        heading: of the own car [rad].
        states: (A, 5) x, y, speed, cosine and sine of the heading.
        present: (A,) who is there and visible.
        sizes: (A, 2) length and width.
        priority: (A,) 1, 0 or -1.
        out: written.
    """
    cos, sin = math.cos(heading), math.sin(heading)
    x, y = states[own, 0], states[own, 1]
    away = np.empty(states.shape[0])
    for j in range(states.shape[0]):
        away[j] = (states[j, 0] - x) ** 2 + (states[j, 1] - y) ** 2 if present[j] and j != own else np.inf
    out[:, :] = 0.0
    order = np.argsort(away, kind="mergesort")
    for row in range(min(NUM_OTHERS, order.size)):
        j = order[row]
        if away[j] == np.inf:
            break
        dx, dy = states[j, 0] - x, states[j, 1] - y
        out[row, 0] = cos * dx + sin * dy
        out[row, 1] = cos * dy - sin * dx
        out[row, 2] = cos * states[j, 3] + sin * states[j, 4]
        out[row, 3] = cos * states[j, 4] - sin * states[j, 3]
        out[row, 4] = states[j, 2]
        out[row, 5] = sizes[j, 0]
        out[row, 6] = sizes[j, 1]
        out[row, 7] = priority[j]
        out[row, 8] = 1.0


@njit(cache=True, nogil=True)
def observe_areas(
    own: int, areas: FloatArray, s: FloatArray, speeds: FloatArray, present: BoolArray, sizes: FloatArray, out: Any
) -> None:
    """Write (8, 5) the nearest areas that neither car has left.

    Args:
        own: row of the own car.
        areas: (N, 6) the other car, begin and end on the own route, begin and end on the other's, priority.
        s: (A,) arc length of each car on its route.
        speeds: (A,) of the cars.
        present: (A,) who is there and visible.
        sizes: (A, 2) length and width.
        out: written.
    """
    front = s[own] + 0.5 * sizes[own, 0]
    near = np.full(areas.shape[0], np.inf)
    for n in range(areas.shape[0]):
        j = int(areas[n, 0])
        own_left = s[own] - 0.5 * sizes[own, 0] > areas[n, 2]
        other_left = s[j] - 0.5 * sizes[j, 0] > areas[n, 4]
        if present[j] and not own_left and not other_left:
            near[n] = areas[n, 1] - front
    out[:, :] = 0.0
    order = np.argsort(near, kind="mergesort")
    for row in range(min(NUM_AREAS, order.size)):
        n = order[row]
        if near[n] == np.inf:
            break
        j = int(areas[n, 0])
        speed = max(speeds[j], MIN_SPEED_MPS)
        out[row, 0] = near[n]
        out[row, 1] = areas[n, 2] - areas[n, 1]
        out[row, 2] = min(max((areas[n, 3] - s[j] - 0.5 * sizes[j, 0]) / speed, 0.0), LATEST_S)
        out[row, 3] = min(max((areas[n, 4] - s[j] + 0.5 * sizes[j, 0]) / speed, 0.0), LATEST_S)
        out[row, 4] = areas[n, 5]


@compiled(motion)
def observe_worlds(
    static: Static,
    state: State,
    worlds: BoolArray,
    expected: FloatArray,
    priority: IntArray,
    areas: FloatArray,
    num_areas: IntArray,
    ego_out: Any,
    path_out: Any,
    others_out: Any,
    areas_out: Any,
) -> None:
    """Write what the egos of the marked worlds see.

    Args:
        static: of the batch.
        state: of the batch.
        worlds: (W,) whose observation is wanted.
        expected: (W,) progress of the recorded humans [m].
        priority: (W, A) 1, 0 or -1, see :func:`observe_others`.
        areas: (W, N, 6) see :func:`observe_areas`.
        num_areas: (W,) how many of them there are.
        ego_out: (W, 5) written.
        path_out: (W, 40, 4) written.
        others_out: (W, 16, 9) written.
        areas_out: (W, 8, 5) written.
    """
    road = static.road
    looks, visible = np.empty((static.driver.shape[1], 5)), np.empty(static.driver.shape[1], dtype=np.bool_)
    for w in range(worlds.size):
        if not worlds[w]:
            continue
        n, ego = static.num_agents[w], static.ego[w]
        for i in range(n):
            car = state.car[w, i]
            looks[i, 0], looks[i, 1], looks[i, 2] = car[X], car[Y], car[SPEED]
            looks[i, 3], looks[i, 4] = math.cos(car[HEADING]), math.sin(car[HEADING])
            visible[i] = state.present[w, i] and not static.hidden[w, i]
        own, s = state.car[w, ego], state.lane[w, ego, 0]
        progress = s - static.start_lane[w, ego, 0]
        ego_out[w, 0] = progress
        ego_out[w, 1] = own[SPEED]
        ego_out[w, 2] = own[ACCEL]
        ego_out[w, 3] = static.desired_speed[w, ego]
        ego_out[w, 4] = expected[w] - progress
        route = state.route[w, ego] if state.route[w, ego] >= 0 else static.start_route[w, ego]
        first = road.first[route]
        path = road.path[first : first + road.num_rows[route]]
        observe_path(path, road.step[route], s, own[X], own[Y], own[HEADING], path_out[w])
        observe_others(ego, own[HEADING], looks[:n], visible[:n], static.size[w], priority[w], others_out[w])
        near = areas[w, : num_areas[w]]
        observe_areas(ego, near, state.lane[w, :, 0], looks[:n, 2], visible[:n], static.size[w], areas_out[w])


@compiled(motion, features, occupancy)
def observe_features(static: Static, state: State, worlds: BoolArray, out: Any) -> None:
    """Write (W, F) what learned planners of the egos of the marked worlds see."""
    road, most, columns = static.road, static.driver.shape[1], state.log.shape[2]
    looks, visible = np.empty((most, 5)), np.empty(most, dtype=np.bool_)
    yields_to, turn = np.empty(most, dtype=np.bool_), np.empty(most)
    for w in range(worlds.size):
        if not worlds[w]:
            continue
        n, ego = static.num_agents[w], static.ego[w]
        now, before = (PAST + state.tick[w]) % columns, (PAST + state.tick[w] - 1) % columns
        for i in range(n):
            car = state.car[w, i]
            looks[i, 0], looks[i, 1], looks[i, 2] = car[X], car[Y], car[SPEED]
            looks[i, 3], looks[i, 4] = math.cos(car[HEADING]), math.sin(car[HEADING])
            visible[i] = state.present[w, i] and not static.hidden[w, i]
            yields_to[i] = static.favored[w, i] and not static.favored[w, ego]
            known = state.on[w, i, now] and state.on[w, i, before] and not static.hidden[w, i]
            turn[i] = turn_rate(state.log[w, i, before, 4], state.log[w, i, now, 4], TICK_S) if known else 0.0
        route = state.route[w, ego] if state.route[w, ego] >= 0 else static.start_route[w, ego]
        first, coarse_first = road.first[route], road.coarse_first[route]
        write_features(
            road.path[first : first + road.num_rows[route]],
            road.coarse[coarse_first : coarse_first + road.coarse_count[route]],
            road.step[route],
            state.lane[w, ego, 0],
            state.car[w, ego, SPEED],
            state.car[w, ego, ACCEL],
            static.desired_speed[w, ego],
            ego,
            looks[:n],
            visible[:n],
            static.size[w, :n],
            yields_to[:n],
            turn[:n],
            out[w],
        )
