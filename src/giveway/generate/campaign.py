"""A campaign: generations of scenes from a search, driven, perturbed and judged, until the budget is spent.

A campaign is a pure function of its specification. Results that are already known are told to the search instead of
being driven again, which is how a campaign that was killed goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.errors import UsageError
from giveway.core.seeds import seed_for, stream
from giveway.generate.drivers.cars import CarDriver
from giveway.generate.driving import drive_scenes
from giveway.generate.evaluation.results import TestResult, result_of
from giveway.generate.perturbation.adaptive import Filed, Memory, Perturbation
from giveway.generate.protocol import EpisodeRecord
from giveway.generate.search import SEARCHES
from giveway.generate.search.protocol import SearchScores
from giveway.generate.worlds import Worlds, WorldSettings

EGO_GENES = 4
"""First genes of a scene: way, place, speed and desired speed of the ego."""

NEAR_LANES = 2.0
"""Cars within so many lane widths of the ego are perturbed."""

REPAIRS = 200
"""Draws around unsafe genes before they are replaced altogether."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignSpec:
    """What a campaign does.

    Attributes:
        search: name of the seed search.
        perturb: whether cars near the ego are perturbed.
        budget: tests.
        generation: tests between two decisions of the search.
        seed: root of all random streams.
    """

    search: str = "nsga2"
    perturb: bool = True
    budget: int = 400
    generation: int = 10
    seed: int = 0

    def __post_init__(self) -> None:
        if self.budget < 1 or self.generation < 1:
            raise UsageError("a campaign needs at least one test", found=f"budget {self.budget}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What a campaign has to remember of a test.

    Attributes:
        result: what came of it.
        filed: joint manoeuvres for the memory.
    """

    result: TestResult
    filed: tuple[Filed, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tested:
    """A test that was driven now.

    Attributes:
        known: what to remember.
        record: the whole episode.
    """

    known: Known
    record: EpisodeRecord


def run_campaign(
    settings: WorldSettings,
    driver: CarDriver,
    spec: CampaignSpec,
    *,
    recall: Callable[[int], Known | None] | None = None,
) -> Generator[Tested | Known]:
    """Yield one result per test, in order.

    Args:
        settings: of the worlds.
        driver: of the surrounding cars.
        spec: search, perturbation, budget.
        recall: what is known of the test of a number; such tests are not driven.
    """
    worlds = Worlds(settings, n_worlds=spec.generation)
    space = worlds.space
    count = space.num_genes + settings.cars * driver.genes_per_car
    search = SEARCHES.get(spec.search)(EGO_GENES, count, spec.seed, spec.generation)
    memory = Memory()
    near_m = NEAR_LANES * worlds.road.lane_width_m
    try:
        for first in range(0, spec.budget, spec.generation):
            genes = safe_genes(worlds, search.ask(), spec.seed, first)
            numbers = range(first, first + spec.generation)
            known = [recall(n) if recall is not None else None for n in numbers]
            wanted = [n for n in range(spec.generation) if first + n < spec.budget]
            fresh: dict[int, Tested] = {}
            if any(known[n] is None for n in wanted):
                fresh = _drive(worlds, driver, spec, genes, first, memory if spec.perturb else None, near_m)
            kept: list[Known] = []
            for n in wanted:
                test: Tested | Known = known[n] or fresh[n]
                kept.append(test if isinstance(test, Known) else test.known)
                yield test
            for one in kept:
                for entry in one.filed:
                    memory.file(entry)
            if len(kept) == spec.generation:
                search.tell(genes, _scores([one.result for one in kept]))
    finally:
        worlds.close()


def _drive(
    worlds: Worlds,
    driver: CarDriver,
    spec: CampaignSpec,
    genes: FloatArray,
    first: int,
    memory: Memory | None,
    near_m: float,
) -> dict[int, Tested]:
    seeds = [seed_for(spec.seed, "test", first + n) for n in range(len(genes))]
    layer = None
    if memory is not None:
        layer = Perturbation(memory=memory, near_m=near_m, rngs=[stream(seed, "perturb") for seed in seeds])
    place, rest = np.split(genes, [worlds.space.num_genes], axis=1)
    driven = drive_scenes(
        worlds,
        worlds.space.scenes(place),
        driver,
        seeds=seeds,
        genes=rest.reshape(len(genes), worlds.n_cars, driver.genes_per_car),
        perturbation=layer,
    )
    return {
        n: Tested(
            known=Known(
                result=result_of(
                    one.record, number=first + n, genes=tuple(float(g) for g in genes[n]), triggers=one.triggers
                ),
                filed=one.filed,
            ),
            record=one.record,
        )
        for n, one in enumerate(driven)
    }


def safe_genes(worlds: Worlds, genes: FloatArray, seed: int, first: int) -> FloatArray:
    """Genes whose scenes are safe to begin with: unsafe ones are moved, farther and farther, until they are.

    Args:
        worlds: whose scenes.
        genes: (N, G) as the search proposed them; what comes after the genes of the scene is left alone.
        seed: of the moves.
        first: number of the first of them, so that each has its own stream.
    """
    space = worlds.space
    out = np.clip(genes, 0.0, 1.0)
    place = out[:, : space.num_genes]
    for n in np.flatnonzero(~space.is_safe(space.scenes(place))):
        rng = stream(seed, "repair", first + int(n))
        scale = np.linspace(0.02, 0.5, REPAIRS)[:, None]
        moved = np.clip(place[n] + scale * rng.standard_normal((REPAIRS, space.num_genes)), 0.0, 1.0)
        good = np.flatnonzero(space.is_safe(space.scenes(moved)))
        if good.size:
            place[n] = moved[good[0]]
        else:
            place[n] = space.sample(1, seed=seed, names=("repair", first + int(n)))[1][0]
    return out


def _scores(results: Sequence[TestResult]) -> SearchScores:
    return SearchScores(
        violation=np.array([r.counts for r in results]),
        danger=np.array([r.danger for r in results]),
        triggers=np.array([r.triggers for r in results], dtype=np.int64),
    )
