"""Cells on the workers of a Dask cluster.

The client gives every worker one job at a time and names the worker, so that a worker that is lost counts against
the one cell it was at. Workers write results into the store if they can see it and send them back otherwise; either
way the files are those that a run in one process writes.
"""

from __future__ import annotations

import contextlib
import queue
import secrets
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from giveway.core.errors import ClusterError, MissingDependencyError
from giveway.core.urls import is_url
from giveway.experiments.engine import MAX_ATTEMPTS, Control, Job, Outcome
from giveway.experiments.jobs import DIED, JobQueue, without_store
from giveway.experiments.plugins import plugins_here
from giveway.experiments.remote import WorkerFacts, difference, evaluate_here, facts, stop_here
from giveway.experiments.scheduler_address import Deadline, try_address, unreachable
from giveway.experiments.worker_process import Limits, lost

if TYPE_CHECKING:
    from distributed import Client, Future

EXPLAIN_S = 5.0
ANSWER_S = 12.0
"""A scheduler that is gone is noticed at once; one that is only busy gets this long."""

LOOK_EVERY_S = 1.0
"""How often the list of workers is looked at; also how soon a lost worker is noticed."""

COLLECT_S = 5.0
WAIT_FOR_WORKERS_S = 300.0
"""A cluster that has no worker for this long is given up; queues of batch systems may need a longer wait."""


@dataclass(slots=True, kw_only=True)
class _Task:
    """A job on a worker."""

    job: Job
    worker: str
    future: Future[Any]
    started: float


class DaskExecutor:
    """An engine on a Dask cluster.

    Args:
        connect: opens a client; called when a run starts. See :func:`at_scheduler` and
            :func:`giveway.experiments.cluster.cluster_from`.
        time_limit_s: a cell that takes longer is ended and recorded as failed.
        memory_limit_mb: a cell whose process uses more is ended and recorded as failed.
        max_attempts: how often a cell may lose its worker before it is recorded as failed.
        wait_s: how long to wait for a worker when there is none.
    """

    name = "dask"

    def __init__(
        self,
        connect: Callable[[], contextlib.AbstractContextManager[Client]],
        *,
        time_limit_s: float | None = None,
        memory_limit_mb: float | None = None,
        max_attempts: int = MAX_ATTEMPTS,
        wait_s: float = WAIT_FOR_WORKERS_S,
    ) -> None:
        self._connect = connect
        self.limits = Limits(time_s=time_limit_s, memory_mb=memory_limit_mb)
        self.max_attempts = max_attempts
        self.wait_s = wait_s
        self.num_workers = 0

    def run(self, jobs: Iterable[Job], control: Control) -> Iterator[Outcome]:
        """See :class:`giveway.experiments.engine.Executor`.

        Raises:
            ClusterError: if the scheduler cannot be reached or is lost, no worker comes, or workers run other code.
            UsageError: a plug-in file is gone since it was loaded.
        """
        pending = JobQueue(jobs)
        if not pending:
            return
        with self._connect() as client:
            yield from _Session(self, client, pending, control).outcomes()


class _Session:
    """One run on one client."""

    def __init__(self, engine: DaskExecutor, client: Client, pending: JobQueue, control: Control) -> None:
        self.engine, self.client, self.pending, self.control = engine, client, pending, control
        self.ready: queue.SimpleQueue[Future[Any]] = queue.SimpleQueue()
        self.tasks: dict[str, _Task] = {}
        self.crew = _Crew(client, control, patience_s=engine.wait_s)
        self.next_look = 0.0
        self.name = secrets.token_hex(8)
        self.plugins = plugins_here()

    def outcomes(self) -> Iterator[Outcome]:
        try:
            while True:
                if time.monotonic() >= self.next_look:
                    yield from self._look()
                self._hand_out()
                if not self.tasks:
                    if self.control.draining or not self.pending:
                        return
                    self.crew.require()
                yield from self._take_in()
        finally:
            if not self.crew.scheduler_is_lost:  # nobody would answer
                self._let_go()

    def _look(self) -> Iterator[Outcome]:
        """Notice workers that came and those that are gone."""
        first = self.pending.peek() if self.pending else next(iter(self.tasks.values())).job if self.tasks else None
        self.crew.look(first)
        self.engine.num_workers = len(self.crew.fit)
        self.next_look = time.monotonic() + LOOK_EVERY_S
        for key, task in list(self.tasks.items()):
            if task.worker not in self.crew.present:
                del self.tasks[key]
                task.future.release()
                yield from self._settle(task, [_gone(task)])

    def _hand_out(self) -> None:
        free = [w for w in self.crew.fit if w not in {t.worker for t in self.tasks.values()}]
        for worker in free:
            if self.control.draining or not self.pending:
                return
            job = self.pending.pop()
            if job.store is not None and not is_url(job.store) and not self.crew.fit[worker].sees_store:
                job = without_store(job)
            name = f"giveway-{job.cell.key[:16]}-{job.attempt}-{secrets.token_hex(4)}"
            what = (job, self.engine.limits, self.name, self.plugins)
            future = self.client.submit(evaluate_here, *what, key=name, workers=[worker], pure=False, retries=0)
            self.tasks[name] = _Task(job=job, worker=worker, future=future, started=time.monotonic())
            self.control.running[job.cell.key] = job
            future.add_done_callback(self.ready.put)

    def _take_in(self) -> Iterator[Outcome]:
        """Everything that is ready, waiting for the first until it is time to look again."""
        wait_s = max(0.0, self.next_look - time.monotonic())
        with contextlib.suppress(queue.Empty):
            future = self.ready.get(timeout=wait_s) if wait_s else self.ready.get_nowait()
            while True:
                task = self.tasks.pop(str(future.key), None)
                if task is not None:
                    yield from self._settle(task, self._outcomes(task))
                    future.release()
                future = self.ready.get_nowait()

    def _outcomes(self, task: _Task) -> list[Outcome]:
        if task.future.status == "finished":
            return self._collected(task)
        if task.future.status in ("cancelled", "lost"):
            self.crew.require_scheduler()
            return [_gone(task)]
        try:
            error = task.future.exception(timeout=EXPLAIN_S)
        except Exception as caught:  # the worker left with the explanation
            self.crew.require_scheduler()
            error = caught
        if type(error).__name__ == "KilledWorker":
            return [_gone(task)]
        return [lost(task.job, type(error).__name__, str(error), time.monotonic() - task.started)]

    def _collected(self, task: _Task) -> list[Outcome]:
        """The outcomes, which stay with the worker until they are fetched and are lost if the worker dies before."""
        while True:
            try:
                return task.future.result(timeout=COLLECT_S)
            except TimeoutError:
                self.crew.look(None)
            except Exception:  # as many kinds as there are ways to lose a connection
                self.crew.require_scheduler()
                return [_gone(task)]
            if task.worker not in self.crew.present:
                return [_gone(task)]

    def _settle(self, task: _Task, outcomes: list[Outcome]) -> Iterator[Outcome]:
        self.control.running.pop(task.job.cell.key, None)
        if any(outcome.failure is not None and outcome.failure.error == DIED for outcome in outcomes):
            self.control.say(f"lost a worker at {task.job.cell.label()} (attempt {task.job.attempt})")
        yield from self.pending.settle(task.job, outcomes, self.engine.max_attempts)

    def _let_go(self) -> None:
        """Leave nothing running that nobody waits for, and no idle processes behind."""
        with contextlib.suppress(Exception):  # the cluster may be gone, which is why we are here
            if self.tasks:
                self.client.cancel([t.future for t in self.tasks.values()], force=True)
            self.client.run(stop_here, self.name, workers=list(self.crew.fit), on_error="ignore")


class _Crew:
    """Which workers there are, and which of them may be given work.

    Attributes:
        present: addresses of all workers.
        fit: address to facts of those that run our code.
    """

    def __init__(self, client: Client, control: Control, *, patience_s: float) -> None:
        self.client, self.control, self.patience_s = client, control, patience_s
        self.present: frozenset[str] = frozenset()
        self.fit: dict[str, WorkerFacts] = {}
        self._unfit: set[str] = set()
        self._told = False
        self._alone_since = time.monotonic()
        self.scheduler_is_lost = False

    def look(self, job: Job | None) -> None:
        """Ask the scheduler for its workers and new ones for their facts."""
        self.present = frozenset(self._workers())
        self.fit = {address: f for address, f in self.fit.items() if address in self.present}
        new = sorted(self.present - self.fit.keys() - self._unfit)
        if new and job is not None:
            self._examine(new, job)
        if self.fit:
            self._alone_since = time.monotonic()

    def require(self) -> None:
        """Complain if nobody could be given work for too long."""
        waited = time.monotonic() - self._alone_since
        if not self.fit and waited > self.patience_s:
            raise ClusterError(
                "the cluster has no workers",
                where=_address(self.client),
                found=f"none for {waited:.0f} s",
                hint=f"start some: dask worker {_address(self.client)} --nthreads 1; then the same command again",
            )

    def require_scheduler(self) -> None:
        """Complain if the scheduler does not answer."""
        self._workers()

    def _workers(self) -> list[str]:
        """Addresses, as the scheduler knows them now."""
        try:
            info: Any = self.client.sync(_identity, self.client, callback_timeout=ANSWER_S)
            return list(info["workers"])
        except (OSError, TimeoutError, ValueError, RuntimeError) as error:
            self.scheduler_is_lost = True
            raise ClusterError(
                "the scheduler does not answer any more",
                where=_address(self.client),
                found=f"{type(error).__name__}: {error}",
                hint="start the scheduler again and then the same command: finished cells are kept",
            ) from error

    def _examine(self, addresses: list[str], job: Job) -> None:
        """Code, libraries, store and data of new workers."""
        roots = tuple(str(root) for root in dict(job.machine.get("roots", {})).values())
        with _probe(job.store) as (probe, token):
            try:
                answers: Any = self.client.run(facts, probe, token, roots, workers=addresses, on_error="return")
            except (OSError, TimeoutError, RuntimeError):
                return  # gone again; the next look will tell
        ours = facts()
        for address, theirs in answers.items():
            if isinstance(theirs, WorkerFacts) and not difference(ours, theirs):
                self._accept(address, theirs, job)
                continue
            if isinstance(theirs, OSError):
                continue
            problem = _mismatch(address, ours, theirs)
            if not self.fit and len(self._unfit) + 1 >= len(self.present):
                raise problem
            self._unfit.add(address)
            self.control.say(f"not used: {problem}")

    def _accept(self, address: str, theirs: WorkerFacts, job: Job) -> None:
        if theirs.lacks and not job.machine.get("synthetic"):
            raise ClusterError(
                "a worker cannot see the data",
                where=f"worker {address} on {theirs.host}",
                found=f"there is no {theirs.lacks[0]}",
                hint="put the recordings where all workers see them under the same path, or give an address such as "
                "s3://bucket/folder, which workers copy for themselves",
            )
        if theirs.store_problem:
            raise ClusterError(
                "a worker cannot write into the store",
                where=f"worker {address} on {theirs.host}",
                found=theirs.store_problem,
                hint="make room or give the right to write there, or use another --out; finished cells are kept",
            )
        if not theirs.sees_store and not is_url(job.store) and not self._told:
            self._told = True
            self.control.say(
                f"workers do not see {job.store}: they send their results here instead; "
                "a folder that all machines share, or s3://…, makes that unnecessary"
            )
        self.fit[address] = theirs


async def _identity(client: Client) -> Any:
    scheduler: Any = client.scheduler
    return await scheduler.identity(n_workers=-1)


def _address(client: Client) -> str:
    return str(getattr(client.scheduler, "address", "") or "the scheduler")


def _gone(task: _Task) -> Outcome:
    text = f"its worker was lost {task.job.attempt} times" if task.job.attempt > 1 else "its worker was lost"
    return lost(task.job, DIED, text, time.monotonic() - task.started)


def _mismatch(address: str, ours: WorkerFacts, theirs: Any) -> ClusterError:
    if not isinstance(theirs, WorkerFacts):
        return ClusterError(
            "a worker cannot run giveway",
            where=f"worker {address}",
            found=f"{type(theirs).__name__}: {theirs}",
            hint="install the same version there: pip install 'giveway[cluster]'",
        )
    unlike = difference(ours, theirs)
    shown = [
        f"{name} {theirs_[:12] if name == 'source' else theirs_}, here {ours_[:12] if name == 'source' else ours_}"
        for name, (ours_, theirs_) in unlike.items()
    ]
    return ClusterError(
        "a worker runs other code, so its results could differ",
        where=f"worker {address} on {theirs.host}",
        found="; ".join(shown),
        hint="install the same versions on all machines and start the workers again",
    )


@contextlib.contextmanager
def _probe(store: str | None) -> Generator[tuple[str | None, str]]:
    """A file in the store that only machines sharing it can read."""
    if store is None or is_url(store):
        yield None, ""
        return
    token = secrets.token_hex(16)
    path = Path(store) / f".probe-{token[:8]}"
    path.write_text(token, encoding="utf-8")
    try:
        yield str(path), token
    finally:
        path.unlink(missing_ok=True)


def at_scheduler(address: str) -> Callable[[], contextlib.AbstractContextManager[Client]]:
    """Connect to a scheduler that somebody else runs, e.g. ``tcp://host:8786``, or say within 10 s why not."""

    @contextlib.contextmanager
    def connect() -> Generator[Client]:
        client_class = import_distributed().Client
        deadline = Deadline()
        try_address(address, deadline)
        try:
            client = client_class(address, timeout=deadline.left_s(at_least=3.0), set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise unreachable(address, f"it accepts connections but does not answer: {error}") from error
        try:
            yield client
        finally:
            with contextlib.suppress(Exception):  # a scheduler that is gone cannot be told goodbye
                client.close(timeout=5)

    return connect


def import_distributed() -> Any:
    """The library, or an error that names the extra."""
    try:
        import distributed
    except ImportError as error:
        raise MissingDependencyError("distributed", extra="cluster", purpose="the Dask engine") from error
    return distributed
