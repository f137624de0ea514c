"""Fits find the parameters that made the decisions, as far as decisions tell them."""

import sys
from pathlib import Path

import numpy as np
import pytest

from giveway.core.errors import UsageError
from giveway.predictors.commotions import Configuration, Theta
from giveway.predictors.commotions.fitting.fit import FitOptions
from giveway.predictors.commotions.fitting.search import Budget
from giveway.predictors.commotions.parameters import PARAMETER_NAMES, Box
from support.encounters import random_encounters

sys.path.append(str(Path(__file__).parents[3] / "benchmarks"))
from commotions_replicates import (
    NOISE_PARAMETERS,
    Replicate,
    replicate,
    replicate_alone,
    summarize,
)

TRUTH = Theta(
    **dict(
        zip(
            PARAMETER_NAMES,
            (30.0, 0.005, 0.3, 30.0, 0.05, 0.1, 0.5, 0.6, 1.5, 4.0, 0.5, 0.5, 0.5, 1.0),
            strict=True,
        )
    )
)


def study(replicates, samples, points):
    config = Configuration.from_name("CM_INA11")
    return [
        replicate_alone(
            TRUTH,
            config,
            random_encounters(samples, 100 + seed),
            seed=seed,
            num_points=points,
            options=FitOptions(seed=seed),
        )
        for seed in range(replicates)
    ]


def check(runs, widest, points):
    best = [row for row in summarize(TRUTH, runs, resolution=1 / points) if row.name not in NOISE_PARAMETERS][:3]
    assert all(row.is_inside for row in best), best
    assert max(row.high - row.low for row in best) < widest, best
    assert all(0.1 < run.accepted < 0.9 for run in runs)


def test_the_three_best_identified_parameters_are_found():
    check(study(replicates=4, samples=50, points=20), widest=0.5, points=20)


@pytest.mark.slow
def test_the_three_best_identified_parameters_are_found_in_a_larger_study():
    check(study(replicates=6, samples=200, points=48), widest=0.3, points=48)


def test_a_fit_of_all_parameters_reaches_the_loss_of_the_truth():
    """Its parameters need not be the truth: losses reward less noise than there is."""
    options = FitOptions(seed=3, budgets=[Budget(initial=64, further=640)])
    run = replicate(TRUTH, Configuration.from_name("CM_INA11"), random_encounters(40, 3), seed=3, options=options)
    assert run.loss < run.loss_at_truth


def test_the_summary_is_a_prediction_interval_in_order_of_scatter():
    center = Box.full().encode(TRUTH)
    step = np.linspace(0.001, 0.014, 14)
    runs = [
        Replicate(unit=tuple(center + sign * step), loss=1.0, loss_at_truth=1.0, accepted=0.5) for sign in (-1, 0, 1)
    ]
    rows = summarize(TRUTH, runs)
    assert [row.name for row in rows] == list(PARAMETER_NAMES)
    assert rows[3].scatter == pytest.approx(0.004)
    assert rows[3].high - rows[3].mean == pytest.approx(4.302653 * 0.004 * (4 / 3) ** 0.5, rel=1e-6)
    (coarse,) = (row for row in summarize(TRUTH, runs, resolution=0.1) if row.name == rows[3].name)
    assert coarse.high - rows[3].high == pytest.approx(0.05)
    biased = [Replicate(unit=tuple(center + 0.2 + s * step), loss=1, loss_at_truth=1, accepted=0.5) for s in (-1, 0, 1)]
    assert not any(row.is_inside for row in summarize(TRUTH, biased))


def test_one_replicate_has_no_scatter():
    with pytest.raises(UsageError, match="two replicates"):
        summarize(TRUTH, [Replicate(unit=(0.5,) * 14, loss=1, loss_at_truth=1, accepted=0.5)])
