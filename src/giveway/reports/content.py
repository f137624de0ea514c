"""What a page consists of: blocks from top to bottom, as plain values; :mod:`giveway.reports.rendering` writes HTML."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from giveway.core.origins import Origin, banner
from giveway.reports.leaderboard import Board, Segments
from giveway.reports.live_charts import LiveChart
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
class Live:
    """A chart that is drawn in the browser, with its numbers one click away."""

    chart: LiveChart
    title: str = ""
    caption: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came out, as one sentence and one picture.

    Attributes:
        question: of the application.
        sentence: made from the results; an interval that includes zero reads as a tie.
        chart: what the sentence says.
        foot: how much it rests on, how sure it is.
        badges: what is not real about it, or which recordings it is about.
        warnings: why the picture may say less than it seems to.
    """

    question: str
    sentence: str
    chart: LiveChart | None = None
    foot: str = ""
    badges: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """Cards side by side.

    Attributes:
        items: answers and where there is more.
        guide: explain marks and lines below.
    """

    items: tuple[tuple[Answer, str], ...]
    guide: bool = False


BADGES = {
    Origin.SYNTHETIC: "synthetic recordings",
    Origin.GENERATED: "generated traffic",
    Origin.RECORDED: "recorded traffic",
}


def origin_badges(origins: Iterable[str]) -> tuple[str, ...]:
    """Short words for where motion came from; unknown origins have none."""
    return tuple(BADGES[Origin(o)] for o in origins if Origin(o) in BADGES)


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
        strip: show a film strip first, and the player on demand.
    """

    title: str
    file: str
    document: Document
    options: tuple[tuple[str, Any], ...] = ()
    caption: str = ""
    strip: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """One encounter of the cognitive driver model, step by step; see ``explain.js`` for the numbers it needs."""

    document: Mapping[str, Any]


Block = (
    Table
    | Board
    | Segments
    | Paragraph
    | Heading
    | Facts
    | Links
    | Picture
    | Chart
    | Live
    | Answers
    | Gallery
    | Log
    | Browser
    | Replay
    | Explained
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One HTML file.

    Attributes:
        title: heading.
        blocks: from top to bottom.
        file: name, e.g. ``index.html``.
        lead: one sentence below the heading.
        group: pages of one group share an entry of the menu that opens; empty for an entry of its own.
        answer: what the first page of a site says about these results; None lists them by name only.
    """

    title: str
    blocks: tuple[Block, ...]
    file: str = "index.html"
    lead: str = ""
    group: str = ""
    answer: Answer | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The results of one folder, as a part of a site.

    Attributes:
        id: folder inside the site.
        kind: of the results.
        pages: the first one is ``index.html``.
        cites: components to cite, see :func:`giveway.reports.citations.citations_for`.
        run: provenance of the last start; empty if there is none.
        menu: short title for the menu; the heading of its first page without it.
    """

    id: str
    kind: str
    pages: tuple[Page, ...]
    cites: tuple[str, ...] = ()
    run: Mapping[str, Any] = field(default_factory=dict[str, Any])
    menu: str = ""

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
