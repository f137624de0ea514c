"""What a step was worth and whether it ended the episode; compiled.

The order matters: contacts and the road first, then the terms of the reward. Who is responsible for a contact is
settled afterwards, see :mod:`giveway.generate.objective.verdicts`.
"""

from __future__ import annotations

import math

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray, IntArray
from giveway.core.kernels import njit
from giveway.core.log import Grade
from giveway.generate.objective.arrays import DT_S, Fact, Judged, Priors, Results, RewardMode, Rules
from giveway.generate.objective.graded import graded_terms, remember
from giveway.generate.objective.legacy import FINISH, legacy_reward, stage_of
from giveway.generate.objective.safety import escape_ratio, look_ahead, update_culpable
from giveway.generate.objective.v1 import v1_terms
from giveway.generate.protocol import GRADES, Outcome
from giveway.roads.tables import RoadTables
from giveway.sim.bicycle import ACCEL, HEADING, SPEED, STEER, X, Y, curvature_of
from giveway.sim.contacts import boxes_touch
from giveway.sim.locate import farthest_outside
from giveway.sim.state import State

RUNNING, TIME_OUT = int(Outcome.RUNNING), int(Outcome.TIME_OUT)
EGO_ARRIVED, ALL_CARS_GONE = int(Outcome.EGO_ARRIVED), int(Outcome.ALL_CARS_GONE)
TRAFFIC_COLLISION, CAPTURED = int(Outcome.TRAFFIC_COLLISION), int(Outcome.CAPTURED)
COLLISION, EGO_OFF_ROAD, EGO_STANDSTILL = (
    int(Outcome.COLLISION),
    int(Outcome.EGO_OFF_ROAD),
    int(Outcome.EGO_STANDSTILL),
)
AT_FAULT, NEAR = GRADES.index(Grade.A), GRADES.index(Grade.NEAR_MISS)
LEGACY, V1 = int(RewardMode.LEGACY), int(RewardMode.V1)
MIN_TTC, MIN_ESCAPE, NEAR_MISS = int(Fact.MIN_TTC), int(Fact.MIN_ESCAPE), int(Fact.NEAR_MISS)
INFEASIBLE, OFF_ROAD_STEPS = int(Fact.INFEASIBLE_STEPS), int(Fact.OFF_ROAD_STEPS)
CULPABLE_STEPS, CAR_STEPS = int(Fact.CULPABLE_STEPS), int(Fact.CAR_STEPS)

OFF_ROAD_M = 0.3
"""A car is off the road when a corner is farther out than this."""
STILL_MPS = 0.2
FREE_AHEAD_M = 10.0
ROUNDING = 1e-6


@njit(nogil=True)
def _contacts(present: BoolArray, after: FloatArray, hits: BoolArray, touched: BoolArray) -> None:
    """Mark the cars that touch the ego (the ego too) in ``hits``, and those that touch another car in ``touched``."""
    n = after.shape[0]
    for i in range(n):
        for j in range(i + 1, n):
            if present[j] and (i == 0 or present[i]) and boxes_touch(after[i], after[j]):
                if i == 0:
                    hits[0], hits[j] = True, True
                else:
                    touched[i], touched[j] = True, True


@njit(nogil=True, inline="always")
def _watch_ego(w: int, rules: Rules, state: State, judged: Judged) -> None:
    """Time to collision with the car ahead, near misses, and how long the ego has been standing for no reason."""
    cars = state.car[w]
    ttc, _, gap, _ = look_ahead(cars, state.present[w], rules.size, 0)
    judged.facts[w, MIN_TTC] = min(judged.facts[w, MIN_TTC], ttc)
    if ttc < rules.weights.near_miss_ttc_s:
        judged.facts[w, NEAR_MISS] = 1.0
    if cars[0, SPEED] >= STILL_MPS:
        judged.still[w] = 0
        return
    judged.still[w] = judged.still[w] + 1 if gap > FREE_AHEAD_M else 0


@njit(nogil=True)
def _is_culpable(culpable: IntArray, i: int) -> bool:
    """Whether a car is to blame for a dangerous situation with any other; see ``Judged.culpable``."""
    for j in range(culpable.shape[0]):
        code = culpable[min(i, j), max(i, j)]
        if i != j and ((code == 1 and i < j) or (code == 2 and i > j)):
            return True
    return False


@njit(nogil=True, inline="always")
def _is_infeasible(w: int, i: int, rules: Rules, state: State, judged: Judged) -> bool:
    """Whether the last step of a car broke one of the hard bounds."""
    car, b = state.car[w, i], rules.bounds
    curvature = abs(curvature_of(car[STEER], rules.size[i, 0]))
    jerk = abs(car[ACCEL] - judged.last_accel[w, i]) / DT_S
    stopped = car[SPEED] == 0.0
    return (
        car[ACCEL] > b.max_accel_mps2 + ROUNDING
        or car[ACCEL] < -b.max_brake_mps2 - ROUNDING
        or (jerk > b.max_jerk_mps3 + ROUNDING and not stopped and judged.last_accel[w, i] != 0.0)
        or curvature > b.max_curvature_pm + ROUNDING
        or car[SPEED] * car[SPEED] * curvature > b.max_lateral_mps2 + ROUNDING
    )


@njit(nogil=True, inline="always")
def _ends(
    w: int, road: RoadTables, rules: Rules, state: State, judged: Judged, ego_hit: bool, traffic_hit: bool
) -> int:
    """Outcome after the step."""
    if judged.finding[w] != 0:
        return judged.finding[w]
    if ego_hit:
        return COLLISION
    ego = state.car[w, 0]
    on_way = state.lane[w, 0, 0] < road.length[state.route[w, 0]] - rules.size[0, 0]
    if (
        on_way
        and farthest_outside(
            road.edge, road.edge_x, road.edge_y, ego[X], ego[Y], ego[HEADING], rules.size[0, 0], rules.size[0, 1]
        )
        > OFF_ROAD_M
    ):
        return EGO_OFF_ROAD
    if judged.still[w] > rules.standstill_steps:
        return EGO_STANDSTILL
    if traffic_hit:
        return TRAFFIC_COLLISION
    if not on_way:
        return EGO_ARRIVED
    if not state.present[w, 1 : 1 + rules.cars].any():
        return ALL_CARS_GONE
    if state.tick[w] >= rules.max_steps:
        return TIME_OUT
    return RUNNING


@njit(nogil=True, inline="always")
def judge(
    w: int,
    road: RoadTables,
    rules: Rules,
    priors: Priors,
    state: State,
    judged: Judged,
    results: Results,
    after: FloatArray,
    boxes: FloatArray,
) -> None:
    """Judge the step of one world whose cars have just moved.

    Args:
        w: which world.
        road: tables.
        rules: settings.
        priors: of natural driving.
        state: of the simulator; cars that leave the road are taken out.
        judged: outcome, grade (but of contacts) and facts are updated.
        results: rewards, terms and flags are written.
        after: (n, 7) boxes after the step.
        boxes: scratch of the escape ratio.
    """
    k = rules.cars
    n = after.shape[0]
    cars = state.car[w]
    hits, touched, off_road = np.zeros(n, dtype=np.bool_), np.zeros(n, dtype=np.bool_), np.zeros(n, dtype=np.bool_)
    distance_before = judged.distance[w].copy()
    _contacts(state.present[w], after, hits, touched)
    traffic_hit = touched.any()
    for i in range(1, k + 1):
        if not state.present[w, i]:
            continue
        way = state.route[w, i]
        if state.lane[w, i, 0] > road.length[way] - 0.5 * rules.size[i, 0] and abs(state.lane[w, i, 2]) < 0.5:
            state.present[w, i] = False  # it has driven through
            continue
        far = farthest_outside(
            road.edge,
            road.edge_x,
            road.edge_y,
            cars[i, X],
            cars[i, Y],
            cars[i, HEADING],
            rules.size[i, 0],
            rules.size[i, 1],
        )
        inward = state.lane[w, i, 0] > 0.5 * rules.size[i, 0]
        off_road[i] = far > OFF_ROAD_M and inward
    update_culpable(cars, state.lane[w], state.present[w], rules.size, judged.culpable[w], judged.inline[w])
    remember(w, rules, state, judged)
    _watch_ego(w, rules, state, judged)
    for c in range(k):
        judged.distance[w, c] = math.hypot(cars[c + 1, X] - cars[0, X], cars[c + 1, Y] - cars[0, Y])
    outcome = _ends(w, road, rules, state, judged, bool(hits[0]), traffic_hit)
    judged.in_contact[w] = outcome == COLLISION or traffic_hit
    if outcome > COLLISION:
        judged.grade[w], judged.avoidable[w] = AT_FAULT, True
    elif outcome != RUNNING and outcome != COLLISION and judged.facts[w, NEAR_MISS] > 0.0:
        judged.grade[w] = NEAR
    results.escape[w] = escape_ratio(
        road, state.route[w, 0], state.row[w, 0], state.lane[w, 0, 0], state.lane[w, 0, 1], cars,
        state.present[w], rules.size, boxes,
    )  # fmt: skip
    judged.facts[w, MIN_ESCAPE] = min(judged.facts[w, MIN_ESCAPE], results.escape[w])
    culpable = np.zeros(k, dtype=np.bool_)
    for c in range(k):
        culpable[c] = results.active[w, c] and _is_culpable(judged.culpable[w], c + 1)
        judged.facts[w, CULPABLE_STEPS] += culpable[c]
    if rules.reward == LEGACY:
        outcome = _legacy_terms(w, rules, state, judged, results, outcome, hits, touched, off_road, distance_before)
    elif rules.reward == V1:
        v1_terms(w, road, rules, priors.v1, state, judged, results, outcome, touched, off_road, culpable)
    else:
        graded_terms(w, road, rules, priors.maneuvers, state, judged, results, outcome, off_road, culpable)
    for i in range(1, k + 1):
        if off_road[i]:
            state.present[w, i] = False
        if results.active[w, i - 1]:
            judged.facts[w, CAR_STEPS] += 1.0
            if off_road[i]:
                judged.facts[w, OFF_ROAD_STEPS] += 1.0
            if _is_infeasible(w, i, rules, state, judged):
                judged.facts[w, INFEASIBLE] += 1.0
    if outcome == RUNNING and not state.present[w, 1 : 1 + k].any():
        outcome = ALL_CARS_GONE
    judged.outcome[w] = outcome
    results.truncated[w] = outcome == TIME_OUT
    for c in range(k):
        results.terminated[w, c] = (outcome != RUNNING and outcome != TIME_OUT) or not state.present[w, c + 1]


@njit(nogil=True)
def _legacy_terms(
    w: int, rules: Rules, state: State, judged: Judged, results: Results, outcome: int, hits: BoolArray,
    touched: BoolArray, off_road: BoolArray, distance_before: FloatArray,
) -> int:  # fmt: skip
    """Rewards of the artefact; returns the outcome, which a finished encirclement makes CAPTURED."""
    k = rules.cars
    here = np.empty(k, dtype=np.int64)
    count = 0
    for c in range(k):
        if state.present[w, c + 1]:
            here[count] = c
            count += 1
    if count == 0:
        return outcome
    cars, distance, earlier = np.empty((count, 2)), np.empty(count), np.empty(count)
    for at in range(count):
        c = here[at]
        cars[at, 0], cars[at, 1] = state.car[w, c + 1, X], state.car[w, c + 1, Y]
        distance[at], earlier[at] = judged.distance[w, c], distance_before[c]
    ego = np.array([state.car[w, 0, X], state.car[w, 0, Y]])
    stage, shared = stage_of(cars, ego, distance, earlier, rules.legacy, np.empty(count, dtype=np.int64))
    for at in range(count):
        c = here[at]
        crashed = bool(touched[c + 1]) or bool(hits[c + 1])
        results.rewards[w, c] = legacy_reward(
            stage, shared, distance[at], earlier[at], crashed, bool(off_road[c + 1]), rules.legacy
        )
    return CAPTURED if stage == FINISH and outcome == RUNNING else outcome
