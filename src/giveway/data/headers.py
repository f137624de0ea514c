"""First line of a delimited file: encoding, separator, names."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TYPE_CHECKING

from giveway.data.findings import Findings
from giveway.data.scan import SAVE_AS_UTF8, is_utf16

if TYPE_CHECKING:
    from giveway.data.tables import TableFormat

MAX_HEADER_BYTES = 1 << 16
RENAME = "rename or remove one of them"
SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar", " ": "space"}
WIDE_MARKS = {
    b"PK": "zip",
    b"\x1f\x8b": "gzip",
    b"PAR1": "Parquet",
    b"version https://git-lfs": "a pointer of git-lfs (git lfs pull brings the data)",
}


def decode_header(data: bytes, path: Path, form: TableFormat, findings: Findings) -> tuple[str, ...] | None:
    """Header cells, or None after reporting why there are none.

    A UTF-8 byte-order mark and blanks around names are tolerated.
    """
    separator, expected_first = form.separator, form.columns[0].name
    if len(data) < MAX_HEADER_BYTES and not data.strip():
        findings.error("the file is empty", path, line=1, column=expected_first, found=f"{len(data)} bytes")
        return None
    if is_utf16(data):
        findings.error(
            "the file is UTF-16, not UTF-8 text",
            path,
            line=1,
            column=expected_first,
            found=repr(data[:8]),
            hint=SAVE_AS_UTF8,
        )
        return None
    for mark, kind in WIDE_MARKS.items():
        if data.startswith(mark):
            findings.error(
                f"the file is {kind}, not UTF-8 text",
                path,
                line=1,
                column=expected_first,
                found=repr(data[:8]),
                hint="convert or unpack it first",
            )
            return None
    first = data[:MAX_HEADER_BYTES].split(b"\n", 1)[0].removesuffix(b"\r")
    try:
        text = first.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        findings.error(
            "the header is not UTF-8 text",
            path,
            line=1,
            column=expected_first,
            found=repr(first[max(0, error.start - 10) : error.start + 10]),
            hint=SAVE_AS_UTF8,
        )
        return None
    cells = tuple(cell.strip() for cell in text.split(separator))
    if len(cells) > 1:
        return cells
    only = text.strip()
    others = [name for char, name in SEPARATORS.items() if char != separator and text.count(char) > 1]
    expected = SEPARATORS.get(separator, separator)
    guess = f"it looks separated by {others[0]}" if others else "no known separator"
    findings.error(
        f"the columns are not separated by {expected}",
        path,
        line=1,
        column=only[:40],
        found=f"{text[:60]!r}, {guess}",
        hint=f"export the file with {expected} as separator, or describe it for the generic adapter",
    )
    return None


def check_header(names: tuple[str, ...], path: Path, form: TableFormat, findings: Findings) -> bool:
    """Whether everything needed is there, once; another order or surplus columns are warnings."""
    fine = True
    for name in sorted({name for name in names if names.count(name) > 1}):
        wanted = any(column.name == name for column in form.columns)
        report = findings.error if wanted else findings.warning
        report("a column appears twice in the header", path, line=1, column=name, found=", ".join(names), hint=RENAME)
        fine = fine and not wanted
    known = {column.name for column in form.columns} | set(form.header)
    unknown = [name for name in names if name not in known]
    for column in form.columns:
        if column.optional or column.name in names:
            continue
        near = difflib.get_close_matches(column.name, unknown, n=1, cutoff=0.6)
        hint = "get the file again, or check that the format is right"
        if form.named_in:
            hint = f"say in {form.named_in} what the column is called"
        if near:
            hint = f"is {near[0]!r} meant? {'say so in ' + form.named_in if form.named_in else 'rename it'}"
        findings.error(
            "a column is missing",
            path,
            line=1,
            column=column.name,
            found=", ".join(names),
            hint=hint,
        )
        fine = False
    if fine and form.header:
        common = [name for name in names if name in form.header]
        if common != [name for name in form.header if name in names]:
            findings.warning(
                "the columns are in another order than published; they are read by name",
                path,
                line=1,
                found=", ".join(names),
            )
        for name in unknown:
            findings.warning("an unknown column is ignored", path, line=1, column=name)
    return fine
