"""What every engine implements: jobs in, outcomes out, in any order.

An engine needs nothing but :func:`giveway.experiments.evaluation.work`, which evaluates a job, writes the result
into the store it can reach and returns a small outcome. Engines differ only in where they call it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from giveway.experiments.artifacts import Artifacts
from giveway.experiments.cells import Cell
from giveway.experiments.records import Encoded, FailedCell

MAX_ATTEMPTS = 3
"""A cell that kills its worker this often is recorded as failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A cell together with what a worker needs to evaluate it.

    Attributes:
        cell: what to compute.
        function: ``"package.module:function"``, called with ``(cell, context)``, returns a CellResult.
        store: folder or address of the store; None if the worker cannot reach it and must send the result back.
        settings: plain values that may differ between machines and do not change results, e.g. data roots.
        attempt: 1 for the first try.
    """

    cell: Cell
    function: str
    store: str | None
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    attempt: int = 1


def say_nothing(text: str) -> None:
    """Nobody listens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellContext:
    """What an evaluation may use besides its cell.

    Attributes:
        artifacts: inputs shared between cells, built once.
        settings: see :class:`Job`.
        tell: called with a short line about how far a long evaluation is; may be called often.
    """

    artifacts: Artifacts
    settings: Mapping[str, Any]
    tell: Callable[[str], None] = say_nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a job.

    Attributes:
        key: of the cell.
        status: ``"full"`` means that a disk had no room, ``"unreachable"`` that an object store did not work; either
            way the run should stop.
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
    status: Literal["done", "failed", "full", "unreachable"]
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
        """Evaluate jobs and give one outcome for each that was started.

        Must stop starting jobs when ``control.draining`` becomes true; must end its workers when the iterator
        is closed or an exception passes through it. A worker that dies is a failed attempt of the job it was at
        and of no other.
        """
        ...
