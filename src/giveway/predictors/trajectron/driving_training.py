"""Training of Trajectron++ on windows of recordings, with PyTorch."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from giveway.core.errors import MissingDependencyError, PredictionError
from giveway.predictors.trajectron.checkpoint import Checkpoint, EpochReport, write_checkpoint
from giveway.predictors.trajectron.config import TrajectronConfig
from giveway.predictors.trajectron.driving import (
    CONTROL_STEP_S,
    CONTROL_STEPS,
    HELD_FRAMES,
    DrivingTrajectron,
    motion_features,
)
from giveway.predictors.trajectron.features import to_network
from giveway.predictors.windows import MotionWindows, TrainedPredictor, TrainingOptions

if TYPE_CHECKING:
    from giveway.predictors.trajectron.training import Progress, TrainingSet

MOTION = TrajectronConfig(
    epochs=12,
    batch_size=128,
    num_modes=6,
    decoder_size=64,
    dropout=0.1,
    learning_rate=0.004,
    learning_rate_decay=0.998,
    radius_vehicle_m=30.0,
    annealing=0.5,
    validation_share=0.1,
)
"""Sizes and schedule for driving: six modes, neighbors within 30 m, about a thousand updates."""


def train_trajectron(
    windows: MotionWindows,
    held_out: MotionWindows,
    out: Path,
    options: TrainingOptions,
    on_step: Callable[[int, int, str], None] | None,
) -> TrainedPredictor:
    """Train and write a checkpoint.

    Checkpoints are kept beside ``out`` until training is complete; the same call goes on where it was interrupted.

    Raises:
        MissingDependencyError: without PyTorch.
        PredictionError: if a window has positions that are not finite.
    """
    try:
        from giveway.predictors.trajectron.training import train_on
    except ImportError as error:
        raise MissingDependencyError("torch", extra="learn", purpose="training a predictor") from error
    config = replace(MOTION, epochs=options.epochs or MOTION.epochs, patience=options.patience)
    data, judge = (_training_set(part, config) for part in (windows, held_out))
    folder = out.parent / f".{out.stem}-{_digest(windows, config, options.seed)}.training"
    network, state = train_on(
        data,
        config,
        seed=options.seed,
        device=options.device,
        folder=folder,
        progress=_progress(on_step),
        held_out=judge if judge.length.size else None,
    )
    checkpoint = Checkpoint.of(network, replace(state, learned_from="recordings"))
    write_checkpoint(out, checkpoint)
    shutil.rmtree(folder, ignore_errors=True)
    return TrainedPredictor(
        predictor=DrivingTrajectron(checkpoint),
        loss=[report.loss for report in state.history],
        validation_ade_m=[report.validation_ade_m for report in state.history],
    )


def _progress(on_step: Callable[[int, int, str], None] | None) -> Progress | None:
    from giveway.predictors.trajectron.training import spoken

    if on_step is None:
        return None
    said: list[str] = []
    speak = spoken(said.append)

    def step(report: EpochReport, total: int) -> None:
        speak(report, total)
        on_step(report.epoch, total, said.pop())

    return step


def _training_set(windows: MotionWindows, config: TrajectronConfig) -> TrainingSet:
    from giveway.predictors.trajectron.training import TrainingSet

    future = windows.future[:, HELD_FRAMES - 1 :: HELD_FRAMES]
    broken = ~(np.isfinite(windows.history).all(axis=(1, 2)) & np.isfinite(future).all(axis=(1, 2)))
    if broken.any():
        raise PredictionError(
            "a training window has positions that are not finite",
            where=f"window {int(np.flatnonzero(broken)[0])}",
            found=f"{int(broken.sum())} such windows of {windows.history.shape[0]}",
            hint="cut windows where the car is observed throughout",
        )
    features = motion_features(windows.history, windows.others, None, config)
    return TrainingSet(
        features=features,
        future=to_network(future, features),
        length=np.full(len(future), CONTROL_STEPS),
        dt_s=CONTROL_STEP_S,
    )


def _digest(windows: MotionWindows, config: TrajectronConfig, seed: int) -> str:
    digest = hashlib.sha256(f"{config.to_json()} {seed}".encode())
    for array in (windows.history, windows.others, windows.future):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:12]
