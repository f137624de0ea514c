"""What a set of drives amounts to: means, intervals, differences between predictors, rank agreement."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.errors import UsageError
from giveway.core.seeds import stream
from giveway.metrics.challenge import ChallengeRules, ChallengeTerms, score_of
from giveway.metrics.challenge_score import ChallengeScore, challenge_score, with_worst_values
from giveway.stats.bootstrap import Interval
from giveway.stats.clusters import ClusterDraws
from giveway.stats.ranks import RankAgreement, rank_agreement

FAILED_ARE = {True: "left out of the means", False: "scored with the worst values of the rest"}
"""What the rules of a metric do with failed cases, by ``drop_failed``."""

TERMS = ("s_eff", "s_jer", "s_vel", "s_cou", "score")


MAX_FAILED = 0.1
"""With a larger share of failed cases a row has no Score, interval or rank unless a partial one is asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """One predictor (or the recorded humans) over all cases.

    Attributes:
        name: how tables call it.
        rules: variant of the challenge metric.
        terms: per case, in the order of the cases.
        score: means and counts.
        intervals: term to its interval over recordings; empty with fewer than two cases.
        means: further metrics, averaged over the cases where they are defined.
        more: case to further metrics, of cases that finished.
    """

    name: str
    rules: ChallengeRules
    terms: tuple[ChallengeTerms, ...]
    score: ChallengeScore
    intervals: Mapping[str, Interval]
    means: Mapping[str, float]
    more: Mapping[str, Mapping[str, float]]

    @property
    def is_partial(self) -> bool:
        """Whether too many cases failed for a Score."""
        return self.score.failed > MAX_FAILED * self.score.cases

    def counted(self) -> dict[str, tuple[float, float, float, float]]:
        """Case to efficiency, jerk, velocity, courtesy; failed runs scored worst or left out, as the rules say."""
        kept = [t for t in self.terms if not t.failed] if self.rules.drop_failed else with_worst_values(self.terms)
        return {t.case_id: t.four for t in kept}


def draws_of(cases: Iterable[str], recordings: Mapping[str, str] | None = None, *, seed: int = 0) -> ClusterDraws:
    """Resamples of the recordings of some cases, the same for everything that is measured on them.

    Args:
        cases: at least two.
        recordings: case to recording; every case stands for itself without it.
        seed: of the resampling.
    """
    known = recordings or {}
    return ClusterDraws({case: known.get(case, case) for case in cases}, rng=stream(seed, "recordings"))


def summarize(
    name: str,
    terms: Sequence[ChallengeTerms],
    rules: ChallengeRules,
    *,
    recordings: Mapping[str, str] | None = None,
    more: Mapping[str, Mapping[str, float]] | None = None,
    seed: int = 0,
) -> Scored:
    """Score a set of runs.

    Args:
        name: of the predictor.
        terms: one per case under these rules, failed ones included.
        rules: variant of the challenge metric.
        recordings: case to recording; cases are resampled without it.
        more: case to further scalars, of cases that finished.
        seed: of the resampling.
    """
    if not terms:
        raise UsageError("nothing to score", found="no cases")
    scored = Scored(
        name=name,
        rules=rules,
        terms=tuple(terms),
        score=challenge_score(terms, rules),
        intervals={},
        means=_means(list((more or {}).values())),
        more=more or {},
    )
    counted = scored.counted()
    if len(counted) < 2:
        return scored
    draws = draws_of(counted, recordings, seed=seed)
    found = drawn_terms(draws, counted)
    return replace(scored, intervals={term: draws.interval(found[:, k]) for k, term in enumerate(TERMS)})


def drawn_terms(draws: ClusterDraws, counted: Mapping[str, tuple[float, float, float, float]]) -> FloatArray:
    """(1 + B, 5) the four means and the Score, of all cases and of every resample."""
    means = draws.means(list(counted), np.array(list(counted.values())))
    return np.column_stack([means, score_of(means[:, 0], means[:, 1:].sum(axis=1))])


@dataclass(frozen=True, slots=True, kw_only=True)
class Paired:
    """Two rows on the cases that both have finished.

    Attributes:
        intervals: term to the interval of first minus second.
        cases: how many.
        differences: case to the difference of Score; NaN where efficiency is undefined.
    """

    intervals: Mapping[str, Interval]
    cases: int
    differences: Mapping[str, float]


def compare(first: Scored, second: Scored, *, recordings: Mapping[str, str] | None = None) -> Paired:
    """Paired intervals of ``first - second`` for every term, on the cases that both have finished.

    Raises:
        UsageError: fewer than two such cases.
    """
    one, two = ({t.case_id: t.four for t in s.terms if not t.failed} for s in (first, second))
    shared = [case for case in one if case in two]
    if len(shared) < 2:
        raise UsageError(
            "a paired interval needs at least two cases that both have driven",
            where=f"{first.name}, {second.name}",
            found=len(shared),
        )
    draws = draws_of(shared, recordings)
    both = [{case: terms[case] for case in shared} for terms in (one, two)]
    gap = drawn_terms(draws, both[0]) - drawn_terms(draws, both[1])
    scores = [np.array([score_of(*terms[case]) for case in shared]) for terms in both]
    return Paired(
        intervals={term: draws.interval(gap[:, k]) for k, term in enumerate(TERMS)},
        cases=len(shared),
        differences=dict(zip(shared, (scores[0] - scores[1]).tolist(), strict=True)),
    )


def open_against_closed_loop(
    scored: Sequence[Scored], draws: ClusterDraws, errors: Sequence[Mapping[str, float]] | None = None
) -> RankAgreement | None:
    """Rank agreement between displacement error and closed-loop score over predictors, with its interval.

    Recordings are resampled, and both sides computed again on each resample. The error is negated, so that +1 means:
    the smaller the error, the better the drive. None with fewer than three predictors that have both.

    Args:
        scored: predictors with one planner.
        draws: resamples of the recordings.
        errors: per predictor, case to open-loop error; without it the error of the predictions made during the drives.
    """
    sides: list[tuple[FloatArray, FloatArray]] = []
    for k, one in enumerate(scored):
        given = errors[k] if errors is not None else {c: v.get("ade_m", math.nan) for c, v in one.more.items()}
        known = {case: value for case, value in given.items() if math.isfinite(value)}
        counted = one.counted()
        if known and len(counted) > 1 and not one.is_partial:
            error = draws.means(list(known), np.array(list(known.values())))[:, 0]
            sides.append((-error, drawn_terms(draws, counted)[:, 4]))
    if len(sides) < 3:
        return None
    x, y = (np.column_stack([side[k] for side in sides]) for k in (0, 1))
    return rank_agreement(x, y, num_units=draws.num_units)


def coverage(cases: int, failed: int) -> str:
    """Over how many cases a row speaks: ``48 cases``, or ``44 of 48 cases, 4 failed``."""
    return f"{cases - failed} of {cases} cases, {failed} failed" if failed else f"{cases} cases"


def as_json(scored: Scored) -> dict[str, Any]:
    """Plain values for ``--json``; the keys of the challenge's evaluator first."""
    score = scored.score
    return {
        "name": scored.name,
        "metric": scored.rules.name,
        "n_col": score.n_col,
        "s_eff": score.s_eff,
        "s_jer": score.s_jer,
        "s_vel": score.s_vel,
        "s_cou": score.s_cou,
        "score": score.score,
        "cases": score.cases,
        "failed": score.failed,
        "coverage": coverage(score.cases, score.failed),
        "partial": scored.is_partial,
        "failed_are": FAILED_ARE[scored.rules.drop_failed],
        "n_col_ego": score.n_col_ego,
        "n_col_any_pair": score.n_col_any_pair,
        "n_col_at_fault": score.n_col_at_fault,
        "no_progress_expected": score.no_progress_expected,
        "intervals": {term: [i.low, i.high] for term, i in scored.intervals.items()},
        "means": dict(scored.means),
        "per_case": [
            {
                "case": t.case_id,
                "collided": t.collided,
                "at_fault": t.ego_at_fault,
                "efficiency": t.efficiency,
                "efficiency_unclamped": t.efficiency_unclamped,
                "jerk": t.jerk,
                "velocity": t.velocity,
                "courtesy": t.courtesy,
                "missing_targets": list(t.missing_targets),
                "failed": t.failed,
                "warnings": list(t.warnings),
            }
            for t in scored.terms
        ],
    }


def _nanmean(values: FloatArray) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else math.nan


def _means(more: Sequence[Mapping[str, float]]) -> dict[str, float]:
    names = list(dict.fromkeys(name for row in more for name in row))
    return {name: _nanmean(np.array([row.get(name, math.nan) for row in more], dtype=np.float64)) for name in names}
