"""What every engine implements: jobs in, outcomes out, in any order.

An engine needs nothing but :func:`giveway.experiments.evaluation.work`, which evaluates a job, writes the result
into the store it can reach and returns a small outcome. Engines differ only in where they call it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Protocol

from giveway.experiments.artifacts import Artifacts
from giveway.experiments.cells import Cell, CellResult
from giveway.experiments.records import Encoded, FailedCell

MAX_ATTEMPTS = 3
"""A cell that kills its worker this often is recorded as failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A batch of cells together with what a worker needs to evaluate it.

    Attributes:
        cells: one cell, several of one group, or a whole chain in order with its finished cells.
        todo: keys of the cells to compute now.
        experiment: registered name, or ``"package.module:attribute"`` of an experiment or of a function of one cell.
        store: folder or address of the store; None if the worker cannot reach it and must send the results back.
        machine: plain values that may differ between machines and do not change results, e.g. data roots.
        known: key to record of the finished cells of a chain, for a worker that cannot read the store.
        until: time (``time.time()``) after which no further cell may be begun; None for no limit.
        replaces: finished cells are computed again, so a record in the store does not say that a cell is finished.
        attempt: 1 for the first try.
    """

    cells: tuple[Cell, ...]
    todo: frozenset[str]
    experiment: str
    store: str | None
    machine: Mapping[str, Any] = field(default_factory=dict[str, Any])
    known: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    until: float | None = None
    replaces: bool = False
    attempt: int = 1

    @property
    def cell(self) -> Cell:
        """The first cell to compute: the one at fault if the worker dies without a word."""
        return next(cell for cell in self.cells if cell.key in self.todo)

    @property
    def is_chain(self) -> bool:
        """Whether its cells have to be computed in order."""
        return bool(self.cells[0].chain)

    def only(self, *cells: Cell) -> Job:
        """The same for some of its cells."""
        return replace(self, cells=cells, todo=frozenset(cell.key for cell in cells))


def no_message(text: str) -> None:
    """Progress of an evaluation that is not shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What an evaluation may use besides its cells.

    Attributes:
        artifacts: inputs shared between cells, built once.
        machine: see :class:`Job`.
        message: called with a short line about how far a long evaluation is; may be called often.
        known: result of a finished cell of the same chain (measurements, info; no samples), None for others.
        scratch_root: see :meth:`scratch`.
    """

    artifacts: Artifacts
    machine: Mapping[str, Any]
    message: Callable[[str], None] = no_message
    known: Callable[[Cell], CellResult | None] = lambda cell: None
    scratch_root: Path

    def scratch(self, name: str) -> Path:
        """A folder that survives a kill and is deleted when the cell or chain is finished; created here."""
        folder = self.scratch_root / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a cell.

    Attributes:
        key: of the cell.
        status: ``"full"`` means that a disk had no room, ``"unreachable"`` that an object store did not work; either
            way the run should stop. ``"lost"`` is between an engine and its queue: the worker did not live to tell.
        wall_s: time the evaluation took.
        cpu_s: processor time of the worker during it.
        host: where it ran.
        pid: of the worker.
        attempt: which try this was.
        failure: unless the cell has a result.
        where: for ``"full"``: a path on the disk without room; for ``"unreachable"``: address and complaint.
        payload: the result, if the worker could not write it.
    """

    key: str
    status: Literal["done", "failed", "full", "unreachable", "lost"]
    wall_s: float = 0.0
    cpu_s: float = 0.0
    host: str = ""
    pid: int = 0
    attempt: int = 1
    failure: FailedCell | None = None
    where: str = ""
    payload: Encoded | None = None


class Control:
    """How a run is asked to end early, and what its engine is doing now.

    Attributes:
        draining: start no further jobs, finish those that run.
        running: key to job, for the progress line.
        say: where an engine tells what people should know.
    """

    def __init__(self, say: Callable[[str], None] = lambda text: None) -> None:
        self._drain = threading.Event()
        self.running: dict[str, Job] = {}
        self.say = say

    @property
    def draining(self) -> bool:
        """Whether no further job may start."""
        return self._drain.is_set()

    def drain(self) -> None:
        """Ask for it; safe from a signal handler and from any thread."""
        self._drain.set()


class Executor(Protocol):
    """An engine."""

    @property
    def name(self) -> str:
        """How the engine is called on the command line."""
        ...

    @property
    def num_workers(self) -> int:
        """How many jobs run at the same time."""
        ...

    def run(self, jobs: Iterable[Job], control: Control) -> Iterator[Outcome]:
        """Evaluate jobs and give one outcome for each cell that was computed or failed.

        Must stop starting jobs when ``control.draining`` becomes true; must end its workers when the iterator
        is closed or an exception passes through it. A worker that dies is a failed attempt of the job it was at
        and of no other: the finished cells of a batch count, the others are tried one by one.
        """
        ...
