"""The contract of a planner: given its path, its state and what others will do, how fast to drive."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Protocol, runtime_checkable

from giveway.core.arrays import BoolArray, FloatArray
from giveway.planning.profiles import PLAN_STEPS


def _none() -> Mapping[str, float]:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Where to be along the path.

    Attributes:
        s_m: (50,) position at +0.1 s, +0.2 s, ..., +5 s, never decreasing; the first one is driven exactly.
        speed_mps: speed at +0.1 s.
    """

    s_m: FloatArray
    speed_mps: float


@runtime_checkable
class Planner(Protocol):
    """Decides the speed along a fixed path, one tick at a time; keeps no state between calls."""

    @property
    def info(self) -> PlannerInfo:
        """Name, version, parameters."""
        ...

    def plan(self, situation: Situation) -> Plan:
        """The next five seconds."""
        ...


__all__ = ["PLAN_STEPS", "Plan", "Planner", "PlannerInfo", "Situation"]
