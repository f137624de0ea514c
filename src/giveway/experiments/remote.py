"""What runs on the workers of a cluster.

Each worker keeps one process of its own, :class:`~giveway.experiments.worker_process.WorkerProcess`, in which cells are
evaluated, one at a time. So a cell that crashes, hangs or eats memory costs that process and not the worker, and it is
known which cell did it.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import platform
import threading
from concurrent.futures import FIRST_COMPLETED, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from giveway.core.files import FULL
from giveway.core.urls import is_url
from giveway.experiments.engine import Job, Outcome
from giveway.experiments.plugins import Plugin, environment_with
from giveway.experiments.provenance import code_version, machine, source_digest
from giveway.experiments.worker_process import Limits, WorkerProcess

_busy = threading.Lock()
_workers: dict[tuple[Limits, tuple[str, ...]], WorkerProcess] = {}
_owner = ""
"""Run of the cell that is being computed, or was last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerFacts:
    """What a worker says about itself.

    Attributes:
        host: machine.
        python: version.
        giveway: version of the package.
        source: digest of its source files.
        libraries: versions of those that make numbers.
        sees_store: whether it can read and write the folder of the store.
        store_problem: why it cannot write a store it can read.
        lacks: data roots that it cannot see.
    """

    host: str
    python: str
    giveway: str
    source: str
    libraries: dict[str, str]
    sees_store: bool = False
    store_problem: str = ""
    lacks: tuple[str, ...] = ()


def facts(probe: str | None = None, token: str = "", roots: tuple[str, ...] = ()) -> WorkerFacts:
    """About this process.

    Args:
        probe: file that the client has just written into the store.
        token: what it wrote.
        roots: data roots that cells will read.
    """
    about = machine()
    sees, problem = (False, "") if probe is None else _sees(Path(probe), token)
    return WorkerFacts(
        host=platform.node(),
        python=str(about["python"]),
        giveway=str(code_version()["giveway"]),
        source=source_digest(),
        libraries=dict(about["libraries"]),
        sees_store=sees,
        store_problem=problem,
        lacks=tuple(root for root in roots if not is_url(root) and not Path(root).exists()),
    )


def _sees(probe: Path, token: str) -> tuple[bool, str]:
    try:
        if probe.read_text(encoding="utf-8") != token:
            return False, ""
    except OSError:
        return False, ""
    answer = probe.with_name(f"{probe.name}.{platform.node()}.{os.getpid()}.tmp")
    try:
        answer.write_text(token, encoding="utf-8")
    except OSError as error:
        return False, "its disk is full" if error.errno in FULL else f"it may not write there ({error.strerror})"
    finally:
        with contextlib.suppress(OSError):
            answer.unlink(missing_ok=True)
    return True, ""


def evaluate_here(job: Job, limits: Limits, run: str, plugins: tuple[Plugin, ...] = ()) -> list[Outcome]:
    """Evaluate a job in the worker's own process; whatever happens to that process becomes an outcome.

    Args:
        job: what to evaluate.
        limits: of the job.
        run: whose job it is; a scheduler may serve several runs.
        plugins: files of components that the process has to load.
    """
    global _owner
    with _busy:  # workers with several threads still take one cell after the other
        _owner = run
        worker = _workers.get((limits, _digests(plugins))) or _new_worker(limits, plugins)
        worker.start(job)
        assert worker.future is not None
        while (excess := worker.excess()) is None:
            if wait([worker.future], timeout=worker.patience_s(), return_when=FIRST_COMPLETED).done:
                break
        return worker.settle(excess)


def stop_here(run: str) -> None:
    """End the worker's process at once if it works for this run, or did last; its cell counts as not computed."""
    if _owner == run:
        _end_workers()


def _end_workers() -> None:
    for worker in list(_workers.values()):
        worker.end()
    _workers.clear()


def _new_worker(limits: Limits, plugins: tuple[Plugin, ...]) -> WorkerProcess:
    _end_workers()
    made = _workers[limits, _digests(plugins)] = WorkerProcess(limits=limits, environment=environment_with(plugins))
    return made


def _digests(plugins: tuple[Plugin, ...]) -> tuple[str, ...]:
    return tuple(plugin.sha256 for plugin in plugins)


def difference(ours: WorkerFacts, theirs: WorkerFacts) -> dict[str, tuple[Any, Any]]:
    """What would make results of a worker differ from ours: name to (client, worker)."""
    found: dict[str, tuple[Any, Any]] = {}
    for name in ("giveway", "source"):
        if getattr(ours, name) != getattr(theirs, name):
            found[name] = (getattr(ours, name), getattr(theirs, name))
    if ours.python.split(".")[:2] != theirs.python.split(".")[:2]:
        found["python"] = (ours.python, theirs.python)
    for library in sorted(ours.libraries.keys() | theirs.libraries.keys()):
        pair = ours.libraries.get(library), theirs.libraries.get(library)
        if pair[0] != pair[1]:
            found[library] = pair
    return found


atexit.register(_end_workers)
