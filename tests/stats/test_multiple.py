from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from giveway.core.errors import UsageError
from giveway.stats.effects import effect_size, vargha_delaney
from giveway.stats.multiple import holm
from giveway.stats.ranks import rank_agreement


@pytest.mark.parametrize("p_values", [[0.2], [0.01, 0.04, 0.03, 0.005], [0.5, 0.5, 0.001, 1.0, 0.0]])
def test_holm_equals_statsmodels(p_values: list[float]) -> None:
    expected = multipletests(p_values, method="holm")[1]
    np.testing.assert_allclose(holm(np.array(p_values)), expected, atol=1e-15)


def test_undefined_p_values_are_not_counted() -> None:
    np.testing.assert_allclose(holm(np.array([0.01, np.nan, 0.04])), [0.02, np.nan, 0.04])


def test_vargha_delaney_equals_the_mann_whitney_statistic() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 9, 30).astype(float), rng.integers(0, 9, 20).astype(float)
    assert vargha_delaney(x, y) == pytest.approx(stats.mannwhitneyu(x, y).statistic / 600)
    assert vargha_delaney(x, y) + vargha_delaney(y, x) == pytest.approx(1.0)


def test_effects_are_named_by_the_bounds_of_their_authors() -> None:
    assert [effect_size(a) for a in (0.5, 0.56, 0.64, 0.71, 0.29, 1.0)] == [
        "negligible",
        "small",
        "medium",
        "large",
        "large",
        "large",
    ]


def test_rank_agreement_is_measured_again_on_every_resample() -> None:
    rng = np.random.default_rng(2)
    first = np.array([0.1, 0.5, 0.3, 0.9, 0.7]) + rng.normal(0, 0.2, (301, 5))
    second = np.array([0.1, 0.5, 0.3, 0.9, 0.7]) + rng.normal(0, 0.2, (301, 5))
    found = rank_agreement(first, second, num_units=100_000)
    each = [stats.spearmanr(x, y).statistic for x, y in zip(first, second, strict=True)]
    assert found.coefficient == pytest.approx(each[0])
    assert (found.interval.low, found.interval.high) == pytest.approx(np.quantile(each[1:], [0.025, 0.975]), abs=1e-3)
    assert found.interval.low < found.interval.high


def test_models_in_the_same_order_agree_fully_and_constant_ones_not_at_all() -> None:
    x = np.tile([0.1, 0.5, 0.3], (50, 1))
    assert rank_agreement(x, np.exp(x), num_units=9).interval.low == pytest.approx(1.0)
    assert np.isnan(rank_agreement(x, np.ones_like(x), num_units=9).coefficient)


def test_two_models_cannot_be_ranked() -> None:
    with pytest.raises(UsageError, match="at least three"):
        rank_agreement(np.ones((9, 2)), np.ones((9, 2)), num_units=4)
