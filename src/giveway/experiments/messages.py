"""What workers say while they compute: one line per worker in the store, read by whoever runs it.

Lines are for watching only; a lost or half-read one does no harm, so nothing waits for the disk.
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

from giveway.experiments.progress import Progress

EVERY_S = 0.5
"""A worker writes, and the run looks, at most this often."""


class Teller:
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


@contextlib.contextmanager
def listening(store: Path, report: Progress) -> Generator[None]:
    """Pass on what workers say while the block runs."""
    over = threading.Event()
    thread = threading.Thread(target=_listen, args=(_folder(store), report, over), daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        shutil.rmtree(_folder(store), ignore_errors=True)


def _listen(folder: Path, report: Progress, over: threading.Event) -> None:
    known: dict[str, str] = {}
    while not over.wait(EVERY_S):
        for path in sorted(folder.glob("*.txt")) if folder.is_dir() else ():
            with contextlib.suppress(OSError, UnicodeDecodeError):
                text = path.read_text(encoding="utf-8")
                if text and known.get(path.name) != text:
                    known[path.name] = text
                    report.hear(text)


def _folder(store: Path) -> Path:
    return store / "runs" / "now"
