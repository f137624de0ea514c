"""What a planning car sees: where everybody else will be, one row per car and mode."""

from __future__ import annotations

import math

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray, IntArray
from giveway.core.histories import FUTURE_STEPS
from giveway.core.kernels import njit
from giveway.planning.profiles import (
    CHECK_EVERY,
    CHECK_STEPS,
    DT_S,
    PLAN_STEPS,
    ROW_CAR,
    ROW_COURTESY,
    ROW_LENGTH,
    ROW_PROBABILITY,
    ROW_WIDTH,
)
from giveway.roads.route_tables import SKETCH
from giveway.sim.state import DriverCode

REPLAY = int(DriverCode.REPLAY)

ORIGIN_M = 1000.0
"""What predictors see positions without, along x and y."""


@njit(cache=True, nogil=True)
def straight_on(state: FloatArray, out: FloatArray) -> None:
    """Constant velocity at +0.2 s, +0.4 s, ...

    To the bit what :func:`predicted` makes of a predictor's constant velocity, which sees positions without the origin
    and ends after 3 s: the gap that a planner aims at depends on the last bit, and failures must happen again.
    """
    cos, sin = math.cos(state[4]), math.sin(state[4])
    for axis in range(2):
        start, speed, origin = state[axis] - ORIGIN_M, state[2 + axis], ORIGIN_M
        end = (start + FUTURE_STEPS * DT_S * speed) + origin
        last = end - ((start + (FUTURE_STEPS - 1) * DT_S * speed) + origin)
        for h in range(CHECK_STEPS):
            k = CHECK_EVERY * (h + 1)
            beyond = max(k - FUTURE_STEPS, 0)
            out[h, axis] = end + beyond * last if beyond > 0 else (start + k * DT_S * speed) + origin
    for h in range(CHECK_STEPS):
        out[h, 2] = cos
        out[h, 3] = sin


@njit(cache=True, nogil=True)
def all_straight_on(states: FloatArray, out: FloatArray) -> None:
    """Constant velocity of all cars of all worlds: (W, A, 5) states as in logs to (W, A, 25, 4)."""
    for w in range(states.shape[0]):
        for i in range(states.shape[1]):
            straight_on(states[w, i], out[w, i])


@njit(cache=True, nogil=True)
def recorded(rec: FloatArray, rec_on: BoolArray, column: int, out: FloatArray) -> None:
    """The recorded future; NaN where the recording does not show the car."""
    for h in range(CHECK_STEPS):
        k = column + CHECK_EVERY * (h + 1)
        if not rec_on[k]:
            out[h, 0] = np.nan
            continue
        out[h, 0] = rec[k, 0]
        out[h, 1] = rec[k, 1]
        out[h, 2] = math.cos(rec[k, 4])
        out[h, 3] = math.sin(rec[k, 4])


@njit(cache=True, nogil=True)
def planned(sketch: FloatArray, step: float, plan: FloatArray, out: FloatArray) -> None:
    """The plan made one tick ago: its entry k is at +0.1 k s from now; beyond its end it goes on as in its last
    step.
    """
    last = PLAN_STEPS - 1
    for h in range(CHECK_STEPS):
        k = CHECK_EVERY * (h + 1)
        s = plan[min(k, last)] + max(k - last, 0) * (plan[last] - plan[last - 1])
        at = min(max(s / step, 0.0), sketch.shape[0] - 1.0)
        i = max(min(int(at), sketch.shape[0] - 2), 0)
        w = at - i
        for column in range(4):  # x, y, cosine and sine, interpolated alike
            out[h, column] = sketch[i, column] + w * (sketch[i + 1, column] - sketch[i, column])


@njit(cache=True, nogil=True)
def predicted(states: FloatArray, out: FloatArray) -> None:
    """A predicted mode (30, 3) at +0.2 s, ...; beyond its end it goes on as in its last step."""
    last = states.shape[0] - 1
    dx = states[last, 0] - states[last - 1, 0]
    dy = states[last, 1] - states[last - 1, 1]
    for h in range(CHECK_STEPS):
        k = CHECK_EVERY * (h + 1) - 1
        beyond = max(k - last, 0)
        k = min(k, last)
        out[h, 0] = states[k, 0] + beyond * dx
        out[h, 1] = states[k, 1] + beyond * dy
        out[h, 2] = math.cos(states[k, 2])
        out[h, 3] = math.sin(states[k, 2])


@njit(cache=True, nogil=True)
def gather_rows(
    i: int,
    agents: int,
    recorded_column: int,
    column: int,
    is_ego: bool,
    foresees: bool,
    now: FloatArray,
    log: FloatArray,
    present: BoolArray,
    driver: IntArray,
    free: BoolArray,
    size: FloatArray,
    hidden: BoolArray,
    favored: BoolArray,
    meets: BoolArray,
    sketches: FloatArray,
    sketch_first: IntArray,
    sketch_count: IntArray,
    route_step: FloatArray,
    route: IntArray,
    rec: FloatArray,
    rec_on: BoolArray,
    plan_s: FloatArray,
    forecast_row: IntArray,
    forecast_states: FloatArray,
    forecast_probability: FloatArray,
    row_states: FloatArray,
    row_facts: FloatArray,
) -> int:
    """Everything car i of one world sees; returns the number of rows.

    The ego sees the participant's predictions where there are some, plans of driven cars without one (straight on where
    it does not foresee), and replay cars without one straight on (or not at all, if the case hides them). All other
    cars see plans and recorded futures. Cars that move freely are seen straight on. Cars too far away to matter within
    5 s are left out.
    """
    rows = 0
    for j in range(agents):
        if j == i or not present[j] or (is_ego and hidden[j]):
            continue
        reach = 20.0 + (now[i, 2] + now[j, 2] + 4.0) * PLAN_STEPS * DT_S
        if (now[j, 0] - now[i, 0]) ** 2 + (now[j, 1] - now[i, 1]) ** 2 > reach * reach:
            continue
        row = forecast_row[j] if is_ego else -1
        if row < 0 and not meets[j] and not free[j] and driver[j] != REPLAY:
            continue
        courtesy = 0.2
        if favored[j] and not favored[i]:
            courtesy = 1.0
        if favored[i] and not favored[j]:
            courtesy = 0.0
        modes = forecast_probability.shape[1] if row >= 0 else 1
        for mode in range(modes):
            weight = 1.0
            if row >= 0:
                weight = forecast_probability[row, mode]
                if weight <= 0.0:
                    continue
                predicted(forecast_states[row, mode], row_states[rows])
            elif free[j] or (is_ego and (driver[j] == REPLAY or not foresees)):
                straight_on(log[j, column], row_states[rows])
            elif driver[j] == REPLAY:
                recorded(rec[j], rec_on[j], recorded_column, row_states[rows])
            else:
                first, step = sketch_first[route[j]], route_step[route[j]]
                sketch = sketches[first : first + sketch_count[route[j]]]
                planned(sketch, SKETCH * step, plan_s[j], row_states[rows])
            row_facts[rows, ROW_LENGTH] = size[j, 0]
            row_facts[rows, ROW_WIDTH] = size[j, 1]
            row_facts[rows, ROW_CAR] = j
            row_facts[rows, ROW_PROBABILITY] = weight
            row_facts[rows, ROW_COURTESY] = courtesy
            rows += 1
    return rows
