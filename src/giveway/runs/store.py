"""A folder of results, one file per cell, that survives being killed at any moment.

::

    R/
      store.json              format of the store
      lock                    held while a run is active
      plans/<name>.json       what was asked for: specification, evaluation, keys of all cells
      runs/<date-id>.json     provenance of each start: configuration, code, machine, counts
      runs/<date-id>.jsonl    one line per finished cell: wall time, host, attempts
      cells/ab/<key>.json     result of a cell; the same bytes for any number of workers
      cells/ab/<key>.parquet  its per-sample values
      failed/ab/<key>.json    why a cell has no result
      artifacts/ab/<key>/     inputs shared by cells
      index.parquet           all of ``cells/`` in one table; only a cache, rebuilt when needed

Times, hosts and dates are only in ``runs/``, so two stores of the same cells have equal ``cells/``.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from giveway import __version__
from giveway.core.errors import StoreError
from giveway.core.files import write_bytes
from giveway.runs.artifacts import Artifacts
from giveway.runs.cells import Cell, CellResult, content_key
from giveway.runs.files import canonical_json, digest
from giveway.runs.lock import StoreLock
from giveway.runs.records import (
    DamagedRecordError,
    Encoded,
    FailedCell,
    encode_failure,
    encode_result,
    failure_from,
    open_record,
    result_from,
)

STORE_FORMAT = 1
STORE_FILE = "store.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """Size and time of a record's file, and size of its samples file (-1 if there is none)."""

    size: int
    mtime_ns: int
    samples_size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Damaged:
    """A record that cannot be used; the cell counts as missing."""

    key: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a run was asked for.

    Attributes:
        name: content key of the specification.
        spec: the specification as plain values.
        function: import path of the evaluation.
        keys: all cells it consists of.
    """

    name: str
    spec: Mapping[str, Any]
    function: str
    keys: tuple[str, ...] = field(repr=False)


class Store:
    """A result store on disk.

    Args:
        root: folder.
        create: make a new store if the folder is missing or empty.

    Raises:
        StoreError: if there is no store, or it was written by a newer version.
    """

    def __init__(self, root: Path | str, *, create: bool = False) -> None:
        self.root = Path(root)
        if create:
            self._create()
        self._check_format()
        self.artifacts = Artifacts(self.root / "artifacts")

    @property
    def address(self) -> str:
        """Where workers write: this folder, unless its home is elsewhere."""
        return str(self.root.resolve())

    def refresh(self) -> None:
        """Bring over what workers have written elsewhere; here there is no elsewhere."""

    def lock(self) -> StoreLock:
        """Held while a run is active; a second run is refused with a :class:`StoreError`."""
        return StoreLock(self.root / "lock")

    def write(self, cell: Cell, result: CellResult) -> None:
        """Keep a result; a failure recorded earlier for the same cell is forgotten."""
        self.write_encoded(cell.key, encode_result(cell, result))

    def write_encoded(self, key: str, encoded: Encoded, *, flush: bool = True) -> None:
        """The same for bytes made elsewhere. Samples first: the record is what makes a cell count as done.

        Args:
            key: of the cell.
            encoded: its result.
            flush: see :func:`giveway.core.files.write_bytes`.
        """
        path = self.record_path(key)
        if encoded.samples is not None:
            write_bytes(path.with_suffix(".parquet"), encoded.samples, flush=flush)
        write_bytes(path, encoded.record, flush=flush)
        self._failure_path(key).unlink(missing_ok=True)

    def read(self, key: str, *, with_samples: bool = False) -> CellResult:
        """The result of a cell.

        Raises:
            StoreError: if there is none or it is damaged.
        """
        document = self.read_record(key)
        return result_from(document, self._samples(key, document) if with_samples else None)

    def read_samples(self, key: str) -> pl.DataFrame | None:
        """Per-sample values of a cell, or None if it keeps none."""
        return self._samples(key, self.read_record(key))

    def read_record(self, key: str) -> dict[str, Any]:
        """The checked document of a cell: ``cell``, ``measurements``, ``info``, ``samples``."""
        path = self.record_path(key)
        try:
            return open_record(path.read_bytes(), key)
        except FileNotFoundError:
            raise StoreError("no result for this cell", where=path, hint="run the specification again") from None
        except DamagedRecordError as error:
            raise _damaged(path, str(error)) from error

    def discard(self, keys: Iterable[str]) -> None:
        """Remove records that cannot be used, with their per-sample values; call it only while holding the lock."""
        for key in keys:
            self.record_path(key).unlink(missing_ok=True)
            self.record_path(key).with_suffix(".parquet").unlink(missing_ok=True)
            self.record_path(key).with_suffix(".damaged").unlink(missing_ok=True)

    def write_failure(self, failure: FailedCell) -> None:
        """Record why a cell has no result."""
        write_bytes(self._failure_path(failure.key), encode_failure(failure))

    def failures(self) -> list[FailedCell]:
        """All failed cells without a result, sorted by key; unreadable records are left out."""
        found: list[FailedCell] = []
        for key, path in sorted(self._files("failed")):
            if path.suffix == ".json" and not self.record_path(key).exists():
                try:
                    found.append(failure_from(open_record(path.read_bytes(), key)))
                except (DamagedRecordError, OSError):
                    continue
        return found

    def sweep(self) -> None:
        """Remove temporary files that killed processes left behind; call it only while holding the lock."""
        for folder in ("cells", "failed", "artifacts"):
            for path in (self.root / folder).glob("*/.*.tmp"):
                if path.is_dir():
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    path.unlink(missing_ok=True)

    def stamps(self) -> dict[str, Stamp]:
        """Key to stamp for every record file present, whole or not."""
        records: dict[str, tuple[int, int]] = {}
        samples: dict[str, int] = {}
        for entry in _entries(self.root / "cells"):
            stem, _, suffix = entry.name.partition(".")
            if suffix == "json":
                stat = entry.stat()
                records[stem] = (stat.st_size, stat.st_mtime_ns)
            elif suffix == "parquet":
                samples[stem] = entry.stat().st_size
        return {
            key: Stamp(size=size, mtime_ns=mtime, samples_size=samples.get(key, -1))
            for key, (size, mtime) in records.items()
        }

    def write_plan(self, spec: Mapping[str, Any], function: str, cells: Iterable[Cell]) -> Plan:
        """Keep what was asked for, so that :func:`giveway.runs.status` knows what is missing."""
        keys = tuple(cell.key for cell in cells)
        name = content_key({"spec": spec, "function": function})
        document = {"name": name, "function": function, "spec": spec, "keys": list(keys)}
        write_bytes(self.root / "plans" / f"{name[:16]}.json", canonical_json(document))
        return Plan(name=name, spec=spec, function=function, keys=keys)

    def plans(self) -> list[Plan]:
        """Everything that was asked for, newest last.

        Raises:
            StoreError: if a plan cannot be read.
        """
        found: list[Plan] = []
        for path in sorted((self.root / "plans").glob("*.json"), key=lambda p: p.stat().st_mtime_ns):
            try:
                d = json.loads(path.read_bytes())
                found.append(Plan(name=d["name"], spec=d["spec"], function=d["function"], keys=tuple(d["keys"])))
            except (ValueError, KeyError, TypeError) as error:
                raise _damaged(path, str(error)) from error
        return found

    def provenance(self) -> list[dict[str, Any]]:
        """One document per start of a run on this store, oldest first."""
        return [json.loads(p.read_bytes()) for p in sorted((self.root / "runs").glob("*.json"))]

    def record_path(self, key: str) -> Path:
        """File of a cell's record; its per-sample values are beside it with suffix ``.parquet``."""
        return self.root / "cells" / key[:2] / f"{key}.json"

    def _failure_path(self, key: str) -> Path:
        return self.root / "failed" / key[:2] / f"{key}.json"

    def _files(self, folder: str) -> Iterator[tuple[str, Path]]:
        for entry in _entries(self.root / folder):
            path = Path(entry.path)
            yield path.stem, path

    def _samples(self, key: str, document: Mapping[str, Any]) -> pl.DataFrame | None:
        if document["samples"] is None:
            return None
        path = self.record_path(key).with_suffix(".parquet")
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            raise _damaged(path, "the file is missing") from None
        if digest(data) != document["samples"]["sha256"]:
            with contextlib.suppress(OSError):  # put aside, the cell counts as damaged from now on
                path.replace(path.with_suffix(".damaged"))
            raise _damaged(path, "checksum does not match")
        return pl.read_parquet(data)

    def _create(self) -> None:
        if (self.root / STORE_FILE).exists():
            return
        if self.root.exists() and (not self.root.is_dir() or any(self.root.iterdir())):
            raise StoreError(
                "this is not a result store and not an empty folder",
                where=self.root,
                hint="choose a new folder with --out",
            )
        document = {"format": STORE_FORMAT, "written_by": f"giveway {__version__}"}
        write_bytes(self.root / STORE_FILE, canonical_json(document) + b"\n")

    def _check_format(self) -> None:
        path = self.root / STORE_FILE
        try:
            document: Any = json.loads(path.read_bytes())
            version = int(document["format"])
        except FileNotFoundError:
            raise StoreError(
                "there is no result store", where=self.root, hint="give the folder a run command wrote with --out"
            ) from None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise StoreError("cannot read the store", where=path, found=error, hint="restore store.json") from error
        if version > STORE_FORMAT:
            raise StoreError(
                "this store was written by a newer version",
                where=path,
                found=f"format {version} by {document.get('written_by', 'unknown')}; this is giveway {__version__}, "
                f"which reads up to format {STORE_FORMAT}",
                hint="pip install --upgrade giveway",
            )


def _entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    """Finished files two levels down; temporary ones start with a dot."""
    if not folder.is_dir():
        return
    with os.scandir(folder) as prefixes:
        for prefix in prefixes:
            if prefix.is_dir():
                with os.scandir(prefix.path) as entries:
                    yield from (e for e in entries if not e.name.startswith("."))


def _damaged(path: Path, reason: str) -> StoreError:
    return StoreError(
        "a file of the store is damaged",
        where=path,
        found=reason,
        hint="start the same run again: only this cell is computed anew",
    )
