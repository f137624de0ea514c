"""Typing commands, and a list of all of them."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import typer

from giveway.cli.main import COMMANDS, app, call


@dataclass(frozen=True)
class Answer:
    """What a command printed and its exit code."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """Of ``--json``."""
        return json.loads(self.out)


def typed(*words: object) -> Answer:
    """Type a command."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = call([str(word) for word in words])
    return Answer(code, out.getvalue(), err.getvalue())


def commands() -> Iterator[tuple[str, Any]]:
    """All commands with their words."""
    root: Any = typer.main.get_command(app)
    context = root.make_context("giveway", [], resilient_parsing=True)
    for name in COMMANDS:
        found = root.get_command(context, name)
        for inner, command in getattr(found, "commands", {"": found}).items():
            yield f"{name} {inner}".strip(), command
