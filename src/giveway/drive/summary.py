"""What a set of drives amounts to: means, intervals, differences between predictors, rank agreement."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from giveway.core.arrays import FloatArray, IntArray
from giveway.core.errors import UsageError
from giveway.core.seeds import stream
from giveway.metrics.challenge import ChallengeRules, ChallengeTerms, score_of
from giveway.metrics.challenge_score import ChallengeScore, challenge_score, with_worst_values
from giveway.stats.bootstrap import Interval, bootstrap, paired_bootstrap
from giveway.stats.ranks import RankAgreement, rank_agreement

FAILED_ARE = {True: "left out of the means", False: "scored with the worst values of the rest"}
"""What the rules of a metric do with failed cases, by ``drop_failed``."""

TERMS = ("s_eff", "s_jer", "s_vel", "s_cou", "score")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """One predictor (or the recorded humans) over all cases.

    Attributes:
        name: how tables call it.
        rules: variant of the challenge metric.
        terms: per case, in the order of the cases.
        score: means and counts.
        intervals: term to its bootstrap interval over cases; empty with fewer than two cases.
        means: further metrics, averaged over the cases where they are defined.
    """

    name: str
    rules: ChallengeRules
    terms: tuple[ChallengeTerms, ...]
    score: ChallengeScore
    intervals: Mapping[str, Interval]
    means: Mapping[str, float]


def summarize(
    name: str,
    terms: Sequence[ChallengeTerms],
    rules: ChallengeRules,
    *,
    more: Sequence[Mapping[str, float]] = (),
    seed: int = 0,
) -> Scored:
    """Score a set of runs.

    Args:
        name: of the predictor.
        terms: one per case under these rules, failed ones included.
        rules: variant of the challenge metric.
        more: further scalars per case that finished.
        seed: of the resampling.
    """
    if not terms:
        raise UsageError("nothing to score", found="no cases")
    table = term_table(terms, rules)
    intervals: dict[str, Interval] = {}
    if len(table) >= 2:
        for column, term in enumerate(TERMS):
            rng = stream(seed, "bootstrap", name, term)
            intervals[term] = bootstrap(_mean_of(table, column), len(table), rng=rng, method="percentile")
    return Scored(
        name=name,
        rules=rules,
        terms=tuple(terms),
        score=challenge_score(terms, rules),
        intervals=intervals,
        means=_means(more),
    )


def term_table(terms: Sequence[ChallengeTerms], rules: ChallengeRules) -> FloatArray:
    """(cases, 4) efficiency, jerk, velocity, courtesy; failed runs scored worst or left out, as the rules say."""
    counted = [t for t in terms if not t.failed] if rules.drop_failed else with_worst_values(terms)
    return np.array([t.four for t in counted]).reshape(-1, 4)


def compare(first: Scored, second: Scored, *, seed: int = 0) -> dict[str, Interval]:
    """Paired intervals of ``first - second`` for every term, resampling cases.

    Only cases that both have driven and that count for both are used, each by its own rules for failed runs.

    Raises:
        UsageError: fewer than two such cases.
    """
    one, two = ({t.case_id: t for t in with_worst_values(s.terms)} for s in (first, second))
    dropped = {t.case_id for s in (first, second) if s.rules.drop_failed for t in s.terms if t.failed}
    shared = [case for case in one if case in two and case not in dropped]
    if len(shared) < 2:
        raise UsageError(
            "a paired interval needs at least two cases that both have driven",
            where=f"{first.name}, {second.name}",
            found=len(shared),
        )
    tables = [np.array([terms[case].four for case in shared]) for terms in (one, two)]
    return {
        term: paired_bootstrap(
            _mean_of(tables[0], column),
            _mean_of(tables[1], column),
            len(shared),
            rng=stream(seed, "paired", first.name, second.name, term),
            method="percentile",
        )
        for column, term in enumerate(TERMS)
    }


def open_against_closed_loop(scored: Sequence[Scored], *, error: str = "ade_m", seed: int = 0) -> RankAgreement | None:
    """Rank agreement between displacement error and closed-loop score over predictors.

    The error is negated, so that +1 means: the smaller the error, the better the drive. None with fewer than three
    predictors that have both.
    """
    found = [(-s.means.get(error, math.nan), s.score.score) for s in scored]
    both = [pair for pair in found if not any(math.isnan(value) for value in pair)]
    if len(both) < 3:
        return None
    x, y = np.array(both).T
    return rank_agreement(x, y, rng=stream(seed, "ranks", error))


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


def _mean_of(table: FloatArray, column: int) -> Any:
    """Statistic of resampled rows: the mean of a term, or the score of all four means."""
    efficiency, costs = table[:, 0], table[:, 1:].sum(axis=1)
    values = table[:, column] if column < 4 else score_of(efficiency, costs)

    def mean(index: IntArray) -> float:
        return float(values[index].sum()) / index.size

    def known_mean(index: IntArray) -> float:
        return _nanmean(values[index])

    def score(index: IntArray) -> float:
        return score_of(_nanmean(efficiency[index]), float(costs[index].mean()))

    if not np.isnan(values).any():
        return mean
    return known_mean if column < 4 else score


def _nanmean(values: FloatArray) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else math.nan


def _means(more: Sequence[Mapping[str, float]]) -> dict[str, float]:
    names = list(dict.fromkeys(name for row in more for name in row))
    return {name: _nanmean(np.array([row.get(name, math.nan) for row in more], dtype=np.float64)) for name in names}
