"""Which models are not significantly worse than the best one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.gaps.judgment import Judgment, is_published_test
from giveway.gaps.metric_table import Scores
from giveway.metrics import MetricInfo
from giveway.stats.multiple import holm
from giveway.stats.paired import ALPHA, PairedTest, corrected_t_test
from giveway.stats.ranks import tied_runs

MIN_SPLITS = 5
"""Fewer differences than this decide nothing, so nothing is marked.

Over three splits the corrected test finds an advantage of 2.2 deviations at the earliest, over five one of 1.4, over
ten one of 1.1: with three, nearly every model would be "not significantly worse".
"""

NO_TIES = "No ties are marked"
"""Begins the sentence of a caption that says so."""


def can_decide(num_splits: int) -> bool:
    """Whether a test over this many splits has the power to call a model worse."""
    return num_splits >= MIN_SPLITS


def tie_caption(num_splits: int, test: str, more: str = "") -> str:
    """What the mark of a tie means, or why there is none."""
    if can_decide(num_splits):
        return f"~ or ≈: not significantly worse than the best (one-sided {test}, 5 %{more})."
    return f"{NO_TIES}: {num_splits} splits are too few to call a model worse (at least {MIN_SPLITS})."


def paired_differences(first: Scores, second: Scores, info: MetricInfo) -> FloatArray:
    """(R,) differences on the splits both have, oriented so that positive means ``first`` is better."""
    theirs = dict(zip(second.repetition, second.value, strict=True))
    pairs = [(v, theirs[r]) for r, v in zip(first.repetition, first.value, strict=True) if r in theirs]
    difference = np.array([info.orient(a - b) for a, b in pairs], dtype=np.float64)
    return difference[np.isfinite(difference)]


def split_test(difference: FloatArray, judgment: Judgment) -> PairedTest:
    """The published paired t-test in ``paper``, the corrected resampled one in ``clean``."""
    return judgment.t_test(difference) if is_published_test(judgment.profile) else corrected_t_test(difference)


def tied_on_random_splits(
    scores: Mapping[str, Scores], best: str | None, info: MetricInfo, judgment: Judgment
) -> frozenset[str]:
    """Models over which the best one has no significant advantage; in ``clean`` corrected after Holm.

    None at all with fewer than :data:`MIN_SPLITS` splits.
    """
    if best is None:
        return frozenset()
    tests: dict[str, float] = {}
    for model, other in scores.items():
        difference = paired_differences(scores[best], other, info)
        if model != best and can_decide(difference.size):
            tests[model] = split_test(difference, judgment).p_value
    p_values = np.array(list(tests.values()))
    if not is_published_test(judgment.profile):
        p_values = holm(p_values)
    return frozenset(m for m, p in zip(tests, p_values, strict=True) if p >= ALPHA)


def tie_groups(scores: Mapping[str, Scores], info: MetricInfo, judgment: Judgment) -> list[tuple[str, ...]]:
    """Models from best to worst in runs of ties, see :func:`giveway.stats.ranks.tied_runs`.

    With fewer than :data:`MIN_SPLITS` splits nothing is told apart. Models without a value are left out.
    """
    means = {m: float(np.nanmean(s.value)) for m, s in scores.items() if np.isfinite(s.value).any()}

    ordered = sorted(means, key=lambda m: -info.orient(means[m]))

    @cache
    def tied_with(best: str) -> frozenset[str]:
        """Among those behind it, which the correction for many comparisons counts."""
        behind = ordered[ordered.index(best) :]
        if all(can_decide(paired_differences(scores[best], scores[m], info).size) for m in behind[1:]):
            return frozenset(tied_on_random_splits({m: scores[m] for m in behind}, best, info, judgment))
        return frozenset(behind)

    return tied_runs(ordered, lambda best, model: model in tied_with(best))


def tied_on_critical_split(
    scores: Mapping[str, Scores], best: str | None, info: MetricInfo, judgment: Judgment
) -> frozenset[str]:
    """The same for the critical split, measured in deviations over the random ones."""
    if best is None:
        return frozenset()
    tied: set[str] = set()
    for model, other in scores.items():
        difference = paired_differences(scores[best], other, info)
        gap = info.orient(scores[best].critical - other.critical)
        if model == best or not can_decide(difference.size) or not math.isfinite(gap):
            continue
        if not judgment.critical_test(gap, difference).significant:
            tied.add(model)
    return frozenset(tied)
