"""``giveway doctor``: what is installed, what is missing, how to get it."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import shutil

import typer

from giveway import __version__
from giveway.cli.output import print_json

app = typer.Typer(add_completion=False, rich_markup_mode=None)

LIBRARIES = {
    "numpy": "",
    "scipy": "",
    "numba": "",
    "polars": "",
    "shapely": "",
    "matplotlib": "plot",
    "sklearn": "models",
    "torch": "learn",
    "safetensors": "learn",
    "botorch": "fit",
    "cma": "fit",
    "grpc": "rpc",
    "fastapi": "study",
    "sqlalchemy": "study",
    "alembic": "study",
    "psycopg": "postgres",
    "imageio_ffmpeg": "video",
}
"""Import name to the extra that brings it; empty for the small install."""

DISTRIBUTIONS = {"sklearn": "scikit-learn", "grpc": "grpcio", "imageio_ffmpeg": "imageio-ffmpeg"}

PROGRAMS = {
    "chromium": "browser tests and screenshots (Debian: apt-get install chromium)",
    "postgres": "study on PostgreSQL (Debian: apt-get install postgresql)",
    "make": "make demo, make test",
    "git": "provenance of runs",
}


@app.command()
def doctor(as_json: bool = typer.Option(False, "--json", help="Print one JSON document.")) -> None:
    """What is installed, what is missing, how to get it."""
    libraries = [_library(name, extra) for name, extra in LIBRARIES.items()]
    programs = [{"name": n, "path": shutil.which(n), "for": why} for n, why in PROGRAMS.items()]
    ok = all(lib["version"] for lib in libraries if not lib["extra"])
    if as_json:
        print_json(
            {
                "ok": ok,
                "giveway": __version__,
                "python": platform.python_version(),
                "platform": platform.platform(),
                "cores": os.cpu_count(),
                "libraries": libraries,
                "programs": programs,
            }
        )
    else:
        typer.echo(f"giveway {__version__}, Python {platform.python_version()}, {os.cpu_count()} cores")
        for lib in libraries:
            state = lib["version"] or f"missing    pip install 'giveway[{lib['extra'] or 'all'}]'"
            typer.echo(f"  {lib['name']:<16}{state}")
        for program in programs:
            typer.echo(f"  {program['name']:<16}{program['path'] or 'not found, needed for ' + str(program['for'])}")
        typer.echo("all that is required is here" if ok else "something required is missing: pip install giveway")
    raise typer.Exit(0 if ok else 1)


def _library(name: str, extra: str) -> dict[str, str | None]:
    found = importlib.util.find_spec(name) is not None
    distribution = DISTRIBUTIONS.get(name, name)
    return {"name": name, "extra": extra, "version": importlib.metadata.version(distribution) if found else None}
