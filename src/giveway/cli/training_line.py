"""How far a training is: a bar on a terminal, plain lines otherwise."""

from __future__ import annotations

import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from giveway.generate.learning.training import RoundReport, Tick

LINE_EVERY_S = 10.0


@contextmanager
def training_line(total: int) -> Generator[tuple[Any, Any]]:
    """Functions that show ticks and rounds: a bar on a terminal, plain lines otherwise."""
    began = time.monotonic()
    first: list[int] = []

    def text(tick: Tick) -> str:
        if not first:
            first.append(tick.steps)
        rate = (tick.steps - first[0]) / max(time.monotonic() - began, 1e-9)
        if tick.stage != "learning":
            return f"{rate:.0f} steps/s, {tick.stage} the scripted cars"
        return f"{rate:.0f} steps/s, noise {tick.noise:.3f}, return {tick.mean_return:.2f}"

    def said(report: RoundReport) -> str:
        measures = ", ".join(f"{name.replace('_', ' ')} {value:.3f}" for name, value in report.evaluation.items())
        return f"{report.steps} steps, return {report.mean_return:.2f}, loss {report.critic_loss:.3f}; {measures}"

    if sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.description}"))
        with Progress(*columns, console=Console(stderr=True)) as bar:
            task = bar.add_task("", total=total)
            yield (
                lambda tick: bar.update(task, completed=tick.steps, description=text(tick)),
                lambda report: bar.console.print(said(report), markup=False, highlight=False),
            )
        return
    last = [began]

    def line(tick: Tick) -> None:
        current = text(tick)
        if time.monotonic() - last[0] >= LINE_EVERY_S:
            last[0] = time.monotonic()
            sys.stderr.write(f"{tick.steps}/{total} ({100 * tick.steps / total:.0f} %), {current}\n")
            sys.stderr.flush()

    def after(report: RoundReport) -> None:
        sys.stderr.write(said(report) + "\n")
        sys.stderr.flush()

    yield line, after
