import numpy as np
import pytest
from scipy.signal import savgol_filter

from giveway.core.smoothing import savitzky_golay, weighted_windows


@pytest.mark.parametrize(("window", "degree", "derivative"), [(5, 2, 0), (5, 2, 1), (9, 3, 2), (21, 2, 0), (15, 4, 1)])
def test_the_filter_is_that_of_scipy(window: int, degree: int, derivative: int) -> None:
    values = np.random.default_rng(window).normal(size=(60, 2)).cumsum(axis=0)
    ours = savitzky_golay(values, window, degree, derivative=derivative, spacing=0.1)
    theirs = savgol_filter(values, window, degree, deriv=derivative, delta=0.1, axis=0, mode="interp")
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)


def test_a_polynomial_of_its_degree_passes_unchanged() -> None:
    time_s = np.arange(30) * 0.1
    values = 1.0 - 2.0 * time_s + 0.5 * time_s**2
    np.testing.assert_allclose(savitzky_golay(values, 7, 2), values, atol=1e-12)
    np.testing.assert_allclose(savitzky_golay(values, 7, 2, derivative=1, spacing=0.1), -2.0 + time_s, atol=1e-11)


def test_windows_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="does not fit"):
        savitzky_golay(np.zeros(4), 5, 2)


def test_weighted_windows_are_a_convolution() -> None:
    values, weight = np.random.default_rng(0).normal(size=40), np.array([0.2, 0.5, 0.3])
    np.testing.assert_allclose(weighted_windows(values, weight), np.convolve(values, weight[::-1], mode="valid"))
