"""Which samples can be used at their prediction time, and why the others cannot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray, IntArray
from giveway.gaps.prediction_time import DT_S, NOT_CONSTANT_S, STANDING_MPS
from giveway.gaps.times import GapTimes

REASONS = {
    "kept": "",
    "yielded": "T went first because E gave way to it: a third outcome, counted apart",
    "no_decision": "T neither accepts nor rejects while the gap is observed",
    "role_conflict": "the vehicles ahead of and behind E pass in another order",
    "no_horizon": "E stands when the tracks end, so the gap never closes",
    "always_critical": "E could not stop any more when the gap opened",
    "before_open": "the prediction time lies before the gap opens",
    "decided": "the decision has been made, or E can no longer stop, at the prediction time",
    "short_history": "the tracks do not reach far enough back for the inputs",
    "standing": "E stands at the prediction time, so the gap has no size in seconds",
    "negotiation": "E and T both stand at the prediction time: they negotiate, nobody offers a gap",
    "not_constant": "the gap at the prediction time is more than 0.3 s off its constant size, because E speeds up",
    "nan_input": "E or T is not recorded on the whole input grid",
}
"""Why a sample is not used, in the order in which the rules are applied."""

WHY_UNDECIDED = {
    "ego_not_in_place": "E is not where the gap exists when the decision falls",
    "predecessor_in_way": "the vehicle ahead of E is still in the way when the decision falls",
    "already_past": "E or T is past the place when both are first recorded",
    "not_open": "the vehicle ahead of E has not cleared the contested place",
    "neither_passes": "nobody passes while both are recorded",
}
"""Sub-reasons of ``no_decision``."""

REASON_CODES = {reason: code for code, reason in enumerate(REASONS)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """Attributes:
    reason: (N,) code of :data:`REASONS`; 0 where the sample is kept.
    t_0_s: (N,) prediction time, possibly moved by the relaxed mode [s].
    """

    reason: IntArray
    t_0_s: FloatArray

    @property
    def kept(self) -> IntArray:
        """Indices of the samples that can be used."""
        return np.flatnonzero(self.reason == 0)


def admit(
    times: GapTimes,
    t_0_s: FloatArray,
    *,
    num_input: int,
    num_input_max: int,
    relaxed: bool = False,
    yielded: BoolArray | None = None,
    last: Literal["critical", "closing"] = "critical",
) -> Admission:
    """Apply the admission rules.

    ::

        lower = tau_0 + (max(n_I, n_I,max) - 1) dt
        keep iff t_S <= t_0 < min(t_A, t_crit) and t_0 >= lower

    Args:
        times: characteristic times of N samples.
        t_0_s: (N,) wanted prediction times [s].
        num_input: n_I.
        num_input_max: n_I,max, input length every sample must support so that input lengths share their samples.
        relaxed: move t_0 up to ``lower`` where the tracks begin too late.
        yielded: (N,) where E gave way, see :mod:`giveway.gaps.extractions.pedestrians`; nowhere if left out.
        last: a prediction must come before T decides and before E can no longer stop (``critical``) or before E
            arrives (``closing``).

    Returns:
        A reason per sample and the prediction times.
    """
    lower = times.t_begin_s + (max(num_input, num_input_max) - 1) * DT_S
    t_0 = np.where(t_0_s >= times.t_open_s, np.maximum(t_0_s, lower), t_0_s) if relaxed else t_0_s.copy()
    limit = np.minimum(times.t_accept_s, times.t_crit_s if last == "critical" else times.t_close_s)
    reason = np.zeros(len(t_0), dtype=np.int64)
    for name, fails in (
        ("yielded", np.zeros(len(t_0), dtype=np.bool_) if yielded is None else yielded),
        ("no_decision", ~times.is_decided),
        ("no_horizon", ~np.isfinite(times.t_close_s)),
        ("always_critical", (times.t_crit_s <= times.t_open_s) & (last == "critical")),
        ("before_open", t_0 < times.t_open_s),
        ("decided", t_0 >= limit),
        ("short_history", t_0 < lower),
    ):
        reason[(reason == 0) & fails] = REASON_CODES[name]
    return Admission(reason=reason, t_0_s=t_0)


def without_standing(
    admission: Admission,
    *,
    ego_mps: FloatArray,
    target_mps: FloatArray,
    gap_s: FloatArray,
    delta_t_s: float | None,
) -> Admission:
    """Leave out gaps that have no size in seconds because E stands, or none that is constant.

    ::

        standing      v_E(t_0) < 1 m/s         negotiation   v_T(t_0) < 1 m/s as well
        not_constant  |G(t_0) - Delta_t| > 0.3 s, where Delta_t is given

    Args:
        admission: so far.
        ego_mps, target_mps: (N,) speeds at t_0 [m/s].
        gap_s: (N,) G at t_0 [s].
        delta_t_s: gap size of constant prediction times; None for the others.
    """
    reason = admission.reason.copy()
    with np.errstate(invalid="ignore"):
        stands = (reason == 0) & (ego_mps < STANDING_MPS)
        reason[stands] = REASON_CODES["standing"]
        reason[stands & (target_mps < STANDING_MPS)] = REASON_CODES["negotiation"]
        if delta_t_s is not None:
            reason[(reason == 0) & (np.abs(gap_s - delta_t_s) > NOT_CONSTANT_S)] = REASON_CODES["not_constant"]
    return Admission(reason=reason, t_0_s=admission.t_0_s)
