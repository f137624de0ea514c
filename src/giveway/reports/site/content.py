"""What a site consists of: sections with pages, pages with blocks. Plain text throughout; writing escapes it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from giveway.core.origins import banner

Mark = Literal["", "best", "tied", "bad"]
SectionFiles = Callable[[], Iterator[tuple[str, str | bytes]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One place of a table.

    Attributes:
        text: what is shown.
        order: what sorting uses; the text if None.
        mark: ``best`` underlines, ``tied`` adds ≈, ``bad`` is a warning.
        note: shown on hover and to screen readers.
        link: relative address.
    """

    text: str
    order: float | None = None
    mark: Mark = ""
    note: str = ""
    link: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table small enough to be part of its page; columns sort on click.

    Attributes:
        title: heading.
        columns: headings.
        rows: one entry per column.
        caption: what numbers and marks mean.
        numeric: which columns are numbers, and aligned as such.
        filters: columns that get a drop-down list to filter by.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Entry, ...], ...]
    caption: str = ""
    numeric: frozenset[int] = frozenset()
    filters: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Paragraph:
    """A sentence or two; ``warning`` stands out."""

    text: str
    warning: bool = False


def origin_blocks(what: str, origins: Iterable[str]) -> list[Block]:
    """The banner over anything that was not recorded; nothing over recordings."""
    said = banner(what, origins)
    return [Paragraph(text=said, warning=True)] if said else []


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Names and values."""

    title: str
    rows: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A picture file of the section, e.g. an SVG for a paper.

    Attributes:
        title: heading.
        file: relative to the section.
        alt: what it shows, for those who cannot see it.
        caption: what it means.
    """

    title: str
    file: str
    alt: str
    caption: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A drawing made by :mod:`giveway.reports.site.charts`; its markup is trusted.

    Attributes:
        title: heading.
        svg: markup that follows the colors of the page.
        caption: what it shows.
    """

    title: str
    svg: str
    caption: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """Long text that opens on demand, e.g. a traceback."""

    title: str
    text: str
    lead: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Browser:
    """A table too large for its page: sorted, filtered and paged by a script, which loads it from a file.

    Attributes:
        title: heading.
        file: script file with the data, relative to the section; see :mod:`giveway.reports.site.browsing`.
        caption: what can be done.
    """

    title: str
    file: str
    caption: str = ""


Block = Table | Paragraph | Facts | Picture | Chart | Log | Browser


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One HTML file of a section.

    Attributes:
        file: name, e.g. ``index.html``.
        title: heading.
        blocks: from top to bottom.
        lead: one sentence below the heading.
        group: pages of one group share an entry of the menu that opens; empty for an entry of its own.
    """

    file: str
    title: str
    blocks: tuple[Block, ...]
    lead: str = ""
    group: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """Something to cite.

    Attributes:
        key: BibTeX key.
        text: full citation.
        cites: what of the results it belongs to, e.g. ``("dataset rounD",)``.
    """

    key: str
    text: str
    cites: tuple[str, ...]


def _no_files() -> Iterator[tuple[str, str | bytes]]:
    return iter(())


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """The results of one folder.

    Attributes:
        id: folder of the section inside the site.
        title: heading.
        kind: ``gaps``, ``drive``, ``generate``, ``study`` or another kind of cells.
        lead: one sentence for the first page.
        facts: a few numbers for the first page.
        pages: the first one is ``index.html``.
        files: further files, made while the site is written.
        references: what to cite.
    """

    id: str
    title: str
    kind: str
    lead: str
    facts: tuple[tuple[str, str], ...]
    pages: tuple[Page, ...]
    files: SectionFiles = _no_files
    references: tuple[Reference, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much detail a site gets.

    Attributes:
        samples: cells with per-sample tables.
        replays: animated replays per section.
    """

    samples: int = 500
    replays: int = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """What only an application can tell; the commands fill it in.

    Attributes:
        drive_replay: log folder to replay document, or None.
        cell_replays: key of a cell to a function that makes its replay document, most interesting first.
        generated: numbers of generated traffic, see :mod:`giveway.reports.site.generated`; None elsewhere.
        sample_replays: dataset to (sample id to a function that makes its replay document).
        drops: one entry per dataset, prediction time and input length: what became of the candidates.
    """

    drive_replay: Callable[[Any], Mapping[str, Any] | None] | None = None
    cell_replays: Mapping[str, Callable[[], Mapping[str, Any]]] = field(
        default_factory=dict[str, Callable[[], Mapping[str, Any]]]
    )
    generated: Mapping[str, Any] | None = None
    sample_replays: Mapping[str, Mapping[str, Callable[[], Mapping[str, Any]]]] = field(
        default_factory=dict[str, Mapping[str, Callable[[], Mapping[str, Any]]]]
    )
    drops: tuple[Mapping[str, Any], ...] = ()


def number(value: float | None, digits: int = 3) -> str:
    """For people; a dash where there is none."""
    if value is None or not math.isfinite(value):
        return "–"
    return f"{value:.{digits}f}" if abs(value) < 1e5 else f"{value:.3g}"


def value_entry(value: float | None, digits: int = 3, **more: Any) -> Entry:
    """A number that sorts as one; missing ones sort last."""
    known = value is not None and math.isfinite(value)
    return Entry(text=number(value, digits), order=float(value) if known and value is not None else math.nan, **more)
