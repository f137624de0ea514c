"""What Trajectron++ has learned, on disk: one sealed safetensors file, for gaps and for drives, no pickles.

Tensors of the network stand under their names. A training that can go on has besides ``best.NAME``, the weights with
the smallest held-out error, and ``optimizer.INDEX.QUANTITY``, the moments of Adam. Metadata: ``format`` and ``state``,
the :class:`TrainingState` as JSON. Reading needs no PyTorch.

Files of version 0.1, a folder with ``trajectron.json`` (gaps) or a file without a state (drives), are still read, but
their trainings do not go on.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.checked import read_sealed
from giveway.core.errors import ConfigError, FileFormatError, GivewayError
from giveway.core.sealed_files import write_weights
from giveway.predictors.checkpoints import WEIGHTS, read_tensors
from giveway.predictors.trajectron.config import TrajectronConfig

if TYPE_CHECKING:
    import torch

    from giveway.predictors.trajectron.network import TrajectronNetwork

FORMAT = "giveway-trajectron-2"
FILE = "trajectron.safetensors"
"""In a folder."""

OLD_FILE_FORMAT, OLD_DESCRIPTION = "giveway-trajectron-motion-1", "trajectron.json"
BEST, OPTIMIZER = "best.", "optimizer."


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
    """Where training stands; enough to go on as if nothing had happened.

    Attributes:
        config: what is trained.
        dt_s: spacing of the predicted steps [s].
        seed: root of all random streams.
        epoch: number of finished epochs.
        iteration: number of updates.
        history: one report per epoch.
        learned_from: samples of gaps, or windows of recordings.
    """

    config: TrajectronConfig
    dt_s: float
    seed: int
    epoch: int
    iteration: int
    history: tuple[EpochReport, ...]
    learned_from: Literal["gaps", "recordings"] = "gaps"


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """Weights and state of a training.

    Attributes:
        tensors: of the network, by name.
        state: configuration, progress and learning curve.
        best: weights with the smallest held-out error so far; empty without early stopping.
        moments: of Adam, by ``INDEX.QUANTITY``; empty where training cannot go on.
        path: the file it was read from; None for a copy of a network.
    """

    tensors: Mapping[str, FloatArray]
    state: TrainingState
    best: Mapping[str, FloatArray] = field(default_factory=dict[str, FloatArray])
    moments: Mapping[str, FloatArray] = field(default_factory=dict[str, FloatArray])
    path: Path | None = None

    @classmethod
    def of(
        cls,
        network: TrajectronNetwork,
        state: TrainingState,
        optimizer: torch.optim.Optimizer | None = None,
        best: Mapping[str, FloatArray] | None = None,
    ) -> Checkpoint:
        """Copy of a network, with an optimizer of a training that can go on."""
        saved: dict[int, dict[str, Any]] = {} if optimizer is None else optimizer.state_dict()["state"]
        moments = {f"{index}.{name}": _array(value) for index, entry in saved.items() for name, value in entry.items()}
        return cls(tensors=arrays_of(network), state=state, best=best or {}, moments=moments)

    def of_configuration(self, expected: TrajectronConfig) -> Checkpoint:
        """This checkpoint.

        Raises:
            ConfigError: it belongs to another configuration.
        """
        there, here = asdict(self.state.config), asdict(expected)
        if there == here:
            return self
        raise ConfigError(
            "the checkpoint belongs to another configuration",
            where=self.path,
            found=", ".join(f"{k} = {there[k]} (asked for {here[k]})" for k in there if there[k] != here[k]),
            hint="use the same settings or another folder",
        )

    def network(self) -> TrajectronNetwork:
        """The network with these weights.

        Raises:
            FileFormatError: the tensors do not fit the configuration.
        """
        import torch

        from giveway.predictors.trajectron.network import TrajectronNetwork

        network = TrajectronNetwork(self.state.config)
        self.check_shapes({name: tuple(value.shape) for name, value in network.state_dict().items()})
        network.load_state_dict({name: torch.tensor(value) for name, value in self.tensors.items()})
        return network

    def check_shapes(self, wanted: Mapping[str, tuple[int, ...]]) -> None:
        """Refuse tensors that the configuration does not have.

        Raises:
            FileFormatError: a tensor is missing or has another shape.
        """
        found = {name: value.shape for name, value in self.tensors.items()}
        odd = sorted(name for name, shape in wanted.items() if found.get(name) != shape)
        if odd:
            raise FileFormatError(
                "the checkpoint does not fit its configuration",
                where=self.path,
                found=f"tensors {', '.join(odd[:4])}",
                hint="train again",
            )

    def restore_optimizer(self, optimizer: torch.optim.Optimizer) -> None:
        """Put the saved moments of Adam back.

        Raises:
            FileFormatError: the checkpoint was saved without them.
        """
        import torch

        if not self.moments:
            raise FileFormatError("this checkpoint cannot be trained further", where=self.path, hint="train again")
        entries: dict[int, dict[str, torch.Tensor]] = {}
        for key, value in self.moments.items():
            index, _, quantity = key.partition(".")
            entries.setdefault(int(index), {})[quantity] = torch.tensor(value)
        optimizer.load_state_dict({"state": entries, "param_groups": optimizer.state_dict()["param_groups"]})


def arrays_of(network: TrajectronNetwork) -> dict[str, FloatArray]:
    """Copies of the weights."""
    return {name: _array(value) for name, value in network.state_dict().items()}


def _array(value: torch.Tensor) -> FloatArray:
    return np.array(value.detach().cpu().numpy(), order="C")


def write_checkpoint(path: Path, checkpoint: Checkpoint) -> None:
    """Write the file atomically; an interrupted write leaves the one before in force."""
    tensors = {
        **checkpoint.tensors,
        **{BEST + name: value for name, value in checkpoint.best.items()},
        **{OPTIMIZER + name: value for name, value in checkpoint.moments.items()},
    }
    write_weights(path, tensors, {"format": FORMAT, "state": json.dumps(asdict(checkpoint.state))})


def read_checkpoint(path: Path, *, expected: TrajectronConfig | None = None) -> Checkpoint:
    """Read a file, or the one in a folder.

    Raises:
        DataError: no such file.
        FileFormatError: damaged, or not a checkpoint of this network.
        ConfigError: if it belongs to another configuration than ``expected``.
        MissingDependencyError: without safetensors.
    """
    if path.is_dir():
        old = (path / OLD_DESCRIPTION).is_file() and not (path / FILE).is_file()
        found = _old_folder(path) if old else _read(path / FILE)
    else:
        found = _read(path)
    return found if expected is None else found.of_configuration(expected)


def has_checkpoint(folder: Path) -> bool:
    """Whether training can go on from here."""
    return (folder / FILE).is_file()


def _read(path: Path) -> Checkpoint:
    tensors, meta = read_tensors(path)
    if meta.get("format") not in (FORMAT, OLD_FILE_FORMAT):
        _refuse(path, json.dumps(meta)[:200])
    try:
        facts = _OLD_FILE | {"config": json.loads(meta["config"])} if "config" in meta else json.loads(meta["state"])
        state = _state(facts)
    except (ValueError, KeyError, TypeError, GivewayError) as error:
        _refuse(path, f"its state cannot be read: {error}")
    parts: dict[str, dict[str, FloatArray]] = {BEST: {}, OPTIMIZER: {}, "": {}}
    for name, value in tensors.items():
        part = next(start for start in parts if name.startswith(start))
        parts[part][name.removeprefix(part)] = value
    return Checkpoint(tensors=parts[""], state=state, best=parts[BEST], moments=parts[OPTIMIZER], path=path)


_OLD_FILE = {"dt_s": 0.2, "seed": 0, "epoch": 0, "iteration": 0, "history": (), "learned_from": "recordings"}
"""What a file of version 0.1 does not say."""


def _old_folder(folder: Path) -> Checkpoint:
    path = folder / OLD_DESCRIPTION
    document = read_sealed(path, expect=WEIGHTS).document
    name = str(document.get("weights"))
    try:
        names = ("config", "dt_s", "seed", "epoch", "iteration", "history")
        state = _state({key: document[key] for key in names})
        if Path(name).name != name or document["version"] != 1:
            raise ValueError(f"version {document['version']}, weights {name}")
    except (ValueError, KeyError, TypeError, GivewayError) as error:
        _refuse(path, error)
    return Checkpoint(tensors=read_tensors(folder / name)[0], state=state, path=path)


def _state(facts: Mapping[str, Any]) -> TrainingState:
    state = TrainingState(**facts)
    return replace(
        state,
        config=TrajectronConfig.from_mapping(facts["config"]),
        seed=int(state.seed),
        history=tuple(EpochReport(**report) for report in facts["history"]),
    )


def _refuse(path: Path, found: object) -> NoReturn:
    raise FileFormatError(
        "no checkpoint of Trajectron++ that this version reads",
        where=path,
        found=found,
        hint="train again; a newer version may have written it",
    )
