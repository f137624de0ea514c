"""The page the demo ends with: static, relative links, nothing fetched."""

from __future__ import annotations

import html
from collections.abc import Sequence
from pathlib import Path

from giveway.demo.chapter import Section

STYLE = """
:root { color-scheme: light dark; --ink: #1c1e21; --back: #fff; --faint: #5b6168; --edge: #d5d7da; --link: #0b63c5; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #eceef0; --back: #16181b; --faint: #a4abb3; --edge: #3a3f45; --link: #7db7ff; }
}
body { margin: 0 auto; max-width: 60rem; padding: 1rem; font: 16px/1.5 system-ui, sans-serif;
  color: var(--ink); background: var(--back); }
a { color: var(--link); }
img { max-width: 100%; height: auto; background: #fff; }
pre { overflow-x: auto; padding: .5rem .75rem; border: 1px solid var(--edge); border-radius: 4px; }
table { border-collapse: collapse; display: block; overflow-x: auto; }
th, td { padding: .2rem .75rem .2rem 0; text-align: left; border-bottom: 1px solid var(--edge); }
nav ul { display: flex; flex-wrap: wrap; gap: .25rem 1rem; list-style: none; padding: 0; }
footer { color: var(--faint); }
"""


def demo_page(chapters: Sequence[tuple[str, str, Sequence[Section]]], version: str) -> str:
    """HTML of the demo's index.

    Args:
        chapters: (name, title, sections).
        version: of the package.
    """
    links = "".join(f'<li><a href="#{html.escape(name)}">{html.escape(title)}</a></li>' for name, title, _ in chapters)
    body = "".join(
        f'<section id="{html.escape(name)}"><h2>{html.escape(title)}</h2>{"".join(map(_section, sections))}</section>'
        for name, title, sections in chapters
    )
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' file: data:"
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>Give Way: demo</title>
<style>{STYLE}</style>
</head>
<body>
<header><h1>Give Way</h1>
<p>How well do machines understand drivers who must share a piece of road? Everything below was made just now, on this
machine, from synthetic recordings.</p></header>
<nav aria-label="Chapters"><ul>{links}</ul></nav>
<main>{body}</main>
<footer><p>giveway {html.escape(version)}</p></footer>
</body>
</html>
"""


def _section(section: Section) -> str:
    parts = [f"<h3>{html.escape(section.heading)}</h3>"]
    if section.text:
        parts.append(f"<p>{html.escape(section.text)}</p>")
    if section.command:
        parts.append(f"<pre>{html.escape(section.command)}</pre>")
    if section.table:
        parts.append(_table(section.table))
    parts.append(section.fragment)
    if section.image is not None:
        parts.append(f'<img src="{_link(section.image)}" alt="{html.escape(section.heading)}">')
    if section.links:
        items = "".join(f'<li><a href="{_link(path)}">{html.escape(label)}</a></li>' for label, path in section.links)
        parts.append(f"<ul>{items}</ul>")
    return "".join(parts)


def _link(path: Path) -> str:
    return html.escape(path.as_posix())


def _table(rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f'<th scope="col">{html.escape(cell)}</th>' for cell in rows[0])
    body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows[1:])
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
