"""CMA-ES over initial scenes, a single-objective baseline."""

from __future__ import annotations

from typing import Any

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.errors import MissingDependencyError
from giveway.core.seeds import seed_for
from giveway.generate.search.protocol import SearchScores

GENERATION = 10
START_DEVIATION = 0.3


class EvolutionSearch:
    """Covariance matrix adaptation, maximizing the danger; starts again from a new place when it has converged.

    Args:
        ego_genes: unused; the same for all searches.
        genes: D.
        seed: of the draws.
        generation: N.

    Reference:
        Hansen and Ostermeier 2001, Evolutionary Computation 9, 159-195; library ``cma``.
    """

    def __init__(self, ego_genes: int, genes: int, seed: int, generation: int = GENERATION) -> None:
        self._genes, self._seed, self._generation = genes, seed, generation
        self._starts = 0
        self._strategy = self._start()
        self._asked: list[FloatArray] = []

    def _start(self) -> Any:
        try:
            import cma
        except ImportError as error:
            raise MissingDependencyError("cma", extra="generate", purpose="CMA-ES over initial scenes") from error
        self._starts += 1
        seed = seed_for(self._seed, "cma", self._starts) % 2**31 + 1
        options = {"bounds": [0, 1], "popsize": self._generation, "seed": seed, "verbose": -9}
        center = np.random.default_rng(seed).uniform(0.3, 0.7, self._genes)
        return cma.CMAEvolutionStrategy(center, START_DEVIATION, options)

    def ask(self) -> FloatArray:
        """A generation around the current mean."""
        if self._strategy.stop():
            self._strategy = self._start()
        self._asked = self._strategy.ask()
        return np.clip(np.array(self._asked), 0.0, 1.0)

    def tell(self, genes: FloatArray, scores: SearchScores) -> None:
        """Move and reshape the distribution."""
        self._strategy.tell(self._asked, list(1.0 - scores.danger))
