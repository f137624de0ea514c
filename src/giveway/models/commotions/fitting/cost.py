"""How long a fit takes, measured by a few of its evaluations."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from giveway.core.seeds import seed_for
from giveway.models.commotions.config import Configuration, Switches
from giveway.models.commotions.fitting.fit import FitOptions, objective_of
from giveway.models.commotions.fitting.journal import Journal
from giveway.models.commotions.fitting.optimizers import OPTIMIZERS, budgets_of
from giveway.models.commotions.fitting.search import Budget, Search, initial_points
from giveway.models.commotions.losses import Loss, TrainingSet
from giveway.models.commotions.parameters import Box, Theta, to_search
from giveway.models.protocol import FitCost

TIMED_EVALUATIONS = 3
TIMED_CHOICES = 12
PREDICTION = 3
"""Predicting a quarter as many samples with ten times as many paths costs about as much as so many evaluations."""

_choice_s: dict[tuple[str, Budget], float] = {}


def fit_cost(training: TrainingSet, config: Configuration, switches: Switches, options: FitOptions) -> FitCost:
    """Evaluations cost in proportion to simulated steps; choosing the next point costs the same for any data."""
    budgets = tuple(options.budgets or budgets_of(switches.optimizer, config.stages))
    objective = objective_of(training, config, switches, replace(options, threads=1))
    box = Box.full()
    points = [box.decode(point) for point in initial_points(TIMED_EVALUATIONS + 1, 0)]
    objective(points[0])
    began = time.process_time()
    for theta in points[1:]:
        objective(theta)
    evaluation_s = (time.process_time() - began) / TIMED_EVALUATIONS
    rounds = sum(budget.total for budget in budgets) + PREDICTION
    choices_s = sum(budget.further * _choosing_s(switches.optimizer, budget) for budget in budgets)
    steps = float(training.encounters.num_steps.sum())
    return FitCost(fixed_s=choices_s, per_step_s=rounds * evaluation_s / steps)


def _choosing_s(optimizer: str, budget: Budget) -> float:
    """Time per further point that the optimizer itself takes, after as many initial points as in a real fit."""
    key = (optimizer, budget)
    if key not in _choice_s:
        further = min(TIMED_CHOICES, budget.further)
        search = Search(
            objective=_bowl,
            box=Box.full(),
            journal=Journal(None, {}),
            stage=0,
            budget=Budget(initial=budget.initial, further=further),
            seed=seed_for(0, "cost"),
            total=budget.initial + further,
        )
        for point in initial_points(budget.initial, 0):
            search.evaluate(point)
        began = time.process_time()
        OPTIMIZERS.get(optimizer)(search)
        _choice_s[key] = (time.process_time() - began) / max(further, 1)
    return _choice_s[key]


def _bowl(theta: Theta) -> Loss:
    """Something smooth to search in that costs nothing."""
    return Loss(mean=float(np.square(to_search(theta)).sum()), error=0.0)
