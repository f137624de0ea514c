import math

import numpy as np
import pytest

from giveway.generate.evaluation.comparison import a_interval, compare
from giveway.stats.effects import vargha_delaney


def test_a_method_that_is_always_better_has_a_of_one_and_is_significant():
    values = {"policy": [0.4, 0.5, 0.45, 0.5, 0.6], "idm": [0.0, 0.01, 0.0, 0.02, 0.0]}
    (found,) = compare(values, "policy")
    assert found.a == 1.0
    assert found.size == "large"
    assert found.significant
    assert found.p_value == pytest.approx(0.0112, abs=0.002)
    assert (found.mean_first, found.mean_second) == (pytest.approx(0.49), pytest.approx(0.006))


def test_equal_methods_have_a_of_one_half():
    (found,) = compare({"policy": [0.1, 0.2, 0.3], "other": [0.1, 0.2, 0.3]}, "policy")
    assert found.a == 0.5
    assert found.low < 0.5 < found.high
    assert not found.significant


def test_p_values_are_corrected_for_the_number_of_comparisons():
    rng = np.random.default_rng(0)
    values = {"policy": rng.normal(0.5, 0.1, 10).tolist()}
    values |= {f"other{n}": rng.normal(0.4, 0.1, 10).tolist() for n in range(4)}
    found = compare(values, "policy")
    assert [c.second for c in found] == ["other0", "other1", "other2", "other3"]
    smallest = min(found, key=lambda c: c.p_value)
    assert smallest.p_adjusted == pytest.approx(min(1.0, 4 * smallest.p_value))


def test_the_interval_contains_the_estimate_and_narrows_with_more_runs():
    rng = np.random.default_rng(1)
    few, many = rng.normal(0.3, 1, (2, 8)), rng.normal(0.3, 1, (2, 80))
    widths = []
    for first, second in (few, many):
        a, low, high = a_interval(first, second, np.random.default_rng(0))
        assert low <= a <= high
        assert a == vargha_delaney(first, second)
        widths.append(high - low)
    assert widths[1] < 0.6 * widths[0]


def test_runs_without_a_value_are_left_out():
    (found,) = compare({"a": [1.0, 2.0, math.nan], "b": [math.nan]}, "a")
    assert found.seeds == (2, 0)
    assert math.isnan(found.p_value)


@pytest.mark.slow
def test_the_interval_covers_the_truth_about_as_often_as_it_says():
    """A between two unit normals half a deviation apart is 0.638."""
    rng = np.random.default_rng(3)
    hits = 0
    for n in range(200):
        _, low, high = a_interval(rng.normal(0.5, 1, 15), rng.normal(0, 1, 15), np.random.default_rng(n), resamples=500)
        hits += low <= 0.638 <= high
    assert 0.88 <= hits / 200 <= 0.98
