"""Random search: the baseline that every search has to beat."""

from __future__ import annotations

from giveway.core.arrays import FloatArray
from giveway.core.seeds import stream
from giveway.generate.search.protocol import SearchScores

GENERATION = 10


class RandomSearch:
    """Uniform genes, nothing learned.

    Args:
        ego_genes: unused; the same for all searches.
        genes: D.
        seed: of the draws.
        generation: N.
    """

    def __init__(self, ego_genes: int, genes: int, seed: int, generation: int = GENERATION) -> None:
        self._rng = stream(seed, "random search")
        self._shape = (generation, genes)

    def ask(self) -> FloatArray:
        """New genes."""
        return self._rng.random(self._shape)

    def tell(self, genes: FloatArray, scores: SearchScores) -> None:
        """Nothing."""
