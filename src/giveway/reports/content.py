"""What a page consists of: blocks from top to bottom, as plain values; :mod:`giveway.reports.rendering` writes HTML."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from giveway.core.origins import banner
from giveway.reports.table import Table

Files = Iterator[tuple[str, str | bytes]]
"""Names relative to the folder of a page, and contents."""
Document = Callable[[], Mapping[str, Any]]
"""Makes a replay document, see :func:`giveway.reports.player.document.replay_document`."""


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
class Heading:
    """Start of a part of a page; ``id`` can be linked to, ``level`` is 2 or 3."""

    text: str
    id: str = ""
    level: int = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Names and values."""

    title: str
    rows: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """Labels and relative addresses."""

    items: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A picture, e.g. a figure as for a paper.

    Attributes:
        title: heading.
        file: name in the folder of the page; a single page holds the picture itself.
        alt: what it shows, for those who cannot see it.
        data: PNG or SVG; None if the file is there already.
        caption: what it means.
    """

    title: str
    file: str
    alt: str
    data: bytes | None = None
    caption: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A drawing made by :mod:`giveway.reports.charts`; its markup is trusted.

    Attributes:
        title: heading.
        svg: markup that follows the colors of the page.
        caption: what it shows.
    """

    title: str
    svg: str
    caption: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gallery:
    """Small drawings side by side."""

    items: tuple[Chart, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """Long text that opens on demand, e.g. a traceback; with ``open`` it is shown at once, e.g. a command."""

    title: str
    text: str
    lead: str = ""
    open: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Browser:
    """A table too large for its page: sorted, filtered and paged by a script, which loads it from a file.

    Attributes:
        title: heading.
        file: script file with the data, see :mod:`giveway.reports.browsing`.
        files: makes this file and those that it refers to.
        caption: what can be done.
    """

    title: str
    file: str
    files: Callable[[], Files]
    caption: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """An animated scene.

    Attributes:
        title: heading.
        file: script file with the document.
        document: makes it.
        options: of ``mountPlayer`` in ``player.js``, e.g. ``{"frame": "ego"}``.
        caption: what happens.
    """

    title: str
    file: str
    document: Document
    options: tuple[tuple[str, Any], ...] = ()
    caption: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """One encounter of the cognitive driver model, step by step; see ``explain.js`` for the numbers it needs."""

    document: Mapping[str, Any]


Block = Table | Paragraph | Heading | Facts | Links | Picture | Chart | Gallery | Log | Browser | Replay | Explained


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One HTML file.

    Attributes:
        title: heading.
        blocks: from top to bottom.
        file: name, e.g. ``index.html``.
        lead: one sentence below the heading.
        group: pages of one group share an entry of the menu that opens; empty for an entry of its own.
        facts: a few numbers that the first page of a site repeats.
    """

    title: str
    blocks: tuple[Block, ...]
    file: str = "index.html"
    lead: str = ""
    group: str = ""
    facts: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The results of one folder, as a part of a site.

    Attributes:
        id: folder inside the site.
        kind: of the results.
        pages: the first one is ``index.html``.
        cites: components to cite, see :func:`giveway.reports.citations.citations_for`.
    """

    id: str
    kind: str
    pages: tuple[Page, ...]
    cites: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """Heading of its first page."""
        return self.pages[0].title


@dataclass(frozen=True, slots=True, kw_only=True)
class PageLimits:
    """How much detail pages get.

    Attributes:
        samples: cells with per-sample tables.
        replays: animated replays per result.
    """

    samples: int = 500
    replays: int = 200
