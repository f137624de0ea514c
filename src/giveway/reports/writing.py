"""Writing a site: complete or not at all."""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from giveway import __version__
from giveway.core.checked import read_json
from giveway.core.errors import GivewayError, UsageError
from giveway.core.files import as_store_error, replace_folder
from giveway.core.origins import NOT_REAL
from giveway.reports.browsing import script
from giveway.reports.citations import Citation, bibliography, citations_for
from giveway.reports.content import Answers, Block, Browser, Files, Log, Page, Paragraph, Part, Picture, Replay
from giveway.reports.rendering import STYLES, render_page, script_text, scripts_of
from giveway.reports.table import entry, table_of

MARKER = "giveway-site.json"
TOP = ("assets", "index.html", "citations.html", "references.bib")
"""What every site has at its root, beside the marker and its sections."""
IGNORED = frozenset({".DS_Store", "Thumbs.db"})
"""File managers leave these in any folder they show."""
MAX_NAMES = 5

Progress = Callable[[int, str], None]


def write_site(out: Path, parts: Sequence[Part], *, title: str, progress: Progress | None = None) -> int:
    """Write all pages and files; an older site in the same folder is replaced at the end.

    The old site is moved aside, the new one moved in, and only then the old one deleted, so that a process that is
    killed leaves at least one whole site, if only beside the folder under a hidden name.

    Args:
        out: folder; must be new, empty or hold an older site and nothing else. Links are followed.
        parts: at least one.
        title: of the first page.
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
        count = _write(work, parts, title, say)
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


def _write(work: Path, parts: Sequence[Part], title: str, say: Progress) -> int:
    count = 0
    made: set[Path] = set()
    written: set[str] = set()

    def put(name: str, content: str | bytes) -> None:
        nonlocal count
        path = work / name
        if name in written:
            return  # e.g. a replay that two pages show
        written.add(name)
        if path.parent not in made:
            path.parent.mkdir(parents=True, exist_ok=True)
            made.add(path.parent)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        count += 1
        say(count, name)

    home = first_page(parts, title)
    assets = [*STYLES, *scripts_of(home, *(page for part in parts for page in part.pages))]
    for name in assets:
        put(f"assets/{name}", script_text(name))
    citations = citations_for(dict.fromkeys(component for part in parts for component in part.cites))
    for page in (home, citations_page(citations)):
        put(page.file, render_page(page, part=None, parts=parts, up=""))
    put("references.bib", bibliography(citations))
    for part in parts:
        for page in part.pages:
            put(f"{part.id}/{page.file}", render_page(page, part=part, parts=parts))
            for name, content in (file for block in page.blocks for file in files_of(block)):
                put(f"{part.id}/{name}", content)
    put(MARKER, json.dumps({"made_by": f"giveway {__version__}", "sections": [part.id for part in parts]}) + "\n")
    return count


def files_of(block: Block) -> Files:
    """Files that a block needs beside its page."""
    if isinstance(block, Browser):
        yield from block.files()
    elif isinstance(block, Replay):
        yield block.file, script(block.file, block.document())
    elif isinstance(block, Picture) and block.data is not None:
        yield block.file, block.data


def first_page(parts: Sequence[Part], title: str) -> Page:
    """The answers, one card each; what has no answer is named below. Cards have badges for what is not
    recorded traffic; of the rest this is said first.
    """
    answered = [(part.pages[0].answer, f"{part.id}/index.html") for part in parts if part.pages[0].answer]
    blocks: list[Block] = [Answers(items=tuple((a, link) for a, link in answered if a), guide=True)] if answered else []
    others = [part for part in parts if part.pages[0].answer is None]
    if others:
        rows = ((entry(p.title, link=f"{p.id}/index.html"), entry(p.kind), entry(p.pages[0].lead)) for p in others)
        heading = "Further results" if answered else ""
        blocks.append(table_of(heading, ("results", "kind", "what there is"), rows, numeric=()))
    notices: dict[tuple[bool, str], list[str]] = {}
    for part in parts:
        for block in part.pages[0].blocks:
            if isinstance(block, Paragraph) and block.text.startswith(NOT_REAL):
                notices.setdefault((part.pages[0].answer is None, block.text), []).append(part.title)
    said = [(has_no_badge, f"{', '.join(titles)}. {text}") for (has_no_badge, text), titles in notices.items()]
    first = [Paragraph(text=text, warning=True) for has_no_badge, text in said if has_no_badge]
    blocks = [*first, *blocks, *(Paragraph(text=text) for has_no_badge, text in said if not has_no_badge)]
    return Page(title=title, lead=_provenance(parts), blocks=tuple(blocks))


def _provenance(parts: Sequence[Part]) -> str:
    """One line: what was run, when, by which code, in which profile."""
    runs = [part.run for part in parts if part.run]
    if not runs:
        return ""
    codes = {f"giveway {r['code']['giveway']} at {str(r['code'].get('commit') or 'unknown')[:7]}" for r in runs}
    profiles = {str(r["spec"]["profile"]) for r in runs if isinstance(r.get("spec"), dict) and r["spec"].get("profile")}
    counts = [r.get("counts") or {} for r in runs]
    failed = sum(int(c.get("failed", 0)) for c in counts)
    cells = f"{sum(int(c.get('total', 0)) for c in counts):,} cells, {failed or 'none'} failed"
    ended = max(str(r.get("ended") or r.get("started") or "") for r in runs)[:10]
    return " · ".join(
        filter(None, (ended, ", ".join(sorted(codes)), *(f"profile {p}" for p in sorted(profiles)), cells))
    )


def citations_page(citations: Sequence[Citation]) -> Page:
    """What to cite for what, and the same as BibTeX."""
    rows = ((entry(c.text), entry(", ".join(c.used_for)), entry(c.key)) for c in citations)
    table = table_of("", ("reference", "for", "key"), rows, numeric=())
    note = Paragraph(text="Metrics, predictors and datasets appear here because these results use them.")
    bib = Log(title="BibTeX (also in references.bib)", text=bibliography(citations))
    return Page(file="citations.html", title="Citations", blocks=(note, table, bib))
