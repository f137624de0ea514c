"""The estimator of realism: golden values, its ceiling, and the two sets of weights."""

import numpy as np
import pytest

from giveway.metrics.realism import FEATURES, PATH_FIXED, car_likelihoods, likelihood, realism


def test_the_histogram_of_the_worked_example():
    found = likelihood(np.array([1.0, 2, 3, 6, 7, 11]), np.array([2.0, 6, 12]), FEATURES["speed"])
    assert found == pytest.approx(0.241831, abs=5e-7)


@pytest.mark.parametrize(
    ("roll_outs", "events", "expected"), [(32, 0, 0.996894), (32, 8, 0.748447), (32, 32, 0.003106), (1, 0, 0.916667)]
)
def test_an_event_that_was_not_recorded(roll_outs, events, expected):
    happened = np.arange(roll_outs) < events
    runs = [{"collision": np.array([float(h)]), "order": np.array([float(h)])} for h in happened]
    human = {"collision": np.array([0.0]), "order": np.array([0.0])}
    found = car_likelihoods(runs, human, PATH_FIXED)
    assert found["collision"] == pytest.approx(expected, abs=5e-7)
    assert found["order"] == pytest.approx(expected, abs=5e-7)


def test_weights_of_both_kinds_of_cars_add_up_to_one():
    for features in (FEATURES, PATH_FIXED):
        assert sum(feature.weight for feature in features.values()) == pytest.approx(1.0)
    assert {name: f.weight for name, f in PATH_FIXED.items()} == pytest.approx(
        {"speed": 0.1, "accel": 0.1, "distance": 0.15, "ttc": 0.15, "collision": 0.25, "order": 0.15, "passing": 0.1}
    )


def test_each_conflict_area_has_a_histogram_of_its_own():
    human = {"order": np.array([1.0, 0.0])}
    swapped = [{"order": np.array([0.0, 1.0])}] * 32
    assert car_likelihoods([human] * 32, human, PATH_FIXED)["order"] == pytest.approx(32.1 / 32.2)
    assert car_likelihoods(swapped, human, PATH_FIXED)["order"] == pytest.approx(0.1 / 32.2)
    one = [{"order": np.array([1.0, 1.0])}] * 32
    assert car_likelihoods(one, human, PATH_FIXED)["order"] == pytest.approx(np.sqrt(32.1 * 0.1) / 32.2)


def test_a_car_that_never_passes_is_as_late_as_can_be():
    human, never = {"passing": np.array([0.0])}, {"passing": np.array([np.inf])}
    assert car_likelihoods([never] * 32, human, PATH_FIXED)["passing"] == pytest.approx(0.1 / 34)
    assert car_likelihoods([human] * 32, human, PATH_FIXED)["passing"] == pytest.approx(32.1 / 34)


def test_the_recording_itself_is_the_ceiling():
    rng = np.random.default_rng(3)
    feature = FEATURES["speed"]
    recorded = rng.normal(8.0, 2.0, 80)
    ceiling = likelihood(np.tile(recorded, 32), recorded, feature)
    for _ in range(200):
        simulated = rng.normal(8.0 + rng.normal(0.0, 1.0), 2.0 * np.exp(rng.normal(0.0, 0.4)), 80 * 32)
        assert likelihood(simulated, recorded, feature) < ceiling


def test_a_case_without_a_conflict_area_rescales_the_weights():
    car = {"speed": np.full(20, 5.0), "order": np.zeros(0), "passing": np.zeros(0)}
    found = realism([[car]] * 32, [car], PATH_FIXED)
    assert set(found.likelihood) == {"speed"}
    assert found.score == pytest.approx(found.likelihood["speed"])
    assert found.num_roll_outs == 32
