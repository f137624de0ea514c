"""Engines on one machine: in this process, or in a pool that survives the death of its workers.

The pool consists of lanes, each a process pool of one. A worker that dies (killed, out of memory, segmentation
fault) breaks its own lane only, so it is known which cell it was at; the lane is rebuilt and the cell tried again.
Processes are spawned, never forked: threads of numerical libraries do not survive a fork.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace

from giveway.core.errors import UsageError
from giveway.runs.executor import MAX_ATTEMPTS, Control, Job, Outcome
from giveway.runs.records import FailedCell
from giveway.runs.threads import limited_threads, num_cores, thread_environment
from giveway.runs.worker import work


class SerialExecutor:
    """Everything in this process, one job after the other; for debugging and for tiny runs.

    Args:
        threads_per_worker: threads of numerical libraries; results may depend on it.
    """

    name = "serial"
    num_workers = 1

    def __init__(self, *, threads_per_worker: int = 1) -> None:
        self.threads_per_worker = threads_per_worker

    def run(self, jobs: Iterable[Job], control: Control) -> Iterator[Outcome]:
        """See :class:`giveway.runs.executor.Executor`."""
        with limited_threads(self.threads_per_worker):
            for job in jobs:
                if control.draining:
                    return
                control.running[job.cell.key] = job
                outcome = work(job)
                del control.running[job.cell.key]
                yield outcome


class ProcessExecutor:
    """A pool of worker processes on this machine.

    Args:
        num_workers: how many; default one per core.
        threads_per_worker: threads of numerical libraries in each.
        time_limit_s: a cell that takes longer is ended and recorded as failed.
        max_attempts: how often a cell may kill its worker before it is recorded as failed.
    """

    name = "local"

    def __init__(
        self,
        *,
        num_workers: int | None = None,
        threads_per_worker: int = 1,
        time_limit_s: float | None = None,
        max_attempts: int = MAX_ATTEMPTS,
    ) -> None:
        if num_workers is not None and num_workers < 1:
            raise UsageError("the number of workers must be positive", where="--workers", found=num_workers)
        self.num_workers = num_workers or num_cores()
        self.threads_per_worker = threads_per_worker
        self.time_limit_s = time_limit_s
        self.max_attempts = max_attempts

    def run(self, jobs: Iterable[Job], control: Control) -> Iterator[Outcome]:
        """See :class:`giveway.runs.executor.Executor`."""
        queue = _Queue(jobs)
        lanes: list[_Lane] = []
        try:
            while True:
                for lane in self._idle(lanes, queue, control):
                    lane.start(queue.pop())
                    control.running[lane.key] = lane.job
                busy = {lane.future: lane for lane in lanes if lane.future is not None}
                if not busy:
                    return
                finished, _ = wait(busy, timeout=self._patience(busy.values()), return_when=FIRST_COMPLETED)
                ended = [busy[f] for f in finished] or [lane for lane in busy.values() if self._is_late(lane)]
                for lane in ended:
                    control.running.pop(lane.key, None)
                    outcome = self._settle(lane, queue)
                    if outcome is not None:
                        yield outcome
        finally:
            for lane in lanes:
                lane.end()

    def _idle(self, lanes: list[_Lane], queue: _Queue, control: Control) -> Iterator[_Lane]:
        """Lanes that can take a job, new ones included, as long as there are jobs."""
        for number in range(self.num_workers):
            if control.draining or not queue:
                return
            if number == len(lanes):
                lanes.append(_Lane(self.threads_per_worker))
            if lanes[number].future is None:
                yield lanes[number]

    def _patience(self, lanes: Iterable[_Lane]) -> float | None:
        if self.time_limit_s is None:
            return None
        return max(0.05, min(lane.started + self.time_limit_s for lane in lanes) - time.monotonic())

    def _is_late(self, lane: _Lane) -> bool:
        if self.time_limit_s is None or not lane.is_up:
            return False
        return time.monotonic() - lane.started >= self.time_limit_s

    def _settle(self, lane: _Lane, queue: _Queue) -> Outcome | None:
        """Outcome of a lane that finished, died or ran out of time; None if its job goes back into the queue."""
        job, future = lane.job, lane.future
        assert future is not None
        elapsed = time.monotonic() - lane.started
        if not future.done():
            lane.end()
            return _lost(job, "TimeLimit", f"took longer than {self.time_limit_s:g} s", elapsed)
        try:
            outcome = future.result()
        except (BrokenProcessPool, EOFError, OSError) as error:
            lane.end()
            if job.attempt < self.max_attempts:
                queue.push_front(replace(job, attempt=job.attempt + 1))
                return None
            how = f"the worker died {job.attempt} times while computing this cell ({error})"
            return _lost(job, "WorkerDied", how, elapsed)
        lane.future = None
        return outcome


class _Queue:
    """Jobs to come, read lazily, with retries at the front."""

    def __init__(self, jobs: Iterable[Job]) -> None:
        self._again: deque[Job] = deque()
        self._jobs = iter(jobs)

    def __bool__(self) -> bool:
        if not self._again:
            self._again.extend(job for job in [next(self._jobs, None)] if job is not None)
        return bool(self._again)

    def pop(self) -> Job:
        return self._again.popleft()

    def push_front(self, job: Job) -> None:
        self._again.appendleft(job)


class _Lane:
    """One worker process and the job it is at."""

    def __init__(self, num_threads: int) -> None:
        self._num_threads = num_threads
        self._pool: ProcessPoolExecutor | None = None
        self._pid: Future[int] | None = None
        self._job: Job | None = None
        self.future: Future[Outcome] | None = None
        self.started = 0.0

    @property
    def job(self) -> Job:
        assert self._job is not None
        return self._job

    @property
    def key(self) -> str:
        return self.job.cell.key

    @property
    def is_up(self) -> bool:
        """Whether the worker process has started."""
        return self._pid is not None and self._pid.done()

    def start(self, job: Job) -> None:
        self._job, self.started = job, time.monotonic()
        try:
            if self._pool is None:
                context = multiprocessing.get_context("spawn")
                self._pool = ProcessPoolExecutor(1, mp_context=context, initializer=_initialize, initargs=(sys.path,))
                with thread_environment(self._num_threads):  # the process starts with the first submission
                    self._pid = self._pool.submit(os.getpid)
                self._pid.add_done_callback(self._restart_clock)
            self.future = self._pool.submit(work, job)
        except BrokenProcessPool as error:  # the worker died while it was idle
            self.future = Future()
            self.future.set_exception(error)

    def _restart_clock(self, _: Future[int]) -> None:
        """Time to start the process is not time of the cell."""
        self.started = time.monotonic()

    def end(self) -> None:
        """End the worker, at once if it is still at a job."""
        if self._pool is not None:
            if self.future is not None and not self.future.done() and self._pid is not None:
                _kill(self._pid.result())
            self._pool.shutdown(wait=True, cancel_futures=True)
        self._pool = self.future = None


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


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _lost(job: Job, error: str, message: str, elapsed: float) -> Outcome:
    failure = FailedCell(key=job.cell.key, cell=job.cell, error=error, message=message, attempts=job.attempt)
    return Outcome(key=job.cell.key, status="failed", wall_s=elapsed, attempt=job.attempt, failure=failure)
