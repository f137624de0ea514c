"""``giveway report`` and ``giveway cite``: a static site from results, and what to cite for them."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from giveway.cli.output import print_json
from giveway.core.errors import EmptySelectionError, UsageError

if TYPE_CHECKING:
    from giveway.reports.citations import Citation
    from giveway.reports.site.content import Limits, Section
    from giveway.reports.site.writing import Progress

app = typer.Typer(add_completion=False, rich_markup_mode=None)
cite_app = typer.Typer(add_completion=False, rich_markup_mode=None)

STORE_FILE, STUDY_FILE = "store.json", "study.toml"
MAX_DEPTH = 3
FOLDER = typer.Argument(..., help="A run store, a study folder, or a folder that holds several of them.")
AS_JSON = typer.Option(False, "--json", help="Print one JSON document.")
DATABASE: str | None = typer.Option(
    None, "--database", envvar="GIVEWAY_STUDY_DATABASE", help="Database URL of a study; default SQLite in its folder."
)


@app.command()
def report(
    folder: Path = FOLDER,
    out: Path = typer.Option(..., "--out", "-o", help="Folder for the site; an older site there is replaced."),
    title: str | None = typer.Option(None, "--title", help="Heading of the first page."),
    data: Path | None = typer.Option(None, "--data", help="Recordings, for the maps in replays of drives."),
    samples: int = typer.Option(500, "--samples", min=0, help="Cells with per-sample tables, per store."),
    replays: int = typer.Option(200, "--replays", min=0, help="Animated replays, per store."),
    draws: int = typer.Option(2000, "--draws", min=100, max=100_000, help="Bootstrap draws for studies."),
    database: str | None = DATABASE,
    as_json: bool = AS_JSON,
) -> None:
    """Make a site that opens from disk: leaderboards, figures, every cell and case with replays, provenance."""
    from giveway.reports.citations import bibliography
    from giveway.reports.site.content import Limits
    from giveway.reports.site.writing import write_site

    found = _results(folder)
    limits = Limits(samples=samples, replays=replays)
    sections = [
        _section(root, id, len(found) > 1, limits=limits, data=data, draws=draws, database=database)
        for root, id in zip(found, _ids(folder, found), strict=True)
    ]
    with _progress(quiet=as_json) as say:
        count = write_site(
            out,
            sections,
            title=title or folder.resolve().name,
            bibtex=bibliography(_citations(sections)),
            progress=say,
        )
    page = out / "index.html"
    if as_json:
        listed = [{"id": s.id, "title": s.title, "kind": s.kind, "pages": len(s.pages)} for s in sections]
        print_json({"ok": True, "page": page, "files": count, "sections": listed})
    else:
        for section in sections:
            typer.echo(f"{section.title}: {section.lead}")
        typer.echo(f"{count} files; open {page}")


@cite_app.command()
def cite(
    folder: Path = FOLDER,
    form: str = typer.Option("text", "--format", help="text or bibtex."),
    out: Path | None = typer.Option(None, "--out", "-o", help="Write to this file instead of printing."),
    as_json: bool = AS_JSON,
) -> None:
    """References for the datasets, models and metrics that results used."""
    from giveway.core.files import write_text
    from giveway.reports.citations import bibliography, citations_for

    if form not in ("text", "bibtex"):
        raise UsageError("unknown format", where="--format", found=form, hint="text or bibtex")
    components = [c for root in _results(folder) for c in components_of(root)]
    citations = citations_for(components)
    if as_json:
        print_json(
            {
                "ok": True,
                "citations": [{"key": c.key, "text": c.text, "for": c.used_for, "bibtex": c.bibtex} for c in citations],
            }
        )
        return
    if form == "bibtex":
        text = bibliography(citations)
    else:
        text = "".join(f"{c.text}\n    for {', '.join(c.used_for)}\n" for c in citations)
    if out is None:
        typer.echo(text, nl=False)
    else:
        write_text(out, text)
        typer.echo(f"{len(citations)} references written to {out}")


def components_of(root: Path) -> list[str]:
    """What results in a folder used, as ``kind:name``."""
    if (root / STUDY_FILE).exists():
        return ["command:study"]
    from giveway.runs import Store, collect

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


def _citations(sections: list[Section]) -> list[Citation]:
    from giveway.reports.citations import citations_for

    cited = [name.replace(" ", ":", 1) for s in sections for r in s.references for name in r.cites if " " in name]
    return citations_for(cited)


def _results(folder: Path) -> list[Path]:
    """Stores and studies at or below a folder.

    Raises:
        UsageError: no such folder.
        EmptySelectionError: nothing to report there.
    """
    if not folder.is_dir():
        raise UsageError("there is no such folder", where=folder)
    found = sorted(_search(folder, MAX_DEPTH))
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
    return file.is_file() and b'"written_by"' in file.read_bytes()[:1000]


def _ids(folder: Path, found: list[Path]) -> list[str]:
    """Names for folders of the site, unique and harmless in an address."""
    ids: list[str] = []
    for root in found:
        name = "-".join(root.relative_to(folder).parts) or root.resolve().name
        slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "results"
        slug = f"{slug}-results" if slug == "assets" else slug
        ids.append(slug if slug not in ids else f"{slug}-{len(ids)}")
    return ids


def _section(
    root: Path, id: str, several: bool, *, limits: Limits, data: Path | None, draws: int, database: str | None
) -> Section:
    from giveway.cli import report_sources

    if (root / STUDY_FILE).exists():
        return report_sources.study(root, id, draws=draws, database=database)
    return report_sources.run(root, id, title=root.name if several else "", limits=limits, data=data)


@contextlib.contextmanager
def _progress(*, quiet: bool) -> Generator[Progress | None]:
    """Counts files: a line that changes on a terminal, a line per thousand otherwise."""
    if quiet:
        yield None
        return
    from rich.console import Console

    console = Console(stderr=True)
    if console.is_terminal:
        with console.status("writing") as status:

            def show(count: int, name: str) -> None:
                if count % 20 == 0:
                    status.update(f"writing {count}: {name}")

            yield show
        return

    def say(count: int, name: str) -> None:
        if count % 1000 == 0:
            typer.echo(f"{count} files, {name}", err=True)

    yield say
