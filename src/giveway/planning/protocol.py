"""The contract of a planner: what it is told at the start of an episode and at each tick, and what it may answer.

An *episode* is one drive from its start to its end. A planner has an instance per episode (or serves all of them
through ``plan_batch``), is reset when one begins and is then asked once per tick, in order of time; it may keep state.
Three answers are possible: a :class:`Plan` along the route, a :class:`Trajectory` to be followed, or a
:class:`Control`. The last two steer, so that the car can leave its lane and the road.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray
from giveway.core.lanes import LaneMap
from giveway.planning.limits import EGO_BOUNDS, MotionBounds
from giveway.planning.profiles import PLAN_STEPS

HISTORY_TICKS = 20
"""Length of a history: two seconds, the present instant included."""


def _none() -> Mapping[Any, Any]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannerInfo:
    """What a planner is. Scores compare only within one name and version.

    Attributes:
        name: registered name.
        title: how tables print it.
        version: changes whenever a drive may come out differently.
        uses_predictions: whether the participant's predictions make a difference.
        parameters: everything that can be set, for the report.
        driver: the simulator's built-in driver that does the same faster; empty if there is none.
    """

    name: str
    title: str
    version: str
    uses_predictions: bool
    parameters: Mapping[str, float] = field(default_factory=_none)
    driver: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """What a planner is told once, when an episode begins.

    Attributes:
        id: name of the episode; equal ids with equal seeds are the same episode, whatever batch it is part of.
        seed: for everything the planner draws; two episodes have two seeds.
        route: (P, 6) table of the own route; columns as :attr:`Situation.path`.
        route_step_m: spacing of its rows.
        map: lane map of the place; None where there is none.
        size_m: (2,) own length and width.
        limits: what the simulator allows a car that steers; what exceeds it is cut.
        dt_s: length of a tick.
        goal_m: arc length on the route where the episode is over.
        routes: (P, 6) tables of all routes one may change to with :attr:`Plan.route`, by number; empty where the route
            is fixed.
    """

    id: str
    seed: int
    route: FloatArray
    route_step_m: float
    map: LaneMap | None
    size_m: FloatArray
    limits: MotionBounds = EGO_BOUNDS
    dt_s: float = 0.1
    goal_m: float
    routes: Mapping[int, FloatArray] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """What a planner may know at one tick.

    Attributes:
        path: (P, 6) own path; columns x, y, cosine and sine of the direction, heading, reference speed in curves.
        path_step_m: spacing of its rows along the path.
        s_m: own position along it.
        speed_mps: own speed.
        accel_mps2: own acceleration in the last tick.
        size_m: (2,) own length and width.
        desired_speed_mps: speed to drive on a free road.
        previous_s_m: (50,) the plan of the tick before: own position at +0 s, +0.1 s, ... from now.
        mode_states: (M, 25, 4) predicted modes of all visible cars: x, y, cosine and sine of the heading at +0.2 s,
            +0.4 s, ..., +5 s; NaN where the car is gone.
        mode_facts: (M, 5) length, width, number of the car, probability of the mode, weight of courtesy.
        own: row of the own car in the arrays below.
        states: (A, 5) x, y, speed, cosine and sine of the heading of everybody now.
        present: (A,) who is there and visible.
        sizes: (A, 2) length and width.
        episode: id of the episode.
        tick: number of the tick, 0 at the start of the episode.
        time_s: since the start of the episode.
        history: (A, 20, 5) x, y, vx, vy, heading of the last two seconds, oldest first, the present instant last; NaN
            where a car was not there, or was hidden.
        history_present: (A, 20) who was there.
        route: number of the own route.
        map: lane map of the place; None where there is none.
        lane: (3,) own position in coordinates of the route: s [m], d [m] to the left, turn [rad] of the own heading
            against it. A car that never steered has d = 0 and turn = 0.
        has_priority: (A,) who has the right of way over the own car.
        ids: (A,) names of the cars, the same ones through an episode.
    """

    path: FloatArray
    path_step_m: float
    s_m: float
    speed_mps: float
    accel_mps2: float
    size_m: FloatArray
    desired_speed_mps: float
    previous_s_m: FloatArray
    mode_states: FloatArray
    mode_facts: FloatArray
    own: int
    states: FloatArray
    present: BoolArray
    sizes: FloatArray
    episode: str = ""
    tick: int = 0
    time_s: float = 0.0
    history: FloatArray = field(default_factory=lambda: np.zeros((0, HISTORY_TICKS, 5)))
    history_present: BoolArray = field(default_factory=lambda: np.zeros((0, HISTORY_TICKS), dtype=np.bool_))
    route: int = 0
    map: LaneMap | None = None
    lane: FloatArray = field(default_factory=lambda: np.zeros(3))
    has_priority: BoolArray = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Where to be along the route.

    Without offset and other route it is driven exactly, as long as the car has never steered in this episode. With
    one of them, or back from steering, it is followed like a :class:`Trajectory`.

    Attributes:
        s_m: (50,) position at +0.1 s, +0.2 s, ..., +5 s, never decreasing.
        speed_mps: speed at +0.1 s.
        offset_m: (50,) distance to the left of the route at the same times, at most 1.5 m; None for none.
        route: number of another route that ``s_m`` is measured on, see :attr:`Episode.routes`; None for the own one.
    """

    s_m: FloatArray
    speed_mps: float
    offset_m: FloatArray | None = None
    route: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Trajectory:
    """Where to be, anywhere: followed by pure pursuit within the limits of the car.

    Attributes:
        states: (P, 4) x [m], y [m], heading [rad], speed [m/s] of the box center at +0.1 s, +0.2 s, ...; P >= 1.
            Beyond the last one the car is expected to drive straight on at the last speed.
    """

    states: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """Pedal and wheel for one tick; cut to the limits of the car and driven by the kinematic bicycle.

    Attributes:
        accel_mps2: acceleration, negative to brake.
        steer_rate_radps: change of the front wheel angle per second, positive to the left.
    """

    accel_mps2: float
    steer_rate_radps: float


Answer: TypeAlias = Plan | Trajectory | Control
"""What a planner may return."""


@runtime_checkable
class Planner(Protocol):
    """Decides how to drive, one tick at a time.

    ``reset(episode)`` is called at the start of each episode if it exists. A planner without it keeps no state and one
    object may serve all episodes.
    """

    @property
    def info(self) -> PlannerInfo:
        """Name, version, parameters."""
        ...

    def plan(self, situation: Situation) -> Answer:
        """What to do next."""
        ...


@runtime_checkable
class BatchPlanner(Planner, Protocol):
    """A planner that serves all episodes with one object and tells them apart by their ids."""

    def plan_batch(self, situations: Sequence[Situation]) -> Sequence[Answer]:
        """One answer per situation, in order; at most one situation of an episode per call."""
        ...


__all__ = [
    "HISTORY_TICKS",
    "PLAN_STEPS",
    "Answer",
    "BatchPlanner",
    "Control",
    "Episode",
    "Plan",
    "Planner",
    "PlannerInfo",
    "Situation",
    "Trajectory",
]
