"""Motion predictors on gap samples, and models of gap acceptance in drives."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from giveway.core.case import Role
from giveway.core.errors import UsageError
from giveway.core.predictions import Prediction, Trajectories
from giveway.drive.driving import Drive, drive_cases
from giveway.drive.scenes import GivenScenes
from giveway.predictors import fitted_predictor, make_predictor, predictor_named
from giveway.predictors.base import Predictor
from giveway.predictors.constant_motion import CONSTANT_VELOCITY, continued
from giveway.predictors.gap_view import motion_inputs_of
from giveway.predictors.views import as_gap, as_motion
from giveway.sim.prepare import prepare
from giveway.sim.simulation import Simulation
from giveway.testing.crossing import crossing_samples
from giveway.testing.drive_scenes import DrivenCar, crossing_case, crossing_road, crossing_scene, scene_of
from giveway.testing.motion import answer_of, motion_inputs

RNG = np.random.default_rng


def as_motion_only(predictor):
    """The same predictor, which says that it takes the states of cars only."""
    return replace(predictor, info=replace(predictor.info, takes=frozenset({"motion"}), horizon_s=3.0))


@pytest.mark.parametrize("num_input", [2, 3, 8])
def test_constant_velocity_through_the_view_is_the_one_of_the_benchmark(num_input):
    inputs = crossing_samples(60, num_input=num_input).inputs
    found = as_gap(as_motion_only(CONSTANT_VELOCITY)).predict(inputs, RNG(0))
    straight = CONSTANT_VELOCITY.predict(inputs, RNG(0))
    assert found.xy.shape == straight.xy.shape == (inputs.num_samples, 1, int(inputs.num_predict.max()), 2)
    np.testing.assert_allclose(found.xy, straight.xy, rtol=0.0, atol=1e-9)
    nominal = continued(inputs, found.xy.shape[2], 1)
    known = ~np.isnan(found.xy[:, 0, :, 0])
    np.testing.assert_allclose(found.xy[:, 0][known], nominal[known], rtol=0.0, atol=1e-9)
    np.testing.assert_array_equal(known.sum(axis=1), inputs.num_predict)


def test_samples_beyond_the_horizon_are_counted():
    inputs = crossing_samples(60).inputs
    view = as_gap(as_motion_only(CONSTANT_VELOCITY))
    assert set((inputs.num_predict * inputs.dt_s).round(6)) == {3.4}
    some = replace(inputs, num_predict=np.where(np.arange(inputs.num_samples) < 5, 16, 15))
    assert view.fallbacks(some) == {"constant velocity beyond 3.0 s": 5}


def test_modes_are_repeated_in_proportion_to_their_weights():
    class Fork(Predictor, name="fork"):
        def predict(self, inputs, rng):
            steps = np.arange(1, 31)[:, None] * np.array([[[1.0, 0.0]], [[0.0, 1.0]]])
            xy = inputs.xy[:, :1, -1:] + steps[None]
            return Prediction.trajectories(xy, dt_s=0.1, weight=np.tile([0.254, 0.746], (len(xy), 1)))

    inputs = crossing_samples(20).inputs
    found = as_gap(Fork()).predict(inputs, RNG(0))
    assert found.xy.shape[1] == 100
    start = inputs.xy[:, 1, -1]
    east = found.xy[:, :, 0, 0] > start[:, None, 0] + 1e-6
    assert east.sum(axis=1).tolist() == [25] * inputs.num_samples
    np.testing.assert_allclose(found.xy[:, 0, 0], start + np.array([2.0, 0.0]), atol=1e-9)


def test_agents_that_were_not_there_before_have_their_oldest_state_repeated():
    inputs = crossing_samples(60, num_input=5).inputs
    xy = inputs.xy.copy()
    xy[:, :2, :2] = np.nan
    late = motion_inputs_of(replace(inputs, xy=xy))
    assert np.isfinite(late.history).all()
    assert (late.age_ticks[:, :2] == 4).all()
    np.testing.assert_array_equal(late.history[:, :5], np.repeat(late.history[:, 5:6], 5, axis=1))
    whole = motion_inputs_of(inputs)
    assert (whole.age_ticks[:, :2] == 8).all()
    np.testing.assert_array_equal(late.history[:, 6:], whole.history[:, 6:])
    xy[:, 2:, -1] = np.nan
    assert np.isnan(motion_inputs_of(replace(inputs, xy=xy)).others[:, 1:, -1]).all()


def test_the_oracle_cannot_be_benchmarked():
    with pytest.raises(UsageError, match="needs the true future"):
        as_gap(make_predictor("oracle"))


class Sure(Predictor, name="sure", gives="probability", reads=("distances",)):
    """Accepts with a fixed probability and remembers what it was asked."""

    def __init__(self, p=0.75):
        self.p, self.asked = p, []

    def predict(self, inputs, rng):
        self.asked.append(inputs)
        return Prediction.probability(np.full(inputs.num_samples, self.p))


class Timed(Predictor, name="timed", gives="time", reads=("distances",)):
    """Accepts after one to three seconds."""

    def predict(self, inputs, rng):
        n = inputs.num_samples
        return Prediction.times(np.full(n, 0.5), np.tile(np.linspace(1.0, 3.0, 9), (n, 1)))


def requests(*, favored=(), reads=("distances",), **scene):
    scene = {"other_speed_mps": 7.0, **scene}
    case = replace(crossing_case(), right_of_way=favored)
    return Simulation([prepare(case, crossing_scene(**scene))]).requests(reads)


def test_the_simulator_says_which_area_two_routes_share():
    inputs = requests()
    (conflict, row) = inputs.conflict, 0
    assert inputs.others_ids[0][conflict.other[row]] == "ego"
    # After 1 s at 7 m/s the car is 53 m before (1000, 1000), its front 2.25 m ahead; the area begins 2.2 m before.
    assert conflict.own_m[0, -1] == pytest.approx(1000.0 - (940.0 + 7.0) - 2.25 - 2.2, abs=1.0)
    np.testing.assert_allclose(np.diff(conflict.own_m[0]), -0.7, atol=1e-6)
    assert conflict.yields[0]
    assert not requests(favored=("other",)).conflict.yields[0]
    assert requests(reads=()).conflict is None


def test_without_a_right_of_way_the_later_one_yields():
    assert requests(favored=(), other_speed_mps=6.0).conflict.yields[0]
    assert not requests(favored=(), other_speed_mps=10.0).conflict.yields[0]


def test_cars_whose_routes_do_not_meet_have_no_conflict():
    away = scene_of(
        [
            DrivenCar(id="ego", points=((940.0, 1000.0), (1080.0, 1000.0))),
            DrivenCar(id="other", points=((1000.0, 1010.0), (1000.0, 1160.0))),
            DrivenCar(id="follower", points=((920.0, 1000.0), (1080.0, 1000.0))),
        ],
        road=crossing_road(),
    )
    inputs = Simulation([prepare(replace(crossing_case(), right_of_way=()), away)]).requests(("distances",))
    assert inputs.conflict.other.tolist() == [-1]
    answer = as_motion(Sure()).predict(inputs, RNG(0))
    assert answer.fallback == ("no conflict ahead",)
    straight = answer_of(make_predictor("constant_velocity"), inputs)
    np.testing.assert_allclose(answer.xy[0, 0], straight.states[0, 0, :, :2], atol=1e-6)


def test_a_model_that_gives_a_probability_drives_two_modes():
    model = Sure()
    inputs = requests()
    answer = as_motion(model).predict(inputs, RNG(0))
    assert answer.weights[0].tolist() == [0.75, 0.25]
    (asked,) = model.asked
    assert asked.distance.shape == (1, 7, 5)
    assert asked.distance[0, 0, -1] == inputs.conflict.other_m[0, -1]
    assert asked.distance[0, 1, -1] == inputs.conflict.own_m[0, -1] + 2.25
    assert (asked.distance[0, 2:5] == 500.0).all()
    own = inputs.history[0, -1, :2]
    went = np.linalg.norm(answer.xy[0] - own, axis=-1)
    assert went[0, -1] > went[1, -1] - 1e-9
    assert (np.diff(went, axis=1) >= -1e-9).all()


def test_the_rejecting_mode_stops_before_the_area_and_the_accepting_ones_reach_it_on_time():
    case = replace(crossing_case(), right_of_way=())
    simulation = Simulation([prepare(case, crossing_scene(other_lead_m=43.0, other_speed_mps=5.0, ego_speed_mps=30.0))])
    inputs = simulation.requests(("distances",))
    front = float(inputs.conflict.own_m[0, -1])
    assert 6.0 < front < 8.7
    answer = as_motion(Timed()).predict(inputs, RNG(0))
    went = np.linalg.norm(answer.xy[0] - inputs.history[0, -1, :2], axis=-1)
    assert went[-1, -1] == pytest.approx(front, abs=0.05)
    assert answer.weights[0].tolist() == pytest.approx([0.5 / 9] * 9 + [0.5])
    for mode, arrival in enumerate(np.linspace(1.0, 3.0, 9)):
        assert np.interp(arrival, 0.1 * np.arange(1, 31), went[mode]) == pytest.approx(front, abs=0.05)


def test_the_car_with_the_right_of_way_goes_first_unless_the_other_accepts():
    model = Sure()
    inputs = requests(favored=("other",))
    answer = as_motion(model).predict(inputs, RNG(0))
    assert answer.fallback == ("",)
    assert answer.weights[0].tolist() == [0.25, 0.75]
    straight = answer_of(make_predictor("constant_velocity"), inputs)
    np.testing.assert_allclose(answer.xy[0, 0], straight.states[0, 0, :, :2], atol=1e-6)
    (asked,) = model.asked
    assert asked.distance[0, 0, -1] == inputs.conflict.own_m[0, -1]
    assert asked.distance[0, 1, -1] == inputs.conflict.other_m[0, -1] + 2.25


def test_without_a_simulator_that_knows_routes_a_gap_model_goes_straight_on():
    answer = as_motion(Sure()).predict(motion_inputs(), RNG(0))
    assert set(answer.fallback) == {"no conflict is known here"}


def test_models_that_read_positions_of_their_dataset_cannot_drive():
    fitted = predictor_named("LR_2D").fit(crossing_samples(80), RNG(0))
    with pytest.raises(UsageError, match="coordinates of its dataset"):
        as_motion(fitted)


@pytest.mark.parametrize("name", ["LR_1D", "DDM"])
def test_a_fitted_model_of_gap_acceptance_drives_from_its_file(name, tmp_path):
    predictor_named(name).fit(crossing_samples(80), RNG(0)).save(tmp_path)
    predictor = make_predictor(f"{name}:{tmp_path}")
    assert predictor.info.name == name and len(predictor.fingerprint) == 12
    source = GivenScenes({"crossing": crossing_scene(other_lead_m=-10.0)})
    yielding = replace(crossing_case(), right_of_way=())
    (drive,) = drive_cases([yielding], source, predictor=predictor)
    assert isinstance(drive, Drive), drive
    replaced = drive.log.num_fallbacks
    assert 0 <= replaced < drive.log.predictions.probability.shape[0], "the model was asked in part of the drive"
    (other,) = drive_cases([crossing_case()], source, predictor=predictor)
    assert {event.text for event in other.log.events if event.kind == "fallback"} <= {"no conflict ahead"}


def test_a_view_of_a_view_changes_nothing():
    echo = make_predictor("echo")
    assert as_motion(echo) is echo
    fitted = predictor_named("LR_1D").fit(crossing_samples(80), RNG(0))
    assert as_gap(fitted) is fitted
    assert isinstance(as_gap(echo).predict(crossing_samples(8).inputs, RNG(0)), Trajectories)
    assert fitted_predictor("echo").info.name == "echo"


def test_conflicts_know_nothing_of_what_happens_later_and_nothing_of_other_cases():
    case = replace(crossing_case(other=Role.REPLAY), right_of_way=())
    turning = scene_of(
        [
            DrivenCar(id="ego", points=((940.0, 1000.0), (1080.0, 1000.0))),
            DrivenCar(id="other", points=((1000.0, 940.0), (1000.0, 960.0), (1060.0, 975.0)), speed_mps=7.0),
            DrivenCar(id="follower", points=((920.0, 1000.0), (1080.0, 1000.0))),
        ],
        road=crossing_road(),
    )
    scenes = [crossing_scene(other_speed_mps=7.0), turning]
    alone = [Simulation([prepare(case, scene)]).requests(("distances",)) for scene in scenes]
    for name in ("other", "own_m", "other_m", "own_length_m", "other_length_m", "yields"):
        one, two = (getattr(inputs.conflict, name) for inputs in alone)
        np.testing.assert_array_equal(one, two, err_msg="the recorded way of a replayed car is not known in advance")
    np.testing.assert_array_equal(alone[0].route, alone[1].route)
    second = replace(crossing_case(case_id="second"), right_of_way=("other",))
    both = Simulation([prepare(second, crossing_scene()), prepare(case, scenes[0])]).requests(("distances",))
    np.testing.assert_array_equal(both.route[1], alone[0].route[0])
    np.testing.assert_array_equal(both.conflict.own_m[1], alone[0].conflict.own_m[0])
    together, apart = (as_motion(Timed()).predict(inputs, RNG(0)) for inputs in (both, alone[0]))
    np.testing.assert_array_equal(together.xy[1], apart.xy[0])
    np.testing.assert_array_equal(together.weights[1], apart.weights[0])
