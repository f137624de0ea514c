"""How far a command is: a bar on a terminal, plain lines otherwise; always on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

LINE_EVERY_S = 2.0


@contextmanager
def counting(title: str, *, quiet: bool = False) -> Generator[Callable[[int, int, str], None]]:
    """A function to be called with (done, total, what comes next); a total of 0 is one that is not known.

    Args:
        title: what is going on, e.g. ``"verify"``.
        quiet: say nothing.
    """
    if quiet:
        yield lambda done, total, current: None
    elif sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (
            TextColumn(title),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.description}"),
        )
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("", total=None)
            yield lambda done, total, current: bar.update(
                task, completed=done, total=total or None, description=current
            )
    else:
        last = time.monotonic()

        def line(done: int, total: int, current: str) -> None:
            nonlocal last
            if time.monotonic() - last >= LINE_EVERY_S:
                last = time.monotonic()
                sys.stderr.write(f"{title}: {done}{f' of {total}' if total else ''}, {current}\n")
                sys.stderr.flush()

        yield line
