"""The contract of predictors: of gap acceptance and of motion alike, and what some of them offer besides."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.predictions import OutputKind, Prediction
from giveway.core.samples import GapInputs, GapSamples

if TYPE_CHECKING:
    from giveway.predictors.windows import MotionWindows, TrainedPredictor, TrainingOptions


GAP_STEP_S = 0.2
"""Spacing of the histories of gap samples [s]."""

READS = ("distances", "positions", "others", "map", "future")
"""What a predictor may ask for; ``future`` is the oracle's and never true of something that can be deployed."""

TAKES = ("gaps", "motion")
"""Inputs a ``predict`` can be called with: ``GapInputs``, ``MotionInputs``; the views make one out of the other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictorInfo:
    """What a predictor is and needs, known before any computing.

    Attributes:
        name: registered name, e.g. ``"LR_1D"``.
        title: how tables print it; LaTeX mathematics without dollar signs, e.g. ``"LR_{1D}"``.
        gives: kind of prediction.
        reads: some of :data:`READS`. For drives ``others`` costs time with large batches, and ``distances`` asks for
            the conflict of each car.
        takes: some of :data:`TAKES`.
        learns: whether it has to be fitted, or loaded, before it can predict.
        history_s: history it needs [s].
        horizon_s: how far it predicts [s]; None: as far as it is asked to.
        stochastic: whether predictions depend on the generator passed in.
        references: citation keys or full references for ``giveway cite``.
        version: counts up when the same training samples and seed give another model; old results are then recomputed.
    """

    name: str
    title: str = ""
    gives: OutputKind = OutputKind.TRAJECTORIES
    reads: frozenset[str] = frozenset({"positions"})
    takes: frozenset[str] = frozenset({"motion"})
    learns: bool = False
    history_s: float = 0.0
    horizon_s: float | None = None
    stochastic: bool = False
    references: tuple[str, ...] = ()
    version: int | str = 1

    @property
    def min_input(self) -> int:
        """Smallest number of input steps n_I of a gap sample it can work with."""
        return 1 + round(self.history_s / GAP_STEP_S)


@runtime_checkable
class FittedPredictor(Protocol):
    """A predictor that can predict: one that has learned, or that has nothing to learn."""

    @property
    def info(self) -> PredictorInfo:
        """The same fact sheet as the predictor it came from."""
        ...

    def predict(self, inputs: Any, rng: np.random.Generator) -> Prediction:
        """Predict every row of ``GapInputs`` or ``MotionInputs``, whichever ``info.takes`` names.

        The result of one row must not depend on the others; random numbers come from ``inputs.streams(rng)``. Nothing
        that was learned changes.
        """
        ...


@runtime_checkable
class Predictor(Protocol):
    """Hyper-parameters, not yet fitted; :class:`giveway.predictors.base.Predictor` is the class to derive from."""

    @property
    def info(self) -> PredictorInfo:
        """Name, kind of prediction and needs."""
        ...

    def fit(self, samples: GapSamples, rng: np.random.Generator) -> FittedPredictor:
        """Learn from training samples."""
        ...

    def load(self, folder: Path) -> FittedPredictor:
        """Read what :meth:`Saved.save` wrote."""
        ...


@runtime_checkable
class Saved(Protocol):
    """A fitted predictor that can be kept on disk."""

    def save(self, folder: Path) -> None:
        """Write everything needed to predict again, without pickles."""
        ...


@runtime_checkable
class Configurable(Protocol):
    """A recipe whose behavior depends on switches of the protocol (``paper`` or ``clean``)."""

    @property
    def switches_read(self) -> frozenset[str]:
        """Names of these switches; cells of the benchmark name no others."""
        ...

    def configured(self, switches: Mapping[str, Any]) -> Predictor:
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


def configured(recipe: Predictor, switches: Mapping[str, Any]) -> Predictor:
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

    def placed(self, place: TrainingPlace) -> Predictor:
        """The same recipe, trained there."""
        ...


@runtime_checkable
class Tunable(Protocol):
    """A recipe whose training can be set from a specification."""

    def tuned(self, settings: Mapping[str, Any]) -> Predictor:
        """The recipe with some settings replaced; a ConfigError names one that does not exist or does not fit."""
        ...


@runtime_checkable
class Learned(Protocol):
    """A fitted model that remembers how training went."""

    def learning_curve(self) -> list[dict[str, float | None]]:
        """One entry per epoch: ``epoch``, ``loss``, ``skipped`` and ``validation_ade_m`` (None where not computed)."""
        ...


@runtime_checkable
class TrainsOnMotion(Protocol):
    """A predictor that learns from windows of recordings, for drives."""

    def train(
        self,
        windows: MotionWindows,
        held_out: MotionWindows,
        out: Path,
        options: TrainingOptions,
        on_step: Callable[[int, int, str], None] | None,
    ) -> TrainedPredictor:
        """Learn from ``windows`` and write a checkpoint; ``held_out`` tells how well it goes."""
        ...


@runtime_checkable
class Forgiving(Protocol):
    """A fitted model that makes do with incomplete inputs and says how often it had to."""

    def fallbacks(self, inputs: GapInputs) -> dict[str, int]:
        """Documented fallback to the number of samples it was used for; those never used may be left out."""
        ...


def placed(recipe: Predictor, place: TrainingPlace) -> Predictor:
    """The recipe at this place, or as it is if its training is short."""
    return recipe.placed(place) if isinstance(recipe, Trainable) else recipe
