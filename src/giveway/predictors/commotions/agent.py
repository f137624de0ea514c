"""The model as a driver: minds that look at other vehicles, think and accelerate, one decision per 0.2 s, many at once.

A *mind* belongs to one vehicle and has its own θ. It knows up to SLOTS others, each at a conflict of the two
routes; a *pair* is a mind and one of them, row ``mind * SLOTS + slot``. With one partner a decision is f_CM of the
specification; with several, m(u) = min over partners of m_p(u), B per partner, V shared.

::

    table = theta_table([theta_a, theta_b], config)
    minds, pairs = new_minds(table, theta=[0, 1, 1], jerk=[True, True, False])
    first_sight(pairs, rows, minds, table)          # prior of section 2.4 for rows whose ``scene`` has been filled
    think(minds, pairs, table, seed=1)              # writes minds.accel
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from giveway.core.arrays import BoolArray, FloatArray, IntArray
from giveway.predictors.commotions.config import Configuration
from giveway.predictors.commotions.encounter import UintArray, mix
from giveway.predictors.commotions.parameters import Derived, Theta, action_ramps

MIN_MINDS = 64  # per thread; below this threads cost more than they bring


class ThetaTable(NamedTuple):
    """What the kernel reads of T parameter sets, computed once; axis C is the control: 0 of speed (AC), 1 of jerk (JC).

    Attributes:
        value: (T, C, 27) constants of valuing.
        sight: (T, 2) constants of perceiving.
        ramps: (T, C, U, PLAN_STEPS) what each action adds to the plan, columns up to ``length`` [m/s²].
        length: (T,) n + 1, columns of a plan in use.
        prior: (T, 2) σ_R0χ,rel and σ_R0χ̇,rel.
        v_free_rel: (T,) free speed as a multiple of the base speed.
        actions: (U,) 𝒰.
        zero_action: index of u = 0.
    """

    value: FloatArray
    sight: FloatArray
    ramps: FloatArray
    length: IntArray
    prior: FloatArray
    v_free_rel: FloatArray
    actions: FloatArray
    zero_action: int


class Minds(NamedTuple):
    """M minds; arrays are changed in place.

    Attributes:
        theta: (M,) row of the :class:`ThetaTable`.
        jerk: (M,) 1 jerk control, 0 control of speed.
        plan: (M, PLAN_STEPS) ã from the present step on [m/s²].
        value: (M, U) accumulated V(u).
        advantage: (M, U) V(u) - V(0) of the last decision, before a reset.
        choice: (M,) index of u* of the last decision.
        acted: (M,) whether it was done.
        accel: (M,) what the mind applies for the next 0.2 s [m/s²]; NaN if it thought about nobody.
    """

    theta: IntArray
    jerk: IntArray
    plan: FloatArray
    value: FloatArray
    advantage: FloatArray
    choice: IntArray
    acted: BoolArray
    accel: FloatArray


class Pairs(NamedTuple):
    """P = M · SLOTS pairs of a mind and another vehicle; arrays are changed in place.

    Attributes:
        task: (P,) OFF, LOOK or THINK.
        scene: (P, 10) own χ, v, a of the step before, half-extent c and free speed, then the same of the other; the
            other's speed serves nothing but its free speed, the model does not see it.
        other_jerk: (P,) control of the other.
        priority: (P,) 1 the own vehicle has the right of way, -1 the other, 0 nobody.
        key: (P,) names of the random streams.
        counter: (P, 2) further words of the counter: the first is free, the second counts decisions.
        filter: (P, 5) x̂₁, x̂₂, P₁₁, P₁₂, P₂₂.
        belief: (P, U, 2) accumulated B(u, first), B(u, second).
        percept: (P, 3) z, x̃₁, x̃₂ of the last decision.
        possible: (P, 2) whether the other could pass first and second.
        worth: (P, U) m_p(u) of the last decision.
        p_first: (P, U) probability that the other passes first, of the last decision.
    """

    task: NDArray[np.int8]
    scene: FloatArray
    other_jerk: IntArray
    priority: NDArray[np.int8]
    key: UintArray
    counter: NDArray[np.uint32]
    filter: FloatArray
    belief: FloatArray
    percept: FloatArray
    possible: BoolArray
    worth: FloatArray
    p_first: FloatArray


def theta_table(thetas: Sequence[Theta], config: Configuration) -> ThetaTable:
    """Constants of all parameter sets with both kinds of control; those of one θ are computed once per process.

    Raises:
        UsageError: for a ΔT that is no 2 to 5 steps.
    """
    parts = [_constants(theta, config.action_set) for theta in thetas]
    return ThetaTable(
        value=np.stack([p[0] for p in parts]),
        sight=np.stack([p[1] for p in parts]),
        ramps=np.stack([p[2] for p in parts]),
        length=np.array([Derived.of(theta).num_action_steps + 1 for theta in thetas]),
        prior=np.array([[theta.sigma_r0_pos_rel, theta.sigma_r0_speed_rel] for theta in thetas], dtype=np.float64),
        v_free_rel=np.array([theta.v_free_rel for theta in thetas], dtype=np.float64),
        actions=np.array(config.action_set, dtype=np.float64),
        zero_action=config.action_set.index(0.0),
    )


@lru_cache(maxsize=4096)
def _constants(theta: Theta, actions: tuple[float, ...]) -> tuple[FloatArray, FloatArray, FloatArray]:
    from giveway.predictors.commotions.kernel.agents import PLAN_STEPS
    from giveway.predictors.commotions.kernel.constants import constants_of

    ramps = np.zeros((2, len(actions), PLAN_STEPS))
    both: list[FloatArray] = []
    for jerk in (False, True):
        config = Configuration(adjusted_speed=True, interactive=True, jerk=jerk, actions=actions)
        known = constants_of(theta, config, np.float64)
        both.append(known.wide)
        part = action_ramps(theta, actions, jerk=jerk)
        ramps[int(jerk), :, : part.shape[1]] = part
    return np.stack(both), known.sight, ramps


def new_minds(table: ThetaTable, *, theta: ArrayLike, jerk: ArrayLike) -> tuple[Minds, Pairs]:
    """M minds that know nobody yet.

    Args:
        table: their parameters.
        theta: (M,) row of the table of each mind.
        jerk: (M,) whether it controls jerk.
    """
    from giveway.predictors.commotions.kernel.agents import OTHER, PLAN_STEPS, SLOTS

    rows = np.array(theta, dtype=np.int64)
    num, actions = len(rows), len(table.actions)
    pairs = num * SLOTS
    return Minds(
        theta=rows,
        jerk=np.array(jerk, dtype=np.int64),
        plan=np.zeros((num, PLAN_STEPS)),
        value=np.zeros((num, actions)),
        advantage=np.zeros((num, actions)),
        choice=np.zeros(num, dtype=np.int64),
        acted=np.zeros(num, dtype=np.bool_),
        accel=np.full(num, np.nan),
    ), Pairs(
        task=np.zeros(pairs, dtype=np.int8),
        scene=np.zeros((pairs, 2 * OTHER)),
        other_jerk=np.ones(pairs, dtype=np.int64),
        priority=np.zeros(pairs, dtype=np.int8),
        key=np.zeros(pairs, dtype=np.uint64),
        counter=np.zeros((pairs, 2), dtype=np.uint32),
        filter=np.zeros((pairs, 5)),
        belief=np.zeros((pairs, actions, 2)),
        percept=np.full((pairs, 3), np.nan),
        possible=np.zeros((pairs, 2), dtype=np.bool_),
        worth=np.zeros((pairs, actions)),
        p_first=np.full((pairs, actions), np.nan),
    )


def first_sight(pairs: Pairs, rows: IntArray, minds: Minds, table: ThetaTable) -> None:
    """Prior of section 2.4 for pairs whose scene is filled: x̂ = (|χ|, v_free), P = diag((σ |χ|)², (σ v_free)²).

    Args:
        pairs: changed in rows ``rows``.
        rows: which others are seen for the first time.
        minds: who sees them.
        table: parameters.
    """
    from giveway.predictors.commotions.kernel.agents import meet

    for row in rows:
        meet(pairs, int(row), minds, table)


def think(
    minds: Minds, pairs: Pairs, table: ThetaTable, *, seed: int, noise: FloatArray | None = None, threads: int = 1
) -> None:
    """One decision of every mind: filters of all pairs that are not OFF, then those to THINK about.

    What a mind does depends on its own rows, their keys and counters and the seed; neither on the other minds of the
    batch nor on the number of threads. In lanes of a vector all pairs have the same θ and kinds of control.

    Args:
        minds: changed in place; ``accel`` is the result.
        pairs: changed in place.
        table: parameters.
        seed: of the noise.
        noise: (P, 3) ε₁, ε₂, ε₃ instead of random ones, for tests.
        threads: that share the work.
    """
    from giveway.predictors.commotions.kernel.agents import decide_minds

    word = seed % 2**64
    words = np.array([word % 2**32, word >> 32], dtype=np.uint32)
    given = np.zeros((0, 3)) if noise is None else np.ascontiguousarray(noise, dtype=np.float64)
    num = len(minds.theta)
    workers = max(1, min(threads, num // MIN_MINDS))
    edges = np.linspace(0, num, workers + 1).astype(np.int64).tolist()
    parts = list(itertools.pairwise(edges))
    if workers == 1:
        decide_minds(*parts[0], minds, pairs, table, words, given)
        return
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(lambda part: decide_minds(*part, minds, pairs, table, words, given), parts))


def pair_key(own: UintArray, other: UintArray) -> UintArray:
    """Name of the random stream of a mind about another vehicle, from the names of both; not symmetric."""
    return mix(np.asarray(own, dtype=np.uint64) ^ mix(np.asarray(other, dtype=np.uint64)))
