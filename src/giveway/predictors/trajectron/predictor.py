"""Trajectron++ trained on gaps, with PyTorch."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from giveway.core.arrays import BoolArray, FloatArray
from giveway.core.predictions import Trajectories
from giveway.core.samples import GapInputs, GapSamples
from giveway.predictors.protocol import PredictorInfo, TrainingPlace
from giveway.predictors.torch_setup import device_named
from giveway.predictors.trajectron.checkpoint import FILE, Checkpoint, TrainingState, write_checkpoint
from giveway.predictors.trajectron.config import TrajectronConfig
from giveway.predictors.trajectron.features import build_features, count_fallbacks, to_network
from giveway.predictors.trajectron.network import Batch, TrajectronNetwork
from giveway.predictors.trajectron.objective import mode_log_density
from giveway.predictors.trajectron.sampling import sample_paths
from giveway.predictors.trajectron.training import Progress, spoken, train


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

    def predict(self, inputs: GapInputs, rng: np.random.Generator) -> Trajectories:
        """n_p paths per sample."""
        root = int(rng.integers(2**63))
        return Trajectories(xy=sample_paths(self.network, inputs, root, device=self.device), dt_s=inputs.dt_s)

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
        """Write weights and learning curve, see :mod:`giveway.predictors.trajectron.checkpoint`."""
        write_checkpoint(folder / FILE, Checkpoint.of(self.network, self.state))


def fit_on_gaps(
    samples: GapSamples,
    info: PredictorInfo,
    config: TrajectronConfig,
    rng: np.random.Generator,
    place: TrainingPlace,
    progress: Progress | None = None,
) -> FittedTrajectron:
    """Train on samples of gaps; with ``place.folder`` after every epoch a checkpoint is written, to resume there."""
    seed = int(rng.integers(2**63))
    if progress is None and place.tell is not None:
        progress = spoken(place.tell)
    network, state = train(
        samples,
        config,
        seed=seed,
        device=place.device,
        folder=place.folder,
        progress=progress,
        checkpoint_every_s=place.checkpoint_every_s,
    )
    return FittedTrajectron(info=info, network=network, state=state, device=place.device)


def fitted_on_gaps(checkpoint: Checkpoint, info: PredictorInfo, device: str) -> FittedTrajectron:
    """What :meth:`FittedTrajectron.save` or a training run wrote."""
    network = checkpoint.network()
    network.to(device_named(device)).eval()
    return FittedTrajectron(info=info, network=network, state=checkpoint.state, device=device)
