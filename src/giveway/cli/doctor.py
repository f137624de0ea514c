"""``giveway doctor``: what is installed, what is missing, how to get it."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
from collections.abc import Iterable

import typer

from giveway import __version__
from giveway.cli.output import print_json
from giveway.core.extras import EXTRAS, is_installed

app = typer.Typer(add_completion=False, rich_markup_mode=None)

REQUIRED = {
    "numpy": "numpy",
    "scipy": "scipy",
    "numba": "numba",
    "polars": "polars",
    "shapely": "shapely",
    "pydantic": "pydantic",
    "typer": "typer",
    "rich": "rich",
    "threadpoolctl": "threadpoolctl",
    "filelock": "filelock",
    "psutil": "psutil",
    "jinja2": "jinja2",
}
"""Import name to distribution of the small install."""

PROGRAMS = {
    "chromium": "browser tests and screenshots (Debian: apt-get install chromium)",
    "postgres": "study on PostgreSQL (Debian: apt-get install postgresql)",
    "make": "make demo, make test",
    "git": "provenance of runs",
}


@app.command()
def doctor(as_json: bool = typer.Option(False, "--json", help="Print one JSON document.")) -> None:
    """What is installed, what is missing, how to get it; whether the kernels are compiled."""
    from giveway.core.kernels import cache_state

    required = [_library(name, distribution) for name, distribution in REQUIRED.items()]
    extras = {extra: [_library(*names) for names in libraries.items()] for extra, libraries in EXTRAS.items()}
    programs = [{"name": n, "path": shutil.which(n), "for": why} for n, why in PROGRAMS.items()]
    kernels = cache_state()
    ok = all(library["version"] for library in required)
    if as_json:
        listed = [{**library, "extra": ""} for library in required]
        listed += [{**library, "extra": extra} for extra, libraries in extras.items() for library in libraries]
        print_json(
            {
                "ok": ok,
                "giveway": __version__,
                "python": platform.python_version(),
                "platform": platform.platform(),
                "cores": os.cpu_count(),
                "libraries": listed,
                "programs": programs,
                "kernels": kernels,
            }
        )
    else:
        typer.echo(f"giveway {__version__}, Python {platform.python_version()}, {os.cpu_count()} cores")
        _print_libraries(required)
        for extra, libraries in extras.items():
            lacks = any(library["version"] is None for library in libraries)
            typer.echo(f"{extra}{f', incomplete: pip install {_quoted(extra)}' if lacks else ''}")
            _print_libraries(libraries)
        typer.echo("programs")
        for program in programs:
            typer.echo(f"  {program['name']:<18}{program['path'] or 'not found, needed for ' + str(program['for'])}")
        typer.echo(f"kernels\n  {kernels.sentence()}")
        typer.echo("all that is required is here" if ok else "something required is missing: pip install giveway")
    raise typer.Exit(0 if ok else 1)


def _print_libraries(libraries: Iterable[dict[str, str | None]]) -> None:
    for library in libraries:
        typer.echo(f"  {library['name']:<18}{library['version'] or 'missing'}")


def _quoted(extra: str) -> str:
    return f"'giveway[{extra}]'"


def _library(name: str, distribution: str) -> dict[str, str | None]:
    return {"name": name, "version": _version(distribution) if is_installed(name) else None}


def _version(distribution: str) -> str:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:  # the library is there, put together by hand
        return "unknown version"
