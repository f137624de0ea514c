"""From cells to jobs: batches of groups, whole chains, and what is tried again when a worker is lost."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from giveway.core.checked import read_bytes
from giveway.experiments.cells import Cell
from giveway.experiments.engine import Job, Outcome
from giveway.experiments.records import RECORD_BYTES
from giveway.experiments.store import RECORD, Store

LARGEST_BATCH = 64
"""Cells of a group that are evaluated together at the most."""
BATCHES_PER_WORKER = 4
"""Batches that each worker gets of a group, if there are enough cells: a slow one must not leave the others idle."""
SUPPOSED_WORKERS = 4
"""Workers of a cluster that has not been connected yet."""

DIED = "WorkerDied"
"""Error of a cell whose process ended under it; the only one that is tried again."""


def batches(
    cells: Sequence[Cell], todo: Collection[str], stuck: Collection[str], num_workers: int
) -> Iterator[tuple[Cell, ...]]:
    """Cells that are evaluated together, in the order of the first one to compute of each batch.

    Args:
        cells: all cells of a run.
        todo: keys of those to compute.
        stuck: keys of failed cells that are not tried again; they end their chains.
        num_workers: of the engine; 0 if not known yet.
    """
    groups: dict[str, list[Cell]] = {}
    chains: dict[str, list[Cell]] = {}
    for cell in cells:
        if cell.chain:
            chains.setdefault(cell.chain, []).append(cell)
        elif cell.group and cell.key in todo:
            groups.setdefault(cell.group, []).append(cell)
    ended = {name for name, members in chains.items() if any(cell.key in stuck for cell in members)}
    given: set[str] = set()
    for cell in cells:
        if cell.key not in todo or cell.key in given or cell.chain in ended:
            continue
        if cell.chain:
            batch = chains[cell.chain]
        elif cell.group:
            members = groups[cell.group]
            share = math.ceil(len(members) / (BATCHES_PER_WORKER * (num_workers or SUPPOSED_WORKERS)))
            size = min(LARGEST_BATCH, share if num_workers != 1 else len(members))
            start = members.index(cell)
            batch = members[start : start + size]
        else:
            batch = [cell]
        given.update(one.key for one in batch)
        yield tuple(batch)


class JobQueue:
    """Jobs to come, read lazily, with those to be tried again at the front."""

    def __init__(self, jobs: Iterable[Job]) -> None:
        self._again: deque[Job] = deque()
        self._jobs = iter(jobs)

    def __bool__(self) -> bool:
        if not self._again:
            self._again.extend(job for job in [next(self._jobs, None)] if job is not None)
        return bool(self._again)

    def pop(self) -> Job:
        """The next one; ask whether there is any first."""
        return self._again.popleft()

    def peek(self) -> Job:
        """The next one without taking it; ask whether there is any first."""
        return self._again[0]

    def settle(self, job: Job, outcomes: Sequence[Outcome], max_attempts: int) -> list[Outcome]:
        """What is known now of the cells of a job; what a lost worker left undone is put back to the front.

        A group is tried cell by cell, so that the one that takes its worker along is found. A chain, or a cell alone,
        is tried again as it is, unless it was too often or its limit was exceeded: then its first cell has failed.
        """
        lost = next((outcome for outcome in outcomes if outcome.status == "lost"), None)
        if lost is None or lost.failure is None:
            return list(outcomes)
        finished = _finished(job)
        passed = [Outcome(key=key, status="done", attempt=job.attempt) for key in finished]
        left = [cell for cell in job.cells if cell.key in job.todo and cell.key not in finished]
        if not left:
            return passed
        if len(left) > 1 and not job.is_chain:
            self._again.extendleft(reversed([job.only(cell) for cell in left]))
            return passed
        if lost.failure.error == DIED and job.attempt < max_attempts:
            attempt = 1 if passed else job.attempt + 1  # a chain that made progress begins to count anew
            again = replace(job, todo=frozenset(cell.key for cell in left), attempt=attempt)
            self._again.appendleft(again if job.is_chain else replace(again, cells=tuple(left)))
            return passed
        failure = replace(lost.failure, key=left[0].key, cell=left[0])
        return [*passed, replace(lost, key=left[0].key, status="failed", failure=failure)]


def _finished(job: Job) -> list[str]:
    """Cells of a job whose results a lost worker had written."""
    if job.replaces or job.store is None or len(job.todo) == 1:
        return []
    try:
        store = Store(job.store)
    except Exception:  # an address, or out of reach: everything is tried again
        return []
    return [cell.key for cell in job.cells if cell.key in job.todo and store.record_path(cell.key).exists()]


def without_store(job: Job) -> Job:
    """The job for a worker that cannot read the store: finished cells of its chain go along, results come back."""
    if not job.is_chain or job.store is None:
        return replace(job, store=None)
    return replace(job, store=None, known=known_records(Store(job.store), job))


def known_records(store: Store, job: Job) -> Mapping[str, bytes]:
    """Records of the finished cells of a chain."""
    paths = {cell.key: store.record_path(cell.key) for cell in job.cells if cell.key not in job.todo}
    return {key: read_bytes(path, limit=RECORD_BYTES, expect=RECORD) for key, path in paths.items() if path.exists()}
