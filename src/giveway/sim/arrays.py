"""Struct of arrays over (cases, agents): what the compiled step works on.

C cases are stepped together, each padded to A agents. Time tables start nine ticks before the case, so tick k is column
k + 9 and a predictor's ten past states are always a slice.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from giveway.core.arrays import BoolArray, FloatArray, IntArray
from giveway.planning.profiles import PLAN_STEPS

PAST = 9
"""Columns before tick 0."""

FUTURE = PLAN_STEPS
"""Columns after the last tick, so that recorded futures reach as far as a plan."""


class Driver(IntEnum):
    """What moves a car."""

    REPLAY = 0
    IDM = 1
    PLANNER = 2
    CONSTANT_SPEED = 3
    FREE = 4
    EXTERNAL = 5


class Status(IntEnum):
    """Where a car is in its life."""

    WAITING = 0
    PRESENT = 1
    GONE = 2


class Fixed(NamedTuple):
    """What does not change during a run.

    Attributes:
        num_agents: (C,) agents of each case; the rest is padding.
        num_ticks: (C,) length of each case.
        ego: (C,) index of the ego.
        driver: (C, A) :class:`Driver`.
        size: (C, A, 2) length and width [m].
        desired_speed: (C, A) [m/s].
        hidden: (C, A) not seen by the ego's planner.
        favored: (C, A) has the right of way over the ego and over everybody else who is not favored.
        spawn_tick: (C, A) first tick of a car that is not on replay.
        start: (C, A, 4) x, y, heading, speed at that tick.
        start_s: (C, A) arc length at that tick [m].
        meets: (C, A, A) whether the path of the second car ever comes near that of the first; where not, the plan
            of the second one need not be looked at.
        path_first: (C, A) first row of the car's path in the tables; -1 without a path.
        path_size: (C, A) number of rows.
        path_step: (C, A) spacing [m].
        path: (Q, 6) tables of all paths, one after the other; columns as in roads.route_tables.
        coarse_first: (C, A) first row of the car's coarse points.
        coarse_size: (C, A) number of its coarse points.
        coarse: (Qc, 5) coarse points of each path, one path after the other.
        sketch_first: (C, A) first row of the sketch of the car's path.
        sketch_size: (C, A) number of its rows.
        sketch: (Qs, 4) sketches of all paths, one after the other.
        rec: (C, A, L, 5) recorded x, y, vx, vy, heading; NaN where absent.
        rec_on: (C, A, L) recorded presence.
    """

    num_agents: IntArray
    num_ticks: IntArray
    ego: IntArray
    driver: IntArray
    size: FloatArray
    desired_speed: FloatArray
    hidden: BoolArray
    favored: BoolArray
    spawn_tick: IntArray
    start: FloatArray
    start_s: FloatArray
    meets: BoolArray
    path_first: IntArray
    path_size: IntArray
    path_step: FloatArray
    path: FloatArray
    coarse_first: IntArray
    coarse_size: IntArray
    coarse: FloatArray
    sketch_first: IntArray
    sketch_size: IntArray
    sketch: FloatArray
    rec: FloatArray
    rec_on: BoolArray


class Moving(NamedTuple):
    """What a step changes.

    Attributes:
        status: (C, A) :class:`Status`.
        first: (C, A) column at which the car's current presence began.
        s: (C, A) arc length along the own path [m].
        accel: (C, A) [m/s^2].
        steer: (C, A) front wheel angle of free cars [rad].
        log: (C, A, L, 5) x, y, vx, vy, heading; NaN where absent.
        on: (C, A, L) presence.
        plan_s: (2, C, A, 50) arc length at +0.1 s ... of the last plan; the two halves alternate from tick to tick.
        delayed: (C, A) ticks by which a car's appearance was put off because its place was taken.
        external_s: (C, A, 50) plans of cars driven from outside.
        external_v: (C, A) speed after the first step of those plans [m/s].
        control: (C, A, 2) acceleration and steering rate of free cars.
    """

    status: IntArray
    first: IntArray
    s: FloatArray
    accel: FloatArray
    steer: FloatArray
    log: FloatArray
    on: BoolArray
    plan_s: FloatArray
    delayed: IntArray
    external_s: FloatArray
    external_v: FloatArray
    control: FloatArray


class Forecast(NamedTuple):
    """Predictions given to the ego's planners, in site coordinates.

    Attributes:
        row: (C, A) row of the car's prediction, -1 without one.
        states: (R, K, 30, 3) x, y [m] and heading [rad].
        probability: (R, K).
    """

    row: IntArray
    states: FloatArray
    probability: FloatArray
