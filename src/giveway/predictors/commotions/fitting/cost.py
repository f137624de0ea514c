"""How long a fit takes, measured by a few of its evaluations."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from giveway.core.seeds import seed_for
from giveway.predictors.commotions.config import Configuration, Switches
from giveway.predictors.commotions.fitting.fit import FitOptions, objective_of
from giveway.predictors.commotions.fitting.journal import Journal
from giveway.predictors.commotions.fitting.optimizers import OPTIMIZERS, budgets_of
from giveway.predictors.commotions.fitting.search import Budget, Objective, Search, initial_points
from giveway.predictors.commotions.fitting.trust_region import BATCH
from giveway.predictors.commotions.losses import Loss, TrainingSet
from giveway.predictors.commotions.parameters import Box, Theta
from giveway.predictors.protocol import FitCost

TIMED_EVALUATIONS = 6
TIMED_BATCHES = 2
BATCHES = {"bayes": 1, "trust_region": BATCH}
"""Points that an optimizer chooses at once."""

OTHER_BATCH = 66
"""Of other optimizers: six generations of CMA-ES with 14 parameters."""

FEW_SAMPLES = 12
"""Enough for losses that look like losses to the optimizer whose own time is measured."""

PREDICTION = 3
"""Predicting a quarter as many samples with ten times as many paths costs about as much as so many evaluations."""

_choice_s: dict[tuple[str, Budget], float] = {}


def fit_cost(training: TrainingSet, config: Configuration, switches: Switches, options: FitOptions) -> FitCost:
    """Evaluations cost in proportion to simulated steps; choosing the next point costs the same for any data."""
    budgets = tuple(options.budgets or budgets_of(switches.optimizer, config.stages))
    alone = replace(options, threads=1)
    objective = objective_of(training, config, switches, alone)
    box = Box.full(switches.bounds, switches.search_scale)
    points = [box.decode(point) for point in initial_points(TIMED_EVALUATIONS + 1, 0)]
    objective(points[0])
    began = time.process_time()
    for theta in points[1:]:
        objective(theta)
    evaluation_s = (time.process_time() - began) / TIMED_EVALUATIONS
    rounds = sum(budget.total for budget in budgets)
    small = objective_of(_few(training), config, switches, alone)
    choices_s = sum(budget.further * _choosing_s(switches.optimizer, budget, small) for budget in budgets)
    steps = float(training.encounters.num_steps.sum())
    further = sum(budget.further for budget in budgets)
    choices = min(TIMED_BATCHES * BATCHES.get(switches.optimizer, OTHER_BATCH), further)
    return FitCost(
        fixed_s=choices_s,
        per_step_s=(rounds + PREDICTION) * evaluation_s / steps,
        measured=f"{TIMED_EVALUATIONS} of {rounds} evaluations, {choices} of {further} choices of the optimizer",
    )


def _few(training: TrainingSet) -> TrainingSet:
    """Samples spread over the training set."""
    num = training.encounters.num_samples
    index = np.unique(np.linspace(0, num - 1, min(FEW_SAMPLES, num)).astype(np.int64))
    return TrainingSet(
        encounters=training.encounters.take(index),
        accepted=training.accepted[index],
        t_accept_s=training.t_accept_s[index],
    )


def _choosing_s(optimizer: str, budget: Budget, objective: Objective) -> float:
    """Time per further point that the optimizer itself takes, in the middle of its search.

    There it knows as many points as on average. Batches are timed whole, because all of one is chosen before its first
    evaluation. The first batch starts from nothing and is not counted, nor is the time of the evaluations.
    """
    key = (optimizer, budget)
    if budget.further == 0:
        return 0.0
    if key not in _choice_s:
        batch = BATCHES.get(optimizer, OTHER_BATCH)
        counted = TIMED_BATCHES * batch
        further = batch + counted
        known = budget.initial + max(0, budget.further - further) // 2
        ended: list[float] = []
        evaluating: list[float] = []

        def timed(theta: Theta) -> Loss:
            began = time.process_time()
            loss = objective(theta)
            evaluating.append(time.process_time() - began)
            return loss

        search = Search(
            objective=timed,
            box=Box.full(),
            journal=Journal(None, {}),
            stage=0,
            budget=Budget(initial=known, further=further),
            seed=seed_for(0, "cost"),
            total=known + further,
            on_trace=lambda trace: ended.append(time.process_time()),
        )
        for point in initial_points(known, 0):
            search.evaluate(point)
        OPTIMIZERS.get(optimizer)(search)
        spent = ended[-1] - ended[-1 - counted] - sum(evaluating[-counted:])
        _choice_s[key] = max(spent, 0.0) / counted
    return _choice_s[key]
