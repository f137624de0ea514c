"""Covariance matrix adaptation (CMA-ES) for the Commotions model, with which the trust region is compared."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.predictors.commotions.fitting.search import Search

FIRST_SPREAD = 0.2
RESTART_SPREAD = 0.1


class _Strategy:
    """One run of CMA-ES in the unit cube with a generator of its own."""

    def __init__(
        self, start: FloatArray, spread: float, rng: np.random.Generator, population: int | None = None
    ) -> None:
        import cma

        options: dict[str, Any] = {
            "bounds": [0.0, 1.0],
            "verbose": -9,
            "seed": np.nan,  # leaves NumPy's global generator alone
            "randn": lambda *shape: rng.standard_normal(shape),
            "tolfun": 1e-4,
            "tolx": 1e-4,
            "tolflatfitness": 3,
        }
        if population is not None:
            options["popsize"] = population
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.strategy: Any = cma.CMAEvolutionStrategy(np.clip(start, 0.01, 0.99), spread, options)

    def generation(self, search: Search) -> None:
        """Ask, evaluate, tell; a generation that the budget cuts short is not told."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            points = self.strategy.ask()
            losses = [search.evaluate(np.asarray(p)).mean for p in points[: search.left]]
            if len(losses) == len(points):
                self.strategy.tell(points, losses)

    @property
    def stopped(self) -> bool:
        return bool(self.strategy.stop())

    @property
    def best(self) -> float:
        return float(self.strategy.best.f)


def cma_es(search: Search) -> None:
    """CMA-ES from the best initial point; after convergence again from the best so far with twice the population."""
    rng = np.random.default_rng([search.seed, 1])
    spread, population = FIRST_SPREAD, None
    while search.left > 0:
        run = _Strategy(search.points[search.best], spread, rng, population)
        while search.left > 0 and not run.stopped:
            run.generation(search)
        population = 2 * int(run.strategy.popsize)
        spread = RESTART_SPREAD


def multi_start(search: Search, *, starts: int = 6) -> None:
    """Several CMA-ES runs from the best initial points; the worse half is dropped after every round."""
    rng = np.random.default_rng([search.seed, 2])
    order = np.argsort([loss.mean for loss in search.losses], kind="stable")[:starts]
    runs = [_Strategy(search.points[i], FIRST_SPREAD, rng) for i in order]
    rounds = max(1, int(np.ceil(np.log2(max(len(runs), 2)))) + 1)
    share = search.left // rounds
    while search.left > 0:
        until = max(0, search.left - share) if len(runs) > 1 else 0
        alive = True
        while search.left > until and alive:
            alive = False
            for run in runs:
                if search.left > until and not run.stopped:
                    run.generation(search)
                    alive = True
        runs.sort(key=lambda run: run.best)
        runs = runs[: max(1, len(runs) // 2)]
        if all(run.stopped for run in runs):
            runs = [_Strategy(search.points[search.best], RESTART_SPREAD, rng)]
