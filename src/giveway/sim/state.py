"""Struct of arrays over (worlds, agents): what the compiled step works on.

W worlds are stepped together, each padded to A agents. A *world* is a slot of the batch, an *episode* its life from a
reset to its end; every world has its own clock. Time tables start nine ticks before the episode, so tick k is column
k + 9 and a predictor's ten past states are always a slice; a table with fewer columns than an episode has ticks is a
ring.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from giveway.core.arrays import AnyArray, BoolArray, FloatArray, IntArray
from giveway.planning.negotiation import fresh_memory
from giveway.planning.profiles import PLAN_STEPS
from giveway.roads.tables import RoadTables
from giveway.sim.bicycle import CAR_STATE, MotionBounds

PAST = 9
"""Columns before tick 0."""

FUTURE = PLAN_STEPS
"""Columns after the last tick, so that recorded futures reach as far as a plan."""

LANE_S, LANE_D, LANE_TURN = range(3)
"""Columns of ``State.lane``: along the route [m], offset to the left [m], heading relative to the route [rad]."""


class DriverCode(IntEnum):
    """What the compiled step does with a car; drivers of the registry are made of these.

    EXTERNAL: what :class:`Decisions` say, whoever wrote them.
    """

    REPLAY = 0
    IDM = 1
    PLANNER = 2
    CONSTANT_SPEED = 3
    ACTIONS = 4
    EXTERNAL = 5


class Status(IntEnum):
    """Where a car is in its life."""

    WAITING = 0
    PRESENT = 1
    GONE = 2


class Decision(IntEnum):
    """How a car with driver code EXTERNAL moves in the coming tick.

    ALONG: on its route, to the first position of its plan. FREE: by acceleration and steering rate.
    """

    ALONG = 0
    FREE = 1


class Static(NamedTuple):
    """What does not change during an episode (drivers change at a hand-over).

    Attributes:
        num_agents: (W,) agents of each world; the rest is padding.
        num_ticks: (W,) length of each episode.
        ego: (W,) index of the ego.
        driver: (W, A) :class:`DriverCode`.
        size: (W, A, 2) length and width [m].
        desired_speed: (W, A) [m/s].
        hidden: (W, A) not seen by the ego's planner.
        favored: (W, A) has the right of way over the ego and over everybody else who is not favored.
        slows: (W, A) a car with driver code IDM slows down for curves.
        foresees: (W,) the ego is told plans of driven cars without prediction; otherwise it sees them straight on.
        spawn_tick: (W, A) first tick of a car that is not on replay.
        start: (W, A, 4) x, y, heading, speed at that tick.
        start_lane: (W, A, 3) arc length [m], offset [m] and relative heading [rad] at that tick.
        start_steer: (W, A) front wheel angle at that tick [rad].
        start_route: (W, A) route at that tick; -1 without one.
        start_row: (W, A) nearest row of that route.
        meets: (W, A, A) whether the route of the second car ever comes near that of the first; where not, the plan
            of the second one need not be looked at.
        rec: (W, A, L, 5) recorded x, y, vx, vy, heading; NaN where absent.
        rec_on: (W, A, L) recorded presence.
        past: (W, A, 9, 5) states before tick 0, as predictors are told.
        past_on: (W, A, 9) presence in ``past``.
        bounds: of cars that move freely.
        road: tables of all routes, of lanes beside each other and of the edge of the road.
    """

    num_agents: IntArray
    num_ticks: IntArray
    ego: IntArray
    driver: IntArray
    size: FloatArray
    desired_speed: FloatArray
    hidden: BoolArray
    favored: BoolArray
    slows: BoolArray
    foresees: BoolArray
    spawn_tick: IntArray
    start: FloatArray
    start_lane: FloatArray
    start_steer: FloatArray
    start_route: IntArray
    start_row: IntArray
    meets: BoolArray
    rec: FloatArray
    rec_on: BoolArray
    past: FloatArray
    past_on: BoolArray
    bounds: MotionBounds
    road: RoadTables


class State(NamedTuple):
    """What a step changes.

    Attributes:
        tick: (W,) ticks since the start of the episode.
        status: (W, A) :class:`Status`.
        present: (W, A) on the road now.
        first: (W, A) column at which the car's current presence began.
        car: (W, A, 6) x, y, heading, speed, front wheel angle, acceleration; columns of :mod:`giveway.sim.bicycle`.
        lane: (W, A, 3) along the own route [m], offset to the left [m], heading relative to it [rad].
        route: (W, A) route of the car in ``Static.road``; -1 without one.
        row: (W, A) nearest row of that route.
        log: (W, A, L, 5) x, y, vx, vy, heading; NaN where absent.
        on: (W, A, L) presence.
        plan_s: (2, W, A, 50) arc length at +0.1 s ... of the last plan; the two halves alternate from tick to tick.
        ego_plans: (W, T, 50) plan of the ego made at each tick [m], NaN if it made none; not kept if T is 0.
        delayed: (W, A) ticks by which a car's appearance was put off because its place was taken.
        ego_memory: (W, 3) what the lattice remembers, see :data:`giveway.planning.negotiation.WAITED`.
        ego_emergency: (W, T) whether a built-in planner of the ego left the bounds of comfort; kept like ``ego_plans``.
    """

    tick: IntArray
    status: IntArray
    present: BoolArray
    first: IntArray
    car: FloatArray
    lane: FloatArray
    route: IntArray
    row: IntArray
    log: FloatArray
    on: BoolArray
    plan_s: FloatArray
    ego_plans: FloatArray
    delayed: IntArray
    ego_memory: FloatArray
    ego_emergency: BoolArray


class Decisions(NamedTuple):
    """What cars with driver code EXTERNAL, and the wheels of cars with ACTIONS, are told to do next.

    Attributes:
        kind: (W, A) :class:`Decision`; cars with ACTIONS always move freely.
        along_s: (W, A, 50) plans [m].
        speed: (W, A) speed after the first step of those plans [m/s]; that of every car on a route after a tick.
        control: (W, A, 2) acceleration [m/s^2] and steering rate [rad/s].
        accel: (W, A) acceleration of a car with driver code IDM in traffic that reacts [m/s^2]; NaN: it only follows.
        postponed: (W, A) a driven car that must not appear yet.
    """

    kind: IntArray
    along_s: FloatArray
    speed: FloatArray
    control: FloatArray
    accel: FloatArray
    postponed: BoolArray


class Forecast(NamedTuple):
    """Predictions given to the ego's planners, in site coordinates.

    Attributes:
        row: (W, A) row of the car's prediction, -1 without one.
        states: (R, K, 30, 3) x, y [m] and heading [rad].
        probability: (R, K).
    """

    row: IntArray
    states: FloatArray
    probability: FloatArray


def empty_static(shape: tuple[int, int], road: RoadTables, bounds: MotionBounds) -> Static:
    """Worlds with so many agents each, none of them recorded, that all begin at the start of the first route."""
    worlds, agents = shape
    return Static(
        num_agents=np.full(worlds, agents, dtype=np.int64),
        num_ticks=np.zeros(worlds, dtype=np.int64),
        ego=np.zeros(worlds, dtype=np.int64),
        driver=np.full(shape, int(DriverCode.IDM), dtype=np.int64),
        size=np.ones((*shape, 2)),
        desired_speed=np.ones(shape),
        hidden=np.zeros(shape, dtype=np.bool_),
        favored=np.zeros(shape, dtype=np.bool_),
        slows=np.ones(shape, dtype=np.bool_),
        foresees=np.zeros(worlds, dtype=np.bool_),
        spawn_tick=np.zeros(shape, dtype=np.int64),
        start=np.zeros((*shape, 4)),
        start_lane=np.zeros((*shape, 3)),
        start_steer=np.zeros(shape),
        start_route=np.zeros(shape, dtype=np.int64),
        start_row=np.zeros(shape, dtype=np.int64),
        meets=np.ones((*shape, agents), dtype=np.bool_),
        rec=np.zeros((*shape, 0, 5)),
        rec_on=np.zeros((*shape, 0), dtype=np.bool_),
        past=np.full((*shape, PAST, 5), np.nan),
        past_on=np.zeros((*shape, PAST), dtype=np.bool_),
        bounds=bounds,
        road=road,
    )


def empty_state(static: Static, columns: int, plans: int = 0) -> State:
    """Arrays for worlds that have not begun, with so many columns of log and so many ticks of plans kept."""
    shape = static.driver.shape
    return State(
        tick=np.zeros(shape[0], dtype=np.int64),
        status=np.zeros(shape, dtype=np.int64),
        present=np.zeros(shape, dtype=np.bool_),
        first=np.zeros(shape, dtype=np.int64),
        car=np.zeros((*shape, CAR_STATE)),
        lane=np.zeros((*shape, 3)),
        route=np.full(shape, -1, dtype=np.int64),
        row=np.zeros(shape, dtype=np.int64),
        log=np.full((*shape, columns, 5), np.nan),
        on=np.zeros((*shape, columns), dtype=np.bool_),
        plan_s=np.zeros((2, *shape, PLAN_STEPS)),
        ego_plans=np.full((shape[0], plans, PLAN_STEPS), np.nan),
        delayed=np.zeros(shape, dtype=np.int64),
        ego_memory=np.tile(fresh_memory(), (shape[0], 1)),
        ego_emergency=np.zeros((shape[0], plans), dtype=np.bool_),
    )


def empty_decisions(static: Static) -> Decisions:
    """Decisions that have not been made."""
    shape = static.driver.shape
    return Decisions(
        kind=np.zeros(shape, dtype=np.int64),
        along_s=np.zeros((*shape, PLAN_STEPS)),
        speed=np.zeros(shape),
        control=np.zeros((*shape, 2)),
        accel=np.full(shape, np.nan),
        postponed=np.zeros(shape, dtype=np.bool_),
    )


def no_forecast(static: Static, steps: int) -> Forecast:
    """A forecast of nobody."""
    return Forecast(
        row=np.full(static.driver.shape, -1, dtype=np.int64),
        states=np.zeros((0, 1, steps, 3)),
        probability=np.zeros((0, 1)),
    )


def copied(values: State, **changed: AnyArray) -> State:
    """A state that shares no memory with the given one but in what is changed."""
    rest = {name: getattr(values, name).copy() for name in State._fields if name not in changed}
    return State(**rest, **changed)
