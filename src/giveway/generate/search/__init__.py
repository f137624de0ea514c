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
        "random": "giveway.generate.search.uniform:RandomSearch",
    },
    group="giveway.seed_searches",
)
"""Makers of searches by name, called with the number of genes of the ego, of all genes, and a seed."""
