import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from giveway.core.derivatives import backward_difference, runs

DT = 0.1


def test_runs_are_the_stretches_of_true():
    mask = np.array([1, 1, 0, 0, 1, 0, 1, 1, 1], dtype=bool)
    np.testing.assert_array_equal(runs(mask), [[0, 2], [4, 5], [6, 9]])
    assert runs(np.zeros(3, dtype=bool)).shape == (0, 2)


@settings(max_examples=30)
@given(seed=st.integers(0, 1000), t=st.integers(0, 39))
def test_the_causal_derivative_does_not_see_what_comes_after(seed, t):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(3, 40))
    observed = rng.random((3, 40)) < 0.9
    forged = np.concatenate([values[:, : t + 1], rng.normal(size=(3, 39 - t))], axis=1)
    masked = np.concatenate([observed[:, : t + 1], rng.random((3, 39 - t)) < 0.5], axis=1)
    before = backward_difference(values, DT, observed)[:, : t + 1]
    after = backward_difference(forged, DT, masked)[:, : t + 1]
    np.testing.assert_array_equal(before, after)


def test_nothing_is_differenced_across_a_gap():
    observed = np.ones(30, dtype=bool)
    observed[12:15] = False
    values = np.where(np.arange(30) < 12, 1.0, 1000.0)
    values[~observed] = np.nan
    out = backward_difference(values, DT, observed)
    np.testing.assert_allclose(out[observed & np.isfinite(out)], 0.0, atol=1e-6)
    assert np.isnan(out[~observed]).all()


def test_a_value_behind_a_false_mask_is_ignored():
    values = np.array([0.0, 1.0, 500.0, 3.0, 4.0])
    observed = np.array([1, 1, 0, 1, 1], dtype=bool)
    np.testing.assert_allclose(backward_difference(values, 1.0, observed), [np.nan, 1, np.nan, np.nan, 1])


def test_order_of_convergence():
    errors = []
    for dt in (0.02, 0.01):
        t = np.arange(0, 2, dt)
        out = backward_difference(np.sin(t), dt)
        errors.append(np.abs(out - np.cos(t))[5:-5].max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize(
    "call",
    [
        lambda: backward_difference(np.zeros(3), 0.0),
        lambda: backward_difference(np.zeros((2, 3)), 0.1, np.ones(4, dtype=bool)),
    ],
)
def test_arguments_that_make_no_sense_are_refused(call):
    with pytest.raises(ValueError, match=r"must be|do not start"):
        call()
