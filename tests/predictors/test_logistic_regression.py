from __future__ import annotations

import numpy as np
import pytest

from giveway.core.samples import DISTANCES
from giveway.predictors.logistic_regression import INVERSE_PENALTY, LR_1D, LR_2D, features_of
from giveway.testing.crossing import crossing_samples

RNG = np.random.default_rng(0)


def test_features_are_agent_and_coordinate_major_and_time_minor():
    samples = crossing_samples(40, num_input=3)
    xy = samples.inputs.xy
    features = features_of(samples.inputs, "2d", 3)
    assert features.shape == (samples.num_samples, 2 * 3 * xy.shape[1])
    np.testing.assert_array_equal(features[:, :3], xy[:, 0, :, 0])
    np.testing.assert_array_equal(features[:, 3:6], xy[:, 0, :, 1])
    np.testing.assert_array_equal(features[:, 6:9], xy[:, 1, :, 0])
    assert features_of(samples.inputs, "1d", 3).shape[1] == len(DISTANCES) * 3


def test_shorter_inputs_are_right_aligned():
    samples = crossing_samples(40, num_input=2)
    padded = features_of(samples.inputs, "1d", 3)
    assert np.isnan(padded[:, 0]).all()
    np.testing.assert_array_equal(padded[:, 1:3], samples.inputs.distance[:, 0])


@pytest.mark.parametrize("recipe", (LR_1D, LR_2D))
def test_the_fit_is_the_optimum_of_the_penalized_loss(recipe):
    """Newton's method on 0.5 |w|^2 + C sum log(1 + exp(-y z)) reaches the same loss (L-BFGS stops near it)."""
    samples = crossing_samples(150)
    fitted = recipe.fit(samples, RNG)
    x = np.nan_to_num(
        features_of(samples.inputs, "2d" if "positions" in recipe.info.reads else "1d", 3) - fitted.mean, nan=0.0
    )
    y = np.where(samples.truth.accepted, 1.0, -1.0)

    def loss(weight, intercept):
        return 0.5 * weight @ weight + INVERSE_PENALTY * np.logaddexp(0, -y * (x @ weight + intercept)).sum()

    ours = loss(fitted.weight, fitted.intercept)
    design = np.concatenate([x, np.ones((len(x), 1))], axis=1)
    theta = np.append(fitted.weight, fitted.intercept)
    for _ in range(20):
        p = 1 / (1 + np.exp(-np.clip(design @ theta, -500, 500)))
        gradient = INVERSE_PENALTY * design.T @ (p - (y > 0)) + np.append(theta[:-1], 0)
        hessian = INVERSE_PENALTY * (design * (p * (1 - p))[:, None]).T @ design + np.diag(
            np.append(np.ones(len(theta) - 1), 1e-9)
        )
        step = np.linalg.solve(hessian, gradient)
        scale = 1.0
        while scale > 1e-6 and loss(theta[:-1] - scale * step[:-1], theta[-1] - scale * step[-1]) > loss(
            theta[:-1], theta[-1]
        ):
            scale /= 2
        theta = theta - scale * step
    best = loss(theta[:-1], theta[-1])
    assert best <= ours + 1e-9
    assert ours - best < 0.05 * best


def test_constant_features_get_no_weight():
    samples = crossing_samples(80)
    fitted = LR_1D.fit(samples, RNG)
    weights = fitted.weight.reshape(7, 3)
    lane_width = DISTANCES.index("L_E")
    np.testing.assert_allclose(weights[lane_width], 0.0, atol=1e-12)


def test_extreme_scores_do_not_overflow():
    samples = crossing_samples(80)
    fitted = LR_1D.fit(samples, RNG)
    far = samples.inputs.take(np.arange(2))
    far.distance[:] *= 1e6
    with np.errstate(all="raise"):
        p = fitted.predict(far, RNG).p
    assert ((p == 0) | (p == 1) | np.isfinite(p)).all()
