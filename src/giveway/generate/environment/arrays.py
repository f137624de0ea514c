"""Arrays of W worlds that compiled code reads and writes, and the settings it is given.

Cars of a world: row 0 the ego, rows 1 to k the learning cars, then m bystanders; n = 1 + k + m.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from giveway.core.arrays import AnyArray, BoolArray, FloatArray, IntArray
from giveway.planning.idm import IdmParameters
from giveway.planning.profiles import PLAN_STEPS, ProfileParameters
from giveway.sim.free_motion import FREE_STATE, MotionBounds

DT_S = 0.1

LOOK_BACK_S = 4.0
"""How far back the careful driver takes over."""

LOOK_BACK = round(LOOK_BACK_S / DT_S)
HISTORY = LOOK_BACK + 1
"""States kept per car; a ring."""

PAST_X, PAST_Y, PAST_HEADING, PAST_SPEED, PAST_S, PAST_D, PAST_ON = range(7)
"""Columns of the history."""

LANE_S, LANE_D, LANE_TURN = range(3)
"""Columns of ``Moving.lane``: along the way [m], offset to the left [m], heading relative to the way [rad]."""


class Fact(IntEnum):
    """Columns of ``Moving.facts``, what an episode is reported by."""

    MIN_TTC = 0
    IMPACT_SPEED = 1
    MIN_ESCAPE = 2
    INFEASIBLE_STEPS = 3
    OFF_ROAD_STEPS = 4
    CULPABLE_STEPS = 5
    CAR_STEPS = 6
    CULPRIT = 7
    NEAR_MISS = 8


class EgoDriver(IntEnum):
    """Who drives the ego."""

    IDM = 0
    DEFAULT = 1
    CONSTANT_SPEED = 2
    OUTSIDE = 3


class ActionMode(IntEnum):
    """What an action means; see docs/generate/environment.md."""

    STEERING = 0
    LATERAL = 1
    MANEUVERS = 2


class ObservationMode(IntEnum):
    """What a car sees."""

    RELATIVE = 0
    ARTEFACT = 1


class RewardMode(IntEnum):
    """Which reward is given."""

    FULL = 0
    LEGACY = 1


class RewardWeights(NamedTuple):
    """Weights of the full reward; design note 2.3.

    Attributes:
        potential: w_p.
        escape: w_e.
        naturalness: w_n.
        responsibility: w_r.
        contact: w_c.
        terminal: I.
        terminal_scale: multiplies I; 5 is what the artefact does.
        discount: gamma of the potential-based shaping.
        min_escape: below this share of free manoeuvres a scenario is unsolvable and the escape term is 0.
        near_miss_ttc_s: a time to collision below this is a near miss.
    """

    potential: float = 1.0
    escape: float = 0.2
    naturalness: float = 0.1
    responsibility: float = 0.5
    contact: float = 1.0
    terminal: float = 10.0
    terminal_scale: float = 1.0
    discount: float = 0.99
    min_escape: float = 0.05
    near_miss_ttc_s: float = 0.5


class LegacyWeights(NamedTuple):
    """Weights of the artefact's reward; design note 1.1.

    Attributes:
        approach: for having come nearer, or minus it.
        safety: multiplies -10 for a crash and -100 for leaving the road.
        stage: multiplies the shared stage reward.
        finish: multiplies I.
        terminal: I.
        capture_m: d_cap.
        limit_m: d_lim.
        max_speed_mps: v_max.
    """

    approach: float = 0.7
    safety: float = 0.4
    stage: float = 0.01
    finish: float = 5.0
    terminal: float = 10.0
    capture_m: float = 3.5
    limit_m: float = 8.0
    max_speed_mps: float = 30.0 / 3.6


class Naturalness(NamedTuple):
    """Histogram prior of how people drive, for compiled code.

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


class Rules(NamedTuple):
    """Everything that stays the same for all worlds.

    Attributes:
        cars: k.
        traffic: m.
        max_steps: of an episode.
        ego: :class:`EgoDriver`.
        actions: :class:`ActionMode`.
        observation: :class:`ObservationMode`.
        reward: :class:`RewardMode`.
        standstill_steps: the ego fails after standing so long with a free road ahead.
        size: (n, 2) length and width [m].
        bounds: of learning cars.
        weights: of the full reward.
        legacy: of the artefact's reward.
        idm: car following of bystanders and of an IDM ego.
        profiles: of the default planner.
    """

    cars: int
    traffic: int
    max_steps: int
    ego: int
    actions: int
    observation: int
    reward: int
    standstill_steps: int
    size: FloatArray
    bounds: MotionBounds
    weights: RewardWeights
    legacy: LegacyWeights
    idm: IdmParameters
    profiles: ProfileParameters


class Moving(NamedTuple):
    """What changes from step to step.

    Attributes:
        state: (W, n, 6) of :mod:`giveway.sim.free_motion`.
        lane: (W, n, 3) lane coordinates.
        way: (W, n) current way.
        row: (W, n) nearest row of that way, counted from its start.
        present: (W, n) on the road.
        history: (W, n, 41, 7) ring of past states; entry ``age % 41`` is the current one.
        plan_s: (W, 50) last plan of the ego.
        desired: (W, n) speed wanted on a free road [m/s].
        target: (W, k) way that a car with manoeuvres steers to.
        target_row: (W, k) its row there.
        culpable: (W, n, n) for i < j: 0 safe, 1 i caused the unsafe gap, 2 j did.
        inline: (W, n, n) for i < j: both were in line one step ago.
        age: (W,) steps of the episode.
        still: (W,) steps that the ego has stood with a free road ahead.
        potential: (W,) of the state.
        distance: (W, k) to the ego [m].
        last_accel: (W, n) acceleration one step before the last, for the jerk.
        outcome: (W,) codes.
        fault: (W,) codes.
        avoidable: (W,).
        facts: (W, 9) columns of :class:`Fact`.
    """

    state: FloatArray
    lane: FloatArray
    way: IntArray
    row: IntArray
    present: BoolArray
    history: FloatArray
    plan_s: FloatArray
    desired: FloatArray
    target: IntArray
    target_row: IntArray
    culpable: AnyArray
    inline: BoolArray
    age: IntArray
    still: IntArray
    potential: FloatArray
    distance: FloatArray
    last_accel: FloatArray
    outcome: IntArray
    fault: IntArray
    avoidable: BoolArray
    facts: FloatArray


class Given(NamedTuple):
    """What comes from outside for one step.

    Attributes:
        actions: (W, k, 2) in [-1, 1]; manoeuvres as whole numbers in column 0.
        ego_s: (W, 50) plan of an outside planner [m].
        ego_speed: (W,) its speed at +0.1 s [m/s].
        finding: (W,) 0, or the outcome code of what the outside planner did wrong.
    """

    actions: FloatArray
    ego_s: FloatArray
    ego_speed: FloatArray
    finding: IntArray


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


def empty_moving(worlds: int, rules: Rules) -> Moving:
    """Arrays for worlds that have not begun."""
    k, n = rules.cars, 1 + rules.cars + rules.traffic
    return Moving(
        state=np.zeros((worlds, n, FREE_STATE)),
        lane=np.zeros((worlds, n, 3)),
        way=np.zeros((worlds, n), dtype=np.int64),
        row=np.zeros((worlds, n), dtype=np.int64),
        present=np.zeros((worlds, n), dtype=np.bool_),
        history=np.zeros((worlds, n, HISTORY, 7)),
        plan_s=np.zeros((worlds, PLAN_STEPS)),
        desired=np.ones((worlds, n)),
        target=np.zeros((worlds, k), dtype=np.int64),
        target_row=np.zeros((worlds, k), dtype=np.int64),
        culpable=np.zeros((worlds, n, n), dtype=np.int8),
        inline=np.zeros((worlds, n, n), dtype=np.bool_),
        age=np.zeros(worlds, dtype=np.int64),
        still=np.zeros(worlds, dtype=np.int64),
        potential=np.zeros(worlds),
        distance=np.zeros((worlds, k)),
        last_accel=np.zeros((worlds, n)),
        outcome=np.ones(worlds, dtype=np.int64),
        fault=np.zeros(worlds, dtype=np.int64),
        avoidable=np.zeros(worlds, dtype=np.bool_),
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
