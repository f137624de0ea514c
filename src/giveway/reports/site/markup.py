"""From pages to HTML; every text is escaped here and nowhere else."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence

from giveway import __version__
from giveway.reports.site.content import (
    Block,
    Browser,
    Chart,
    Entry,
    Facts,
    Log,
    Page,
    Paragraph,
    Picture,
    Section,
    Table,
)

POLICY = (
    "default-src 'none'; script-src 'self' file:; style-src 'self' file:; img-src 'self' file:; base-uri 'none'; "
    "form-action 'none'"
)
"""Pages load their own files and nothing else; ``file:`` is for pages on disk, where 'self' may match nothing."""
TIED = '<abbr title="not significantly worse than the best">≈</abbr>'


def render_page(page: Page, *, section: Section | None, sections: Sequence[Section], up: str = "../") -> str:
    """A whole HTML document.

    Args:
        page: what to show.
        section: where it belongs; None for the first page of the site.
        sections: all of them, for the menu.
        up: relative way to the root of the site.
    """
    title = page.title if section is None or page.title == section.title else f"{page.title} – {section.title}"
    scripts = ["site.js"]
    if any(isinstance(block, Browser) for block in page.blocks):
        scripts += ["player.js", "browser.js", "details.js"]
    body = "\n".join(_block(block, number) for number, block in enumerate(page.blocks))
    lead = f'<p class="lead">{_e(page.lead)}</p>' if page.lead else ""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{_e(POLICY)}">
<meta name="referrer" content="no-referrer">
<title>{_e(title)}</title>
<link rel="stylesheet" href="{up}assets/site.css">
<link rel="stylesheet" href="{up}assets/player.css">
{"".join(f'<script defer src="{up}assets/{name}"></script>' for name in scripts)}
</head>
<body>
<a class="skip" href="#content">To the content</a>
<header>
<p class="brand"><a href="{up}index.html">Give Way</a></p>
<nav aria-label="Results">{_menu(sections, section, up)}</nav>
<button type="button" id="theme" hidden>Dark</button>
</header>
{_pages_menu(section, page)}
<main id="content" tabindex="-1">
<h1>{_e(page.title)}</h1>
{lead}
{body}
</main>
<footer><p>Made by giveway {_e(__version__)} from files alone; nothing on these pages asks another host.</p></footer>
</body>
</html>
"""


def _menu(sections: Sequence[Section], current: Section | None, up: str) -> str:
    links = [
        f'<a href="{up}{_e(s.id)}/index.html"{_current(current is not None and s.id == current.id)}>{_e(s.title)}</a>'
        for s in sections
    ]
    return "".join([*links, f'<a href="{up}citations.html">Citations</a>'])


def _pages_menu(section: Section | None, page: Page) -> str:
    if section is None or len(section.pages) < 2:
        return ""
    parts: dict[str, list[str]] = {}
    for p in section.pages:
        link = f'<a href="{_e(p.file)}"{_current(p.file == page.file)}>{_e(p.title)}</a>'
        parts.setdefault(p.group or p.file, []).append(link)
    groups = {p.group for p in section.pages if p.group}
    shown = "".join(
        f"<details><summary>{_e(name)} ({len(links)})</summary><div>{''.join(links)}</div></details>"
        if name in groups
        else "".join(links)
        for name, links in parts.items()
    )
    return f'<nav class="pages" aria-label="{_e(section.title)}">{shown}</nav>'


def _current(is_current: bool) -> str:
    return ' aria-current="page"' if is_current else ""


def _block(block: Block, number: int) -> str:
    if isinstance(block, Table):
        return _table(block, number)
    if isinstance(block, Paragraph):
        return f'<p class="{"warning" if block.warning else "note"}">{_e(block.text)}</p>'
    if isinstance(block, Facts):
        rows = "".join(f"<div><dt>{_e(k)}</dt><dd>{_e(v)}</dd></div>" for k, v in block.rows)
        return f'{_heading(block.title)}<dl class="facts">{rows}</dl>'
    if isinstance(block, Picture):
        picture = f'<img src="{_e(block.file)}" alt="{_e(block.alt)}" loading="lazy">'
        return f'{_heading(block.title)}<figure class="paper">{picture}{_caption(block.caption)}</figure>'
    if isinstance(block, Chart):
        return f'{_heading(block.title)}<figure class="chart">{block.svg}{_caption(block.caption)}</figure>'
    if isinstance(block, Log):
        lead = f"<p>{_e(block.lead)}</p>" if block.lead else ""
        return f"<details><summary>{_e(block.title)}</summary>{lead}<pre>{_e(block.text)}</pre></details>"
    return (
        f'{_heading(block.title)}<p class="note">{_e(block.caption)}</p>'
        f'<div class="browser" data-source="{_e(block.file)}"><p class="note" role="status">Loading …</p></div>'
        "<noscript><p>This table is drawn by a script; please allow scripts for this page.</p></noscript>"
    )


def _table(table: Table, number: int) -> str:
    head = "".join(
        f'<th scope="col"{_numeric(k, table)}><button type="button">{_e(title)}</button></th>'
        for k, title in enumerate(table.columns)
    )
    rows = "".join(
        "<tr>" + "".join(_cell(entry, k, table) for k, entry in enumerate(row)) + "</tr>" for row in table.rows
    )
    filters = f' data-filters="{" ".join(map(str, table.filters))}"' if table.filters else ""
    return (
        f'{_heading(table.title)}<div class="scroll" tabindex="0" role="region" aria-label="{_e(table.title)}">'
        f'<table id="table-{number}" class="sortable"{filters}><thead><tr>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>{_caption(table.caption, 'p')}"
    )


def _cell(entry: Entry, column: int, table: Table) -> str:
    attributes = _numeric(column, table)
    if entry.order is not None:
        attributes += f' data-order="{float(entry.order)!r}"' if math.isfinite(entry.order) else ' data-order=""'
    if entry.note:
        attributes += f' title="{_e(entry.note)}"'
    text = _e(entry.text)
    if entry.link:
        text = f'<a href="{_e(entry.link)}">{text}</a>'
    if entry.mark == "best":
        text = f"<u>{text}</u>"
    elif entry.mark == "tied":
        text = f"{text}{TIED}"
    elif entry.mark == "bad":
        text = f'<span class="bad">{text}</span>'
    return f"<td{attributes}>{text}</td>"


def _numeric(column: int, table: Table) -> str:
    return ' class="n"' if column in table.numeric else ""


def _heading(title: str) -> str:
    return f"<h2>{_e(title)}</h2>" if title else ""


def _caption(text: str, tag: str = "figcaption") -> str:
    if not text:
        return ""
    return f'<p class="note">{_e(text)}</p>' if tag == "p" else f"<figcaption>{_e(text)}</figcaption>"


def _e(text: str) -> str:
    return html.escape(str(text), quote=True)
