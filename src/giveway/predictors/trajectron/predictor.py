"""Trajectron++ behind the benchmark's contract."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from giveway.core.arrays import BoolArray, FloatArray
from giveway.core.predictions import NUM_PATHS, OutputKind, PathSet
from giveway.core.samples import GapInputs, GapSamples
from giveway.predictors.protocol import HERE, FitCost, PredictorInfo, TrainingPlace
from giveway.predictors.torch_device import device_named
from giveway.predictors.trajectron.checkpoint import TrainingState, load_checkpoint, save_checkpoint
from giveway.predictors.trajectron.config import CLEAN, PAPER, SMALL, TrajectronConfig
from giveway.predictors.trajectron.features import build_features, count_fallbacks, to_network
from giveway.predictors.trajectron.network import Batch, TrajectronNetwork
from giveway.predictors.trajectron.objective import mode_log_density
from giveway.predictors.trajectron.sampling import sample_paths
from giveway.predictors.trajectron.training import Progress, spoken, train

VERSION = 2
"""Counts up when the same samples and seed give other weights or paths."""

REFERENCES = (
    "T. Salzmann, B. Ivanovic, P. Chakravarty, M. Pavone, Trajectron++: Dynamically-Feasible Trajectory Forecasting "
    "With Heterogeneous Data, ECCV 2020",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedTrajectron:
    """A trained network.

    Attributes:
        info: fact sheet.
        network: weights, in evaluation mode.
        state: configuration, seed and learning curve.
        device: where it computes.
    """

    info: PredictorInfo
    network: TrajectronNetwork
    state: TrainingState
    device: str = "cpu"

    def predict(self, inputs: GapInputs, rng: np.random.Generator) -> PathSet:
        """n_p paths per sample."""
        root = int(rng.integers(2**63))
        return PathSet(xy=sample_paths(self.network, inputs, root, device=self.device), dt_s=inputs.dt_s)

    def log_likelihood(self, samples: GapSamples) -> FloatArray:
        """(N,) log density of the observed path: ``log sum_k p_k prod_t p(y_t | k)``; NaN where none was observed.

        The latent value holds for the whole path; given it, the steps enter with their marginal densities as if they
        were independent, as in training.
        """
        log_p, per_mode, observed = self._densities(samples)
        value = np.logaddexp.reduce(log_p + per_mode.sum(axis=-1), axis=-1)
        return np.where(observed.any(axis=1), value, np.nan)

    def step_log_likelihood(self, samples: GapSamples) -> FloatArray:
        """(N, S) log density of each observed position: ``log sum_k p_k p(y_t | k)``; NaN where it was not observed."""
        log_p, per_mode, observed = self._densities(samples)
        return np.where(observed, np.logaddexp.reduce(log_p[..., None] + per_mode, axis=1), np.nan)

    def _densities(self, samples: GapSamples) -> tuple[FloatArray, FloatArray, BoolArray]:
        features = build_features(samples.inputs, self.network.config)
        future = to_network(samples.truth.future_xy, features)
        observed = np.arange(future.shape[1]) < samples.truth.num_observed[:, None]
        device = torch.device(self.device)
        with torch.inference_mode():
            log_p, per_mode = mode_log_density(
                self.network,
                Batch.of(features, device),
                torch.as_tensor(np.nan_to_num(future), dtype=torch.float32, device=device),
                torch.as_tensor(observed, device=device),
                samples.inputs.dt_s,
            )
        return log_p.double().cpu().numpy(), per_mode.double().cpu().numpy(), observed

    def learning_curve(self) -> list[dict[str, float | None]]:
        """Epoch, loss, error on held-out samples and skipped updates, epoch by epoch."""
        return [
            {
                "epoch": report.epoch,
                "loss": report.loss,
                "validation_ade_m": report.validation_ade_m,
                "skipped": report.skipped,
            }
            for report in self.state.history
        ]

    def fallbacks(self, inputs: GapInputs) -> dict[str, int]:
        """How many samples had inputs that were made do with."""
        return count_fallbacks(inputs)

    def save(self, folder: Path) -> None:
        """Weights as safetensors, the rest as JSON."""
        save_checkpoint(folder, self.network, self.state)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trajectron:
    """The recipe.

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
        """Fact sheet."""
        return PredictorInfo(
            name=self.name,
            title="T{+}{+}" if self.name in ("TPP", "TPP_paper") else "T{+}{+}_{" + self.name.partition("_")[2] + "}",
            output=OutputKind.PATHS,
            uses="2d",
            min_input=2,
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
        """Train on samples; with ``place.folder`` training is checkpointed after every epoch and resumes there."""
        seed = int(rng.integers(2**63))
        place = self.place
        if progress is None and place.tell is not None:
            progress = spoken(place.tell)
        network, state = train(
            samples,
            self.config,
            seed=seed,
            device=place.device,
            folder=place.folder,
            progress=progress,
            checkpoint_every_s=place.checkpoint_every_s,
        )
        return FittedTrajectron(info=self.info, network=network, state=state, device=place.device)

    def fit_cost(self, samples: GapSamples) -> FitCost:
        """See :class:`giveway.predictors.protocol.Costed`."""
        from giveway.predictors.trajectron.cost import fit_cost

        return fit_cost(samples, self.config, device=self.place.device)

    def load(self, folder: Path) -> FittedTrajectron:
        """Read what :meth:`FittedTrajectron.save` or a training run wrote."""
        network, state = load_checkpoint(folder, expected=self.config)
        network.to(device_named(self.place.device)).eval()
        return FittedTrajectron(info=self.info, network=network, state=state, device=self.place.device)


TPP = Trajectron()
"""Trajectron++ in the `clean` profile."""

TPP_PAPER = Trajectron(name="TPP_paper", config=PAPER)
"""Trajectron++ as published: raw coordinates, a latent component per step."""

TPP_SMALL = Trajectron(name="TPP_small", config=SMALL)
"""A small decoder, trained for seconds; for demonstrations, quick looks and laptops."""

__all__ = ["NUM_PATHS", "TPP", "TPP_PAPER", "TPP_SMALL", "FittedTrajectron", "Trajectron"]
