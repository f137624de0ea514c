"""One application of f_CM to WIDTH paths at once."""

from __future__ import annotations

import math
from typing import Any

from giveway.core.kernels import njit
from giveway.predictors.commotions.kernel import blocks, value
from giveway.predictors.commotions.kernel.constants import (
    A_NEXT,
    AFTER_ACTION,
    BETA,
    CHI,
    D_SAFE,
    INV_ACTION,
    INV_U0,
    NEW,
    OLD,
    PLAN,
    THRESHOLD,
    V_FREE,
    A,
    C,
    V,
)
from giveway.predictors.commotions.kernel.functions import odds_of, tanh
from giveway.predictors.commotions.kernel.lanes import (
    WIDTH,
    anywhere,
    like,
    load,
    lower,
    negate,
    select,
    store,
    upper,
)

CERTAIN = 1e4  # in units of the exponent of the softmax, where β_V B is at most 400


@njit(forceinline=True)
def repair_plan(state: Any, own: int, length: int) -> None:
    """2.13, first rule: who stands forgets the braking that was planned."""
    stands = load(state, own + V * WIDTH) <= 0.0
    if anywhere(stands):
        for q in range(length):
            plan = load(state, own + (PLAN + q) * WIDTH)
            store(state, own + (PLAN + q) * WIDTH, select(stands, upper(plan, 0.0), plan))


@njit(forceinline=True)
def shift_plan(state: Any, own: int, length: int, jerk: bool) -> None:
    """2.13, storage: the next step's plan; its last level stays (JC) or is 0 (AC)."""
    for q in range(length - 1):
        store(state, own + (PLAN + q) * WIDTH, load(state, own + (PLAN + q + 1) * WIDTH))
    if not jerk:
        last = own + (PLAN + length - 1) * WIDTH
        store(state, last, load(state, last) * 0.0)


@njit
def think(
    state: Any,
    own: int,
    other: int,
    mind: Any,
    memory: int,
    k: Any,
    wide: Any,
    sight: Any,
    ramps: Any,
    zero_action: int,
    jerk: bool,
    own_penalty: float,
    other_penalty: float,
    e1: Any,
    e2: Any,
    e3: Any,
) -> None:
    """2.1 item 3 for vehicle ``own``: perceive, predict, value, decide; writes the row A_NEXT.

    Args:
        state: flat rows of both vehicles, 64 bit.
        own: offset of the deciding vehicle.
        other: offset of the other.
        mind: flat rows of V(u), then B(u, first) and B(u, second) for every u, in the precision of the kernel.
        memory: offset of the deciding vehicle in ``mind``.
        k: constants of valuing.
        wide: the same in 64 bit.
        sight: constants of perceiving.
        ramps: (|𝒰|, n+1) actions.
        zero_action: index of u = 0.
        jerk: jerk control.
        own_penalty: u_ny/u_free of the deciding vehicle.
        other_penalty: the same of the other.
        e1: ε₁ of every lane.
        e2: ε₂.
        e3: ε₃.
    """
    _, x1, x2 = blocks.perceive(state, own, other, sight, e1, e2, e3)
    weigh(
        state, own, other, mind, memory, k, wide, k, wide, ramps, jerk, jerk, own_penalty, other_penalty, x1, x2,
        k[OLD], k[NEW],
    )  # fmt: skip
    decide(state, own, mind, memory, k, ramps, zero_action)


@njit(forceinline=True)
def weigh(
    state: Any,
    own: int,
    other: int,
    mind: Any,
    memory: int,
    k: Any,
    wide: Any,
    other_k: Any,
    other_wide: Any,
    ramps: Any,
    jerk: bool,
    other_jerk: bool,
    own_penalty: Any,
    other_penalty: Any,
    x1: Any,
    wide_x2: Any,
    keep: float,
    add: float,
) -> Any:
    """2.6 to 2.12 from a percept: B(u, b) are updated, and row u of ``mind`` becomes keep V(u) + add m(u).

    Args:
        state: as in :func:`think`, and ``own``, ``other``, ``mind``, ``memory``, ``ramps``.
        own: see ``state``.
        other: see ``state``.
        mind: see ``state``.
        memory: see ``state``.
        k: constants of valuing, with the control of the deciding vehicle.
        wide: the same in 64 bit.
        other_k: the same θ with the control of the other: τ and phase I of the other follow from it.
        other_wide: the same in 64 bit.
        ramps: see ``state``.
        jerk: jerk control of the deciding vehicle.
        other_jerk: of the other.
        own_penalty: u_ny/u_free of the deciding vehicle.
        other_penalty: the same of the other.
        x1: x̃₁.
        wide_x2: x̃₂.
        keep: weight of what was there.
        add: weight of what is new.

    Returns:
        Masks: whether the other can pass first, and second.
    """
    num_actions, length = ramps.shape
    wide_other_c, wide_other_free = load(state, other + C * WIDTH), load(state, other + V_FREE * WIDTH)
    x2, v = like(wide_x2, mind), like(load(state, own + V * WIDTH), mind)
    a_prev, other_a = like(load(state, own + A * WIDTH), mind), like(load(state, other + A * WIDTH), mind)
    pace = value.pace_of(like(load(state, own + V_FREE * WIDTH), mind), k)
    other_pace = value.pace_of(like(wide_other_free, mind), other_k)
    share, other_penalty = k[AFTER_ACTION] * k[INV_U0], other_penalty * k[INV_U0]
    own_penalty = own_penalty * k[INV_U0]

    # 2.6 behaviors of the other given what self does now, 2.8a where they lead; 64 bit, see blocks.margins.
    # The slot of "first" also serves "constant".
    beta_f, beta_s, can_first, can_second = behaviors(
        state, own, x1, wide_x2, wide_other_c, wide_other_free, other_wide
    )
    need_f, need_s = anywhere(can_first | negate(can_second)), anywhere(can_second)
    zero = 0.0 * v
    old_f, old_s = select(can_first, zero + k[OLD], 0.0), select(can_second, zero + k[OLD], 0.0)
    new_f, new_s = select(can_first, zero + k[NEW], 0.0), select(can_second, zero + k[NEW], 0.0)
    lean = select(can_second, select(can_first, zero, CERTAIN), -CERTAIN)
    chi_f, wide_v_f = blocks.predict_other(x1, wide_x2, beta_f, wide)
    chi_s, wide_v_s = blocks.predict_other(x1, wide_x2, beta_s, wide)
    v_f, v_s = like(wide_v_f, mind), like(wide_v_s, mind)
    missing_f, missing_s = other_pace[0] - v_f, other_pace[0] - v_s
    near, far_f, _, d_x_f = blocks.margins(chi_f, wide_other_c, wide[D_SAFE], mind)
    depth_f = blocks.depth(near, far_f)
    in_f, out_f = blocks.passage(near, far_f, v_f)
    near, far_s, d_e_s, d_x_s = blocks.margins(chi_s, wide_other_c, wide[D_SAFE], mind)
    depth_s = blocks.depth(near, far_s)
    in_s, out_s = blocks.passage(near, far_s, v_s)

    # 2.9 what the other's options cost until self matters, and what self can make of the other's times
    terms = value.action_terms(x2, other_a, other_pace[0], other_jerk, k)
    start = other_a if other_jerk else x2
    loss, y_f = value.act(terms, ((like(beta_f, mind) if other_jerk else v_f) - start) * k[INV_ACTION])
    base_f = (1.0 - loss) * k[INV_U0] + other_penalty
    free_f = base_f - share * value.free_loss(v_f, y_f, other_pace, other_k)
    loss, y_s = value.act(terms, ((like(beta_s, mind) if other_jerk else v_s) - start) * k[INV_ACTION])
    base_s = (1.0 - loss) * k[INV_U0]
    free_s = base_s - share * value.free_loss(v_s, y_s, other_pace, other_k)
    stop_s = value.stopping(d_e_s, v_s, y_s, base_s, other_pace, k)
    before_f, after_f = value.before(in_f, pace, k), value.after(out_f, pace, k)
    before_s, after_s = value.before(in_s, pace, k), value.after(out_s, pace, k)

    repair_plan(state, own, length)
    near_0, far_0, d_e_0, d_x_0 = blocks.margins(
        load(state, own + CHI * WIDTH), load(state, own + C * WIDTH), wide[D_SAFE], mind
    )
    terms = value.action_terms(v, a_prev, pace[0], jerk, k)
    start = a_prev if jerk else v
    for u in range(num_actions):
        way, v_u, a_u = blocks.predict_self(state, own, v, ramps, u, mind)
        near, far, d_e, d_x = near_0 - way, far_0 - way, d_e_0 - way, d_x_0 - way
        deep = blocks.depth(near, far)
        t_in, t_out = blocks.passage(near, far, v_u)
        loss, y = value.act(terms, ((a_u if jerk else v_u) - start) * k[INV_ACTION])
        missing = pace[0] - v_u
        base = (1.0 - loss) * k[INV_U0]
        free = base - share * value.free_loss(v_u, y, pace, k)
        stop = value.stopping(d_e, v_u, y, base, pace, k)
        base_first, free_first = base + own_penalty, free + own_penalty
        belief_f = old_f * load(mind, memory + (num_actions + 2 * u) * WIDTH)
        belief_s = old_s * load(mind, memory + (num_actions + 2 * u + 1) * WIDTH)
        value_f, value_s = zero, zero

        if need_f:
            crash = lower(deep, depth_f) > 0.0
            chance = value.before(t_in, other_pace, other_k)
            score = value.first_score(d_x_f, v_f, missing_f, y_f, base_f, free_f, chance, k)
            belief_f = belief_f + new_f * tanh(select(crash, value.IMPOSSIBLE, score))
            one = value.first_score(d_x, v_u, missing, y, base_first, free_first, before_f, k)
            two = value.second_score(d_e, d_x, v_u, missing, y, base, free, stop, after_f, far_f, k)
            value_f = tanh(select(crash, value.IMPOSSIBLE, upper(one, two)))
        if need_s:
            crash = lower(deep, depth_s) > 0.0
            chance = value.after(t_out, other_pace, other_k)
            score = value.second_score(d_e_s, d_x_s, v_s, missing_s, y_s, base_s, free_s, stop_s, chance, far, k)
            belief_s = belief_s + new_s * tanh(select(crash, value.IMPOSSIBLE, score))
            one = value.first_score(d_x, v_u, missing, y, base_first, free_first, before_s, k)
            two = value.second_score(d_e, d_x, v_u, missing, y, base, free, stop, after_s, far_s, k)
            value_s = tanh(select(crash, value.IMPOSSIBLE, upper(one, two)))
        store(mind, memory + (num_actions + 2 * u) * WIDTH, belief_f)
        store(mind, memory + (num_actions + 2 * u + 1) * WIDTH, belief_s)

        # 2.11 softmax over at most two behaviors, 2.12 expectation and accumulation
        odds = odds_of(k[BETA] * (belief_f - belief_s) - lean)
        p_second = 1.0 / (1.0 + odds)
        expected = p_second * (odds * value_f + value_s)
        store(mind, memory + u * WIDTH, keep * load(mind, memory + u * WIDTH) + add * expected)

    return can_first, can_second


@njit(forceinline=True)
def behaviors(state: Any, own: int, x1: Any, x2: Any, other_c: Any, other_free: Any, wide: Any) -> Any:
    """2.6: accelerations with which the other, as perceived, would pass first and second, and whether it can."""
    near, far, _, _ = blocks.margins(load(state, own + CHI * WIDTH), load(state, own + C * WIDTH), wide[D_SAFE], wide)
    t_in, t_out = blocks.passage(near, far, load(state, own + V * WIDTH))
    other_near, other_far, d_e, d_x = blocks.margins(x1, other_c, wide[D_SAFE], wide)
    crash = lower(blocks.depth(near, far), blocks.depth(other_near, other_far)) > 0.0
    a_free, t_free = blocks.regaining(x2, other_free, wide)
    first, can_first = blocks.go_first(d_x, x2, other_free, a_free, t_free, t_in, crash, wide)
    second, can_second = blocks.go_second(d_e, d_x, x2, other_free, a_free, t_free, t_out, far <= 0.0, crash, wide)
    return select(can_first, first, 0.0), select(can_second, second, 0.0), can_first, can_second


@njit(forceinline=True)
def decide(state: Any, own: int, mind: Any, memory: int, k: Any, ramps: Any, zero_action: int) -> None:
    """2.12 choice and 2.13 superposition; accumulators of those who act start again from 0."""
    num_actions, length = ramps.shape
    base = load(mind, memory + zero_action * WIDTH)
    top, choice = base * 0.0 - math.inf, base * 0.0
    for u in range(num_actions):
        surplus = load(mind, memory + u * WIDTH) - base
        better = surplus > top
        top, choice = select(better, surplus, top), select(better, float(u), choice)
    act = top > k[THRESHOLD]
    if anywhere(act):
        for u in range(num_actions):
            chosen = act & (choice == float(u))
            if anywhere(chosen):
                for q in range(length):
                    plan = load(state, own + (PLAN + q) * WIDTH)
                    store(state, own + (PLAN + q) * WIDTH, select(chosen, plan + ramps[u, q], plan))
        for row in range(3 * num_actions):
            store(mind, memory + row * WIDTH, select(act, 0.0, load(mind, memory + row * WIDTH)))
    store(state, own + A_NEXT * WIDTH, load(state, own + PLAN * WIDTH))
