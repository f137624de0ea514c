import numpy as np
from scipy.stats import gaussian_kde

from giveway.metrics.likelihood import VARIANCE_FLOOR_M2, kernel_log_density


def test_density_equals_scipys_estimate_up_to_the_floor(rng):
    paths = rng.normal(0, 3, (2, 60, 4, 2)) @ np.array([[1.0, 0.4], [0.0, 0.8]])
    xy = rng.normal(0, 3, (2, 4, 2))
    ours = kernel_log_density(paths, xy)
    for n in range(2):
        for s in range(4):
            oracle = gaussian_kde(paths[n, :, s].T, "scott")
            np.testing.assert_allclose(ours[n, s], oracle.logpdf(xy[n, s])[0], rtol=1e-3, atol=1e-3)


def test_paths_that_all_agree_have_the_density_of_the_floor():
    paths = np.zeros((1, 10, 1, 2))
    at_center = kernel_log_density(paths, np.zeros((1, 1, 2)))[0, 0]
    np.testing.assert_allclose(at_center, -np.log(2 * np.pi * VARIANCE_FLOOR_M2))


def test_far_away_is_finite_and_unlikely(rng):
    paths = rng.normal(size=(1, 20, 1, 2))
    assert -np.inf < kernel_log_density(paths, np.full((1, 1, 2), 1e3))[0, 0] < -1e4
