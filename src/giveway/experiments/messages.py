"""What workers report while they compute, and how they are asked to end: files in the store of a run.

A worker keeps one line in a file of its own, which the run reads. Lines are for watching only; a lost or half-read one
does no harm, so nothing waits for the disk. A marker asks workers to begin no further cell of their batch.
"""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
import threading
import time
from collections.abc import Generator
from pathlib import Path

from giveway.experiments.engine import Control
from giveway.experiments.progress import Progress

EVERY_S = 0.5
"""A worker writes, and the run looks, at most this often."""


class Messenger:
    """Keeps the latest line of this process in a folder.

    Args:
        store: folder of the store.
    """

    def __init__(self, store: Path) -> None:
        self._path = _folder(store) / f"{platform.node()}-{os.getpid()}.txt"
        self._last = 0.0

    def __call__(self, text: str) -> None:
        """Write a line, unless the last one is very young; a full or read-only disk is no reason to fail."""
        now = time.monotonic()
        if now - self._last < EVERY_S:
            return
        self._last = now
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            temporary = self._path.with_suffix(".tmp")
            temporary.write_text(text, encoding="utf-8")
            temporary.replace(self._path)


def is_draining(store: Path) -> bool:
    """Whether the run on a store was asked to end early."""
    return _marker(store).exists()


@contextlib.contextmanager
def listening(store: Path, report: Progress, control: Control) -> Generator[None]:
    """Pass on what workers report while the block runs, and tell them when the run is asked to end."""
    shutil.rmtree(_folder(store), ignore_errors=True)  # of a run that was killed
    over = threading.Event()
    thread = threading.Thread(target=_listen, args=(store, report, control, over), daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        shutil.rmtree(_folder(store), ignore_errors=True)


def _listen(store: Path, report: Progress, control: Control, over: threading.Event) -> None:
    folder, known = _folder(store), dict[str, str]()
    while not over.wait(EVERY_S):
        if control.draining and not is_draining(store):
            with contextlib.suppress(OSError):
                folder.mkdir(parents=True, exist_ok=True)
                _marker(store).touch()
        for path in sorted(folder.glob("*.txt")) if folder.is_dir() else ():
            with contextlib.suppress(OSError, UnicodeDecodeError):
                text = path.read_text(encoding="utf-8")
                if text and known.get(path.name) != text:
                    known[path.name] = text
                    report.hear(text)


def _folder(store: Path) -> Path:
    return store / "runs" / "now"


def _marker(store: Path) -> Path:
    return _folder(store) / "drain"
