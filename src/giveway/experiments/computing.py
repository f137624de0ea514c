"""Compute cells on an engine into a store: skip what is finished, record what fails, resume after anything."""

from __future__ import annotations

import contextlib
import json
import secrets
import signal
import threading
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Any, Literal, TextIO

from giveway.core.errors import DiskFullError, GivewayError, UsageError
from giveway.core.files import FULL, free_space, write_bytes
from giveway.core.seals import seal
from giveway.core.urls import is_url
from giveway.experiments.cells import Cell
from giveway.experiments.engine import Control, Executor, Job, Outcome
from giveway.experiments.evaluation import load_evaluation
from giveway.experiments.files import canonical_json, plain
from giveway.experiments.index import Damaged, read_index
from giveway.experiments.jobs import batches, known_records
from giveway.experiments.local import ProcessExecutor
from giveway.experiments.messages import listening
from giveway.experiments.object_store import ObjectStoreError
from giveway.experiments.progress import Progress, SilentProgress
from giveway.experiments.provenance import code_version, machine
from giveway.experiments.records import FailedCell
from giveway.experiments.store import Store

Rerun = Literal["missing", "failed", "all"]
RERUN: tuple[Rerun, ...] = ("missing", "failed", "all")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """What a run did.

    Attributes:
        total: cells asked for.
        skipped: finished before, not computed again.
        done: finished now.
        failed: cells of this run without a result because they failed, now or before.
        missing: neither; not zero if the run was stopped or limited.
        damaged: records found unusable and computed again.
        failures: details of ``failed``.
        stopped: whether it was asked to end early.
        wall_s: how long it took.
    """

    total: int
    skipped: int
    done: int
    failed: int
    missing: int
    damaged: tuple[Damaged, ...]
    failures: tuple[FailedCell, ...] = field(repr=False)
    stopped: bool
    wall_s: float

    @property
    def ok(self) -> bool:
        """Every cell has a result."""
        return self.failed == 0 and self.missing == 0

    @staticmethod
    def planned(*, total: int, done: int) -> RunSummary:
        """What a run would find: ``done`` of ``total`` cells are finished, nothing was computed."""
        return RunSummary(
            total=total,
            skipped=done,
            done=0,
            failed=0,
            missing=total - done,
            damaged=(),
            failures=(),
            stopped=False,
            wall_s=0.0,
        )


def check_rerun(name: str) -> None:
    """Refuse an unknown choice of what to compute again.

    Raises:
        UsageError: naming the known ones.
    """
    if name not in RERUN:
        raise UsageError("unknown choice for --rerun", where="--rerun", found=name, hint=f"one of {', '.join(RERUN)}")


def compute(
    cells: Sequence[Cell],
    *,
    experiment: str,
    store: Store | Path | str,
    engine: Executor | None = None,
    spec: Mapping[str, Any] | None = None,
    machine: Mapping[str, Any] | None = None,
    fingerprints: Mapping[str, str] | None = None,
    rerun: Rerun = "missing",
    limit: int | None = None,
    max_hours: float | None = None,
    progress: Progress | None = None,
) -> RunSummary:
    """Compute every cell that has no result yet.

    Ctrl-C once finishes the cells that are running and ends; twice ends at once. Either way the store is whole.

    Args:
        cells: what to compute; equal cells count once.
        experiment: name or import path of what evaluates them, see
            :func:`giveway.experiments.evaluation.load_evaluation`.
        store: where results go; created if the folder is new.
        engine: where cells are computed; a process per core by default.
        spec: the specification the cells came from, kept in the store.
        machine: plain values for the evaluation that must not change results, e.g. ``{"roots": {...}}``.
        fingerprints: name of an input to a digest of its content, kept with the run.
        rerun: ``"missing"`` leaves failed cells alone, ``"failed"`` tries them again, ``"all"`` computes everything.
        limit: compute at most so many cells now.
        max_hours: start no further cell after this time.
        progress: where to report; nowhere by default.

    Raises:
        StoreError: another run holds the store, it is of a newer version, or the disk is full.
        ObjectStoreError: an object store did not work; finished cells are kept.
    """
    check_rerun(rerun)
    load_evaluation(experiment)  # a wrong path is one error now, not one per cell
    store = store if isinstance(store, Store) else Store(store, create=True)
    unique = list({cell.key: cell for cell in cells}.values())
    with store.lock(), progress or SilentProgress() as report:
        started = _Run(store, engine or ProcessExecutor(), unique, report, experiment)
        started.begin(dict(spec or {}), dict(machine or {}), dict(fingerprints or {}), rerun)
        return started.compute(limit=limit, max_hours=max_hours)


class _Run:
    """State of one call of :func:`compute`."""

    def __init__(self, store: Store, engine: Executor, cells: list[Cell], report: Progress, experiment: str) -> None:
        self.store, self.engine, self.cells, self.report, self.experiment = store, engine, cells, report, experiment
        self.began = time.monotonic()
        self.control = Control(report.say)
        self.name = f"{datetime.now(UTC):%Y%m%dT%H%M%S%fZ}-{secrets.token_hex(3)}"
        self.obstacle: tuple[str, str] | None = None

    def begin(
        self, spec: dict[str, Any], machine_settings: dict[str, Any], fingerprints: dict[str, str], rerun: Rerun
    ) -> None:
        """Find out what is to be done and write down who asked for it."""
        self.store.sweep()
        self.machine, self.replaces = machine_settings, rerun == "all"
        plan = self.store.write_plan(spec, self.experiment, self.cells)
        index = read_index(self.store)
        wanted = {cell.key for cell in self.cells}
        self.damaged = tuple(d for d in index.damaged if d.key in wanted)
        if self.damaged:
            self.store.discard(d.key for d in self.damaged)
            self.store.refresh()  # the home of the store may have a whole one
            index = read_index(self.store)
            self.store.discard(d.key for d in index.damaged if d.key in wanted)
        self.present = index.keys() & wanted
        finished = set[str]() if rerun == "all" else self.present
        failures = {f.key: f for f in self.store.failures() if f.key in wanted}
        self.kept_failures = failures if rerun == "missing" else {}
        self.todo = [c for c in self.cells if c.key not in finished and c.key not in self.kept_failures]
        self.num_skipped = len(finished)
        self.provenance: dict[str, Any] = {
            "run": self.name,
            "plan": plan.name,
            "experiment": self.experiment,
            "spec": plain(spec),
            "settings": plain(machine_settings),
            "inputs": plain(fingerprints),
            "rerun": rerun,
            "engine": self.engine.name,
            "workers": self.engine.num_workers,
            "code": code_version(),
            "machine": machine(),
            "started": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        self._write_provenance()

    def compute(self, *, limit: int | None, max_hours: float | None) -> RunSummary:
        """Send jobs to the engine and take in outcomes until there are no more."""
        todo = self.todo if limit is None else self.todo[:limit]
        self.num_skipped += len({cell.key for cell in self.todo[len(todo) :]} & self.present)
        jobs = self._jobs({cell.key for cell in todo}, max_hours)
        skipped = len(self.cells) - len(self.todo)
        self.report.start(total=skipped + len(todo), skipped=skipped, workers=self.engine.num_workers)
        for damaged in self.damaged:
            self.report.say(f"damaged record, computed again: {damaged.key[:16]} ({damaged.reason})")
        done = 0
        failures = dict(self.kept_failures)
        with (
            self._log() as log,
            listening(self.store.root, self.report, self.control),
            _interruptible(self.control, self.report),
            _closing(self.engine, jobs, self.control) as outcomes,
        ):
            for outcome in outcomes:
                is_kept = self._take(outcome, log)
                if outcome.failure is not None:
                    failures[outcome.key] = outcome.failure
                elif is_kept:
                    done += 1
                self._tell(outcome, done, len(failures) - len(self.kept_failures))
                if max_hours is not None and time.monotonic() - self.began > 3600 * max_hours:
                    self.control.drain()
        wall_s = time.monotonic() - self.began
        summary = RunSummary(
            total=len(self.cells),
            skipped=self.num_skipped,
            done=done,
            failed=len(failures),
            missing=len(self.cells) - self.num_skipped - done - len(failures),
            damaged=self.damaged,
            failures=tuple(failures.values()),
            stopped=self.control.draining or (max_hours is not None and wall_s > 3600 * max_hours),
            wall_s=wall_s,
        )
        self._end(summary)
        return summary

    def _jobs(self, todo: set[str], max_hours: float | None) -> Iterator[Job]:
        until = None if max_hours is None else time.time() + 3600 * max_hours
        for batch in batches(self.cells, todo, self.kept_failures, self.engine.num_workers):
            job = Job(
                cells=batch,
                todo=frozenset(cell.key for cell in batch if cell.key in todo),
                experiment=self.experiment,
                store=self.store.address,
                machine=self.machine,
                until=until,
                replaces=self.replaces,
            )
            remote = job.is_chain and is_url(self.store.address)
            yield replace(job, known=known_records(self.store, job)) if remote else job

    def _take(self, outcome: Outcome, log: TextIO) -> bool:
        """Write down what a worker could not; False if there is no room for it."""
        try:
            if outcome.payload is not None:
                self.store.write_encoded(outcome.key, outcome.payload)
            if outcome.status in ("full", "unreachable"):
                self._halt(outcome.status, f"{outcome.where or self.store.root}, on {outcome.host}")
            elif outcome.failure is not None:
                self.store.write_failure(outcome.failure)
            log.write(json.dumps(_log_line(outcome)) + "\n")
        except (DiskFullError, OSError) as error:
            if isinstance(error, OSError) and error.errno not in FULL:
                raise
            self._halt("full", str(self.store.root))
            return outcome.payload is None
        return True

    def _halt(self, why: str, where: str) -> None:
        """Finish what is running and end, because further cells would meet the same obstacle."""
        self.obstacle = self.obstacle or (why, where)
        self.control.drain()

    def _tell(self, outcome: Outcome, done: int, failed: int) -> None:
        running = next(iter(self.control.running.values()), None)
        problem = ""
        if outcome.failure is not None:
            problem = f"{outcome.failure.cell.label()}: {outcome.failure.reason}"
        self.report.update(
            done=done,
            failed=failed,
            current=running.cell.label() if running else "",
            problem=problem,
            workers=self.engine.num_workers,
        )

    def _end(self, summary: RunSummary) -> None:
        self.provenance.update(
            {
                "ended": datetime.now(UTC).isoformat(timespec="seconds"),
                "wall_s": round(summary.wall_s, 3),
                "counts": {
                    name: getattr(summary, name)
                    for name in ("total", "skipped", "done", "failed", "missing", "stopped")
                },
            }
        )
        if self.obstacle is not None:
            with contextlib.suppress(DiskFullError, OSError):  # the obstacle may be in the way of this file too
                self._write_provenance()
            raise _ended_early(*self.obstacle, summary)
        self.store.sweep()
        self._write_provenance()
        self.store.refresh()
        for damaged in read_index(self.store).damaged:
            self.report.say(f"cannot be used, start the same again: {damaged.key[:16]} ({damaged.reason})")

    def _write_provenance(self) -> None:
        write_bytes(self.store.root / "runs" / f"{self.name}.json", seal(canonical_json(self.provenance)))

    @contextlib.contextmanager
    def _log(self) -> Generator[TextIO]:
        with (self.store.root / "runs" / f"{self.name}.jsonl").open("a", encoding="utf-8", buffering=1) as log:
            yield log


def _ended_early(why: str, where: str, summary: RunSummary) -> GivewayError:
    safe = f"{summary.done + summary.skipped} of {summary.total} cells are finished and safe"
    if why == "full":
        return DiskFullError(
            "the run ended because the disk is full",
            where=where,
            found=f"{free_space(Path(where.partition(', on ')[0]))}; {safe}",
            hint="make room and start the same command again",
        )
    return ObjectStoreError(
        "the run ended because the object store does not work",
        where=where,
        found=f"{safe}; what could not be sent is kept on this machine",
        hint="start the same command again, here, once it works: nothing is computed twice",
    )


def _log_line(outcome: Outcome) -> dict[str, Any]:
    return {
        "key": outcome.key,
        "status": outcome.status,
        "wall_s": round(outcome.wall_s, 6),
        "cpu_s": round(outcome.cpu_s, 6),
        "host": outcome.host,
        "pid": outcome.pid,
        "attempt": outcome.attempt,
        "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
    }


@contextlib.contextmanager
def _closing(engine: Executor, jobs: Any, control: Control) -> Generator[Any]:
    """The engine's outcomes; its workers are ended however the block is left."""
    outcomes: Any = engine.run(jobs, control)
    try:
        yield outcomes
    finally:
        close = getattr(outcomes, "close", None)
        if close is not None:
            close()


@contextlib.contextmanager
def _interruptible(control: Control, report: Progress) -> Generator[None]:
    """First Ctrl-C drains, the second one stops; only the main thread can listen."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def on_interrupt(number: int, frame: FrameType | None) -> None:
        if control.draining:
            raise KeyboardInterrupt
        control.drain()
        report.say("finishing the cells that are running; press Ctrl-C again to stop at once")

    before = signal.signal(signal.SIGINT, on_interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
