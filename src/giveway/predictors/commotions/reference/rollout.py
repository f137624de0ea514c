"""f_CM for one vehicle and the simulation of whole encounters with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray, IntArray
from giveway.predictors.commotions.config import Configuration, SpeedPrior, StepCount
from giveway.predictors.commotions.encounter import Encounters, steps_made
from giveway.predictors.commotions.parameters import DT_S, Derived, Theta, action_ramps
from giveway.predictors.commotions.reference import decision, motion, perception
from giveway.predictors.commotions.reference.decision import Behaviors, Snapshot
from giveway.predictors.commotions.reference.motion import Predicted
from giveway.predictors.commotions.reference.perception import Belief

Noise = Callable[[int, int], FloatArray]
"""(step, vehicle) to (B, 3) draws ε₁, ε₂, ε₃; vehicle 0 is E, 1 is T."""

EGO, TARGET = 0, 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Mind:
    """What one vehicle carries from step to step (1.3).

    Attributes:
        belief: x̂ and P about the other.
        plan: (B, n+1) planned acceleration now and later [m/s²].
        values: (B, U) V(u).
        behavior_values: (B, U, 2) B(u, b).
    """

    belief: Belief
    plan: FloatArray
    values: FloatArray
    behavior_values: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Thought:
    """Everything one application of f_CM computed, for tests and for looking into the model.

    Attributes:
        spread: (B,) σ_obs [m].
        observed: (B,) z [m].
        belief: after the update.
        percept: (B, 2) x̃.
        behaviors: of the other.
        own: (B, U) own state after each action.
        other_value: (B, U, 2) w(u, b).
        probability: (B, U, 2) P(b|u).
        first: (B, U, 2) own 𝒱_first.
        second: (B, U, 2) own 𝒱_second.
        values: (B, U) V(u) before a possible reset.
        choice: (B,) index of u*.
        surplus: (B,) of u*.
        act: (B,) whether u* was done.
    """

    spread: FloatArray
    observed: FloatArray
    belief: Belief
    percept: FloatArray
    behaviors: Behaviors
    own: Predicted
    other_value: FloatArray
    probability: FloatArray
    first: FloatArray
    second: FloatArray
    values: FloatArray
    choice: IntArray
    surplus: FloatArray
    act: BoolArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollout:
    """B simulated paths with full history; steps after closing repeat the last state.

    Attributes:
        chi: (B, S+1, 2) distances of E and T [m].
        v: (B, S+1, 2) speeds [m/s].
        a: (B, S+1, 2) accelerations applied from each instant on [m/s²].
        open: (B, S+1) whether the path was open at that step.
        accepted: (B,) A_p.
        t_accept_s: (B,) t_A, or the surrogate of rejected paths [s].
        thoughts: per step, per vehicle (None for a vehicle that does not think).
    """

    chi: FloatArray
    v: FloatArray
    a: FloatArray
    open: BoolArray
    accepted: BoolArray
    t_accept_s: FloatArray
    thoughts: list[tuple[Thought | None, Thought]]


def new_mind(other: Snapshot, theta: Theta, num_actions: int, speed_prior: SpeedPrior = "free_speed") -> Mind:
    """Initial internal state (1.3, 2.4)."""
    num = other.chi.shape[0]
    return Mind(
        belief=perception.prior_belief(
            other.chi,
            other.v_free,
            theta.sigma_r0_pos_rel,
            theta.sigma_r0_speed_rel,
            spread_of=other.v if speed_prior == "speed" else None,
        ),
        plan=np.zeros((num, Derived.of(theta).num_action_steps + 1)),
        values=np.zeros((num, num_actions)),
        behavior_values=np.zeros((num, num_actions, 2)),
    )


def think(
    mind: Mind,
    own: Snapshot,
    other: Snapshot,
    noise: FloatArray,
    theta: Theta,
    config: Configuration,
    *,
    other_jerk: bool | None = None,
) -> tuple[Mind, Thought]:
    """One application of f_CM (2.1, item 3); the acceleration to apply now is ``mind.plan[:, 0]`` of the result.

    Args:
        mind: from the step before; its plan is indexed from this step on.
        own: true own state.
        other: true state of the other.
        noise: (B, 3) ε₁, ε₂, ε₃.
        theta: θ.
        config: variant.
        other_jerk: whether the other controls jerk; None: as the own vehicle does, as published.
    """
    derived = Derived.of(theta)
    other_jerk = config.jerk if other_jerk is None else other_jerk
    regain_s, other_regain_s = (config.regain_s(theta.delta_t_action, jerk=jerk) for jerk in (config.jerk, other_jerk))
    ramps = action_ramps(theta, config.action_set, jerk=config.jerk)

    spread = perception.observation_spread(own.chi, other.chi, theta.sigma_v)
    observed = other.chi + spread * noise[:, 0]
    belief = perception.update_belief(mind.belief, observed, spread, theta.sigma_speed)
    percept = perception.percept(belief, noise[:, 1:])

    behaviors = decision.behaviors_of_other(own, other, percept, theta, other_regain_s)
    plan = motion.repair_plan(mind.plan, own.v)
    after = motion.predict_self(own.chi, own.v, plan, ramps)

    every_u = Predicted(chi=after.chi[:, :, None], v=after.v[:, :, None], a=after.a[:, :, None])
    seen = behaviors.predicted
    every_b = Predicted(chi=seen.chi[:, None, :], v=seen.v[:, None, :], a=seen.a[:, None, :])
    orders = decision.solve(other, every_b, own, every_u, theta, other_regain_s)
    first, second = decision.order_values(
        own=other, v=percept[:, 1], now=every_b, orders=orders, theta=theta, jerk=other_jerk, regain_s=other_regain_s
    )
    other_value = np.stack([first[:, :, 0], second[:, :, 1]], axis=2)
    behavior_values = np.where(
        behaviors.valid[:, None, :], decision.accumulate(mind.behavior_values, other_value, derived.f), 0.0
    )
    probability = decision.probabilities(behavior_values, behaviors, theta.beta_v)

    orders = decision.solve(own, every_u, other, every_b, theta, regain_s)
    first, second = decision.order_values(
        own=own, v=own.v, now=every_u, orders=orders, theta=theta, jerk=config.jerk, regain_s=regain_s
    )
    expected = (probability * np.maximum(first, second)).sum(axis=2)
    values = decision.accumulate(mind.values, expected, derived.f)
    choice, surplus, act = decision.decide(values, config.action_set.index(0.0), derived.threshold)
    thought = Thought(
        spread=spread,
        observed=observed,
        belief=belief,
        percept=percept,
        behaviors=behaviors,
        own=after,
        other_value=other_value,
        probability=probability,
        first=first,
        second=second,
        values=values,
        choice=choice,
        surplus=surplus,
        act=act,
    )
    return Mind(
        belief=belief,
        plan=motion.superpose(plan, ramps, choice, act),
        values=np.where(act[:, None], 0.0, values),
        behavior_values=np.where(act[:, None, None], 0.0, behavior_values),
    ), thought


def roll_out(
    encounters: Encounters,
    theta: Theta,
    config: Configuration,
    noise: Noise,
    *,
    ego_yields: float = 0.0,
    step_count: StepCount = "integer",
) -> Rollout:
    """Simulate every encounter once (1.4, 2.1, 5.1).

    Args:
        encounters: B initial states.
        theta: θ.
        config: variant.
        noise: draws.
        ego_yields: u_ny of E as a multiple of T's, 0 as published; 1 or a θ without penalty makes roles symmetric.
        step_count: ``"float32"`` loses the last step of some horizons, as published.
    """
    derived = Derived.of(theta)
    base, num_steps = encounters.base_speed(config), steps_made(encounters.num_steps, step_count)
    penalties = (ego_yields * derived.u_ny, derived.u_ny)
    states = [
        Snapshot(
            chi=encounters.chi[:, k],
            v=encounters.v[:, k],
            a=np.zeros(encounters.num_samples),
            c=encounters.half_extent[:, k],
            v_free=theta.v_free_rel * base[:, k],
            penalty=penalties[k],
        )
        for k in (EGO, TARGET)
    ]
    num_actions = len(config.action_set)
    minds = [new_mind(states[k], theta, num_actions, config.speed_prior) for k in (TARGET, EGO)]
    is_open = np.ones(encounters.num_samples, dtype=np.bool_)
    history: list[tuple[FloatArray, FloatArray, FloatArray]] = []
    open_history: list[BoolArray] = []
    thoughts: list[tuple[Thought | None, Thought]] = []
    for step in range(int(num_steps.max(initial=0)) + 1):
        if step > 0:
            states = [_moved(state, is_open) for state in states]
            minds = [replace(mind, plan=motion.shift_plan(mind.plan, jerk=config.jerk)) for mind in minds]
        minds[TARGET], target_thought = think(
            minds[TARGET], states[TARGET], states[EGO], noise(step, TARGET), theta, config
        )
        ego_thought = None
        applied = [np.zeros(encounters.num_samples), minds[TARGET].plan[:, 0]]
        if config.interactive:
            minds[EGO], ego_thought = think(minds[EGO], states[EGO], states[TARGET], noise(step, EGO), theta, config)
            applied[EGO] = minds[EGO].plan[:, 0]
        states = [replace(state, a=a) for state, a in zip(states, applied, strict=True)]
        thoughts.append((ego_thought, target_thought))
        history.append(
            (
                np.stack([s.chi for s in states], axis=1),
                np.stack([s.v for s in states], axis=1),
                np.stack(applied, axis=1),
            )
        )
        open_history.append(is_open)
        entered = states[TARGET].chi < states[TARGET].c
        is_open = is_open & ~entered & (step < num_steps)
    chi, v, a = (np.stack([instant[i] for instant in history], axis=1) for i in range(3))
    accepted, t_accept = acceptance(
        chi[:, :, TARGET] - encounters.half_extent[:, TARGET : TARGET + 1], encounters, base
    )
    return Rollout(
        chi=chi,
        v=v,
        a=a,
        open=np.stack(open_history, axis=1),
        accepted=accepted,
        t_accept_s=t_accept,
        thoughts=thoughts,
    )


def _moved(state: Snapshot, is_open: BoolArray) -> Snapshot:
    chi, v = motion.advance(state.chi, state.v, state.a)
    return replace(state, chi=np.where(is_open, chi, state.chi), v=np.where(is_open, v, state.v))


def acceptance(d: FloatArray, encounters: Encounters, base: FloatArray) -> tuple[BoolArray, FloatArray]:
    """Per path (5.1): accepted iff d(i_a) < 0 for some first i_a ≥ 1, t_A = δt (i_a - 1 + F).

    F = d(i_a - 1)/[d(i_a - 1) - d(i_a)]; otherwise the surrogate t_A = T_out + 2 min_i d(i) / v_base,T.

    Args:
        d: (B, S+1) χ_T - c_T; constant after closing [m].
        encounters: for the horizon.
        base: (B, 2) v_base [m/s].
    """
    crossed = (d < 0) & (np.arange(d.shape[1]) >= 1) & (d[:, :1] >= 0)
    accepted = crossed.any(axis=1)
    index = np.where(accepted, crossed.argmax(axis=1), 1) if d.shape[1] > 1 else np.ones(d.shape[0], dtype=np.int64)
    rows = np.arange(d.shape[0])
    before, after = d[rows, index - 1], d[rows, np.minimum(index, d.shape[1] - 1)]
    fraction = before / np.where(accepted, before - after, 1.0)
    surrogate = encounters.horizon_s + 2 * d.min(axis=1) / base[:, TARGET]
    return accepted, np.where(accepted, DT_S * (index - 1 + fraction), surrogate)
