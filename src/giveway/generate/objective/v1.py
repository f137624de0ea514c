"""The reward of release 0.1, for comparison: six weighted terms; compiled.

It pays more for ordinary driving than for success (docs/generate/environment.md), so it is no default.
"""

from __future__ import annotations

import math

from giveway.core.arrays import BoolArray, FloatArray
from giveway.core.kernels import njit
from giveway.core.log import Grade
from giveway.generate.objective.arrays import DT_S, Judged, Results, Rules, V1Prior
from giveway.generate.objective.safety import look_ahead
from giveway.generate.protocol import GRADES, Outcome
from giveway.roads.tables import RoadTables
from giveway.sim.bicycle import ACCEL, SPEED, STEER, curvature_of
from giveway.sim.state import State

RUNNING, TIME_OUT, COLLISION = int(Outcome.RUNNING), int(Outcome.TIME_OUT), int(Outcome.COLLISION)
NEAR = GRADES.index(Grade.NEAR_MISS)
POTENTIAL_M = 30.0
NEAR_MISS_SHARE = 0.5
"""Of the terminal reward, for a near miss in an episode without a failure."""

LOWEST = -5.0
VARIABLES = ("accel_mps2", "jerk_mps3", "yaw_rate_radps", "speed_over_limit_mps", "headway_s")


@njit(cache=True, nogil=True)
def log_density(prior: V1Prior, variable: int, value: float) -> float:
    """Of one variable; values beyond the ends count as the last bin there."""
    bins = prior.log_density.shape[1]
    at = math.floor((value - prior.low[variable]) / prior.width[variable])
    return prior.log_density[variable, min(max(at, 0), bins - 1)]


@njit(cache=True, nogil=True)
def naturalness(prior: V1Prior, accel: float, jerk: float, yaw_rate: float, over_limit: float, headway: float) -> float:
    """N = clip(sum_v log p_v - median over recorded traffic, -5, 0): 0 for what people usually do.

    Args:
        prior: histograms.
        accel: [m/s^2].
        jerk: [m/s^3].
        yaw_rate: [rad/s].
        over_limit: speed minus the speed limit [m/s].
        headway: time headway to the car ahead [s]; inf without one.
    """
    total = log_density(prior, 0, accel) + log_density(prior, 1, jerk) + log_density(prior, 2, yaw_rate)
    total += log_density(prior, 3, over_limit)
    total += prior.typical_headway if math.isinf(headway) else log_density(prior, 4, headway)
    return min(max(total - prior.median, LOWEST), 0.0)


@njit(nogil=True)
def potential_of(distance: FloatArray, present: BoolArray) -> float:
    """Phi = -mean_i min(d_i, 30 m) / 30 m; a car that is gone counts as far away."""
    total = 0.0
    for c in range(distance.size):
        total += min(distance[c], POTENTIAL_M) if present[c + 1] else POTENTIAL_M
    return -total / (POTENTIAL_M * distance.size)


@njit(nogil=True)
def v1_terms(
    w: int, road: RoadTables, rules: Rules, prior: V1Prior, state: State, judged: Judged, results: Results,
    outcome: int, touched: BoolArray, off_road: BoolArray, culpable: BoolArray,
) -> None:  # fmt: skip
    """Terms of the reward and their weighted sum; what a contact is worth is settled with its verdict."""
    k, p = rules.cars, rules.v1
    cars = state.car[w]
    over = outcome != RUNNING and outcome != TIME_OUT
    potential = 0.0 if over else potential_of(judged.distance[w], state.present[w])
    shaping = rules.weights.discount * potential - judged.potential[w]
    judged.potential[w] = potential
    ratio = results.escape[w]
    closed = 1.0 - ratio if ratio >= p.min_escape else 0.0
    team = 0.0
    if not judged.in_contact[w]:
        team = 1.0 if outcome >= COLLISION else (NEAR_MISS_SHARE if judged.grade[w] == NEAR else 0.0)
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
        terms[5] = -1.0 if off_road[i] else team
        results.rewards[w, c] = (
            p.potential * terms[0]
            + p.escape * terms[1]
            + p.naturalness * terms[2]
            + p.responsibility * terms[3]
            + p.contact * terms[4]
            + p.terminal * p.terminal_scale * terms[5]
        )
