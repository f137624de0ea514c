"""How a fit is doing, for people: a bar on a terminal, plain lines otherwise."""

from __future__ import annotations

import math
import sys
import time
from typing import TextIO

from giveway.predictors.commotions.fitting.search import Trace

FIRST_LINE_S = 1.0
LINE_EVERY_S = 5.0


class TraceLines:
    """Callable for ``on_trace``: best loss, acquisition and time left, at most one line in 5 s.

    On a terminal one line is rewritten in place instead.

    Args:
        label: what is fitted.
        stream: where to; standard error by default.
    """

    def __init__(self, label: str, stream: TextIO | None = None) -> None:
        self.label = label
        self.stream = sys.stderr if stream is None else stream
        self._next = math.inf  # the first evaluation loads the kernel and starts the clock

    def __call__(self, trace: Trace) -> None:
        """Tell about the last evaluation."""
        now, finished = time.monotonic(), trace.done == trace.total
        live = self.stream.isatty()
        if math.isinf(self._next):
            self._next = now + FIRST_LINE_S
        if not finished and now < self._next:
            return
        self._next = now + (0.1 if live else LINE_EVERY_S)
        acquisition = "" if trace.acquisition is None else f"  log EI {trace.acquisition:.2f}"
        text = (
            f"{self.label}  {trace.done}/{trace.total}  best loss {trace.best:.3f}{acquisition}"
            f"  {trace.seconds:.0f} s, {trace.seconds_left:.0f} s left"
        )
        self.stream.write(f"\r\x1b[2K{text}" + ("\n" if finished else "") if live else text + "\n")
        self.stream.flush()
