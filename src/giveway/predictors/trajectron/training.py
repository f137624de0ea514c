"""Training: deterministic for a seed, resumable after every epoch."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from giveway.core.arrays import FloatArray, IntArray
from giveway.core.errors import EmptySelectionError, PredictionError
from giveway.core.samples import GapSamples
from giveway.core.seeds import seed_for, stream
from giveway.predictors.torch_setup import device_named, one_torch_thread, seeded
from giveway.predictors.trajectron.batching import epoch_batches, expected_batches, training_length
from giveway.predictors.trajectron.checkpoint import (
    FILE,
    Checkpoint,
    EpochReport,
    TrainingState,
    arrays_of,
    has_checkpoint,
    read_checkpoint,
    write_checkpoint,
)
from giveway.predictors.trajectron.config import TrajectronConfig
from giveway.predictors.trajectron.features import Features, build_features, to_network
from giveway.predictors.trajectron.network import Batch, TrajectronNetwork
from giveway.predictors.trajectron.objective import training_objective

Progress = Callable[[EpochReport, int], None]
"""Called after every epoch with its report and the number of epochs to run."""


def spoken(tell: Callable[[str], None]) -> Progress:
    """Progress as a line: ``"epoch 12/200, loss -13.20, validation ADE 0.431 m, 35 s left"``."""
    began = time.monotonic()
    first: int | None = None

    def line(report: EpochReport, total: int) -> None:
        nonlocal first
        first = report.epoch - 1 if first is None else first
        left_s = (time.monotonic() - began) / (report.epoch - first) * (total - report.epoch)
        ade = "" if report.validation_ade_m is None else f", validation ADE {report.validation_ade_m:.3f} m"
        skipped = f", {report.skipped} updates skipped" if report.skipped else ""
        tell(f"epoch {report.epoch}/{total}, loss {report.loss:.2f}{ade}{skipped}, {left_s:.0f} s left")

    return line


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingSet:
    """Samples in the form the updates need.

    Attributes:
        features: of N samples.
        future: (N, S, 2) true positions in the network's frame [m]; NaN beyond what was observed.
        length: (N,) steps used in training.
        dt_s: spacing [s].
    """

    features: Features
    future: FloatArray
    length: IntArray
    dt_s: float

    def take(self, index: IntArray) -> TrainingSet:
        """Some of the samples."""
        return replace(self, features=self.features.take(index), future=self.future[index], length=self.length[index])


def training_set(samples: GapSamples, config: TrajectronConfig) -> TrainingSet:
    """Prepare samples once for all epochs.

    Raises:
        EmptySelectionError: if no sample has a future of at least two steps.
        PredictionError: if a future has NaN inside its observed part.
    """
    length = training_length(samples.truth.num_observed)
    if not (length > 1).any():
        raise EmptySelectionError(
            "no sample to train Trajectron++ on",
            found=f"{samples.num_samples} samples, none with two observed steps after the prediction time",
            hint="use another prediction time or more recordings",
        )
    features = build_features(samples.inputs, config)
    future = to_network(samples.truth.future_xy, features)
    steps = np.arange(future.shape[1])
    broken = (np.isnan(future).any(axis=-1) & (steps < length[:, None])).any(axis=1)
    if broken.any():
        raise PredictionError(
            "a training sample has missing positions inside its observed future",
            where=f"sample {samples.inputs.sample_id[np.flatnonzero(broken)[0]]}",
            found=f"{int(broken.sum())} such samples",
            hint="drop them or shorten num_observed",
        )
    return TrainingSet(features=features, future=future, length=length, dt_s=samples.inputs.dt_s)


def train(
    samples: GapSamples,
    config: TrajectronConfig,
    *,
    seed: int,
    device: str = "cpu",
    folder: Path | None = None,
    progress: Progress | None = None,
    checkpoint_every_s: float = 0.0,
) -> tuple[TrajectronNetwork, TrainingState]:
    """Train on samples of gaps; see :func:`train_on`."""
    return train_on(
        training_set(samples, config),
        config,
        seed=seed,
        device=device,
        folder=folder,
        progress=progress,
        checkpoint_every_s=checkpoint_every_s,
    )


@one_torch_thread()
def train_on(
    data: TrainingSet,
    config: TrajectronConfig,
    *,
    seed: int,
    device: str = "cpu",
    folder: Path | None = None,
    progress: Progress | None = None,
    held_out: TrainingSet | None = None,
    checkpoint_every_s: float = 0.0,
) -> tuple[TrajectronNetwork, TrainingState]:
    """Train, or go on with training.

    Every epoch draws from its own streams (seed, epoch number), so a run that is stopped and resumed ends with the
    same weights as one that was not, on one machine and library version.

    Args:
        data: training samples; a share of them is held out if the configuration says so.
        config: what to train.
        seed: of initialization, held-out samples, batches, dropout and drawn controls.
        device: ``"cpu"`` or ``"cuda"``.
        folder: where checkpoints are kept; training resumes from the one it finds. None keeps nothing.
        progress: called after every epoch.
        held_out: samples to judge training by, instead of a share of ``data``.
        checkpoint_every_s: shortest time between two checkpoints; the last epoch always gets one.
    """
    where = device_named(device)
    kept: Checkpoint | None = None
    if folder is not None and has_checkpoint(folder):
        kept = read_checkpoint(folder, expected=config)
        network, state = kept.network(), kept.state
    else:
        with seeded(seed_for(seed, "weights"), where):
            network = TrajectronNetwork(config)
        state = TrainingState(config=config, dt_s=data.dt_s, seed=seed, epoch=0, iteration=0, history=())
    network.to(where)
    learning, held_out = _held_out(data, config, seed) if held_out is None else (data, held_out)
    patience = 0 if held_out is None else config.patience
    best = dict(kept.best) if kept is not None else {}
    optimizer = torch.optim.Adam(network.parameters(), lr=config.learning_rate)
    epochs = _num_epochs(learning, config)
    if kept is not None and state.epoch < epochs:
        kept.restore_optimizer(optimizer)
    saved = time.monotonic()
    for epoch in range(state.epoch + 1, epochs + 1):
        if _stalled(state.history, patience):
            break
        report = _epoch(network, optimizer, learning, epoch, state.iteration, seed, where)
        if held_out is not None:
            report = replace(report, validation_ade_m=validation_error(network, held_out, where))
        state = replace(state, epoch=epoch, iteration=report.iteration, history=(*state.history, report))
        if patience and _best_epoch(state.history) == epoch:
            best = arrays_of(network)
        is_due = epoch == epochs or time.monotonic() - saved >= checkpoint_every_s
        if folder is not None and (is_due or _stalled(state.history, patience)):
            write_checkpoint(folder / FILE, Checkpoint.of(network, state, optimizer, best))
            saved = time.monotonic()
        if progress is not None:
            progress(report, epochs)
    if best:
        network.load_state_dict({name: torch.tensor(value) for name, value in best.items()})
    network.eval()
    return network, state


def _best_epoch(history: tuple[EpochReport, ...]) -> int:
    """The first epoch with the smallest error on held-out samples."""
    return min(history, key=lambda r: np.inf if r.validation_ade_m is None else r.validation_ade_m).epoch


def _stalled(history: tuple[EpochReport, ...], patience: int) -> bool:
    """Whether the error has not improved for ``patience`` epochs; never for 0."""
    return bool(patience and history) and len(history) - _best_epoch(history) >= patience


def _num_epochs(data: TrainingSet, config: TrajectronConfig) -> int:
    if config.updates == 0:
        return config.epochs
    per_epoch = expected_batches(data.length, config.batch_size)
    return min(config.epochs, math.ceil(config.updates / per_epoch)) if per_epoch > 0 else config.epochs


def _held_out(data: TrainingSet, config: TrajectronConfig, seed: int) -> tuple[TrainingSet, TrainingSet | None]:
    """What is learned from, and what training is judged by; at least two usable samples are left to learn from."""
    usable = np.flatnonzero(data.length > 1)
    number = min(round(config.validation_share * usable.size), usable.size - 2)
    if number < 1:
        return data, None
    chosen = stream(seed, "validation").choice(usable, number, replace=False)
    rest = np.setdiff1d(np.arange(data.length.size), chosen)
    return data.take(rest), data.take(np.sort(chosen))


def validation_error(network: TrajectronNetwork, data: TrainingSet, device: torch.device) -> float:
    """Expected displacement of the mean paths of all modes, weighted by the prior [m].

    The mean over samples and observed steps; nothing is drawn, so that epochs can be compared.
    """
    network.eval()
    steps = int(data.length.max())
    batch = Batch.of(data.features, device)
    future = torch.as_tensor(np.nan_to_num(data.future[:, :steps]), dtype=torch.float32, device=device)
    known = torch.as_tensor(np.arange(steps) < data.length[:, None], device=device)
    with torch.inference_mode():
        p, paths = network.mean_paths(batch, steps, data.dt_s)
        error = torch.linalg.vector_norm(paths - future[:, None], dim=-1)
        per_mode = torch.where(known[:, None], error, torch.zeros_like(error)).sum(dim=-1) / known.sum(dim=-1)[:, None]
        return float((p * per_mode).sum(dim=-1).mean())


def _epoch(
    network: TrajectronNetwork,
    optimizer: torch.optim.Optimizer,
    data: TrainingSet,
    epoch: int,
    iteration: int,
    seed: int,
    device: torch.device,
) -> EpochReport:
    network.train()
    config = network.config
    totals, count, skipped = np.zeros(3), 0, 0
    with seeded(seed_for(seed, "epoch", epoch), device):
        for plan in epoch_batches(data.length, config.batch_size, stream(seed, "batches", epoch)):
            batch = Batch.of(data.features.take(plan.index), device)
            future = torch.as_tensor(data.future[plan.index, : plan.num_steps], dtype=torch.float32, device=device)
            for group in optimizer.param_groups:
                group["lr"] = config.learning_rate * config.learning_rate_decay**iteration
            optimizer.zero_grad(set_to_none=True)
            objective = training_objective(network, batch, future, data.dt_s, iteration)
            objective.loss.backward()
            if _finite_gradient(network):
                torch.nn.utils.clip_grad_value_(network.parameters(), config.gradient_clip)
                optimizer.step()
            else:
                skipped += 1
            totals += [objective.loss.item(), objective.log_likelihood.item(), objective.kl.item()]
            count += 1
            iteration += 1
    mean = totals / max(count, 1)
    return EpochReport(
        epoch=epoch, iteration=iteration, loss=mean[0], log_likelihood=mean[1], kl=mean[2], skipped=skipped
    )


def _finite_gradient(network: TrajectronNetwork) -> bool:
    total = torch.stack([p.grad.abs().sum() for p in network.parameters() if p.grad is not None]).sum()
    return bool(torch.isfinite(total))
