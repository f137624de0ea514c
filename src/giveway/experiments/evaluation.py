"""What happens inside a worker: evaluate one job, write its result, say how it went."""

from __future__ import annotations

import importlib
import os
import platform
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from giveway.core.errors import ConfigError
from giveway.core.files import disk_full
from giveway.core.urls import is_url
from giveway.experiments.artifacts import Artifacts
from giveway.experiments.cells import Cell, CellResult
from giveway.experiments.engine import CellContext, Job, Outcome, say_nothing
from giveway.experiments.messages import Teller
from giveway.experiments.object_store import ObjectStoreError
from giveway.experiments.records import Encoded, encode_result, failure_of
from giveway.experiments.store import Store

Evaluation = Callable[[Cell, CellContext], CellResult]

FLUSH_AFTER_S = 0.05
"""Results that took longer wait for the disk; cheaper ones may have to be computed again after a power failure."""

_stores: dict[str, Store] = {}


class _StrandedResult(Exception):
    """A finished result that the object store did not take."""

    def __init__(self, encoded: Encoded, reason: str) -> None:
        super().__init__(reason)
        self.encoded, self.reason = encoded, reason


def load_function(path: str) -> Evaluation:
    """The evaluation named ``"package.module:function"``.

    Raises:
        ConfigError: if there is no such function.
    """
    module, _, attribute = path.partition(":")
    try:
        function: Any = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(
            "cannot import the evaluation of a run",
            where=path,
            found=error,
            hint="name it as 'package.module:function', importable on every worker",
        ) from error
    return cast(Evaluation, function)


def work(job: Job) -> Outcome:
    """Evaluate a job; whatever its code raises becomes a failed outcome, never an exception here."""
    started, cpu = time.perf_counter(), time.process_time()
    failure = payload = None
    status, where = "done", ""
    try:
        payload = _evaluate(job)
    except _StrandedResult as error:
        payload, status, where = error.encoded, "unreachable", error.reason
    except (Exception, SystemExit) as error:
        full = disk_full(error)
        if full is not None:
            status, where = "full", str(full.where)
        elif isinstance(error, ObjectStoreError):
            status, where = "unreachable", _reason(error)
        else:
            status = "failed"
        failure = failure_of(job.cell, full or error, attempts=job.attempt)
    return Outcome(
        key=job.cell.key,
        status=status,
        wall_s=time.perf_counter() - started,
        cpu_s=time.process_time() - cpu,
        host=platform.node(),
        pid=os.getpid(),
        attempt=job.attempt,
        failure=failure,
        where=where,
        payload=payload,
    )


def _evaluate(job: Job) -> Encoded | None:
    """The result's bytes if they could not be written here."""
    evaluate = load_function(job.function)
    remote = job.store if job.store is not None and is_url(job.store) else None
    store = None if job.store is None or remote is not None else _open(job.store)
    artifacts = Artifacts(_local_artifacts()) if store is None else store.artifacts.fresh()
    began = time.perf_counter()
    tell = say_nothing if store is None else Teller(store.root)
    result = evaluate(job.cell, CellContext(artifacts=artifacts, settings=job.settings, tell=tell))
    if not isinstance(result, CellResult):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"{job.function} returned {type(result).__name__}, not a CellResult")
    encoded = encode_result(job.cell, result, artifacts.used)
    if remote is not None:
        from giveway.experiments.mirror import put_result

        try:
            put_result(remote, job.cell.key, encoded)
        except ObjectStoreError as error:
            raise _StrandedResult(encoded, _reason(error)) from error
        return None
    if store is None:
        return encoded
    store.write_encoded(job.cell.key, encoded, flush=time.perf_counter() - began >= FLUSH_AFTER_S)
    return None


def _reason(error: ObjectStoreError) -> str:
    return f"{error.where} ({error.found})"


def _open(root: str) -> Store:
    if root not in _stores:
        _stores[root] = Store(root)
    return _stores[root]


def _local_artifacts() -> Path:
    """Of this user: a folder for temporary files may be shared. On Windows it is the user's own."""
    user_number: Callable[[], int] | None = getattr(os, "getuid", None)
    return Path(tempfile.gettempdir()) / f"giveway-artifacts-{'own' if user_number is None else user_number()}"
