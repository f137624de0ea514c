"""What a chapter of the demo is and what it leaves behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from giveway.reports.content import Block, Heading, Links, Log, Paragraph, Picture
from giveway.reports.table import Table, entry, table_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """Part of a chapter's page.

    Attributes:
        heading: one line.
        text: a sentence or two.
        command: what to type to get the same; empty if there is no single command.
        image: picture to show, relative to the demo's folder.
        links: (label, file relative to the demo's folder) of things to open.
        table: header row and body rows of text, or a table of results; empty for none.
    """

    heading: str
    text: str = ""
    command: str = ""
    image: Path | None = None
    links: tuple[tuple[str, Path], ...] = ()
    table: tuple[tuple[str, ...], ...] | Table = ()

    def blocks(self) -> Iterator[Block]:
        """The section as blocks of a page."""
        yield self.table if isinstance(self.table, Table) else Heading(text=self.heading, level=3)
        if self.text:
            yield Paragraph(text=self.text)
        if self.command:
            yield Log(title="", text=self.command, open=True)
        if self.table and not isinstance(self.table, Table):
            head, *rows = self.table
            yield table_of("", head, [tuple(map(entry, row)) for row in rows], numeric=())
        if self.image is not None:
            yield Picture(title="", file=self.image.as_posix(), alt=self.heading)
        if self.links:
            yield Links(items=tuple((label, path.as_posix()) for label, path in self.links))


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
