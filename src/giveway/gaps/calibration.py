"""What a fit costs on this machine: a small part of it is timed on generated samples, and remembered.

Real recordings are not needed. Costs are kept in the cache folder, under the code and the machine they were measured
with, so that the second question is answered at once.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from giveway.core.checked import OWN, read_sealed
from giveway.core.errors import GivewayError, StoreError
from giveway.core.files import write_bytes
from giveway.core.samples import GapSamples
from giveway.core.seals import seal
from giveway.experiments.cells import content_key
from giveway.experiments.files import canonical_json
from giveway.experiments.object_store import cache_folder
from giveway.experiments.provenance import machine, source_digest
from giveway.gaps.extract import SampleRules, find_gaps, samples_at
from giveway.gaps.extractions import EXTRACTIONS
from giveway.gaps.profile import CLEAN, Profile
from giveway.gaps.recipes import recipe_for, switches_read
from giveway.gaps.sources import Source, scenes_of
from giveway.predictors.protocol import Costed, FitCost, Predictor, Tunable
from giveway.synth.protocol import synthesize

CALIBRATION_SAMPLES = 96
SMALL = {"lgap": {"count": 160}, "round": {"count": 1, "minutes": 4.0}, "leeds": {"count": 6}}
"""Generated recordings that models are timed on, by adapter; others are timed on L-GAP."""

Say = Callable[[str], None]


class Calibration:
    """Generated samples and what fits on them cost, each made once.

    Args:
        folder: for generated recordings.
        say: called with one line before each step.
        memory: file that costs are remembered in; None measures everything anew and keeps nothing.
    """

    def __init__(self, folder: Path, say: Say, memory: Path | None) -> None:
        self._folder, self._say, self._memory = folder, say, memory
        self._samples: dict[tuple[str, str], GapSamples | None] = {}
        self._known: dict[str, Any] = {} if memory is None else _read(memory)
        self.num_timed = 0

    def cost(self, model: str, profile: Profile, dataset: str, training: Mapping[str, Any]) -> FitCost:
        """Of a model; networks look at all agents and are timed per dataset and settings of training, others once."""
        recipe = recipe_for(model, profile, training)
        place = dataset if "positions" in recipe.info.reads else ""
        settings = dict(training) if isinstance(recipe, Tunable) else {}
        read = switches_read(model)
        switches = {name: value for name, value in profile.model_dump().items() if name in read and value is not None}
        key = content_key({"model": model, "switches": switches, "place": place, "training": settings})
        if key not in self._known:
            self._say(f"timing {model}{f' on {dataset}' if place else ''}")
            self.num_timed += 1
            self._keep(key, asdict(measure(recipe, self._calibration(dataset))))
        return FitCost(**self._known[key])

    def mean_steps(self, dataset: str, t0: str) -> float | None:
        """Predicted steps per generated sample; None if the dataset cannot be generated."""
        return self._shape(dataset, t0)[0]

    def generated_size(self, dataset: str, t0: str) -> tuple[int, int] | None:
        """Accepted and rejected samples that were generated; None if the dataset cannot be."""
        _, accepted, rejected = self._shape(dataset, t0)
        return None if accepted is None or rejected is None else (accepted, rejected)

    def _shape(self, dataset: str, t0: str) -> tuple[Any, Any, Any]:
        """Mean steps, accepted and rejected samples; remembered as well, since generating takes a while."""
        key = content_key({"shape": dataset, "t0": t0})
        if key not in self._known:
            samples = self.samples(dataset, t0)
            if samples is None:
                self._keep(key, [None, None, None])
            else:
                accepted = int(samples.truth.accepted.sum())
                steps = float(samples.inputs.num_predict.mean())
                self._keep(key, [steps, accepted, samples.num_samples - accepted])
        found = self._known[key]
        return found[0], found[1], found[2]

    def samples(self, dataset: str, t0: str) -> GapSamples | None:
        """Generated samples of a dataset, None if it cannot be generated."""
        if (dataset, t0) not in self._samples:
            self._samples[dataset, t0] = self._extract(dataset, t0)
        return self._samples[dataset, t0]

    def _keep(self, key: str, value: Any) -> None:
        self._known[key] = value
        if self._memory is not None:
            write_bytes(self._memory, seal(canonical_json(self._known)))

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


@contextmanager
def calibration(say: Say, *, fresh: bool = False) -> Generator[Calibration]:
    """A calibration that remembers what this code cost on this machine; ``fresh`` forgets it first."""
    memory = memory_file()
    if fresh:
        memory.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        yield Calibration(Path(folder), say, memory)


def memory_file() -> Path:
    """Where costs of this code on this machine are remembered."""
    return cache_folder() / "calibration" / f"{content_key({'code': source_digest(), 'machine': machine()})[:32]}.json"


def measure(recipe: Predictor, samples: GapSamples) -> FitCost:
    """Cost of a recipe: told by itself if it can, else by one fit on these samples."""
    rng = np.random.default_rng(0)
    if isinstance(recipe, Costed):
        return recipe.fit_cost(samples)
    began = time.process_time()
    try:
        recipe.fit(samples, rng).predict(samples.inputs, rng)
    except GivewayError:
        return FitCost(fixed_s=1.0, per_step_s=0.0, measured="nothing: it cannot be fitted to the generated samples")
    whole = f"one fit and prediction of {samples.num_samples} samples"
    return FitCost(fixed_s=time.process_time() - began, per_step_s=0.0, measured=whole)


def _read(path: Path) -> dict[str, Any]:
    """What is remembered; nothing if the file is missing or damaged."""
    try:
        return read_sealed(path, expect=OWN, needs_seal=True).document
    except StoreError:
        return {}
