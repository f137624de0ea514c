"""All commands and their options as a page of the documentation.

``python tools/reference_pages/commands.py > docs/reference/commands.md`` writes it; a test says when it is out of date.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import typer

from giveway.cli.main import PANELS, app
from giveway.cli.options import ENGINE, EVERY, RUN

HEAD = """# Commands

Made from the code (`python tools/reference_pages/commands.py`). An option has the same name, letter and meaning
in every command. Results, recordings and files that a command is about are arguments.

| exit code | meaning |
|---|---|
| 0 | done |
| 1 | ran, but cells failed or a check did not hold |
| 2 | bad input or call; the message says what, where, what was found and what to try |
| 130 | stopped by Ctrl-C or `--max-hours` before everything was done; the same command goes on |

With `--json` a command prints one document on standard output; progress and warnings go to standard error. `ok` is
false exactly when the exit code is not 0. `result` is an object of one shape per command, and numbers that are not
finite are null:

```json
{"ok": true, "command": "drive run", "version": "…", "schema": 1, "result": {}, "warnings": [], "failures": []}
{"ok": false, "command": "drive run", "version": "…", "schema": 1,
 "error": {"type": "UnknownNameError", "what": "…", "where": "…", "found": "…", "try": "…"}}
```

Complete commands and options in your shell with `giveway --install-completion`. Spellings of version 0.1 work for one
more release, with a note that names the new one.

"""


def render_commands() -> str:
    """The whole page."""
    root: Any = typer.main.get_command(app)
    context = root.make_context("giveway", [], resilient_parsing=True)
    every: Any = root.get_command(context, "gaps").commands["run"]
    parts = [HEAD + "## Every command\n\n" + _table(every, {*EVERY, "help"})]
    parts.append("## Commands that compute cells\n\n" + _table(every, {*RUN, *ENGINE}))
    for heading, commands in PANELS.items():
        parts.append(f"## {heading}\n")
        for name in commands:
            parts += list(_describe(root.get_command(context, name), ("giveway", name)))
    return "\n".join(parts)


def _describe(command: Any, path: tuple[str, ...]) -> Iterator[str]:
    """The section of one command, or of a group and its commands."""
    summary = " ".join((command.help or command.short_help or "").split("\f")[0].split())
    if hasattr(command, "commands"):
        for name, inner in command.commands.items():
            yield from _describe(inner, (*path, name))
        return
    added = [p.opts[0] for p in command.params if p.name in {**RUN, **ENGINE}]
    also = f" Also: {', '.join(f'`{option}`' for option in added)}." if added else ""
    yield f"### {' '.join(path)}\n\n{summary}{also}\n"
    own = {p.name for p in command.params} - {*EVERY, *RUN, *ENGINE, "help"}
    if own:
        yield _table(command, own)


def _table(command: Any, names: set[str]) -> str:
    rows = [_row(p) for p in command.params if p.name in names]
    return "| option | default | meaning |\n|---|---|---|\n" + "\n".join(rows) + "\n"


def _row(parameter: Any) -> str:
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
    if default is None or default is False or default in ((), []) or callable(default):
        return ""
    return f"`{', '.join(default) if isinstance(default, list | tuple) else default}`"


if __name__ == "__main__":
    sys.stdout.write(render_commands())
