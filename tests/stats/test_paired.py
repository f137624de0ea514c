from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from giveway.core.errors import UsageError
from giveway.stats.paired import corrected_t_test, critical_bound, critical_split_test, paired_t_test, ratio_bound

differences = st.lists(st.floats(-1, 1), min_size=3, max_size=12).filter(lambda d: np.std(d) > 1e-6)


def test_the_bounds_of_the_papers_come_out_of_scipy() -> None:
    assert ratio_bound(10) == pytest.approx(0.5797, abs=5e-5)
    assert ratio_bound(10, ddof=0) == pytest.approx(0.611, abs=5e-4)
    assert math.sqrt(10) * ratio_bound(10) == pytest.approx(1.833, abs=5e-4)
    assert critical_bound("paper") == pytest.approx(2.92, abs=5e-4)
    assert critical_bound("clean") == pytest.approx(1.833 * math.sqrt(1.1), abs=1e-3)


@given(differences)
@settings(max_examples=60, deadline=None)
def test_the_paired_test_equals_scipy_for_either_divisor(values: list[float]) -> None:
    d = np.array(values)
    expected = stats.ttest_1samp(d, 0, alternative="greater").pvalue
    for ddof in (0, 1):
        test = paired_t_test(d, ddof=ddof)
        assert test.p_value == pytest.approx(expected, rel=1e-9, abs=1e-12)
        assert test.significant == (test.p_value < 0.05)


def test_equal_positive_differences_are_significant_and_zero_ones_are_not() -> None:
    assert paired_t_test(np.full(10, 0.1)).significant
    assert paired_t_test(np.full(10, 0.1)).p_value == 0.0
    assert not paired_t_test(np.zeros(10)).significant
    assert not paired_t_test(np.full(10, -0.1)).significant


def test_the_corrected_test_is_the_plain_one_with_a_larger_variance() -> None:
    d = np.array([0.02, 0.01, 0.03, -0.01, 0.02, 0.02, 0.0, 0.03, 0.01, 0.02])
    t = d.mean() / (d.std(ddof=1) * math.sqrt(0.1 + 0.25))
    test = corrected_t_test(d)
    assert test.statistic == pytest.approx(t)
    assert test.p_value == pytest.approx(stats.t.sf(t, 9))
    assert test.p_value > paired_t_test(d).p_value
    assert corrected_t_test(d, test_to_train=0.0).p_value == pytest.approx(paired_t_test(d).p_value)


def test_the_critical_split_needs_more_in_the_paper_profile() -> None:
    d = np.array([0.01, -0.01] * 5)
    gap = 2.4 * d.std(ddof=1)
    assert critical_split_test(gap, d, profile="clean").significant
    assert not critical_split_test(gap, d, profile="paper").significant


@pytest.mark.parametrize("profile", ["paper", "clean"])
def test_the_p_value_of_the_critical_split_agrees_with_its_bound(profile: str) -> None:
    d = np.array([0.3, -0.1, 0.2, 0.0, 0.1, 0.4, -0.2, 0.1, 0.0, 0.2])
    at_bound = critical_bound(profile) * d.std(ddof=1)  # type: ignore[arg-type]
    assert critical_split_test(at_bound, d, profile=profile).p_value == pytest.approx(0.05)  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [[], [1.0], [1.0, math.nan]])
def test_too_few_or_undefined_differences_are_refused(bad: list[float]) -> None:
    with pytest.raises(UsageError, match="at least two finite differences"):
        paired_t_test(np.array(bad))


@pytest.mark.slow
def test_on_null_data_the_tests_reject_at_their_nominal_rate() -> None:
    rng = np.random.default_rng(0)
    count = 20_000
    d = rng.normal(size=(count, 10))
    further = rng.normal(size=count)
    error = 4 * math.sqrt(0.05 * 0.95 / count)
    rate = np.mean([paired_t_test(row).significant for row in d])
    assert abs(rate - 0.05) < error
    rate = np.mean(
        [critical_split_test(x, row, profile="clean").significant for x, row in zip(further, d, strict=True)]
    )
    assert (
        abs(rate - stats.t.sf(critical_bound("clean"), 9)) < error
    )  # 4.3 %: the factor sqrt(1.1) is for a mean not known
    published = np.mean(
        [critical_split_test(x, row, profile="paper").significant for x, row in zip(further, d, strict=True)]
    )
    assert published < 0.02


@pytest.mark.slow
def test_on_overlapping_splits_only_the_corrected_test_keeps_its_level() -> None:
    """Two equally good predictors on random splits of one pool of samples; the pool is drawn anew each time."""
    rng = np.random.default_rng(1)
    plain, corrected = [], []
    for _ in range(2000):
        # Training influences the model: the difference of two learned means on held-out samples.
        x, y, z = rng.normal(size=(3, 100))
        d = []
        for _ in range(10):
            order = rng.permutation(100)
            train, test = order[:80], order[80:]
            d.append(np.mean((z[test] - x[train].mean()) ** 2 - (z[test] - y[train].mean()) ** 2))
        plain.append(paired_t_test(np.array(d)).significant)
        corrected.append(corrected_t_test(np.array(d)).significant)
    assert np.mean(plain) > 0.1
    assert abs(np.mean(corrected) - 0.05) < 0.03
