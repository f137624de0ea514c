"""What commands print: readable text or one JSON document, errors in four parts."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import math
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from giveway import __version__
from giveway.core.errors import GivewayError

SCHEMA = 1
"""Version of the document."""


class Stopped(GivewayError):
    """Somebody pressed Ctrl-C; exit code 130."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What a command has done.

    Attributes:
        result: object of the document, of one shape per command.
        text: printed without ``--json``: a text, something with ``text()``, or several of these.
        failures: what failed; not empty means exit code 1.
        holds: False if a check did not hold; exit code 1.
        stopped: whether it was stopped before its end, by Ctrl-C or ``--max-hours``; exit code 130.
    """

    result: Mapping[str, Any]
    text: Any = ""
    failures: Sequence[Mapping[str, Any]] = ()
    holds: bool = True
    stopped: bool = False

    @property
    def ok(self) -> bool:
        """Whether the exit code is 0."""
        return self.exit_code == 0

    @property
    def exit_code(self) -> int:
        """See ``giveway.cli.main.call``."""
        return 130 if self.stopped else int(not self.holds or bool(self.failures))


def print_done(done: Done, command: str, warnings: Sequence[str], *, as_json: bool) -> None:
    """The document on standard output, or the text there and failures on standard error."""
    if as_json:
        rest = {"result": done.result, "warnings": list(warnings), "failures": list(done.failures)}
        _print({"ok": done.ok, **_head(command), **rest})
        return
    if text := _text(done.text):
        sys.stdout.write(text if text.endswith("\n") else text + "\n")
    sys.stdout.flush()
    for line in failure_lines(done.failures):
        sys.stderr.write(line + "\n")


def print_error(error: GivewayError, command: str, *, as_json: bool) -> None:
    """The four-part message on standard error; with ``--json`` also as a document on standard output."""
    if as_json:
        parts = error.as_dict()
        _print({"ok": False, **_head(command), "error": {"type": parts.pop("error"), **parts}})
    sys.stderr.write(f"{type(error).__name__}: {error}\n")


def failure_lines(failures: Sequence[Mapping[str, Any]]) -> list[str]:
    """What failed, equal messages once with the number of cells and the first of them."""
    grouped: dict[str, list[str]] = {}
    for failure in failures:
        grouped.setdefault(str(failure["message"]).replace("\n", "\n  "), []).append(str(failure["cell"]))
    return [f"{len(cells)} failed, e.g. {cells[0]}:\n  {message}" for message, cells in grouped.items()]


def failed_cells(failures: Sequence[Any]) -> list[dict[str, Any]]:
    """Failures of a run or a store as they stand in the document."""
    return [{"cell": f.cell.label(), "error": f.error, "message": f.message} for f in failures]


def table_rows(table: Any) -> list[dict[str, Any]]:
    """Values of a table with all digits, one object per line of its CSV form."""
    return [{k: _plain(v) for k, v in row.items()} for row in csv.DictReader(io.StringIO(table.csv()))]


def jsonable(value: Any) -> Any:
    """The same value in JSON's types: NaN and infinities become null, arrays lists, paths text."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: jsonable(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(k): jsonable(v) for k, v in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [jsonable(v) for v in value]
    as_list = getattr(value, "tolist", None)  # arrays; importing numpy would double the time of --help
    if as_list is not None:
        return jsonable(as_list())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return str(value) if isinstance(value, Path) else value


def _head(command: str) -> dict[str, Any]:
    return {"command": command, "version": __version__, "schema": SCHEMA}


def _print(document: Mapping[str, Any]) -> None:
    sys.stdout.write(json.dumps(jsonable(document), indent=2, ensure_ascii=False, allow_nan=False) + "\n")
    sys.stdout.flush()


def _text(shown: Any) -> str:
    if isinstance(shown, str):
        return shown
    if is_table(shown):
        return str(shown.text(terminal_width()))
    if hasattr(shown, "text"):
        return str(shown.text())
    return "\n".join(part for item in shown if (part := _text(item).rstrip("\n")))


def is_table(shown: Any) -> bool:
    """Whether it is a table, which can be printed within a width; without importing what tables need."""
    return type(shown).__module__ == "giveway.reports.table"


def terminal_width() -> int | None:
    """Columns of the terminal, or of ``COLUMNS``; None where output goes to a file or another program."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() or os.environ.get("COLUMNS") else None


def _plain(text: str) -> Any:
    if text in ("", "True", "False"):
        return {"": None, "True": True, "False": False}[text]
    try:
        return int(text)
    except ValueError:
        try:
            return float(text)
        except ValueError:
            return text
