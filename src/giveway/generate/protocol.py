"""What the environment and the learners of ``generate`` agree on: scenes in, transitions and episodes out.

::

    worlds = make_worlds(road="straight", n_worlds=256, n_cars=3, ego="idm")     # giveway.generate.worlds
    seen = worlds.reset(seed=0)                                                  # (W, k, observation_size)
    after = worlds.step(actions)                                                 # (W, k, 2) in [-1, 1]
    seen = worlds.reset(seed=1, worlds=after.done)                               # start the finished ones again
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from enum import IntEnum
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from giveway.core.arrays import BoolArray, FloatArray, IntArray
from giveway.core.log import Grade
from giveway.core.test_result import GRADED
from giveway.core.tracks import Tracks

MAX_CARS = 4
"""Most learning cars of a world."""

JOINT = "+"
"""Between the names of planners that are trained against at once."""

TERMS = {
    "graded": ("grade", "potential", "naturalness", "responsibility", "penalty"),
    "v1": ("potential", "escape", "naturalness", "responsibility", "contact", "terminal"),
    "legacy": (),
}
"""Columns of :attr:`Transition.terms` by kind of reward; each is unweighted, the reward is their weighted sum."""


def egos_of(name: str) -> tuple[str, ...]:
    """Planners of a name such as ``idm+lattice``."""
    return tuple(name.split(JOINT))


class Outcome(IntEnum):
    """How an episode stands or ended; codes of :attr:`Transition.outcome`.

    Everything from ``COLLISION`` to ``EGO_STANDSTILL`` is a failure of the ego (whoever caused it); the ``PLANNER_``
    ones are findings about the planner itself.
    """

    RUNNING = 0
    TIME_OUT = 1
    EGO_ARRIVED = 2
    ALL_CARS_GONE = 3
    TRAFFIC_COLLISION = 4
    CAPTURED = 5
    COLLISION = 6
    EGO_OFF_ROAD = 7
    EGO_STANDSTILL = 8
    PLANNER_RAISED = 9
    PLANNER_HUNG = 10
    PLANNER_INVALID = 11

    @property
    def is_failure(self) -> bool:
        """A collision of the ego, the ego off the road or stuck, or a planner that gave no usable plan."""
        return self >= Outcome.COLLISION


GRADES = tuple(Grade)
"""Codes of :attr:`Transition.grade` are positions in this list; 0 is not graded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenes:
    """Initial scenes of N worlds on one road, in lane coordinates.

    Attributes:
        road: name of the road.
        ego_lane: (N,) lane (a whole way through the road, see docs) of the ego.
        ego_s: (N,) its position along it [m].
        ego_speed: (N,) [m/s].
        ego_desired_speed: (N,) speed it wants on a free road [m/s].
        lane: (N, k) lanes of the learning cars.
        s: (N, k) [m].
        d: (N, k) offset from the middle of the lane, left positive [m].
        speed: (N, k) [m/s].
        traffic_lane: (N, m) lanes of bystanders that follow the intelligent driver model; m may be 0.
        traffic_s: (N, m) [m].
        traffic_speed: (N, m) [m/s].
    """

    road: str
    ego_lane: IntArray
    ego_s: FloatArray
    ego_speed: FloatArray
    ego_desired_speed: FloatArray
    lane: IntArray
    s: FloatArray
    d: FloatArray
    speed: FloatArray
    traffic_lane: IntArray
    traffic_s: FloatArray
    traffic_speed: FloatArray

    @property
    def num_scenes(self) -> int:
        """N."""
        return self.ego_lane.shape[0]

    @property
    def num_cars(self) -> int:
        """Number of learning cars, k."""
        return self.lane.shape[1]

    def select(self, rows: IntArray | BoolArray | slice) -> Scenes:
        """Some of the scenes."""
        return replace(self, **{f.name: getattr(self, f.name)[rows] for f in fields(self) if f.name != "road"})

    def as_dict(self, row: int) -> dict[str, Any]:
        """One scene in JSON's types."""
        out: dict[str, Any] = {"road": self.road}
        return out | {f.name: getattr(self, f.name)[row].tolist() for f in fields(self) if f.name != "road"}

    @staticmethod
    def join(parts: list[Scenes]) -> Scenes:
        """Scenes of one road and one number of cars, one after the other."""
        names = [f.name for f in fields(parts[0]) if f.name != "road"]
        return replace(parts[0], **{n: np.concatenate([getattr(p, n) for p in parts]) for n in names})


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """What one step of W worlds gave.

    A world whose episode is over stands still until it is reset: its rewards are 0 and its flags stay.

    Attributes:
        observations: (W, k, observation_size) float32, after the step (before any reset).
        rewards: (W, k).
        terminated: (W, k) the car's own episode is over for good (no bootstrapping): it left the road, or the world
            ended by anything but time.
        truncated: (W,) the time was up; a time-out is not terminal.
        outcome: (W,) codes of :class:`Outcome`.
        grade: (W,) positions in :data:`GRADES`: what the law says about the ending, see
            :mod:`giveway.sim.responsibility`; 0 while running.
        avoidable: (W,) whether a careful driver would have avoided the failure.
        terms: (W, k, 6) the parts of the reward, unweighted, in the order of :data:`TERMS`; zeros beyond.
        escape_ratio: (W,) share of the ego's manoeuvres that are free.
        active: (W, k) car was driving when the step began; transitions of others must not be learned from.
    """

    observations: NDArray[np.float32]
    rewards: FloatArray
    terminated: BoolArray
    truncated: BoolArray
    outcome: IntArray
    grade: IntArray
    avoidable: BoolArray
    terms: FloatArray
    escape_ratio: FloatArray
    active: BoolArray

    @property
    def done(self) -> BoolArray:
        """(W,) worlds that must be reset."""
        return self.outcome != int(Outcome.RUNNING)


@runtime_checkable
class VectorWorlds(Protocol):
    """W worlds of one road, stepped together; results of a world never depend on the others."""

    @property
    def n_worlds(self) -> int:
        """W."""
        ...

    @property
    def n_cars(self) -> int:
        """Number of learning cars, k."""
        ...

    @property
    def observation_size(self) -> int:
        """Numbers that a car sees."""
        ...

    @property
    def action_size(self) -> int:
        """2 with continuous actions, 1 with discrete ones."""
        ...

    @property
    def n_actions(self) -> int | None:
        """Number of discrete actions; None with continuous ones."""
        ...

    @property
    def term_weights(self) -> Mapping[str, float]:
        """Weight of each column of :attr:`Transition.terms`, by name; empty if the reward has no terms."""
        ...

    def reset(self, scenes: Scenes | None = None, *, seed: int, worlds: BoolArray | None = None) -> NDArray[np.float32]:
        """Start worlds again.

        Args:
            scenes: where everybody starts, one scene for each world that is reset; drawn from ``seed`` if None.
            seed: of the draw.
            worlds: (W,) which ones; all if None.

        Returns:
            (W, k, observation_size) of all worlds.
        """
        ...

    def step(self, actions: FloatArray | IntArray) -> Transition:
        """Move every world that is not over by 0.1 s.

        Args:
            actions: (W, k, 2) in [-1, 1], or (W, k) whole numbers below ``n_actions``.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """What the law says about the end of an episode; see :mod:`giveway.sim.responsibility`.

    Attributes:
        grade: for the ego: A to D of a failure, a near miss, or none.
        violators: ids of those who did not respond as they should.
        conflict: of a contact: ``lateral``, ``longitudinal`` or ``junction``; empty without one.
        avoidable: a careful driver would have avoided the failure; always true where nobody touched the ego.
        avoidable_plus: so would ``careful+``, who also brakes where more than 3 m/s^2 would be needed.
        other: id of the car in contact with the ego; empty without one.
        impact_speed_mps: relative speed at that contact; NaN without one.
        sentence: the verdict in words.
    """

    grade: Grade = Grade.NONE
    violators: tuple[str, ...] = ()
    conflict: str = ""
    avoidable: bool = False
    avoidable_plus: bool = False
    other: str = ""
    impact_speed_mps: float = math.nan
    sentence: str = ""

    @property
    def counts(self) -> bool:
        """The ego could have coped: grade A, B or C, and avoidable."""
        return self.avoidable and self.grade in (Grade.A, Grade.B, Grade.C)


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeRecord:
    """One driven episode with everything worth keeping.

    Attributes:
        scene: how it began (one scene).
        tracks: all cars over time, row 0 the ego (id ``ego``), then ``car1`` ... and ``idm1`` ...
        actions: (T, k, 2) or (T, k, 1) what the learning cars asked for; NaN after their end.
        rewards: (T, k).
        outcome: how it ended.
        ending: what the law says about it.
        min_ttc_s: smallest time to collision of the ego with a car ahead on its path; inf if never closing in.
        min_escape_ratio: smallest share of free manoeuvres of the ego.
        near_miss: the ego came within 0.5 s of a car ahead.
        infeasible_share: share of steps of learning cars outside the hard bounds.
        off_road_share: share of steps of learning cars with a corner off the road.
        responsibility_per_100_s: unsafe seconds caused by learning cars, per 100 s of driving.
        unnaturalness: c of the graded reward, mean over the steps of learning cars; 0 with other rewards.
        finding: what the planner under test did wrong as a program; empty otherwise.
    """

    scene: Scenes
    tracks: Tracks
    actions: FloatArray
    rewards: FloatArray
    outcome: Outcome
    ending: Ending
    min_ttc_s: float
    min_escape_ratio: float
    near_miss: bool
    infeasible_share: float
    off_road_share: float
    responsibility_per_100_s: float
    unnaturalness: float = 0.0
    finding: str = ""

    @property
    def is_graded(self) -> bool:
        """The ego failed with grade A, B or C."""
        return self.outcome.is_failure and self.ending.grade in GRADED


def agent_ids(cars: int, traffic: int) -> list[str]:
    """``ego``, ``car1`` ..., ``idm1`` ..."""
    return ["ego", *(f"car{i + 1}" for i in range(cars)), *(f"idm{i + 1}" for i in range(traffic))]
