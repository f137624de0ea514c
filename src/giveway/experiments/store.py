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
      attachments/ab/<key>/   further files of a result: logs, policies
      shared/ab/<sha256>.json files that several results have in common, each once: lane maps
      failed/ab/<key>.json    why a cell has no result
      artifacts/ab/<key>/     inputs shared by cells
      scratch/                what unfinished cells need to go on after a kill
      index.parquet           all of ``cells/`` in one table; only a cache, rebuilt when needed
      index.seal              digest of that table
      damaged/                records and samples that were altered on disk, put aside

Every JSON document carries its own SHA-256 as last entry and is compared with it before it is parsed; samples and
attachments are compared with the digest in their record. A record, samples or attachment that was altered counts as
missing; the next run puts it aside, into ``damaged/`` so that
``cells/`` stays comparable, and computes the cell again.

Times, hosts and dates are only in ``runs/``, so two stores of the same cells have equal ``cells/``.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from giveway import __version__
from giveway.core.checked import Expect, known_sha256, parse_table, read_bytes, read_sealed
from giveway.core.errors import StoreError
from giveway.core.files import write_bytes
from giveway.core.seals import seal, seal_of, sha256_of_bytes
from giveway.experiments.artifacts import Artifacts
from giveway.experiments.cells import Cell, CellResult, content_key
from giveway.experiments.files import canonical_json
from giveway.experiments.lock import StoreLock
from giveway.experiments.records import (
    RECORD_BYTES,
    DamagedRecordError,
    Encoded,
    FailedCell,
    checked_attachment,
    encode_failure,
    encode_result,
    failure_from,
    open_record,
    result_from,
)

STORE_FORMAT = 2
STORE_FILE = "store.json"
SHARED = "shared"
DAMAGED = "damaged"
SAMPLES_BYTES = 16 << 30
ATTACHMENT_BYTES = 4 << 30
AGAIN = "start the same run again: only this cell is computed anew"
RECORD = Expect(error=StoreError, what="a file of the store", hint=AGAIN)
DOCUMENT = Expect(error=StoreError, what="a document of the store", hint="start the same run again")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """Size and time of a record's file, sizes of its samples and of all its attachments (-1 if there are none)."""

    size: int
    mtime_ns: int
    samples_size: int
    attachments_size: int = -1


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
        experiment: registered name or import path of what evaluates the cells.
        keys: all cells it consists of.
        kinds: of these cells.
    """

    name: str
    spec: Mapping[str, Any]
    experiment: str
    keys: tuple[str, ...] = field(repr=False)
    kinds: tuple[str, ...] = ()


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
        """The same for bytes made elsewhere. The record comes last: it is what makes a cell count as done.

        Args:
            key: of the cell.
            encoded: its result.
            flush: see :func:`giveway.core.files.write_bytes`.
        """
        path = self.record_path(key)
        for digest, data in encoded.shared.items():
            if not (place := self.shared_path(digest)).is_file():
                write_bytes(place, data, flush=flush)
        for name, data in encoded.attachments.items():
            write_bytes(self.attachment_folder(key) / checked_attachment(name), data, flush=flush)
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

    def attachment_folder(self, key: str) -> Path:
        """Where the attachments of a cell are; nothing in it has been checked."""
        return self.root / "attachments" / key[:2] / key

    def attachments(self, key: str) -> Path:
        """The folder with the attachments of a cell, after comparing each with its digest in the record.

        Raises:
            StoreError: there is no result, it has no attachments, or one of them is missing or altered.
        """
        listed: Mapping[str, Any] = self.read_record(key).get("attachments", {})
        folder = self.attachment_folder(key)
        if not listed:
            raise StoreError("this result has no attachments", where=self.record_path(key))
        for name, facts in listed.items():
            path = folder / checked_attachment(name)
            if not path.is_file():
                raise _damaged(path, "the file is missing")
            if known_sha256(path) != facts["sha256"]:
                self._put_aside(path, f"{key}.{name}")
                raise _damaged(path, "checksum does not match")
        return folder

    def attachment(self, key: str, name: str) -> bytes:
        """Content of one attachment, compared with its digest.

        Raises:
            StoreError: there is no such attachment, or it is missing or altered.
        """
        facts = self.read_record(key).get("attachments", {}).get(name)
        if facts is None:
            raise StoreError("this result has no such attachment", where=self.record_path(key), found=name)
        path = self.attachment_folder(key) / checked_attachment(name)
        if not path.is_file():
            raise _damaged(path, "the file is missing")
        data = read_bytes(path, limit=ATTACHMENT_BYTES, expect=RECORD)
        if sha256_of_bytes(data) != facts["sha256"]:
            self._put_aside(path, f"{key}.{name}")
            raise _damaged(path, "checksum does not match")
        return data

    def shared_path(self, digest: str) -> Path:
        """Where a file is that several results have in common; nothing in it has been checked."""
        return self.root / SHARED / digest[:2] / f"{digest}.json"

    def shared(self, key: str) -> list[Path]:
        """Files that a cell shares with others, after comparing each with its digest.

        Raises:
            StoreError: one of them is missing or altered.
        """
        paths = [self.shared_path(str(digest)) for digest in self.read_record(key).get("shared", ())]
        for path in paths:
            if not path.is_file():
                raise _damaged(path, "the file is missing")
            if known_sha256(path) != path.stem:
                self._put_aside(path)
                raise _damaged(path, "checksum does not match")
        return paths

    def scratch(self, name: str) -> Path:
        """A folder for what an unfinished cell or chain needs to go on; not part of any result."""
        return self.root / "scratch" / content_key(name)[:32]

    def read_record(self, key: str) -> dict[str, Any]:
        """The checked document of a cell: ``cell``, ``measurements``, ``info``, ``samples``; put aside if damaged."""
        path = self.record_path(key)
        try:
            return self.open_record(key)[0]
        except FileNotFoundError:
            raise StoreError("no result for this cell", where=path, hint="run the specification again") from None
        except DamagedRecordError as error:
            self._put_aside(path)  # the cell counts as damaged from now on, whatever the index says
            raise _damaged(path, str(error)) from error

    def open_record(self, key: str) -> tuple[dict[str, Any], str]:
        """The same with its seal, for those who want to know what is wrong.

        Raises:
            FileNotFoundError: there is none.
            DamagedRecordError: it cannot be used.
        """
        path = self.record_path(key)
        if not path.exists():
            raise FileNotFoundError(path)
        try:
            data = read_bytes(path, limit=RECORD_BYTES, expect=RECORD)
        except StoreError as error:
            raise DamagedRecordError(f"{error.what}: {error.found}") from error
        return open_record(data, key), str(seal_of(data))

    def discard(self, keys: Iterable[str]) -> None:
        """Put aside records that cannot be used, with their per-sample values; call it only while holding the lock."""
        for key in keys:
            self._put_aside(self.record_path(key))
            self._put_aside(self.record_path(key).with_suffix(".parquet"))
            shutil.rmtree(self.attachment_folder(key), ignore_errors=True)

    def lost(self) -> set[str]:
        """Keys of records that were put aside and have not been computed again."""
        names = (path.name.partition(".")[0] for path in (self.root / DAMAGED).glob("*.json.damaged"))
        return {key for key in names if not self.record_path(key).exists()}

    def write_failure(self, failure: FailedCell) -> None:
        """Record why a cell has no result."""
        write_bytes(self._failure_path(failure.key), encode_failure(failure))

    def failures(self) -> list[FailedCell]:
        """All failed cells without a result, sorted by key; unreadable records are left out."""
        found: list[FailedCell] = []
        for key, path in sorted(self._files("failed")):
            if path.suffix == ".json" and not self.record_path(key).exists():
                with contextlib.suppress(DamagedRecordError, StoreError):
                    found.append(failure_from(open_record(read_bytes(path, limit=RECORD_BYTES, expect=RECORD), key)))
        return found

    def damaged_documents(self) -> tuple[Damaged, ...]:
        """Plans, runs and failures that cannot be used: what is known about where the results come from is incomplete.

        Their keys are their paths in the store.
        """
        found: list[Damaged] = []
        for path in [*_documents(self.root / "plans"), *_documents(self.root / "runs")]:
            try:
                _plan(path) if path.parent.name == "plans" else read_sealed(path, limit=RECORD_BYTES, expect=DOCUMENT)
            except StoreError as error:
                found.append(Damaged(key=path.relative_to(self.root).as_posix(), reason=str(error.found)))
        for key, path in sorted(self._files("failed")):
            try:
                if path.suffix == ".json":
                    open_record(read_bytes(path, limit=RECORD_BYTES, expect=RECORD), key)
            except (DamagedRecordError, StoreError) as error:
                found.append(Damaged(key=path.relative_to(self.root).as_posix(), reason=str(error)))
        return tuple(found)

    def sweep(self) -> None:
        """Remove temporary files that killed processes left behind; call it only while holding the lock."""
        for folder in ("cells", "failed", "artifacts", SHARED, "attachments"):
            for path in (self.root / folder).glob("*/*/.*.tmp" if folder == "attachments" else "*/.*.tmp"):
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
        attached = {
            Path(folder.path).name: sum(f.stat().st_size for f in os.scandir(folder.path) if not f.name.startswith("."))
            for folder in _entries(self.root / "attachments")
        }
        return {
            key: Stamp(
                size=size, mtime_ns=mtime, samples_size=samples.get(key, -1), attachments_size=attached.get(key, -1)
            )
            for key, (size, mtime) in records.items()
        }

    def write_plan(self, spec: Mapping[str, Any], experiment: str, cells: Sequence[Cell]) -> Plan:
        """Keep what was asked for, so that :func:`giveway.experiments.status` knows what is missing."""
        plan = Plan(
            name=content_key({"spec": spec, "experiment": experiment}),
            spec=spec,
            experiment=experiment,
            keys=tuple(cell.key for cell in cells),
            kinds=tuple(sorted({cell.kind for cell in cells})),
        )
        document = {**asdict(plan), "keys": list(plan.keys), "kinds": list(plan.kinds)}
        write_bytes(self.root / "plans" / f"{plan.name[:16]}.json", seal(canonical_json(document)))
        return plan

    def plans(self) -> list[Plan]:
        """Everything that was asked for, newest last; damaged plans are among :meth:`damaged_documents`."""
        found: list[Plan] = []
        for path in sorted(_documents(self.root / "plans"), key=lambda p: p.stat().st_mtime_ns):
            with contextlib.suppress(StoreError):
                found.append(_plan(path))
        return found

    def provenance(self) -> list[dict[str, Any]]:
        """One document per start of a run on this store, oldest first; damaged ones as for :meth:`plans`."""
        found: list[dict[str, Any]] = []
        for path in _documents(self.root / "runs"):
            with contextlib.suppress(StoreError):
                found.append(read_sealed(path, limit=RECORD_BYTES, expect=DOCUMENT).document)
        return found

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
        if not path.exists():
            raise _damaged(path, "the file is missing")
        data = read_bytes(path, limit=SAMPLES_BYTES, expect=RECORD)
        if sha256_of_bytes(data) != document["samples"]["sha256"]:
            self._put_aside(path)  # the cell counts as damaged from now on
            raise _damaged(path, "checksum does not match")
        return parse_table(data, path, trusted=True, expect=RECORD)

    def _put_aside(self, path: Path, name: str = "") -> None:
        with contextlib.suppress(OSError):
            (self.root / DAMAGED).mkdir(exist_ok=True)
            path.replace(self.root / DAMAGED / f"{name or path.name}.damaged")

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
        write_bytes(self.root / STORE_FILE, seal(canonical_json(document)))

    def _check_format(self) -> None:
        path = self.root / STORE_FILE
        if not path.exists():
            raise StoreError(
                "there is no result store", where=self.root, hint="give the folder a run command wrote with --out"
            )
        try:
            document = read_sealed(path, expect=DOCUMENT).document
            version = int(document["format"])
        except (StoreError, ValueError, KeyError, TypeError) as error:
            found = error.found if isinstance(error, StoreError) else error
            raise StoreError(
                "cannot read the store",
                where=path,
                found=found,
                hint="copy store.json from any other store that the same release wrote: it says nothing else",
            ) from error
        if version < STORE_FORMAT:
            raise StoreError(
                "this store was written by an earlier version",
                where=path,
                found=f"format {version} by {document.get('written_by', 'unknown')}; this is format {STORE_FORMAT}",
                hint="start the same 'gaps run' into it again: finished cells are taken over; drive and generate again "
                "into a new folder",
            )
        if version > STORE_FORMAT:
            raise StoreError(
                "this store was written by a newer version",
                where=path,
                found=f"format {version} by {document.get('written_by', 'unknown')}; this is giveway {__version__}, "
                f"which reads up to format {STORE_FORMAT}",
                hint="pip install --upgrade giveway",
            )


def _documents(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.json"))


def _plan(path: Path) -> Plan:
    d = read_sealed(path, limit=RECORD_BYTES, expect=DOCUMENT).document
    try:
        facts = {name: d[name] for name in ("name", "spec", "experiment")}
        return Plan(**facts, keys=tuple(d["keys"]), kinds=tuple(d["kinds"]))
    except (KeyError, TypeError) as error:
        DOCUMENT.refuse(path, "is damaged", f"{type(error).__name__}: {error}")


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
        hint=AGAIN,
    )
