"""Multi-objective genetic search over initial scenes: NSGA-II with the operators of the published method.

Objectives, all maximized: a violation was found (with the danger as tie breaker), mean distance to the rest of the
generation, and for how long cars were near the ego. Crossover swaps the surrounding cars of two scenes
against their egos; mutation draws ten new values and keeps the one farthest from scenes known to be safe.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.errors import MissingDependencyError
from giveway.core.seeds import seed_for, stream
from giveway.generate.search.protocol import SearchScores

POPULATION = 10
CROSSOVER, MUTATION = 0.8, 0.2
TRIES = 10
"""Samples from which a mutation picks."""


class GeneticSearch:
    """NSGA-II (Deb et al. 2002; library pymoo) over genes in [0, 1].

    Args:
        ego_genes: how many of the first genes describe the ego.
        genes: D.
        seed: of the draws.
        generation: population size.
    """

    def __init__(self, ego_genes: int, genes: int, seed: int, generation: int = POPULATION) -> None:
        try:
            from pymoo.algorithms.moo.nsga2 import NSGA2
            from pymoo.core.problem import Problem
        except ImportError as error:
            raise MissingDependencyError("pymoo", extra="generate", purpose="the genetic seed search") from error
        self._rng = stream(seed, "genetic search")
        self._ego_genes = ego_genes
        self._safe = np.zeros((0, genes))
        crossover, mutation = _operators(self)
        first: Any = self._rng.random((generation, genes))
        self._algorithm: Any = NSGA2(
            pop_size=generation,
            sampling=first,
            crossover=crossover,
            mutation=mutation,
        )
        problem = Problem(n_var=genes, n_obj=3, xl=0.0, xu=1.0)
        self._algorithm.setup(
            problem, termination=("n_gen", 10**9), seed=seed_for(seed, "nsga2") % 2**31, verbose=False
        )
        self._asked: Any = None

    def ask(self) -> FloatArray:
        """The next generation."""
        self._asked = self._algorithm.ask()
        return np.asarray(self._asked.get("X"), dtype=np.float64)

    def tell(self, genes: FloatArray, scores: SearchScores) -> None:
        """Sort, select, and remember what was safe."""
        self._asked.set("X", genes)
        self._asked.set("F", -objectives(genes, scores))
        self._asked.set("evaluated", [{"F"} for _ in range(len(genes))])
        self._algorithm.evaluator.n_eval += len(genes)
        self._algorithm.tell(infills=self._asked)
        self._safe = np.concatenate([self._safe, genes[~scores.violation]])

    def swap(self, first: FloatArray, second: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Two children: each ego with the other's surrounding cars."""
        cut = self._ego_genes
        return np.concatenate([first[:cut], second[cut:]]), np.concatenate([second[:cut], first[cut:]])

    def mutate(self, genes: FloatArray) -> FloatArray:
        """One of the parts (ego, or a surrounding gene block) drawn anew, as far as possible from safe scenes."""
        tries = np.repeat(genes[None], TRIES, axis=0)
        changed = self._rng.random((TRIES, genes.size)) < max(1.0 / genes.size, 0.25)
        tries = np.where(changed, self._rng.random(tries.shape), tries)
        if len(self._safe) == 0:
            return tries[0]
        nearest = np.abs(tries[:, None] - self._safe[None]).mean(axis=2).min(axis=1)
        return tries[int(nearest.argmax())]

    def chance(self, share: float) -> bool:
        """True with the given probability."""
        return bool(self._rng.random() < share)


def objectives(genes: FloatArray, scores: SearchScores) -> FloatArray:
    """(N, 3) to be maximized: violation plus danger, mean distance to the generation, triggers."""
    count = len(genes)
    apart = np.abs(genes[:, None] - genes[None]).mean(axis=2).sum(axis=1) / max(count - 1, 1)
    return np.stack([scores.violation + 0.5 * scores.danger, apart, scores.triggers.astype(np.float64)], axis=1)


def _operators(search: GeneticSearch) -> tuple[Any, Any]:
    from pymoo.core.crossover import Crossover
    from pymoo.core.mutation import Mutation

    class Swap(Crossover):
        """Exchange the surrounding cars of two parents."""

        def __init__(self) -> None:
            super().__init__(n_parents=2, n_offsprings=2, prob=1.0)

        def _do(self, problem: Any, X: FloatArray, *args: Any, **kwargs: Any) -> Any:
            children = X.copy()
            for n in range(X.shape[1]):
                if search.chance(CROSSOVER):
                    children[0, n], children[1, n] = search.swap(X[0, n], X[1, n])
            return children

    class FarFromSafe(Mutation):
        """Draw anew, far from what is known to be safe."""

        def __init__(self) -> None:
            super().__init__(prob=1.0)

        def _do(self, problem: Any, X: FloatArray, *args: Any, **kwargs: Any) -> FloatArray:
            return np.array([search.mutate(x) if search.chance(MUTATION) else x for x in X])

    return Swap(), FarFromSafe()
