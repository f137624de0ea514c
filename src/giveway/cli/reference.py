"""All commands and their options as a page of the documentation.

``python -m giveway.cli.reference > docs/reference/commands.md`` writes it; a test says when it is out of date.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import typer

from giveway.cli.main import COMMANDS, app

HEAD = """# Commands

Made from the code (`python -m giveway.cli.reference`). Every command has `--help`; with `--json` it prints one
document. Exit codes: 0 done, 2 something in the input or the call is wrong (the message says what, where and what to
try), 130 stopped.

"""


def render_commands() -> str:
    """The whole page."""
    root: Any = typer.main.get_command(app)
    context = root.make_context("giveway", [], resilient_parsing=True)
    parts: list[str] = []
    for name in COMMANDS:
        parts += list(_describe(root.get_command(context, name), ("giveway", name)))
    return HEAD + "\n".join(parts)


def _describe(command: Any, path: tuple[str, ...]) -> Iterator[str]:
    """The section of one command, or of a group and its commands."""
    summary = " ".join((command.help or command.short_help or "").split("\f")[0].split())
    if hasattr(command, "commands"):
        yield f"## {' '.join(path)}\n\n{summary}\n"
        for name, inner in command.commands.items():
            yield from _describe(inner, (*path, name))
        return
    yield f"{'###' if len(path) > 2 else '##'} {' '.join(path)}\n\n{summary}\n"
    rows = [row for parameter in command.params if (row := _row(parameter))]
    if rows:
        yield "| option | default | meaning |\n|---|---|---|\n" + "\n".join(rows) + "\n"


def _row(parameter: Any) -> str:
    if parameter.name == "help" or getattr(parameter, "hidden", False):
        return ""
    if parameter.param_type_name == "argument":
        name = f"`{parameter.name.upper()}`"
    else:
        name = ", ".join(f"`{option}`" for option in (*parameter.opts, *parameter.secondary_opts))
    meaning = " ".join((getattr(parameter, "help", None) or "").split()).replace("|", "\\|")
    return f"| {name} | {_default(parameter)} | {meaning} |"


def _default(parameter: Any) -> str:
    default = parameter.default
    if parameter.required:
        return "required"
    if default is None or default is False or default == () or callable(default):
        return ""
    return f"`{getattr(default, 'value', default)}`"


if __name__ == "__main__":
    sys.stdout.write(render_commands())
