"""The stepping of many cases: replay, determinism, appearance, removal, oversight of predictions."""

from dataclasses import replace

import numpy as np
import pytest

from giveway.core.case import Car, Role, Start
from giveway.core.errors import DataError, PredictionError
from giveway.core.histories import constant_velocity_states
from giveway.core.predictions import Trajectories
from giveway.predictors.acceptance import accept
from giveway.sim.prepare import prepare, resample, with_drivers
from giveway.sim.simulation import ORIGIN_M, Simulation
from giveway.sim.state import PAST, DriverCode
from giveway.testing.drive_scenes import DrivenCar, crossing_case, crossing_scene, scene_of
from references.kinematics import FEASIBLE, Bicycle, Controls, VehicleState


def straight(inputs):
    states = constant_velocity_states(inputs.history)[:, None]
    return accept(Trajectories.of_states(states, np.ones((len(states), 1))), inputs)


def run(cases, **options):
    simulation = Simulation(cases, **options)
    while not simulation.done:
        simulation.step(straight(simulation.requests()))
    simulation.close()
    return simulation


@pytest.fixture(scope="module")
def scene():
    return crossing_scene()


@pytest.fixture(scope="module")
def prepared(scene):
    return prepare(crossing_case(), scene)


def test_with_every_car_on_replay_the_log_is_the_recording(prepared):
    simulation = run([with_drivers(prepared, DriverCode.REPLAY, everyone_replays=True)])
    shown = slice(PAST, PAST + 61)
    assert np.array_equal(simulation.state.on[0][:, shown], prepared.rec_on[:, shown])
    np.testing.assert_allclose(simulation.state.log[0][:, shown], prepared.rec[:, shown], rtol=0, atol=1e-9)


@pytest.mark.parametrize(("size", "threads"), [(1, 1), (3, 1), (5, 2), (8, 3)])
def test_neither_batch_nor_threads_change_a_log(prepared, size, threads):
    alone = run([prepared]).state.log[0]
    other = prepare(crossing_case(case_id="b", seconds=3.0), crossing_scene(ego_speed_mps=5.0))
    batch = run([other if k % 2 else prepared for k in range(size)], threads=threads).state.log
    for k in range(0, size, 2):
        agents, columns = alone.shape[:2]
        assert np.array_equal(batch[k, :agents, :columns], alone, equal_nan=True)


def test_the_ego_gives_way_to_a_crossing_car_it_was_told_about(prepared):
    told = run([prepared])
    ego = prepared.ego
    speed = np.hypot(told.state.log[0, ego, PAST : PAST + 61, 2], told.state.log[0, ego, PAST : PAST + 61, 3])
    assert speed.min() < 7.0
    gap = np.linalg.norm(told.state.log[0, ego, :, :2] - told.state.log[0, 1, :, :2], axis=-1)
    assert np.nanmin(gap) > 4.0


def test_a_hidden_car_is_not_seen_and_a_case_can_show_it(scene):
    alone = replace(crossing_case(), cars=(Car(id="ego", role=Role.EGO),), right_of_way=())
    hidden = run([prepare(replace(alone, hide_unpredicted=True), scene)])
    shown = run([prepare(alone, scene)])
    end = [s.state.log[0, 0, PAST + 60, 0] for s in (hidden, shown)]
    assert end[0] > end[1] + 1.0


@pytest.fixture(scope="module")
def queue():
    """An ego behind a slower car that its case hides from it."""
    cars = [
        DrivenCar(id="ego", points=((940, 1000), (1080, 1000)), speed_mps=8.0),
        DrivenCar(id="slow", points=((965, 1000), (1080, 1000)), speed_mps=2.0),
    ]
    case = replace(crossing_case(), cars=(Car(id="ego", role=Role.EGO),), right_of_way=(), hide_unpredicted=True)
    return case, scene_of(cars)


def test_a_car_following_ego_does_not_follow_a_hidden_car(queue):
    case, scene = queue
    hidden, shown = (
        run([with_drivers(prepare(replace(case, hide_unpredicted=hide), scene), DriverCode.IDM)]).state.log[0, 0]
        for hide in (True, False)
    )
    ends = [float(log[PAST + 60, 0] - log[PAST, 0]) for log in (hidden, shown)]
    assert ends[0] == pytest.approx(48.0, abs=0.5), "as on a free road"
    assert ends[1] < 35.0


def test_other_car_following_cars_see_a_car_that_is_hidden_from_the_ego(queue):
    case, _ = queue
    crowded = scene_of(
        [
            DrivenCar(id="ego", points=((1000, 940), (1000, 1080)), speed_mps=8.0),
            DrivenCar(id="follower", points=((952, 1000), (1080, 1000)), speed_mps=8.0),
            DrivenCar(id="slow", points=((965, 1000), (1080, 1000)), speed_mps=2.0),
        ]
    )
    cast = (Car(id="ego", role=Role.EGO), Car(id="follower", role=Role.IDM))
    log = run([prepare(replace(case, cars=cast), crowded)]).state.log[0]
    assert log[1, PAST + 60, 0] < log[2, PAST + 60, 0]


def test_a_planner_from_outside_is_not_shown_a_hidden_car(queue):
    case, scene = queue
    for hide, seen in ((True, [True, False]), (False, [True, True])):
        simulation = Simulation([prepare(replace(case, hide_unpredicted=hide), scene)])
        assert simulation.situation(0, 0).present.tolist() == seen


def test_history_is_ten_states_in_the_predictors_frame_and_ends_with_now(prepared):
    simulation = Simulation([prepared])
    for _ in range(3):
        simulation.step(straight(simulation.requests()))
    inputs = simulation.requests(("others",))
    assert inputs.history.shape == (1, 10, 5)
    assert inputs.others.shape == (1, 2, 10, 5)
    now = simulation.state.log[0, 1, PAST + 3]
    np.testing.assert_array_equal(inputs.history[0, -1, :2], now[:2] - ORIGIN_M)
    np.testing.assert_array_equal(inputs.history[0, 0, :2], prepared.rec[1, 3, :2] - ORIGIN_M)


def test_the_oldest_state_is_repeated_for_a_young_car():
    cars = [
        DrivenCar(id="ego", points=((940, 1000), (1080, 1000))),
        DrivenCar(id="late", points=((1000, 940), (1000, 1080)), enters_s=1.4),
    ]
    case = replace(
        crossing_case(),
        cars=(Car(id="ego", role=Role.EGO), Car(id="late", role=Role.REPLAY, predicted=True)),
        right_of_way=(),
    )
    simulation = Simulation([prepare(case, scene_of(cars))])
    assert simulation.requests().num_requests == 0
    for _ in range(6):
        simulation.step()
    history = simulation.requests().history[0]
    assert np.array_equal(history[:8], np.repeat(history[:1], 8, axis=0))
    assert not np.array_equal(history[8], history[7])


def test_requests_hold_nothing_from_the_future(scene, prepared):
    forged = scene.tracks.xy.copy()
    forged[1, 31:] += 50.0
    other = prepare(crossing_case(), replace(scene, tracks=replace(scene.tracks, xy=forged)))
    replayed = [with_drivers(p, DriverCode.REPLAY, everyone_replays=True) for p in (prepared, other)]
    seen = []
    for case in replayed:
        simulation = Simulation([case])
        for _ in range(20):
            simulation.step()
        seen.append(simulation.requests(("others",)))
    assert np.array_equal(seen[0].history, seen[1].history)
    assert np.array_equal(seen[0].others, seen[1].others)


def test_a_car_whose_place_is_taken_waits_and_says_so():
    cars = [
        DrivenCar(id="ego", points=((940, 1000), (1080, 1000)), speed_mps=8.0),
        DrivenCar(id="late", points=((956.5, 1000), (1080, 1000)), enters_s=2.0, speed_mps=3.0),
    ]
    case = replace(crossing_case(), cars=(Car(id="ego", role=Role.EGO), Car(id="late", role=Role.IDM)), right_of_way=())
    simulation = run([with_drivers(prepare(case, scene_of(cars)), DriverCode.CONSTANT_SPEED)])
    assert simulation.state.delayed[0, 1] > 0
    first = int(np.flatnonzero(simulation.state.on[0, 1])[0]) - PAST
    assert first == 10 + simulation.state.delayed[0, 1]


def test_a_car_leaves_one_meter_before_the_end_of_its_path():
    cars = [DrivenCar(id="ego", points=((940, 1000), (990, 1000)), speed_mps=8.0)]
    case = replace(crossing_case(), cars=(Car(id="ego", role=Role.EGO),), right_of_way=())
    simulation = run([with_drivers(prepare(case, scene_of(cars)), DriverCode.CONSTANT_SPEED)])
    seen = np.flatnonzero(simulation.state.on[0, 0])
    assert 987.0 < simulation.state.log[0, 0, seen[-1], 0] <= 989.0
    assert not simulation.state.on[0, 0, seen[-1] + 1 :].any()


def test_free_cars_move_like_the_kinematic_bicycle(prepared):
    free = replace(prepared, driver=np.where(np.arange(3) == 1, int(DriverCode.ACTIONS), prepared.driver))
    simulation = Simulation([free])
    simulation.decisions.control[0, 1] = (0.7, 0.1)
    for _ in range(8):
        simulation.step()
    wheelbase = 0.6 * 4.5
    bicycle = Bicycle(wheelbase_m=wheelbase, rear_to_reference_m=wheelbase / 2, limits=FEASIBLE)
    start = free.start[1]
    state = VehicleState(xy=start[:2], heading=np.array(start[2]), speed=np.array(start[3]))
    for k in range(8):
        steer = np.array(0.1 * 0.1 * (k + 1))
        state = bicycle.step(state, Controls(accel=np.array(0.7), steer=steer), 0.1)
    after = simulation.state.log[0, 1, PAST + 8]
    np.testing.assert_allclose(after[:2], state.xy, atol=1e-9)
    assert after[4] == pytest.approx(float(state.heading), abs=1e-9)
    assert np.hypot(after[2], after[3]) == pytest.approx(float(state.speed), abs=1e-9)


def test_an_altered_start_is_taken_and_its_history_leads_there(scene):
    start = Start(time_s=1.0, x_m=945.0, y_m=1000.5, heading_rad=0.0, speed_mps=6.0)
    case = replace(crossing_case(), cars=(Car(id="ego", role=Role.EGO, start=start), *crossing_case().cars[1:]))
    simulation = Simulation([prepare(case, scene)])
    now = simulation.state.log[0, 0, PAST]
    assert now[:2] == pytest.approx([945.0, 1000.5])
    past = simulation.state.log[0, 0, : PAST + 1, 0]
    np.testing.assert_allclose(np.diff(past), 0.6, atol=0.02)
    simulation.step()
    assert simulation.state.log[0, 0, PAST + 1, 1] == pytest.approx(1000.5, abs=0.05)


def test_a_recording_that_changed_is_refused(scene):
    case = replace(crossing_case(), tracks_sha256="f" * 64)
    with pytest.raises(DataError, match="not the one this case was made for"):
        prepare(case, scene)


@pytest.mark.parametrize("changes", [{"start_s": -5.0}, {"end_s": 900.0}, {"cars": (Car(id="nobody", role=Role.EGO),)}])
def test_a_case_that_does_not_fit_its_recording_is_refused(scene, changes):
    with pytest.raises(DataError):
        prepare(replace(crossing_case(), right_of_way=(), **changes), scene)


def test_an_ego_with_a_single_recorded_position_stands_on_a_stub():
    cars = [DrivenCar(id="ego", points=((940, 1000), (940.5, 1000)), speed_mps=0.0)]
    tracks = scene_of(cars).tracks
    observed = np.zeros_like(tracks.observed)
    observed[0, 10] = True
    scene = replace(scene_of(cars), tracks=replace(tracks, observed=observed))
    case = replace(crossing_case(), cars=(Car(id="ego", role=Role.EGO),), right_of_way=())
    prepared = prepare(case, scene)
    assert "single recorded position" in prepared.notes[0]
    assert prepared.expected_progress_m == pytest.approx(0.0, abs=1e-9)
    assert run([prepared]).done


def test_recordings_at_another_rate_are_resampled_and_noted(scene):
    coarse = replace(
        scene.tracks,
        **{n: getattr(scene.tracks, n)[:, ::2] for n in ("xy", "heading", "velocity", "observed")},
        time_s=scene.tracks.time_s[::2],
    )
    prepared = prepare(crossing_case(), replace(scene, tracks=coarse))
    assert "resampled" in prepared.notes[0]
    fine = resample(coarse, 0.1)
    both = fine.observed & scene.tracks.observed[:, : fine.num_instants]
    np.testing.assert_allclose(fine.xy[both], scene.tracks.xy[:, : fine.num_instants][both], atol=1e-9)


def test_a_prediction_of_the_wrong_shape_is_a_mistake_of_the_predictor(prepared):
    simulation = Simulation([prepared])
    with pytest.raises(PredictionError, match="30"):
        simulation.step(Trajectories.of_states(np.zeros((1, 1, 29, 5)), np.ones((1, 1))))
    with pytest.raises(PredictionError, match="modes"):
        simulation.step(Trajectories.of_states(np.zeros((1, 0, 30, 5)), np.ones((1, 0))))


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda s, p: (s * np.nan, p), "finite"),
        (lambda s, p: (s, p * 0.9), "add up to 0.9"),
        (lambda s, p: (s, p * -1.0), "negative"),
    ],
)
def test_an_unusable_prediction_becomes_constant_velocity_with_a_reason(prepared, spoil, reason):
    simulation = Simulation([prepared])
    inputs = simulation.requests()
    good = constant_velocity_states(inputs.history)[:, None]
    states, probability = spoil(good + 3.0, np.ones((1, 1)))
    accepted = accept(Trajectories.of_states(states, probability), inputs)
    assert reason in accepted.reasons[0]
    assert accepted.fallback.all()
    np.testing.assert_array_equal(accepted.states, good)
