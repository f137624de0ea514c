"""Locks between processes that the operating system keeps, and that vanish with the process that holds them.

The library ``filelock`` does the work: ``flock`` where there is one, byte ranges on Windows. Its lock by existence
("soft"), which a killed process leaves behind, is never used: a file system without locks says so with an
:class:`OSError`, and the caller decides.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import filelock


class FolderLock:
    """A lock on a file of its own; not a file with content, because Windows lets nobody read what is locked.

    Args:
        path: of the locked file; created when the lock is taken, its folder must exist.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = filelock.FileLock(path, mode=0o644, thread_local=False, fallback_to_soft=False)

    def take(self) -> bool:
        """Take it if it is free, without waiting; whether it is ours now.

        Raises:
            OSError: the file cannot be opened, or its file system has no locks.
        """
        try:
            self._lock.acquire(blocking=False)
        except filelock.Timeout:
            return False
        return True

    def wait(self) -> None:
        """Take it as soon as it is free.

        Raises:
            OSError: as above.
        """
        self._lock.acquire()

    def let_go(self) -> None:
        """Free it again; nothing happens if it is not ours."""
        self._lock.release()

    def remove(self) -> None:
        """Free it and delete its file: for locks that nobody asks for again."""
        with suppress(OSError):  # Windows deletes no open file; there the library does it after closing
            self.path.unlink()
        self.let_go()


@contextmanager
def waiting_lock(path: Path) -> Generator[bool]:
    """Hold a lock for the length of a block, waiting for it; yields False where the file system has none.

    For work that two processes may do twice without harm: only time is lost then.
    """
    lock = FolderLock(path)
    held = False
    with suppress(OSError):
        lock.wait()
        held = True
    try:
        yield held
    finally:
        lock.let_go()
