"""``giveway report`` and ``giveway cite``: a static site from results, and what to cite for them."""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from giveway.cli.output import print_json
from giveway.core.errors import UsageError

if TYPE_CHECKING:
    from giveway.reports.writing import Progress

app = typer.Typer(add_completion=False, rich_markup_mode=None)
cite_app = typer.Typer(add_completion=False, rich_markup_mode=None)

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
    recorded: Path | None = typer.Option(
        None, "--recorded", help="INTERACTION root that generated motion is compared with; default synthetic."
    ),
    samples: int = typer.Option(500, "--samples", min=0, help="Cells with per-sample tables, per store."),
    replays: int = typer.Option(200, "--replays", min=0, help="Animated replays, per store."),
    draws: int = typer.Option(2000, "--draws", min=100, max=100_000, help="Bootstrap draws for studies."),
    database: str | None = DATABASE,
    as_json: bool = AS_JSON,
) -> None:
    """Make a site that opens from disk: leaderboards, figures, every cell and case with replays, provenance."""
    from giveway.reports.content import PageLimits
    from giveway.reports.find import make_report

    with _progress(quiet=as_json) as say:
        made = make_report(
            folder,
            out,
            title=title,
            limits=PageLimits(samples=samples, replays=replays),
            data=data,
            recorded=recorded,
            draws=draws,
            database=database,
            progress=say,
        )
    if as_json:
        listed = [{"id": s.id, "title": s.title, "kind": s.kind, "pages": len(s.pages)} for s in made.parts]
        print_json({"ok": True, "page": made.page, "files": made.files, "sections": listed})
    else:
        for part in made.parts:
            typer.echo(f"{part.title}: {part.pages[0].lead}")
        typer.echo(f"{made.files} files; open {made.page}")


@cite_app.command()
def cite(
    folder: Path = FOLDER,
    form: str = typer.Option("text", "--format", help="text or bibtex."),
    out: Path | None = typer.Option(None, "--out", "-o", help="Write to this file instead of printing."),
    as_json: bool = AS_JSON,
) -> None:
    """References for the datasets, models and metrics that results used."""
    from giveway.core.files import write_text
    from giveway.reports.find import citations_of
    from giveway.reports.find import cite as cite_folder

    if form not in ("text", "bibtex"):
        raise UsageError("unknown format", where="--format", found=form, hint="text or bibtex")
    citations = citations_of(folder)
    if as_json:
        print_json(
            {
                "ok": True,
                "citations": [{"key": c.key, "text": c.text, "for": c.used_for, "bibtex": c.bibtex} for c in citations],
            }
        )
        return
    text = cite_folder(folder, form=form)
    if out is None:
        typer.echo(text, nl=False)
    else:
        write_text(out, text)
        typer.echo(f"{len(citations)} references written to {out}")


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
