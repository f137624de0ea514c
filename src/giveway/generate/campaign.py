"""A campaign: generations of scenes from a search, driven, perturbed and judged, until the budget is spent.

A campaign is a pure function of its settings. Tests that are already known are told to the search instead of being
driven again, which is how a campaign that was killed goes on.
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
from giveway.generate.evaluation.results import TestResult, archive_cell, quality, result_of
from giveway.generate.perturbation.adaptive import Filed, Memory, Perturbation
from giveway.generate.protocol import EpisodeRecord
from giveway.generate.search import GENERATION, SEARCHES
from giveway.generate.search.protocol import SearchScores
from giveway.generate.worlds import Worlds, WorldSettings

EGO_GENES = 4
"""First genes of a scene: way, place, speed and desired speed of the ego."""

NEAR_LANES = 2.0
"""Cars closer to the ego than this are perturbed [lane widths]."""

REPAIRS = 200
"""Draws around unsafe genes before they are replaced altogether."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Campaign:
    """What a campaign does.

    Attributes:
        search: name of the search over initial scenes.
        perturb: whether cars near the ego are perturbed.
        budget: tests.
        generation: tests between two decisions of the search.
        seed: root of all random streams.
    """

    search: str = "nsga2"
    perturb: bool = True
    budget: int = 400
    generation: int = GENERATION
    seed: int = 0

    def __post_init__(self) -> None:
        if self.budget < 1 or self.generation < 1:
            raise UsageError("a campaign needs at least one test", found=f"budget {self.budget}")

    @property
    def learns(self) -> bool:
        """Whether later tests depend on earlier ones; if not, the size of a generation changes no test."""
        return self.perturb or self.search != "random"


@dataclass(frozen=True, slots=True, kw_only=True)
class Test:
    """One test of a campaign.

    Attributes:
        result: how it ended.
        filed: joint maneuvers for the memory of the perturbation.
        record: the whole episode; None if the test was known and not driven.
    """

    __test__ = False  # not a test class for pytest

    result: TestResult
    filed: tuple[Filed, ...]
    record: EpisodeRecord | None = None


def run_campaign(
    settings: WorldSettings,
    driver: CarDriver,
    campaign: Campaign,
    *,
    known: Callable[[int], Test | None] = lambda number: None,
) -> Generator[Test]:
    """Yield all tests in order.

    Args:
        settings: of the worlds.
        driver: of the surrounding cars.
        campaign: search, perturbation, budget.
        known: the test of a number, if it was driven before; such tests are told to the search instead of driven.
    """
    worlds = Worlds(settings, n_worlds=campaign.generation)
    count = worlds.space.num_genes + settings.cars * driver.genes_per_car
    search = SEARCHES.get(campaign.search)(EGO_GENES, count, campaign.seed, campaign.generation)
    memory = Memory()
    try:
        for first in range(0, campaign.budget, campaign.generation):
            genes = safe_genes(worlds, search.ask(), campaign.seed, first)
            numbers = range(first, min(first + campaign.generation, campaign.budget))
            tests = [known(number) for number in numbers]
            if None in tests:
                driven = _drive(worlds, driver, campaign.seed, genes, first, memory if campaign.perturb else None)
                tests = [before or now for before, now in zip(tests, driven, strict=False)]
            done = [test for test in tests if test is not None]
            yield from done
            for test in done:
                for entry in test.filed:
                    memory.file(entry)
            if len(done) == campaign.generation:
                search.tell(genes, _scores([test.result for test in done]))
    finally:
        worlds.close()


def _drive(
    worlds: Worlds, driver: CarDriver, seed: int, genes: FloatArray, first: int, memory: Memory | None
) -> list[Test]:
    seeds = [seed_for(seed, "test", first + n) for n in range(len(genes))]
    layer = None
    if memory is not None:
        near_m = NEAR_LANES * worlds.road.lane_width_m
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
    tests: list[Test] = []
    for n, one in enumerate(driven):
        values = tuple(float(g) for g in genes[n])
        result = result_of(one.record, number=first + n, genes=values, triggers=one.triggers)
        tests.append(Test(result=result, filed=one.filed, record=one.record))
    return tests


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
        cells=tuple(archive_cell(r) for r in results),
        quality=np.array([quality(r) for r in results]),
    )
