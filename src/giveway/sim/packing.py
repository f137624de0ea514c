"""Many prepared cases side by side in padded arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from giveway.core.arrays import AnyArray, FloatArray, IntArray
from giveway.planning.occupancy import PATH_COLUMNS
from giveway.planning.paths import table_of
from giveway.planning.profiles import PLAN_STEPS
from giveway.sim.arrays import PAST, Driver, Fixed, Moving, Status
from giveway.sim.prepare import PreparedCase


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
    first, count, step, table = _pack_paths(cases, shape)
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
        path_first=first,
        path_size=count,
        path_step=step,
        path=table,
        rec=rec,
        rec_on=rec_on,
    )
    return fixed, _moving(fixed, columns)


def _pack_paths(
    cases: Sequence[PreparedCase], shape: tuple[int, int]
) -> tuple[IntArray, IntArray, FloatArray, FloatArray]:
    first = np.full(shape, -1, dtype=np.int64)
    count = np.zeros(shape, dtype=np.int64)
    step = np.ones(shape)
    found = [(c, i, path) for c, case in enumerate(cases) for i, path in enumerate(case.paths) if path is not None]
    start = 0
    for c, i, path in found:
        first[c, i], count[c, i], step[c, i] = start, path.x.size, path.step_m
        start += path.x.size

    tables = [table_of(path) for _, _, path in found]
    return first, count, step, np.concatenate([np.zeros((0, PATH_COLUMNS)), *tables])


def _moving(fixed: Fixed, columns: int) -> Moving:
    shape = fixed.driver.shape
    log = np.full((*shape, columns, 5), np.nan)
    on = np.zeros((*shape, columns), dtype=np.bool_)
    log[:, :, :PAST] = fixed.rec[:, :, :PAST]
    on[:, :, :PAST] = fixed.rec_on[:, :, :PAST]
    # Presence before the case counts only if it runs into tick 0 without a gap.
    alive = fixed.rec_on[:, :, PAST].copy()
    first = np.full(shape, PAST, dtype=np.int64)
    for column in range(PAST - 1, -1, -1):
        alive &= fixed.rec_on[:, :, column]
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
