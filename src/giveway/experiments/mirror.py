"""A result store in an object store, with a copy on this machine.

Workers put results straight into the object store, where an object appears whole or not at all. The copy serves
everything that reads: it is brought up to date before and after a run. Objects have the names and the bytes of the
files of a store on disk, so either can be copied to the other by any tool.

A copy carries the time of its object, so an object that was replaced is fetched again and a file that was written here
since is sent. Plans are always exchanged: they are few, and a second one may come within the resolution of that time.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import secrets
import shutil
import threading
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from giveway.core.checked import OWN, read_bytes
from giveway.core.errors import StoreError
from giveway.experiments.cells import content_key
from giveway.experiments.lock import is_running_here
from giveway.experiments.object_store import ObjectStoreError, cache_folder, open_remote, remote_errors
from giveway.experiments.records import Encoded
from giveway.experiments.store import SHARED, STORE_FILE, Store

OBJECT_BYTES = 16 << 30
BEAT_S = 60.0
STALE_S = 900.0
"""A lock whose owner has not renewed it for so long is taken over."""

_held: set[str] = set()
"""Tokens of the locks of this process; one that is not here was left behind when the store did not answer."""

FOLDERS = ("failed", "plans", "runs", SHARED, "attachments", "cells")
ALWAYS = "plans"
MODIFIED = ("LastModified", "last_modified", "mtime", "updated", "created")
"""Where kinds of object stores say when an object was written."""


class MirroredStore(Store):
    """A store whose home is an object store."""

    def __init__(self, mirror: Mirror, *, create: bool = False) -> None:
        super().__init__(mirror.folder, create=create)
        self._mirror = mirror

    @property
    def address(self) -> str:
        """Where workers write."""
        return self._mirror.address

    def refresh(self) -> None:
        """Bring over what workers have written."""
        self._mirror.fetch((SHARED, "attachments", "cells"))


class Mirror:
    """The copy of a remote store.

    Args:
        address: e.g. ``s3://bucket/R``.
    """

    def __init__(self, address: str) -> None:
        self.address = address.rstrip("/")
        self.folder = cache_folder() / "stores" / content_key(self.address)[:32]

    def pull(self) -> MirroredStore:
        """The store, up to date, for reading.

        Raises:
            StoreError: if there is none at the address.
        """
        if not self._exists():
            raise StoreError(
                "there is no result store", where=self.address, hint="give the address a run command wrote with --out"
            )
        self.fetch()
        return MirroredStore(self)

    @contextlib.contextmanager
    def working(self) -> Generator[MirroredStore]:
        """The store for a run: locked against others, created if new, sent to its home at the end.

        Raises:
            StoreError: if another run is using it.
        """
        with RemoteLock(self.address):
            if self._exists():
                self.fetch()
            elif self.folder.exists():
                shutil.rmtree(self.folder)  # a copy of something that is no more
            store = MirroredStore(self, create=True)
            self._send([self.folder / STORE_FILE])
            try:
                yield store
            except BaseException:
                with contextlib.suppress(ObjectStoreError):  # what ended the run is what people should read
                    self.push()
                raise
            self.push()

    def fetch(self, folders: Sequence[str] = FOLDERS) -> None:
        """Copy what is missing here or was replaced there."""
        fs, root = open_remote(self.address)
        wanted: list[tuple[_Object, Path]] = []
        for name, found in self._objects(fs, root).items():
            path = self.folder / name
            inside = path.relative_to(self.folder).parts
            if ".." in inside or path.is_symlink() or not (inside[0] in folders or inside == (STORE_FILE,)):
                continue
            if inside[0] == ALWAYS or not path.is_file() or not found.is_copied_by(path.stat()):
                wanted.append((found, path))
        for start in range(0, len(wanted), 256):
            self._fetch(fs, wanted[start : start + 256])

    def push(self) -> None:
        """Send what the object store does not have; forget failures that are forgotten here."""
        fs, root = open_remote(self.address)
        there = self._objects(fs, root)
        here = {
            path.relative_to(self.folder).as_posix(): path
            for folder in FOLDERS
            for path in (self.folder / folder).rglob("*")
            if path.is_file() and not path.name.startswith(".")
        }
        self._send(
            path
            for name, path in here.items()
            if name.startswith(f"{ALWAYS}/") or name not in there or there[name].is_older_than(path.stat())
        )
        gone = [found.name for name, found in there.items() if name.startswith("failed/") and name not in here]
        if gone:
            with remote_errors(self.address):
                fs.rm(gone)

    def _objects(self, fs: Any, root: str) -> dict[str, _Object]:
        """Everything there is, by its path in the store."""
        with remote_errors(self.address):
            fs.invalidate_cache()
            listing: dict[str, dict[str, Any]] = fs.find(root, detail=True)
        return {name.removeprefix(root).lstrip("/"): _Object.of(name, info) for name, info in listing.items()}

    def _exists(self) -> bool:
        fs, root = open_remote(self.address)
        with remote_errors(self.address):
            fs.invalidate_cache()
            return bool(fs.exists(f"{root}/{STORE_FILE}"))

    def _send(self, paths: Iterable[Path]) -> None:
        fs, root = open_remote(self.address)
        with remote_errors(self.address):
            for path in paths:
                fs.pipe_file(
                    f"{root}/{path.relative_to(self.folder).as_posix()}",
                    read_bytes(path, limit=OBJECT_BYTES, expect=OWN),
                )

    def _fetch(self, fs: Any, wanted: list[tuple[_Object, Path]]) -> None:
        with remote_errors(self.address):
            content: dict[str, bytes] = fs.cat([found.name for found, _ in wanted], on_error="omit")
        for found, path in wanted:
            if found.name in content:
                path.parent.mkdir(parents=True, exist_ok=True)
                temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
                temporary.write_bytes(content[found.name])
                if found.modified_ns is not None:
                    os.utime(temporary, ns=(found.modified_ns, found.modified_ns))
                temporary.replace(path)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Object:
    """One object as the listing describes it.

    Attributes:
        name: full path in the object store.
        size: bytes, if the listing tells.
        modified_ns: when it was written, in whole microseconds, if the listing tells.
    """

    name: str
    size: int | None
    modified_ns: int | None

    @classmethod
    def of(cls, name: str, info: Mapping[str, Any]) -> _Object:
        told: Any = next((info[key] for key in MODIFIED if info.get(key) is not None), None)
        if isinstance(told, str):
            with contextlib.suppress(ValueError):
                told = datetime.fromisoformat(told)
        seconds = told.timestamp() if isinstance(told, datetime) else told if isinstance(told, int | float) else None
        return cls(
            name=name,
            size=info.get("size"),
            modified_ns=None if seconds is None else round(seconds * 1e6) * 1000,
        )

    def is_copied_by(self, file: os.stat_result) -> bool:
        """Whether a file of ours is this object as it is now."""
        same_time = self.modified_ns is None or abs(file.st_mtime_ns - self.modified_ns) < 1000
        return same_time and file.st_size == self.size

    def is_older_than(self, file: os.stat_result) -> bool:
        """Whether a file of ours was written since; without times, whether it has another size."""
        if self.modified_ns is None:
            return file.st_size != self.size
        return file.st_mtime_ns - self.modified_ns >= 1000


def put_result(address: str, key: str, encoded: Encoded) -> None:
    """Write a result into a remote store; the record comes last, because it is what counts."""
    fs, root = _connection(address, os.getpid())
    with remote_errors(address):
        for digest, data in encoded.shared.items():
            fs.pipe_file(f"{root}/{SHARED}/{digest[:2]}/{digest}.json", data)
        for name, data in encoded.attachments.items():
            fs.pipe_file(f"{root}/attachments/{key[:2]}/{key}/{name}", data)
        if encoded.samples is not None:
            fs.pipe_file(f"{root}/cells/{key[:2]}/{key}.parquet", encoded.samples)
        fs.pipe_file(f"{root}/cells/{key[:2]}/{key}.json", encoded.record)


@cache
def _connection(address: str, pid: int) -> tuple[Any, str]:
    return open_remote(address)


class RemoteLock:
    """One run at a time on a remote store; renewed while it is held, and taken over if it has not been for long."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._stop = threading.Event()
        self._beats = threading.Thread(target=self._beat, daemon=True)
        self._token = secrets.token_hex(8)

    def __enter__(self) -> RemoteLock:
        fs, root = open_remote(self.address)
        with remote_errors(self.address):
            fs.invalidate_cache()
            owner = self._owner(fs, root)
            if owner is not None and not _is_stale(owner):
                raise StoreError(
                    "another run is using this store",
                    where=self.address,
                    found=f"process {owner.get('pid')} on {owner.get('host')} since {owner.get('since')}",
                    hint="wait for it to finish, stop it, or choose another --out; a run that was killed lets go after "
                    f"{STALE_S / 60:.0f} minutes",
                )
            fs.pipe_file(f"{root}/lock", self._note())
            if (self._owner(fs, root) or {}).get("token") != self._token:
                raise StoreError("another run has just started on this store", where=self.address, hint="wait for it")
        _held.add(self._token)
        self._beats.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        _held.discard(self._token)
        with contextlib.suppress(Exception):  # the lock goes stale by itself
            fs, root = open_remote(self.address)
            fs.rm_file(f"{root}/lock")

    def _beat(self) -> None:
        while not self._stop.wait(BEAT_S):
            with contextlib.suppress(Exception):
                fs, root = open_remote(self.address)
                fs.pipe_file(f"{root}/lock", self._note())

    def _note(self) -> bytes:
        now = datetime.now(UTC).isoformat(timespec="seconds")
        note = {"pid": os.getpid(), "host": platform.node(), "since": now, "token": self._token}
        return json.dumps(note).encode()

    @staticmethod
    def _owner(fs: Any, root: str) -> dict[str, Any] | None:
        try:
            note: Any = json.loads(fs.cat_file(f"{root}/lock"))
        except (FileNotFoundError, ValueError):
            return None
        return note if isinstance(note, dict) else None


def _is_stale(owner: dict[str, Any]) -> bool:
    if owner.get("host") == platform.node():
        if not is_running_here(owner.get("pid")):
            return True
        if owner.get("pid") == os.getpid() and owner.get("token") not in _held:
            return True
    try:
        renewed = datetime.fromisoformat(str(owner["since"]))
        return (datetime.now(UTC) - renewed).total_seconds() > STALE_S
    except (KeyError, ValueError, TypeError):
        return True
