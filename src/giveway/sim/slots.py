"""Worlds of a batch that begin another case while the others go on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from giveway.sim.state import Static

SHARED = ("bounds", "road")
"""Fields of ``Static`` that all worlds share."""


def copied_worlds(library: Static, numbers: Sequence[int]) -> Static:
    """A batch of worlds of a library, each a copy."""
    rows = np.array(numbers, dtype=np.int64)
    return Static(**{n: v if n in SHARED else v[rows].copy() for n, v in library._asdict().items()})


def load_world(static: Static, library: Static, w: int, number: int) -> None:
    """Make world ``w`` of a batch a copy of a world of the library."""
    for name, values in library._asdict().items():
        if name not in SHARED:
            getattr(static, name)[w] = values[number]
