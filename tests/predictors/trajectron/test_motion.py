"""Trajectron++ as a predictor for driving."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from giveway.core.errors import DataError, FileFormatError, PredictionError, UsageError
from giveway.core.histories import constant_velocity_states
from giveway.core.sealed_files import write_weights
from giveway.predictors import make_predictor
from giveway.predictors.trajectron.checkpoint import Checkpoint, TrainingState, write_checkpoint
from giveway.predictors.trajectron.driving import (
    CONTROL_STEP_S,
    CONTROL_STEPS,
    DrivingTrajectron,
    motion_features,
    tensor_shapes,
    unicycle_states,
)
from giveway.predictors.trajectron.driving_training import MOTION, train_trajectron
from giveway.predictors.trajectron.dynamics import integrate
from giveway.predictors.trajectron.features import from_network
from giveway.predictors.trajectron.forward import prior_and_controls
from giveway.predictors.trajectron.network import Batch, TrajectronNetwork
from giveway.predictors.trajectron.recipe import TPP
from giveway.predictors.windows import MotionWindows, TrainingOptions
from giveway.testing.motion import answer_of, check_motion_predictor, motion_inputs, one_request


@pytest.fixture(scope="module")
def network():
    torch.manual_seed(0)
    return TrajectronNetwork(MOTION).double().eval()


@pytest.fixture(scope="module")
def tensors(network):
    return {name: value.numpy() for name, value in network.state_dict().items() if name in tensor_shapes(MOTION)}


@pytest.fixture(scope="module")
def predictor(tensors):
    return DrivingTrajectron(learned(tensors))


def learned(tensors, config=MOTION) -> Checkpoint:
    state = TrainingState(
        config=config, dt_s=CONTROL_STEP_S, seed=0, epoch=0, iteration=0, history=(), learned_from="recordings"
    )
    return Checkpoint(tensors=tensors, state=state)


def turning_windows(num: int, *, seed: int = 0) -> MotionWindows:
    """Cars on circles to either side at different speeds, one neighbor each."""
    rng = np.random.default_rng(seed)
    time = 0.1 * np.arange(-9, 31)
    rate = rng.choice([-0.35, 0.35], num)[:, None]
    course = rng.uniform(-3, 3, num)[:, None] + rate * time
    speed = rng.uniform(4, 9, num)[:, None]
    velocity = speed[..., None] * np.stack([np.cos(course), np.sin(course)], axis=-1)
    arc = speed / rate
    xy = np.stack([arc * np.sin(course), -arc * np.cos(course)], axis=-1)
    states = np.concatenate([xy - xy[:, 9:10], velocity, course[..., None]], axis=-1)
    others = np.full((num, 2, 10, 5), np.nan)
    others[:, 0] = states[:, :10] + np.array([8.0, 3.0, 0.0, 0.0, 0.0])
    return MotionWindows(history=states[:, :10], others=others, future=states[:, 10:, :2])


def test_it_keeps_the_contract_of_trajectory_predictors(predictor):
    check_motion_predictor(predictor)


def test_plain_arrays_give_what_the_torch_network_gives(network, predictor):
    inputs = motion_inputs()
    features = motion_features(inputs.history, inputs.others, None, MOTION)
    batch = Batch.of(features, torch.device("cpu"))
    batch = Batch(
        **{f: getattr(batch, f).double() for f in Batch.__dataclass_fields__ if f != "length"}, length=batch.length
    )
    with torch.inference_mode():
        x = network.encode(batch)
        expected = network.decode(batch, x, CONTROL_STEPS, sample=False)
        expected_p = torch.softmax(network.prior_logits(x), dim=-1)
    p, controls, heading = prior_and_controls(predictor.weights, features, CONTROL_STEPS)
    np.testing.assert_allclose(p, expected_p, atol=1e-5)
    np.testing.assert_allclose(controls, expected.mean, atol=1e-5)
    np.testing.assert_allclose(heading, expected.heading, atol=1e-5)


def test_states_follow_the_unicycle_of_the_training(predictor):
    inputs = motion_inputs()
    moving = np.hypot(inputs.history[:, -1, 2], inputs.history[:, -1, 3]) > 3.0
    inputs = one_request(inputs, slice(int(np.flatnonzero(moving)[0]), int(np.flatnonzero(moving)[0]) + 1))
    features = motion_features(inputs.history, inputs.others, None, MOTION)
    rng = np.random.default_rng(0)
    controls = rng.normal(0, 0.3, (1, 4, CONTROL_STEPS, 2))
    states = unicycle_states(controls, np.array([0.1]), features)
    local = integrate(
        torch.as_tensor(controls[..., 0]),
        torch.as_tensor(controls[..., 1]),
        torch.full((1, 4), 0.1, dtype=torch.float64),
        torch.as_tensor(features.present[:, 1:2]).expand(1, 4),
        torch.zeros(1, 4, 2, dtype=torch.float64),
        CONTROL_STEP_S,
    )
    np.testing.assert_allclose(states[:, :, 1::2, :2], from_network(local.numpy(), features), atol=1e-5)
    step = np.diff(states[0, :, :, :2], axis=1) / 0.1
    np.testing.assert_allclose(
        np.hypot(step[..., 0], step[..., 1]), np.hypot(states[0, :, 1:, 2], states[0, :, 1:, 3]), atol=0.1
    )


def test_a_braking_car_stops_and_does_not_reverse():
    history = np.zeros((1, 10, 5))
    history[0, :, 0] = 0.5 * np.arange(10)
    history[0, :, 2] = 5.0
    features = motion_features(history, np.zeros((1, 0, 10, 5)), None, MOTION)
    controls = np.zeros((1, 1, CONTROL_STEPS, 2))
    controls[..., 1] = -5.0
    states = unicycle_states(controls, np.zeros(1), features)
    assert (np.diff(states[0, 0, :, 0]) >= 0).all()
    np.testing.assert_allclose(states[0, 0, -1], [4.5 + 2.5, 0, 0, 0, 0], atol=1e-9)


def test_predictions_turn_and_move_with_the_scene(predictor):
    inputs = motion_inputs()
    angle, shift = 1.1, np.array([12.0, -40.0])
    rotation = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])

    def moved(states):
        xy, velocity, heading = (
            states[..., :2] @ rotation.T + shift,
            states[..., 2:4] @ rotation.T,
            states[..., 4:] + angle,
        )
        return np.concatenate([xy, velocity, heading], axis=-1)

    there = replace(inputs, history=moved(inputs.history), others=moved(inputs.others))
    np.testing.assert_allclose(
        answer_of(predictor, there).states[..., :4], moved(answer_of(predictor, inputs).states)[..., :4], atol=1e-6
    )


def test_frames_before_a_car_appeared_are_not_read(predictor):
    inputs = motion_inputs()
    age = np.full((6, 4), 20)
    age[:, 0], age[:, 1] = 3, 0
    forged = replace(inputs, history=inputs.history.copy(), others=inputs.others.copy())
    forged.history[:, :6] += 100.0
    forged.others[:, 0, :9] -= 50.0
    one, two = (answer_of(predictor, replace(i, age_ticks=age)) for i in (inputs, forged))
    np.testing.assert_array_equal(one.states, two.states)
    assert not np.array_equal(answer_of(predictor, forged).states, one.states)


def test_far_and_absent_cars_change_nothing(predictor):
    inputs = motion_inputs()
    far = replace(inputs, others=np.concatenate([inputs.others, inputs.others[:, :1] + 500.0], axis=1))
    np.testing.assert_allclose(answer_of(predictor, far).states, answer_of(predictor, inputs).states, atol=1e-12)


def test_training_beats_constant_velocity_resumes_and_tells_how_it_goes(tmp_path):
    windows, held = turning_windows(400), turning_windows(60, seed=5)
    options = TrainingOptions(epochs=14, seed=1)
    lines: list[str] = []

    def stop(done, total, text):
        lines.append(text)
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_trajectron(windows, held, tmp_path / "a.safetensors", options, stop)
    assert "epoch 3/14" in lines[-1]
    assert "validation ADE" in lines[-1]
    assert "s left" in lines[-1]
    resumed = train_trajectron(windows, held, tmp_path / "a.safetensors", options, lambda d, t, s: lines.append(s))
    assert "epoch 4/14" in lines[3]
    assert not list(tmp_path.glob(".*training"))
    inputs = replace(motion_inputs(requests=60), history=held.history, others=held.others)
    answer = answer_of(make_predictor(f"trajectron:{tmp_path / 'a.safetensors'}"), inputs)
    np.testing.assert_array_equal(answer.states, answer_of(resumed.predictor, inputs).states)
    best = answer.states[np.arange(60), answer.probability.argmax(axis=1), :, :2]
    ours = np.linalg.norm(best - held.future, axis=-1).mean()
    straight = np.linalg.norm(constant_velocity_states(held.history)[..., :2] - held.future, axis=-1).mean()
    assert ours < 0.5 * straight


def test_a_file_of_version_0_1_predicts_the_same(tensors, predictor, tmp_path):
    old = {name: value.astype(np.float32) for name, value in tensors.items()}
    facts = {"format": "giveway-trajectron-motion-1", "config": MOTION.to_json()}
    write_weights(tmp_path / "old.safetensors", old, facts)
    loaded, new = TPP.load(tmp_path / "old.safetensors"), DrivingTrajectron(learned(old))
    assert loaded.fingerprint == new.fingerprint
    inputs = motion_inputs(requests=3)
    np.testing.assert_array_equal(answer_of(loaded, inputs).states, answer_of(new, inputs).states)


def test_bad_checkpoints_and_windows_get_a_sentence(tensors, tmp_path):
    with pytest.raises(UsageError, match="TPP has to be trained"):
        make_predictor("TPP")
    with pytest.raises(DataError, match="no such"):
        TPP.load(tmp_path / "none")
    good = tmp_path / "good.safetensors"
    write_checkpoint(good, learned(tensors))
    TPP.load(good)
    cut = tmp_path / "cut.safetensors"
    cut.write_bytes(good.read_bytes()[:-40])
    with pytest.raises(FileFormatError, match="damaged"):
        TPP.load(cut)
    other = tmp_path / "other.safetensors"
    write_checkpoint(other, learned(tensors, replace(MOTION, num_modes=4)))
    with pytest.raises(FileFormatError, match="does not fit its configuration") as caught:
        TPP.load(other)
    assert caught.value.where == str(other)
    windows = turning_windows(80)
    windows.history[7, 3, 0] = np.nan
    with pytest.raises(PredictionError, match="window 7"):
        train_trajectron(windows, turning_windows(10), tmp_path / "x.safetensors", TrainingOptions(epochs=1), None)
