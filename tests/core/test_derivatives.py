import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from giveway.core.derivatives import backward_difference, central_difference, runs, savitzky_golay, speed_jerk

DT = 0.1
CAUSAL = [backward_difference, speed_jerk]


def test_runs_are_the_stretches_of_true():
    mask = np.array([1, 1, 0, 0, 1, 0, 1, 1, 1], dtype=bool)
    np.testing.assert_array_equal(runs(mask), [[0, 2], [4, 5], [6, 9]])
    assert runs(np.zeros(3, dtype=bool)).shape == (0, 2)


@pytest.mark.parametrize("function", CAUSAL)
@settings(max_examples=30)
@given(seed=st.integers(0, 1000), t=st.integers(0, 39))
def test_causal_derivatives_do_not_see_what_comes_after(function, seed, t):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(3, 40))
    observed = rng.random((3, 40)) < 0.9
    forged = np.concatenate([values[:, : t + 1], rng.normal(size=(3, 39 - t))], axis=1)
    masked = np.concatenate([observed[:, : t + 1], rng.random((3, 39 - t)) < 0.5], axis=1)
    before = function(values, DT, observed)[:, : t + 1]
    after = function(forged, DT, masked)[:, : t + 1]
    np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize("function", [central_difference, savitzky_golay])
def test_the_others_do_see_what_comes_after_and_must_not_reach_a_predictor(function):
    values = np.sin(np.arange(20.0))
    forged = np.where(np.arange(20) > 10, 5.0, values)
    assert function(values, DT)[10] != function(forged, DT)[10]


@pytest.mark.parametrize("function", [*CAUSAL, central_difference, savitzky_golay])
def test_nothing_is_differenced_across_a_gap(function):
    observed = np.ones(30, dtype=bool)
    observed[12:15] = False
    values = np.where(np.arange(30) < 12, 1.0, 1000.0)
    values[~observed] = np.nan
    out = function(values, DT, observed)
    np.testing.assert_allclose(out[observed & np.isfinite(out)], 0.0, atol=1e-6)
    assert np.isnan(out[~observed]).all()


def test_a_value_behind_a_false_mask_is_ignored():
    values = np.array([0.0, 1.0, 500.0, 3.0, 4.0])
    observed = np.array([1, 1, 0, 1, 1], dtype=bool)
    np.testing.assert_allclose(backward_difference(values, 1.0, observed), [np.nan, 1, np.nan, np.nan, 1])
    np.testing.assert_allclose(central_difference(values, 1.0, observed), [1, 1, np.nan, 1, 1])


@pytest.mark.parametrize(("function", "expected"), [(backward_difference, 1), (central_difference, 2)])
def test_order_of_convergence(function, expected):
    errors = []
    for dt in (0.02, 0.01):
        t = np.arange(0, 2, dt)
        out = function(np.sin(t), dt)
        errors.append(np.abs(out - np.cos(t))[5:-5].max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(expected, abs=0.05)


def test_central_differences_equal_numpy_gradient_on_every_stretch():
    rng = np.random.default_rng(0)
    values, observed = rng.normal(size=(4, 30, 2)), rng.random((4, 30)) < 0.85
    out = central_difference(values, DT, observed)
    for row in range(4):
        for start, stop in runs(observed[row]):
            if stop - start > 1:
                expected = np.gradient(values[row, start:stop], DT, axis=0)
                np.testing.assert_allclose(out[row, start:stop], expected, atol=1e-12)
            else:
                assert np.isnan(out[row, start]).all()


@pytest.mark.parametrize("length", [3, 4, 5, 8, 11, 40])
@pytest.mark.parametrize("order", [1, 2])
def test_savitzky_golay_is_exact_on_quadratics_of_any_length(length, order):
    t = np.arange(length) * DT
    values = 3.0 + 2.0 * t - 4.0 * t**2
    expected = [2.0 - 8.0 * t, np.full(length, -8.0)][order - 1]
    inner = slice(1, -1) if length < 5 else slice(None)
    np.testing.assert_allclose(savitzky_golay(values, DT, order=order)[inner], expected[inner], atol=1e-8)


def test_savitzky_golay_works_on_components_and_smooths():
    rng = np.random.default_rng(1)
    t = np.arange(100) * DT
    clean = np.stack([np.sin(t), np.cos(t)], axis=-1)
    noisy = clean + 0.01 * rng.normal(size=clean.shape)
    truth = np.stack([np.cos(t), -np.sin(t)], axis=-1)
    observed = np.ones(100, dtype=bool)
    fitted = np.abs(savitzky_golay(noisy, DT, observed) - truth)[10:-10].mean()
    plain = np.abs(central_difference(noisy, DT, observed) - truth)[10:-10].mean()
    assert fitted < 0.5 * plain


def test_jerk_of_the_worked_example():
    speed = np.array([5, 5, 5.1, 5.3, 5.3])
    np.testing.assert_allclose(speed_jerk(speed, 0.1, start=0.0), [0, 0, 10, 10, -20], atol=1e-9)
    assert np.isnan(speed_jerk(speed, 0.1)[:2]).all()


def test_jerk_starts_again_after_a_gap():
    speed = np.array([1.0, 2, 4, np.nan, 7, 9, 10])
    np.testing.assert_allclose(speed_jerk(speed, 1.0, start=0.0), [0, 0, 1, np.nan, 0, 0, -1])


@pytest.mark.parametrize(
    "call",
    [
        lambda: backward_difference(np.zeros(3), 0.0),
        lambda: backward_difference(np.zeros((2, 3)), 0.1, np.ones(4, dtype=bool)),
        lambda: savitzky_golay(np.zeros(9), 0.1, window=4),
        lambda: savitzky_golay(np.zeros(9), 0.1, window=3, degree=3),
        lambda: savitzky_golay(np.zeros(9), 0.1, order=3),
    ],
)
def test_arguments_that_make_no_sense_are_refused(call):
    with pytest.raises(ValueError, match=r"must be|do not start"):
        call()
