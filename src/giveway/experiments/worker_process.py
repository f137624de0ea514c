"""A worker process that evaluates one job at a time and is killed when it exceeds its time or memory limit.

If it dies (killed, out of memory, segmentation fault), only its current job is affected.
Processes are spawned, never forked: threads of numerical libraries do not survive a fork.
"""

from __future__ import annotations

import contextlib
import math
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Generator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass

from giveway.experiments.engine import Job, Outcome
from giveway.experiments.evaluation import work_all
from giveway.experiments.jobs import DIED
from giveway.experiments.records import FailedCell
from giveway.experiments.threads import VARIABLES, changed_environment

LOOK_EVERY_S = 0.2
"""How often memory is looked at, if it is limited."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one cell may take; None means as much as it wants.

    Attributes:
        time_s: wall time, without starting the process; a batch may take it once per cell.
        memory_mb: resident memory of its process.
    """

    time_s: float | None = None
    memory_mb: float | None = None


class WorkerProcess:
    """A worker process and the job it is at.

    Args:
        num_threads: of numerical libraries.
        limits: of each job.
        environment: variables that the process sees besides those of this one.
    """

    def __init__(
        self, num_threads: int = 1, limits: Limits | None = None, environment: Mapping[str, str] | None = None
    ) -> None:
        self._environment = {**dict.fromkeys(VARIABLES, str(num_threads)), **(environment or {})}
        self._limits = limits or Limits()
        self._pool: ProcessPoolExecutor | None = None
        self._pid: Future[int] | None = None
        self._job: Job | None = None
        self.future: Future[list[Outcome]] | None = None
        self.started = 0.0

    @property
    def job(self) -> Job:
        """The job it is at, or was at last."""
        assert self._job is not None
        return self._job

    @property
    def key(self) -> str:
        """Of its cell."""
        return self.job.cell.key

    def start(self, job: Job) -> None:
        """Begin a job; the process is started first if there is none."""
        self._job, self.started = job, time.monotonic()
        try:
            if self._pool is None:
                context = multiprocessing.get_context("spawn")
                self._pool = ProcessPoolExecutor(1, mp_context=context, initializer=_initialize, initargs=(sys.path,))
                with changed_environment(self._environment), _may_have_children():
                    self._pid = self._pool.submit(os.getpid)  # the process starts with the first submission
                self._pid.add_done_callback(self._restart_clock)
            self.future = self._pool.submit(work_all, job)
        except BrokenProcessPool as error:  # the worker died while it was idle
            self.future = Future()
            self.future.set_exception(error)

    def _restart_clock(self, _: Future[int]) -> None:
        """Time to start the process is not time of the cell."""
        self.started = time.monotonic()

    def patience_s(self) -> float | None:
        """How long to wait before :meth:`excess` has to be asked again; None if it need not be."""
        times: list[float] = []
        if self._limits.time_s is not None:
            times.append(max(0.05, self.started + self._time_s() - time.monotonic()))
        if self._limits.memory_mb is not None:
            times.append(LOOK_EVERY_S)
        return min(times, default=None)

    def excess(self) -> tuple[str, str] | None:
        """Name and description of the limit that the job exceeds, or None."""
        pid = self._pid.result() if self._pid is not None and self._pid.done() else None
        if pid is None or (self.future is not None and self.future.done()):
            return None
        limits = self._limits
        if limits.time_s is not None and time.monotonic() - self.started >= self._time_s():
            return "TimeLimit", f"took longer than {limits.time_s:g} s"
        if limits.memory_mb is not None and (used := resident_mb(pid)) > limits.memory_mb:
            return "MemoryLimit", f"used {used:.0f} MB, more than the {limits.memory_mb:g} MB a cell may use"
        return None

    def _time_s(self) -> float:
        return math.inf if self._limits.time_s is None else self._limits.time_s * len(self.job.todo)

    def settle(self, excess: tuple[str, str] | None = None) -> list[Outcome]:
        """Outcomes of a job that finished, died or exceeded a limit; in the latter cases the process is ended.

        Args:
            excess: what :meth:`excess` said of a job that has not finished; one that has since keeps its result.
        """
        future, elapsed = self.future, time.monotonic() - self.started
        assert future is not None
        if excess is not None and not future.done():
            self.end()
            return [lost(self.job, *excess, elapsed)]
        try:
            outcomes = future.result()
        except (BrokenProcessPool, EOFError, OSError) as error:
            self.end()
            times = f"{self.job.attempt} times" if self.job.attempt > 1 else "once"
            return [lost(self.job, DIED, f"the worker died {times} while computing this cell ({error})", elapsed)]
        self.future = None
        return outcomes

    def end(self) -> None:
        """End the worker, at once if it is still at a job."""
        if self._pool is not None:
            if self.future is not None and not self.future.done() and self._pid is not None:
                with contextlib.suppress(Exception):  # a process that never started has no number
                    _kill(self._pid.result())
            self._pool.shutdown(wait=True, cancel_futures=True)
        self._pool = self.future = None


def lost(job: Job, error: str, message: str, elapsed_s: float) -> Outcome:
    """Outcome of a job that could not say itself what happened."""
    failure = FailedCell(key=job.cell.key, cell=job.cell, error=error, message=message, attempts=job.attempt)
    return Outcome(key=job.cell.key, status="lost", wall_s=elapsed_s, attempt=job.attempt, failure=failure)


def resident_mb(pid: int) -> float:
    """Memory of a process, 0 if it is gone or the system does not tell."""
    import psutil

    try:
        return psutil.Process(pid).memory_info().rss / 1e6
    except psutil.Error:
        return 0.0


def _initialize(search_path: list[str]) -> None:
    """Ctrl-C is for the parent; a worker whose parent is gone ends itself."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.path[:] = search_path
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@contextlib.contextmanager
def _may_have_children() -> Generator[None]:
    """Workers of a cluster are often daemons, which multiprocessing refuses children; ours end with their parent."""
    config: dict[str, object] = getattr(multiprocessing.current_process(), "_config", {})
    before = config.get("daemon")
    config["daemon"] = False
    try:
        yield
    finally:
        if before is not None:
            config["daemon"] = before


def _kill(pid: int) -> None:
    """At once, without asking the process."""
    import psutil

    with contextlib.suppress(psutil.NoSuchProcess):
        psutil.Process(pid).kill()
