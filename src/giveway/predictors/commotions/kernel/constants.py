"""What the kernel needs to know of θ, computed once per evaluation in 64 bit; and the rows of its tables."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from giveway.core.arrays import AnyArray, FloatArray
from giveway.core.errors import UsageError
from giveway.predictors.commotions.config import Configuration
from giveway.predictors.commotions.parameters import (
    DT_S,
    MIN_ANGLE_RAD,
    Derived,
    Theta,
    action_ramps,
)
from giveway.predictors.commotions.reference.value import moments

MIN_ACTION_STEPS, MAX_ACTION_STEPS = 2, 5
STEEPEST = 1e12  # largest 1/u_0,rel: tanh of every value but 0 is ±1, and sums of scores stay finite in 32 bit

# Entries of the vector of constants used in valuing.
(DECAY, D_SAFE, T_SAFE, ACTION, REGAIN, NEW, OLD, BETA, THRESHOLD, K_DA, AFTER_ACTION, INV_U0) = range(12)
MOMENT = 12  # five entries: λ I_n(ΔT)
REGAIN_SPEED, REGAIN_ACCELERATION = 17, 18
INV_DECAY, INV_ACTION, INV_REGAIN = range(19, 22)
FREE_X, FREE_REST, FREE_GAMMA = 22, 23, 24  # λτ, e^-λτ; three entries: γ(1), 2 γ(2), γ(3) at λτ
NUM_VALUE_CONSTANTS = 27

# Entries of the vector of constants used in perceiving, always 64 bit.
TAN_SIGMA, SPEED_VARIANCE = range(2)
NUM_SIGHT_CONSTANTS = 2

# Rows of the state of one vehicle, always 64 bit.
CHI, V, A, C, V_FREE, X1, X2, P11, P12, P22, A_NEXT, PLAN = range(12)
NUM_STATE_ROWS = PLAN + MAX_ACTION_STEPS + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Constants:
    """θ as the kernel reads it.

    Attributes:
        value: see the entry names above; in the precision of the kernel.
        wide: the same in 64 bit.
        sight: constants of perceiving, in 64 bit.
        ramps: (|𝒰|, n+1) what each action adds to the plan [m/s²], 64 bit.
        zero_action: index of u = 0.
        jerk: jerk control.
    """

    value: AnyArray
    wide: FloatArray
    sight: FloatArray
    ramps: FloatArray
    zero_action: int
    jerk: bool


def constants_of(theta: Theta, config: Configuration, dtype: type[np.float32] | type[np.float64]) -> Constants:
    """Constants for one θ.

    Values are measured as what is missing to driving freely for ever, in units of u_free = 1/λ. With y = 1 - v/v_f the
    rate of that loss is y² + k_da a², never negative, so nothing cancels. Regaining free speed from y costs
    y² (λ ∫₀^τ e^-λt (1 - t/τ)² dt + k_da v_f² λ I_0(τ)/τ²).

    Raises:
        UsageError: for a ΔT whose plan of n + 1 steps has no place in the state of a vehicle.
    """
    if not MIN_ACTION_STEPS - 1 < theta.delta_t_action / DT_S - 1e-9 <= MAX_ACTION_STEPS:
        raise UsageError(
            f"an action lasts {MIN_ACTION_STEPS} to {MAX_ACTION_STEPS} steps of {DT_S} s",
            where="theta['delta_t_action']",
            found=f"{theta.delta_t_action:g} s",
        )
    derived = Derived.of(theta)
    decay, tau = derived.decay, config.regain_s(theta.delta_t_action)
    action = [float(m) for m in moments(np.array(theta.delta_t_action), decay)]
    regain = [float(m) for m in moments(np.array(tau), decay)]
    value = np.zeros(NUM_VALUE_CONSTANTS)
    value[[DECAY, D_SAFE, T_SAFE, ACTION, REGAIN]] = decay, theta.d_safe, theta.t_safe, theta.delta_t_action, tau
    value[[NEW, OLD, BETA, THRESHOLD, K_DA]] = (
        derived.f,
        1 - derived.f,
        theta.beta_v,
        derived.threshold,
        theta.k_da,
    )
    value[AFTER_ACTION] = math.exp(-decay * theta.delta_t_action)
    value[INV_U0] = math.copysign(1 / max(abs(theta.u_0_rel), 1 / STEEPEST), theta.u_0_rel)
    value[MOMENT : MOMENT + 5] = decay * np.array(action)
    value[REGAIN_SPEED] = decay * (regain[0] - 2 * regain[1] / tau + regain[2] / tau**2)
    value[REGAIN_ACCELERATION] = theta.k_da * decay * regain[0] / tau**2
    value[[INV_DECAY, INV_ACTION, INV_REGAIN]] = 1 / decay, 1 / theta.delta_t_action, 1 / tau
    value[[FREE_X, FREE_REST]] = decay * tau, math.exp(-decay * tau)
    value[FREE_GAMMA : FREE_GAMMA + 3] = decay * regain[0], 2 * decay**2 * regain[1], decay**3 * regain[2]
    sight = np.zeros(NUM_SIGHT_CONSTANTS)
    sight[TAN_SIGMA] = math.tan(max(theta.sigma_v, MIN_ANGLE_RAD))
    sight[SPEED_VARIANCE] = theta.sigma_speed**2
    return Constants(
        value=value.astype(dtype),
        wide=value,
        sight=sight,
        ramps=action_ramps(theta, config.action_set, jerk=config.jerk),
        zero_action=config.action_set.index(0.0),
        jerk=config.jerk,
    )
