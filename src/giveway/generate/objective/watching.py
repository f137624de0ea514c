"""What judging does around a step of the simulator: begin, look before, judge after; compiled, for many worlds."""

from __future__ import annotations

import math

import numpy as np

from giveway.core import _box_kernels
from giveway.core.arrays import BoolArray, FloatArray
from giveway.core.kernels import njit
from giveway.generate.objective import graded, judging, legacy, natural, observing, safety, v1
from giveway.generate.objective.arrays import RECENT, Fact, Judged, Priors, Results, RewardMode, Rules
from giveway.generate.objective.graded import graded_potential
from giveway.generate.objective.judging import judge
from giveway.generate.objective.observing import observe
from giveway.generate.objective.safety import FAN_CHECKS, escape_ratio, update_culpable
from giveway.generate.objective.v1 import potential_of
from giveway.generate.protocol import Outcome
from giveway.roads.tables import RoadTables
from giveway.sim import bicycle, contacts, locate, rss
from giveway.sim.bicycle import ACCEL, HEADING, SPEED, X, Y
from giveway.sim.compiling import compiled
from giveway.sim.contacts import fill_box
from giveway.sim.state import State, Static

RUNNING = int(Outcome.RUNNING)
GRADED = int(RewardMode.GRADED)
MIN_TTC, IMPACT_SPEED, MIN_ESCAPE = int(Fact.MIN_TTC), int(Fact.IMPACT_SPEED), int(Fact.MIN_ESCAPE)


@njit(cache=True, nogil=True)
def _begin_world(w: int, road: RoadTables, rules: Rules, state: State, judged: Judged, boxes: FloatArray) -> None:
    n = state.car.shape[1]
    for i in range(n):
        judged.last_accel[w, i] = 0.0
        for j in range(n):
            judged.inline[w, i, j] = False
    for c in range(rules.cars):
        car, ego = state.car[w, c + 1], state.car[w, 0]
        judged.distance[w, c] = math.hypot(car[X] - ego[X], car[Y] - ego[Y])
    judged.still[w] = 0
    judged.finding[w] = 0
    judged.outcome[w] = RUNNING
    judged.grade[w] = 0
    judged.avoidable[w] = False
    judged.in_contact[w] = False
    judged.facts[w, :] = 0.0
    judged.facts[w, MIN_TTC] = math.inf
    judged.facts[w, IMPACT_SPEED] = math.nan
    judged.facts[w, MIN_ESCAPE] = 1.0
    judged.reached[w] = 0.0
    for c in range(rules.cars):
        for t in range(RECENT):  # as if everybody had driven on like this before
            judged.recent[w, c, t, 0] = state.car[w, c + 1, SPEED]
            judged.recent[w, c, t, 1] = state.lane[w, c + 1, 2]
    if rules.reward == GRADED:
        escape = escape_ratio(
            road, state.route[w, 0], state.row[w, 0], state.lane[w, 0, 0], state.lane[w, 0, 1], state.car[w],
            state.present[w], rules.size, boxes,
        )  # fmt: skip
        judged.potential[w] = graded_potential(state.car[w], state.present[w], rules, escape)
    else:
        judged.potential[w] = potential_of(judged.distance[w], state.present[w])
    update_culpable(state.car[w], state.lane[w], state.present[w], rules.size, judged.culpable[w], judged.inline[w])
    for i in range(n):
        for j in range(n):
            judged.culpable[w, i, j] = 0


@compiled(_box_kernels, contacts, locate, rss, safety, v1, graded, judging, observing)
def begin_judging(
    static: Static, rules: Rules, state: State, judged: Judged, results: Results, worlds: BoolArray
) -> None:
    """Begin the marked worlds, whose cars the simulator has placed, and let learning cars look around."""
    boxes = np.empty((FAN_CHECKS, state.car.shape[1], 7))
    for w in range(worlds.size):
        if worlds[w]:
            _begin_world(w, static.road, rules, state, judged, boxes)
            results.terminated[w, :] = False
            results.truncated[w] = False
            observe(w, static.road, rules, state, judged.reached[w], results.observations[w])


@compiled()
def look_before(rules: Rules, state: State, judged: Judged, results: Results, first: int, last: int) -> None:
    """Keep what judging compares the step with; worlds that are over give no reward."""
    n = state.car.shape[1]
    for w in range(first, last):
        results.rewards[w, :] = 0.0
        results.terms[w] = 0.0
        for c in range(rules.cars):
            results.active[w, c] = judged.outcome[w] == RUNNING and state.present[w, c + 1]
        if judged.outcome[w] != RUNNING:
            continue
        judged.in_contact[w] = False
        for i in range(n):
            judged.last_accel[w, i] = state.car[w, i, ACCEL]


@compiled(_box_kernels, bicycle, contacts, locate, rss, safety, natural, v1, graded, legacy, judging, observing)
def judge_step(
    static: Static,
    rules: Rules,
    priors: Priors,
    state: State,
    judged: Judged,
    results: Results,
    first: int,
    last: int,
) -> None:
    """Judge worlds ``first <= w < last`` that are running; one that ends is not moved any more."""
    n = state.car.shape[1]
    after = np.empty((n, 7))
    boxes = np.empty((FAN_CHECKS, n, 7))
    for w in range(first, last):
        if judged.outcome[w] != RUNNING:
            continue
        for i in range(n):
            car = state.car[w, i]
            fill_box(car[X], car[Y], car[HEADING], rules.size[i, 0], rules.size[i, 1], after[i])
        judge(w, static.road, rules, priors, state, judged, results, after, boxes)
        observe(w, static.road, rules, state, judged.reached[w], results.observations[w])
        if judged.outcome[w] != RUNNING:
            static.num_ticks[w] = state.tick[w]
