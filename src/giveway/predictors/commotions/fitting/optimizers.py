"""Optimizers by name; an own one is a function of a :class:`~giveway.predictors.commotions.fitting.search.Search`."""

from __future__ import annotations

from giveway.core.registry import Registry
from giveway.predictors.commotions.fitting.search import Budget, Optimizer

OPTIMIZERS: Registry[Optimizer] = Registry(
    "optimizer",
    {
        "bayes": "giveway.predictors.commotions.fitting.bayes:bayes",
        "trust_region": "giveway.predictors.commotions.fitting.trust_region:trust_region",
    },
    group="giveway.commotions_optimizers",
)

INITIAL_POINTS = 210
EVALUATIONS = {"trust_region": 900}
"""In all stages together; after so many the trust region of five fits out of five was below the published search."""

OTHER_EVALUATIONS = 1500


def budgets_of(optimizer: str, stages: int) -> tuple[Budget, ...]:
    """What each stage may spend.

    Bayesian optimization as published: 210 Sobol points and 150 further ones, or twice 210 and 100. The trust region
    900 in all, others, whose own cost is small, 1500.
    """
    if optimizer == "bayes":
        return (Budget(initial=INITIAL_POINTS, further=150 if stages == 1 else 100),) * stages
    per_stage = EVALUATIONS.get(optimizer, OTHER_EVALUATIONS) // stages
    return (Budget(initial=INITIAL_POINTS, further=per_stage - INITIAL_POINTS),) * stages
