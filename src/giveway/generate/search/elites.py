"""MAP-Elites: an archive of the best test of every kind, from which new ones are made.

Kinds are physical: where on the ego the contact is, how large the gap was when the other car came into the ego's
corridor, how fast both closed in, and the conflict (:func:`giveway.generate.evaluation.results.archive_cell`). Tests
without a failure have cells by how near they came to one, so that the archive is never empty. Of two tests of a cell
the better grade stays, then the more natural driving.

A child is made of two elites x and y, or drawn anew (one in ten),

    z = x + s_1 n + s_2 (y - x) m,     n normal per gene, m normal per child

with one gene in five drawn anew in one child out of three, because which car does what is no matter of degree.

Reference:
    Mouret and Clune 2015, arXiv 1504.04909 (MAP-Elites); Vassiliades and Mouret 2018, arXiv 1804.03906 (the line
    variation). Written by hand: the variation is a few lines, and releases of pyribs differ incompatibly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.seeds import stream
from giveway.generate.search.protocol import SearchScores

GENERATION = 10
FIRST_DRAWS = 64
"""Tests that are drawn at random before anything is bred."""
FRESH = 0.1
STEP, ALONG_LINE = 0.05, 0.2
REDRAWN_CHILDREN, REDRAWN_GENES = 1 / 3, 1 / 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Elite:
    """Attributes:
    genes: (D,) of the test.
    quality: what the test was worth.
    failed: whether it counts as a failure of the ego.
    """

    genes: FloatArray
    quality: float
    failed: bool


class EliteSearch:
    """MAP-Elites over starts and maneuvers.

    Args:
        ego_genes: unused; the same for all searches.
        genes: D.
        seed: of the draws.
        generation: N.

    Attributes:
        archive: the elite of every cell, by the name of the cell.
        together: tests of a generation that suit it: the archive learns as much from many at once.
    """

    together = 64

    def __init__(self, ego_genes: int, genes: int, seed: int, generation: int = GENERATION) -> None:
        self._rng = stream(seed, "map elites")
        self._shape = (generation, genes)
        self._told = 0
        self.archive: dict[str, Elite] = {}

    def ask(self) -> FloatArray:
        """Children of elites."""
        rng, (count, genes) = self._rng, self._shape
        out = rng.random(self._shape)
        if self._told < FIRST_DRAWS or not self.archive:
            return out
        elites = list(self.archive.values())
        # every second parent is a failure, once there are some: cells of failures are few at first
        failures = [elite for elite in elites if elite.failed] or elites
        for n in range(count):
            if rng.random() < FRESH:
                continue
            from_ = failures if rng.random() < 0.5 else elites
            x, y = (from_[int(rng.integers(len(from_)))].genes for _ in range(2))
            child = x + STEP * rng.standard_normal(genes) + ALONG_LINE * rng.standard_normal() * (y - x)
            if rng.random() < REDRAWN_CHILDREN:
                child = np.where(rng.random(genes) < REDRAWN_GENES, out[n], child)
            out[n] = np.clip(child, 0.0, 1.0)
        return out

    def tell(self, genes: FloatArray, scores: SearchScores) -> None:
        """Keep what is the best of its cell; of equals the earlier one."""
        self._told += len(genes)
        for n, (cell, quality) in enumerate(zip(scores.cells, scores.quality.tolist(), strict=True)):
            if cell not in self.archive or quality > self.archive[cell].quality:
                failed = bool(scores.violation[n])
                self.archive[cell] = Elite(genes=genes[n].copy(), quality=quality, failed=failed)
