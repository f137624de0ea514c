"""Loaded by the workers of a cluster that a run starts on its own machine: Ctrl-C is for the run, not for them.

A terminal sends it to every process it started. Workers that obeyed would lose the cells that the run wants to finish.
"""

from __future__ import annotations

import signal
from typing import Any


def dask_setup(worker: Any) -> None:
    """Called by Dask when the worker starts."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
