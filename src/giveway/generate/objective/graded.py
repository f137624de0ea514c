"""The reward by grades; compiled. Over an episode of at most T steps, car i earns per step

    r_i = I (G' - G)  +  w_p (gamma Phi' - Phi)  -  (B_n / T) c_i  -  (B_r / T) q_i  -  P_i

- G: the highest grade so far (near miss 0.1, C 0.4, B 0.8, A 1), shared by the team; nothing is paid at a time-out;
- Phi = -1/2 mean_i min(d_i, 30 m) / 30 m - 1/2 escape ratio, d_i the distance of car i to the place ahead of the ego's
  bumper; 0 at true ends, kept at time-outs;
- c_i: unnaturalness, :mod:`giveway.generate.objective.natural`;
- q_i: 1 while the car is responsible for an unsafe gap;
- P_i: once, for leaving the road, or for violating in a contact with a car or in one of grade D.

Bounded budgets B_n and B_r keep per-step costs below what success pays; the invariant that matters is tested in
:mod:`giveway.generate.objective.invariant`.
"""

from __future__ import annotations

import math

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray
from giveway.core.kernels import njit
from giveway.generate.objective.arrays import RECENT, Fact, Judged, ManeuverPrior, Results, Rules
from giveway.generate.objective.natural import STANDING, VARIABLES, standing_cost, step_features, unnaturalness
from giveway.generate.objective.safety import look_ahead
from giveway.generate.protocol import Outcome
from giveway.roads.tables import RoadTables
from giveway.sim.bicycle import HEADING, SPEED, X, Y
from giveway.sim.locate import wrapped
from giveway.sim.state import State

RUNNING, TIME_OUT, COLLISION = int(Outcome.RUNNING), int(Outcome.TIME_OUT), int(Outcome.COLLISION)
NEAR_MISS, UNNATURAL = int(Fact.NEAR_MISS), int(Fact.UNNATURAL)
FAR_M = 30.0
BEND_ROWS = 8
"""Rows of a path table (at most 0.25 m apart) to both sides over which the curvature of a lane is taken."""


@njit(nogil=True)
def graded_potential(cars: FloatArray, present: BoolArray, rules: Rules, escape: float) -> float:
    """Phi of a state; a car that is gone counts as far away."""
    cos, sin = math.cos(cars[0, HEADING]), math.sin(cars[0, HEADING])
    total = 0.0
    for i in range(1, rules.cars + 1):
        distance = FAR_M
        if present[i]:
            dx, dy = cars[i, X] - cars[0, X], cars[i, Y] - cars[0, Y]
            along, across = dx * cos + dy * sin, dy * cos - dx * sin
            distance = min(math.hypot(along - rules.size[0, 0], 2.0 * across), FAR_M)
        total += distance
    return -0.5 * total / (FAR_M * rules.cars) - 0.5 * escape


@njit(nogil=True, inline="always")
def remember(w: int, rules: Rules, state: State, judged: Judged) -> None:
    """Keep speed and heading relative to the lane of the learning cars, newest first."""
    for c in range(rules.cars):
        recent = judged.recent[w, c]
        for t in range(RECENT - 1, 0, -1):
            recent[t, 0], recent[t, 1] = recent[t - 1, 0], recent[t - 1, 1]
        recent[0, 0], recent[0, 1] = state.car[w, c + 1, SPEED], state.lane[w, c + 1, 2]


@njit(nogil=True, inline="always")
def _bend(road: RoadTables, way: int, row: int) -> float:
    """Curvature of a way at a row of its table [1/m]."""
    first, last = max(row - BEND_ROWS, 0), min(row + BEND_ROWS, road.num_rows[way] - 1)
    if last == first:
        return 0.0
    at = road.first[way]
    turn = wrapped(road.path[at + last, 4] - road.path[at + first, 4])
    return turn / (road.step[way] * (last - first))


@njit(nogil=True, inline="always")
def _unnaturalness(
    w: int, i: int, road: RoadTables, rules: Rules, prior: ManeuverPrior, state: State, judged: Judged,
    features: FloatArray,
) -> float:  # fmt: skip
    _, _, gap, headway = look_ahead(state.car[w], state.present[w], rules.size, i)
    way = state.route[w, i]
    kind = step_features(judged.recent[w, i - 1], _bend(road, way, state.row[w, i]), headway, features)
    if kind == STANDING:
        return standing_cost(gap, state.lane[w, i, 0] + 0.5 * rules.size[i, 0], rules.lines_m[way])
    return unnaturalness(prior, kind, features)


@njit(nogil=True, inline="always")
def graded_terms(
    w: int, road: RoadTables, rules: Rules, prior: ManeuverPrior, state: State, judged: Judged, results: Results,
    outcome: int, off_road: BoolArray, culpable: BoolArray,
) -> None:  # fmt: skip
    """Terms of the reward (unweighted, in the order of ``TERMS``) and their weighted sum.

    The grade of a contact is settled with its verdict.
    """
    p = rules.weights
    over = outcome != RUNNING and outcome != TIME_OUT
    potential = 0.0 if over else graded_potential(state.car[w], state.present[w], rules, results.escape[w])
    shaping = p.discount * potential - judged.potential[w]
    judged.potential[w] = potential
    reached = p.near_miss if judged.facts[w, NEAR_MISS] > 0.0 else 0.0
    if outcome > COLLISION:
        reached = p.at_fault
    gain = max(reached - judged.reached[w], 0.0)
    judged.reached[w] += gain
    features = np.empty(len(VARIABLES))
    for c in range(rules.cars):
        if not results.active[w, c]:
            continue
        terms = results.terms[w, c]
        terms[0] = gain
        terms[1] = shaping
        cost = _unnaturalness(w, c + 1, road, rules, prior, state, judged, features)
        judged.facts[w, UNNATURAL] += cost
        terms[2] = -cost / rules.max_steps
        terms[3] = -1.0 / rules.max_steps if culpable[c] else 0.0
        terms[4] = -1.0 if off_road[c + 1] else 0.0
        results.rewards[w, c] = (
            p.incident * terms[0]
            + p.potential * terms[1]
            + p.naturalness * terms[2]
            + p.responsibility * terms[3]
            + p.penalty * terms[4]
        )
