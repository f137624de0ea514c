"""Where the traffic of drives comes from: what tables call the recorded drivers depends on it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from giveway.core.log import DriveLog
from giveway.core.origins import Origin, RowOrigin, sorted_origins

HUMANS = "recorded humans"
UNKNOWN = "unknown"
"""Origin of the rows of logs that earlier releases wrote."""


def reference_name(origins: Sequence[str]) -> str:
    """How tables call the recorded drivers: humans only if every row of them was recorded."""
    return HUMANS if list(origins) == [Origin.RECORDED] else f"reference traffic ({', '.join(origins) or UNKNOWN})"


def reference_origins(logs: Iterable[DriveLog]) -> tuple[str, ...]:
    """Origins of all rows that the recordings of some logs show, the most real first; unknown ones last."""
    rows: set[RowOrigin] = set()
    unknown = False
    for log in logs:
        seen = np.flatnonzero(log.recorded.observed.any(axis=1))
        unknown |= not log.recorded_origins and seen.size > 0
        rows |= {log.recorded_origins[row] for row in seen.tolist()} if log.recorded_origins else set()
    return (*sorted_origins(rows), *((UNKNOWN,) if unknown else ()))
