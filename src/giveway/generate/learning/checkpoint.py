"""Trainings on disk: safetensors and JSON, no pickles, never half written.

::

    P/
      training.json               settings, history, names of the files in force; written last
      learner-NNNNN.safetensors   actors, critics, targets, optimizer, scaling after round NNNNN
      replay-NNNNN.safetensors    transitions added by round NNNNN; removed when the training is finished
      demonstrations.safetensors  what the demonstrator would have done, if actors are held near it; removed too
      policy.safetensors          the best policy by evaluation
      last.safetensors            the policy after the last round
      curves.png                  how it went
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor

from giveway.core.checked import Expect, read_sealed, read_weights
from giveway.core.errors import ConfigError, StoreError
from giveway.core.sealed_files import write_document, write_weights
from giveway.generate.learning.demonstrations import Demonstrations
from giveway.generate.learning.training import RoundReport, Training

FORMAT = "giveway-training"
VERSION = 1
FILE = "training.json"
DEMONSTRATIONS = "demonstrations.safetensors"
TRAINING = Expect(error=StoreError, what="a file of the training", hint="use another --out")


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """What ``training.json`` says.

    Attributes:
        settings: everything that must be the same to go on: learning, worlds, seed, rounds.
        history: rounds so far.
        segments: replay files with the number of transitions before and in them.
        added: transitions added so far.
        complete: it reached its steps, and the replay is gone.
        best: round and score of ``policy.safetensors``.
    """

    settings: Mapping[str, Any]
    history: tuple[RoundReport, ...]
    segments: tuple[tuple[str, int, int], ...]
    added: int
    complete: bool
    best: tuple[int, float]


def write_checkpoint(
    folder: Path,
    training: Training,
    saved: Saved,
    *,
    complete: bool,
    history: Sequence[RoundReport],
    best: tuple[int, float],
) -> Saved:
    """Write what the last round changed; an interrupted write leaves the previous checkpoint in force.

    Args:
        folder: of the training.
        training: as it is now.
        saved: the checkpoint before.
        complete: the training is finished, and its replay not needed any more.
        history: all rounds.
        best: round and score of the best policy.
    """
    name = f"{training.rounds:05d}"
    write_weights(folder / f"learner-{name}.safetensors", _tensors(training), framework="torch")
    segments: list[tuple[str, int, int]] = []
    shown = training.demonstrations
    if shown is not None and not complete and not (folder / DEMONSTRATIONS).exists():
        write_weights(folder / DEMONSTRATIONS, {"seen": shown.seen, "shown": shown.shown}, framework="torch")
    if not complete:
        rows = training.buffer.since(saved.added)
        write_weights(folder / f"replay-{name}.safetensors", {"records": rows}, framework="torch")
        oldest = training.buffer.added - training.buffer.capacity
        segments = [s for s in saved.segments if s[1] + s[2] > oldest]
        segments.append((f"replay-{name}.safetensors", training.buffer.added - len(rows), len(rows)))
    new = Saved(
        settings=saved.settings,
        history=tuple(history),
        segments=tuple(segments),
        added=training.buffer.added,
        complete=complete,
        best=best,
    )
    document = {
        "format": FORMAT,
        "version": VERSION,
        "settings": dict(new.settings),
        "learner": f"learner-{name}.safetensors",
        "segments": [list(s) for s in new.segments],
        "added": new.added,
        "steps": training.steps,
        "rounds": training.rounds,
        "owed": training.owed,
        "updates": training.learner.updates,
        "statistics": [training.observed.count, training.rewarded.count],
        "complete": complete,
        "best": [best[0], best[1] if math.isfinite(best[1]) else None],
        "history": [_finite(asdict(report)) for report in history],
    }
    write_document(folder / FILE, document, indent=1)
    keep = {f"learner-{name}.safetensors", *(s[0] for s in new.segments)}
    for old in [*folder.glob("learner-*.safetensors"), *folder.glob("replay-*.safetensors")]:
        if old.name not in keep:
            old.unlink(missing_ok=True)
    if complete:
        (folder / DEMONSTRATIONS).unlink(missing_ok=True)
    return new


def _leaves(settings: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    """Names such as ``world.weights.escape`` and their values."""
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from _leaves(cast("Mapping[str, Any]", value), f"{path}{name}.")
        else:
            yield f"{path}{name}", value


def read_saved(folder: Path, settings: Mapping[str, Any] | None = None) -> Saved | None:
    """What is there; None for a new folder.

    Args:
        folder: of the training.
        settings: asked for now; None to only look.

    Raises:
        StoreError: damaged, newer, or finished without replay.
        ConfigError: a training with other settings.
    """
    document = _document(folder)
    if document is None:
        return None
    there = document["settings"]
    if settings is not None and there != settings:
        old, new = dict(_leaves(there)), dict(_leaves(settings))
        odd = [f"{n} = {old.get(n)} (asked for {new.get(n)})" for n in sorted({*old, *new}) if old.get(n) != new.get(n)]
        raise ConfigError(
            "the folder holds a training with other settings",
            where=folder,
            found="; ".join(odd),
            hint="use the same settings to go on, or another --out",
        )
    best = document["best"]
    return Saved(
        settings=there,
        history=tuple(_report(entry) for entry in document["history"]),
        segments=tuple((str(n), int(first), int(count)) for n, first, count in document["segments"]),
        added=int(document["added"]),
        complete=bool(document["complete"]),
        best=(int(best[0]), -math.inf if best[1] is None else float(best[1])),
    )


def restore(folder: Path, training: Training) -> None:
    """Put a training back to where its last checkpoint left it.

    Raises:
        StoreError: a file is missing or damaged.
    """
    document = _document(folder)
    if document is None:
        raise StoreError("there is no training here", where=folder)
    tensors = _load(folder / str(document["learner"]))
    for name, learner in (("actor", training.learner.actor), ("critic", training.learner.critic)):
        learner.restore({k.partition(".")[2]: v for k, v in tensors.items() if k.startswith(f"{name}.")})
    counts = document["statistics"]
    for name, statistics, count in (
        ("observed", training.observed, counts[0]),
        ("rewarded", training.rewarded, counts[1]),
    ):
        statistics.count = float(count)
        statistics.mean = tensors[f"{name}.mean"].numpy().copy()
        statistics.squares = tensors[f"{name}.squares"].numpy().copy()
    for file, first, count in document["segments"]:
        rows = _load(folder / str(file))["records"]
        if len(rows) != count:
            raise StoreError("a replay file does not fit its training", where=folder / str(file), hint="train again")
        training.buffer.added = int(first)
        training.buffer.add(rows.numpy())
    training.buffer.added = int(document["added"])
    if training.config.imitation and not document["complete"]:
        training.demonstrations = Demonstrations(**_load(folder / DEMONSTRATIONS))
    training.steps, training.rounds = int(document["steps"]), int(document["rounds"])
    training.owed, training.learner.updates = int(document["owed"]), int(document["updates"])


def _tensors(training: Training) -> dict[str, Tensor]:
    found: dict[str, Tensor] = {}
    for name, learner in (("actor", training.learner.actor), ("critic", training.learner.critic)):
        found |= {f"{name}.{key}": value.contiguous().clone() for key, value in learner.tensors().items()}
    for name, statistics in (("observed", training.observed), ("rewarded", training.rewarded)):
        found[f"{name}.mean"] = torch.from_numpy(statistics.mean.copy())
        found[f"{name}.squares"] = torch.from_numpy(statistics.squares.copy())
    return found


def _document(folder: Path) -> dict[str, Any] | None:
    path = folder / FILE
    if not path.exists():
        return None
    try:
        document = read_sealed(path, expect=TRAINING).document
        needed = {"settings", "learner", "segments", "added", "steps", "rounds", "owed", "updates", "statistics"}
        if document.get("format") != FORMAT or not needed <= set(document):
            raise ValueError("not a training of this program")
        version = int(document["version"])
    except (ValueError, TypeError, AttributeError) as error:
        raise StoreError("cannot read the training", where=path, found=error, hint="use another --out") from error
    if version > VERSION:
        raise StoreError(
            "the training was written by a newer version",
            where=path,
            found=f"version {version}",
            hint="upgrade giveway",
        )
    names = [document["learner"], *(segment[0] for segment in document["segments"])]
    if any(Path(str(name)).name != name for name in names):
        raise StoreError("the training points outside its folder", where=path, found=names, hint="use another --out")
    return document


def _load(path: Path) -> dict[str, Tensor]:
    return read_weights(path, framework="torch", expect=TRAINING)[0]


def _finite(entry: dict[str, Any]) -> dict[str, Any]:
    def plain(value: Any) -> Any:
        if isinstance(value, float):
            return value if math.isfinite(value) else None
        return {k: plain(v) for k, v in value.items()} if isinstance(value, dict) else value

    return plain(entry)


def _report(entry: dict[str, Any]) -> RoundReport:
    def plain(value: Any) -> Any:
        return math.nan if value is None else value

    values = {name: plain(value) for name, value in entry.items()}
    values["evaluation"] = {name: plain(value) for name, value in entry["evaluation"].items()}
    return RoundReport(**values)
