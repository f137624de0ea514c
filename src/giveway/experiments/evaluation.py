"""What happens inside a worker: evaluate a batch, write each result as soon as it is there, say how it went."""

from __future__ import annotations

import importlib
import os
import platform
import shutil
import tempfile
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, cast

from giveway.core.errors import ConfigError
from giveway.core.files import disk_full
from giveway.core.urls import is_url
from giveway.experiments.artifacts import Artifacts
from giveway.experiments.cells import Cell, CellFailure, CellResult, content_key
from giveway.experiments.contract import EXPERIMENTS, Evaluation
from giveway.experiments.engine import Context, Job, Outcome, no_message
from giveway.experiments.messages import Messenger, is_draining
from giveway.experiments.object_store import ObjectStoreError
from giveway.experiments.records import Encoded, FailedCell, encode_result, failure_of, open_record, result_from
from giveway.experiments.store import Store

FLUSH_AFTER_S = 0.05
"""Results that took longer wait for the disk; cheaper ones may have to be computed again after a power failure."""

_stores: dict[str, Store] = {}


class _StrandedResult(Exception):
    """A finished result that the object store did not take."""

    def __init__(self, cell: Cell, encoded: Encoded, reason: str) -> None:
        super().__init__(reason)
        self.cell, self.encoded, self.reason = cell, encoded, reason


def load_evaluation(name: str) -> Evaluation:
    """The evaluation of batches by a registered experiment, or by an import path.

    ``"package.module:attribute"`` names an object with a method ``evaluate(batch, context)``, or a function of one cell
    and a context that returns a :class:`CellResult`.

    Raises:
        ConfigError: if there is no such thing.
    """
    module, colon, attribute = name.partition(":")
    try:
        found: Any = getattr(importlib.import_module(module), attribute) if colon else EXPERIMENTS.get(name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(
            "cannot import the evaluation of a run",
            where=name,
            found=error,
            hint="name it as 'package.module:attribute', importable on every worker",
        ) from error
    evaluate = getattr(found, "evaluate", None)
    return cast(Evaluation, evaluate) if evaluate is not None else _cell_by_cell(found)


def _cell_by_cell(function: Callable[[Cell, Context], CellResult]) -> Evaluation:
    def evaluate(batch: Sequence[Cell], context: Context) -> Iterator[tuple[Cell, CellResult]]:
        for cell in batch:
            yield cell, function(cell, context)

    return evaluate


def work_all(job: Job) -> list[Outcome]:
    """All outcomes of a job; for processes that cannot send one after the other."""
    return list(work(job))


def work(job: Job) -> Generator[Outcome]:
    """Evaluate a job; whatever its code raises becomes a failed outcome, never an exception here.

    A cell that raises ends its batch. The cells of a group that have no result then are tried one by one, so that the
    guilty one fails alone; the later cells of a chain have no outcome.
    """
    left = {cell.key: cell for cell in job.cells if cell.key in job.todo}
    clock = _Clock(job)
    pairs: Any = None
    try:
        place = _Place(job)
        pairs = load_evaluation(job.experiment)(place.batch(), place.context)
        for cell, result in pairs:
            if cell.key not in left:
                raise RuntimeError(f"the evaluation gave a result that was not asked for: {cell.label()}")
            failed = isinstance(result, CellFailure)
            payload = None if failed else place.keep(cell, result, clock.since_s())
            del left[cell.key]
            yield clock.failed(cell, result) if failed else clock.outcome(cell, payload=payload)
            if not left and not failed:
                place.tidy()
            if not left or (job.is_chain and (failed or _must_stop(job))):
                return  # a group is computed together: what is there already is kept
            place.context.message(f"{cell.label()} ({len(job.todo) - len(left)} of {len(job.todo)})")
        raise RuntimeError("the evaluation gave no result for this cell")
    except _StrandedResult as error:
        yield clock.outcome(error.cell, status="unreachable", where=error.reason, payload=error.encoded)
    except (Exception, SystemExit) as error:
        if len(left) == 1 or job.is_chain or _obstacle(error) is not None:
            yield clock.failed(next(iter(left.values())), error)
            return
        for cell in left.values():
            yield from work(job.only(cell))
            if _must_stop(job):
                return
    finally:
        if hasattr(pairs, "close"):
            pairs.close()


class _Place:
    """Where a job is evaluated and where its results go."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.remote = job.store if job.store is not None and is_url(job.store) else None
        self.store = None if job.store is None or self.remote is not None else _open(job.store)
        self.artifacts = Artifacts(_local_folder("artifacts")) if self.store is None else self.store.artifacts.fresh()
        name = job.cells[0].chain or content_key([cell.key for cell in job.cells])
        local = _local_folder("scratch") / content_key([job.store, name])[:32]
        self.context = Context(
            artifacts=self.artifacts,
            machine=job.machine,
            message=no_message if self.store is None else Messenger(self.store.root),
            known=self._known,
            scratch_root=local if self.store is None else self.store.scratch(name),
        )

    def batch(self) -> list[Cell]:
        """A whole chain, or the cells of a group that are to be computed."""
        return [cell for cell in self.job.cells if self.job.is_chain or cell.key in self.job.todo]

    def keep(self, cell: Cell, result: Any, took_s: float) -> Encoded | None:
        """Write a result; its bytes if that has to be done elsewhere."""
        if not isinstance(result, CellResult):
            raise TypeError(f"{self.job.experiment} returned {type(result).__name__}, not a CellResult")
        alone = not cell.group and not cell.chain  # else what was used depends on the batch, and bytes must not
        encoded = encode_result(cell, result, self.artifacts.used if alone else None)
        if self.remote is not None:
            from giveway.experiments.mirror import put_result

            try:
                put_result(self.remote, cell.key, encoded)
            except ObjectStoreError as error:
                raise _StrandedResult(cell, encoded, _reason(error)) from error
            return None
        if self.store is None:
            return encoded
        self.store.write_encoded(cell.key, encoded, flush=took_s >= FLUSH_AFTER_S)
        return None

    def tidy(self) -> None:
        """Delete what was needed to go on after a kill, unless a limit leaves cells of the chain for later."""
        if self.context.scratch_root.is_dir() and all(
            cell.key in self.job.todo or self._known(cell) is not None for cell in self.job.cells
        ):
            shutil.rmtree(self.context.scratch_root, ignore_errors=True)

    def _known(self, cell: Cell) -> CellResult | None:
        if cell.key in self.job.todo:
            return None
        if cell.key in self.job.known:
            return result_from(open_record(self.job.known[cell.key], cell.key))
        if self.store is None or not self.store.record_path(cell.key).exists():
            return None
        return self.store.read(cell.key)


class _Clock:
    """Outcomes with the time since the last one."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self._started, self._cpu = time.perf_counter(), time.process_time()

    def since_s(self) -> float:
        """Wall time since the last outcome."""
        return time.perf_counter() - self._started

    def failed(self, cell: Cell, error: BaseException | CellFailure) -> Outcome:
        """What became of a cell without a result."""
        status, where = _obstacle(error) or ("failed", "")
        told = error if isinstance(error, CellFailure) else disk_full(error) or error
        failure = failure_of(cell, told, attempts=self.job.attempt)
        return self.outcome(cell, status=status, where=where, failure=failure)

    def outcome(
        self,
        cell: Cell,
        *,
        status: Literal["done", "failed", "full", "unreachable"] = "done",
        where: str = "",
        failure: FailedCell | None = None,
        payload: Encoded | None = None,
    ) -> Outcome:
        """The outcome of a cell; the clock starts again."""
        made = Outcome(
            key=cell.key,
            status=status,
            wall_s=self.since_s(),
            cpu_s=time.process_time() - self._cpu,
            host=platform.node(),
            pid=os.getpid(),
            attempt=self.job.attempt,
            failure=failure,
            where=where,
            payload=payload,
        )
        self._started, self._cpu = time.perf_counter(), time.process_time()
        return made


def _obstacle(error: BaseException | CellFailure) -> tuple[Literal["full", "unreachable"], str] | None:
    """Kind and place of what would stop every other cell too; None for an error of the cell itself."""
    if isinstance(error, CellFailure):
        return None
    full = disk_full(error)
    if full is not None:
        return "full", str(full.where)
    return ("unreachable", _reason(error)) if isinstance(error, ObjectStoreError) else None


def _must_stop(job: Job) -> bool:
    """Whether the time is over, or the run was asked to end."""
    if job.until is not None and time.time() > job.until:
        return True
    return job.store is not None and not is_url(job.store) and is_draining(Path(job.store))


def _reason(error: ObjectStoreError) -> str:
    return f"{error.where} ({error.found})"


def _open(root: str) -> Store:
    if root not in _stores:
        _stores[root] = Store(root)
    return _stores[root]


def _local_folder(what: str) -> Path:
    """Of this user: a folder for temporary files may be shared. On Windows it is the user's own."""
    user_number: Callable[[], int] | None = getattr(os, "getuid", None)
    return Path(tempfile.gettempdir()) / f"giveway-{what}-{'own' if user_number is None else user_number()}"
