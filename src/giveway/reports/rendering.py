"""From pages to HTML: one set of templates for sites, single files and tables in notebooks; they escape every text."""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache, partial
from importlib import resources
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from giveway import __version__
from giveway.reports.content import Answers, Block, Browser, Explained, Live, Page, Part, Picture, Replay
from giveway.reports.leaderboard import Board
from giveway.reports.table import Block as TableBlock
from giveway.reports.table import Column, Table

SITE_POLICY = (
    "default-src 'none'; script-src 'self' file:; style-src 'self' file:; img-src 'self' file:; base-uri 'none'; "
    "form-action 'none'"
)
"""Pages load their own files and nothing else; ``file:`` is for pages on disk, where 'self' may match nothing."""
SINGLE_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src 'self' file: data:; "
    "base-uri 'none'; form-action 'none'"
)
"""A single file holds its style and scripts and asks for nothing but pictures beside it."""
STYLES = ("tokens.css", "site.css", "player.css")
PLAYER = ("replay.js", "scene.js", "stage.js", "plots.js", "player.js")
"""Modules of the player, in the order of their imports; ``stage.js`` and those before it draw the clips of a study."""
SCRIPTS: dict[type[Any], tuple[str, ...]] = {
    Browser: ("player.js", "browser.js", "details.js"),
    Replay: ("player.js", "replays.js"),
    Explained: ("explain.js",),
    Live: ("charts.js",),
    Board: ("charts.js", "player.js", "board.js"),
    Answers: ("charts.js",),
}
"""What blocks need beside ``theme.js`` and ``site.js``."""


def render_page(page: Page, *, part: Part | None, parts: Sequence[Part], up: str = "../") -> str:
    """A page of a site.

    Args:
        page: what to show.
        part: where it belongs; None for the first page of the site.
        parts: all of them, for the menu.
        up: relative path to the root of the site.
    """
    title = page.title if part is None or page.title == part.title else f"{page.title} – {part.title}"
    pages = part.pages if part is not None else ()
    menu: dict[str, list[Page]] = {}
    for p in pages:
        menu.setdefault(p.group or p.file, []).append(p)
    return _environment(False).get_template("page.html").render(
        page=page, title=title, part=part, parts=parts, up=up, menu=list(menu.values()),
        policy=SITE_POLICY, styles=STYLES, scripts=scripts_of(page), inline=False, version=__version__,
    )  # fmt: skip


def single_page(page: Page) -> str:
    """The same page as one file that opens from disk: style, scripts, pictures and replays are inside."""
    return _environment(True).get_template("page.html").render(
        page=page, title=page.title, part=None, parts=(), up="", menu=[],
        policy=SINGLE_POLICY, styles=STYLES, scripts=scripts_of(page), inline=True, version=__version__,
    )  # fmt: skip


def replay_page(document: Mapping[str, Any], *, options: Mapping[str, Any] | None = None) -> str:
    """One replay that fills its window, in one file; a content security policy forbids every request.

    Args:
        document: made by :func:`giveway.reports.player.document.replay_document`.
        options: options of ``mountPlayer`` in ``player.js``, e.g. ``{"frame": "ego"}``.
    """
    return _environment(True).get_template("replay.html").render(
        title=str(document.get("title") or "Replay"), document=document, options=dict(options or {})
    )  # fmt: skip


def table_html(table: Table) -> str:
    """A table as a ``<figure>`` without any style of its own."""
    return str(_environment(False).get_template("blocks.html").module.figure(table)).strip() + "\n"  # type: ignore[attr-defined]


def blocks_html(blocks: Iterable[Block]) -> Markup:
    """Blocks that need no script, as a part of another page."""
    block = _environment(False).get_template("blocks.html").module.block  # type: ignore[attr-defined]
    return Markup("\n").join(block(b, number, order=False) for number, b in enumerate(blocks))


def scripts_of(*pages: Page) -> list[str]:
    """Scripts that pages load, in order."""
    needed = ["theme.js", "site.js"]
    for page in pages:
        needed += () if page.answer is None else SCRIPTS[Answers]
        for block in page.blocks:
            needed += SCRIPTS.get(type(block), ())
    return list(dict.fromkeys(needed))


COMMENT = re.compile(r"^ *(//.*|/\*\*[\s\S]*?\*/)$", re.MULTILINE)
"""Comments of a script on lines of their own; pages are written without them."""


@lru_cache
def static_text(name: str) -> str:
    """Text of a file in the folder ``static``; the player consists of ES modules, see :func:`script_text`."""
    return resources.files("giveway.reports").joinpath("static", name).read_text(encoding="utf-8")


def script_text(name: str) -> str:
    """A file of the folder ``static`` as pages load it.

    The player is one ordinary script, since browsers refuse modules from disk.
    """
    if name != "player.js":
        return static_text(name)
    text = COMMENT.sub("", "\n".join(map(static_text, PLAYER)))
    lines = (line.strip().removeprefix("export ") for line in text.splitlines())
    module = "\n".join(line for line in lines if line and not line.startswith("import "))
    given = "window.giveway.mountPlayer = mountPlayer;\nwindow.giveway.createPlayer = createPlayer;"
    return f'"use strict";\n(function () {{\n{module}\n{given}\n}})();\n'


def embed_json(value: Any) -> Markup:
    """JSON that may stand inside a script element: nothing in it can close the element or open a comment."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False, ensure_ascii=True)
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def _source(inline: bool, picture: Picture) -> str:
    if not inline or picture.data is None:
        return picture.file
    kind = "svg+xml" if picture.file.endswith(".svg") else "png"
    return f"data:image/{kind};base64,{base64.b64encode(picture.data).decode()}"


def _static(name: str) -> Markup:
    return Markup(script_text(name))


def _kind(block: Block) -> str:
    return type(block).__name__


def _options(pairs: Iterable[tuple[str, Any]]) -> str:
    return json.dumps(dict(pairs))


def _plain(order: float) -> str:
    """A number as every script reads it, whatever library it comes from; empty for a missing one."""
    return repr(float(order)) if math.isfinite(order) else ""


def _filtered(columns: Sequence[Column]) -> str:
    return " ".join(str(n) for n, column in enumerate(columns) if column.filter)


def _pieces(blocks: Iterable[TableBlock]) -> list[TableBlock]:
    return [piece for block in blocks for piece in block.pieces()]


@lru_cache(maxsize=2)
def _environment(inline: bool) -> Environment:
    environment = Environment(
        loader=PackageLoader("giveway.reports", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    values: dict[str, Any] = {"static": _static, "source": partial(_source, inline), "inline": inline}
    filters: dict[str, Any] = {
        "kind": _kind,
        "plain": _plain,
        "filtered": _filtered,
        "pieces": _pieces,
        "embedded": embed_json,
        "json": partial(json.dumps, allow_nan=False),
        "options": _options,
        "zip": zip,
    }
    environment.globals.update(values)
    environment.filters.update(filters)
    return environment
