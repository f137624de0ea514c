"""How far a command is: a bar on a terminal, plain lines otherwise; always on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

from giveway.core.remaining_time import RemainingTime, duration

LINE_EVERY_S = 2.0


class Pace:
    """Units per second and the time left, as a text; nothing about the latter before it can be told."""

    def __init__(self) -> None:
        self._began, self._remaining = time.monotonic(), RemainingTime()

    def __call__(self, done: int, total: int) -> str:
        """After so many units: ``"3.1/s, 40 s left"``."""
        elapsed = time.monotonic() - self._began
        self._remaining.add(done, elapsed)
        left = self._remaining.left_s(total)
        rate = [f"{done / elapsed:.3g}/s"] if done and elapsed > 0 else []
        return ", ".join([*rate, *([] if left is None else [f"{duration(left)} left"])])


@contextmanager
def counting(title: str, *, quiet: bool = False) -> Generator[Callable[[int, int, str], None]]:
    """A function to be called with (done, total, what comes next); a total of 0 is one that is not known.

    Args:
        title: what is going on, e.g. ``"verify"``.
        quiet: say nothing.
    """
    if quiet:
        yield lambda done, total, current: None
        return
    pace = Pace()
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        columns = (TextColumn(title), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[pace]}"))
        with Progress(*columns, TextColumn("{task.description}"), console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("", total=None, pace="")
            yield lambda done, total, current: bar.update(
                task, completed=done, total=total or None, description=current, pace=pace(done, total)
            )
        return
    last = time.monotonic()

    def line(done: int, total: int, current: str) -> None:
        nonlocal last
        said = pace(done, total)
        if time.monotonic() - last >= LINE_EVERY_S:
            last = time.monotonic()
            counted = f"{done}{f' of {total}' if total else ''}"
            sys.stderr.write(f"{title}: {', '.join(part for part in (counted, said, current) if part)}\n")
            sys.stderr.flush()

    yield line
