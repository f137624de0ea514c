from __future__ import annotations

import math

import numpy as np
import pytest

from giveway.core.errors import PredictionError
from giveway.core.predictions import QUANTILES, TimeDistribution
from giveway.core.samples import GapTruth
from giveway.metrics import METRICS

TIME_CDF = METRICS.get("time_cdf")


def error(accepted: bool, t_accept: float, num_observed: int, p: float, quantiles: object) -> float:
    truth = GapTruth(
        accepted=np.array([accepted]),
        t_accept_s=np.array([t_accept]),
        t_close_s=np.array([4.0]),
        future_xy=np.zeros((1, num_observed, 2)),
        num_observed=np.array([num_observed]),
    )
    quantile_s = np.broadcast_to(np.asarray(quantiles, dtype=float), (1, 9))
    return TIME_CDF(truth, TimeDistribution(p=np.array([p]), quantile_s=quantile_s)).value


def test_a_certain_rejection_of_a_rejected_gap_is_perfect() -> None:
    assert error(False, 9.0, 20, 0.0, math.nan) == 0.0


def test_a_certain_acceptance_at_the_right_moment_is_perfect_up_to_its_tails() -> None:
    # All nine quantiles at t_A = 2 of 4 s: the tails below 0.1 and above 0.9 are straight lines, area 0.1 * 2 / 2 each.
    assert error(True, 2.0, 20, 1.0, 2.0) == pytest.approx(0.5 * (0.1 + 0.1) / 4)


def test_a_missed_acceptance_is_charged_twice_also_for_probability_zero() -> None:
    assert error(True, 1.0, 20, 0.0, math.nan) == pytest.approx(0.5 * (3 / 4 + 1))


def test_a_false_acceptance_costs_its_area() -> None:
    # Even rise from 0 to 1 over 4 s for a rejected gap: half of the horizon.
    assert error(False, 9.0, 20, 1.0, 4 * QUANTILES) == pytest.approx(0.25)


def test_without_observed_step_it_is_undefined() -> None:
    assert math.isnan(error(True, 1.0, 0, 1.0, 1.0))


def test_it_equals_numerical_integration(rng: np.random.Generator) -> None:
    for _ in range(20):
        end, p = 3.0, rng.uniform()
        quantiles = np.sort(rng.uniform(-0.5, 4.0, 9))
        t = rng.uniform(0, 3)
        x = np.linspace(0, end, 300_001)
        knots = np.concatenate([[0], np.clip(quantiles, 0, end), [end]])
        levels = p * np.concatenate([[0], QUANTILES, [1]])
        cdf = np.interp(x, knots, levels)
        middle = (cdf[1:] + cdf[:-1]) / 2
        late = (x[1:] + x[:-1]) / 2 > t
        area = np.sum(np.where(late, 1 - middle, middle)) * (x[1] - x[0])
        expected = 0.5 * (area / end + (1 - p))
        assert error(True, t, 15, p, quantiles) == pytest.approx(expected, abs=2e-5)


def test_decreasing_quantiles_are_refused() -> None:
    with pytest.raises(PredictionError, match="must not decrease"):
        error(True, 1.0, 20, 0.5, np.arange(9.0)[::-1])
