"""One application of f_CM to WIDTH paths at once."""

from __future__ import annotations

import math
from typing import Any

from numba import njit

from giveway.models.commotions.kernel import blocks
from giveway.models.commotions.kernel.constants import (
    A_NEXT,
    ACTION,
    BETA,
    CHI,
    D_SAFE,
    NEW,
    OLD,
    PLAN,
    THRESHOLD,
    V_FREE,
    A,
    C,
    V,
)
from giveway.models.commotions.kernel.functions import exp, tanh
from giveway.models.commotions.kernel.lanes import (
    WIDTH,
    anywhere,
    like,
    load,
    magnitude,
    negate,
    select,
    store,
    upper,
)

IMPOSSIBLE = -1e9  # squashes to -1


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
    num_actions, length = ramps.shape
    x1, wide_x2 = blocks.perceive(state, own, other, sight, e1, e2, e3)
    wide_c, wide_other_c = load(state, own + C * WIDTH), load(state, other + C * WIDTH)
    wide_other_free = load(state, other + V_FREE * WIDTH)
    x2, v = like(wide_x2, mind), like(load(state, own + V * WIDTH), mind)
    v_free, other_free = like(load(state, own + V_FREE * WIDTH), mind), like(wide_other_free, mind)
    a_prev, other_a = like(load(state, own + A * WIDTH), mind), like(load(state, other + A * WIDTH), mind)
    inv_free, other_inv_free = 1.0 / v_free, 1.0 / other_free
    regain, other_regain = blocks.regain_factor(v_free, k), blocks.regain_factor(other_free, k)

    # 2.6 behaviors of the other given what self does now, 2.8a where they lead; 64 bit, see blocks.margins.
    # The slot of "first" also serves "constant".
    beta_f, beta_s, can_first, can_second = behaviors(state, own, x1, wide_x2, wide_other_c, wide_other_free, wide)
    neither = negate(can_first | can_second)
    chi_f, wide_v_f = blocks.predict_other(x1, wide_x2, beta_f, wide)
    chi_s, wide_v_s = blocks.predict_other(x1, wide_x2, beta_s, wide)
    v_f, v_s, a_f, a_s = like(wide_v_f, mind), like(wide_v_s, mind), like(beta_f, mind), like(beta_s, mind)
    near, far, _, d_x_f, inside_f, past_f = blocks.margins(chi_f, wide_other_c, wide[D_SAFE], mind)
    in_f, out_f = blocks.passage(near, far, v_f)
    near, far, d_e_s, d_x_s, inside_s, past_s = blocks.margins(chi_s, wide_other_c, wide[D_SAFE], mind)
    in_s, out_s = blocks.passage(near, far, v_s)
    if jerk:
        loss_f, y_f = blocks.action_loss(x2, other_a, (a_f - other_a) / k[ACTION], other_inv_free, k)
        loss_s, y_s = blocks.action_loss(x2, other_a, (a_s - other_a) / k[ACTION], other_inv_free, k)
    else:
        loss_f, y_f = blocks.action_loss(x2, (v_f - x2) / k[ACTION], 0.0 * x2, other_inv_free, k)
        loss_s, y_s = blocks.action_loss(x2, (v_s - x2) / k[ACTION], 0.0 * x2, other_inv_free, k)
    a_free_f, t_free_f = blocks.regaining(v_f, other_free, k)
    a_free_s, t_free_s = blocks.regaining(v_s, other_free, k)
    need_f, need_s = anywhere(can_first | neither), anywhere(can_second)

    repair_plan(state, own, length)
    for u in range(num_actions):
        chi_u, wide_v, wide_a = blocks.predict_self(state, own, ramps, u)
        v_u, a_u = like(wide_v, mind), like(wide_a, mind)
        near, far, d_e, d_x, inside, past = blocks.margins(chi_u, wide_c, wide[D_SAFE], mind)
        t_in, t_out = blocks.passage(near, far, v_u)
        if jerk:
            loss, y = blocks.action_loss(v, a_prev, (a_u - a_prev) / k[ACTION], inv_free, k)
        else:
            loss, y = blocks.action_loss(v, (v_u - v) / k[ACTION], 0.0 * v, inv_free, k)
        a_free, t_free = blocks.regaining(v_u, v_free, k)
        belief_f = load(mind, memory + (num_actions + 2 * u) * WIDTH)
        belief_s = load(mind, memory + (num_actions + 2 * u + 1) * WIDTH)
        value_f, value_s = 0.0 * v, 0.0 * v

        if need_f:
            crash = inside & inside_f
            a, duration, possible = blocks.go_first(d_x_f, v_f, other_free, a_free_f, t_free_f, t_in, crash, k)
            score = blocks.first_score(loss_f, y_f, a, duration, other_inv_free, other_regain, other_penalty, k)
            w = tanh(select(possible, score, IMPOSSIBLE))
            belief_f = k[OLD] * belief_f + k[NEW] * w
            value_f = own_value(
                d_e, d_x, v_u, v_free, a_free, t_free, in_f, out_f, past_f, crash, loss, y, inv_free, regain,
                own_penalty, k,
            )  # fmt: skip
        if need_s:
            crash = inside & inside_s
            a, duration, wait, possible = blocks.go_second(
                d_e_s, d_x_s, v_s, other_free, a_free_s, t_free_s, t_out, past, crash, k
            )
            score = blocks.second_score(loss_s, y_s, a, duration, wait, other_inv_free, other_regain, k)
            w = tanh(select(possible, score, IMPOSSIBLE))
            belief_s = k[OLD] * belief_s + k[NEW] * w
            value_s = own_value(
                d_e, d_x, v_u, v_free, a_free, t_free, in_s, out_s, past_s, crash, loss, y, inv_free, regain,
                own_penalty, k,
            )  # fmt: skip
        belief_f, belief_s = select(can_first, belief_f, 0.0), select(can_second, belief_s, 0.0)
        store(mind, memory + (num_actions + 2 * u) * WIDTH, belief_f)
        store(mind, memory + (num_actions + 2 * u + 1) * WIDTH, belief_s)

        # 2.11 softmax over at most two behaviors, 2.12 expectation and accumulation
        difference = k[BETA] * (belief_s - belief_f)
        small = exp(-1.0 * magnitude(difference))
        likely = 1.0 / (1.0 + small)
        p_first = select(difference > 0.0, small * likely, likely)
        p_first = select(can_second, select(can_first, p_first, 0.0), 1.0)
        p_second = select(difference > 0.0, likely, small * likely)
        p_second = select(can_first, p_second, 1.0)
        expected = select(p_first > 0.0, p_first * value_f, 0.0)
        expected = expected + select(can_second, p_second * value_s, 0.0)
        store(mind, memory + u * WIDTH, k[OLD] * load(mind, memory + u * WIDTH) + k[NEW] * expected)

    decide(state, own, mind, memory, k, ramps, zero_action)


@njit(forceinline=True)
def behaviors(state: Any, own: int, x1: Any, x2: Any, other_c: Any, other_free: Any, wide: Any) -> Any:
    """2.6: accelerations with which the other, as perceived, would pass first and second, and whether it can."""
    near, far, _, _, inside, past = blocks.margins(
        load(state, own + CHI * WIDTH), load(state, own + C * WIDTH), wide[D_SAFE], wide
    )
    t_in, t_out = blocks.passage(near, far, load(state, own + V * WIDTH))
    _, _, d_e, d_x, other_inside, _ = blocks.margins(x1, other_c, wide[D_SAFE], wide)
    crash = inside & other_inside
    a_free, t_free = blocks.regaining(x2, other_free, wide)
    first, _, can_first = blocks.go_first(d_x, x2, other_free, a_free, t_free, t_in, crash, wide)
    second, _, _, can_second = blocks.go_second(d_e, d_x, x2, other_free, a_free, t_free, t_out, past, crash, wide)
    return select(can_first, first, 0.0), select(can_second, second, 0.0), can_first, can_second


@njit(forceinline=True)
def own_value(
    d_e: Any, d_x: Any, v: Any, v_free: Any, a_free: Any, t_free: Any, t_in: Any, t_out: Any, past: Any, crash: Any,
    loss: Any, y: Any, inv_free: Any, regain: Any, penalty: float, k: Any,
) -> Any:  # fmt: skip
    """2.12: the better of 𝒱_first and 𝒱_second; tanh is monotonic, so it is taken once."""
    a, duration, possible = blocks.go_first(d_x, v, v_free, a_free, t_free, t_in, crash, k)
    first = blocks.first_score(loss, y, a, duration, inv_free, regain, penalty, k)
    first = select(possible, first, IMPOSSIBLE)
    a, duration, wait, possible = blocks.go_second(d_e, d_x, v, v_free, a_free, t_free, t_out, past, crash, k)
    second = blocks.second_score(loss, y, a, duration, wait, inv_free, regain, k)
    return tanh(upper(first, select(possible, second, IMPOSSIBLE)))


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
