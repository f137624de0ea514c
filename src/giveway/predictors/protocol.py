"""The contract between the benchmark and a predictor of gap acceptance."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.predictions import OutputKind, Prediction
from giveway.core.samples import GapInputs, GapSamples


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictorInfo:
    """What a predictor is and needs, known before any computing.

    Attributes:
        name: registered name, e.g. ``"LR_1D"``.
        title: how tables print it; LaTeX mathematics without dollar signs, e.g. ``"LR_{1D}"``.
        output: kind of prediction.
        uses: ``"1d"`` reads ``GapInputs.distance``, ``"2d"`` reads ``GapInputs.xy``.
        min_input: smallest n_I it can work with.
        stochastic: whether predictions depend on the generator passed in.
        references: citation keys or full references for ``giveway cite``.
        version: counts up when the same training samples and seed give another model; old results are then recomputed.
    """

    name: str
    title: str
    output: OutputKind
    uses: Literal["1d", "2d"]
    min_input: int = 1
    stochastic: bool = False
    references: tuple[str, ...] = ()
    version: int = 1


@runtime_checkable
class FittedGapPredictor(Protocol):
    """Knows everything it learned; predicting does not change it."""

    @property
    def info(self) -> PredictorInfo:
        """The same fact sheet as the predictor it came from."""
        ...

    def predict(self, inputs: GapInputs, rng: np.random.Generator) -> Prediction:
        """Predict every sample; the result of one sample must not depend on the others."""
        ...

    def save(self, folder: Path) -> None:
        """Write everything needed to predict again, without pickles."""
        ...


@runtime_checkable
class GapPredictor(Protocol):
    """A recipe: hyper-parameters only, no learned state."""

    @property
    def info(self) -> PredictorInfo:
        """Name, output kind and needs."""
        ...

    def fit(self, samples: GapSamples, rng: np.random.Generator) -> FittedGapPredictor:
        """Learn from training samples."""
        ...

    def load(self, folder: Path) -> FittedGapPredictor:
        """Read what :meth:`FittedGapPredictor.save` wrote."""
        ...


@runtime_checkable
class Configurable(Protocol):
    """A recipe whose behavior depends on switches of the protocol (``paper`` or ``clean``)."""

    @property
    def switches_read(self) -> frozenset[str]:
        """Names of these switches; cells of the benchmark name no others."""
        ...

    def configured(self, switches: Mapping[str, Any]) -> GapPredictor:
        """The recipe with these switches; called by the benchmark before fitting and loading."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class FitCost:
    """Time of a fit on one core: ``fixed_s + per_step_s * sum(num_predict)`` over the training samples.

    Attributes:
        fixed_s: what does not depend on the samples.
        per_step_s: per sample and predicted step.
        measured: what was timed to find out, in words.
    """

    fixed_s: float
    per_step_s: float
    measured: str = ""

    def seconds(self, num_steps: float) -> float:
        """For training samples with so many predicted steps in all."""
        return self.fixed_s + self.per_step_s * num_steps


@runtime_checkable
class Costed(Protocol):
    """A recipe whose fits take long, and that can tell how long from a small part of the work."""

    def fit_cost(self, samples: GapSamples) -> FitCost:
        """Measured now, on this machine, with some of the rounds a fit takes on these samples."""
        ...


def configured(recipe: GapPredictor, switches: Mapping[str, Any]) -> GapPredictor:
    """The recipe under these switches, or as it is if it has none."""
    return recipe.configured(switches) if isinstance(recipe, Configurable) else recipe


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingPlace:
    """Where a long training runs; nothing here changes what is learned, up to rounding on another device.

    Attributes:
        device: ``"cpu"``, ``"cuda"``.
        folder: where checkpoints are kept, so that an interrupted training goes on; None keeps none.
        tell: called with a line about how far training is.
        checkpoint_every_s: shortest time between two checkpoints.
    """

    device: str = "cpu"
    folder: Path | None = None
    tell: Callable[[str], None] | None = None
    checkpoint_every_s: float = 0.0


@runtime_checkable
class HasDensity(Protocol):
    """A fitted model that knows the density of what happened, not only paths drawn from it."""

    def step_log_likelihood(self, samples: GapSamples) -> FloatArray:
        """(N, S) log density of each observed position of T [log 1/m^2]; NaN where it was not observed."""
        ...


HERE = TrainingPlace()
"""On the processor, without checkpoints, silently."""


@runtime_checkable
class Trainable(Protocol):
    """A recipe whose training is long enough to be watched, resumed and moved to another device."""

    def placed(self, place: TrainingPlace) -> GapPredictor:
        """The same recipe, trained there."""
        ...


@runtime_checkable
class Tunable(Protocol):
    """A recipe whose training can be set from a specification."""

    def tuned(self, settings: Mapping[str, Any]) -> GapPredictor:
        """The recipe with some settings replaced; a ConfigError names one that does not exist or does not fit."""
        ...


@runtime_checkable
class Learned(Protocol):
    """A fitted model that remembers how training went."""

    def learning_curve(self) -> list[dict[str, float | None]]:
        """One entry per epoch: ``epoch``, ``loss``, ``skipped`` and ``validation_ade_m`` (None where not computed)."""
        ...


@runtime_checkable
class Forgiving(Protocol):
    """A fitted model that makes do with incomplete inputs and says how often it had to."""

    def fallbacks(self, inputs: GapInputs) -> dict[str, int]:
        """Documented fallback to the number of samples it was used for; those never used may be left out."""
        ...


def placed(recipe: GapPredictor, place: TrainingPlace) -> GapPredictor:
    """The recipe at this place, or as it is if its training is short."""
    return recipe.placed(place) if isinstance(recipe, Trainable) else recipe
