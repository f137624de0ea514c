"""Many prepared cases side by side in padded arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from giveway.core.arrays import AnyArray, BoolArray, IntArray
from giveway.core.boxes import VULNERABLE
from giveway.planning.right_of_way import SLOWEST_DESIRED_MPS
from giveway.roads.priority import RoadRules, rules_of
from giveway.roads.queries import prepare as prepare_map
from giveway.roads.route_lines import arc_lengths
from giveway.roads.route_tables import paths_meet
from giveway.roads.routes import CarPath
from giveway.roads.tables import RoadTables, tables_of_routes
from giveway.sim.area_tables import no_shared, pack_areas, shared_areas
from giveway.sim.bicycle import MotionBounds
from giveway.sim.prepare import PreparedCase
from giveway.sim.state import PAST, DriverCode, Static
from giveway.sim.traffic import Traffic, no_traffic, traffic_of

SIDE_ROOM_M = 0.5
"""No planner leaves more room at its sides than this."""
BEND_M = 0.5
"""Added to the distance at which paths meet: coarse points cut corners."""


STUB_M = 4.0
"""A replay car with a shorter path stands: it would leave its path at once if it were driven."""


def pack(cases: Sequence[PreparedCase], bounds: MotionBounds | None = None) -> tuple[Static, Traffic, int]:
    """Arrays for a batch, one world per case, its traffic, and how many columns its log needs."""
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
    road, route, replay_route = _pack_routes(cases, shape)
    desired, slows = padded("desired_speed", 1.0, np.float64), np.zeros(shape, dtype=np.bool_)
    for c, case in enumerate(cases):
        if case.reacts:
            fastest = np.nanmax(np.where(rec_on[c], np.hypot(rec[c, ..., 2], rec[c, ..., 3]), 0.0), axis=1)
            replayed = replay_route[c] >= 0
            desired[c] = np.where(replayed, np.maximum(fastest, SLOWEST_DESIRED_MPS), desired[c])
            slows[c] = True
            slows[c, case.ego] = False
    start_lane = np.zeros((*shape, 3))
    start_lane[..., 0] = padded("start_s", 0.0, np.float64)
    step = np.where(route >= 0, road.step[route], 1.0) if road.step.size else np.ones(shape)
    static = Static(
        num_agents=np.array([len(case.ids) for case in cases], dtype=np.int64),
        num_ticks=np.array([case.case.num_ticks for case in cases], dtype=np.int64),
        ego=np.array([case.ego for case in cases], dtype=np.int64),
        driver=padded("driver", int(DriverCode.REPLAY), np.int64),
        size=padded("size", 1.0, np.float64, (2,)),
        desired_speed=desired,
        hidden=padded("hidden", False, np.bool_),
        favored=padded("favored", False, np.bool_),
        slows=slows,
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
    return static, _pack_traffic(cases, static, replay_route), columns


def _can_react(case: PreparedCase) -> bool:
    """Whether a rule of reacting traffic can ever apply: an IDM car, or a replay car that a driven one may disturb."""
    replayed = case.driver == DriverCode.REPLAY
    return bool((case.driver == DriverCode.IDM).any() or (replayed.any() and not replayed.all()))


def _pack_traffic(cases: Sequence[PreparedCase], static: Static, replay_route: IntArray) -> Traffic:
    """What cars know about giving way and reacting."""
    worlds, agents, columns = static.rec_on.shape
    reacts = np.array([case.reacts and _can_react(case) for case in cases])
    if not reacts.any():
        return no_traffic(worlds, agents)
    rec_s = np.full((worlds, agents, columns), np.nan)
    may_react = np.zeros((worlds, agents), dtype=np.bool_)
    rules: dict[int, RoadRules] = {}
    shared = [no_shared(len(case.ids)) for case in cases]
    for c in np.flatnonzero(reacts).tolist():
        case = cases[c]
        walks = np.isin(case.kind, VULNERABLE)
        if case.road is not None and id(case.road) not in rules:
            rules[id(case.road)] = rules_of(prepare_map(case.road))
        paths = [own or recorded for own, recorded in zip(case.paths, case.replay_paths, strict=True)]
        shared[c] = shared_areas(paths, case.size, case.ids, walks, rules.get(id(case.road)))
        for i, path in enumerate(case.replay_paths):
            if path is not None:
                rec_s[c, i] = arc_lengths(path, static.rec[c, i, :, :2])
                may_react[c, i] = not walks[i] and path.length_m >= STUB_M
    return traffic_of(reacts, pack_areas(shared, agents, rec_s), replay_route, may_react)


def _pack_routes(cases: Sequence[PreparedCase], shape: tuple[int, int]) -> tuple[RoadTables, IntArray, IntArray]:
    """Tables of all paths, each once, (C, A) which one a car follows, and which one a replay car does once driven."""
    route, replayed = np.full(shape, -1, dtype=np.int64), np.full(shape, -1, dtype=np.int64)
    number: dict[int, int] = {}
    paths: list[CarPath] = []
    for c, case in enumerate(cases):
        for out, found in ((route, case.paths), (replayed, case.replay_paths)):
            for i, path in enumerate(found):
                if path is None:
                    continue
                if id(path) not in number:
                    number[id(path)] = len(paths)
                    paths.append(path)
                out[c, i] = number[id(path)]
    return tables_of_routes(paths), route, replayed


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
