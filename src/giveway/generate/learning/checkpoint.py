"""What an unfinished training needs to go on: safetensors and JSON, no pickles, never half written.

::

    state/
      state.json                  counters, the last round, names of the files in force; written last
      learner-NNNNN.safetensors   actors, critics, targets, optimizer, scaling after round NNNNN
      replay-NNNNN.safetensors    transitions added by round NNNNN
      demonstrations.safetensors  what the demonstrator would have done, if actors are held near it
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from giveway.core.checked import Expect, read_sealed, read_weights
from giveway.core.errors import StoreError
from giveway.core.sealed_files import write_document, write_weights
from giveway.generate.learning.demonstrations import Demonstrations
from giveway.generate.learning.rounds import RoundReport
from giveway.generate.learning.training import Training

FILE = "state.json"
DEMONSTRATIONS = "demonstrations.safetensors"
STATE = Expect(error=StoreError, what="the state of a training", hint="its rounds are learned again")


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """A training after a round.

    Attributes:
        document: counters and the last round.
        learner: weights, optimizer, scaling.
        segments: transitions, with the number of those before them.
        demonstrations: what is imitated; None for nothing.
    """

    document: Mapping[str, Any]
    learner: Mapping[str, Tensor]
    segments: tuple[tuple[int, Tensor], ...]
    demonstrations: Demonstrations | None

    @property
    def rounds(self) -> int:
        """Rounds that are finished."""
        return int(self.document["rounds"])

    @property
    def steps(self) -> int:
        """Environment steps that are done."""
        return int(self.document["steps"])


def write_state(folder: Path, training: Training, report: RoundReport) -> None:
    """Write what the last round changed; an interrupted write leaves the state before it in force.

    Args:
        folder: of the state.
        training: after a round.
        report: of that round.
    """
    before = _document(folder)
    name = f"{training.rounds:05d}"
    write_weights(folder / f"learner-{name}.safetensors", _tensors(training), framework="torch")
    shown = training.demonstrations
    if shown is not None and not (folder / DEMONSTRATIONS).exists():
        write_weights(folder / DEMONSTRATIONS, {"seen": shown.seen, "shown": shown.shown}, framework="torch")
    rows = training.buffer.since(0 if before is None else int(before["added"]))
    write_weights(folder / f"replay-{name}.safetensors", {"records": rows}, framework="torch")
    oldest = training.buffer.added - training.buffer.capacity
    segments = [] if before is None else [s for s in before["segments"] if s[1] + s[2] > oldest]
    segments.append([f"replay-{name}.safetensors", training.buffer.added - len(rows), len(rows)])
    document = {
        "learner": f"learner-{name}.safetensors",
        "segments": segments,
        "added": training.buffer.added,
        "steps": training.steps,
        "rounds": training.rounds,
        "owed": training.owed,
        "updates": training.learner.updates,
        "statistics": [training.observed.count, training.rewarded.count],
        "report": report.as_dict(),
    }
    write_document(folder / FILE, document, indent=1)
    keep = {f"learner-{name}.safetensors", *(s[0] for s in segments)}
    for old in [*folder.glob("learner-*.safetensors"), *folder.glob("replay-*.safetensors")]:
        if old.name not in keep:
            old.unlink(missing_ok=True)


def read_state(folder: Path) -> State | None:
    """The state in a folder; None without one.

    Raises:
        StoreError: a file is missing or damaged.
    """
    document = _document(folder)
    if document is None:
        return None
    segments: list[tuple[int, Tensor]] = []
    for file, first, count in document["segments"]:
        rows = _load(folder / str(file))["records"]
        if len(rows) != count:
            STATE.refuse(folder / str(file), "is damaged", f"{len(rows)} transitions, expected {count}")
        segments.append((int(first), rows))
    shown = folder / DEMONSTRATIONS
    return State(
        document=document,
        learner=_load(folder / str(document["learner"])),
        segments=tuple(segments),
        demonstrations=Demonstrations(**_load(shown)) if shown.exists() else None,
    )


def restore(training: Training, state: State) -> RoundReport:
    """Put a training back to where its last round left it; returns how that round went."""
    document = state.document
    for name, learner in (("actor", training.learner.actor), ("critic", training.learner.critic)):
        learner.restore({k.partition(".")[2]: v for k, v in state.learner.items() if k.startswith(f"{name}.")})
    counts = document["statistics"]
    for name, statistics, count in (
        ("observed", training.observed, counts[0]),
        ("rewarded", training.rewarded, counts[1]),
    ):
        statistics.count = float(count)
        statistics.mean = state.learner[f"{name}.mean"].numpy().copy()
        statistics.squares = state.learner[f"{name}.squares"].numpy().copy()
    for first, rows in state.segments:
        training.buffer.added = first
        training.buffer.add(rows.numpy())
    training.buffer.added = int(document["added"])
    training.demonstrations = state.demonstrations
    training.steps, training.rounds = state.steps, state.rounds
    training.owed, training.learner.updates = int(document["owed"]), int(document["updates"])
    return RoundReport.of(document["report"])


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
    document: dict[str, Any] = read_sealed(path, expect=STATE, needs_seal=True).document
    names = [document["learner"], *(segment[0] for segment in document["segments"])]
    if any(Path(str(name)).name != name for name in names):
        STATE.refuse(path, "points outside its folder", names)
    return document


def _load(path: Path) -> dict[str, Tensor]:
    return read_weights(path, framework="torch", expect=STATE)[0]
