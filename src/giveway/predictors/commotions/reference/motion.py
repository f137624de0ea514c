"""Kinematics, plans and short-term prediction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray, IntArray
from giveway.predictors.commotions.parameters import DT_S


@dataclass(frozen=True, slots=True, kw_only=True)
class Predicted:
    """A vehicle at the end of the action time.

    Attributes:
        chi: distance to the conflict point [m].
        v: speed [m/s].
        a: acceleration from then on [m/s²].
    """

    chi: FloatArray
    v: FloatArray
    a: FloatArray


def advance(chi: FloatArray, v: FloatArray, a: FloatArray) -> tuple[FloatArray, FloatArray]:
    """One step of motion without reversing (2.14).

    χ ← χ - max{0, v δt + ½ a δt²},     v ← max{0, v + a δt}
    """
    return chi - np.maximum(0.0, v * DT_S + 0.5 * a * DT_S**2), np.maximum(0.0, v + a * DT_S)


def predict_other(chi: FloatArray, v: FloatArray, a: FloatArray, action_s: float) -> Predicted:
    """S_B (2.8a): constant acceleration over ΔT, stopping at zero speed.

        v_b = x̃₂ + β ΔT, t_b = ΔT;  if v_b < 0: v_b = 0, t_b = -x̃₂/β
        χ_b = x̃₁ - x̃₂ t_b - ½ β t_b²

    Args:
        chi: perceived distance [m].
        v: perceived speed [m/s].
        a: acceleration β of the behavior [m/s²].
        action_s: ΔT [s].
    """
    speed = v + a * action_s
    stops = speed < 0
    time = np.where(stops, -v / np.where(stops, a, 1.0), action_s)
    return Predicted(chi=chi - v * time - 0.5 * a * time**2, v=np.maximum(0.0, speed), a=a)


def repair_plan(plan: FloatArray, v: FloatArray) -> FloatArray:
    """A standing vehicle forgets what braking it had planned (2.13): ã ← max{0, ã} where v ≤ 0."""
    return np.where((v <= 0)[:, None], np.maximum(0.0, plan), plan)


def predict_self(chi: FloatArray, v: FloatArray, plan: FloatArray, ramps: FloatArray) -> Predicted:
    """S_A (2.8b): every action on top of the plan, integrated over n steps; (B, U) each.

        acc_q = ã(i+q) + Δ_q(u);   χ, v by 2.14 for q = 0 … n-1;   a_u = ã(i+n) + Δ_n(u)

    Args:
        chi: (B,) own distance [m].
        v: (B,) own speed [m/s].
        plan: (B, n+1) planned acceleration now and later [m/s²].
        ramps: (U, n+1) what each action adds [m/s²].
    """
    superposed = plan[:, None, :] + ramps[None, :, :]
    chi_u, v_u = (np.broadcast_to(x[:, None], superposed.shape[:2]) for x in (chi, v))
    for q in range(ramps.shape[1] - 1):
        chi_u, v_u = advance(chi_u, v_u, superposed[:, :, q])
    return Predicted(chi=chi_u, v=v_u, a=superposed[:, :, -1])


def superpose(plan: FloatArray, ramps: FloatArray, choice: IntArray, act: BoolArray) -> FloatArray:
    """Add the chosen action to the plan where the vehicle acts (2.13)."""
    return plan + np.where(act[:, None], ramps[choice], 0.0)


def shift_plan(plan: FloatArray, *, jerk: bool) -> FloatArray:
    """The plan as seen one step later: the last level stays (jerk control) or zeros enter (acceleration control)."""
    last = plan[:, -1:] if jerk else np.zeros_like(plan[:, -1:])
    return np.concatenate([plan[:, 1:], last], axis=1)
