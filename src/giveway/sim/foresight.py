"""What everybody will do if the ego keeps to its plan: the simulation itself, run ahead on a copy.

The plan of a driven car is not its future: a car that waits may plan, tick after tick, to set off in a second and not
do so. An ego that is told the plan waits for it, and it for the ego.
"""

from __future__ import annotations

import numpy as np

from giveway.core.arrays import AnyArray, BoolArray, FloatArray
from giveway.planning.idm import IdmParameters
from giveway.planning.profiles import DT_S, PLAN_STEPS, ProfileParameters
from giveway.sim.arrays import FUTURE, PAST, Driver, Fixed, Forecast, Moving
from giveway.sim.step import advance


def foresee(
    fixed: Fixed,
    moving: Moving,
    tick: int,
    steps: int,
    wanted: BoolArray,
    *,
    idm: IdmParameters,
    profiles: ProfileParameters,
    nothing: Forecast,
) -> FloatArray:
    """Run ahead without changing the simulation.

    Every car but the ego decides as it always does, tick by tick. The ego drives the plan it made one tick ago and goes
    on at its last speed; an ego on replay drives its recording.

    Args:
        fixed: of the simulation.
        moving: its state now.
        tick: now.
        steps: how far to look.
        wanted: (C,) cases of interest.
        idm: parameters of car-following cars.
        profiles: parameters of planning cars.
        nothing: an empty forecast, because the ego does not decide here.

    Returns:
        (C, A, steps, 5) x, y, vx, vy, heading at +0.1 s, ...; NaN where a car is absent, and in all other cases.
    """
    rows = np.arange(fixed.ego.size)
    window = slice(tick, tick + PAST + steps + 1 + FUTURE)
    driver = fixed.driver.copy()
    keeps_its_own = (Driver.REPLAY, Driver.FREE)
    driver[rows, fixed.ego] = np.where(
        np.isin(driver[rows, fixed.ego], keeps_its_own), driver[rows, fixed.ego], Driver.EXTERNAL
    )
    ahead = fixed._replace(
        num_ticks=np.where(wanted, steps, 0),
        driver=driver,
        spawn_tick=fixed.spawn_tick - tick,
        rec=_columns(fixed.rec, window, np.nan),
        rec_on=_columns(fixed.rec_on, window, False),
    )
    copy = Moving(
        status=moving.status.copy(),
        first=moving.first.copy(),
        s=moving.s.copy(),
        accel=moving.accel.copy(),
        steer=moving.steer.copy(),
        log=_columns(moving.log, window, np.nan),
        on=_columns(moving.on, window, False),
        plan_s=moving.plan_s.copy(),
        delayed=moving.delayed.copy(),
        external_s=moving.external_s.copy(),
        external_v=moving.external_v.copy(),
        control=moving.control.copy(),
    )
    copy.plan_s[0] = moving.plan_s[tick % 2]
    plan = copy.plan_s[0, rows, fixed.ego]
    beyond = plan[:, -1:] + (plan[:, -1:] - plan[:, -2:-1]) * np.arange(1, steps + 2)
    way = np.concatenate([plan, beyond], axis=1)
    for k in range(steps):
        copy.external_s[rows, fixed.ego] = way[:, k + 1 : k + 1 + PLAN_STEPS]
        copy.external_v[rows, fixed.ego] = np.maximum(way[:, k + 2] - way[:, k], 0.0) / (2 * DT_S)
        advance(ahead, copy, nothing, k, idm, profiles, 0, fixed.ego.size)
    after = slice(PAST + 1, PAST + 1 + steps)
    return np.where((copy.on & wanted[:, None, None])[:, :, after, None], copy.log[:, :, after], np.nan)


def _columns(values: AnyArray, window: slice, fill: float | bool) -> AnyArray:
    """Columns of (C, A, L, ...), padded at the end."""
    part = values[:, :, window]
    out = np.full((*part.shape[:2], window.stop - window.start, *part.shape[3:]), fill, dtype=values.dtype)
    out[:, :, : part.shape[2]] = part
    return out
