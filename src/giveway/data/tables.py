"""Delimited text to columns: fast when the file is right, exact about the first cell that is not.

polars parses; everything it lets through silently is checked: NUL bytes, numbers of endless length, cells missing at
the end of a line, surplus cells, empty cells, NaN and infinities, values outside the range a format allows. Only if
something is wrong does :mod:`giveway.data.cells` look again, cell by cell, for the line and column.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
import polars as pl

from giveway.core.arrays import FloatArray, IntArray
from giveway.core.errors import DataError
from giveway.data.cells import report_bad_cells
from giveway.data.findings import Findings
from giveway.data.fingerprints import sha256_of_bytes
from giveway.data.headers import check_header, decode_header
from giveway.data.scan import has_long_cells, has_nul, scan_bytes
from giveway.data.streaming import TextRuns, stream_table

ColumnType = Literal["int", "float", "text"]
POLARS_TYPES: Mapping[ColumnType, pl.DataType | type[pl.DataType]] = {
    "int": pl.Int64,
    "float": pl.Float64,
    "text": pl.String,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """What a reader needs of one column.

    Attributes:
        name: header cell.
        type: integers are never read through floats.
        optional: the column may be absent.
        nullable: cells may be empty; read as NaN (float) or null (text).
        low: smallest allowed value.
        high: largest allowed value.
        unit: for messages.
    """

    name: str
    type: ColumnType = "float"
    optional: bool = False
    nullable: bool = False
    low: float = -np.inf
    high: float = np.inf
    unit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFormat:
    """A kind of delimited file.

    Attributes:
        columns: what is read; anything else in the file is left alone.
        header: all columns in the order of the published format; empty if unknown. A different order is only a warning,
            because columns are read by name.
        separator: one character.
        newline_required: a last line without line break is an error, otherwise a warning; a file that was cut in the
            middle of a line looks like that.
        windows_end_optional: with Windows line ends the last one may be missing without remark.
        rows_required: a header without rows is an error, otherwise a warning; there is no table either way.
        rename: header cell to the name used in ``columns``, for formats that exist in variants.
        named_in: where the user gave the names of the columns; empty for published formats.
        decimal: point or comma of numbers.
        quotes: whether cells may stand in quotes, which carry no meaning; a separator inside them is a surplus cell.
    """

    columns: tuple[Column, ...]
    header: tuple[str, ...] = ()
    separator: str = ","
    newline_required: bool = True
    windows_end_optional: bool = False
    rows_required: bool = True
    rename: Mapping[str, str] = field(default_factory=dict[str, str])
    named_in: str = ""
    decimal: Literal[".", ","] = "."
    quotes: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Columns of one file.

    Attributes:
        path: the file.
        columns: columns that were asked for and are there, each in one piece.
        words: columns of words of which only runs are kept.
        header: all header cells of the file.
        sha256: of the file's bytes.
    """

    path: Path
    columns: Mapping[str, pl.Series]
    words: Mapping[str, TextRuns] = field(default_factory=dict[str, TextRuns])
    header: tuple[str, ...]
    sha256: str

    @property
    def num_rows(self) -> int:
        """Data lines."""
        return next((len(column) for column in self.columns.values()), 0) or int(
            next(iter(self.words.values()))[1].sum()
        )

    def __contains__(self, name: object) -> bool:
        return name in self.columns or name in self.words

    def ints(self, name: str) -> IntArray:
        """(rows,) integer column."""
        return cast(IntArray, self.columns[name].to_numpy())

    def floats(self, name: str) -> FloatArray:
        """(rows,) float column; NaN where a nullable cell is empty."""
        return cast(FloatArray, self.columns[name].to_numpy())

    def text(self, name: str) -> pl.Series:
        """(rows,) text column."""
        if name in self.columns:
            return self.columns[name]
        words, lengths = self.words[name]
        return pl.Series(name, words).gather(np.repeat(np.arange(len(words)), lengths))

    def text_runs(self, name: str) -> TextRuns:
        """Runs of equal words of a text column."""
        return self.words[name] if name in self.words else text_runs(self.columns[name])

    def cell(self, name: str, row: int) -> Any:
        """One cell of any column."""
        return self.text(name)[row]


def text_runs(words: pl.Series) -> TextRuns:
    """Equal words that follow each other, taken as one."""
    begins = np.flatnonzero((words != words.shift(1)).fill_null(True).to_numpy())
    return words.gather(begins).to_list(), np.diff(np.append(begins, len(words)))


def header_of(text: str) -> tuple[str, ...]:
    """Column names from a comma-separated header line."""
    return tuple(text.split(","))


def line_of(row: int | IntArray) -> IntArray:
    """1-based line of a 0-based data row; holds because a readable file has one header line and no empty ones."""
    return np.asarray(row, dtype=np.int64) + 2


def read_bytes(path: Path) -> bytes:
    """The whole file.

    Raises:
        DataError: if it cannot be opened.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise unreadable(path, error) from error


def unreadable(path: Path, error: OSError) -> DataError:
    """What to tell a user whose file or folder the system will not open."""
    if isinstance(error, PermissionError):
        return DataError(
            "no permission to read", where=path, found=error.strerror or error, hint=f"chmod -R u+rX '{path}'"
        )
    return DataError("cannot read", where=path, found=error.strerror or error, hint="check the path and the disk")


def read_table(path: Path, form: TableFormat, findings: Findings) -> Table | None:
    """Parse a delimited file.

    Args:
        path: file to read.
        form: what to expect.
        findings: where problems go.

    Returns:
        None if the file cannot be used (only when ``findings`` collects; in strict mode the problem is raised).

    Raises:
        FileFormatError: in strict mode, naming line and column.
        DataError: in strict mode, if the file cannot be opened.
    """
    try:
        streamed = stream_table(path, form)
        data = b"" if streamed else path.read_bytes()
    except OSError as failed:
        error = unreadable(path, failed)
        if findings.strict:
            raise error from failed
        findings.error(error.what, path, found=error.found, hint=error.hint)
        return None
    if streamed is None:
        return parse_table(data, path, form, findings)
    header, columns, words, sha256 = streamed
    names = tuple(form.rename.get(cell, cell) for cell in header)
    check_header(names, path, form, findings)
    fine = _in_range(columns, [column for column in form.columns if column.name in names], path, findings)
    return Table(path=path, columns=columns, words=words, header=header, sha256=sha256) if fine else None


def parse_table(original: bytes, path: Path, form: TableFormat, findings: Findings) -> Table | None:
    """As :func:`read_table`, for the bytes of a file, however odd they are.

    Args:
        original: bytes of the file.
        path: for messages.
        form: what to expect.
        findings: where problems go.

    Returns:
        As :func:`read_table`.
    """
    data = original.replace(b'"', b"") if form.quotes else original
    if form.decimal == ",":
        data = data.replace(b",", b".")
    header = decode_header(data, path, form, findings)
    if header is None:
        return None
    names = tuple(form.rename.get(cell, cell) for cell in header)
    if not check_header(names, path, form, findings):
        return None
    wanted = [column for column in form.columns if column.name in names]
    if has_nul(data, path, names, form.separator, findings):
        return None
    with ThreadPoolExecutor(max_workers=1) as pool:
        # Looking over the bytes and hashing them needs half as long as parsing and runs beside it.
        beside = pool.submit(lambda: (scan_bytes(data, form.separator), sha256_of_bytes(original)))
        raw = _parse(data, names, wanted, form)
        scan, sha256 = beside.result()
    if scan.long_blocks.size and has_long_cells(data, scan, names, wanted, form.separator, path, findings):
        return None
    frame = None if raw is None else _checked(raw, data, names, wanted, form, scan.separators)
    if frame is None:
        report_bad_cells(data, names, wanted, form.separator, path, findings)
        return None
    if frame.height == 0:
        report = findings.error if form.rows_required else findings.warning
        report("the file has a header and no rows", path, line=1, column=wanted[0].name, found="no rows")
        return None
    _check_ending(data, path, form, findings)
    columns = {series.name: series for series in frame}
    if not _in_range(columns, wanted, path, findings):
        return None
    return Table(path=path, columns=columns, header=header, sha256=sha256)


def _parse(data: bytes, names: tuple[str, ...], wanted: list[Column], form: TableFormat) -> pl.DataFrame | None:
    """Wanted columns and the last one; None if a cell is not of its type."""
    types = {column.name: POLARS_TYPES[column.type] for column in wanted}
    unique = _unique(names, wanted)
    try:
        return pl.read_csv(
            data,
            has_header=False,
            skip_rows=1,
            separator=form.separator,
            schema={name: types.get(name, pl.String) for name in unique},
            columns=[index for index, name in enumerate(unique) if name in types or name == unique[-1]],
            quote_char=None,
        )
    except pl.exceptions.PolarsError:
        return None


def _unique(names: tuple[str, ...], wanted: list[Column]) -> list[str]:
    """Surplus columns may share a name; only the wanted ones are known to be unique."""
    kept = {column.name for column in wanted}
    return [name if name in kept else f"{index}:{name}" for index, name in enumerate(names)]


def _checked(
    frame: pl.DataFrame, data: bytes, names: tuple[str, ...], wanted: list[Column], form: TableFormat, separators: int
) -> pl.DataFrame | None:
    """Wanted columns in one piece each, or None if any of their cells or any line is not as it must be."""
    last = _unique(names, wanted)[-1]
    # polars fills short lines with nulls and drops surplus cells of columns it was not asked for. A wrong total of
    # separators shows surplus cells, unless short lines make up for them; those show as nulls in the last column.
    num_lines = frame.height + 1
    if separators != num_lines * (len(names) - 1):
        return None
    if frame.get_column(last).null_count() and not _lines_are_even(data, form.separator, len(names)):
        return None
    for column in wanted:
        series = frame.get_column(column.name)
        if series.null_count() and not column.nullable:
            return None
        if column.type == "float":
            if column.nullable:
                if not bool(series.drop_nulls().is_finite().all()):
                    return None
                frame = frame.with_columns(series.fill_null(float("nan")))
            elif not bool(series.is_finite().all()):
                return None
    # One chunk per column, so that arrays are views.
    return frame.select([column.name for column in wanted]).rechunk()


def _lines_are_even(data: bytes, separator: str, num_cells: int) -> bool:
    """Whether every line has as many cells as the header."""
    array = np.frombuffer(data, dtype=np.uint8)
    ends = np.flatnonzero(array == ord("\n"))
    starts = np.concatenate([[0], ends + 1])
    starts = starts[starts < len(array)]
    per_line = np.add.reduceat((array == ord(separator)).astype(np.uint8), starts, dtype=np.int64)
    return bool((per_line == num_cells - 1).all())


def _check_ending(data: bytes, path: Path, form: TableFormat, findings: Findings) -> None:
    """Refuse a file that ends inside a line."""
    if data.endswith(b"\n") or (form.windows_end_optional and b"\r\n" in data[:65536]):
        return
    report = findings.error if form.newline_required else findings.warning
    report(
        "the last line has no line break, so the file may be cut short",
        path,
        line=data.count(b"\n") + 1,
        column=form.columns[-1].name,
        found=repr(data[data.rfind(b"\n") + 1 :][-60:].decode(errors="replace")),
        hint="get the file again; if you know that it is whole, add a line break at its end",
    )


def _in_range(columns: Mapping[str, pl.Series], wanted: list[Column], path: Path, findings: Findings) -> bool:
    fine = True
    for column in wanted:
        if column.type == "text" or (np.isneginf(column.low) and np.isposinf(column.high)):
            continue
        values = columns[column.name].to_numpy()
        # NaN compares false on purpose: an allowed empty cell is in range.
        outside = (values < column.low) | (values > column.high)
        if outside.any():
            fine = False
            rows = np.flatnonzero(outside)
            limits = f"{column.low:g} to {column.high:g} {column.unit}".strip()
            findings.rows(
                f"value outside the possible range {limits}",
                path,
                line_of(rows),
                column=column.name,
                values=values[rows],
                hint="get the file again; if the value is real, the file is not of this format",
            )
    return fine
