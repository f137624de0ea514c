"""The metric of the 2020 closed-loop challenge: as coded, as documented, and the project's default.

::

    Score = 10 S_eff - S_jer - S_vel - S_cou

over the means of four per-case terms; collisions are counted beside it and are not part of it. What the three variants
do differently is one :class:`ChallengeRules` each.

Reference:
    INTERPRET challenge, closed-loop track: metric document and evaluator (2020). ``as_coded`` equals the evaluator to
    all printed digits on its seven published logs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray
from giveway.core.errors import UnknownNameError

Normalizer = Literal["n", "n-1", "valid"]

WEIGHT_EFFICIENCY = 10.0
"""Weight of S_eff; the three costs have weight -1."""

PROGRESS_FLOOR_M = 0.1
"""Epsilon in numerator and denominator of the progress ratio, as nuPlan does [m]."""

NO_PROGRESS_EXPECTED_M = 1.0
"""Below this recorded progress a case says nothing about efficiency and is left out of S_eff [m]."""

MIN_SAMPLES_FOR_JERK = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ChallengeRules:
    """What the variants of the metric disagree about.

    Attributes:
        name: how tables call it.
        normalizer: what the sums of squares are divided by: all samples (as coded), one less (as the document prints)
            or only the samples that have a second difference.
        clamp_efficiency: whether a case can earn more than 1.
        leave_out_waiting: leave cases without recorded progress out of S_eff, and use the floor of 0.1 m.
        num_targets: how many right-of-way cars count, in the order they are listed; None for all.
        count: whose collisions ``n_col`` counts.
        drop_failed: leave failed runs out of the means (as the evaluator did) instead of scoring them worst.
        stop_at_collision: evaluate samples up to and including the ego's first collision only.
    """

    name: str
    normalizer: Normalizer = "n"
    clamp_efficiency: bool = True
    leave_out_waiting: bool = True
    num_targets: int | None = None
    count: Literal["any_pair", "ego"] = "ego"
    drop_failed: bool = False
    stop_at_collision: bool = False


AS_CODED = ChallengeRules(name="as_coded", leave_out_waiting=False, count="any_pair", drop_failed=True)
AS_DOCUMENTED = ChallengeRules(
    name="as_documented",
    normalizer="n-1",
    clamp_efficiency=False,
    leave_out_waiting=False,
    num_targets=1,
    count="any_pair",
    drop_failed=True,
)
DEFAULT = ChallengeRules(name="default")
RULES = {rules.name: rules for rules in (DEFAULT, AS_CODED, AS_DOCUMENTED)}


def rules_called(name: str) -> ChallengeRules:
    """The variant with this name.

    Raises:
        UnknownNameError: naming the nearest ones.
    """
    if name not in RULES:
        raise UnknownNameError("variant of the challenge metric", name, RULES)
    return RULES[name]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedRecord:
    """Speed of one car over a case.

    Attributes:
        speed: (T,) m/s; anything where absent.
        present: (T,) bool.
    """

    speed: FloatArray
    present: BoolArray


@dataclass(frozen=True, slots=True, kw_only=True)
class ChallengeInputs:
    """What the metric needs to know about one run of one case.

    Attributes:
        case_id: identifier.
        dt_s: sampling interval; must be 0.1 s, resample before if it is not.
        ego: speed of the ego.
        targets: right-of-way car to its speed, in the order listed; None if it was never present.
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
    def score(self) -> float:
        """10 e - s_jer - s_vel - s_cou of this case; NaN if the case is left out of S_eff."""
        return WEIGHT_EFFICIENCY * self.efficiency - self.jerk - self.velocity - self.courtesy


def jerk_of_speed(speed: FloatArray, dt_s: float) -> FloatArray:
    """Second difference of scalar speed, unsmoothed.

        j_k = (v_k - 2 v_{k-1} + v_{k-2}) / dt^2,   j_0 = j_1 = 0

    Args:
        speed: (T,) m/s without gaps.
        dt_s: sampling interval.

    Returns:
        (T,) m/s^3.
    """
    jerk = np.zeros(speed.shape)
    jerk[2:] = (speed[2:] - 2.0 * speed[1:-1] + speed[:-2]) / dt_s**2
    return jerk


def runs_of(present: BoolArray) -> list[tuple[int, int]]:
    """Half-open runs of True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], present, [False]]).astype(np.int8)))
    return [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def rms_jerk(record: SpeedRecord, dt_s: float, normalizer: Normalizer) -> float:
    """Root of the normalized sum of squared jerks; differences never cross a gap.

    Returns:
        m/s^3; 0 with fewer than three samples in every run.
    """
    runs = runs_of(record.present)
    squares = sum(float((jerk_of_speed(record.speed[a:b], dt_s) ** 2).sum()) for a, b in runs)
    count = {
        "n": sum(b - a for a, b in runs),
        "n-1": sum(b - a for a, b in runs) - 1,
        "valid": sum(max(b - a - 2, 0) for a, b in runs),
    }[normalizer]
    return float(np.sqrt(squares / count)) if count > 0 else 0.0


def rms_shortfall(record: SpeedRecord, desired_speed_mps: float, normalizer: Normalizer) -> float:
    """Root of the normalized sum of squares of min(v - v_d, 0).

    All samples are valid here, so ``valid`` equals ``n``.

    Returns:
        m/s; 0 without samples (with ``n-1``: with fewer than two).
    """
    short = np.minimum(record.speed[record.present] - desired_speed_mps, 0.0)
    count = short.size - 1 if normalizer == "n-1" else short.size
    return float(np.sqrt((short**2).sum() / count)) if count > 0 else 0.0


def challenge_terms(inputs: ChallengeInputs, rules: ChallengeRules = DEFAULT) -> ChallengeTerms:
    """The terms of one case under one set of rules; edge cases as listed in docs/drive/metrics.md."""
    if inputs.failed:
        nan = float("nan")
        return ChallengeTerms(
            case_id=inputs.case_id,
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
            failed=inputs.failed,
        )
    cut = inputs.first_ego_collision if rules.stop_at_collision else None
    ego = _until(inputs.ego, cut)
    warnings: list[str] = []
    if int(ego.present.sum()) < MIN_SAMPLES_FOR_JERK:
        warnings.append(f"only {int(ego.present.sum())} ego samples: jerk set to 0")
    efficiency, unclamped = _efficiency(inputs, rules, stopped=cut is not None)
    if np.isnan(efficiency):
        warnings.append("no progress expected: left out of S_eff")
    listed = list(inputs.targets.items())[: rules.num_targets]
    costs: list[float] = []
    missing: list[str] = []
    for car, record in listed:
        clipped = None if record is None else _until(record, cut)
        if clipped is None or not clipped.present.any():
            missing.append(car)
            continue
        costs.append(
            rms_jerk(clipped, inputs.dt_s, rules.normalizer)
            + rms_shortfall(clipped, inputs.desired_speed_mps, rules.normalizer)
        )
    return ChallengeTerms(
        case_id=inputs.case_id,
        collided=inputs.any_pair_collided if rules.count == "any_pair" else inputs.ego_collided,
        any_pair_collided=inputs.any_pair_collided,
        ego_collided=inputs.ego_collided,
        ego_at_fault=inputs.ego_at_fault,
        efficiency=efficiency,
        efficiency_unclamped=unclamped,
        jerk=rms_jerk(ego, inputs.dt_s, rules.normalizer),
        velocity=rms_shortfall(ego, inputs.desired_speed_mps, rules.normalizer),
        courtesy=float(sum(costs)),
        courtesy_mean=float(np.mean(costs)) if costs else 0.0,
        missing_targets=tuple(missing),
        num_samples=int(ego.present.sum()),
        warnings=tuple(warnings),
    )


def _until(record: SpeedRecord, last: int | None) -> SpeedRecord:
    """Samples up to and including ``last``."""
    if last is None:
        return record
    return SpeedRecord(speed=record.speed[: last + 1], present=record.present[: last + 1])


def _efficiency(inputs: ChallengeInputs, rules: ChallengeRules, *, stopped: bool) -> tuple[float, float]:
    """Clamped (or not) efficiency and the unclamped one; NaN if the case is left out."""
    if inputs.ego_left and not stopped:
        return 1.0, 1.0
    progress = max(inputs.progress_at_collision_m if stopped else inputs.progress_m, 0.0)
    expected = inputs.expected_progress_m
    if rules.leave_out_waiting:
        if expected < NO_PROGRESS_EXPECTED_M:
            return float("nan"), float("nan")
        ratio = max(progress, PROGRESS_FLOOR_M) / max(expected, PROGRESS_FLOOR_M)
    elif expected > 0:
        ratio = progress / expected
    else:
        ratio = 1.0
    return (min(ratio, 1.0) if rules.clamp_efficiency else ratio), ratio


@dataclass(frozen=True, slots=True, kw_only=True)
class ChallengeScore:
    """Means over cases.

    Attributes:
        rules: name of the variant.
        cases: number of cases, failed ones included.
        failed: runs that did not finish; scored worst or dropped, as the rules say, but always counted here.
        n_col: cases with a collision, as the rules count them.
        n_col_any_pair: cases with a collision between any two cars that were checked.
        n_col_ego: cases in which the ego collided.
        n_col_at_fault: cases in which the ego collided and was at fault; None if nobody assessed it.
        no_progress_expected: cases left out of S_eff.
        s_eff: mean efficiency.
        s_jer: mean of the jerk terms [m/s^3].
        s_vel: mean of the speed terms [m/s].
        s_cou: mean of the courtesy terms.
        score: 10 s_eff - s_jer - s_vel - s_cou.
    """

    rules: str
    cases: int
    failed: int
    n_col: int
    n_col_any_pair: int
    n_col_ego: int
    n_col_at_fault: int | None
    no_progress_expected: int
    s_eff: float
    s_jer: float
    s_vel: float
    s_cou: float
    score: float


def with_worst_values(terms: Sequence[ChallengeTerms]) -> list[ChallengeTerms]:
    """Failed runs with declared worst values: e = 0 and the largest cost of any run that finished; NaN if none did."""
    from dataclasses import replace

    done = [t for t in terms if not t.failed]
    worst = {name: max((getattr(t, name) for t in done), default=np.nan) for name in ("jerk", "velocity", "courtesy")}
    return [replace(t, efficiency=0.0, efficiency_unclamped=0.0, **worst) if t.failed else t for t in terms]


def challenge_score(terms: Sequence[ChallengeTerms], rules: ChallengeRules = DEFAULT) -> ChallengeScore:
    """Aggregate the cases; means are NaN if there is nothing to average."""
    counted = [t for t in terms if not t.failed] if rules.drop_failed else with_worst_values(terms)
    efficiency = [t.efficiency for t in counted if not np.isnan(t.efficiency)]
    s_eff, s_jer, s_vel, s_cou = (
        float(np.mean(values)) if values else float("nan")
        for values in (
            efficiency,
            [t.jerk for t in counted],
            [t.velocity for t in counted],
            [t.courtesy for t in counted],
        )
    )
    faults = [t.ego_at_fault for t in terms if t.ego_at_fault is not None]
    return ChallengeScore(
        rules=rules.name,
        cases=len(terms),
        failed=sum(bool(t.failed) for t in terms),
        n_col=sum(t.collided for t in terms),
        n_col_any_pair=sum(t.any_pair_collided for t in terms),
        n_col_ego=sum(t.ego_collided for t in terms),
        n_col_at_fault=sum(faults) if faults else None,
        no_progress_expected=len(counted) - len(efficiency),
        s_eff=s_eff,
        s_jer=s_jer,
        s_vel=s_vel,
        s_cou=s_cou,
        score=WEIGHT_EFFICIENCY * s_eff - s_jer - s_vel - s_cou,
    )
