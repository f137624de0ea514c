"""Intermediate results that several metrics of one log share."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

from giveway.core.log import DriveLog

T = TypeVar("T")


def once_per_log(compute: Callable[[DriveLog], T]) -> Callable[[DriveLog], T]:
    """Keep the result for the last log, recognized by identity: metrics of a log are asked for one after the other."""
    last: tuple[DriveLog, T] | None = None

    @wraps(compute)
    def kept(log: DriveLog) -> T:
        nonlocal last
        known = last  # one read, so that threads with other logs do no harm
        if known is None or known[0] is not log:
            known = last = (log, compute(log))
        return known[1]

    return kept
