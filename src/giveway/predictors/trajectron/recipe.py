"""Trajectron++ as a predictor: what may be chosen, and the way to its two trainings; imports no PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from giveway.core.samples import GapSamples
from giveway.predictors.protocol import HERE, FitCost, PredictorInfo, TrainingPlace
from giveway.predictors.trajectron.checkpoint import read_checkpoint
from giveway.predictors.trajectron.config import CLEAN, PAPER, SMALL, TrajectronConfig
from giveway.predictors.trajectron.driving import REFERENCES, DrivingTrajectron
from giveway.predictors.windows import MotionWindows, TrainedPredictor, TrainingOptions

if TYPE_CHECKING:
    from giveway.predictors.trajectron.predictor import FittedTrajectron
    from giveway.predictors.trajectron.training import Progress

VERSION = 2
"""Counts up when the same samples and seed give other weights or trajectories."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trajectron:
    """Trajectron++: a recurrent network with discrete modes and unicycle dynamics, for gaps and for drives.

    ``fit`` learns from samples of gaps, ``train`` from windows of recordings; network, training loop and settings are
    the same, inputs and outputs differ (:mod:`giveway.predictors.trajectron.features`,
    :mod:`giveway.predictors.trajectron.driving`). Predicting in a drive needs no PyTorch.

    Attributes:
        name: registered name.
        config: what to train.
        place: device, checkpoints and progress.
    """

    name: str = "TPP"
    config: TrajectronConfig = CLEAN
    place: TrainingPlace = HERE

    @property
    def info(self) -> PredictorInfo:
        """Fact sheet of what :meth:`fit` gives."""
        return PredictorInfo(
            name=self.name,
            title="T{+}{+}" if self.name in ("TPP", "TPP_paper") else "T{+}{+}_{" + self.name.partition("_")[2] + "}",
            reads=frozenset({"positions", "others"}),
            takes=frozenset({"gaps"}),
            learns=True,
            history_s=0.2,
            stochastic=True,
            references=REFERENCES,
            version=VERSION,
        )

    def placed(self, place: TrainingPlace) -> Trajectron:
        """The same recipe on another device, with checkpoints in a folder, telling how far it is."""
        return replace(self, place=place)

    def tuned(self, settings: Mapping[str, Any]) -> Trajectron:
        """The same recipe with some settings of :class:`TrajectronConfig` replaced."""
        return replace(self, config=TrajectronConfig.from_mapping({**asdict(self.config), **settings}))

    def fit(
        self, samples: GapSamples, rng: np.random.Generator, *, progress: Progress | None = None
    ) -> FittedTrajectron:
        """Train on samples of gaps; with ``place.folder`` training resumes from its last checkpoint."""
        from giveway.predictors.trajectron.predictor import fit_on_gaps

        return fit_on_gaps(samples, self.info, self.config, rng, self.place, progress)

    def train(
        self,
        windows: MotionWindows,
        held_out: MotionWindows,
        out: Path,
        options: TrainingOptions,
        on_step: Callable[[int, int, str], None] | None,
    ) -> TrainedPredictor:
        """Train on windows of recordings and write a file; an interrupted training goes on."""
        from giveway.predictors.trajectron.driving_training import train_trajectron

        return train_trajectron(windows, held_out, out, options, on_step)

    def fit_cost(self, samples: GapSamples) -> FitCost:
        """See :class:`giveway.predictors.protocol.Costed`."""
        from giveway.predictors.trajectron.cost import fit_cost

        return fit_cost(samples, self.config, device=self.place.device)

    def load(self, path: Path) -> FittedTrajectron | DrivingTrajectron:
        """Read a file, or the one in a folder; what it has learned from is what it predicts.

        Raises:
            DataError: no such file.
            FileFormatError: damaged, or not a checkpoint of this network.
            ConfigError: fitted on gaps with another configuration than this recipe's.
        """
        checkpoint = read_checkpoint(path)
        if checkpoint.state.learned_from == "recordings":
            return DrivingTrajectron(checkpoint)
        from giveway.predictors.trajectron.predictor import fitted_on_gaps

        return fitted_on_gaps(checkpoint.of_configuration(self.config), self.info, self.place.device)


TPP = Trajectron()
"""Trajectron++ in the `clean` profile."""

TPP_PAPER = Trajectron(name="TPP_paper", config=PAPER)
"""Trajectron++ as published: raw coordinates, a latent component per step."""

TPP_SMALL = Trajectron(name="TPP_small", config=SMALL)
"""A small decoder, trained for seconds; for demonstrations, quick looks and laptops."""
