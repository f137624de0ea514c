"""The slow second look at a file that did not parse: which line, which column, what was there."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from giveway.data.findings import Findings
from giveway.data.scan import MAX_NUMBER_CHARS

if TYPE_CHECKING:
    from giveway.data.tables import Column

INTEGER = re.compile(r"\s*[+-]?\d+", re.ASCII)
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
MAX_INTEGER_CHARS = 20
"""A sign and 19 digits: nothing longer fits 64 bits."""

AGAIN = "get the file again, or repair this cell"


def report_bad_cells(
    data: bytes, names: tuple[str, ...], wanted: Sequence[Column], separator: str, path: Path, findings: Findings
) -> None:
    """Report every bad line and cell of a file that is known to have some (the first only, in strict mode)."""
    before = findings.num_errors
    places = [(names.index(column.name), column) for column in wanted]
    for number, line in _lines(data):
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError as error:
            index = line[: error.start].count(separator.encode())
            findings.error(
                "not UTF-8 text",
                path,
                line=number,
                column=names[min(index, len(names) - 1)],
                found=repr(line[max(0, error.start - 10) : error.start + 10]),
                hint="save the file as UTF-8, or get it again",
            )
            continue
        cells = text.split(separator)
        if len(cells) != len(names):
            _report_uneven(cells, names, number, path, findings)
            continue
        for index, column in places:
            reason = _why_bad(cells[index], column)
            if reason:
                findings.error(reason, path, line=number, column=column.name, found=repr(cells[index][:60]), hint=AGAIN)
    if findings.num_errors == before:
        # Seen by the parser and not by us: still never a number that may be wrong.
        findings.error("the file does not parse", path, line=2, column=names[0], found="unknown defect", hint=AGAIN)


def _lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    body = data.removesuffix(b"\n")
    for index, line in enumerate(body.split(b"\n")):
        if index:
            yield index + 1, line.removesuffix(b"\r")


def _report_uneven(cells: list[str], names: tuple[str, ...], number: int, path: Path, findings: Findings) -> None:
    if cells == [""]:
        findings.error("an empty line", path, line=number, column=names[0], found="''", hint="remove the line")
        return
    column = names[min(len(cells), len(names)) - 1]
    findings.error(
        "the line has another number of cells than the header",
        path,
        line=number,
        column=column,
        found=f"{len(cells)} cells instead of {len(names)}, the last one {cells[-1][:40]!r}",
        hint=AGAIN,
    )


def _why_bad(cell: str, column: Column) -> str | None:
    if cell == "":
        return None if column.nullable else "an empty cell"
    if column.type == "text":
        return None
    if len(cell) > MAX_NUMBER_CHARS:
        return f"a number of more than {MAX_NUMBER_CHARS} characters"
    if column.type == "int":
        if INTEGER.fullmatch(cell) is None:
            return "not an integer"
        # The length first: int() refuses thousands of digits with an error of its own.
        return (
            None if len(cell.strip()) <= MAX_INTEGER_CHARS and abs(int(cell)) < 2**63 else "an integer beyond 64 bits"
        )
    if cell.strip().lower().lstrip("+-") in ("nan", "inf", "infinity"):
        return "not a finite number"
    if NUMBER.fullmatch(cell) is None:
        return "not a number"
    return None if math.isfinite(float(cell)) else "not a finite number"
