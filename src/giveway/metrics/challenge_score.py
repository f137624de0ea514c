"""The challenge metric of many cases: means of the terms, and counts beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from giveway.metrics.challenge import DEFAULT, ChallengeRules, ChallengeTerms, score_of


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
        score=score_of(s_eff, s_jer, s_vel, s_cou),
    )
