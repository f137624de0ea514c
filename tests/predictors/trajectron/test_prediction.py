from dataclasses import replace

import numpy as np
import pytest
import torch

from giveway.core.samples import AcceptanceBoundary
from giveway.predictors.trajectron.checkpoint import TrainingState
from giveway.predictors.trajectron.config import SMALL, TrajectronConfig
from giveway.predictors.trajectron.dynamics import integrate, log_density, propagate
from giveway.predictors.trajectron.features import build_features, count_fallbacks, motion_states
from giveway.predictors.trajectron.network import TrajectronNetwork
from giveway.predictors.trajectron.predictor import FittedTrajectron
from giveway.predictors.trajectron.recipe import Trajectron
from giveway.predictors.trajectron.sampling import sample_paths
from giveway.testing.predictors import check_predictor

TINY = TrajectronConfig(epochs=3, batch_size=10, num_modes=5, decoder_size=16)


@pytest.fixture(scope="module")
def network():
    torch.manual_seed(0)
    return TrajectronNetwork(TINY).eval()


def test_states_are_backward_differences():
    xy = np.array([[0.0, 0.0], [1.0, 0.0], [3.0, 0.0], [6.0, 4.0]])
    states = motion_states(xy, 0.5)
    np.testing.assert_allclose(states[:, 2], [2, 2, 4, 6])
    np.testing.assert_allclose(states[:, 4], [0, 0, 4, 4])
    np.testing.assert_allclose(states[-1, 6], np.arctan2(8, 6))


def test_states_see_nothing_after_their_own_step():
    """Central differences would let the next position into a state and fail here."""
    rng = np.random.default_rng(0)
    xy = rng.normal(size=(8, 2)).cumsum(axis=0)
    forged = xy.copy()
    forged[6:] += 100.0
    np.testing.assert_array_equal(motion_states(xy, 0.2)[2:6], motion_states(forged, 0.2)[2:6])


def test_an_agent_that_appears_late_starts_with_its_own_first_difference():
    xy = np.array([[np.nan, np.nan], [np.nan, np.nan], [1.0, 0.0], [2.0, 0.0], [3.0, 0.0]])
    states = motion_states(xy, 1.0)
    assert np.isnan(states[:2]).all()
    np.testing.assert_allclose(states[2:, 2], 1.0)


def test_an_agent_seen_once_stands_still():
    xy = np.array([[np.nan, np.nan], [5.0, 1.0]])
    np.testing.assert_allclose(motion_states(xy, 1.0)[1], [5, 1, 0, 0, 0, 0, 0, 0])


def test_heading_rate_ignores_the_jump_at_pi():
    angle = np.pi - 0.15 + 0.1 * np.arange(5)
    xy = np.cumsum(np.stack([np.cos(angle), np.sin(angle)], axis=-1), axis=0)
    np.testing.assert_allclose(motion_states(xy, 1.0)[2:, 7], 0.1, atol=1e-9)


def test_absent_neighbors_and_far_ones_change_nothing(straight, network):
    samples = straight(4, num_agents=4)
    samples.inputs.xy[:, 2] = np.nan
    samples.inputs.xy[:, 3] = 1000.0
    without = replace(
        samples.inputs,
        xy=samples.inputs.xy[:, :2],
        roles=("E", "T"),
        role_is_vulnerable=samples.inputs.role_is_vulnerable[:2],
    )
    np.testing.assert_allclose(sample_paths(network, samples.inputs, 7), sample_paths(network, without, 7))


def test_predictions_move_with_the_scene(straight, network):
    inputs = straight(6).inputs
    angle, shift = 0.7, np.array([30.0, -12.0])
    rotation = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    normal = inputs.boundary.normal @ rotation.T
    moved = replace(
        inputs,
        xy=inputs.xy @ rotation.T + shift,
        boundary=AcceptanceBoundary(
            normal=normal,
            offset_m=inputs.boundary.offset_m + normal @ shift,
            radius_m=inputs.boundary.radius_m,
        ),
    )
    expected = sample_paths(network, inputs, 1) @ rotation.T + shift
    np.testing.assert_allclose(sample_paths(network, moved, 1), expected, atol=1e-3)


def test_raw_coordinates_do_not_move_with_the_scene(straight):
    torch.manual_seed(0)
    raw = TrajectronNetwork(TrajectronConfig(standardize=False, num_modes=5, decoder_size=16)).eval()
    inputs = straight(3).inputs
    moved = replace(inputs, xy=inputs.xy + 50.0)
    difference = sample_paths(raw, moved, 1) - sample_paths(raw, inputs, 1) - 50.0
    assert np.abs(difference).max() > 0.1


def test_a_sample_is_predicted_the_same_alone_and_in_a_crowd(straight, network):
    inputs = straight(9).inputs
    inputs.num_predict[:] = np.arange(2, 20, 2)
    together = sample_paths(network, inputs, 3)
    alone = sample_paths(network, inputs.take(np.array([4])), 3)
    steps = int(inputs.num_predict[4])
    np.testing.assert_allclose(alone[0], together[4, :, :steps], atol=1e-4)
    assert np.isnan(together[4, :, steps:]).all()


def test_horizon_zero_gives_no_positions(straight, network):
    inputs = straight(2).inputs
    inputs.num_predict[:] = 0
    assert sample_paths(network, inputs, 0).shape == (2, 100, 0, 2)


def test_holes_in_the_inputs_are_made_do_with_and_counted(straight, network):
    inputs = straight(6).inputs
    inputs.xy[0, 1, :-1] = np.nan
    inputs.xy[1, 1, 0] = np.nan
    inputs.xy[2, 0] = np.nan
    inputs.xy[3, 2:] = np.nan
    inputs.num_predict[4] = 0
    paths = sample_paths(network, inputs, 0)
    known = np.arange(20) < inputs.num_predict[:, None]
    assert np.isfinite(paths.transpose(0, 2, 1, 3)[known]).all()
    assert count_fallbacks(inputs) == {
        "target_seen_once": 1,
        "target_history_gap": 1,
        "ego_missing": 1,
        "neighbor_seen_once": 5,
        "zero_horizon": 1,
    }


def test_latent_per_step_mixes_modes_and_latent_per_path_does_not(straight):
    torch.manual_seed(1)
    network = TrajectronNetwork(TINY).eval()
    with torch.no_grad():
        network.head.weight.zero_()
        network.head.bias.copy_(torch.tensor([0.0, 0.0, -20.0, -20.0, 0.0]))
        # Mode 0 accelerates, the others brake: the hidden state tells the mode through the start.
        network.decoder.weight_ih.zero_()
        network.decoder.weight_hh.zero_()
        network.decoder.bias_ih.zero_()
        network.decoder.bias_hh.zero_()
        network.decoder.weight_ih[32:, 0] = 3.0
        network.decoder.bias_ih[16:32] = -9.0
        network.head.weight[1] = 0.25
    inputs = straight(1).inputs
    per_path = sample_paths(network, inputs, 5)
    network.config = replace(TINY, mode_per_path=False)
    per_step = sample_paths(network, inputs, 5)
    assert np.unique(np.round(per_path[0, :, -1, 1], 4)).size <= 5
    assert np.unique(np.round(per_step[0, :, -1, 1], 4)).size > 5


def test_fitted_model_predicts_the_same_after_a_trip_to_disk(straight, tmp_path):
    recipe = Trajectron(config=TINY)
    fitted = recipe.fit(straight(30, num_steps=8), np.random.default_rng(0))
    fitted.save(tmp_path)
    again = recipe.load(tmp_path)
    inputs = straight(5, seed=9).inputs
    np.testing.assert_array_equal(
        fitted.predict(inputs, np.random.default_rng(4)).xy, again.predict(inputs, np.random.default_rng(4)).xy
    )


def test_features_count_pedestrians_apart_from_vehicles(straight):
    inputs = straight(2, num_agents=6).inputs
    inputs.xy[:, 5] = inputs.xy[:, 1] + 3.0
    features = build_features(inputs, TINY)
    np.testing.assert_array_equal(features.num_vulnerable, [1, 1])
    np.testing.assert_array_equal(features.num_vehicles, [4, 4])


@pytest.mark.parametrize("standardize", [True, False])
def test_it_keeps_the_contract_of_predictors(standardize):
    check_predictor(Trajectron(config=replace(TINY, standardize=standardize, mode_per_path=standardize)))


QUICK = replace(SMALL, updates=150, num_modes=4, learning_rate_decay=0.97, log_p_max=12.0)


@pytest.mark.slow
def test_displacement_vanishes_on_straight_constant_speed_data(straight):
    test = straight(100, seed=5)

    def error(config):
        fitted = Trajectron(config=config).fit(straight(300), np.random.default_rng(0))
        paths = fitted.predict(test.inputs, np.random.default_rng(1)).xy
        return np.linalg.norm(paths - test.truth.future_xy[:, None], axis=-1).mean()

    little, much = error(replace(QUICK, updates=30)), error(QUICK)
    assert much < 0.3
    assert much < little / 4


def bimodal(straight, num, seed):
    """Half of the cars accelerate and half brake, with noise in the controls; and the entropy of their positions.

    The density of a position is a mixture of two bivariate normal ones; its entropy is estimated by the mean of the
    true log density over the drawn positions, and summed over the steps.
    """
    steps, accel, sigma_w, sigma_a = 10, 3.0, 0.3, 1.0
    samples = straight(num, num_steps=steps, seed=seed)
    rng = np.random.default_rng(seed + 100)
    start = torch.as_tensor(samples.inputs.xy[:, 1, -1])
    speed = torch.as_tensor(-np.diff(samples.inputs.xy[:, 1, -2:, 1])[:, 0] / 0.2)
    heading = torch.full_like(speed, -np.pi / 2)
    mode = np.where(rng.random(num) < 0.5, accel, -accel)
    turn = torch.as_tensor(rng.normal(0, sigma_w, (num, steps)))
    drawn = torch.as_tensor(mode[:, None] + rng.normal(0, sigma_a, (num, steps)))
    truth = integrate(turn, drawn, heading, speed, start, 0.2)
    samples.truth.future_xy[:] = truth.numpy()
    one = torch.ones(num, steps, dtype=torch.float64)
    modes = [
        log_density(
            propagate(0 * one, a * one, sigma_w * one, sigma_a * one, 0 * one, heading, speed, start, 0.2), truth
        )
        for a in (accel, -accel)
    ]
    density = torch.logsumexp(torch.stack(modes), dim=0) - np.log(2)
    return samples, -density.sum(dim=-1).mean().item()


@pytest.mark.slow
def test_likelihood_of_a_known_bimodal_toy_is_near_its_entropy(straight):
    samples, _ = bimodal(straight, 1500, 0)
    test, entropy = bimodal(straight, 500, 1)
    config = replace(
        SMALL,
        updates=180,
        learning_rate_decay=0.985,
        annealing=1.0,
        log_p_max=20.0,
        dropout=0.0,
        prior_dropout=0.0,
        mode_spread=10.0,
    )
    fitted = Trajectron(config=config).fit(samples, np.random.default_rng(0))
    nll = -fitted.step_log_likelihood(test).sum(axis=1).mean()
    assert nll == pytest.approx(entropy, rel=0.05)
    assert np.isfinite(fitted.log_likelihood(test)).all()


def test_path_and_step_likelihood_agree_for_a_single_step(straight, network):
    samples = straight(5)
    samples.truth.num_observed[:] = [1, 1, 1, 0, 20]
    fitted = FittedTrajectron(
        info=Trajectron().info,
        network=network,
        state=TrainingState(config=TINY, dt_s=0.2, seed=0, epoch=0, iteration=0, history=()),
    )
    path, step = fitted.log_likelihood(samples), fitted.step_log_likelihood(samples)
    np.testing.assert_allclose(path[:3], step[:3, 0], atol=1e-6)
    assert np.isnan(path[3])
    assert np.isnan(step[3]).all()
    assert np.isnan(step[:3, 1:]).all()
    assert path[4] != pytest.approx(step[4].sum())
