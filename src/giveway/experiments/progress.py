"""How far a run has come: a bar on a terminal, plain lines otherwise."""

from __future__ import annotations

import math
import sys
import time
from types import TracebackType
from typing import Protocol, TextIO

from giveway.core.remaining_time import RemainingTime, duration

LINE_EVERY_S = 5.0
"""At most one plain line in this time, apart from failures and the last one."""


class Progress(Protocol):
    """What a run tells while it goes on."""

    def start(self, *, total: int, skipped: int, workers: int) -> None:
        """Called once: ``total`` cells, of which ``skipped`` are finished already."""
        ...

    def update(self, *, done: int, failed: int, current: str, problem: str = "", workers: int = 0) -> None:
        """Called after every cell; ``problem`` is one line about a failure, ``workers`` how many there are now."""
        ...

    def say(self, text: str) -> None:
        """A line that must be seen."""
        ...

    def hear(self, text: str) -> None:
        """How far a worker is with its cell; from another thread, and only the latest matters."""
        ...

    def __enter__(self) -> Progress: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class SilentProgress:
    """Says nothing."""

    def start(self, *, total: int, skipped: int, workers: int) -> None:
        """Nothing."""

    def update(self, *, done: int, failed: int, current: str, problem: str = "", workers: int = 0) -> None:
        """Nothing."""

    def say(self, text: str) -> None:
        """Nothing."""

    def hear(self, text: str) -> None:
        """Nothing."""

    def __enter__(self) -> SilentProgress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None


class LineProgress(SilentProgress):
    """Plain lines, for logs and pipes.

    Args:
        stream: where to; standard error by default, so that ``--json`` output stays clean.
        every_s: at most one line in this time.
    """

    def __init__(self, stream: TextIO | None = None, *, every_s: float = LINE_EVERY_S) -> None:
        self._remaining = RemainingTime()
        self._stream = stream or sys.stderr
        self._every_s = every_s
        self._total = self._skipped = 0
        self._began = self._last = 0.0
        self._heard = -math.inf

    def start(self, *, total: int, skipped: int, workers: int) -> None:
        """One line with the amount of work."""
        self._total, self._skipped = total, skipped
        self._began = self._last = time.monotonic()
        already = f", {skipped} done before" if skipped else ""
        self.say(f"{total} cells{already}" + f", {_workers(workers)}" * (workers > 0))

    def update(self, *, done: int, failed: int, current: str, problem: str = "", workers: int = 0) -> None:
        """A line if it is time for one, the run ends, or something failed."""
        if problem:
            self.say(f"failed: {problem}")
        now = time.monotonic()
        self._remaining.add(done + failed, now - self._began)
        over = done + failed + self._skipped >= self._total
        if now - self._last < self._every_s and not over:
            return
        self._last = now
        left = self._remaining.left_s(self._total - self._skipped)
        text = describe(done, failed, self._skipped, self._total, now - self._began, left)
        if not over:
            text += f", {_workers(workers)}" * (workers > 0) + f"  {current}"
        self.say(text)

    def hear(self, text: str) -> None:
        """A line now and then."""
        if time.monotonic() - self._heard >= self._every_s:
            self._heard = time.monotonic()
            self.say(text)

    def say(self, text: str) -> None:
        """Write and flush, so that a log file can be followed."""
        self._stream.write(text + "\n")
        self._stream.flush()


class BarProgress(SilentProgress):
    """A live bar on a terminal."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
        from rich.progress import Progress as RichProgress

        self._bar = RichProgress(
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TextColumn("{task.fields[left]}"),
            TextColumn("{task.fields[workers]}", markup=False),
            TextColumn("{task.fields[failed]}", style="red", markup=False),
            TextColumn("{task.fields[current]}", markup=False),
            console=Console(stderr=True),
        )
        self._task = self._bar.add_task("", total=None, rate="", left="", workers="", failed="", current="")
        self._remaining = RemainingTime()
        self._skipped = self._total = 0
        self._began = 0.0

    def start(self, *, total: int, skipped: int, workers: int) -> None:
        """Show the bar."""
        self._skipped, self._total, self._began = skipped, total, time.monotonic()
        self._bar.reset(self._task, total=total, completed=skipped, rate="", left="", workers="", failed="", current="")

    def update(self, *, done: int, failed: int, current: str, problem: str = "", workers: int = 0) -> None:
        """Move the bar; failures are printed above it."""
        if problem:
            self.say(f"failed: {problem}")
        elapsed = max(time.monotonic() - self._began, 1e-9)
        self._remaining.add(done + failed, elapsed)
        left = self._remaining.left_s(self._total - self._skipped)
        self._bar.update(
            self._task,
            completed=self._skipped + done + failed,
            rate=f"{(done + failed) / elapsed:.3g}/s",
            left="" if left is None else f"{duration(left)} left",
            workers=_workers(workers) if workers else "",
            failed=f"{failed} failed" if failed else "",
            current=current[:60],
        )

    def hear(self, text: str) -> None:
        """Behind the bar."""
        self._bar.update(self._task, current=text[-90:])

    def say(self, text: str) -> None:
        """A line above the bar."""
        self._bar.console.print(text, markup=False, highlight=False)

    def __enter__(self) -> BarProgress:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()


def default_progress() -> Progress:
    """A bar if standard error is a terminal, lines otherwise."""
    return BarProgress() if sys.stderr.isatty() else LineProgress()


def describe(done: int, failed: int, skipped: int, total: int, elapsed_s: float, left_s: float | None = None) -> str:
    """``"12/40 (30 %), 1 failed, 2.4 cells/s, 12 s left"``."""
    finished = done + failed
    rate = finished / elapsed_s if elapsed_s > 0 else 0.0
    parts = [f"{skipped + finished}/{total} ({100 * (skipped + finished) / max(total, 1):.0f} %)"]
    if failed:
        parts.append(f"{failed} failed")
    parts.append(f"{rate:.3g} cells/s")
    if left_s is not None:
        parts.append(f"{duration(left_s)} left")
    return ", ".join(parts)


def _workers(number: int) -> str:
    return f"{number} worker{'s' if number != 1 else ''}"
