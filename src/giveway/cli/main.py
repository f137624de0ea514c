"""The ``giveway`` command: a table of command groups, each imported when it is used."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from giveway import __version__
from giveway.cli.needs import check_needs
from giveway.cli.output import report_error
from giveway.core.errors import GivewayError, UnknownNameError
from giveway.core.files import disk_full, refusal

COMMANDS: dict[str, tuple[str, str]] = {
    "data": ("giveway.cli.data:app", "Recordings: list, synth, verify, show, convert."),
    "demo": ("giveway.cli.demo:app", "Everything once, small, on synthetic recordings; ends with a page to open."),
    "gaps": ("giveway.cli.gaps:app", "Predicting whether, when and how a human takes a gap: extract, run, table."),
    "drive": ("giveway.cli.drive:app", "Let predictions drive: mine, run, score, replay, train-predictor."),
    "generate": ("giveway.cli.generate:app", "Traffic that makes a planner fail although it could have coped."),
    "doctor": ("giveway.cli.doctor:app", "What is installed, what is missing, how to get it."),
    "warmup": ("giveway.cli.warmup:app", "Compile the kernels ahead of their first use."),
    "agree": ("giveway.cli.agree:app", "Agreement of raters: weighted Fleiss kappa, AC2, alpha, intervals."),
    "study": ("giveway.cli.study:app", "Ask people whether traffic looks real: create, serve, export, analyze."),
    "report": ("giveway.cli.report:app", "A static site from results that opens from disk."),
    "cite": ("giveway.cli.report:cite_app", "References for what results used, as text or BibTeX."),
}
"""Command or group name to import path and help line; kept here so that ``--help`` imports nothing else."""


class LazyGroup(TyperGroup):
    """A command group that imports late.

    Context and formatter are typed Any because typer brings its own copy of click in newer releases.

    Lists all commands from :data:`COMMANDS`, imports only the one that is called.
    """

    def list_commands(self, ctx: Any) -> list[str]:
        """Names in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A stand-in with the help line for listings, the real command when it is invoked."""
        if cmd_name not in COMMANDS:
            return None
        path, summary = COMMANDS[cmd_name]
        if ctx.meta.get("giveway.listing"):
            return TyperCommand(cmd_name, short_help=summary, help=summary)
        module, _, attribute = path.partition(":")
        command = typer.main.get_command(getattr(importlib.import_module(module), attribute))
        command.name = cmd_name
        command.short_help = summary
        return command

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """As usual, but an unknown name gets the nearest known ones."""
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            raise UnknownNameError("command", args[0], COMMANDS, where="giveway")
        return super().resolve_command(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Render without importing any command."""
        ctx.meta["giveway.listing"] = True
        super().format_help(ctx, formatter)


app = typer.Typer(
    name="giveway",
    cls=LazyGroup,
    no_args_is_help=True,
    add_completion=False,
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


def command_line() -> Any:
    """The whole command, for :func:`run` and for commands that run others."""
    return typer.main.get_command(app)


def run(argv: list[str] | None = None) -> None:
    """Entry point: bad input ends in one message and exit code 2, never in a traceback."""
    args = sys.argv[1:] if argv is None else argv
    command = command_line()
    try:
        check_needs(args)
        command.main(args=args, prog_name="giveway")
    except GivewayError as error:
        report_error(disk_full(error) or error, as_json="--json" in args)
        sys.exit(2)
    except Exception as error:
        known = _of_the_machine(error)
        if known is None:
            raise
        report_error(known, as_json="--json" in args)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.stderr.write("stopped\n")
        sys.exit(130)


def _of_the_machine(error: Exception) -> GivewayError | None:
    """A full disk or a place without permission, which no writer foresaw; None for errors of our own making."""
    full = disk_full(error)
    return full if full is not None or not isinstance(error, OSError) else refusal(error)


if __name__ == "__main__":
    run()
