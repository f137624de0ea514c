"""What a chapter of the demo is and what it leaves behind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """Part of a chapter's page.

    Attributes:
        heading: one line.
        text: a sentence or two.
        command: what to type to get the same; empty if there is no single command.
        image: picture to show, relative to the demo's folder.
        links: (label, file relative to the demo's folder) of things to open.
        table: header row and body rows of text; empty for none.
        fragment: HTML made by our own reports, shown as it is.
    """

    heading: str
    text: str = ""
    command: str = ""
    image: Path | None = None
    links: tuple[tuple[str, Path], ...] = ()
    table: tuple[tuple[str, ...], ...] = ()
    fragment: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chapter:
    """One application, tried once.

    Attributes:
        name: short, for the progress line and ``--json``.
        title: heading of the page.
        run: does the work in ``folder`` and says what to show; paths are relative to the demo's folder ``root``.
    """

    name: str
    title: str
    run: Callable[[Path, int], tuple[Section, ...]]
