"""Every car follows the lanes of the map and the car ahead of it.

At a fork each way is one mode, all equally likely. Off the map, or without one, the path is a straight line.
"""

from __future__ import annotations

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.histories import (
    FUTURE_STEPS,
    HEADING,
    STATE_SIZE,
    STEP_S,
    VX,
    VY,
    MotionInputs,
)
from giveway.core.kernels import njit
from giveway.core.lanes import LaneMap
from giveway.core.predictions import Trajectories
from giveway.planning.idm import IdmParameters, idm_acceleration
from giveway.planning.occupancy import lead_on_path
from giveway.predictors.acceptance import stack_rows
from giveway.predictors.base import Predictor
from giveway.roads.queries import PreparedMap, prepare
from giveway.roads.route_tables import coarse_points
from giveway.roads.routes import CarPath, path_through, table_of

LOOK_M = 60.0
"""How much road ahead is looked at."""

MAX_MODES = 3
SETTLE_S = 1.5
"""Time constant with which a car returns to the center of its lane."""

DESIRED_SPEED_MPS = 8.0


@njit(cache=True, nogil=True)
def _roll_out(
    table: FloatArray,
    step: float,
    s: float,
    offset: float,
    speed: float,
    desired: float,
    gap: float,
    lead_speed: float,
    parameters: IdmParameters,
    out: FloatArray,
) -> None:
    """Thirty steps along a path behind a lead car that keeps its speed; the lateral offset fades."""
    last = table.shape[0] - 1
    for k in range(FUTURE_STEPS):
        accel = idm_acceleration(speed, desired, gap, lead_speed, parameters)
        curve = table[min(max(int(s / step), 0), last), 5]
        accel = min(accel, max(curve - speed, -2.0))
        new = max(speed + accel * STEP_S, 0.0)
        way = 0.5 * (speed + new) * STEP_S
        s += way
        gap += lead_speed * STEP_S - way
        speed = new
        offset *= np.exp(-STEP_S / SETTLE_S)
        at = min(max(s / step, 0.0), last * 1.0)
        i = min(int(at), last - 1)
        beyond = max(s - last * step, 0.0)
        w = at - i
        heading = table[i, 4] + w * (table[i + 1, 4] - table[i, 4])
        cos, sin = np.cos(heading), np.sin(heading)
        out[k, 0] = table[i, 0] + w * (table[i + 1, 0] - table[i, 0]) - offset * sin + beyond * cos
        out[k, 1] = table[i, 1] + w * (table[i + 1, 1] - table[i, 1]) + offset * cos + beyond * sin
        out[k, 2] = speed * cos
        out[k, 3] = speed * sin
        out[k, 4] = heading


class IdmAlongPath(
    Predictor,
    name="idm_along_path",
    title="IDM along path",
    reads=("positions", "others", "map"),
    references=("Treiber, Hennecke, Helbing (2000), Physical Review E 62, 1805",),
):
    """Lane following by the intelligent driver model.

    Args:
        parameters: of the car-following model.
        desired_speed_mps: of every car; one that is faster now keeps its speed.
    """

    def __init__(self, parameters: IdmParameters | None = None, desired_speed_mps: float = DESIRED_SPEED_MPS) -> None:
        self._parameters = parameters or IdmParameters()
        self._desired = desired_speed_mps
        self._maps: dict[int, tuple[LaneMap, PreparedMap]] = {}
        self._routes: dict[tuple[int, int], list[CarPath]] = {}

    def predict(self, inputs: MotionInputs, rng: np.random.Generator) -> Trajectories:
        """One mode per way the lanes lead to, at most three."""
        current = inputs.history[:, -1]
        xy = current[:, :2] + inputs.origin_m
        lanes = np.full(inputs.num_requests, -1, dtype=np.int64)
        for key in sorted({id(road) for road in inputs.road if road is not None}):
            rows = np.array([i for i, road in enumerate(inputs.road) if id(road) == key])
            lanes[rows] = self._map(inputs.road[int(rows[0])]).match(xy[rows], current[rows, HEADING]).lane
        return stack_rows([self._row(inputs, i, int(lanes[i]), xy[i]) for i in range(inputs.num_requests)])

    def _row(self, inputs: MotionInputs, i: int, lane: int, xy: FloatArray) -> tuple[FloatArray, FloatArray]:
        current = inputs.history[i, -1]
        road = inputs.road[i]
        paths = self._ways(road, lane) if road is not None and lane >= 0 else [_straight(xy, current[HEADING])]
        present = ~np.isnan(inputs.others[i, :, -1, 0])
        seen = np.concatenate([current[None], inputs.others[i, present, -1]])
        states = np.stack(
            [
                seen[:, 0] + inputs.origin_m[0],
                seen[:, 1] + inputs.origin_m[1],
                np.hypot(seen[:, VX], seen[:, VY]),
                np.cos(seen[:, HEADING]),
                np.sin(seen[:, HEADING]),
            ],
            axis=1,
        )
        sizes = np.concatenate([inputs.size[i][None], inputs.others_size[i, present]])
        here = np.ones(len(states), dtype=np.bool_)
        modes = np.empty((len(paths), FUTURE_STEPS, STATE_SIZE))
        for mode, path in enumerate(paths):
            table = table_of(path)
            at = int(np.argmin((path.x - xy[0]) ** 2 + (path.y - xy[1]) ** 2))
            dx, dy = xy[0] - path.x[at], xy[1] - path.y[at]
            s = at * path.step_m + table[at, 2] * dx + table[at, 3] * dy
            gap, lead = lead_on_path(table, coarse_points(table), path.step_m, 0, s, states, here, sizes, LOOK_M, 0.2)
            speed = float(states[0, 2])
            offset = table[at, 2] * dy - table[at, 3] * dx
            desired = max(self._desired, speed)
            _roll_out(table, path.step_m, s, offset, speed, desired, gap, lead, self._parameters, modes[mode])
        modes[..., :2] -= inputs.origin_m
        return modes, np.full(len(paths), 1.0 / len(paths))

    def _map(self, road: LaneMap | None) -> PreparedMap:
        assert road is not None
        if id(road) not in self._maps:
            self._maps[id(road)] = (road, prepare(road))
        return self._maps[id(road)][1]

    def _ways(self, road: LaneMap, lane: int) -> list[CarPath]:
        key = (id(road), lane)
        if key not in self._routes:
            prepared = self._map(road)
            routes = [
                route for route, _ in zip(prepared.routes_from(lane, length_m=LOOK_M), range(MAX_MODES), strict=False)
            ]
            self._routes[key] = [path_through(prepared.center_of(route).resample(1.0).points, 0.0) for route in routes]
        return self._routes[key]


def _straight(xy: FloatArray, heading: float) -> CarPath:
    way = np.arange(0.0, LOOK_M, 5.0)[:, None] * np.array([np.cos(heading), np.sin(heading)])
    return path_through(xy + way, float(heading))
