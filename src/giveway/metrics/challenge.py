"""The terms of the 2020 closed-loop challenge for one case: as coded, as printed, and the project's own variant.

::

    Score = 10 S_eff - S_jer - S_vel - S_cou

over the means of four per-case terms; collisions are counted beside it and are not part of it. What the three variants
do differently is one :class:`ChallengeRules` each; each is a registered metric of logs
(:mod:`giveway.metrics.challenge_logs`), and :mod:`giveway.metrics.challenge_score` takes the means over cases.

Reference:
    INTERPRET challenge, closed-loop track: metric document and evaluator (2020). ``challenge_coded`` equals the
    evaluator to all printed digits on its seven published logs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeVar

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.errors import UnknownNameError
from giveway.metrics.speeds import Normalizer, SpeedRecord, rms_jerk, rms_shortfall

T = TypeVar("T", float, FloatArray)

WEIGHT_EFFICIENCY = 10.0
"""Weight of S_eff; the three costs have weight -1."""

PROGRESS_FLOOR_M = 0.1
"""Epsilon in numerator and denominator of the progress ratio, as nuPlan does [m]."""

NO_PROGRESS_EXPECTED_M = 1.0
"""Below this recorded progress a case says nothing about efficiency and is left out of S_eff [m]."""

MIN_SAMPLES_FOR_JERK = 3

EVALUATOR_SPEED_MPS = 8.0
"""v_d of the evaluator, for every site; the document names no number [m/s]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChallengeRules:
    """What the variants of the metric disagree about.

    Attributes:
        name: how tables call it.
        normalizer: what the sums of squares are divided by: all samples (as coded), one less (as the document prints)
            or only the samples that have a second difference.
        printed_efficiency: e = progress over recorded progress and nothing else: no clamp at 0 or 1, no 1 for an ego
            that left early, undefined without recorded progress.
        leave_out_waiting: leave cases without recorded progress out of S_eff, and use the floor of 0.1 m.
        one_target: only the first listed right-of-way car that is reactive counts, else the first listed; else all.
        desired_speed_mps: v_d; None takes that of the case.
        count: whose collisions ``n_col`` counts.
        drop_failed: leave failed runs out of the means (as the evaluator did) instead of scoring them worst.
        stop_at_collision: evaluate samples up to and including the ego's first collision only.
    """

    name: str
    normalizer: Normalizer = "n"
    printed_efficiency: bool = False
    leave_out_waiting: bool = True
    one_target: bool = False
    desired_speed_mps: float | None = None
    count: Literal["any_pair", "ego"] = "ego"
    drop_failed: bool = False
    stop_at_collision: bool = False


AS_CODED = ChallengeRules(
    name="challenge_coded",
    leave_out_waiting=False,
    desired_speed_mps=EVALUATOR_SPEED_MPS,
    count="any_pair",
    drop_failed=True,
)
AS_DOCUMENTED = ChallengeRules(
    name="challenge_documented",
    normalizer="n-1",
    printed_efficiency=True,
    leave_out_waiting=False,
    one_target=True,
    desired_speed_mps=EVALUATOR_SPEED_MPS,
    count="any_pair",
    drop_failed=True,
)
DEFAULT = ChallengeRules(name="challenge")
RULES = {rules.name: rules for rules in (DEFAULT, AS_CODED, AS_DOCUMENTED)}
OTHER_NAMES = {
    "default": "challenge",
    "as_coded": "challenge_coded",
    "as_documented": "challenge_documented",
    "printed": "challenge_documented",
    "challenge_printed": "challenge_documented",
}
"""How release 0.1 spelled the variants, and the names of profile ``printed``; cells keep the registered name."""


def rules_called(name: str) -> ChallengeRules:
    """The variant with this name.

    Raises:
        UnknownNameError: naming the nearest ones.
    """
    known = OTHER_NAMES.get(name, name)
    if known not in RULES:
        raise UnknownNameError("variant of the challenge metric", name, [*RULES, "challenge_printed"])
    return RULES[known]


def score_of(s_eff: T, s_jer: T, s_vel: T | float = 0.0, s_cou: T | float = 0.0) -> T:
    """10 S_eff - S_jer - S_vel - S_cou, of numbers or arrays; costs that are summed already count as one."""
    return WEIGHT_EFFICIENCY * s_eff - s_jer - s_vel - s_cou


@dataclass(frozen=True, slots=True, kw_only=True)
class ChallengeInputs:
    """What the metric needs to know about one run of one case.

    Attributes:
        case_id: identifier.
        dt_s: sampling interval; must be 0.1 s, resample before if it is not.
        ego: speed of the ego.
        targets: right-of-way car to its speed, in the order listed; None if it was never present.
        reactive: cars that react to the ego.
        progress_m: distance of the ego along its recorded path since the start.
        expected_progress_m: distance of the recorded ego.
        ego_left: the ego reached the end of its path before the end of the case.
        desired_speed_mps: v_d.
        any_pair_collided: any two of the cars checked collided.
        ego_collided: the ego collided.
        ego_at_fault: the ego collided and was at fault; None if it is not known.
        first_ego_collision: tick of the ego's first collision, or None.
        progress_at_collision_m: ``progress_m`` at that tick.
        failed: why the run did not finish; empty if it did.
    """

    case_id: str
    dt_s: float
    ego: SpeedRecord
    targets: dict[str, SpeedRecord | None]
    progress_m: float
    expected_progress_m: float
    reactive: frozenset[str] = frozenset()
    ego_left: bool = False
    desired_speed_mps: float = 8.0
    any_pair_collided: bool = False
    ego_collided: bool = False
    ego_at_fault: bool | None = None
    first_ego_collision: int | None = None
    progress_at_collision_m: float = float("nan")
    failed: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChallengeTerms:
    """The terms of one case.

    Attributes:
        case_id: identifier.
        collided: counts into n_col under the rules.
        any_pair_collided: see :class:`ChallengeInputs`.
        ego_collided: see :class:`ChallengeInputs`.
        ego_at_fault: see :class:`ChallengeInputs`.
        efficiency: e_i; NaN if the case is left out of S_eff.
        efficiency_unclamped: the same without the clamp at 1.
        jerk: s_jer [m/s^3].
        velocity: s_vel [m/s].
        courtesy: s_cou, sum over targets of both.
        courtesy_mean: the same as a mean over the targets that were present; 0 without any.
        missing_targets: right-of-way cars that were never present; they contribute 0.
        num_samples: ego samples used.
        failed: why the run did not finish.
        warnings: what a reader should know.
    """

    case_id: str
    collided: bool
    any_pair_collided: bool
    ego_collided: bool
    ego_at_fault: bool | None
    efficiency: float
    efficiency_unclamped: float
    jerk: float
    velocity: float
    courtesy: float
    courtesy_mean: float
    missing_targets: tuple[str, ...] = ()
    num_samples: int = 0
    failed: str = ""
    warnings: tuple[str, ...] = field(default_factory=tuple)

    @property
    def four(self) -> tuple[float, float, float, float]:
        """Efficiency, jerk, velocity, courtesy: what means and intervals are taken of."""
        return self.efficiency, self.jerk, self.velocity, self.courtesy


def failed_terms(case_id: str, reason: str) -> ChallengeTerms:
    """A run that did not finish: no term is known."""
    nan = float("nan")
    return ChallengeTerms(
        case_id=case_id,
        collided=False,
        any_pair_collided=False,
        ego_collided=False,
        ego_at_fault=None,
        efficiency=nan,
        efficiency_unclamped=nan,
        jerk=nan,
        velocity=nan,
        courtesy=nan,
        courtesy_mean=nan,
        failed=reason,
    )


def challenge_terms(inputs: ChallengeInputs, rules: ChallengeRules = DEFAULT) -> ChallengeTerms:
    """The terms of one case under one set of rules; edge cases as listed in docs/drive/metrics.md."""
    if inputs.failed:
        return failed_terms(inputs.case_id, inputs.failed)
    cut = inputs.first_ego_collision if rules.stop_at_collision else None
    ego = _until(inputs.ego, cut)
    warnings: list[str] = []
    if int(ego.present.sum()) < MIN_SAMPLES_FOR_JERK:
        warnings.append(f"only {int(ego.present.sum())} ego samples: jerk set to 0")
    efficiency, unclamped = _efficiency(inputs, rules, stopped=cut is not None)
    if np.isnan(efficiency):
        warnings.append("no recorded progress to compare with: left out of S_eff")
    costs = courtesy_costs(inputs, rules)
    present = [cost for cost in costs.values() if cost is not None]
    return ChallengeTerms(
        case_id=inputs.case_id,
        collided=inputs.any_pair_collided if rules.count == "any_pair" else inputs.ego_collided,
        any_pair_collided=inputs.any_pair_collided,
        ego_collided=inputs.ego_collided,
        ego_at_fault=inputs.ego_at_fault,
        efficiency=efficiency,
        efficiency_unclamped=unclamped,
        jerk=rms_jerk(ego, inputs.dt_s, rules.normalizer),
        velocity=rms_shortfall(ego, desired_speed(inputs, rules), rules.normalizer),
        courtesy=float(sum(present)),
        courtesy_mean=float(np.mean(present)) if present else 0.0,
        missing_targets=tuple(car for car, cost in costs.items() if cost is None),
        num_samples=int(ego.present.sum()),
        warnings=tuple(warnings),
    )


def courtesy_costs(inputs: ChallengeInputs, rules: ChallengeRules = DEFAULT) -> dict[str, float | None]:
    """Right-of-way car to its rms jerk plus its rms shortfall of speed; None for a car that was never present."""
    cut = inputs.first_ego_collision if rules.stop_at_collision else None
    costs: dict[str, float | None] = {}
    for car in _targets(inputs, rules):
        record = inputs.targets[car]
        clipped = None if record is None else _until(record, cut)
        if clipped is None or not clipped.present.any():
            costs[car] = None
            continue
        costs[car] = rms_jerk(clipped, inputs.dt_s, rules.normalizer) + rms_shortfall(
            clipped, desired_speed(inputs, rules), rules.normalizer
        )
    return costs


def desired_speed(inputs: ChallengeInputs, rules: ChallengeRules) -> float:
    """v_d under these rules [m/s]."""
    return inputs.desired_speed_mps if rules.desired_speed_mps is None else rules.desired_speed_mps


def _targets(inputs: ChallengeInputs, rules: ChallengeRules) -> list[str]:
    """Right-of-way cars that count."""
    listed = list(inputs.targets)
    if not rules.one_target:
        return listed
    return [car for car in listed if car in inputs.reactive][:1] or listed[:1]


def _until(record: SpeedRecord, last: int | None) -> SpeedRecord:
    """Samples up to and including ``last``."""
    if last is None:
        return record
    return SpeedRecord(speed=record.speed[: last + 1], present=record.present[: last + 1])


def _efficiency(inputs: ChallengeInputs, rules: ChallengeRules, *, stopped: bool) -> tuple[float, float]:
    """Efficiency under the rules and without a clamp at 1; NaN if the case is left out."""
    progress = inputs.progress_at_collision_m if stopped else inputs.progress_m
    expected = inputs.expected_progress_m
    if rules.printed_efficiency:
        ratio = progress / expected if expected > 0 else float("nan")
        return ratio, ratio
    if inputs.ego_left and not stopped:
        return 1.0, 1.0
    progress = max(progress, 0.0)
    if rules.leave_out_waiting:
        if expected < NO_PROGRESS_EXPECTED_M:
            return float("nan"), float("nan")
        ratio = max(progress, PROGRESS_FLOOR_M) / max(expected, PROGRESS_FLOOR_M)
    elif expected > 0:
        ratio = progress / expected
    else:
        ratio = 1.0
    return min(ratio, 1.0), ratio
