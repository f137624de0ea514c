"""An optimizer of the Commotions model that needs no surrogate; importing this module registers it."""

import numpy as np

from giveway.predictors.commotions.fitting.optimizers import OPTIMIZERS

NEARBY = "nearby"
GENERATION = 11
SPREAD = 0.1


def proposals(search):
    """Points around the best one so far, drawn from the seed and the number of evaluations."""
    rng = np.random.default_rng([search.seed, len(search.points)])
    best = search.points[search.best]
    return np.clip(best + SPREAD * rng.standard_normal((GENERATION, len(best))), 0.0, 1.0)


def nearby(search):
    """Evolution without memory: generations around the best point until the budget is spent."""
    while search.left > 0:
        for point in proposals(search)[: search.left]:
            search.evaluate(point)


OPTIMIZERS.register(NEARBY, nearby)
