"""Predictors of other cars: contract, exactness where it can be had, adapters, checkpoint."""

import json
import types
from dataclasses import replace

import numpy as np
import pytest

from giveway.core.errors import DataError, FileFormatError, PredictionError, UnknownNameError, UsageError
from giveway.core.histories import constant_velocity_states
from giveway.predictors import PREDICTORS, make_predictor, predictor_named
from giveway.predictors.acceptance import accept, stack_rows
from giveway.predictors.adapters import FunctionPredictor, TorchPredictor
from giveway.predictors.gru import SHAPES, GruPredictor, local_features
from giveway.testing.motion import answer_of, check_motion_predictor, motion_inputs, one_request


def random_weights(scale=0.2):
    rng = np.random.default_rng(3)
    return {name: scale * rng.normal(size=shape) for name, shape in SHAPES.items()}


MOTION = [
    name
    for name in PREDICTORS.names()
    if not name.startswith(("CM_", "TPP"))
    and "motion" in predictor_named(name).info.takes
    and not predictor_named(name).info.learns
]
"""Predictors that drive without having learned."""


@pytest.mark.parametrize("name", MOTION)
def test_every_registered_predictor_keeps_the_contract(name):
    check_motion_predictor(make_predictor(name))


def test_the_gru_keeps_the_contract():
    check_motion_predictor(GruPredictor(random_weights()))


def test_constant_turn_rate_is_exact_on_a_circle():
    inputs = motion_inputs()
    time = 0.1 * np.arange(-9, 31)
    speed, rate, heading = 6.0, 0.3, 0.4
    course = heading + rate * time
    xy = speed / rate * np.stack([np.sin(course) - np.sin(heading), np.cos(heading) - np.cos(course)], axis=1)
    states = np.concatenate([xy, speed * np.stack([np.cos(course), np.sin(course)], axis=1), course[:, None]], axis=1)
    circle = replace(inputs, history=np.repeat(states[None, :10], 6, axis=0))
    np.testing.assert_allclose(
        answer_of(make_predictor("constant_turn_rate"), circle).states[0, 0], states[10:], atol=1e-9
    )


def test_constant_velocity_is_exact_on_a_straight_line():
    inputs = motion_inputs()
    future = constant_velocity_states(inputs.history)
    np.testing.assert_array_equal(answer_of(make_predictor("constant_velocity"), inputs).states[:, 0], future)


def test_echo_stands():
    states = answer_of(make_predictor("echo"), motion_inputs()).states
    assert (states[..., 2:4] == 0).all()
    assert (states[..., :2] == states[:, :, :1, :2]).all()


def test_the_oracle_says_what_it_was_told_and_refuses_to_guess():
    inputs = motion_inputs()
    np.testing.assert_array_equal(answer_of(make_predictor("oracle"), inputs).states[:, 0], inputs.future)
    with pytest.raises(PredictionError, match="true future"):
        answer_of(make_predictor("oracle"), replace(inputs, future=None))


def test_idm_along_path_follows_its_lane_and_brakes_behind_a_car():
    inputs = motion_inputs(requests=1, others=2)
    now = np.array([-40.0, 0.5, 8.0, 0.0, 0.0])
    history = now + np.arange(-9, 1)[:, None] * np.array([0.8, 0, 0, 0, 0])
    parked = np.tile([-15.0, 0.0, 0.0, 0.0, 0.0], (10, 1))
    nobody = np.full((10, 5), np.nan)

    def predict(other):
        return answer_of(
            make_predictor("idm_along_path"),
            replace(
                inputs,
                history=history[None],
                others=np.stack([other, nobody])[None],
                others_size=np.full((1, 2, 2), 4.0),
            ),
        )

    free, blocked = predict(nobody).states[0, 0], predict(parked).states[0, 0]
    assert abs(free[-1, 1]) < 0.1
    assert free[-1, 0] == pytest.approx(-16.0, abs=1.0)
    assert blocked[-1, 0] < -19.0
    assert np.hypot(*blocked[-1, 2:4]) < 3.0


def test_turning_and_shifting_the_world_turns_and_shifts_predictions():
    inputs = motion_inputs()
    turn = 0.8
    matrix = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])

    def moved(states):
        out = states.copy()
        out[..., :2] = states[..., :2] @ matrix.T + 7.0
        out[..., 2:4] = states[..., 2:4] @ matrix.T
        out[..., 4] = states[..., 4] + turn
        return out

    for predictor in (make_predictor("constant_turn_rate"), make_predictor("echo"), GruPredictor(random_weights())):
        one = answer_of(predictor, inputs).states
        two = answer_of(predictor, replace(inputs, history=moved(inputs.history))).states
        np.testing.assert_allclose(two[..., :4], moved(one)[..., :4], atol=1e-7)


def test_a_function_that_returns_positions_becomes_a_predictor():
    def straight(history, others, road):
        ahead = 0.1 * np.arange(1, 31)[:, None]
        xy = history[-1, :2] + ahead * history[-1, 2:4]
        return np.stack([xy, xy + 1.0]), np.array([0.75, 0.25])

    predictor = FunctionPredictor(straight, name="mine")
    check_motion_predictor(predictor)
    answer = answer_of(predictor, motion_inputs())
    np.testing.assert_allclose(
        answer.states[:, 0, :, :4], constant_velocity_states(motion_inputs().history)[..., :4], atol=1e-9
    )


def test_a_function_with_29_states_is_told_so():
    predictor = FunctionPredictor(lambda h, o, r: (np.zeros((1, 29, 2)), np.ones(1)), name="short")
    with pytest.raises(PredictionError, match="29"):
        answer_of(predictor, motion_inputs())


def test_a_torch_module_becomes_a_predictor():
    torch = pytest.importorskip("torch")

    class Net(torch.nn.Module):
        def forward(self, x):
            steps = 0.1 * torch.arange(1, 31)[None, None, :, None]
            return (x[:, -1, 2:4][:, None, None] * steps).repeat(1, 2, 1, 1), torch.zeros(len(x), 2)

    predictor = TorchPredictor(Net(), name="net")
    check_motion_predictor(predictor)
    answer = answer_of(predictor, motion_inputs())
    np.testing.assert_allclose(answer.probability, 0.5)
    expected = constant_velocity_states(motion_inputs().history)[..., :2]
    np.testing.assert_allclose(answer.states[:, 1, :, :2], expected, atol=1e-4)


def test_the_compiled_network_equals_pytorch():
    torch = pytest.importorskip("torch")
    weights = random_weights()
    cell = torch.nn.GRU(4, 64, batch_first=True).double()
    with torch.no_grad():
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
            getattr(cell, f"{name}_l0").copy_(torch.as_tensor(weights[f"gru.{name}"]))
        hidden = cell(torch.as_tensor(local_features(motion_inputs().history)))[1][0].numpy()
    middle = np.maximum(hidden @ weights["middle.weight"].T + weights["middle.bias"], 0)
    raw = middle @ weights["out.weight"].T + weights["out.bias"]
    logits = raw[:, -3:]
    expected = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(answer_of(GruPredictor(weights), motion_inputs()).probability, expected, atol=1e-10)


def test_training_learns_a_turn_and_the_checkpoint_predicts_the_same(tmp_path):
    pytest.importorskip("torch")
    from giveway.predictors.gru_training import save_gru, train_gru

    rng = np.random.default_rng(0)
    time = 0.1 * np.arange(-9, 31)
    rate = rng.choice([-0.35, 0.35], 300)[:, None]
    course = rng.uniform(-3, 3, 300)[:, None] + rate * time
    speed = rng.uniform(4, 9, 300)[:, None]
    step = 0.1 * speed[..., None] * np.stack([np.cos(course), np.sin(course)], axis=-1)
    xy = np.cumsum(step, axis=1)
    states = np.concatenate([xy, step / 0.1, course[..., None]], axis=-1)
    short = [train_gru(states[:, :10], states[:, 10:, :2], epochs=2, seed=1) for _ in range(2)]
    assert all(np.array_equal(short[0][n], short[1][n]) for n in short[0])
    weights = train_gru(states[:, :10], states[:, 10:, :2], epochs=60, seed=1)
    save_gru(tmp_path / "g.safetensors", weights, note="test")
    loaded = GruPredictor().load(tmp_path / "g.safetensors")
    inputs = replace(motion_inputs(requests=6), history=states[:6, :10])
    np.testing.assert_allclose(
        answer_of(loaded, inputs).states, answer_of(GruPredictor(weights), inputs).states, atol=1e-3
    )
    answer = answer_of(loaded, inputs)
    best = answer.states[np.arange(6), answer.probability.argmax(axis=1), :, :2]
    ours = np.linalg.norm(best - states[:6, 10:, :2], axis=-1).mean()
    straight = np.linalg.norm(constant_velocity_states(states[:6, :10])[..., :2] - states[:6, 10:, :2], axis=-1).mean()
    assert ours < 0.6 * straight


def test_a_file_that_is_no_checkpoint_is_refused(tmp_path):
    with pytest.raises(UsageError, match="gru has to be trained"):
        make_predictor("gru")
    with pytest.raises(DataError, match="no such"):
        GruPredictor().load(tmp_path / "none")
    (tmp_path / "x.safetensors").write_bytes(json.dumps({"a": 1}).encode() * 10)
    with pytest.raises(FileFormatError):
        GruPredictor().load(tmp_path / "x.safetensors")


def test_names_and_import_paths(tmp_path):
    assert make_predictor("giveway.predictors.simple:Echo").info.name == "echo"
    with pytest.raises(UnknownNameError, match="constant_velocity"):
        make_predictor("constant_velocty")
    with pytest.raises(UsageError):
        make_predictor("os:getcwd")
    with pytest.raises(UsageError):
        make_predictor("nowhere.at.all:X")
    with pytest.raises(UsageError, match="echo has nothing to learn, so it takes no file"):
        make_predictor(f"echo:{tmp_path}")
    with pytest.raises(UsageError, match="gru has to be trained"):
        make_predictor("gru")
    with pytest.raises(UsageError, match="predict takes the inputs and a random generator"):
        make_predictor(types.SimpleNamespace(info=make_predictor("echo").info, predict=lambda inputs: None))


@pytest.mark.parametrize(("alias", "name"), [("CV", "constant_velocity"), ("CA", "constant_acceleration")])
def test_published_names_stand_for_the_same_predictor(alias, name):
    assert make_predictor(alias) is make_predictor(name)


def test_rows_with_different_numbers_of_modes_are_padded():
    one = (np.ones((1, 30, 5)), np.ones(1))
    three = (np.ones((3, 30, 5)), np.full(3, 1 / 3))
    batch = stack_rows([one, three])
    assert batch.weights.tolist()[0] == [1.0, 0.0, 0.0]
    accepted = accept(batch, motion_inputs(requests=2))
    assert not accepted.fallback.any()
    assert (accepted.states[0, 1:] == 0).all()


def test_random_numbers_depend_on_car_and_tick_only():
    inputs = motion_inputs()
    drawn = [own.random() for own in inputs.streams(inputs.generator())]
    moved = replace(inputs, history=inputs.history * 0)
    assert drawn == [own.random() for own in moved.streams(moved.generator())]
    assert len(set(drawn)) == len(drawn)
    (alone,) = one_request(inputs, 2).streams(inputs.generator())
    assert alone.random() == drawn[2]
    later = replace(inputs, tick=inputs.tick + 1)
    assert drawn[2] != list(later.streams(later.generator()))[2].random()
