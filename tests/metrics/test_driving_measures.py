"""Safety, comfort, courtesy, gated score, realism and open-loop error against values one can work out by hand."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from giveway.metrics.comfort import comfort, emergencies, frozen, hard_braking, smoothed, smoothed_rms_jerk
from giveway.metrics.courtesy import courtesy_cost
from giveway.metrics.gated import drove_backward, gated_score, progress_ratio, speed_limit_term
from giveway.metrics.prediction_errors import displacement_errors
from giveway.metrics.realism import FEATURES, features_of, likelihood, realism
from giveway.metrics.safety import closeness
from giveway.testing.drive_scenes import DrivenCar, scene_of

EAST = ((900.0, 1000.0), (1200.0, 1000.0))


def tracks_of(*cars, seconds=6.0):
    return scene_of(list(cars), duration_s=seconds).tracks


def test_time_to_collision_behind_a_standing_car():
    tracks = tracks_of(
        DrivenCar(id="ego", points=EAST, speed_mps=10.0),
        DrivenCar(id="b", points=((940.0, 1000.0), (1200.0, 1000.0)), speed_mps=0.0),
        seconds=2.0,
    )
    close = closeness(tracks, 0)
    assert close.ttc_s[0] == pytest.approx(3.6, abs=0.051)
    assert close.ttc_s[10] == pytest.approx(2.6, abs=0.051)
    assert close.min_gap_m == pytest.approx(15.5, abs=1e-6)


def test_time_to_collision_ignores_cars_behind_and_a_standing_ego():
    behind = tracks_of(
        DrivenCar(id="ego", points=((920.0, 1000.0), (1200.0, 1000.0)), speed_mps=5.0),
        DrivenCar(id="b", points=EAST, speed_mps=9.0),
        seconds=2.0,
    )
    assert np.isinf(closeness(behind, 0).min_ttc_s)
    assert np.isfinite(closeness(behind, 1).min_ttc_s)
    standing = tracks_of(
        DrivenCar(id="ego", points=EAST, speed_mps=0.0),
        DrivenCar(id="b", points=((940.0, 1000.0), (800.0, 1000.0)), speed_mps=9.0),
        seconds=2.0,
    )
    assert np.isinf(closeness(standing, 0).min_ttc_s)


def test_post_encroachment_time_is_the_gap_at_the_crossing():
    tracks = tracks_of(
        DrivenCar(id="ego", points=((960.0, 1000.0), (1100.0, 1000.0)), speed_mps=10.0),
        DrivenCar(id="b", points=((1000.0, 930.0), (1000.0, 1100.0)), speed_mps=10.0),
        seconds=12.0,
    )
    # Centers pass 3 s apart; the boxes (4.5 m by 1.8 m) share ground 0.63 s sooner.
    assert closeness(tracks, 0).post_encroachment_s == pytest.approx(3.0 - 6.3 / 10, abs=0.11)


def test_an_ego_alone_has_no_closest_call():
    close = closeness(tracks_of(DrivenCar(id="ego", points=EAST)), 0)
    assert np.isinf([close.min_ttc_s, close.post_encroachment_s, close.min_gap_m]).all()


def test_smoothing_is_exact_on_polynomials_and_falls_back_on_short_tracks():
    t = 0.1 * np.arange(40)
    np.testing.assert_allclose(smoothed(t**2, 0.1, window=11, order=3, derivative=2), 2.0, atol=1e-9)
    np.testing.assert_allclose(smoothed(t[:7] ** 2, 0.1, window=11, order=3, derivative=2), 2.0, atol=1e-9)
    np.testing.assert_allclose(smoothed(t[:3], 0.1, window=11, order=3, derivative=1), 1.0, atol=1e-9)
    assert smoothed_rms_jerk(5.0 + t**2, 0.1) == pytest.approx(2.0)
    assert smoothed_rms_jerk(np.array([1.0, 9.0]), 0.1) == 0.0


def test_comfort_bounds():
    t = 0.1 * np.arange(60)
    gentle = comfort(8.0 + 0 * t, 0.1 * t, 0.1)
    assert gentle.is_comfortable
    assert gentle.extremes["lateral_accel_mps2"][1] == pytest.approx(0.8)
    assert not comfort(np.maximum(15.0 - 5.0 * t, 0.0), 0 * t, 0.1).is_comfortable
    assert not comfort(8.0 + 0 * t, 0.8 * t, 0.1).is_comfortable


def test_courtesy_is_zero_against_itself_and_counts_delay_and_braking():
    human = tracks_of(DrivenCar(id="t", points=EAST, speed_mps=10.0))
    same = courtesy_cost(human, human, 0)
    assert (same.jerk_mps3, same.delay_s, same.imposed_decel_mps2) == (0.0, 0.0, 0.0)
    slowed = tracks_of(DrivenCar(id="t", points=EAST, speed_mps=10.0, accel_mps2=-1.0))
    cost = courtesy_cost(slowed, human, 0)
    assert cost.imposed_decel_mps2 == pytest.approx(1.0, abs=1e-6)
    assert cost.delay_s == pytest.approx(6.0 - 42.0 / 10.0, abs=1e-6)
    assert courtesy_cost(human, slowed, 0).delay_s == pytest.approx(-cost.delay_s)


def test_a_target_that_is_never_in_both_has_no_cost():
    human = tracks_of(DrivenCar(id="t", points=EAST))
    gone = replace(human, observed=np.zeros_like(human.observed))
    assert courtesy_cost(gone, human, 0) is None


def gated(**changes):
    steps = 61
    values = {
        "at_fault": False,
        "outside_m": np.full(steps, -1.0),
        "human_outside_m": np.full(steps, -1.0),
        "progress_m": np.linspace(0, 40, steps),
        "expected_progress_m": 40.0,
        "left_early": False,
        "ttc_s": np.full(steps, np.inf),
        "speed": np.full(steps, 8.0),
        "limit_mps": np.full(steps, 13.9),
        "is_comfortable": True,
        "dt_s": 0.1,
    }
    return gated_score(**{**values, **changes})


def test_a_perfect_drive_scores_one():
    assert gated().score == 1.0


@pytest.mark.parametrize(
    ("changes", "gate"),
    [
        ({"at_fault": True}, "no_fault"),
        ({"outside_m": np.full(61, 0.31)}, "on_road"),
        ({"progress_m": np.linspace(0, -20, 61)}, "forward"),
        ({"progress_m": np.linspace(0, 7.9, 61)}, "progressing"),
    ],
)
def test_each_gate_closes(changes, gate):
    score = gated(**changes)
    assert score.score == 0.0
    assert score.gates[gate] == 0.0


def test_what_the_human_did_as_well_is_forgiven():
    score = gated(outside_m=np.full(61, 0.5), human_outside_m=np.full(61, 0.5))
    assert (score.score, score.forgiven) == (1.0, ("on_road",))


def test_weights_of_the_terms():
    assert gated(is_comfortable=False).score == pytest.approx(14 / 16)
    assert gated(ttc_s=np.full(61, 0.9)).score == pytest.approx(11 / 16)
    assert gated(progress_m=np.linspace(0, 20, 61)).score == pytest.approx(1 - 0.5 * 5 / 16)
    assert gated(limit_mps=np.full(61, 8.0 - 2.23)).score == pytest.approx(12 / 16)


def test_pieces_of_the_gated_score():
    assert progress_ratio(0.0, 0.0) == 1.0
    assert progress_ratio(-0.2, 10.0) == 0.0
    assert speed_limit_term(np.full(9, 50.0), np.full(9, np.nan), 0.1) == 1.0
    assert not drove_backward(np.linspace(0, 10, 61), 0.1)
    assert not drove_backward(np.full(61, np.nan), 0.1)


def test_realism_weights_add_up_and_a_faithful_simulation_beats_another_one():
    assert sum(f.weight for f in FEATURES.values()) == pytest.approx(1.0)
    tracks = tracks_of(
        DrivenCar(id="a", points=EAST, speed_mps=6.0), DrivenCar(id="b", points=((930, 1000), (1200, 1000)))
    )
    edge = np.full(tracks.num_instants, -1.0)
    human = [features_of(tracks, 0, edge)]
    other = tracks_of(
        DrivenCar(id="a", points=EAST, speed_mps=14.0), DrivenCar(id="b", points=((930, 1000), (1200, 1000)))
    )
    faithful, strange = (realism([[features_of(t, 0, edge)]], human) for t in (tracks, other))
    assert faithful.score > strange.score
    assert faithful.num_cars == 1
    assert set(faithful.likelihood) == set(FEATURES)


def test_realism_without_a_map_or_without_cars():
    tracks = tracks_of(DrivenCar(id="a", points=EAST))
    human = [features_of(tracks, 0, np.full(tracks.num_instants, np.nan))]
    found = realism([human], human)
    assert "off_road" not in found.likelihood
    assert 0 < found.score <= 1
    assert np.isnan(realism([[]], []).score)


def test_likelihood_is_a_smoothed_histogram():
    feature = FEATURES["speed"]
    assert likelihood(np.full(9, 1.0), np.full(3, 1.0), feature) == pytest.approx(9.1 / 10)
    assert likelihood(np.full(9, 1.0), np.full(3, 99.0), feature) == pytest.approx(0.1 / 10)


def test_displacement_errors_of_modes():
    truth = np.zeros((1, 4, 2))
    modes = np.stack([np.full((4, 2), [3.0, 4.0]), np.full((4, 2), [0.0, 1.0])])[None]
    known = np.array([[True, True, True, False]])
    errors = displacement_errors(modes, np.array([[0.6, 0.4]]), truth, known)
    assert errors["ade"][0] == pytest.approx(5.0)
    assert errors["fde"][0] == pytest.approx(5.0)
    assert errors["min_ade"][0] == pytest.approx(1.0)
    only = displacement_errors(modes, np.array([[1.0, 0.0]]), truth, known)
    assert only["min_ade"][0] == pytest.approx(5.0)
    assert np.isnan(displacement_errors(modes, np.array([[1.0, 0.0]]), truth, ~known & False)["ade"][0])


def driven(speed_mps, recorded_mps, events=(), altered=False):
    """A log of an ego alone, with these speeds, beside a recording with those."""

    def one(speeds):
        tracks = tracks_of(DrivenCar(id="ego", points=EAST, speed_mps=5.0), seconds=(len(speeds) - 1) / 10)
        return replace(tracks, velocity=np.stack([speeds, np.zeros(len(speeds))], axis=-1)[None])

    case = SimpleNamespace(is_altered=altered)
    return SimpleNamespace(case=case, ego=0, tracks=one(speed_mps), recorded=one(recorded_mps), events=events)


def test_hard_braking_is_more_than_four():
    assert hard_braking(driven(5.0 - 0.4 * np.arange(8), np.full(8, 5.0))).value == 0.0
    assert hard_braking(driven(5.0 - 0.41 * np.arange(8), np.full(8, 5.0))).value == 1.0


def test_frozen_is_to_stand_three_seconds_longer_than_the_human():
    human = np.where(np.arange(61) < 10, 0.0, 5.0)
    for stood, expected in ((40, 1.0), (39, 0.0)):
        ego = np.where(np.arange(61) < stood, 0.2, 5.0)
        assert frozen(driven(ego, human)).value == expected
    assert np.isnan(frozen(driven(ego, human, altered=True)).value)


def test_emergencies_are_counted():
    events = tuple(SimpleNamespace(kind=kind) for kind in ("emergency", "handover", "emergency"))
    assert emergencies(driven(np.full(5, 5.0), np.full(5, 5.0), events)).value == 2.0
