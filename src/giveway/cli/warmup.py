"""``giveway warmup``: compile the kernels of a group of commands ahead of their first use."""

from __future__ import annotations

import contextlib
import io
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import typer

from giveway.cli.output import print_json
from giveway.core.errors import UnknownNameError
from giveway.core.extras import missing

app = typer.Typer(add_completion=False, rich_markup_mode=None)

WORK: dict[str, tuple[tuple[str, ...], ...]] = {
    "gaps": (("gaps", "run", "--preset", "quick", "--limit", "4", "--workers", "1", "--out", "{folder}/gaps"),),
    "drive": (
        (
            *("drive", "run", "-p", "constant_velocity", "-p", "constant_turn_rate", "-p", "idm_along_path"),
            *("--limit", "2", "--workers", "1", "--out", "{folder}/drive"),
        ),
    ),
    "generate": (("generate", "run", "--budget", "20", "--workers", "1", "--out", "{folder}/generate"),),
    "study": (
        ("drive", "run", "-p", "constant_velocity", "--limit", "6", "--workers", "1", "--out", "{folder}/clips"),
        (
            "study",
            "create",
            "--clips",
            "{folder}/clips",
            "--out",
            "{folder}/study",
            "--num-clips",
            "6",
            "--seconds",
            "5",
        ),
    ),
}
"""Group of commands to small runs, into a folder that is thrown away, that call its kernels as real ones do."""


@app.command()
def warmup(
    group: list[str] = typer.Option([], "--for", help="gaps, drive, generate or study; all without it. Repeatable."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON document."),
) -> None:
    """Compile kernels now, once per installation, so that no command has to wait for it later."""
    from giveway.core.kernels import cache_state

    for name in group:
        if name not in WORK:
            raise UnknownNameError("group of commands", name, WORK, where="--for")
    before, began = cache_state().compiled, time.monotonic()
    say = lambda text: typer.echo(text, err=as_json)  # noqa: E731
    done = [name for name in (group or WORK) if _warm(name, named=bool(group), say=say)]
    state, seconds = cache_state(), time.monotonic() - began
    if as_json:
        print_json({"ok": True, "groups": done, "new": state.compiled - before, "seconds": seconds, "kernels": state})
    else:
        typer.echo(f"{', '.join(done) or 'nothing'} in {seconds:.0f} s; {state.sentence()}")


def _warm(name: str, *, named: bool, say: Callable[[str], None]) -> bool:
    """Run the small runs of a group; False if an optional library is missing and the group was not asked for."""
    from giveway.cli.main import command_line
    from giveway.cli.needs import check_needs, needs_of

    lines = WORK[name]
    for line in lines:
        if named:
            check_needs(line)
        elif lacking := missing(needs_of(line)):
            say(f"{name}: left out, {', '.join(lacking)} not installed")
            return False
    say(f"{name}: running {len(lines)} small {'run' if len(lines) == 1 else 'runs'}")
    with tempfile.TemporaryDirectory(prefix="giveway-warmup-") as folder:
        for line in lines:
            args = [word.format(folder=Path(folder)) for word in line]
            with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(typer.Exit):
                command_line().main(args=args, prog_name="giveway", standalone_mode=False)
    return True
