"""What everybody will do if the ego keeps to its plan: the simulation itself, run ahead on a copy.

The plan of a driven car is not its future: a car that waits may plan, tick after tick, to set off in a second and not
do so. An ego that is told the plan waits for it, and it for the ego.
"""

from __future__ import annotations

import numpy as np

from giveway.core.arrays import AnyArray, BoolArray, FloatArray
from giveway.planning.idm import CLEAN, IdmParameters
from giveway.planning.profiles import DT_S, PLAN_STEPS, ProfileParameters
from giveway.sim.state import FUTURE, PAST, Decisions, DriverCode, Forecast, State, Static, copied
from giveway.sim.step import advance
from giveway.sim.traffic import Traffic, copied_traffic, react


def foresee(
    static: Static,
    state: State,
    decisions: Decisions,
    traffic: Traffic,
    tick: int,
    steps: int,
    wanted: BoolArray,
    *,
    idm: IdmParameters,
    profiles: ProfileParameters,
    nothing: Forecast,
) -> FloatArray:
    """Run ahead without changing the simulation.

    Every car that the compiled step knows decides as it always does, tick by tick. The ego and cars that are driven
    from outside drive the plan they made one tick ago and go on at its last speed; an ego on replay drives its
    recording.

    Args:
        static: of the simulation.
        state: its state now.
        decisions: what cars that are driven from outside were told last.
        traffic: what cars know about giving way and reacting.
        tick: now.
        steps: how far to look.
        wanted: (C,) cases of interest.
        idm: parameters of car-following cars.
        profiles: parameters of planning cars.
        nothing: an empty forecast, because the ego does not decide here.

    Returns:
        (C, A, steps, 5) x, y, vx, vy, heading at +0.1 s, ...; NaN where a car is absent, and in all other cases.
    """
    rows = np.arange(static.ego.size)
    window = slice(tick, tick + PAST + steps + 1 + FUTURE)
    driver = static.driver.copy()
    keeps_its_own = (DriverCode.REPLAY, DriverCode.ACTIONS)
    driver[rows, static.ego] = np.where(
        np.isin(driver[rows, static.ego], keeps_its_own), driver[rows, static.ego], DriverCode.EXTERNAL
    )
    ahead = static._replace(
        num_ticks=np.where(wanted, steps, 0),
        driver=driver,
        spawn_tick=static.spawn_tick - tick,
        start=static.start.copy(),
        start_lane=static.start_lane.copy(),
        start_route=static.start_route.copy(),
        start_row=static.start_row.copy(),
        rec=_columns(static.rec, window, np.nan),
        rec_on=_columns(static.rec_on, window, False),
    )
    rec_s = traffic.areas.rec_s
    reactions = copied_traffic(traffic, _columns(rec_s, window, np.nan) if traffic.reacts.any() else rec_s)
    copy = copied(
        state,
        tick=np.zeros_like(state.tick),
        log=_columns(state.log, window, np.nan),
        on=_columns(state.on, window, False),
        ego_plans=np.zeros((static.ego.size, 0, PLAN_STEPS)),
        ego_emergency=np.zeros((static.ego.size, 0), dtype=np.bool_),
    )
    told: Decisions = Decisions._make(values.copy() for values in decisions)
    copy.plan_s[0] = state.plan_s[tick % 2]
    told_what = driver == DriverCode.EXTERNAL  # keep to the plans made one tick ago
    plan = copy.plan_s[0][told_what]
    beyond = plan[:, -1:] + (plan[:, -1:] - plan[:, -2:-1]) * np.arange(1, steps + 2)
    way = np.concatenate([plan, beyond], axis=1)
    for k in range(steps):
        told.along_s[told_what] = way[:, k + 1 : k + 1 + PLAN_STEPS]
        told.speed[told_what] = np.maximum(way[:, k + 2] - way[:, k], 0.0) / (2 * DT_S)
        if traffic.reacts.any():
            react(ahead, copy, told, reactions, CLEAN, 0, static.ego.size)
        advance(ahead, copy, told, nothing, idm, profiles, 0, static.ego.size)
    after = slice(PAST + 1, PAST + 1 + steps)
    return np.where((copy.on & wanted[:, None, None])[:, :, after, None], copy.log[:, :, after], np.nan)


def _columns(values: AnyArray, window: slice, fill: float | bool) -> AnyArray:
    """Columns of (C, A, L, ...), padded at the end."""
    part = values[:, :, window]
    out = np.full((*part.shape[:2], window.stop - window.start, *part.shape[3:]), fill, dtype=values.dtype)
    out[:, :, : part.shape[2]] = part
    return out
