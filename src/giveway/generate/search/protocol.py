"""The contract of a seed search."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchScores:
    """What driving a generation of N scenes told.

    Attributes:
        violation: (N,) the ego failed, in a way that counts.
        danger: (N,) in [0, 1], how near the ego came to a failure that counts; 1 for a failure.
        triggers: (N,) seconds with a car near the ego, in campaigns with perturbation.
        cells: (N,) names of the kinds of tests, see :func:`giveway.generate.evaluation.results.archive_cell`.
        quality: (N,) what a test is worth among those of its kind: its grade, then how natural it was driven.
    """

    violation: BoolArray
    danger: FloatArray
    triggers: IntArray
    cells: tuple[str, ...] = ()
    quality: FloatArray = field(default_factory=lambda: np.zeros(0))


class SeedSearch(Protocol):
    """Proposes genes in [0, 1] and learns from what became of them; a pure function of seed and scores."""

    def ask(self) -> FloatArray:
        """(N, D) genes to try next."""
        ...

    def tell(self, genes: FloatArray, scores: SearchScores) -> None:
        """What became of them; called once after each :meth:`ask`.

        ``genes`` may differ from what was asked for, where that was not a safe start.
        """
        ...
