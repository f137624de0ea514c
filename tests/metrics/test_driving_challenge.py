"""The challenge metric: worked example of the design note, and every edge case of its table."""

from dataclasses import replace

import numpy as np
import pytest

from giveway.core.errors import UnknownNameError
from giveway.drive.driving import Drive, drive_cases
from giveway.drive.scenes import GivenScenes
from giveway.metrics import METRICS
from giveway.metrics.challenge import (
    AS_CODED,
    AS_DOCUMENTED,
    DEFAULT,
    ChallengeInputs,
    challenge_terms,
    rules_called,
)
from giveway.metrics.challenge_score import challenge_score
from giveway.metrics.speeds import SpeedRecord, jerk_of_speed, rms_jerk, rms_shortfall
from giveway.predictors import make_predictor
from giveway.testing.drive_scenes import crossing_case, crossing_scene

EXAMPLE = np.array([5.0, 5.0, 5.1, 5.3, 5.3])


def record(speed, present=None):
    speed = np.asarray(speed, dtype=float)
    return SpeedRecord(speed=speed, present=np.ones(speed.size, dtype=bool) if present is None else np.asarray(present))


def inputs(**changes):
    made = ChallengeInputs(
        case_id="a", dt_s=0.1, ego=record(EXAMPLE), targets={}, progress_m=10.0, expected_progress_m=20.0
    )
    return replace(made, **changes)


def test_jerk_of_the_worked_example():
    assert jerk_of_speed(EXAMPLE, 0.1) == pytest.approx([0, 0, 10, 10, -20], abs=1e-9)


@pytest.mark.parametrize(("normalizer", "value"), [("n", 10.954451), ("n-1", 12.247449), ("valid", 14.142136)])
def test_root_mean_square_jerk_of_the_worked_example_under_all_three_normalizers(normalizer, value):
    assert rms_jerk(record(EXAMPLE), 0.1, normalizer) == pytest.approx(value, abs=1e-6)


@pytest.mark.parametrize(("normalizer", "value"), [("n", 2.863215), ("n-1", 3.201172), ("valid", 2.863215)])
def test_speed_shortfall_of_the_worked_example(normalizer, value):
    assert rms_shortfall(record(EXAMPLE), 8.0, normalizer) == pytest.approx(value, abs=1e-6)


def test_speed_above_the_desired_one_costs_nothing():
    assert rms_shortfall(record([9.0, 30.0]), 8.0, "n") == 0.0


def test_differences_never_cross_a_gap():
    present = [True, True, True, False, True, True, True]
    speed = [5.0, 5.0, 5.0, 99.0, 9.0, 9.0, 9.0]
    assert rms_jerk(record(speed, present), 0.1, "n") == 0.0


def test_a_run_after_a_gap_restarts_with_two_zero_samples():
    present = [True] * 4 + [False] + [True] * 4
    speed = [5, 5, 5, 5, 0, 7, 7, 7.1, 7.1]
    assert rms_jerk(record(speed, present), 0.1, "n") == pytest.approx(np.sqrt((10.0**2 + 10.0**2) / 8))


def test_fewer_than_three_samples_give_no_jerk_and_a_warning():
    terms = challenge_terms(inputs(ego=record([5.0, 6.0])))
    assert terms.jerk == 0.0
    assert "only 2 ego samples" in terms.warnings[0]


def test_efficiency_is_clamped_by_default_and_not_in_the_document():
    far = inputs(progress_m=50.0)
    assert challenge_terms(far, DEFAULT).efficiency == 1.0
    assert challenge_terms(far, DEFAULT).efficiency_unclamped == 2.5
    assert challenge_terms(far, AS_CODED).efficiency == 1.0
    assert challenge_terms(far, AS_DOCUMENTED).efficiency == 2.5


def test_driving_backwards_counts_as_no_progress():
    assert challenge_terms(inputs(progress_m=-3.0), AS_CODED).efficiency == 0.0
    assert challenge_terms(inputs(progress_m=-3.0), DEFAULT).efficiency == pytest.approx(0.1 / 20)


def test_the_printed_equation_of_the_worked_example():
    """Note section 8: 10 x 1.2 - 12.247449 - 3.201172."""
    terms = challenge_terms(inputs(progress_m=12.0, expected_progress_m=10.0), AS_DOCUMENTED)
    assert challenge_score([terms], AS_DOCUMENTED).score == pytest.approx(-3.448621, abs=1e-6)


def test_as_printed_an_ego_that_left_early_made_the_progress_it_made():
    left = inputs(ego_left=True, progress_m=8.0, expected_progress_m=7.5)
    assert challenge_terms(left, AS_DOCUMENTED).efficiency == pytest.approx(1.066667, abs=1e-6)
    assert challenge_terms(left, AS_CODED).efficiency == 1.0
    assert challenge_terms(left, DEFAULT).efficiency == 1.0


def test_as_printed_progress_is_not_clamped_at_zero_and_undefined_without_recorded_progress():
    assert challenge_terms(inputs(progress_m=-3.0), AS_DOCUMENTED).efficiency == pytest.approx(-0.15)
    waits = challenge_terms(inputs(case_id="b", expected_progress_m=0.0), AS_DOCUMENTED)
    score = challenge_score([waits, challenge_terms(inputs(), AS_DOCUMENTED)], AS_DOCUMENTED)
    assert np.isnan(waits.efficiency)
    assert (score.no_progress_expected, score.s_eff) == (1, 0.5)


def test_as_printed_the_reactive_target_counts_and_else_the_first():
    slow, fast = record([6.0] * 3), record([7.0] * 3)
    both = inputs(targets={"1": slow, "2": fast}, reactive=frozenset({"2"}))
    assert challenge_terms(both, AS_DOCUMENTED).courtesy == pytest.approx(np.sqrt(3 / 2))
    assert challenge_terms(replace(both, reactive=frozenset()), AS_DOCUMENTED).courtesy == pytest.approx(np.sqrt(6))


def test_evaluator_and_document_have_8_mps_everywhere_and_the_default_the_speed_of_the_case():
    slow_site = inputs(desired_speed_mps=5.0)
    assert challenge_terms(slow_site).velocity == 0.0
    assert challenge_terms(slow_site, AS_CODED).velocity == pytest.approx(2.863215, abs=1e-6)
    assert challenge_terms(slow_site, AS_DOCUMENTED).velocity == pytest.approx(3.201172, abs=1e-6)


def test_a_waiting_recorded_ego_is_left_out_of_the_mean_and_counted():
    waiting = challenge_terms(inputs(case_id="b", expected_progress_m=0.4))
    moving = challenge_terms(inputs())
    score = challenge_score([waiting, moving])
    assert np.isnan(waiting.efficiency)
    assert (score.no_progress_expected, score.s_eff) == (1, 0.5)


def test_zero_recorded_progress_never_divides_by_zero():
    assert challenge_terms(inputs(expected_progress_m=0.0, progress_m=0.0), AS_CODED).efficiency == 1.0


def test_an_ego_that_left_has_full_efficiency():
    assert challenge_terms(inputs(ego_left=True, progress_m=float("nan"))).efficiency == 1.0


def test_stopping_at_the_collision_uses_samples_up_to_and_including_it():
    rules = replace(DEFAULT, stop_at_collision=True)
    hit = inputs(ego_collided=True, first_ego_collision=2, progress_at_collision_m=5.0)
    terms = challenge_terms(hit, rules)
    assert terms.num_samples == 3
    assert terms.efficiency == 0.25
    assert terms.jerk == pytest.approx(np.sqrt(100 / 3))


def test_without_that_option_a_collision_changes_no_term():
    hit = inputs(ego_collided=True, first_ego_collision=2, progress_at_collision_m=5.0)
    assert challenge_terms(hit).efficiency == challenge_terms(inputs()).efficiency


def test_courtesy_adds_up_over_targets_and_the_document_knows_one():
    car = record([6.0, 6.0, 6.0])
    two = inputs(targets={"1": car, "2": car})
    assert challenge_terms(two, AS_CODED).courtesy == pytest.approx(4.0)
    assert challenge_terms(two, AS_CODED).courtesy_mean == pytest.approx(2.0)
    assert challenge_terms(two, AS_DOCUMENTED).courtesy == pytest.approx(np.sqrt(12 / 2))


def test_a_target_that_never_came_is_listed_and_costs_nothing():
    terms = challenge_terms(inputs(targets={"7": None, "8": record([1.0] * 3, [False] * 3)}))
    assert terms.courtesy == 0.0
    assert terms.missing_targets == ("7", "8")


def test_a_target_that_enters_late_is_judged_while_present():
    late = record([0, 0, 6, 6, 6], [False, False, True, True, True])
    assert challenge_terms(inputs(targets={"7": late})).courtesy == pytest.approx(2.0)


def test_a_failed_run_is_counted_and_scored_worst_unless_the_rules_drop_it():
    good, bad = inputs(targets={"1": record([6.0] * 3)}), inputs(case_id="b", failed="died")
    strict = challenge_score([challenge_terms(good), challenge_terms(bad)])
    dropped = challenge_score([challenge_terms(good, AS_CODED), challenge_terms(bad, AS_CODED)], AS_CODED)
    assert (strict.failed, strict.cases, dropped.failed, dropped.cases) == (1, 2, 1, 2)
    assert strict.s_eff == 0.25
    assert dropped.s_eff == 0.5
    assert strict.s_cou == pytest.approx(2.0)
    assert strict.score < dropped.score


@pytest.mark.parametrize("rules", [DEFAULT, AS_CODED])
def test_all_runs_failed_gives_no_score_but_no_crash(rules):
    score = challenge_score([challenge_terms(inputs(failed="x"), rules)], rules)
    assert score.failed == 1
    assert np.isnan(score.s_jer)
    assert np.isnan(score.score)


def test_collisions_are_beside_the_score():
    hit = challenge_score([challenge_terms(inputs(ego_collided=True, any_pair_collided=True))])
    free = challenge_score([challenge_terms(inputs())])
    assert hit.n_col == 1
    assert hit.score == free.score


def test_the_default_counts_the_ego_and_the_evaluator_counts_any_pair():
    others = inputs(any_pair_collided=True)
    assert challenge_terms(others, AS_CODED).collided
    assert not challenge_terms(others, DEFAULT).collided


def test_score_is_ten_times_efficiency_minus_the_costs():
    score = challenge_score([challenge_terms(inputs())], AS_CODED)
    assert score.score == pytest.approx(10 * 0.5 - 10.954451 - 2.863215, abs=1e-6)


def test_an_unknown_variant_names_the_known_ones():
    with pytest.raises(UnknownNameError, match="challenge_coded"):
        rules_called("challenge_code")
    assert rules_called("as_coded") is AS_CODED
    for name in ("printed", "challenge_printed", "challenge_documented", "as_documented"):
        assert rules_called(name) is AS_DOCUMENTED
    assert METRICS.get("challenge_printed") is METRICS.get("challenge_documented")


def test_the_jerks_and_shortfalls_of_all_ticks_give_the_terms_back():
    source = GivenScenes({"crossing": crossing_scene()})
    (drive,) = drive_cases([crossing_case()], source, predictor=make_predictor("constant_velocity"))
    assert isinstance(drive, Drive)
    driven_log = drive.log
    for name in ("s_jer", "s_vel"):
        found = METRICS.get(name)(driven_log)
        assert found.per_item is not None
        assert found.per_item.size == driven_log.tracks.num_instants
        assert np.sqrt(np.nanmean(found.per_item**2)) == pytest.approx(found.value, rel=1e-12)
        assert found.value > 0
