from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from giveway.core.errors import ProtocolError
from giveway.planning.builtin import LatticePlanner
from giveway.serve.rpc.client import inputs_of
from giveway.serve.rpc.messages import FetchEnvResponse, PushMyTrajectoryRequest
from giveway.serve.rpc.wire import idle_response, mode_of, prediction_of, request_of, track_ids
from giveway.sim.prepare import prepare
from giveway.sim.simulation import Simulation
from giveway.testing.drive_scenes import DrivenCar, crossing_case, crossing_scene, scene_of


def push(states: np.ndarray, probability: list[float], track_id: int = 2) -> PushMyTrajectoryRequest:
    message = PushMyTrajectoryRequest(probability=probability)
    for mode in states:
        message.pred_trajs.append(mode_of(mode, track_id))
    return message


def test_numeric_identifiers_are_kept_and_others_are_numbered() -> None:
    assert track_ids(["12", "7"]) == {"12": 12, "7": 7}
    assert track_ids(["ego", "7"]) == {"7": 1, "ego": 2}
    assert track_ids(["0", "1"]) == {"0": 1, "1": 2}
    assert track_ids(["07", "7"]) == {"07": 1, "7": 2}


def test_a_client_sees_the_numbers_of_a_run_in_process() -> None:
    simulation = Simulation([prepare(crossing_case(), crossing_scene())], planner=LatticePlanner())
    for _ in range(3):
        simulation.step()
    inputs = simulation.requests(("others",))
    numbers = track_ids({"ego", "other", "follower"})
    request = request_of(inputs, 0, numbers, "crossing")
    sent = FetchEnvResponse.FromString(request.response.SerializeToString())
    seen = inputs_of(sent, {"giveway-case": "crossing", "giveway-car": "other", "giveway-tick": "3"})
    assert np.array_equal(seen.history, inputs.history)
    assert np.array_equal(seen.others, inputs.others)
    assert np.array_equal(seen.size, inputs.size)
    assert np.array_equal(seen.others_size, inputs.others_size)
    assert (seen.case_ids, seen.car_ids, seen.tick.tolist()) == (inputs.case_ids, inputs.car_ids, [3])
    assert sent.map_name == "crossing"
    states = sent.my_traj.state
    assert [s.frame_id for s in states] == list(range(3, 13))
    assert [s.timestamp_ms for s in states] == [100 * s.frame_id for s in states]
    assert {s.track_id for s in states} == {numbers["other"]}
    assert {t.state[0].track_id for t in sent.other_trajs} == {numbers["ego"], numbers["follower"]}


def test_a_young_car_has_its_oldest_state_repeated_and_absent_cars_are_not_sent() -> None:
    late = DrivenCar(id="other", points=((1000.0, 940.0), (1000.0, 1080.0)), enters_s=1.3)
    ego = DrivenCar(id="ego", points=((940.0, 1000.0), (1080.0, 1000.0)))
    follower = DrivenCar(id="follower", points=((920.0, 1000.0), (1080.0, 1000.0)), enters_s=3.0)
    simulation = Simulation(
        [prepare(crossing_case(), scene_of([ego, late, follower], duration_s=9.0))], planner=LatticePlanner()
    )
    while not simulation.waiting()[0].size:
        simulation.step()
    assert simulation.tick == 3
    simulation.step()
    sent = request_of(simulation.requests(("others",)), 0, track_ids({"ego", "other", "follower"}), "crossing").response
    states = sent.my_traj.state
    assert [s.frame_id for s in states] == [0] * 9 + [1]
    assert all(s.y == states[0].y for s in states[:9])
    assert states[9].y != states[8].y
    assert len(sent.other_trajs) == 1


def test_the_idle_answers_of_both_modes() -> None:
    old, strict = idle_response(compat=True), idle_response(compat=False)
    assert (old.resp_code, len(old.my_traj.state), len(old.other_trajs)) == (0, 10, 0)
    assert {(s.track_id, s.agent_type, s.x, s.length) for s in old.my_traj.state} == {(0, "233", 0.0, 0.0)}
    assert (strict.resp_code, len(strict.my_traj.state)) == (2, 0)


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 5), st.floats(-9e4, 9e4))
def test_a_prediction_survives_the_wire_bit_for_bit(modes: int, offset: float) -> None:
    states = np.random.default_rng(modes).normal(offset, 3.0, (modes, 30, 5))
    weight = np.random.default_rng(modes + 1).dirichlet(np.ones(modes))
    message = push(states, weight.tolist())
    back, probability = prediction_of(PushMyTrajectoryRequest.FromString(message.SerializeToString()), 2)
    assert np.array_equal(back, states)
    assert np.array_equal(probability, weight)


ONES = np.ones((1, 30, 5))


@pytest.mark.parametrize(
    ("states", "probability", "track_id", "sentence"),
    [
        (np.ones((1, 29, 5)), [1.0], 2, "29 states, 30 are needed"),
        (np.ones((1, 31, 5)), [1.0], 2, "31 states"),
        (np.ones((2, 30, 5)), [0.5, 0.4], 2, "add up to 0.9000"),
        (np.ones((2, 30, 5)), [1.5, -0.5], 2, "negative probability"),
        (np.ones((2, 30, 5)), [1.0], 2, "2 probabilities, found 1"),
        (np.full((1, 30, 5), np.nan), [1.0], 2, "not a finite number"),
        (np.full((1, 30, 5), np.inf), [1.0], 2, "not a finite number"),
        (ONES, [float("nan")], 2, "not a finite number"),
        (ONES, [1.0], 3, "about car 3, but car 2 was asked for"),
        (np.ones((0, 30, 5)), [], 2, "1 to 64 modes, this one has 0"),
        (np.ones((65, 30, 5)), [1 / 65] * 65, 2, "this one has 65"),
    ],
)
def test_what_cannot_be_used_is_refused_with_a_sentence(
    states: np.ndarray, probability: list[float], track_id: int, sentence: str
) -> None:
    with pytest.raises(ProtocolError, match=sentence):
        prediction_of(push(states, probability, track_id), 2)
