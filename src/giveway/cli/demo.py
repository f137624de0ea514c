"""``giveway demo``: everything once, small, on synthetic recordings."""

from __future__ import annotations

from pathlib import Path

import typer

from giveway.cli.output import print_json

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def demo(
    out: Path = typer.Option(Path("demo"), "--out", "-o", help="Folder to write to."),
    seed: int = typer.Option(0, "--seed", min=0, help="Root of all random draws."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON document."),
) -> None:
    """Everything once, small, on synthetic recordings; ends with a page to open."""
    from giveway.demo.run import run_demo

    results = run_demo(out, seed=seed, say=lambda line: typer.echo(line, err=as_json))
    page = out / "index.html"
    if as_json:
        print_json({"ok": True, "index": page, "chapters": results})
    else:
        typer.echo(f"open {page} in a browser")
