import re
from dataclasses import asdict, replace

import numpy as np
import pytest
import torch

from giveway.core.errors import (
    ConfigError,
    DataError,
    EmptySelectionError,
    FileFormatError,
    GivewayError,
    PredictionError,
)
from giveway.core.sealed_files import write_document, write_weights
from giveway.core.seeds import seed_for
from giveway.predictors.torch_setup import seeded
from giveway.predictors.trajectron.batching import epoch_batches, training_length
from giveway.predictors.trajectron.checkpoint import FILE, arrays_of, read_checkpoint, write_checkpoint
from giveway.predictors.trajectron.config import TrajectronConfig, kl_weight, logit_clamp
from giveway.predictors.trajectron.network import Batch, TrajectronNetwork
from giveway.predictors.trajectron.objective import step_log_density, training_objective
from giveway.predictors.trajectron.recipe import Trajectron
from giveway.predictors.trajectron.training import spoken, train, training_set
from references import trajectron as plain

TINY = TrajectronConfig(epochs=4, batch_size=10, num_modes=5, decoder_size=16)


def weights(network) -> dict[str, np.ndarray]:
    return {key: value.numpy() for key, value in network.state_dict().items()}


def test_schedules_have_their_published_values():
    assert kl_weight(400) == pytest.approx(50.0)
    assert kl_weight(0) == pytest.approx(100 / (1 + np.exp(4)))
    assert logit_clamp(300) == pytest.approx(0.05 + 4.95 / 2)


def test_network_has_the_published_size():
    network = TrajectronNetwork(TrajectronConfig(standardize=False))
    assert sum(p.numel() for p in network.parameters()) == pytest.approx(135_000, rel=0.01)


@pytest.mark.parametrize(("observed", "expected"), [(1, 1), (5, 5), (6, 5), (9, 5), (10, 10), (173, 100)])
def test_training_length_is_rounded_down_to_fives(observed, expected):
    assert training_length(np.array([observed]))[0] == expected


def test_batches_follow_the_rule_for_large_small_and_one_step_groups():
    length = np.array([10] * 120 + [5] * 25 + [1] * 60)
    counts = {10: 0, 5: 0, 1: 0}
    for seed in range(200):
        for plan in epoch_batches(length, 50, np.random.default_rng(seed)):
            counts[plan.num_steps] += 1
            assert (length[plan.index] == plan.num_steps).all()
            assert plan.index.size == 50
            if plan.num_steps == 10:
                assert np.unique(plan.index).size == 50
    assert counts[10] == 400
    assert counts[1] == 0
    assert 70 < counts[5] < 130


@pytest.mark.parametrize("standardize", [True, False])
def test_objective_equals_the_step_by_step_one(straight, standardize):
    config = TrajectronConfig(standardize=standardize, num_modes=4, decoder_size=16)
    data = training_set(straight(7, num_agents=6, num_steps=6), config)
    torch.manual_seed(0)
    network = TrajectronNetwork(config).double().eval()
    batch = Batch.of(data.features, torch.device("cpu"))
    batch = Batch(
        **{f: getattr(batch, f).double() for f in Batch.__dataclass_fields__ if f != "length"}, length=batch.length
    )
    future = torch.as_tensor(data.future)
    x = network.encode(batch)
    fast = step_log_density(network.decode(batch, x, 6, sample=False), batch, future, 0.2)
    for mode in range(4):
        slow = plain.mode_log_density(network, batch, x, mode, future, 0.2, sample=False)
        np.testing.assert_allclose(fast[:, mode].detach(), slow.detach(), rtol=1e-4, atol=1e-3)


def test_training_reduces_the_loss_and_is_the_same_for_the_same_seed(straight):
    one, state = train(straight(60, num_steps=10), TINY, seed=3)
    two, _ = train(straight(60, num_steps=10), TINY, seed=3)
    assert state.history[-1].loss < state.history[0].loss
    for key, value in weights(one).items():
        np.testing.assert_array_equal(value, weights(two)[key])


def test_interrupted_and_resumed_training_equals_uninterrupted_training(straight, tmp_path):
    class Stop(Exception):
        pass

    def stop_after_two(report, _):
        if report.epoch == 2:
            raise Stop

    samples = straight(40, num_steps=10)
    with pytest.raises(Stop):
        train(samples, TINY, seed=1, folder=tmp_path, progress=stop_after_two)
    assert read_checkpoint(tmp_path).state.epoch == 2
    resumed, state = train(samples, TINY, seed=1, folder=tmp_path)
    whole, expected = train(samples, TINY, seed=1)
    assert state.history == expected.history
    for key, value in weights(whole).items():
        np.testing.assert_array_equal(weights(resumed)[key], value)


def test_checkpoint_of_another_configuration_is_refused_by_name(straight, tmp_path):
    train(straight(20, num_steps=5), TINY, seed=0, folder=tmp_path)
    with pytest.raises(ConfigError, match="num_modes = 5"):
        read_checkpoint(tmp_path, expected=TrajectronConfig(epochs=4, batch_size=10, num_modes=6, decoder_size=16))


@pytest.mark.parametrize("damage", ["truncate", "remove", "newer", "no state", "other tensors"])
def test_damaged_checkpoint_gets_a_sentence(straight, tmp_path, damage):
    recipe = Trajectron(config=TINY)
    recipe.fit(straight(20, num_steps=5), np.random.default_rng(0)).save(tmp_path)
    file = tmp_path / FILE
    good = read_checkpoint(file)
    if damage == "truncate":
        file.write_bytes(file.read_bytes()[:100])
    elif damage == "remove":
        file.unlink()
    elif damage == "newer":
        write_weights(file, good.tensors, {"format": "giveway-trajectron-3"})
    elif damage == "no state":
        write_weights(file, good.tensors, {"format": "giveway-trajectron-2", "state": "{}"})
    else:
        write_checkpoint(file, replace(good, tensors={**good.tensors, "prior.bias": np.zeros(6, np.float32)}))
    with pytest.raises(GivewayError) as caught:
        recipe.load(tmp_path)
    assert isinstance(caught.value, DataError if damage == "remove" else FileFormatError)
    assert str(tmp_path) in str(caught.value)


def test_a_folder_of_version_0_1_is_read(straight, tmp_path):
    fitted = Trajectron(config=TINY).fit(straight(20, num_steps=5), np.random.default_rng(0))
    state = fitted.state
    write_weights(tmp_path / "epoch-00004.safetensors", arrays_of(fitted.network))
    document = {
        "format": "giveway-trajectron",
        "version": 1,
        "weights": "epoch-00004.safetensors",
        "optimizer": None,
        "config": asdict(TINY),
        "dt_s": 0.2,
        "seed": str(state.seed),
        "epoch": 4,
        "iteration": state.iteration,
        "history": [asdict(report) for report in state.history],
    }
    write_document(tmp_path / "trajectron.json", document)
    loaded = Trajectron(config=TINY).load(tmp_path)
    assert loaded.state == state
    for key, value in weights(fitted.network).items():
        np.testing.assert_array_equal(weights(loaded.network)[key], value)
    write_document(tmp_path / "trajectron.json", {**document, "weights": "../other.safetensors"})
    with pytest.raises(FileFormatError, match="no checkpoint"):
        Trajectron(config=TINY).load(tmp_path)


def test_no_sample_with_a_future_is_an_error_before_training(straight):
    with pytest.raises(EmptySelectionError, match="no sample to train"):
        train(straight(5, num_steps=1), TINY, seed=0)


def test_missing_target_at_the_prediction_time_names_the_sample(straight):
    samples = straight(5)
    samples.inputs.xy[3, 1, -1] = np.nan
    with pytest.raises(PredictionError, match="sample s0-3"):
        train(samples, TINY, seed=0)


def test_a_hole_in_an_observed_future_names_the_sample_before_training(straight):
    samples = straight(5)
    samples.truth.future_xy[2, 3] = np.nan
    with pytest.raises(PredictionError, match="sample s0-2") as caught:
        train(samples, TINY, seed=0)
    assert "1 such samples" in str(caught.value)


def test_a_gradient_that_is_not_finite_skips_the_update(straight):
    data = training_set(straight(10, num_steps=5), TINY)
    network = TrajectronNetwork(TINY)
    future = torch.as_tensor(data.future, dtype=torch.float32)
    future[0] = float("inf")
    objective = training_objective(network, Batch.of(data.features, torch.device("cpu")), future, 0.2, 0)
    assert not torch.isfinite(objective.loss)
    samples = straight(10, num_steps=5)
    samples.truth.future_xy[:] = 1e30
    with seeded(seed_for(2, "weights"), torch.device("cpu")):
        before = TrajectronNetwork(TINY)
    after, state = train(samples, TINY, seed=2)
    assert sum(report.skipped for report in state.history) == state.iteration > 0
    for key, value in weights(before).items():
        np.testing.assert_array_equal(weights(after)[key], value)


JUDGED = TrajectronConfig(
    epochs=12, batch_size=10, num_modes=3, decoder_size=8, validation_share=0.25, learning_rate=0.05, patience=2
)


def test_early_stopping_keeps_the_best_weights_and_survives_an_interruption(straight, tmp_path):
    class Stop(Exception):
        pass

    def stop_after_two(report, _):
        if report.epoch == 2:
            raise Stop

    samples = straight(60, num_steps=8)
    network, state = train(samples, JUDGED, seed=1)
    errors = [report.validation_ade_m for report in state.history]
    assert len(errors) < 12
    assert len(errors) - 1 - int(np.argmin(errors)) == 2
    with pytest.raises(Stop):
        train(samples, JUDGED, seed=1, folder=tmp_path, progress=stop_after_two)
    train(samples, JUDGED, seed=1, folder=tmp_path)
    resumed, again = train(samples, JUDGED, seed=1, folder=tmp_path)
    assert again.history == state.history
    for key, value in weights(network).items():
        np.testing.assert_array_equal(weights(resumed)[key], value)


def test_early_stopping_is_off_by_default_and_needs_samples_to_judge_by():
    assert TrajectronConfig().patience == 0
    with pytest.raises(ConfigError, match="validate on"):
        TrajectronConfig(patience=3)


def test_too_few_samples_to_hold_one_out_are_trained_on_to_the_end(straight, tmp_path):
    few = replace(JUDGED, validation_share=0.05, epochs=6)
    samples = straight(9, num_steps=8)
    network, state = train(samples, few, seed=1, folder=tmp_path)
    whole, _ = train(samples, replace(few, validation_share=0.0, patience=0), seed=1)
    assert len(state.history) == 6
    for key, value in weights(whole).items():
        np.testing.assert_array_equal(weights(network)[key], value)


@pytest.mark.parametrize(
    ("name", "value", "least"),
    [(name, 0, 1) for name in ("epochs", "batch_size", "num_modes", "decoder_size", "history_size")]
    + [(name, -1, 0) for name in ("updates", "patience")],
)
def test_settings_that_leave_nothing_to_train_are_refused_with_a_sentence(name, value, least):
    with pytest.raises(ConfigError, match=f"{name!r} is out of range") as caught:
        TrajectronConfig.from_mapping({name: value})
    assert f"{least} or more" in str(caught.value)


def test_the_number_of_updates_bounds_training_whatever_the_number_of_samples(straight):
    config = TrajectronConfig(updates=8, batch_size=10, num_modes=3, decoder_size=8)
    for number in (40, 25):
        assert 8 <= train(straight(number, num_steps=5), config, seed=0)[1].iteration <= 12


def test_progress_is_a_line_with_epoch_loss_error_and_time_left(straight):
    lines: list[str] = []
    config = TrajectronConfig(epochs=2, batch_size=10, num_modes=3, decoder_size=8, validation_share=0.2)
    train(straight(40, num_steps=5), config, seed=0, progress=spoken(lines.append))
    assert len(lines) == 2
    assert re.fullmatch(r"epoch 1/2, loss -?[\d.]+, validation ADE [\d.]+ m, \d+ s left", lines[0])
