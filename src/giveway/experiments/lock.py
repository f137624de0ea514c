"""One run per store at a time.

The lock is held by the operating system and vanishes with the process that holds it, so a run killed by ``kill -9``
never leaves a store locked. What is locked is the file ``<name>.held``; ``<name>`` beside it says who holds it, where
and since when, for the message: Windows lets nobody read a file that is locked. File systems without such locks (some
cluster mounts) and stores that may only be read fall back to that note: it counts as long as its process lives on this
machine, or if it was written on another one.
"""

from __future__ import annotations

import json
import os
import platform
import time
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

from giveway.core.errors import DiskFullError, StoreError
from giveway.core.files import as_store_error, disk_full
from giveway.core.locks import FolderLock

ASK_AGAIN_S = (0.05, 0.1, 0.0)
"""Somebody asking whether a store is in use holds its lock for an instant."""


class StoreLock:
    """Context manager; entering raises :class:`StoreError` if another run is active on the store."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = FolderLock(path.with_name(f"{path.name}.held"))
        self._held = False

    def __enter__(self) -> StoreLock:
        try:
            self._held = self._acquire()
            if not self._held:
                raise self._refusal(read_owner(self.path))
            self._write_note()
        except OSError as error:
            self._lock.let_go()
            raise as_store_error(error, self.path) from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._held:
            self._held = False
            try:
                self.path.write_bytes(b"")
            except OSError:  # the disk is gone or read-only by now; the note of a dead process does not count
                self.path.unlink(missing_ok=True)
            finally:
                self._lock.let_go()

    def _write_note(self) -> None:
        since = datetime.now(UTC).isoformat(timespec="seconds")
        self.path.write_text(json.dumps({"pid": os.getpid(), "host": platform.node(), "since": since}))

    def _acquire(self) -> bool:
        for wait_s in ASK_AGAIN_S:
            try:
                if self._lock.take():
                    return True
            except OSError as error:
                if _cannot_open(error, self.path):
                    raise
                return not _counts(read_owner(self.path))
            time.sleep(wait_s)
        return False

    def is_held(self) -> bool:
        """Whether a run is active now; takes nothing."""
        if not self.path.exists():
            return False
        for wait_s in ASK_AGAIN_S:
            try:
                if self._lock.take():
                    self._lock.let_go()
                    return False
            except OSError:
                return _counts(read_owner(self.path))
            if read_owner(self.path):
                return True
            time.sleep(wait_s)  # a run that starts or ends, or somebody else who asks
        return True

    def _refusal(self, owner: dict[str, Any]) -> StoreError:
        who = f"process {owner['pid']} on {owner['host']} since {owner['since']}" if owner else "another process"
        return StoreError(
            "another run is using this store",
            where=self.path.parent,
            found=who,
            hint="wait for it to finish, stop it, or choose another folder with --out",
        )


def _cannot_open(error: OSError, path: Path) -> bool:
    """Whether a lock failed because nothing can be written beside it, rather than for want of locks."""
    full: DiskFullError | None = disk_full(error, path=path)
    return full is not None or isinstance(error, PermissionError | FileNotFoundError | NotADirectoryError)


def read_owner(path: Path) -> dict[str, Any]:
    """Who wrote the note in the lock file; empty if nobody holds it."""
    try:
        note: Any = json.loads(path.read_bytes() or b"{}")
    except (OSError, ValueError):
        return {}
    return note if isinstance(note, dict) and {"pid", "host", "since"} <= set(note) else {}


def _counts(owner: dict[str, Any]) -> bool:
    if not owner:
        return False
    return owner["host"] != platform.node() or is_running_here(owner["pid"])


def is_running_here(pid: Any) -> bool:
    """Whether this machine has a process of this number."""
    import psutil

    try:
        return psutil.pid_exists(int(pid))
    except (TypeError, ValueError, OverflowError):
        return False
