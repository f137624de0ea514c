from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from giveway.core.errors import PredictionError
from giveway.predictors.constant_motion import CONSTANT_ACCELERATION as CA
from giveway.predictors.constant_motion import CONSTANT_VELOCITY as CV
from giveway.predictors.constant_motion import continued
from giveway.predictors.drift_diffusion import DDM, first_passage_cdf, first_passage_density
from giveway.predictors.residual_paths import RESIDUAL_PATHS
from giveway.testing.crossing import crossing_samples


def moving(acceleration: float):
    """Samples in which T drives along -y from y = 50 with 6 m/s and this acceleration, before and after t_0."""
    samples = crossing_samples(60)
    dt = samples.inputs.dt_s

    def at(t):
        return np.stack([np.zeros_like(t), 50.0 - 6.0 * t - acceleration * t**2 / 2], axis=-1)

    xy = samples.inputs.xy.copy()
    xy[:, 1] = at(np.arange(1 - samples.inputs.num_input, 1) * dt)
    future = np.broadcast_to(at(np.arange(1, 31) * dt), (samples.num_samples, 30, 2)).copy()
    inputs = replace(samples.inputs, xy=xy, num_predict=np.full(samples.num_samples, 30))
    truth = replace(samples.truth, future_xy=future, num_observed=np.full(samples.num_samples, 30))
    return replace(samples, inputs=inputs, truth=truth)


@pytest.mark.parametrize(("recipe", "acceleration"), ((CV, 0.0), (RESIDUAL_PATHS, 0.0), (RESIDUAL_PATHS, 1.0)))
def test_paths_are_exact_where_the_rule_holds(recipe, acceleration):
    samples = moving(acceleration)
    paths = recipe.fit(samples, np.random.default_rng(0)).predict(samples.inputs, np.random.default_rng(1))
    expected = np.broadcast_to(samples.truth.future_xy[:, None], paths.xy.shape)
    np.testing.assert_allclose(paths.xy, expected, atol=1e-9)


def test_constant_acceleration_learns_only_the_error_of_its_own_rule():
    """Finite differences lag half a step behind; the learned error makes the last step right."""
    samples = moving(1.0)
    paths = CA.fit(samples, np.random.default_rng(0)).predict(samples.inputs, np.random.default_rng(1))
    np.testing.assert_allclose(paths.xy[:, :, -1], samples.truth.future_xy[:, None, -1].repeat(100, 1), atol=1e-9)
    assert np.abs(paths.xy - samples.truth.future_xy[:, None]).max() < 0.2


def test_a_braking_target_stops_instead_of_reversing():
    y = continued(moving(-3.0).inputs, 60, 2)[0, :, 1]
    assert (np.diff(y) <= 1e-12).all()
    assert y[-1] == pytest.approx(y[30], abs=1e-9)


def test_spread_comes_from_the_training_errors():
    samples = crossing_samples(80)
    fitted = CV.fit(samples, np.random.default_rng(0))
    paths = fitted.predict(samples.inputs, np.random.default_rng(1))
    nominal = continued(samples.inputs, paths.xy.shape[2], 1)
    drawn = (paths.xy[0, :, 0] - nominal[0, 0]) / samples.inputs.dt_s
    assert all(np.isclose(fitted.error, error).all(axis=1).any() for error in drawn)
    assert len(np.unique(drawn.round(9), axis=0)) > 10


@pytest.mark.parametrize("recipe", (CV, CA, RESIDUAL_PATHS))
def test_nothing_observed_is_refused(recipe):
    samples = crossing_samples(60)
    truth = replace(samples.truth, num_observed=np.zeros(samples.num_samples, dtype=np.int64))
    with pytest.raises(PredictionError, match="nothing to learn"):
        recipe.fit(replace(samples, truth=truth), np.random.default_rng(0))


@pytest.mark.parametrize("drift", (-0.7, 0.0, 1.3))
def test_first_passage_density_integrates_to_its_distribution(drift):
    t = np.linspace(0, 8, 200_001)
    density = first_passage_density(t, np.array(drift), 1.5)
    integral = np.concatenate([[0], np.cumsum((density[1:] + density[:-1]) / 2 * np.diff(t))])
    np.testing.assert_allclose(integral, first_passage_cdf(t, np.array(drift), 1.5), atol=1e-6)


def test_a_negative_drift_may_never_reach_the_bound():
    assert first_passage_cdf(np.array(1e7), np.array(-0.5), 2.0) == pytest.approx(np.exp(-2.0))


def test_first_passage_agrees_with_simulated_walks():
    rng = np.random.default_rng(3)
    dt, bound, drift = 1e-3, 1.0, 0.8
    steps = rng.normal(drift * dt, np.sqrt(dt), size=(4000, 3000)).cumsum(axis=1)
    share = (steps.max(axis=1) >= bound).mean()
    expected = float(first_passage_cdf(np.array(3.0), np.array(drift), bound + 0.5826 * np.sqrt(dt)))
    assert share == pytest.approx(expected, abs=4 * np.sqrt(expected * (1 - expected) / 4000))


def test_drift_diffusion_tells_large_from_small_gaps():
    samples = crossing_samples(300, choice="initial")
    prediction = DDM.fit(samples, np.random.default_rng(0)).predict(samples.inputs, np.random.default_rng(0))
    accepted = samples.truth.accepted
    assert prediction.p[accepted].mean() - prediction.p[~accepted].mean() > 0.3
    median = prediction.quantile_s[accepted, 4]
    assert np.median(np.abs(median - samples.truth.t_accept_s[accepted])) < 1.0
