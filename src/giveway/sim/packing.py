"""Many prepared cases side by side in padded arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from giveway.core.arrays import AnyArray, BoolArray, FloatArray
from giveway.planning.profiles import PLAN_STEPS
from giveway.roads.route_tables import COARSE_COLUMNS, PATH_COLUMNS, coarse_points, paths_meet, sketch_of
from giveway.roads.routes import table_of
from giveway.sim.arrays import PAST, Driver, Fixed, Moving, Status
from giveway.sim.prepare import PreparedCase

FIRST = ("path_first", "coarse_first", "sketch_first")
SIZE = ("path_size", "coarse_size", "sketch_size")
SIDE_ROOM_M = 0.5
"""No planner leaves more room at its sides than this."""
BEND_M = 0.5
"""Added to the distance at which paths meet: coarse points cut corners."""


def pack(cases: Sequence[PreparedCase]) -> tuple[Fixed, Moving]:
    """Arrays for a batch, before tick 0: histories are loaded, nobody has appeared yet."""
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
    paths = _pack_paths(cases, shape)
    fixed = Fixed(
        num_agents=np.array([len(case.ids) for case in cases], dtype=np.int64),
        num_ticks=np.array([case.case.num_ticks for case in cases], dtype=np.int64),
        ego=np.array([case.ego for case in cases], dtype=np.int64),
        driver=padded("driver", int(Driver.REPLAY), np.int64),
        size=padded("size", 1.0, np.float64, (2,)),
        desired_speed=padded("desired_speed", 1.0, np.float64),
        hidden=padded("hidden", False, np.bool_),
        favored=padded("favored", False, np.bool_),
        spawn_tick=padded("spawn_tick", 0, np.int64),
        start=padded("start", 0.0, np.float64, (4,)),
        start_s=padded("start_s", 0.0, np.float64),
        meets=_meets(cases, paths, shape),
        **paths,
        rec=rec,
        rec_on=rec_on,
    )
    past = padded("past", np.nan, np.float64, (PAST, 5)), padded("past_on", False, np.bool_, (PAST,))
    return fixed, _moving(fixed, columns, *past)


def _pack_paths(cases: Sequence[PreparedCase], shape: tuple[int, int]) -> dict[str, Any]:
    """Tables, coarse points and sketches of all paths, each one after the other, and where each path's part begins."""
    out: dict[str, Any] = {name: np.full(shape, -1, dtype=np.int64) for name in FIRST}
    out |= {name: np.zeros(shape, dtype=np.int64) for name in SIZE}
    out["path_step"] = np.ones(shape)
    parts: tuple[list[FloatArray], ...] = (
        [np.zeros((0, PATH_COLUMNS))],
        [np.zeros((0, COARSE_COLUMNS))],
        [np.zeros((0, 4))],
    )
    known: dict[int, tuple[FloatArray, FloatArray, FloatArray]] = {}
    begin = [0, 0, 0]
    for c, case in enumerate(cases):
        for i, path in enumerate(case.paths):
            if path is None:
                continue
            if id(path) not in known:
                table = table_of(path)
                known[id(path)] = table, coarse_points(table), sketch_of(table)
            out["path_step"][c, i] = path.step_m
            for kind, part in enumerate(known[id(path)]):
                out[FIRST[kind]][c, i] = begin[kind]
                out[SIZE[kind]][c, i] = part.shape[0]
                parts[kind].append(part)
                begin[kind] += part.shape[0]
    return out | {name: np.concatenate(parts[kind]) for kind, name in enumerate(("path", "coarse", "sketch"))}


def _meets(cases: Sequence[PreparedCase], paths: dict[str, Any], shape: tuple[int, int]) -> BoolArray:
    """(C, A, A) for planning cars; True for everybody else and for cars without a path."""
    meets = np.ones((*shape, shape[1]), dtype=np.bool_)
    for c, case in enumerate(cases):
        chains = [
            paths["coarse"][first : first + size]
            for first, size in zip(paths["coarse_first"][c], paths["coarse_size"][c], strict=True)
        ]
        for i in np.flatnonzero((case.driver == Driver.PLANNER) | (case.driver == Driver.EXTERNAL)).tolist():
            for j, path in enumerate(case.paths):
                if path is not None and j != i:
                    length, width = 0.5 * case.size[j]
                    room = 0.5 * case.size[i, 1] + SIDE_ROOM_M + BEND_M
                    meets[c, i, j] = paths_meet(chains[i], chains[j], length, width, room)
    return meets


def _moving(fixed: Fixed, columns: int, past: FloatArray, past_on: BoolArray) -> Moving:
    shape = fixed.driver.shape
    log = np.full((*shape, columns, 5), np.nan)
    on = np.zeros((*shape, columns), dtype=np.bool_)
    log[:, :, :PAST] = past
    on[:, :, :PAST] = past_on
    # Presence before the case counts only if it runs into tick 0 without a gap.
    alive = np.where(fixed.driver == Driver.REPLAY, fixed.rec_on[:, :, PAST], fixed.spawn_tick == 0)
    first = np.full(shape, PAST, dtype=np.int64)
    for column in range(PAST - 1, -1, -1):
        alive &= past_on[:, :, column]
        first = np.where(alive, column, first)
    status = np.where(fixed.rec_on[:, :, PAST] & (fixed.driver == Driver.REPLAY), Status.PRESENT, Status.WAITING)
    return Moving(
        status=status.astype(np.int64),
        first=first,
        s=fixed.start_s.copy(),
        accel=np.zeros(shape),
        steer=np.zeros(shape),
        log=log,
        on=on,
        plan_s=np.zeros((2, *shape, PLAN_STEPS)),
        delayed=np.zeros(shape, dtype=np.int64),
        external_s=np.zeros((*shape, PLAN_STEPS)),
        external_v=np.zeros(shape),
        control=np.zeros((*shape, 2)),
    )
