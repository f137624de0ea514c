"""Theory of mind and choice: what the other will do, what each own action is worth, whether to act."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray, IntArray
from giveway.predictors.commotions.parameters import Derived, Theta
from giveway.predictors.commotions.reference.access_order import AccessOrders, access_orders, entry_time, exit_time
from giveway.predictors.commotions.reference.motion import Predicted, predict_other
from giveway.predictors.commotions.reference.value import Gains, plan_value, squash


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """One vehicle at the start of a step (2.1).

    Attributes:
        chi: (B,) distance to the conflict point [m].
        v: (B,) speed [m/s].
        a: (B,) acceleration of the step before [m/s²].
        c: (B,) half-extent of the contested space [m].
        v_free: (B,) free speed [m/s].
        penalty: u_ny of this vehicle [s].
    """

    chi: FloatArray
    v: FloatArray
    a: FloatArray
    c: FloatArray
    v_free: FloatArray
    penalty: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviors:
    """What the other may do now; slot 0 is *first* (or *constant* where neither order is valid), slot 1 *second*.

    Attributes:
        acceleration: (B, 2) β [m/s²].
        valid: (B, 2) whether *first* and *second* can be reached.
        predicted: (B, 2) state of the other after ΔT.
    """

    acceleration: FloatArray
    valid: BoolArray
    predicted: Predicted

    @property
    def constant(self) -> BoolArray:
        """(B,) neither order is valid: the other keeps its speed."""
        return np.asarray(~self.valid.any(axis=1))


def solve(
    own: Snapshot, own_state: Predicted, other: Snapshot, other_state: Predicted, theta: Theta, regain_s: float
) -> AccessOrders:
    """AO (2.7) between two predicted states; shapes broadcast over (B, U, 2)."""
    c, other_c = (x.c.reshape(-1, *(1,) * (own_state.v.ndim - 1)) for x in (own, other))
    return access_orders(
        d=own_state.chi,
        c=c,
        v=own_state.v,
        v_free=own.v_free.reshape(c.shape),
        other_d=other_state.chi,
        other_c=other_c,
        other_t_in=entry_time(other_state.chi, other_c, other_state.v),
        other_t_out=exit_time(other_state.chi, other_c, other_state.v),
        d_safe=theta.d_safe,
        t_safe=theta.t_safe,
        regain_s=regain_s,
    )


def behaviors_of_other(own: Snapshot, other: Snapshot, percept: FloatArray, theta: Theta, regain_s: float) -> Behaviors:
    """𝓑 (2.6) and its short-term consequences (2.8a).

    β_first, β_second = accelerations of AO with the other at its percept against self at its true state;
    *constant* (β = 0) is valid only where neither is.

    Args:
        own: true own state.
        other: true state of the other; only c and v_free are used.
        percept: (B, 2) x̃.
        theta: θ.
        regain_s: τ [s].
    """
    seen = Predicted(chi=percept[:, 0], v=percept[:, 1], a=np.zeros_like(percept[:, 0]))
    orders = solve(other, seen, own, Predicted(chi=own.chi, v=own.v, a=own.a), theta, regain_s)
    valid = np.stack([orders.first.possible, orders.second.possible], axis=1)
    acceleration = np.stack([orders.first.acceleration, orders.second.acceleration], axis=1)
    acceleration = np.where(valid, acceleration, 0.0)
    predicted = predict_other(percept[:, :1], percept[:, 1:], acceleration, theta.delta_t_action)
    return Behaviors(acceleration=acceleration, valid=valid, predicted=predicted)


def order_values(
    *, own: Snapshot, v: FloatArray, now: Predicted, orders: AccessOrders, theta: Theta, jerk: bool, regain_s: float
) -> tuple[FloatArray, FloatArray]:
    """𝒱_first and 𝒱_second (2.9, 2.10) of a vehicle whose action leads to ``now``.

    Phase I is (a₀, j₀) = (a_prev, (a_pred - a_prev)/ΔT) with jerk control, ((v_pred - v)/ΔT, 0) otherwise.

    Args:
        own: whose free speed, acceleration and duty to yield count.
        v: (B,) speed it starts from: true for self, perceived for the other [m/s].
        now: predicted state at the end of the action.
        orders: what AO found from there.
        theta: θ.
        jerk: jerk control.
        regain_s: τ [s].
    """
    derived = Derived.of(theta)
    column = (-1, *(1,) * (now.v.ndim - 1))
    speed, a_prev, v_free = (x.reshape(column) for x in (v, own.a, own.v_free))
    if jerk:
        a_0, j_0 = a_prev + 0.0 * now.a, (now.a - a_prev) / theta.delta_t_action
    else:
        a_0, j_0 = (now.v - speed) / theta.delta_t_action, np.zeros_like(now.v)
    values: list[FloatArray] = []
    for triple, penalty in ((orders.first, own.penalty), (orders.second, 0.0)):
        value = plan_value(
            v=speed,
            a=a_0,
            j=j_0,
            triple=triple,
            gains=Gains(v_free=v_free, k_da=theta.k_da),
            decay=derived.decay,
            action_s=theta.delta_t_action,
            regain_s=regain_s,
        )
        values.append(squash(value, triple, derived.u_0, penalty))
    return values[0], values[1]


def accumulate(old: FloatArray, new: FloatArray, f: float) -> FloatArray:
    """Leaky evidence accumulation 𝔸: (1 - f) old + f new."""
    return (1 - f) * old + f * new


def probabilities(belief: FloatArray, behaviors: Behaviors, beta_v: float) -> FloatArray:
    """P(b|u) (2.11): softmax of β_V B over the valid behaviors; (B, U, 2), *constant* in slot 0.

    Args:
        belief: (B, U, 2) accumulated B(u, b).
        behaviors: which are valid.
        beta_v: β_V.
    """
    valid = behaviors.valid[:, None, :] | (behaviors.constant[:, None, None] & np.array([True, False]))
    exponent = np.where(valid, beta_v * belief, -np.inf)
    weight = np.exp(exponent - exponent.max(axis=2, keepdims=True))
    return weight / weight.sum(axis=2, keepdims=True)


def decide(values: FloatArray, zero_action: int, threshold: float) -> tuple[IntArray, FloatArray, BoolArray]:
    """Choose (2.12): u* = argmax surplus, act iff surplus(u*) > ΔV_th, surplus(u) = V(u) - V(0).

    Args:
        values: (B, U) accumulated V(u).
        zero_action: index of u = 0.
        threshold: ΔV_th.

    Returns:
        (B,) index of u*, (B,) its surplus, (B,) whether to act.
    """
    surplus = values - values[:, zero_action : zero_action + 1]
    best = surplus.argmax(axis=1)
    top = surplus.max(axis=1)
    return best, top, top > threshold
