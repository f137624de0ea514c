"""The ``giveway`` command: a table of commands and groups, each imported when it is used."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from typing import Any

import typer
from typer.core import TyperGroup

from giveway import __version__
from giveway.cli.envelope import Stopped, print_error
from giveway.cli.old_spellings import rewritten
from giveway.core.errors import GivewayError, UnknownNameError, UsageError
from giveway.core.files import disk_full, refusal

PANELS: dict[str, dict[str, tuple[str, str]]] = {
    "Start": {
        "demo": ("giveway.cli.start:demo_app", "Run everything once, small, and write a page to open."),
        "doctor": ("giveway.cli.start:doctor_app", "Check what is installed, what is missing, how to get it."),
        "warmup": ("giveway.cli.start:warmup_app", "Compile the kernels ahead of their first use."),
    },
    "Recordings": {"data": ("giveway.cli.data:app", "Synthesize, verify, show and convert recordings.")},
    "Predict": {"gaps": ("giveway.cli.gaps:app", "Benchmark predictions whether, when and how gaps are taken.")},
    "Drive": {"drive": ("giveway.cli.drive:app", "Drive with predictions and score the drives.")},
    "Stress": {"generate": ("giveway.cli.generate:app", "Search traffic that makes a planner fail.")},
    "Judge": {
        "study": ("giveway.cli.study:app", "Ask people whether traffic looks real."),
        "agree": ("giveway.cli.study:agree_app", "Measure agreement of raters from one file of ratings."),
    },
    "Any result": {
        "list": ("giveway.cli.results:list_app", "List datasets, predictors, metrics and other components."),
        "status": ("giveway.cli.results:status_app", "Count cells of a store: done, failed, missing, damaged."),
        "report": ("giveway.cli.results:report_app", "Write a static site of results that opens from disk."),
        "cite": ("giveway.cli.results:cite_app", "Print references for what results used."),
    },
}
"""Heading of the help to its commands, with import path and help line; ``--help`` imports nothing else."""
COMMANDS = {name: entry for panel in PANELS.values() for name, entry in panel.items()}
"""All commands and groups, in the order of the help."""
GROUPS = tuple(name for name, (path, _) in COMMANDS.items() if path.endswith(":app"))
"""Names that need a second word."""
CLICK_ERROR: type[Exception] = typer.BadParameter.__mro__[2]
"""Base of what parsing raises; newer releases of typer bring a copy of click with them."""


class LazyGroup(TyperGroup):
    """Lists all commands from :data:`COMMANDS`, imports only the one that is called."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Names in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command, imported now."""
        if cmd_name not in COMMANDS:
            return None
        path, summary = COMMANDS[cmd_name]
        module, _, attribute = path.partition(":")
        command = typer.main.get_command(getattr(importlib.import_module(module), attribute))
        command.name, command.short_help = cmd_name, summary
        return command

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """As usual, but an unknown name gets the nearest known ones."""
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            raise UnknownNameError("command", args[0], COMMANDS, where="giveway")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """One section per panel, without importing any command."""
        for heading, commands in PANELS.items():
            with formatter.section(heading):
                formatter.write_dl([(f"{name:<8}", summary) for name, (_, summary) in commands.items()])


app = typer.Typer(
    name="giveway",
    cls=LazyGroup,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(value: bool) -> None:
    if value:
        typer.echo(f"giveway {__version__}")
        raise typer.Exit


@app.callback()
def _main(  # pyright: ignore[reportUnusedFunction]
    version: bool = typer.Option(False, "--version", callback=_print_version, is_eager=True, help="Print the version."),
) -> None:
    """How well do machines understand drivers who must share a piece of road?"""


def run(argv: list[str] | None = None) -> None:
    """Entry point: bad input ends in one message and exit code 2, never in a traceback."""
    sys.exit(call(sys.argv[1:] if argv is None else argv))


def call(args: list[str]) -> int:
    """Run a command line; returns 0 done, 1 cells failed or a check did not hold, 2 bad input, 130 stopped."""
    words, notes = rewritten(args)
    name, as_json = " ".join(words[: 1 + (words[:1] in [[g] for g in GROUPS])]), "--json" in words
    for note in notes:
        sys.stderr.write(f"note: {note}\n")
    where = f"giveway {name}".strip()
    try:
        code = call_raising(words, notes)
        if code != 130:
            return code
        known = Stopped("stopped", where=where)
    except SystemExit as ended:  # what was done has been printed
        return int(ended.code or 0)
    except KeyboardInterrupt:
        known = Stopped("stopped", where=where)
    except Exception as error:
        known = _of_the_user(error, where)
        if known is None:
            raise
    print_error(known, name, as_json=as_json)
    return 130 if isinstance(known, Stopped) else 2


def call_raising(words: list[str], notes: Sequence[str] = ()) -> int:
    """Run a command line in today's spelling; errors are raised, not printed."""
    command: Any = typer.main.get_command(app)
    return int(command.main(words, prog_name="giveway", standalone_mode=False, obj=notes) or 0)


def _of_the_user(error: Exception, where: str) -> GivewayError | None:
    """What a user can mend: a wrong call, bad input, a full disk, a missing permission; None for our own mistakes."""
    if isinstance(error, CLICK_ERROR):
        near = getattr(error, "possibilities", None)
        hint = f"did you mean {' or '.join(near)}? {where} --help" if near else f"{where} --help"
        said = getattr(error, "format_message", error.__str__)()
        what = f"no such option {getattr(error, 'option_name', '')}" if near else said
        return UsageError(what, where=where, hint=hint)
    full = disk_full(error)
    if full is not None or isinstance(error, GivewayError):
        return full or error if isinstance(error, GivewayError) else full
    return refusal(error) if isinstance(error, OSError) else None


if __name__ == "__main__":
    run()
