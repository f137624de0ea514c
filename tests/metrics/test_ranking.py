from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from giveway.metrics.ranking import auc, auc_paper
from giveway.stats.mann_whitney import mann_whitney

AUC, PAPER = auc.score, auc_paper.score
assert AUC is not None and PAPER is not None


def by_pairs(accepted: np.ndarray, p: np.ndarray) -> float:
    """The definition, one pair at a time."""
    wins = [(pi > pj) + 0.5 * (pi == pj) for pi in p[accepted] for pj in p[~accepted]]
    return sum(wins) / len(wins)


def paper_loop(accepted: np.ndarray, p: np.ndarray) -> float:
    """The 101-threshold form, one threshold at a time."""
    points = [(1.0, 1.0)]
    for threshold in np.linspace(0, 1, 101):
        points.append((np.mean(p[~accepted] > threshold), np.mean(p[accepted] > threshold)))
    points.append((0.0, 0.0))
    pairs = itertools.pairwise(points)
    return sum((x0 - x1) * (y0 + y1) / 2 for (x0, y0), (x1, y1) in pairs)


scores = st.one_of(st.floats(0, 1), st.sampled_from([0.0, -0.0, 0.25, 0.5, 1.0, 5e-324, 1 - 1e-16]))
samples = st.lists(st.tuples(st.booleans(), scores), min_size=2, max_size=40).filter(
    lambda s: len({a for a, _ in s}) == 2
)


def arrays(pairs: list[tuple[bool, float]]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([a for a, _ in pairs]), np.array([p for _, p in pairs], dtype=float)


@given(samples)
@settings(max_examples=80, deadline=None)
def test_auc_equals_scikit_learn_and_the_definition_with_and_without_ties(pairs: list[tuple[bool, float]]) -> None:
    accepted, p = arrays(pairs)
    assert AUC(accepted, p) == pytest.approx(by_pairs(accepted, p), abs=1e-15)
    assert AUC(accepted, p) == pytest.approx(roc_auc_score(accepted, p), abs=1e-12)


@given(samples, st.randoms())
@settings(max_examples=60, deadline=None)
def test_auc_is_exactly_the_same_for_any_order_of_samples(pairs: list[tuple[bool, float]], random: object) -> None:
    shuffled = list(pairs)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert AUC(*arrays(pairs)) == AUC(*arrays(shuffled))


@given(samples)
@settings(max_examples=60, deadline=None)
def test_auc_of_the_opposite_score_is_the_complement(pairs: list[tuple[bool, float]]) -> None:
    accepted, p = arrays(pairs)
    assert mann_whitney(accepted, p) + mann_whitney(accepted, -p) == pytest.approx(1.0, abs=1e-15)


@pytest.mark.parametrize("first", [True, False])
def test_a_constant_predictor_scores_one_half_whichever_class_comes_first(first: bool) -> None:
    accepted = np.zeros(100, dtype=bool)
    accepted[slice(0, 30) if first else slice(70, 100)] = True
    assert AUC(accepted, np.full(100, 0.3)) == 0.5


def test_scores_outside_the_unit_interval_are_ranked_too() -> None:
    accepted = np.array([True, False, True, False])
    assert mann_whitney(accepted, np.array([3.0, -2.0, 1.0, 1.0])) == 0.875


@pytest.mark.parametrize("accepted", [np.ones(5, dtype=bool), np.zeros(5, dtype=bool)])
def test_one_class_only_is_undefined(accepted: np.ndarray) -> None:
    assert math.isnan(AUC(accepted, np.linspace(0, 1, 5)))
    assert math.isnan(PAPER(accepted, np.linspace(0, 1, 5)))


@given(samples)
@settings(max_examples=60, deadline=None)
def test_the_paper_form_equals_its_loop(pairs: list[tuple[bool, float]]) -> None:
    accepted, p = arrays(pairs)
    assert PAPER(accepted, p) == pytest.approx(paper_loop(accepted, p), abs=1e-12)


def test_the_paper_form_agrees_for_shares_of_100_paths(rng: np.random.Generator) -> None:
    accepted = rng.uniform(size=400) < 0.4
    p = rng.binomial(100, np.where(accepted, 0.55, 0.45)) / 100
    assert PAPER(accepted, p) == pytest.approx(AUC(accepted, p), abs=1e-12)


def test_the_paper_form_collapses_when_probabilities_crowd_at_zero(rng: np.random.Generator) -> None:
    accepted = np.arange(2000) % 2 == 0
    logit = 6 * rng.normal(size=2000) / 3 + 4 * accepted - 14
    p = 1 / (1 + np.exp(-logit))
    assert AUC(accepted, p) > 0.9
    assert PAPER(accepted, p) < 0.6
