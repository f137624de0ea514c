"""Training of the recurrent baseline with PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.errors import MissingDependencyError, UsageError
from giveway.core.histories import HEADING, constant_velocity_states
from giveway.core.sealed_files import write_weights
from giveway.core.seeds import seed_for
from giveway.predictors.gru import (
    FEATURES,
    FORMAT,
    FUTURE_STEPS,
    HIDDEN,
    MODES,
    SHAPES,
    GruPredictor,
    local_features,
)
from giveway.predictors.windows import MotionWindows, TrainedPredictor, TrainingOptions

BATCH = 256
EPOCHS = 12
LEARNING_RATE = 4e-3
SCALE_M = 0.5
"""b in the loss: errors below it count as equally good."""


def train_gru(
    histories: FloatArray,
    futures: FloatArray,
    *,
    epochs: int,
    seed: int,
    on_step: Callable[[int, int, str], None] | None = None,
) -> dict[str, FloatArray]:
    """Fit the network.

    With e_k the mean displacement of mode k and p_k its probability, the loss is

        -b log sum_k p_k exp(-e_k / b) + sum_k p_k e_k

    the negative log-likelihood of a mixture, which keeps modes apart, plus the expected error, which makes likely
    modes good ones.

    Args:
        histories: (N, 10, 5) states.
        futures: (N, 30, 2) positions that followed.
        epochs: passes over the data.
        seed: of initial weights and of the order.
        on_step: told (done, total, text) after each epoch.

    Returns:
        Weights by name.

    Raises:
        MissingDependencyError: without PyTorch.
    """
    try:
        from giveway.predictors.torch_setup import one_torch_thread
    except ImportError as error:
        raise MissingDependencyError("torch", extra="learn", purpose="training a predictor") from error
    with one_torch_thread():
        return _train(histories, futures, epochs, seed, on_step)


def _train(
    histories: FloatArray,
    futures: FloatArray,
    epochs: int,
    seed: int,
    on_step: Callable[[int, int, str], None] | None,
) -> dict[str, FloatArray]:
    import torch as t
    from torch import nn
    from torch.nn.functional import linear

    generator = t.Generator().manual_seed(seed_for(seed, "gru") % 2**63)
    x = t.as_tensor(local_features(histories), dtype=t.float32)
    y = t.as_tensor(_local_offsets(histories, futures), dtype=t.float32)
    weights = {name: nn.Parameter(_initial(name, shape, generator)) for name, shape in SHAPES.items()}
    cell = nn.GRU(FEATURES, HIDDEN, batch_first=True)
    for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
        setattr(cell, f"{name}_l0", weights[f"gru.{name}"])
    steps = max(len(x) // BATCH, 1) * epochs
    optimizer = t.optim.Adam(list(weights.values()), lr=LEARNING_RATE)
    schedule = t.optim.lr_scheduler.OneCycleLR(optimizer, LEARNING_RATE, total_steps=steps + epochs + 1)
    for epoch in range(epochs):
        order = t.randperm(len(x), generator=generator)
        total, count = 0.0, 0
        for first in range(0, len(x), BATCH):
            rows = order[first : first + BATCH]
            if len(rows) < 2:
                continue
            _, hidden = cell(x[rows])
            middle = linear(hidden[0], weights["middle.weight"], weights["middle.bias"]).relu()
            raw = linear(middle, weights["out.weight"], weights["out.bias"])
            offsets = raw[:, : MODES * 2 * FUTURE_STEPS].reshape(-1, MODES, FUTURE_STEPS, 2)
            error = (offsets - y[rows, None]).norm(dim=-1).mean(dim=-1)
            log_p = raw[:, -MODES:].log_softmax(dim=1)
            mixture = -(log_p - error / SCALE_M).logsumexp(dim=1)
            loss = (SCALE_M * mixture + (log_p.exp() * error).sum(dim=1)).mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(list(weights.values()), 5.0)
            optimizer.step()
            schedule.step()
            total, count = total + float(loss.detach()), count + 1
        if on_step is not None:
            on_step(epoch + 1, epochs, f"loss {total / max(count, 1):.4f}")
    return {name: value.detach().numpy().astype(np.float64) for name, value in weights.items()}


def _initial(name: str, shape: tuple[int, ...], generator: Any) -> Any:
    import torch as t

    bound = 1.0 / np.sqrt(HIDDEN)
    if name.startswith("out."):
        bound *= 0.1
    return (t.rand(shape, generator=generator) * 2.0 - 1.0) * bound


def _local_offsets(histories: FloatArray, futures: FloatArray) -> FloatArray:
    """(N, 30, 2) what constant velocity gets wrong, in the frame of the current heading."""
    gap = futures - constant_velocity_states(histories)[..., :2]
    heading = histories[:, -1, HEADING]
    cos, sin = np.cos(heading)[:, None], np.sin(heading)[:, None]
    return np.stack([cos * gap[..., 0] + sin * gap[..., 1], cos * gap[..., 1] - sin * gap[..., 0]], axis=-1)


def train_gru_file(
    windows: MotionWindows,
    out: Path,
    options: TrainingOptions,
    on_step: Callable[[int, int, str], None] | None,
) -> TrainedPredictor:
    """Train, write the checkpoint and read it back; always on the processor and for all epochs.

    Raises:
        UsageError: for another device, and for early stopping.
        MissingDependencyError: without PyTorch.
    """
    if options.device != "cpu" or options.patience:
        raise UsageError(
            "the GRU is trained on the processor, for all epochs",
            where="--device" if options.device != "cpu" else "--patience",
            found=options.device if options.device != "cpu" else options.patience,
            hint="leave the option out, or train TPP",
        )
    epochs = options.epochs or EPOCHS
    loss: list[float] = []

    def step(done: int, total: int, text: str) -> None:
        loss.append(float(text.rpartition(" ")[2]))
        if on_step is not None:
            on_step(done, total, text)

    weights = train_gru(windows.history, windows.future, epochs=epochs, seed=options.seed, on_step=step)
    save_gru(out, weights, note=f"{len(windows.history)} windows, {epochs} epochs, seed {options.seed}")
    return TrainedPredictor(predictor=GruPredictor().load(out), loss=loss, validation_ade_m=[None] * len(loss))


def save_gru(path: Path, weights: dict[str, FloatArray], *, note: str) -> None:
    """Write a checkpoint (float32 safetensors, about 150 kB)."""
    write_weights(path, {name: weights[name].astype(np.float32) for name in SHAPES}, {"format": FORMAT, "note": note})
