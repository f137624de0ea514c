from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.calibration import calibration_curve
from sklearn.metrics import accuracy_score, brier_score_loss
from sklearn.metrics import log_loss as sklearn_log_loss

from giveway.core.predictions import Probability, Trajectories
from giveway.metrics import METRICS
from giveway.testing.metrics import example_truth


def score(name: str, accepted: object, p: object) -> float:
    function = METRICS.get(name).score
    assert function is not None
    return function(np.asarray(accepted, dtype=bool), np.asarray(p, dtype=float))


def test_tnr_pr_counts_rejected_samples_below_the_least_accepted_one() -> None:
    assert score("tnr_pr", [1, 1, 0, 0, 0, 0], [0.5, 0.9, 0.1, 0.4, 0.6, 0.2]) == 0.75


def test_a_rejected_sample_tied_with_the_least_accepted_one_is_a_false_alarm() -> None:
    assert score("tnr_pr", [1, 0, 0], [0.5, 0.5, 0.4]) == 0.5


def test_one_accepted_sample_with_probability_zero_forces_tnr_pr_to_zero() -> None:
    assert score("tnr_pr", [1, 1, 0, 0], [0.0, 0.9, 0.0, 0.3]) == 0.0
    assert score("tnr_pr_10", [1] * 20 + [0, 0], [0.0] + [0.9] * 19 + [0.0, 0.3]) == 1.0


def test_a_predictor_without_information_scores_one_over_accepted_plus_one(rng: np.random.Generator) -> None:
    accepted = np.arange(60) < 9
    values = [score("tnr_pr", accepted, rng.uniform(size=60)) for _ in range(4000)]
    standard_error = np.std(values) / math.sqrt(len(values))
    assert abs(np.mean(values) - 1 / 10) < 4 * standard_error


def test_tnr_at_90_keeps_nine_of_ten_accepted_gaps(rng: np.random.Generator) -> None:
    accepted, p = rng.uniform(size=300) < 0.3, rng.uniform(size=300)
    ordered = np.sort(p[accepted])
    candidates = [t for t in ordered if np.mean(p[accepted] >= t) >= 0.9]
    assert score("tnr_at_90", accepted, p) == np.mean(p[~accepted] < max(candidates))


def test_accuracy_is_the_best_over_51_thresholds(rng: np.random.Generator) -> None:
    accepted = rng.uniform(size=200) < 0.4
    p = np.clip(0.3 * accepted + rng.uniform(0, 0.7, 200), 0, 1)
    by_threshold = [accuracy_score(accepted, p > t) for t in np.linspace(0, 1, 51)]
    best = float(np.linspace(0, 1, 51)[int(np.argmax(by_threshold))])
    assert score("accuracy", accepted, p) == pytest.approx(max(by_threshold))
    assert score("miss_rate", accepted, p) == np.mean(p[accepted] <= best)


def test_brier_and_log_loss_equal_scikit_learn(rng: np.random.Generator) -> None:
    truth = example_truth(rng)
    p = rng.uniform(size=60)
    p[:4] = [0.0, 1.0, 1.0, 0.0]
    prediction = Probability(p=p)
    assert METRICS.get("brier")(truth, prediction).value == pytest.approx(brier_score_loss(truth.accepted, p))
    assert METRICS.get("log_loss")(truth, prediction).value == pytest.approx(sklearn_log_loss(truth.accepted, p))


def test_calibration_error_equals_the_weighted_calibration_curve(rng: np.random.Generator) -> None:
    accepted, p = rng.uniform(size=500) < 0.5, rng.uniform(size=500)
    share, mean = calibration_curve(accepted, p, n_bins=10)
    weight = np.histogram(p, bins=10, range=(0, 1))[0] / 500
    assert score("ece", accepted, p) == pytest.approx(np.sum(weight * np.abs(share - mean)))


def test_classification_of_paths_asks_for_a_conversion(rng: np.random.Generator) -> None:
    truth = example_truth(rng)
    with pytest.raises(Exception, match="needs acceptance probabilities") as caught:
        METRICS.get("auc")(truth, Trajectories(xy=np.zeros((60, 3, 12, 2)), dt_s=0.2))
    assert type(caught.value).__name__ == "PredictionError"


@pytest.mark.parametrize("bad", [1.2, -0.1, math.nan, math.inf])
def test_probabilities_outside_the_unit_interval_name_the_sample(bad: float, rng: np.random.Generator) -> None:
    p = np.full(60, 0.5)
    p[17] = bad
    with pytest.raises(Exception, match="sample 17"):
        METRICS.get("brier")(example_truth(rng), Probability(p=p))
