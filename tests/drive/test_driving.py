"""Driving cases end to end, in process: invariance, determinism, failure, comparison with the humans."""

from dataclasses import replace

import numpy as np
import pytest

from giveway.core.case import Car, Role
from giveway.core.errors import DataError, UsageError
from giveway.core.predictions import Trajectories
from giveway.drive.bundled import bundled_set
from giveway.drive.driving import Drive, FailedDrive, drive_cases, humans
from giveway.drive.scenes import GivenScenes, RecordedScenes
from giveway.drive.summary import compare, draws_of, open_against_closed_loop, summarize
from giveway.metrics import measure_log
from giveway.metrics.challenge import AS_CODED, AS_DOCUMENTED, DEFAULT, challenge_terms, failed_terms
from giveway.metrics.challenge_logs import challenge_inputs, terms_of
from giveway.metrics.challenge_score import challenge_score
from giveway.metrics.courtesy import courtesy_of
from giveway.planning import make_planner
from giveway.planning.builtin import ConstantSpeedPlanner, LatticePlanner
from giveway.planning.protocol import Plan
from giveway.predictors import make_predictor
from giveway.predictors.protocol import PredictorInfo
from giveway.sim.contacts import find_contacts
from giveway.testing.drive_scenes import crossing_case, crossing_scene
from giveway.testing.planners import situations

SOURCE = GivenScenes({"crossing": crossing_scene()})


def logs_of(cases, source, name, **options):
    predictor = None if name is None else make_predictor(name)
    return [
        drive.log for drive in drive_cases(cases, source, predictor=predictor, **options) if isinstance(drive, Drive)
    ]


@pytest.fixture(scope="module")
def bundled():
    return bundled_set()


def test_the_bundled_set_has_48_cases_of_six_seconds_over_three_roads(bundled):
    cases, source = bundled
    assert len(cases) == 48
    assert {case.num_ticks for case in cases} == {60}
    assert {case.site for case in cases} == {"GW_Merge", "GW_Roundabout", "GW_Junction"}
    assert all(case.right_of_way for case in cases)
    assert not any(find_contacts(source.scene_of(case).tracks) for case in cases)


def test_the_bundled_set_is_the_same_every_time(bundled):
    again, _ = bundled_set.__wrapped__(per_road=2)
    ours = {case.id: case for case in bundled[0]}
    assert all(case == ours[case.id] for case in again)
    assert len({case.fingerprint for case in bundled[0]}) == 48


def test_full_replay_reproduces_the_recording_and_every_difference_is_zero(bundled):
    cases, source = bundled
    logs = logs_of(cases[::6], source, "echo", everyone_replays=True)
    for log in logs:
        np.testing.assert_allclose(log.tracks.xy, log.recorded.xy, rtol=0, atol=1e-9)
        np.testing.assert_array_equal(log.tracks.observed, log.recorded.observed)
        assert all((c.jerk_mps3, c.delay_s, c.imposed_decel_mps2) == (0.0, 0.0, 0.0) for c in courtesy_of(log))
    score = challenge_score([challenge_terms(challenge_inputs(log)) for log in logs])
    assert (score.s_eff, score.n_col, score.n_col_any_pair) == (1.0, 0, 0)
    human = challenge_score([challenge_terms(challenge_inputs(humans(log))) for log in logs])
    assert score == human


@pytest.mark.parametrize(
    ("other", "counted"),
    [
        (None, 0),
        (Car(id="other", role=Role.REPLAY), 0),
        (Car(id="other", role=Role.REPLAY, predicted=True), 1),
        (Car(id="other", role=Role.IDM), 1),
    ],
    ids=["not listed", "replayed", "replayed and predicted", "driven"],
)
def test_the_evaluator_counts_collisions_of_driven_and_predicted_cars_only(other, counted):
    cast = (Car(id="ego", role=Role.EGO), *([other] if other else []))
    case = replace(crossing_case(seconds=8.0), cars=cast, right_of_way=())
    (log,) = logs_of([case], SOURCE, "echo", planner=ConstantSpeedPlanner())
    n_col = [
        challenge_score([challenge_terms(challenge_inputs(log), rules)], rules).n_col
        for rules in (AS_CODED, AS_DOCUMENTED, DEFAULT)
    ]
    assert n_col == [counted, counted, 1]


def test_the_oracle_drives_better_than_echo_on_the_bundled_set(bundled):
    cases, source = bundled
    scored = {
        name: summarize(name, [terms_of(log)["challenge"] for log in logs_of(cases, source, name)], DEFAULT)
        for name in ("oracle", "echo")
    }
    difference = compare(scored["oracle"], scored["echo"]).intervals["score"]
    assert difference.low > 0
    assert scored["oracle"].score.n_col_ego < scored["echo"].score.n_col_ego


def test_batch_size_and_threads_never_change_a_log(bundled):
    cases, source = bundled
    chosen = cases[::8]
    reference = [log.digest for log in logs_of(chosen, source, "constant_velocity")]
    for options in ({"batch": 1}, {"batch": 4, "threads": 2}, {"threads": 3}):
        assert [log.digest for log in logs_of(chosen, source, "constant_velocity", **options)] == reference
    backwards = logs_of(chosen[::-1], source, "constant_velocity")
    assert [log.digest for log in backwards][::-1] == reference


def test_a_planner_called_from_python_drives_like_the_built_in_one():
    class Outside(LatticePlanner):
        @property
        def info(self):
            return replace(super().info, driver="")

    (fused,) = logs_of([crossing_case()], SOURCE, "constant_velocity")
    (outside,) = logs_of([crossing_case()], SOURCE, "constant_velocity", planner=Outside())
    np.testing.assert_allclose(outside.tracks.xy, fused.tracks.xy, atol=1e-6)


@pytest.mark.parametrize("name", ["idm", "constant_speed"])
def test_other_planners_called_from_python_drive_like_the_built_in_ones(name):
    planner = make_planner(name)

    class Outside:
        info = replace(planner.info, driver="")

        def plan(self, situation):
            return planner.plan(situation)

    (fused,) = logs_of([crossing_case()], SOURCE, None, planner=planner)
    (outside,) = logs_of([crossing_case()], SOURCE, None, planner=Outside())
    np.testing.assert_allclose(outside.tracks.xy, fused.tracks.xy, atol=1e-9)


class Moody:
    """Fails for some cars in one of several ways."""

    info = PredictorInfo(name="moody", title="moody")

    def __init__(self, mood):
        self.mood = mood

    def predict(self, inputs, rng):
        answer = make_predictor("constant_velocity").predict(inputs, rng)
        if self.mood == "nan":
            answer.xy[:, :, 3] = np.nan
        if self.mood == "raise" and "bad" in inputs.case_ids:
            raise RuntimeError("out of memory")
        if self.mood == "short":
            return Trajectories(xy=answer.xy[:, :, :29], dt_s=0.1)
        return answer


def test_unusable_predictions_are_replaced_counted_and_logged():
    (drive,) = drive_cases([crossing_case()], SOURCE, predictor=Moody("nan"))
    assert drive.log.num_fallbacks == 60
    assert drive.log.events[0].text == "not a finite number"
    (straight,) = logs_of([crossing_case()], SOURCE, "constant_velocity")
    np.testing.assert_array_equal(drive.log.tracks.xy, straight.tracks.xy)


@pytest.mark.parametrize("number", [1e308, -1e308, 1e20, float("inf"), float("nan")])
def test_enormous_predictions_in_process_are_replaced_and_never_hang_the_planner(number):
    class Enormous:
        info = PredictorInfo(name="enormous", title="enormous")

        def predict(self, inputs, rng):
            states = np.full((inputs.num_requests, 2, 30, 5), number)
            return Trajectories.of_states(states, np.full((inputs.num_requests, 2), 0.5))

    (drive,) = drive_cases([crossing_case(seconds=1.0)], SOURCE, predictor=Enormous())
    assert isinstance(drive, Drive)
    assert drive.log.num_fallbacks == 10
    (told,) = situations()[:1]
    plain = LatticePlanner().plan(replace(told, mode_states=told.mode_states[:0], mode_facts=told.mode_facts[:0]))
    wild = told.mode_states.copy()
    wild[..., :2] = number
    assert LatticePlanner().plan(replace(told, mode_states=wild)).s_m == pytest.approx(plain.s_m)


@pytest.mark.parametrize("car", ["ego", "other"])
@pytest.mark.parametrize("number", [1e308, 1e12, 1e6])
def test_a_recording_that_jumps_out_of_the_world_fails_its_case_with_a_sentence(car, number):
    scene = crossing_scene()
    xy = scene.tracks.xy.copy()
    xy[list(scene.tracks.ids).index(car), 40:, 0] = number
    source = GivenScenes({"crossing": replace(scene, tracks=replace(scene.tracks, xy=xy))})
    (drive,) = drive_cases([crossing_case()], source, predictor=make_predictor("echo"))
    assert isinstance(drive, FailedDrive)
    assert "no path of a car" in drive.reason


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda s, v: (s[:49], v), "50 positions"),
        (lambda s, v: (s[:1], v), "50 positions"),
        (lambda s, v: (s * np.nan, v), "NaN or infinity"),
        (lambda s, v: (np.where(np.arange(50) == 30, np.inf, s), v), "NaN or infinity"),
        (lambda s, v: (s, float("nan")), "NaN or infinity"),
        (lambda s, v: (s, -1.0), "drives backwards"),
        (lambda s, v: (s * 0.0 - 50.0, v), "drives backwards"),
        (lambda s, v: (s - 0.1 * np.arange(50) ** 2, v), "drives backwards"),
        (lambda s, v: (s + 30.0, v), "jumps 30."),
        (lambda s, v: (s, v + 5.0), "changes speed by 50.0 m/s^2"),
    ],
)
def test_a_plan_from_outside_that_cannot_be_driven_fails_its_case_with_a_sentence(spoil, sentence):
    class Outside:
        info = replace(ConstantSpeedPlanner().info, name="mine", driver="")

        def plan(self, situation):
            good = ConstantSpeedPlanner().plan(situation)
            s, speed = spoil(good.s_m, good.speed_mps)
            return Plan(s_m=s, speed_mps=speed)

    (result,) = drive_cases([crossing_case()], SOURCE, predictor=None, planner=Outside())
    assert isinstance(result, FailedDrive)
    assert result.reason.startswith("PlannerError: planner mine, tick 0: invalid: ")
    assert sentence in result.reason


def test_a_predictor_that_raises_fails_its_case_and_the_others_go_on():
    cases = [crossing_case(case_id=name) for name in ("a", "bad", "c")]
    results = list(drive_cases(cases, SOURCE, predictor=Moody("raise")))
    assert [isinstance(result, FailedDrive) for result in results] == [False, True, False]
    assert "out of memory" in results[1].reason
    (alone,) = drive_cases([cases[0]], SOURCE, predictor=Moody("raise"))
    assert results[0].log.digest == alone.log.digest


def test_arrays_of_the_wrong_shape_fail_the_case_with_a_sentence():
    (result,) = drive_cases([crossing_case()], SOURCE, predictor=Moody("short"))
    assert isinstance(result, FailedDrive)
    assert "30" in result.reason


def test_a_case_whose_recording_changed_fails_and_the_others_go_on():
    cases = [replace(crossing_case(case_id="a"), tracks_sha256="e" * 64), crossing_case(case_id="b")]
    results = list(drive_cases(cases, SOURCE, predictor=make_predictor("echo")))
    assert isinstance(results[0], FailedDrive)
    assert isinstance(results[1], Drive)
    score = challenge_score(
        [
            failed_terms(cases[0].id, results[0].reason),
            challenge_terms(challenge_inputs(results[1].log)),
        ]
    )
    assert (score.cases, score.failed) == (2, 1)


def test_cases_without_recordings_say_what_to_do(tmp_path):
    with pytest.raises(UsageError, match="--data"):
        RecordedScenes(None).scene_of(crossing_case())
    with pytest.raises(DataError):
        GivenScenes({}).scene_of(crossing_case())


def two_of(scored):
    return replace(scored, terms=scored.terms[:3])


def test_runs_over_other_cases_are_compared_over_the_shared_ones(bundled):
    logs = logs_of(bundled[0][:4], bundled[1], "echo")
    one, two = (summarize("x", [terms_of(log)["challenge"] for log in part], DEFAULT) for part in (logs, logs[:3]))
    assert compare(one, two) == compare(two_of(one), two)
    with pytest.raises(UsageError, match="at least two cases"):
        compare(one, summarize("y", [replace(t, case_id=f"other {t.case_id}") for t in one.terms], DEFAULT))


def test_rank_agreement_needs_three_predictors(bundled):
    scored = []
    for name in ("echo", "constant_velocity", "constant_turn_rate"):
        logs = logs_of(bundled[0][:4], bundled[1], name)
        more = {log.case.id: {name: value.value for name, value in measure_log(log).items()} for log in logs}
        scored.append(summarize(name, [terms_of(log)["challenge"] for log in logs], DEFAULT, more=more))
    assert scored[0].means["ade_m"] > scored[1].means["ade_m"]
    draws = draws_of([log.case.id for log in logs])
    assert open_against_closed_loop(scored[:2], draws) is None
    found = open_against_closed_loop(scored, draws)
    assert found.interval.low <= found.coefficient <= found.interval.high


@pytest.mark.parametrize(("scores", "expected"), [([3.0, 2.0, 1.0, 0.0], 1.0), ([0.0, 1.0, 2.0, 3.0], -1.0)])
def test_rank_agreement_is_positive_where_smaller_errors_drive_better(scores, expected):
    cases = [f"case {k}" for k in range(40)]
    rng = np.random.default_rng(0)
    noise = rng.normal(0, 0.3, 40)

    def row(error, score):
        terms = [ended(case, score + shift) for case, shift in zip(cases, noise.tolist(), strict=True)]
        return summarize("x", terms, DEFAULT, more={case: {"ade_m": error} for case in cases})

    errors = [0.5, 1.0, 1.5, 2.0]
    scored = [row(error, score) for error, score in zip(errors, scores, strict=True)]
    draws = draws_of(cases, {case: case[:6] for case in cases})
    found = open_against_closed_loop(scored, draws)
    assert (found.coefficient, found.interval.low, found.interval.high) == pytest.approx((expected,) * 3)
    unknown = replace(row(1.0, 9.0), more={})
    assert open_against_closed_loop([*scored, unknown], draws).num_items == 4
    shifted = [dict.fromkeys(cases, error) for error in errors[::-1]]
    assert open_against_closed_loop(scored, draws, shifted).coefficient == pytest.approx(-expected)


def ended(case, score):
    """Terms of a run with this score."""
    return replace(failed_terms(case, ""), efficiency=1.0, jerk=10.0 - score, velocity=0.0, courtesy=0.0)
