"""Engines on one machine: in this process, or in a pool that survives the death of its workers.

A worker process that dies costs its own cell only; a new one is started and the cell tried again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, wait

from giveway.core.errors import UsageError
from giveway.experiments.engine import MAX_ATTEMPTS, Control, Job, Outcome
from giveway.experiments.evaluation import work
from giveway.experiments.jobs import JobQueue
from giveway.experiments.threads import limited_threads, num_cores
from giveway.experiments.worker_process import Limits, WorkerProcess


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
        """See :class:`giveway.experiments.engine.Executor`."""
        with limited_threads(self.threads_per_worker):
            for job in jobs:
                if control.draining:
                    return
                control.running[job.cell.key] = job
                with contextlib.closing(work(job)) as outcomes:
                    for outcome in outcomes:
                        yield outcome
                        if control.draining and job.is_chain:
                            break
                control.running.pop(job.cell.key, None)


class ProcessExecutor:
    """A pool of worker processes on this machine.

    Args:
        num_workers: how many; default one per core.
        threads_per_worker: threads of numerical libraries in each.
        time_limit_s: a cell that takes longer is ended and recorded as failed.
        memory_limit_mb: a cell whose process uses more is ended and recorded as failed.
        max_attempts: how often a cell may kill its worker before it is recorded as failed.
    """

    name = "local"

    def __init__(
        self,
        *,
        num_workers: int | None = None,
        threads_per_worker: int = 1,
        time_limit_s: float | None = None,
        memory_limit_mb: float | None = None,
        max_attempts: int = MAX_ATTEMPTS,
    ) -> None:
        if num_workers is not None and num_workers < 1:
            raise UsageError("the number of workers must be positive", where="--workers", found=num_workers)
        self.num_workers = num_workers or num_cores()
        self.threads_per_worker = threads_per_worker
        self.limits = Limits(time_s=time_limit_s, memory_mb=memory_limit_mb)
        self.max_attempts = max_attempts

    def run(self, jobs: Iterable[Job], control: Control) -> Iterator[Outcome]:
        """See :class:`giveway.experiments.engine.Executor`."""
        queue = JobQueue(jobs)
        workers: list[WorkerProcess] = []
        try:
            while True:
                for worker in self._idle(workers, queue, control):
                    worker.start(queue.pop())
                    control.running[worker.key] = worker.job
                busy = {worker.future: worker for worker in workers if worker.future is not None}
                if not busy:
                    return
                patience = [p for worker in busy.values() if (p := worker.patience_s()) is not None]
                finished, _ = wait(busy, timeout=min(patience, default=None), return_when=FIRST_COMPLETED)
                running = {f: worker.excess() for f, worker in busy.items() if f not in finished}
                over = {f: excess for f, excess in running.items() if excess is not None}
                for future in [*finished, *over]:
                    worker = busy[future]
                    control.running.pop(worker.key, None)
                    outcomes = worker.settle(over.get(future))
                    yield from queue.settle(worker.job, outcomes, self.max_attempts)
        finally:
            for worker in workers:
                worker.end()

    def _idle(self, workers: list[WorkerProcess], queue: JobQueue, control: Control) -> Iterator[WorkerProcess]:
        """Lanes that can take a job, new ones included, as long as there are jobs."""
        for number in range(self.num_workers):
            if control.draining or not queue:
                return
            if number == len(workers):
                workers.append(WorkerProcess(self.threads_per_worker, self.limits))
            if workers[number].future is None:
                yield workers[number]
