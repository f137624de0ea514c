"""What a chapter of the demo is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Chapter:
    """A step of the demo.

    Attributes:
        name: key.
        title: one line.
        run: called with the demo's folder and the seed; leaves results there, which the report shows.
    """

    name: str
    title: str
    run: Callable[[Path, int], None]
