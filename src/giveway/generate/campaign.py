"""A campaign: generations of scenes from a search, driven and judged, until the budget is spent.

With perturbation some generations drive dangerous tests of the search again with a push: every second one if pushed
tests find failures that count more often than the search does, one in six while they might (the upper end of their
Wilson interval is above its share).

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
from giveway.generate.egos import Ego
from giveway.generate.evaluation.results import TestResult, archive_cell, quality, result_of
from giveway.generate.perturbation import Memory, Moment, Perturbation, Push, worth
from giveway.generate.protocol import EpisodeRecord
from giveway.generate.search import GENERATION, SEARCHES
from giveway.generate.search.protocol import SearchScores
from giveway.generate.worlds import Worlds, WorldSettings
from giveway.stats.proportions import wilson

EGO_GENES = 4
"""First genes of a scene: way, place, speed and desired speed of the ego."""

ON_TRIAL = 1 / 6
"""Share of tests that are pushed before pushes have shown that they pay."""

TRIED = 0.1
"""Danger that a test loses for each push that it got, when tests to be pushed are chosen."""

REPAIRS = 200
"""Draws around unsafe genes before they are replaced altogether."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Campaign:
    """What a campaign does.

    Attributes:
        search: name of the search over initial scenes.
        perturb: whether dangerous tests are driven again with a push.
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
        moment: when it could be pushed.
        push: what was added to the actions of its cars.
        record: the whole episode; None if the test was known and not driven.
    """

    __test__ = False  # not a test class for pytest

    result: TestResult
    moment: Moment | None = None
    push: Push | None = None
    record: EpisodeRecord | None = None


def run_campaign(
    settings: WorldSettings,
    driver: CarDriver,
    campaign: Campaign,
    *,
    known: Callable[[int], Test | None] = lambda number: None,
    ego: Ego | None = None,
) -> Generator[Test]:
    """Yield all tests in order.

    Args:
        settings: of the worlds.
        driver: of the surrounding cars.
        campaign: search, perturbation, budget.
        known: the test of a number, if it was driven before; such tests are told to the search instead of driven.
        ego: how the ego is driven, instead of by the planner of the worlds.
    """
    worlds = Worlds(settings, n_worlds=campaign.generation, ego=ego)
    count = worlds.space.num_genes + settings.cars * driver.genes_per_car
    search = SEARCHES.get(campaign.search)(EGO_GENES, count, campaign.seed, campaign.generation)
    layer = _Pushes(campaign.seed) if campaign.perturb else None
    try:
        for first in range(0, campaign.budget, campaign.generation):
            pushes = layer.propose(campaign.generation, first) if layer is not None else []
            genes = layer.genes(pushes) if pushes and layer else safe_genes(worlds, search.ask(), campaign.seed, first)
            numbers = range(first, min(first + campaign.generation, campaign.budget))
            tests = [known(number) for number in numbers]
            if None in tests:
                driven = _drive(worlds, driver, campaign, genes, first, pushes)
                tests = [before or now for before, now in zip(tests, driven, strict=False)]
            done = [test for test in tests if test is not None]
            yield from done
            if layer is not None:
                layer.file(done)
            if len(done) == campaign.generation and not pushes:
                search.tell(genes, _scores([test.result for test in done]))
    finally:
        worlds.close()


class _Pushes:
    """Chooses tests of the search and pushes for them.

    Args:
        seed: of the campaign.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._memory = Memory()
        self._searched: list[Test] = []
        self._found: dict[int, bool] = {}
        self._tries: dict[int, int] = {}
        self._counting = [0, 0]
        self._pushed_last = True

    def propose(self, count: int, first: int) -> list[Push]:
        """Pushes for a generation; none if it is the search's turn, nothing is dangerous, or pushes do not pay."""
        pushed = sum(self._tries.values())
        share = self._counting[0] / max(len(self._searched), 1)
        found, total = self._counting[1], pushed + len(self._searched)
        on_trial = pushed + count <= ON_TRIAL * (total + count) and not wilson(found, pushed)[1] < share
        pays = on_trial or found > share * pushed
        open_ = {t.result.number: t for t in self._searched if t.moment and not self._found[t.result.number]}
        if self._pushed_last or not pays or not open_:
            self._pushed_last = False
            return []
        self._pushed_last = True
        left = {n: t.result.danger - TRIED * self._tries.get(n, 0) for n, t in open_.items()}
        pushes: list[Push] = []
        for k in range(count):
            twin = max(left, key=lambda n: (left[n], -n))
            left[twin] -= TRIED
            moment = open_[twin].moment
            assert moment is not None
            delta = self._memory.choose(moment, stream(self._seed, "push", first + k))
            pushes.append(Push(twin=twin, moment=moment, delta=tuple((float(p), float(s)) for p, s in delta)))
        return pushes

    def genes(self, pushes: Sequence[Push]) -> FloatArray:
        """(N, G) of the twins."""
        there = {test.result.number: test.result.genes for test in self._searched}
        return np.array([there[push.twin] for push in pushes])

    def file(self, tests: Sequence[Test]) -> None:
        """Learn from a generation."""
        before = {test.result.number: worth(test.result) for test in self._searched}
        for test in tests:
            if test.push is None:
                self._searched.append(test)
                self._found[test.result.number] = test.result.counts
            else:
                twin = test.push.twin
                self._memory.file(test.push, worth(test.result) - before[twin])
                self._tries[twin] = self._tries.get(twin, 0) + 1
                self._found[twin] |= test.result.counts
            self._counting[test.push is not None] += test.result.counts


def _drive(
    worlds: Worlds, driver: CarDriver, campaign: Campaign, genes: FloatArray, first: int, pushes: Sequence[Push]
) -> list[Test]:
    """Drive a generation; a pushed test has the random streams of its twin."""
    given: list[Push | None] = [*pushes] or [None] * len(genes)
    numbers = [first + n if push is None else push.twin for n, push in enumerate(given)]
    place, rest = np.split(genes, [worlds.space.num_genes], axis=1)
    driven = drive_scenes(
        worlds,
        worlds.space.scenes(place),
        driver,
        seeds=[seed_for(campaign.seed, "test", number) for number in numbers],
        genes=rest.reshape(len(genes), worlds.n_cars, driver.genes_per_car),
        perturbation=Perturbation(worlds.road.lane_width_m, given) if campaign.perturb else None,
    )
    tests: list[Test] = []
    for n, (one, push) in enumerate(zip(driven, given, strict=True)):
        values = tuple(float(g) for g in genes[n])
        result = result_of(one.record, number=first + n, genes=values, triggers=one.triggers)
        tests.append(Test(result=result, moment=one.moment, push=push, record=one.record))
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
