"""Many prepared cases side by side in padded arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from giveway.core.arrays import AnyArray, BoolArray, IntArray
from giveway.roads.route_tables import paths_meet
from giveway.roads.routes import CarPath
from giveway.roads.tables import RoadTables, tables_of_routes
from giveway.sim.bicycle import MotionBounds
from giveway.sim.prepare import PreparedCase
from giveway.sim.state import PAST, DriverCode, Static

SIDE_ROOM_M = 0.5
"""No planner leaves more room at its sides than this."""
BEND_M = 0.5
"""Added to the distance at which paths meet: coarse points cut corners."""


def pack(cases: Sequence[PreparedCase], bounds: MotionBounds | None = None) -> tuple[Static, int]:
    """Arrays for a batch, one world per case, and how many columns its log needs."""
    num_cases = len(cases)
    agents = max(len(case.ids) for case in cases)
    columns = max(case.rec.shape[1] for case in cases)
    shape = (num_cases, agents)

    def padded(name: str, fill: float | bool | int, dtype: type, tail: tuple[int, ...] = ()) -> AnyArray:
        out = np.full((*shape, *tail), fill, dtype=dtype)
        for c, case in enumerate(cases):
            values = getattr(case, name)
            out[c, : values.shape[0]] = values
        return out

    rec = np.full((*shape, columns, 5), np.nan)
    rec_on = np.zeros((*shape, columns), dtype=np.bool_)
    for c, case in enumerate(cases):
        rec[c, : len(case.ids), : case.rec.shape[1]] = case.rec
        rec_on[c, : len(case.ids), : case.rec.shape[1]] = case.rec_on
    road, route = _pack_routes(cases, shape)
    start_lane = np.zeros((*shape, 3))
    start_lane[..., 0] = padded("start_s", 0.0, np.float64)
    step = np.where(route >= 0, road.step[route], 1.0) if road.step.size else np.ones(shape)
    static = Static(
        num_agents=np.array([len(case.ids) for case in cases], dtype=np.int64),
        num_ticks=np.array([case.case.num_ticks for case in cases], dtype=np.int64),
        ego=np.array([case.ego for case in cases], dtype=np.int64),
        driver=padded("driver", int(DriverCode.REPLAY), np.int64),
        size=padded("size", 1.0, np.float64, (2,)),
        desired_speed=padded("desired_speed", 1.0, np.float64),
        hidden=padded("hidden", False, np.bool_),
        favored=padded("favored", False, np.bool_),
        slows=np.zeros(shape, dtype=np.bool_),
        foresees=np.ones(num_cases, dtype=np.bool_),
        spawn_tick=padded("spawn_tick", 0, np.int64),
        start=padded("start", 0.0, np.float64, (4,)),
        start_lane=start_lane,
        start_steer=np.zeros(shape),
        start_route=route,
        start_row=(start_lane[..., 0] / step + 0.5).astype(np.int64),
        meets=_meets(cases, road, route),
        rec=rec,
        rec_on=rec_on,
        past=padded("past", np.nan, np.float64, (PAST, 5)),
        past_on=padded("past_on", False, np.bool_, (PAST,)),
        bounds=bounds or MotionBounds(),
        road=road,
    )
    return static, columns


def _pack_routes(cases: Sequence[PreparedCase], shape: tuple[int, int]) -> tuple[RoadTables, IntArray]:
    """Tables of all paths, each once, and (C, A) which one a car follows; -1 without one."""
    route = np.full(shape, -1, dtype=np.int64)
    number: dict[int, int] = {}
    paths: list[CarPath] = []
    for c, case in enumerate(cases):
        for i, path in enumerate(case.paths):
            if path is None:
                continue
            if id(path) not in number:
                number[id(path)] = len(paths)
                paths.append(path)
            route[c, i] = number[id(path)]
    return tables_of_routes(paths), route


def _meets(cases: Sequence[PreparedCase], road: RoadTables, route: IntArray) -> BoolArray:
    """(C, A, A) for planning cars; True for everybody else and for cars without a path."""
    meets = np.ones((*route.shape, route.shape[1]), dtype=np.bool_)
    chains = [road.coarse[a : a + n] for a, n in zip(road.coarse_first, road.coarse_count, strict=True)]
    for c, case in enumerate(cases):
        for i in np.flatnonzero(np.isin(case.driver, (DriverCode.PLANNER, DriverCode.EXTERNAL))).tolist():
            for j, path in enumerate(case.paths):
                if path is not None and j != i:
                    length, width = 0.5 * case.size[j]
                    room = 0.5 * case.size[i, 1] + SIDE_ROOM_M + BEND_M
                    meets[c, i, j] = paths_meet(chains[route[c, i]], chains[route[c, j]], length, width, room)
    return meets
