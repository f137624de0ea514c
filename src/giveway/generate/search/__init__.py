"""Seed search: which initial scenes to try next; one file and one line each."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from giveway.core.registry import Registry

if TYPE_CHECKING:
    from giveway.generate.search.protocol import SeedSearch

SEARCHES: Registry[Callable[..., SeedSearch]] = Registry(
    "seed search",
    {
        "nsga2": "giveway.generate.search.genetic:GeneticSearch",
        "cma_es": "giveway.generate.search.evolution:EvolutionSearch",
        "map_elites": "giveway.generate.search.elites:EliteSearch",
        "random": "giveway.generate.search.uniform:RandomSearch",
    },
    group="giveway.seed_searches",
)
"""Makers of searches by name, called with the number of genes of the ego, of all genes, and a seed."""

GENERATION = 10
"""Tests between two decisions of a search that does not say otherwise."""


def generation_of(search: str) -> int:
    """Tests between two decisions of a search.

    Raises:
        UnknownNameError: no such search.
    """
    return int(getattr(SEARCHES.get(search), "together", GENERATION))
