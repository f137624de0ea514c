"""Which results there are below a folder, and one site of all of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from giveway.core.checked import DOCUMENT_BYTES, read_bytes
from giveway.core.errors import EmptySelectionError, GivewayError, StoreError, UnknownNameError, UsageError
from giveway.reports.citations import Citation, bibliography, citations_for
from giveway.reports.content import Page, PageLimits, Paragraph, Part
from giveway.reports.results import Results
from giveway.reports.section import BUILTIN, SECTIONS
from giveway.reports.writing import Progress, require_replaceable, write_site

STORE_FILE, STUDY_FILE = "store.json", "study.toml"
MAX_DEPTH = 3
OPTIONS = ("data", "recorded", "draws", "database")
"""Options of results that sections know."""
TEXT, BIBTEX = "text", "bibtex"


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A site that was made.

    Attributes:
        page: its first page.
        files: how many files it consists of.
        parts: one per result.
    """

    page: Path
    files: int
    parts: tuple[Part, ...]


def make_report(
    folder: Path,
    out: Path,
    *,
    title: str | None = None,
    limits: PageLimits | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Report:
    """A site of all results at or below a folder.

    Args:
        folder: a run store, a study, or a folder that holds several of them.
        out: folder for the site; an older site there is replaced.
        title: heading of the first page; the name of the folder without it.
        limits: how much detail.
        progress: called with the number of files written so far and the latest one.
        options: ``data``: recordings, for the maps in replays of drives; ``recorded``: recordings that the motion of
            generated traffic is compared with, ``data`` or synthetic ones without it; ``draws``: bootstrap draws for
            studies; ``database``: URL of the database of a study.

    Raises:
        UsageError: no such folder, or ``out`` holds something else or is one the process stands in.
        EmptySelectionError: nothing to report.
    """
    for name in options:
        if name not in OPTIONS:
            raise UnknownNameError("setting of a report", name, ("title", "limits", "progress", *OPTIONS))
    require_replaceable(out)
    found = find_results(folder, without=out)
    given = {name: value for name, value in options.items() if value is not None}
    made: dict[Path, Part] = {}
    for root, id in zip(found, _ids(folder, found), strict=True):
        try:
            made[root] = _part(Results.open(root, **given), id, limits or PageLimits())
        except (StoreError, UsageError) as error:
            if len(found) == 1:
                raise
            made[root] = _unread(id, error)
    order = list(BUILTIN)
    parts = sorted(_distinct(folder, made), key=lambda p: order.index(p.kind) if p.kind in order else len(order))
    count = write_site(out, parts, title=title or folder.resolve().name, progress=progress)
    return Report(page=out / "index.html", files=count, parts=tuple(parts))


def report(folder: Path | str, out: Path | str, **settings: Any) -> Path:
    """Make a site of all results at or below a folder; it opens from disk.

    Args:
        folder: a run store, a study, or a folder that holds several of them.
        out: folder for the site; an older site there is replaced.
        settings: see :func:`make_report`: ``title``, ``limits``, ``data``, ``recorded``, ``draws``, ``database``.

    Returns:
        The first page.

    Raises:
        EmptySelectionError: nothing to report.
    """
    return make_report(Path(folder), Path(out), **settings).page


def citations_of(folder: Path | str) -> list[Citation]:
    """Works behind the datasets, predictors and metrics that results used; folder as for :func:`report`."""
    found = [Results.open(root) for root in find_results(Path(folder))]
    return citations_for([component for results in found for component in results.cites()])


def cite(folder: Path | str, *, form: str = TEXT) -> str:
    """References for the datasets, predictors and metrics that results used.

    Args:
        folder: as for :func:`report`.
        form: ``text`` or ``bibtex``.
    """
    if form not in (TEXT, BIBTEX):
        raise UsageError("unknown format", where="--format", found=form, hint="text or bibtex")
    citations = citations_of(folder)
    if form == BIBTEX:
        return bibliography(citations)
    return "".join(f"{c.text}\n    for {', '.join(c.used_for)}\n" for c in citations)


def find_results(folder: Path, *, without: Path | None = None) -> list[Path]:
    """Run stores and studies at or below a folder.

    Args:
        folder: where to look.
        without: a folder below it to pass over.

    Raises:
        UsageError: no such folder.
        EmptySelectionError: nothing to report there.
    """
    if not folder.is_dir():
        raise UsageError("there is no such folder", where=folder)
    skipped = None if without is None else without.resolve()
    found = sorted(
        root for root in _search(folder, MAX_DEPTH) if skipped not in (root.resolve(), *root.resolve().parents)
    )
    if not found:
        raise EmptySelectionError(
            "no results to report",
            where=folder,
            found=f"no {STORE_FILE} and no {STUDY_FILE} down to {MAX_DEPTH} levels",
            hint="give the folder that giveway gaps run, drive run, generate run or study create wrote with --out",
        )
    return found


def _part(results: Results, id: str, limits: PageLimits) -> Part:
    results = results.frozen()
    pages = tuple(results.pages(limits))
    return Part(
        id=id,
        kind=results.kind,
        pages=pages,
        cites=tuple(results.cites()),
        run=dict((results.runs or [{}])[-1]),
        menu=SECTIONS.get(results.kind).title,
    )


def _unread(id: str, error: GivewayError) -> Part:
    """A folder that cannot be shown; the others of the report can."""
    said = Paragraph(text=str(error), warning=True)
    return Part(id=id, kind="unread", pages=(Page(title=f"Not shown: {id}", lead=error.what, blocks=(said,)),))


def _search(folder: Path, depth: int) -> Iterator[Path]:
    if (folder / STUDY_FILE).is_file() or _is_run_store(folder / STORE_FILE):
        yield folder
        return
    if depth:
        for child in folder.iterdir():
            if child.is_dir() and not child.name.startswith("."):
                yield from _search(child, depth - 1)


def _is_run_store(file: Path) -> bool:
    """Converted recordings also lie in stores; those of runs say who wrote them."""
    return file.is_file() and b'"written_by"' in read_bytes(file, limit=DOCUMENT_BYTES)


def _distinct(folder: Path, made: Mapping[Path, Part]) -> list[Part]:
    """Parts of the same title get the name of their folder behind it."""
    shared = Counter(part.title for part in made.values())
    parts: list[Part] = []
    for root, part in made.items():
        if shared[part.title] == 1:
            parts.append(part)
            continue
        place = root.relative_to(folder)
        named = place.parent if place.name == "results" and place.parent.name else place
        first = replace(part.pages[0], title=f"{part.title} ({named.name or root.resolve().name})")
        parts.append(replace(part, pages=(first, *part.pages[1:]), menu=""))
    return parts


def _ids(folder: Path, found: Sequence[Path]) -> list[str]:
    """Names for folders of the site, unique and harmless in an address."""
    ids: list[str] = []
    for root in found:
        name = "-".join(root.relative_to(folder).parts) or root.resolve().name
        slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "results"
        slug = f"{slug}-results" if slug == "assets" else slug
        ids.append(slug if slug not in ids else f"{slug}-{len(ids)}")
    return ids
