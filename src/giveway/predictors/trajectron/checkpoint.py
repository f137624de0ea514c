"""Weights, optimizer and progress on disk: safetensors and JSON, no pickles, never half written."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from giveway.core.checked import Expect, read_sealed, read_weights
from giveway.core.errors import ConfigError, StoreError
from giveway.core.sealed_files import write_document, write_weights
from giveway.predictors.trajectron.config import TrajectronConfig
from giveway.predictors.trajectron.network import TrajectronNetwork

VERSION = 1
CHECKPOINT = Expect(error=StoreError, what="the checkpoint", hint="train again")


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochReport:
    """What one epoch brought.

    Attributes:
        epoch: from 1.
        iteration: updates so far.
        loss: mean over the batches of the epoch.
        log_likelihood: mean clamped log likelihood per sample.
        kl: mean KL(q || p).
        skipped: updates skipped because of a gradient that is not finite.
        validation_ade_m: mean displacement on the validation samples; None where there are none.
    """

    epoch: int
    iteration: int
    loss: float
    log_likelihood: float
    kl: float
    skipped: int
    validation_ade_m: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingState:
    """Where training stands; enough to go on as if nothing had happened."""

    config: TrajectronConfig
    dt_s: float
    seed: int
    epoch: int
    iteration: int
    history: tuple[EpochReport, ...]


def save_checkpoint(
    folder: Path, network: TrajectronNetwork, state: TrainingState, optimizer: torch.optim.Optimizer | None = None
) -> None:
    """Write a checkpoint; the description is written last, so an interrupted write leaves the previous one in force."""
    name = f"epoch-{state.epoch:05d}"
    weights = {key: value.detach().cpu().contiguous() for key, value in network.state_dict().items()}
    write_weights(folder / f"{name}.safetensors", weights, framework="torch")
    if optimizer is not None:
        write_weights(folder / f"{name}.optimizer.safetensors", _flatten(optimizer), framework="torch")
    document = {
        "format": "giveway-trajectron",
        "version": VERSION,
        "weights": f"{name}.safetensors",
        "optimizer": f"{name}.optimizer.safetensors" if optimizer is not None else None,
        "config": json.loads(state.config.to_json()),
        "dt_s": state.dt_s,
        "seed": str(state.seed),
        "epoch": state.epoch,
        "iteration": state.iteration,
        "history": [asdict(report) for report in state.history],
    }
    write_document(folder / "trajectron.json", document, indent=1)
    for old in folder.glob("epoch-*.safetensors"):
        if not old.name.startswith(name):
            old.unlink(missing_ok=True)


def load_checkpoint(
    folder: Path, *, expected: TrajectronConfig | None = None
) -> tuple[TrajectronNetwork, TrainingState]:
    """Read network and state.

    Raises:
        StoreError: if there is no checkpoint, it is damaged, or a newer version wrote it.
        ConfigError: if it belongs to another configuration than ``expected``.
    """
    document = _document(folder)
    config = TrajectronConfig.from_mapping(document["config"])
    if expected is not None and config != expected:
        there, here = asdict(config), asdict(expected)
        different = ", ".join(f"{k} = {there[k]} (asked for {here[k]})" for k in there if there[k] != here[k])
        raise ConfigError(
            "the checkpoint belongs to another configuration",
            where=folder,
            found=different,
            hint="use the same settings or another folder",
        )
    network = TrajectronNetwork(config)
    tensors = _tensors(folder / str(document["weights"]))
    wanted = {key: tuple(value.shape) for key, value in network.state_dict().items()}
    found = {key: tuple(value.shape) for key, value in tensors.items()}
    if wanted != found:
        odd = sorted(key for key in {*wanted, *found} if wanted.get(key) != found.get(key))
        raise StoreError(
            "the checkpoint does not fit its configuration",
            where=folder / str(document["weights"]),
            found=f"tensors {', '.join(odd[:4])}",
            hint="train again",
        )
    network.load_state_dict(tensors)
    state = TrainingState(
        config=config,
        dt_s=float(document["dt_s"]),
        seed=int(document["seed"]),
        epoch=int(document["epoch"]),
        iteration=int(document["iteration"]),
        history=tuple(EpochReport(**report) for report in document["history"]),
    )
    return network, state


def restore_optimizer(folder: Path, optimizer: torch.optim.Optimizer) -> None:
    """Put the saved moments of Adam back.

    Raises:
        StoreError: if the checkpoint was saved without them.
    """
    name = _document(folder)["optimizer"]
    if name is None:
        raise StoreError("this checkpoint cannot be trained further", where=folder, hint="train again")
    tensors = _tensors(folder / str(name))
    state: dict[int, dict[str, Tensor]] = {}
    for key, value in tensors.items():
        index, _, quantity = key.partition(".")
        state.setdefault(int(index), {})[quantity] = value
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})


class BestWeights:
    """The weights of the epoch with the smallest error on held-out samples, for early stopping.

    Args:
        folder: where they survive an interruption; None keeps them in memory only.
        patience: epochs without improvement after which training is over; 0 never ends early and keeps nothing.
    """

    def __init__(self, folder: Path | None, patience: int) -> None:
        self._path = None if folder is None else folder / "best.safetensors"
        self._patience = patience
        self._weights: dict[str, Tensor] | None = None

    def is_over(self, history: tuple[EpochReport, ...]) -> bool:
        """Whether the error has not improved for too long."""
        return bool(self._patience and history) and len(history) - _best(history).epoch >= self._patience

    def keep(self, network: TrajectronNetwork, history: tuple[EpochReport, ...]) -> None:
        """Remember the weights if the last epoch was the best so far."""
        if not self._patience or _best(history).epoch != len(history):
            return
        self._weights = {key: value.detach().cpu().clone() for key, value in network.state_dict().items()}
        if self._path is not None:
            write_weights(self._path, self._weights, framework="torch")

    def restore(self, network: TrajectronNetwork, history: tuple[EpochReport, ...]) -> None:
        """Put the best weights into the network; does nothing without early stopping."""
        if not self._patience or not history:
            return
        weights = self._weights
        if weights is None and self._path is not None:
            weights = _tensors(self._path)
        if weights is not None:
            network.load_state_dict(weights)


def _best(history: tuple[EpochReport, ...]) -> EpochReport:
    return min(history, key=lambda r: np.inf if r.validation_ade_m is None else r.validation_ade_m)


def has_checkpoint(folder: Path) -> bool:
    """Whether training can go on from here."""
    return (folder / "trajectron.json").is_file()


def _flatten(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    saved: dict[str, Any] = optimizer.state_dict()["state"]
    return {
        f"{index}.{quantity}": torch.as_tensor(value).detach().cpu().contiguous()
        for index, values in saved.items()
        for quantity, value in values.items()
    }


def _document(folder: Path) -> dict[str, Any]:
    path = folder / "trajectron.json"
    try:
        document = read_sealed(path, expect=CHECKPOINT).document
        known = {"version", "weights", "optimizer", "config", "dt_s", "seed", "epoch", "iteration", "history"}
        if not known <= set(document):
            raise ValueError(f"missing {', '.join(sorted(known - set(document)))}")
    except ValueError as error:
        raise StoreError("no readable Trajectron++ checkpoint", where=path, found=error, hint="train again") from error
    for key in ("weights", "optimizer"):
        name = document[key]
        if name is not None and Path(str(name)).name != name:
            raise StoreError("the checkpoint points outside its folder", where=path, found=name, hint="train again")
    if document["version"] > VERSION:
        raise StoreError(
            "the checkpoint was written by a newer version",
            where=path,
            found=f"version {document['version']}, known up to {VERSION}",
            hint="upgrade giveway",
        )
    return document


def _tensors(path: Path) -> dict[str, Tensor]:
    return read_weights(path, framework="torch", expect=CHECKPOINT)[0]
