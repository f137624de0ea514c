"""What a step was worth and whether it ended the episode; compiled.

The order matters: contacts and the road first, then who caused what, then the terms of the reward.
"""

from __future__ import annotations

import math

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray, IntArray
from giveway.core.kernels import njit
from giveway.generate.objective.arrays import (
    DT_S,
    HISTORY,
    PAST_D,
    PAST_HEADING,
    PAST_ON,
    PAST_S,
    PAST_SPEED,
    PAST_X,
    PAST_Y,
    Fact,
    Judged,
    Naturalness,
    Results,
    RewardMode,
    Rules,
)
from giveway.generate.objective.careful import could_be_avoided
from giveway.generate.objective.contact import FRONT, blame, boxes_touch, in_one_lane, touched_side
from giveway.generate.objective.legacy import FINISH, legacy_reward, stage_of
from giveway.generate.objective.natural import naturalness
from giveway.generate.objective.safety import escape_ratio, look_ahead, update_culpable
from giveway.generate.protocol import Fault, Outcome
from giveway.roads.tables import RoadTables
from giveway.sim.bicycle import ACCEL, HEADING, SPEED, STEER, X, Y, curvature_of
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
EGO_PLANNER = int(Fault.EGO_PLANNER)
FAULT_OFF_ROAD, FAULT_STANDSTILL = int(Fault.EGO_OFF_ROAD), int(Fault.EGO_STANDSTILL)
CAR_REAR, CAR_LATERAL = int(Fault.CAR_REAR), int(Fault.CAR_LATERAL)
LEGACY = int(RewardMode.LEGACY)
MIN_TTC, IMPACT_SPEED, MIN_ESCAPE = int(Fact.MIN_TTC), int(Fact.IMPACT_SPEED), int(Fact.MIN_ESCAPE)
INFEASIBLE, OFF_ROAD_STEPS = int(Fact.INFEASIBLE_STEPS), int(Fact.OFF_ROAD_STEPS)
CULPABLE_STEPS, CAR_STEPS = int(Fact.CULPABLE_STEPS), int(Fact.CAR_STEPS)
CULPRIT, NEAR_MISS = int(Fact.CULPRIT), int(Fact.NEAR_MISS)

POTENTIAL_M = 30.0
OFF_ROAD_M = 0.3
"""A car is off the road when a corner is farther out than this."""
STILL_MPS = 0.2
FREE_AHEAD_M = 10.0
ROUNDING = 1e-6


@njit(nogil=True)
def potential_of(distance: FloatArray, present: BoolArray) -> float:
    """Phi = -mean_i min(d_i, 30 m) / 30 m; a car that is gone counts as far away."""
    total = 0.0
    for c in range(distance.size):
        total += min(distance[c], POTENTIAL_M) if present[c + 1] else POTENTIAL_M
    return -total / (POTENTIAL_M * distance.size)


@njit(nogil=True)
def _traffic_contacts(
    w: int, road: RoadTables, rules: Rules, state: State, judged: Judged, before: FloatArray, after: FloatArray,
    guilty: BoolArray, touched: BoolArray,
) -> bool:  # fmt: skip
    """Contacts that do not involve the ego: mark who took part and who is to blame (both, if unclear)."""
    n = after.shape[0]
    any_contact = False
    for i in range(1, n):
        for j in range(i + 1, n):
            if not (state.present[w, i] and state.present[w, j]) or not boxes_touch(after[i], after[j]):
                continue
            any_contact = True
            touched[i] = True
            touched[j] = True
            lane = state.lane[w]
            lies = in_one_lane(lane[i, 1], lane[i, 2], rules.size[i, 0], rules.size[i, 1], road.half_width)
            side = touched_side(before[i], before[j], after[i], after[j])
            verdict = blame(side, lies, state.car[w, j, SPEED], lane[j, 2], state.car[w, i, SPEED])
            if verdict in (CAR_REAR, CAR_LATERAL):
                guilty[j] = True
            elif verdict <= EGO_PLANNER:
                guilty[i] = True
            else:
                guilty[i] = True
                guilty[j] = True
    return any_contact


@njit(nogil=True)
def _ego_contact(
    w: int, road: RoadTables, rules: Rules, state: State, judged: Judged, before: FloatArray, after: FloatArray,
    speed_before: FloatArray,
) -> int:  # fmt: skip
    """Index of a car that touches the ego, with fault and impact speed noted; -1 if none does.

    If several cars touch at once, one for which the ego is to blame is named first.
    """
    hit = -1
    for j in range(1, after.shape[0]):
        if not state.present[w, j] or not boxes_touch(after[0], after[j]):
            continue
        lane = state.lane[w]
        lies = in_one_lane(lane[0, 1], lane[0, 2], rules.size[0, 0], rules.size[0, 1], road.half_width)
        side = touched_side(before[0], before[j], after[0], after[j])
        verdict = blame(side, lies, speed_before[j], lane[j, 2], speed_before[0])
        if hit < 0 or (verdict <= EGO_PLANNER and judged.fault[w] > EGO_PLANNER):
            hit = j
            judged.fault[w] = verdict
            dvx = speed_before[0] * before[0, 2] - speed_before[j] * before[j, 2]
            dvy = speed_before[0] * before[0, 3] - speed_before[j] * before[j, 3]
            judged.facts[w, IMPACT_SPEED] = math.hypot(dvx, dvy)
    return hit


@njit(nogil=True)
def _watch_ego(w: int, rules: Rules, state: State, judged: Judged) -> None:
    """Time to collision, near misses, and how long the ego has been standing for no reason.

    A near miss is a short time to a contact that would have been the ego's fault: with its front, by the same rules as
    a contact that happens.
    """
    cars = state.car[w]
    ttc, ahead, gap, _ = look_ahead(cars, state.present[w], rules.size, 0)
    judged.facts[w, MIN_TTC] = min(judged.facts[w, MIN_TTC], ttc)
    if ttc < rules.weights.near_miss_ttc_s:
        verdict = blame(FRONT, True, cars[ahead, SPEED], state.lane[w, ahead, 2], cars[0, SPEED])
        if 0 < verdict <= EGO_PLANNER:
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


@njit(nogil=True)
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


@njit(nogil=True)
def _ends(w: int, road: RoadTables, rules: Rules, state: State, judged: Judged, hit: int, traffic_hit: bool) -> int:
    """Outcome after the step; notes fault and avoidability of failures."""
    if judged.finding[w] != 0:
        judged.fault[w] = EGO_PLANNER
        judged.avoidable[w] = True
        return judged.finding[w]
    if hit >= 0:
        judged.facts[w, CULPRIT] = hit
        judged.avoidable[w] = could_be_avoided(judged.history[w], state.tick[w], state.route[w, 0], road, rules.size)
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
        judged.fault[w] = FAULT_OFF_ROAD
        judged.avoidable[w] = True
        return EGO_OFF_ROAD
    if judged.still[w] > rules.standstill_steps:
        judged.fault[w] = FAULT_STANDSTILL
        judged.avoidable[w] = True
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


@njit(nogil=True)
def remember(w: int, state: State, judged: Judged) -> None:
    """Put the current states of a world into its history."""
    slot = state.tick[w] % HISTORY
    for i in range(state.car.shape[1]):
        past, car = judged.history[w, i, slot], state.car[w, i]
        past[PAST_X], past[PAST_Y], past[PAST_HEADING], past[PAST_SPEED] = car[X], car[Y], car[HEADING], car[SPEED]
        past[PAST_S], past[PAST_D] = state.lane[w, i, 0], state.lane[w, i, 1]
        past[PAST_ON] = 1.0 if state.present[w, i] else 0.0


@njit(nogil=True)
def judge(
    w: int,
    road: RoadTables,
    rules: Rules,
    prior: Naturalness,
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
        prior: of natural driving.
        state: of the simulator; cars that leave the road are taken out.
        judged: outcome, fault and facts are updated.
        results: rewards, terms and flags are written.
        after: (n, 7) boxes after the step.
        boxes: scratch of the escape ratio.
    """
    k = rules.cars
    n = after.shape[0]
    cars, before, speed_before = state.car[w], judged.before[w], judged.speed_before[w]
    guilty, touched = np.zeros(n, dtype=np.bool_), np.zeros(n, dtype=np.bool_)
    off_road = np.zeros(n, dtype=np.bool_)
    distance_before = judged.distance[w].copy()
    remember(w, state, judged)
    hit = _ego_contact(w, road, rules, state, judged, before, after, speed_before)
    traffic_hit = _traffic_contacts(w, road, rules, state, judged, before, after, guilty, touched)
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
    _watch_ego(w, rules, state, judged)
    for c in range(k):
        judged.distance[w, c] = math.hypot(cars[c + 1, X] - cars[0, X], cars[c + 1, Y] - cars[0, Y])
    outcome = _ends(w, road, rules, state, judged, hit, traffic_hit)
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
        outcome = _legacy_terms(w, rules, state, judged, results, outcome, touched, off_road, hit, distance_before)
    else:
        _full_terms(w, road, rules, prior, state, judged, results, outcome, touched, guilty, off_road, hit, culpable)
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
    w: int, rules: Rules, state: State, judged: Judged, results: Results, outcome: int, touched: BoolArray,
    off_road: BoolArray, hit: int, distance_before: FloatArray,
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
        crashed = bool(touched[c + 1]) or hit == c + 1
        results.rewards[w, c] = legacy_reward(
            stage, shared, distance[at], earlier[at], crashed, bool(off_road[c + 1]), rules.legacy
        )
    return CAPTURED if stage == FINISH and outcome == RUNNING else outcome


@njit(nogil=True)
def _full_terms(
    w: int, road: RoadTables, rules: Rules, prior: Naturalness, state: State, judged: Judged, results: Results,
    outcome: int, touched: BoolArray, guilty: BoolArray, off_road: BoolArray, hit: int, culpable: BoolArray,
) -> None:  # fmt: skip
    """Terms of the full reward and their weighted sum."""
    k, p = rules.cars, rules.weights
    cars = state.car[w]
    over = outcome != RUNNING and outcome != TIME_OUT
    potential = 0.0 if over else potential_of(judged.distance[w], state.present[w])
    shaping = p.discount * potential - judged.potential[w]
    judged.potential[w] = potential
    ratio = results.escape[w]
    closed = 1.0 - ratio if ratio >= p.min_escape else 0.0
    fault = judged.fault[w]
    failed = outcome >= COLLISION
    team = 0.0
    if failed and fault <= EGO_PLANNER and fault > 0 and judged.avoidable[w]:
        team = 1.0
    elif not failed and outcome != RUNNING and judged.facts[w, NEAR_MISS] > 0.0:
        team = 0.5
    for c in range(k):
        i = c + 1
        if not results.active[w, c]:
            continue
        terms = results.terms[w, c]
        terms[0] = shaping
        terms[1] = closed
        headway = look_ahead(cars, state.present[w], rules.size, i)[3]
        jerk = (cars[i, ACCEL] - judged.last_accel[w, i]) / DT_S
        yaw_rate = cars[i, SPEED] * curvature_of(cars[i, STEER], rules.size[i, 0])
        terms[2] = naturalness(prior, cars[i, ACCEL], jerk, yaw_rate, cars[i, SPEED] - road.limit, headway)
        if culpable[c]:
            terms[3] = -1.0
        if touched[i]:
            terms[4] = -1.0
        own = off_road[i] or guilty[i] or (hit == i and (fault in (CAR_REAR, CAR_LATERAL)))
        terms[5] = -1.0 if own else team
        results.rewards[w, c] = (
            p.potential * terms[0]
            + p.escape * terms[1]
            + p.naturalness * terms[2]
            + p.responsibility * terms[3]
            + p.contact * terms[4]
            + p.terminal * p.terminal_scale * terms[5]
        )
