"""Writing a site: complete or not at all."""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
from collections.abc import Callable, Sequence
from importlib import resources
from pathlib import Path

from giveway import __version__
from giveway.core.checked import read_json
from giveway.core.errors import GivewayError, UsageError
from giveway.core.files import as_store_error, replace_folder
from giveway.core.origins import NOT_REAL
from giveway.reports.player.page import static_text
from giveway.reports.site.content import Block, Entry, Facts, Log, Page, Paragraph, Reference, Section, Table
from giveway.reports.site.markup import render_page

MARKER = "giveway-site.json"
ASSETS = ("site.css", "site.js", "browser.js", "details.js")
TOP = ("assets", "index.html", "citations.html", "references.bib")
"""What every site has at its root, beside the marker and its sections."""
IGNORED = frozenset({".DS_Store", "Thumbs.db"})
"""File managers leave these in any folder they show."""
MAX_NAMES = 5
EXPORT = re.compile(r"^export ", re.MULTILINE)

Progress = Callable[[int, str], None]


def write_site(
    out: Path, sections: Sequence[Section], *, title: str, bibtex: str, progress: Progress | None = None
) -> int:
    """Write all pages and files; an older site in the same folder is replaced at the end.

    The old site is moved aside, the new one moved in, and only then the old one deleted, so that a process that is
    killed leaves at least one whole site, if only beside the folder under a hidden name.

    Args:
        out: folder; must be new, empty or hold an older site and nothing else. Links are followed.
        sections: at least one.
        title: of the first page.
        bibtex: bibliography to offer.
        progress: called with the number of files written so far and the latest one.

    Returns:
        Number of files.

    Raises:
        UsageError: if the folder holds something else, or is one the process stands in.
        StoreError: if it cannot be written.
    """
    out = out.resolve()
    require_replaceable(out)
    work = out.with_name(f".{out.name}.{os.getpid()}.{secrets.token_hex(4)}.tmp")
    say = progress or (lambda count, name: None)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        count = _write(work, sections, title, bibtex, say)
        replace_folder(work, out)
    except OSError as error:
        raise as_store_error(error, out) from error
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return count


def require_replaceable(out: Path) -> None:
    """Stop before anything is done if replacing the folder would take away what is not ours.

    Raises:
        UsageError: if the folder holds something else than a site, or is one the process stands in.
    """
    out = out.resolve()
    if out == Path.cwd() or out in Path.cwd().parents:
        raise UsageError(
            "a site replaces its folder, and you stand in this one",
            where=out,
            hint=f"cd {out.parent} and give --out {out.name}" if out.name else "choose a new folder with --out",
        )
    if not out.exists():
        return
    if not out.is_dir():
        raise UsageError("this is a file, not a folder", where=out, hint="choose a new folder with --out")
    others = sorted({p.name for p in out.iterdir()} - _names_of_site(out) - IGNORED)
    if others:
        shown = ", ".join(others[:MAX_NAMES]) + (f" and {len(others) - MAX_NAMES} more" if others[MAX_NAMES:] else "")
        raise UsageError("the folder holds other files", where=out, found=shown, hint="choose a new folder with --out")


def _names_of_site(folder: Path) -> set[str]:
    """What an older site put into its folder; nothing if there is none."""
    try:
        sections = read_json(folder / MARKER)["sections"]
    except (GivewayError, KeyError, TypeError):
        return set()
    return {MARKER, *TOP, *map(str, sections)}


def _write(work: Path, sections: Sequence[Section], title: str, bibtex: str, say: Progress) -> int:
    count = 0
    made: set[Path] = set()

    def put(name: str, content: str | bytes) -> None:
        nonlocal count
        path = work / name
        if path.parent not in made:
            path.parent.mkdir(parents=True, exist_ok=True)
            made.add(path.parent)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        count += 1
        say(count, name)

    for name in ASSETS:
        put(f"assets/{name}", resources.files("giveway.reports.site").joinpath("assets", name).read_text("utf-8"))
    put("assets/player.js", classic_player())
    put("assets/player.css", static_text("player.css"))
    first = first_page(sections, title)
    put("index.html", render_page(first, section=None, sections=sections, up=""))
    references = citations_page(sections, bibtex)
    put("citations.html", render_page(references, section=None, sections=sections, up=""))
    put("references.bib", bibtex)
    for section in sections:
        for page in section.pages:
            put(f"{section.id}/{page.file}", render_page(page, section=section, sections=sections))
        for name, content in section.files():
            put(f"{section.id}/{name}", content)
    put(MARKER, json.dumps({"made_by": f"giveway {__version__}", "sections": [s.id for s in sections]}) + "\n")
    return count


def classic_player() -> str:
    """The replay player as an ordinary script, since browsers refuse modules from disk."""
    module = EXPORT.sub("", static_text("player.js"))
    return f'"use strict";\n(function () {{\n{module}\nwindow.giveway.mountPlayer = mountPlayer;\n}})();\n'


def first_page(sections: Sequence[Section], title: str) -> Page:
    """What there is, with a few numbers each; first of all, which of it is not recorded traffic."""
    blocks: list[Block] = [
        Paragraph(text=f"{section.title}. {block.text}", warning=True)
        for section in sections
        for block in section.pages[0].blocks
        if isinstance(block, Paragraph) and block.text.startswith(NOT_REAL)
    ]
    blocks += [
        Table(
            title="",
            columns=("results", "kind", "what there is"),
            rows=tuple(
                (Entry(text=s.title, link=f"{s.id}/index.html"), Entry(text=s.kind), Entry(text=s.lead))
                for s in sections
            ),
        )
    ]
    blocks += [Facts(title=s.title, rows=s.facts) for s in sections if s.facts]
    return Page(file="index.html", title=title, blocks=tuple(blocks))


def citations_page(sections: Sequence[Section], bibtex: str) -> Page:
    """What to cite for what, and the same as BibTeX."""
    merged: dict[str, Reference] = {}
    for reference in (r for s in sections for r in s.references):
        known = merged.get(reference.key)
        cites = tuple(dict.fromkeys((*(known.cites if known else ()), *reference.cites)))
        merged[reference.key] = Reference(key=reference.key, text=reference.text, cites=cites)
    rows = tuple((Entry(text=r.text), Entry(text=", ".join(r.cites)), Entry(text=r.key)) for r in merged.values())
    table = Table(title="", columns=("reference", "for", "key"), rows=rows)
    note = Paragraph(text="Metrics, models and datasets appear here because these results use them.")
    bib = Log(title="BibTeX (also in references.bib)", text=bibtex)
    return Page(file="citations.html", title="Citations", blocks=(note, table, bib))
