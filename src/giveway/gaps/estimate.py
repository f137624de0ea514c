"""How long a grid will take: one small calibration per model, scaled to the number and length of the samples.

Real recordings are not needed: models are timed on generated ones, and the published sample counts stand for the
published datasets. Times are those of one core of this machine.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from giveway.core.errors import GivewayError
from giveway.core.predictions import OutputKind
from giveway.core.samples import GapSamples
from giveway.data.synthetic.protocol import synthesize
from giveway.gaps.extract import SampleRules, find_gaps, samples_at
from giveway.gaps.extractions import EXTRACTIONS
from giveway.gaps.profile import CLEAN, Profile
from giveway.gaps.recipes import recipe_for
from giveway.gaps.sources import Source, scenes_of
from giveway.metrics import METRICS
from giveway.models.protocol import Costed, FitCost, GapPredictor
from giveway.runs import Cell

PUBLISHED_SIZES: Mapping[tuple[str, str], tuple[int, int]] = {
    ("lgap", "initial"): (700, 716),
    ("lgap", "constant"): (375, 205),
    ("lgap", "critical"): (227, 397),
    ("round", "initial"): (789, 2164),
    ("round", "constant"): (381, 556),
    ("round", "critical"): (147, 2810),
    ("leeds", "initial"): (99, 942),
    ("leeds", "constant"): (41, 108),
    ("leeds", "critical"): (0, 942),
}
"""(adapter, prediction time) to accepted and rejected samples; Schumann et al. 2023 (supplement), table I."""

TRAIN_SHARE = 0.8
CALIBRATION_SAMPLES = 96
SMALL = {"lgap": {"count": 160}, "round": {"count": 1, "minutes": 4.0}, "leeds": {"count": 6}}
"""Generated recordings that models are timed on, by adapter; others are timed on L-GAP."""

UNKNOWN_SIZE = (150, 350)
STEPS_IF_UNKNOWN = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyCost:
    """Attributes:
    name: family of models, e.g. ``"CM"``.
    fits: how many of them.
    seconds: on one core, in all.
    longest_s: the most expensive fit.
    """

    name: str
    fits: int
    seconds: float
    longest_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """Attributes:
    cells: how many.
    families: cost by family of models, conditional path models apart.
    calibration_s: how long it took to find out.
    """

    cells: int
    families: tuple[FamilyCost, ...]
    calibration_s: float

    @property
    def core_seconds(self) -> float:
        """On one core."""
        return sum(f.seconds for f in self.families)

    def seconds(self, workers: int) -> float:
        """On so many workers, one core each; no shorter than the longest fit."""
        longest = max((f.longest_s for f in self.families), default=0.0)
        return max(self.core_seconds / max(workers, 1), longest)


def estimate(cells: list[Cell], say: Callable[[str], None] = lambda text: None) -> Estimate:
    """Expected time of cells.

    Args:
        cells: of one or several grids.
        say: called with one line before each calibration.
    """
    began = time.perf_counter()
    costs: dict[str, list[float]] = {}
    seen: set[tuple[object, ...]] = set()
    with tempfile.TemporaryDirectory() as folder:
        bench = _Bench(Path(folder), say)
        for cell in cells:
            profile = Profile(**cell.params["switches"])
            model = str(cell.params["model"])
            size = bench.size(cell)
            costs.setdefault(family(model), []).append(bench.cell_s(model, profile, cell, sum(size)))
            for key, num in _conditional_fits(cell, profile, size):
                if key not in seen:
                    seen.add(key)
                    name = str(cell.params["conversion"]["paths"])
                    cost = bench.cell_s(name, profile, cell, num)
                    costs.setdefault(f"{family(name)} (conditional paths)", []).append(cost)
    families = tuple(
        FamilyCost(name=name, fits=len(values), seconds=sum(values), longest_s=max(values))
        for name, values in costs.items()
    )
    return Estimate(cells=len(cells), families=families, calibration_s=time.perf_counter() - began)


def family(model: str) -> str:
    """``"CM_AIJ21"`` to ``"CM"``, ``"TPP_paper"`` to ``"T++"``; others are families of their own."""
    if model.startswith(("T++", "TPP")):
        return "T++"
    return "CM" if model.startswith("CM_") else model


def _conditional_fits(cell: Cell, profile: Profile, size: tuple[int, int]) -> list[tuple[tuple[object, ...], int]]:
    """What the conditional path models of a cell are kept under, and from how many samples they learn."""
    params = cell.params
    needs = {METRICS.get(name).info.needs for name in params["metrics"]}
    given = recipe_for(params["model"], profile).info.output
    if given == OutputKind.PATHS or not (
        OutputKind.PATHS in needs or (OutputKind.TIME in needs and given == OutputKind.PROBABILITY)
    ):
        return []
    place: tuple[object, ...] = (*(params[k] for k in ("dataset", "t0", "n_input")), cell.data, str(profile))
    if profile.conditional_training == "training":
        place += (params["split"], params["repetition"])
    labels = ("accepted", "rejected") if OutputKind.PATHS in needs else ("accepted",)
    return [((*place, label), num) for label, num in zip(labels, size, strict=False)]


class _Bench:
    """Generated samples and what fits on them cost, each made once."""

    def __init__(self, folder: Path, say: Callable[[str], None]) -> None:
        self._folder, self._say = folder, say
        self._samples: dict[tuple[str, str], GapSamples | None] = {}
        self._costs: dict[tuple[str, str, str], FitCost] = {}

    def size(self, cell: Cell) -> tuple[int, int]:
        """Accepted and rejected samples of the cell's dataset: published, or a guess."""
        adapter = EXTRACTIONS.get(cell.params["dataset"]).info.dataset
        found = self.samples(cell.params["dataset"], cell.params["t0"]) if cell.params["synthetic"] else None
        if found is not None and found.num_samples:
            accepted = int(found.truth.accepted.sum())
            return accepted, found.num_samples - accepted
        return PUBLISHED_SIZES.get((adapter, cell.params["t0"]), UNKNOWN_SIZE)

    def cell_s(self, model: str, profile: Profile, cell: Cell, num: int) -> float:
        """Fitting and predicting one cell with so many samples."""
        dataset = str(cell.params["dataset"])
        samples = self.samples(dataset, cell.params["t0"])
        steps = STEPS_IF_UNKNOWN if samples is None else float(samples.inputs.num_predict.mean())
        return self.cost(model, profile, dataset).seconds(TRAIN_SHARE * num * steps)

    def cost(self, model: str, profile: Profile, dataset: str) -> FitCost:
        """Of a model; networks look at all agents and are timed per dataset, others once."""
        recipe = recipe_for(model, profile)
        place = dataset if recipe.info.uses == "2d" else ""
        key = (model, profile.model_dump_json(), place)
        if key not in self._costs:
            self._say(f"timing {model}{f' on {dataset}' if place else ''}")
            self._costs[key] = _measure(recipe, self._calibration(dataset))
        return self._costs[key]

    def samples(self, dataset: str, t0: str) -> GapSamples | None:
        """Generated samples of a dataset, None if it cannot be generated."""
        if (dataset, t0) not in self._samples:
            self._samples[dataset, t0] = self._extract(dataset, t0)
        return self._samples[dataset, t0]

    def _extract(self, dataset: str, t0: str) -> GapSamples | None:
        extraction = EXTRACTIONS.get(dataset)
        adapter = extraction.info.dataset
        if adapter not in SMALL:
            return None
        found = find_gaps(extraction, scenes_of(self._recordings(adapter)), CLEAN)
        rules = SampleRules(choice=t0, num_input=2, num_input_max=2, relaxed=True)  # pyright: ignore[reportArgumentType]
        samples = samples_at(found, rules, CLEAN).samples
        return samples if samples.num_samples >= 2 else None

    def _recordings(self, adapter: str) -> Source:
        root = self._folder / adapter
        if not root.exists():
            self._say(f"generating recordings like {adapter}")
            synthesize(adapter, root, seed=0, **SMALL[adapter])  # pyright: ignore[reportArgumentType]
        return Source(dataset=adapter, root=root, data="", is_synthetic=True)

    @cached_property
    def _fallback(self) -> GapSamples:
        samples = self.samples("lgap", "constant")
        assert samples is not None
        return samples

    def _calibration(self, dataset: str) -> GapSamples:
        """So many samples, drawn with repetition, both classes present."""
        samples = self.samples(dataset, "initial") or self._fallback
        if len(np.unique(samples.truth.accepted)) < 2:
            samples = self._fallback
        rng = np.random.default_rng(0)
        halves = [np.flatnonzero(samples.truth.accepted == label) for label in (True, False)]
        return samples.take(np.concatenate([rng.choice(half, CALIBRATION_SAMPLES // 2) for half in halves]))


def _measure(recipe: GapPredictor, samples: GapSamples) -> FitCost:
    rng = np.random.default_rng(0)
    if isinstance(recipe, Costed):
        return recipe.fit_cost(samples)
    began = time.process_time()
    try:
        recipe.fit(samples, rng).predict(samples.inputs, rng)
    except GivewayError:
        return FitCost(fixed_s=1.0, per_step_s=0.0)
    return FitCost(fixed_s=time.process_time() - began, per_step_s=0.0)
