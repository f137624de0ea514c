from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from giveway.core.errors import UsageError
from giveway.stats.ordinal_mixed import _Model, fit_ordinal_mixed

THETA = np.array([-2.0, -0.7, 0.5, 1.8])


def simulate(num_raters: int, num_clips: int, effect: float, rater_sd: float, clip_sd: float, seed: int):
    rng = np.random.default_rng(seed)
    rater, clip = (a.ravel() for a in np.meshgrid(np.arange(num_raters), np.arange(num_clips), indexing="ij"))
    treated = (clip % 2).astype(float)
    latent = effect * treated + rng.normal(0, rater_sd, num_raters)[rater] + rng.normal(0, clip_sd, num_clips)[clip]
    rating = np.searchsorted(THETA, latent + rng.logistic(size=latent.size))
    return rating.astype(np.int64), treated[:, None], rater, clip


def test_known_parameters_are_recovered() -> None:
    rating, design, rater, clip = simulate(40, 60, 1.5, 0.8, 0.6, seed=3)
    fit = fit_ordinal_mixed(rating, design, rater, clip, num_categories=5)
    assert fit.converged
    assert abs(fit.effects[0] - 1.5) < 2 * fit.standard_errors[0]
    assert fit.rater_sd == pytest.approx(0.8, abs=0.25)
    assert fit.clip_sd == pytest.approx(0.6, abs=0.25)


def test_without_random_effects_it_equals_statsmodels() -> None:
    ordinal = pytest.importorskip("statsmodels.miscmodels.ordinal_model")
    rating, design, rater, clip = simulate(12, 20, 1.0, 0.0, 0.0, seed=1)
    reference = ordinal.OrderedModel(rating, design, distr="logit").fit(method="bfgs", disp=False)
    model = _Model(rating, design, rater, clip, 5)
    theta = np.concatenate([reference.params[1:2], reference.params[2:], reference.params[:1], [-12.0, -12.0]])
    assert -model.objective(theta) == pytest.approx(reference.llf, abs=1e-4)


def test_likelihood_equals_numerical_integration_for_a_single_rater_effect() -> None:
    # With the clips' spread at zero the raters integrate out one by one: Gauss-Hermite with 60 nodes is exact here.
    rating, design, rater, clip = simulate(6, 40, 0.8, 0.7, 0.0, seed=2)
    model = _Model(rating, design, rater, clip, 5)
    parameters = np.concatenate([THETA[:1], np.log(np.diff(THETA)), [0.8], [np.log(0.7), -12.0]])
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    edges = np.concatenate([[-np.inf], THETA, [np.inf]])
    total = 0.0
    for r in range(6):
        mine = rater == r
        eta = 0.8 * design[mine, 0][:, None] + 0.7 * nodes[None, :]
        p = expit(edges[rating[mine] + 1][:, None] - eta) - expit(edges[rating[mine]][:, None] - eta)
        total += np.log((weights / np.sqrt(2 * np.pi) * np.exp(np.log(p).sum(axis=0))).sum())
    assert -model.objective(parameters) == pytest.approx(total, abs=0.05)


def test_order_of_rows_does_not_matter() -> None:
    rating, design, rater, clip = simulate(8, 12, 1.0, 0.5, 0.5, seed=5)
    order = np.random.default_rng(0).permutation(rating.size)
    first = fit_ordinal_mixed(rating, design, rater, clip, num_categories=5)
    second = fit_ordinal_mixed(rating[order], design[order], rater[order], clip[order], num_categories=5)
    assert second.log_likelihood == pytest.approx(first.log_likelihood, abs=1e-5)
    assert second.effects == pytest.approx(first.effects, abs=1e-2)


def test_reversed_scale_turns_the_effect_around() -> None:
    rating, design, rater, clip = simulate(8, 12, 1.0, 0.5, 0.5, seed=6)
    up = fit_ordinal_mixed(rating, design, rater, clip, num_categories=5)
    down = fit_ordinal_mixed(4 - rating, design, rater, clip, num_categories=5)
    assert down.effects == pytest.approx(-up.effects, abs=1e-2)


def test_one_category_only_is_an_error() -> None:
    with pytest.raises(UsageError):
        fit_ordinal_mixed(np.ones(4, dtype=np.int64), np.zeros((4, 1)), np.arange(4), np.arange(4), num_categories=5)
