from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from giveway.stats.proportions import auc_interval, share_difference, wilson


@pytest.mark.parametrize(("auc", "m", "n", "low", "high"), [(1.0, 21, 19, 0.898, 1.0), (0.8194, 20, 18, 0.642, 0.915)])
def test_auc_interval_of_the_note(auc, m, n, low, high):
    assert auc_interval(auc, m, n) == pytest.approx((low, high), abs=5e-4)


@pytest.mark.parametrize(("k", "n", "low", "high"), [(13, 60, 0.131, 0.336), (0, 60, 0.0, 0.060)])
def test_wilson_of_the_note(k, n, low, high):
    assert wilson(k, n) == pytest.approx((low, high), abs=5e-4)


@given(st.floats(0, 1), st.integers(1, 200), st.integers(1, 200))
def test_auc_interval_encloses_the_estimate_and_has_a_width(auc, m, n):
    low, high = auc_interval(auc, m, n)
    assert 0 <= low <= auc + 1e-9 and auc - 1e-9 <= high <= 1 and high - low > 1e-4
    mirrored = auc_interval(1 - auc, n, m)
    assert mirrored == pytest.approx((1 - high, 1 - low), abs=1e-6)


@given(st.integers(1, 300).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_is_symmetric(pair):
    k, n = pair
    low, high = wilson(k, n)
    assert low - 1e-12 <= k / n <= high + 1e-12 and high > low
    assert wilson(n - k, n) == pytest.approx((1 - high, 1 - low), abs=1e-12)


def test_nothing_known():
    assert (
        math.isnan(wilson(0, 0)[0])
        and math.isnan(auc_interval(0.5, 0, 3)[1])
        and math.isnan(auc_interval(math.nan, 3, 3)[0])
    )


def test_difference_of_the_publication():
    assert share_difference((56, 70), (48, 80)) == pytest.approx((0.0524, 0.3339), abs=5e-5)
    low, high = share_difference((48, 80), (56, 70))
    assert (low, high) == pytest.approx((-0.3339, -0.0524), abs=5e-5)
    assert math.isnan(share_difference((0, 0), (1, 2))[0])
