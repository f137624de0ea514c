"""One run per store at a time.

The lock is held by the operating system on an open file and vanishes with the process that holds it, so a run killed
by ``kill -9`` never leaves a store locked. The file also says who holds it, for the message. File systems without such
locks (some cluster mounts) fall back to that note: it counts as long as its process lives on this machine, or if it
was written on another one.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import platform
import time
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

from giveway.core.errors import StoreError
from giveway.core.files import as_store_error

UNSUPPORTED = frozenset({errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS, errno.EINVAL})


class StoreLock:
    """Context manager; entering raises :class:`StoreError` if another run is active on the store."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._fd: int | None = None

    def __enter__(self) -> StoreLock:
        try:
            fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise as_store_error(error, self.path) from error
        if not self._acquire(fd):
            os.close(fd)
            raise self._refusal(read_owner(self.path))
        os.ftruncate(fd, 0)
        note = {"pid": os.getpid(), "host": platform.node(), "since": datetime.now(UTC).isoformat(timespec="seconds")}
        os.pwrite(fd, json.dumps(note).encode(), 0)
        self._fd = fd
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._fd is not None:
            os.ftruncate(self._fd, 0)
            os.close(self._fd)
            self._fd = None

    def _acquire(self, fd: int) -> bool:
        for wait_s in (0.05, 0.1, 0.0):  # someone asking is_held() holds it for an instant
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                if error.errno in UNSUPPORTED:
                    return not _counts(read_owner(self.path))
                time.sleep(wait_s)
            else:
                return True
        return False

    def is_held(self) -> bool:
        """Whether a run is active now; takes nothing."""
        try:
            fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError as error:
            return error.errno not in UNSUPPORTED or _counts(read_owner(self.path))
        finally:
            os.close(fd)
        return False

    def _refusal(self, owner: dict[str, Any]) -> StoreError:
        who = f"process {owner['pid']} on {owner['host']} since {owner['since']}" if owner else "another process"
        return StoreError(
            "another run is using this store",
            where=self.path.parent,
            found=who,
            hint="wait for it to finish, stop it, or choose another folder with --out",
        )


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
    try:
        os.kill(int(pid), 0)
    except (ProcessLookupError, TypeError, ValueError):
        return False
    except PermissionError:
        return True
    return True
