"""Decisions of many minds, each with its own θ and up to SLOTS others; see :mod:`giveway.predictors.commotions.agent`.

Minds are scalar rows; only what is expensive, looking at the other and weighing what it may do, happens in vectors.
Pairs with the same θ and kinds of control share a vector, so that constants stay scalars.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from giveway.core.kernels import njit
from giveway.predictors.commotions.kernel import blocks
from giveway.predictors.commotions.kernel.constants import (
    BETA,
    CHI,
    MAX_ACTION_STEPS,
    NEW,
    OLD,
    P11,
    P12,
    P22,
    PLAN,
    THRESHOLD,
    V_FREE,
    X1,
    X2,
    A,
    C,
    V,
)
from giveway.predictors.commotions.kernel.lanes import WIDTH, load, select, store
from giveway.predictors.commotions.kernel.mind import weigh
from giveway.predictors.commotions.kernel.rollout import RANDOM, VEHICLE, draw, source_digest
from giveway.predictors.commotions.parameters import YIELD_PENALTY

SLOTS = 4
"""Others a mind keeps an eye on."""

PLAN_STEPS = MAX_ACTION_STEPS + 1
"""Columns of a plan: steps of an action, and what stays afterwards."""

OFF, LOOK, THINK = range(3)
"""What a mind does with a pair: nothing, update its filter, decide about it as well."""

SCENE_CHI, SPEED, ACCEL, HALF_EXTENT, FREE_SPEED = range(5)
"""Columns of a scene, of the own vehicle; the same of the other follow from :data:`OTHER` on."""
OTHER = 5

NOBODY = -1
FILTER_ROWS = (X1, X2, P11, P12, P22)


@njit(forceinline=True, _nrt=False)
def meet(pairs: Any, row: int, minds: Any, table: Any) -> None:
    """2.4: the prior about another vehicle, before its first observation."""
    theta = minds.theta[row // SLOTS]
    distance, speed = abs(pairs.scene[row, OTHER + SCENE_CHI]), pairs.scene[row, OTHER + FREE_SPEED]
    pairs.filter[row, 0], pairs.filter[row, 1] = distance, speed
    pairs.filter[row, 2] = (table.prior[theta, 0] * distance) ** 2
    pairs.filter[row, 3] = 0.0
    pairs.filter[row, 4] = (table.prior[theta, 1] * speed) ** 2
    pairs.belief[row] = 0.0


@njit(forceinline=True, _nrt=False)
def kind_of(minds: Any, pairs: Any, row: int) -> int:
    """What pairs in one vector have in common: θ, both kinds of control, whether to think."""
    mind = row // SLOTS
    common = (minds.theta[mind] * 2 + minds.jerk[mind]) * 2 + pairs.other_jerk[row]
    return common * 2 + (1 if pairs.task[row] == THINK else 0)


@njit(forceinline=True, _nrt=False)
def pack(first: int, last: int, minds: Any, pairs: Any, table: Any, count: Any, order: Any, kind: Any) -> int:
    """Pairs of some minds by kind, WIDTH in a vector: rows (free lanes NOBODY) and kind of each; how many vectors.

    Who stands also forgets the braking that was planned (2.13, first rule). ``count`` has a place for every kind, and
    serves as the next free lane of a kind afterwards.
    """
    count[:] = 0
    for row in range(first * SLOTS, last * SLOTS):
        if pairs.task[row] != OFF:
            count[kind_of(minds, pairs, row)] += 1
            if pairs.task[row] == THINK and pairs.scene[row, SPEED] <= 0.0:
                mind = row // SLOTS
                for q in range(table.length[minds.theta[mind]]):
                    minds.plan[mind, q] = max(minds.plan[mind, q], 0.0)
    groups = 0
    for i in range(len(count)):
        num = count[i]
        count[i] = groups * WIDTH
        groups += -(-num // WIDTH)
    for group in range(groups):
        order[group] = NOBODY
    for row in range(first * SLOTS, last * SLOTS):
        if pairs.task[row] != OFF:
            i = kind_of(minds, pairs, row)
            order[count[i] // WIDTH, count[i] % WIDTH] = row
            kind[count[i] // WIDTH] = i
            count[i] += 1
    return groups


@njit(forceinline=True, _nrt=False)
def seat_pair(state: Any, mind: Any, counters: Any, penalty: Any, lane: int, row: int, minds: Any, pairs: Any) -> None:
    """Copy a pair into a lane."""
    for vehicle in range(2):
        at, column = vehicle * VEHICLE + lane, vehicle * OTHER
        state[at + CHI * WIDTH] = pairs.scene[row, column + SCENE_CHI]
        state[at + V * WIDTH] = pairs.scene[row, column + SPEED]
        state[at + A * WIDTH] = pairs.scene[row, column + ACCEL]
        state[at + C * WIDTH] = pairs.scene[row, column + HALF_EXTENT]
        state[at + V_FREE * WIDTH] = pairs.scene[row, column + FREE_SPEED]
    for i in range(5):
        state[FILTER_ROWS[i] * WIDTH + lane] = pairs.filter[row, i]
    for q in range(minds.plan.shape[1]):
        state[(PLAN + q) * WIDTH + lane] = minds.plan[row // SLOTS, q]
    actions = pairs.belief.shape[1]
    for u in range(actions):
        mind[u * WIDTH + lane] = 0.0
        mind[(actions + 2 * u) * WIDTH + lane] = pairs.belief[row, u, 0]
        mind[(actions + 2 * u + 1) * WIDTH + lane] = pairs.belief[row, u, 1]
    counters[lane] = np.uint32(pairs.key[row] & np.uint64(0xFFFFFFFF))
    counters[WIDTH + lane] = np.uint32(pairs.key[row] >> np.uint64(32))
    counters[2 * WIDTH + lane] = pairs.counter[row, 0]
    counters[3 * WIDTH + lane] = pairs.counter[row, 1]
    penalty[lane] = YIELD_PENALTY if pairs.priority[row] < 0 else 0.0
    penalty[WIDTH + lane] = YIELD_PENALTY if pairs.priority[row] > 0 else 0.0


@njit(forceinline=True, _nrt=False)
def keep_pair(state: Any, mind: Any, seen: Any, lane: int, row: int, pairs: Any, beta: float, thinks: bool) -> None:
    """Copy what a lane has found into its pair."""
    for i in range(5):
        pairs.filter[row, i] = state[FILTER_ROWS[i] * WIDTH + lane]
    for i in range(3):
        pairs.percept[row, i] = seen[i * WIDTH + lane]
    if not thinks:
        return
    actions = pairs.belief.shape[1]
    first, second = seen[3 * WIDTH + lane] > 0.0, seen[4 * WIDTH + lane] > 0.0
    pairs.possible[row, 0], pairs.possible[row, 1] = first, second
    for u in range(actions):
        pairs.worth[row, u] = mind[u * WIDTH + lane]
        b_first, b_second = mind[(actions + 2 * u) * WIDTH + lane], mind[(actions + 2 * u + 1) * WIDTH + lane]
        pairs.belief[row, u, 0], pairs.belief[row, u, 1] = b_first, b_second
        if first and second:
            pairs.p_first[row, u] = 1.0 / (1.0 + math.exp(beta * (b_second - b_first)))
        else:
            pairs.p_first[row, u] = 1.0 if first else (0.0 if second else math.nan)


@njit(forceinline=True, _nrt=False)
def think_vector(rows: Any, kind: int, minds: Any, pairs: Any, table: Any, seed: Any, noise: Any, room: Any) -> None:
    """Look (2.3 to 2.5) and, if the kind says so, weigh (2.6 to 2.12) in one vector of pairs.

    Args:
        rows: (WIDTH,) pairs by :func:`pack`.
        kind: by :func:`pack`.
        minds: plans and θ.
        pairs: changed.
        table: constants.
        seed: two words.
        noise: (P, 3) draws; (0, 3) for random ones.
        room: working memory.
    """
    state, mind, counters, penalty, seen, scratch, script, step = room
    row = rows[0]
    for lane in range(WIDTH):  # free lanes repeat a pair, so that they stay harmless
        row = rows[lane] if rows[lane] != NOBODY else row
        seat_pair(state, mind, counters, penalty, lane, row, minds, pairs)
        if len(noise) > 0:
            for i in range(3):
                scratch[i * WIDTH + lane] = noise[row, i]
    thinks, other_jerk, jerk, theta = kind % 2 == 1, kind // 2 % 2, kind // 4 % 2, kind // 8
    e1, e2, e3 = load(scratch, 0), load(scratch, WIDTH), load(scratch, 2 * WIDTH)
    if len(noise) == 0:
        e1, e2, e3 = draw(counters, 0, seed, RANDOM, script, scratch, step)
    z, x1, x2 = blocks.perceive(state, 0, VEHICLE, table.sight[theta], e1, e2, e3)
    store(seen, 0, z)
    store(seen, WIDTH, x1)
    store(seen, 2 * WIDTH, x2)
    k, other_k = table.value[theta, jerk], table.value[theta, other_jerk]
    if thinks:
        ramps = table.ramps[theta, jerk, :, : table.length[theta]]
        first, second = weigh(
            state, 0, VEHICLE, mind, 0, k, k, other_k, other_k, ramps, jerk == 1, other_jerk == 1,
            load(penalty, 0), load(penalty, WIDTH), x1, x2, 0.0, 1.0,
        )  # fmt: skip
        store(seen, 3 * WIDTH, select(first, 0.0 * z + 1.0, 0.0))
        store(seen, 4 * WIDTH, select(second, 0.0 * z + 1.0, 0.0))
    for lane in range(WIDTH):
        if rows[lane] != NOBODY:
            keep_pair(state, mind, seen, lane, rows[lane], pairs, k[BETA], thinks)


@njit(forceinline=True, _nrt=False)
def choose(first: int, last: int, minds: Any, pairs: Any, table: Any) -> None:
    """2.12 and 2.13 of some minds, m(u) being the least over the others it thought about; writes ``accel``."""
    actions = len(table.actions)
    for mind in range(first, last):
        minds.accel[mind], minds.acted[mind] = math.nan, False
        theta, jerk = minds.theta[mind], minds.jerk[mind]
        k = table.value[theta, jerk]
        thinks = False
        for u in range(actions):
            worth = math.inf
            for row in range(mind * SLOTS, (mind + 1) * SLOTS):
                if pairs.task[row] == THINK:
                    worth, thinks = min(worth, pairs.worth[row, u]), True
            if thinks:
                minds.value[mind, u] = k[OLD] * minds.value[mind, u] + k[NEW] * worth
        if not thinks:
            continue
        top, choice = -math.inf, 0
        for u in range(actions):
            surplus = minds.value[mind, u] - minds.value[mind, table.zero_action]
            minds.advantage[mind, u] = surplus
            if surplus > top:
                top, choice = surplus, u
        minds.choice[mind], minds.acted[mind] = choice, top > k[THRESHOLD]
        superpose(minds, pairs, table, mind)


@njit(forceinline=True, _nrt=False)
def superpose(minds: Any, pairs: Any, table: Any, mind: int) -> None:
    """2.13: add the action to the plan and forget the evidence, if the mind acts; apply and shift the plan."""
    theta, jerk = minds.theta[mind], minds.jerk[mind]
    length = table.length[theta]
    if minds.acted[mind]:
        for q in range(length):
            minds.plan[mind, q] += table.ramps[theta, jerk, minds.choice[mind], q]
        minds.value[mind] = 0.0
        pairs.belief[mind * SLOTS : (mind + 1) * SLOTS] = 0.0
    minds.accel[mind] = minds.plan[mind, 0]
    for q in range(length - 1):
        minds.plan[mind, q] = minds.plan[mind, q + 1]
    if not jerk:
        minds.plan[mind, length - 1] = 0.0


def _build(digest: str) -> Any:
    @njit(cache=True, nogil=True, error_model="numpy")
    def decide_minds(first: int, last: int, minds: Any, pairs: Any, table: Any, seed: Any, noise: Any) -> None:
        """One decision of minds ``first`` to ``last``; arguments as in :func:`think_vector`."""
        assert len(digest) > 0  # a free variable, hence part of the key of the cache
        kinds = 8 * len(table.length)
        most = (last - first) * SLOTS // WIDTH + min(kinds, (last - first) * SLOTS) + 1
        order, kind = np.zeros((most, WIDTH), dtype=np.int64), np.zeros(most, dtype=np.int64)
        groups = pack(first, last, minds, pairs, table, np.zeros(kinds, dtype=np.int64), order, kind)
        room = (
            np.zeros(2 * VEHICLE), np.zeros(3 * len(table.actions) * WIDTH), np.zeros(4 * WIDTH, dtype=np.uint32),
            np.zeros(2 * WIDTH), np.zeros(5 * WIDTH), np.zeros(3 * WIDTH), np.zeros((0, 2, 3)), np.zeros(WIDTH),
        )  # fmt: skip
        for group in range(groups):
            think_vector(order[group], kind[group], minds, pairs, table, seed, noise, room)
        choose(first, last, minds, pairs, table)

    return decide_minds


decide_minds = _build(source_digest())
