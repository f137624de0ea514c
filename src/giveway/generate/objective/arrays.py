"""Arrays of W worlds that judging reads and writes beside the simulator's, and the settings it is given.

Cars of a world: row 0 the ego, rows 1 to k the learning cars, then m bystanders; n = 1 + k + m.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from giveway.core.arrays import AnyArray, BoolArray, FloatArray, IntArray
from giveway.generate.objective.weights import LegacyWeights, RewardWeights, V1Weights
from giveway.sim.bicycle import MotionBounds

DT_S = 0.1
RECENT = 7
"""Ticks that naturalness looks at: differences over 0.5 s, and those one tick earlier."""


class Fact(IntEnum):
    """Columns of ``Judged.facts``, what an episode is reported by."""

    MIN_TTC = 0
    IMPACT_SPEED = 1
    MIN_ESCAPE = 2
    INFEASIBLE_STEPS = 3
    OFF_ROAD_STEPS = 4
    CULPABLE_STEPS = 5
    CAR_STEPS = 6
    NEAR_MISS = 7
    UNNATURAL = 8


class ObservationMode(IntEnum):
    """What a car sees."""

    RELATIVE = 0
    ARTEFACT = 1


class RewardMode(IntEnum):
    """Which reward is given: by grades, that of release 0.1, or that of the published code."""

    GRADED = 0
    V1 = 1
    LEGACY = 2


class V1Prior(NamedTuple):
    """Histograms of how people drive, of release 0.1, for compiled code.

    Attributes:
        low: (5,) lower end of the bins of acceleration, jerk, yaw rate, speed over the limit, headway.
        width: (5,) of a bin.
        log_density: (5, B) per variable.
        median: of the summed log-density over the recorded tracks.
        typical_headway: (1,) log-density used where nobody is ahead: its median in the recordings.
    """

    low: FloatArray
    width: FloatArray
    log_density: FloatArray
    median: float
    typical_headway: float


class ManeuverPrior(NamedTuple):
    """How people drive, by maneuver, for compiled code; see :mod:`giveway.generate.objective.natural`.

    Attributes:
        low: (5,) lower end of the bins of each variable.
        width: (5,) of a bin.
        log_density: (6, 5, B) per class and variable; without recordings (6, 5, 0).
        ranks: (6, 256) log-density below which the rank of a step is less than each level; falling.
    """

    low: FloatArray
    width: FloatArray
    log_density: FloatArray
    ranks: FloatArray


class Priors(NamedTuple):
    """Attributes:
    v1: of the reward of release 0.1.
    maneuvers: of the graded reward.
    """

    v1: V1Prior
    maneuvers: ManeuverPrior


class Rules(NamedTuple):
    """Everything that stays the same for all worlds.

    Attributes:
        cars: k.
        traffic: m.
        max_steps: of an episode.
        observation: :class:`ObservationMode`.
        reward: :class:`RewardMode`.
        standstill_steps: the ego fails after standing so long with a free road ahead.
        size: (n, 2) length and width [m].
        bounds: of learning cars.
        weights: of the graded reward.
        v1: of the reward of release 0.1.
        legacy: of the artefact's reward.
        lines_m: (L, M) give-way lines of each way [m]; NaN where there are fewer.
    """

    cars: int
    traffic: int
    max_steps: int
    observation: int
    reward: int
    standstill_steps: int
    size: FloatArray
    bounds: MotionBounds
    weights: RewardWeights
    v1: V1Weights
    legacy: LegacyWeights
    lines_m: FloatArray


class Judged(NamedTuple):
    """What judging keeps from step to step.

    Attributes:
        last_accel: (W, n) acceleration one step before the last, for the jerk.
        culpable: (W, n, n) for i < j: 0 safe, 1 i caused the unsafe gap, 2 j did.
        inline: (W, n, n) for i < j: both were in line one step ago.
        still: (W,) steps that the ego has stood with a free road ahead.
        potential: (W,) of the state.
        reached: (W,) G, the highest grade so far as a number.
        recent: (W, k, 7, 2) speed [m/s] and heading relative to the lane [rad] of the last ticks, newest first.
        distance: (W, k) to the ego [m].
        finding: (W,) 0, or the outcome code of what an outside planner did wrong.
        outcome: (W,) codes.
        grade: (W,) positions in :data:`giveway.generate.protocol.GRADES`; of a contact, settled by
            :mod:`giveway.generate.objective.verdicts`.
        avoidable: (W,).
        in_contact: (W,) cars touched each other in the last step; nobody has judged that yet.
        facts: (W, 9) columns of :class:`Fact`.
    """

    last_accel: FloatArray
    culpable: AnyArray
    inline: BoolArray
    still: IntArray
    potential: FloatArray
    reached: FloatArray
    recent: FloatArray
    distance: FloatArray
    finding: IntArray
    outcome: IntArray
    grade: IntArray
    avoidable: BoolArray
    in_contact: BoolArray
    facts: FloatArray


class Results(NamedTuple):
    """What a step gives back.

    Attributes:
        observations: (W, k, o) float32.
        rewards: (W, k).
        terms: (W, k, 6).
        terminated: (W, k).
        truncated: (W,).
        escape: (W,).
        active: (W, k).
    """

    observations: AnyArray
    rewards: FloatArray
    terms: FloatArray
    terminated: BoolArray
    truncated: BoolArray
    escape: FloatArray
    active: BoolArray


def empty_judged(worlds: int, rules: Rules) -> Judged:
    """Arrays for worlds that have not begun."""
    k, n = rules.cars, 1 + rules.cars + rules.traffic
    return Judged(
        last_accel=np.zeros((worlds, n)),
        culpable=np.zeros((worlds, n, n), dtype=np.int8),
        inline=np.zeros((worlds, n, n), dtype=np.bool_),
        still=np.zeros(worlds, dtype=np.int64),
        potential=np.zeros(worlds),
        reached=np.zeros(worlds),
        recent=np.zeros((worlds, k, RECENT, 2)),
        distance=np.zeros((worlds, k)),
        finding=np.zeros(worlds, dtype=np.int64),
        outcome=np.ones(worlds, dtype=np.int64),
        grade=np.zeros(worlds, dtype=np.int64),
        avoidable=np.zeros(worlds, dtype=np.bool_),
        in_contact=np.zeros(worlds, dtype=np.bool_),
        facts=np.zeros((worlds, len(Fact))),
    )


def empty_results(worlds: int, rules: Rules, observation_size: int) -> Results:
    """Arrays for the results of a step."""
    k = rules.cars
    return Results(
        observations=np.zeros((worlds, k, observation_size), dtype=np.float32),
        rewards=np.zeros((worlds, k)),
        terms=np.zeros((worlds, k, 6)),
        terminated=np.ones((worlds, k), dtype=np.bool_),
        truncated=np.zeros(worlds, dtype=np.bool_),
        escape=np.ones(worlds),
        active=np.zeros((worlds, k), dtype=np.bool_),
    )
