"""Finding results below a folder and making one site of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from giveway.core.checked import DOCUMENT_BYTES, read_bytes
from giveway.core.errors import EmptySelectionError, UsageError
from giveway.reports.citations import bibliography, citations_for
from giveway.reports.site.content import Limits, Section
from giveway.reports.site.writing import Progress, require_replaceable, write_site
from giveway.serve.web.results import sources

STORE_FILE, STUDY_FILE = "store.json", "study.toml"
MAX_DEPTH = 3
ORDER = ("gaps", "drive", "generate", "study")
"""Of the sections of a site; those of one kind follow one another by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A site that was made.

    Attributes:
        page: its first page.
        files: how many files it consists of.
        sections: one per result.
    """

    page: Path
    files: int
    sections: tuple[Section, ...]


def make_report(
    folder: Path,
    out: Path,
    *,
    title: str | None = None,
    limits: Limits | None = None,
    data: Path | None = None,
    recorded: Path | None = None,
    draws: int = 2000,
    database: str | None = None,
    progress: Progress | None = None,
) -> Report:
    """A site of all results at or below a folder.

    Args:
        folder: a run store, a study, or a folder that holds several of them.
        out: folder for the site; an older site there is replaced.
        title: heading of the first page; the name of the folder without it.
        limits: how much detail.
        data: recordings, for the maps in replays of drives.
        recorded: recordings that the motion of generated traffic is compared with; without them ``data``,
            and without that synthetic ones.
        draws: bootstrap draws for studies.
        database: URL of the database of a study; default SQLite in its folder.
        progress: called with the number of files written so far and the latest one.

    Raises:
        UsageError: no such folder, or ``out`` holds something else or is one the process stands in.
        EmptySelectionError: nothing to report.
    """
    require_replaceable(out)
    found = find_results(folder, without=out)
    made = {
        root: sources.study(root, id, draws=draws, database=database)
        if (root / STUDY_FILE).exists()
        else sources.run(root, id, title="", limits=limits or Limits(), data=data, recorded=recorded)
        for root, id in zip(found, _ids(folder, found), strict=True)
    }
    sections = sorted(_told_apart(folder, made), key=lambda s: ORDER.index(s.kind) if s.kind in ORDER else len(ORDER))
    cited = [name.replace(" ", ":", 1) for s in sections for r in s.references for name in r.cites if " " in name]
    count = write_site(
        out,
        sections,
        title=title or folder.resolve().name,
        bibtex=bibliography(citations_for(cited)),
        progress=progress,
    )
    return Report(page=out / "index.html", files=count, sections=tuple(sections))


def components_of(root: Path) -> list[str]:
    """What results in a folder used, as ``kind:name``."""
    if (root / STUDY_FILE).exists():
        return ["command:study"]
    from giveway.experiments import Store, collect

    frame = collect(Store(root))
    found = [f"command:{kind}" for kind in frame["kind"].unique().sort()]
    for column, kind in (
        ("dataset", "dataset"),
        ("model", "model"),
        ("predictor", "model"),
        ("planner", "planner"),
        ("metric", "metric"),
    ):
        if column in frame.columns:
            found += [f"{kind}:{value}" for value in frame[column].drop_nulls().unique().sort()]
    return found


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


def _told_apart(folder: Path, made: Mapping[Path, Section]) -> list[Section]:
    """Sections of the same title get the name of their folder behind it."""
    shared = Counter(section.title for section in made.values())
    sections: list[Section] = []
    for root, section in made.items():
        if shared[section.title] == 1:
            sections.append(section)
            continue
        place = root.relative_to(folder)
        named = place.parent if place.name == "results" and place.parent.name else place
        title = f"{section.title} ({named.name or root.resolve().name})"
        first = replace(section.pages[0], title=title)
        sections.append(replace(section, title=title, pages=(first, *section.pages[1:])))
    return sections


def _ids(folder: Path, found: list[Path]) -> list[str]:
    """Names for folders of the site, unique and harmless in an address."""
    ids: list[str] = []
    for root in found:
        name = "-".join(root.relative_to(folder).parts) or root.resolve().name
        slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "results"
        slug = f"{slug}-results" if slug == "assets" else slug
        ids.append(slug if slug not in ids else f"{slug}-{len(ids)}")
    return ids
