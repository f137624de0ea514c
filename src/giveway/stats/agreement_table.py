"""Ratings from a file: a counts table or long rows, told apart by the header."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from giveway.core.arrays import IntArray
from giveway.core.checked import read_text
from giveway.core.errors import FileFormatError, UsageError

Layout = Literal["counts", "long"]

LONG_COLUMNS = ("clip", "rater", "rating")
CLIP_COLUMN = "clip"
MAX_BYTES = 256 << 20
REPEAT_COLUMN = "repeat"
MISSING = frozenset({"", "na", "n/a", "nan", "null", "none"})
DEFAULT_CATEGORIES = ("1", "2", "3", "4", "5")


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingTable:
    """Ratings of N clips in k ordered categories.

    Attributes:
        categories: (k,) names, lowest first.
        clips: (N,) names.
        counts: (N, k) how many raters chose each category.
        raters: (R,) names; empty for a counts table.
        ratings: (N, R) category index, -1 where missing; (N, 0) for a counts table.
        notes: what was assumed or left out, for people.
    """

    categories: tuple[str, ...]
    clips: tuple[str, ...]
    counts: IntArray
    raters: tuple[str, ...] = ()
    ratings: IntArray
    notes: tuple[str, ...] = ()


def rating_table(
    clip: Sequence[str], rater: Sequence[str], rating: Sequence[str | None], *, categories: Sequence[str]
) -> RatingTable:
    """Arrange (clip, rater, rating) rows; clips and raters keep the order of their first appearance.

    Args:
        clip: name of the clip of each row.
        rater: name of the rater of each row.
        rating: category of each row, None where missing.
        categories: all categories, lowest first; unused ones count too.

    Raises:
        UsageError: for a rating outside the categories or a second rating of the same clip by the same rater.
    """
    clips = {name: index for index, name in enumerate(dict.fromkeys(clip))}
    raters = {name: index for index, name in enumerate(dict.fromkeys(rater))}
    codes = {name: index for index, name in enumerate(categories)}
    ratings = np.full((len(clips), len(raters)), -1, dtype=np.int64)
    seen: set[tuple[str, str]] = set()
    for row, (c, r, value) in enumerate(zip(clip, rater, rating, strict=True)):
        if (c, r) in seen:
            raise UsageError(
                "a rater rated the same clip twice", where=f"row {row + 1}", found=f"clip {c!r}, rater {r!r}"
            )
        seen.add((c, r))
        if value is None:
            continue
        if value not in codes:
            raise UsageError(
                "a rating is not one of the categories",
                where=f"row {row + 1}",
                found=f"{value!r}; categories: {', '.join(codes)}",
            )
        ratings[clips[c], raters[r]] = codes[value]
    counts = (ratings[:, :, None] == np.arange(len(codes))).sum(axis=1)
    return RatingTable(
        categories=tuple(categories), clips=tuple(clips), counts=counts, raters=tuple(raters), ratings=ratings
    )


def read_ratings(path: Path, *, layout: Layout | None = None, categories: Sequence[str] | None = None) -> RatingTable:
    """Read a counts table (header = categories in order) or long rows (columns clip, rater, rating).

    A counts table may start with a column ``clip``. Long rows may have further columns and any order; empty ratings
    are missing; where a column ``repeat`` exists only first showings (0) are used. Separators: comma, semicolon, tab.

    Args:
        path: the file.
        layout: force one of the two layouts; None decides by the header.
        categories: all categories of long rows, lowest first. Default 1 .. 5.

    Raises:
        FileFormatError: naming line and column.
    """
    header, rows = _read_rows(path)
    if layout is None:
        layout = "long" if {"rater", "rating"} & set(header) else "counts"
    if layout == "long":
        return _read_long(path, header, rows, categories)
    return _read_counts(path, header, rows, categories)


def _read_rows(path: Path) -> tuple[list[str], list[tuple[int, list[str]]]]:
    if not path.exists():
        raise FileFormatError("there is no such file", where=path, hint="give the path of a CSV file")
    text = read_text(path, limit=MAX_BYTES)
    first = text.splitlines()[0] if text.strip() else ""
    delimiter = max(",;\t", key=first.count)
    try:
        lines = [(n, row) for n, row in enumerate(csv.reader(text.splitlines(), delimiter=delimiter), start=1)]
    except csv.Error as error:
        raise FileFormatError("the file does not parse as CSV", where=path, found=error) from None
    filled = [(n, [cell.strip() for cell in row]) for n, row in lines if any(cell.strip() for cell in row)]
    if len(filled) < 2:
        raise FileFormatError(
            "the file holds no ratings",
            where=path,
            found="no rows below the header" if filled else "an empty file",
            hint="first line: categories in order, or clip,rater,rating",
        )
    header = filled[0][1]
    for n, row in filled[1:]:
        if len(row) != len(header):
            raise FileFormatError(
                "a row has another number of cells than the header",
                where=f"{path}, line {n}",
                found=f"{len(row)} cells, header has {len(header)}",
            )
    repeated = sorted({name for name in header if header.count(name) > 1})
    if repeated:
        raise FileFormatError("a column name occurs twice", where=f"{path}, line 1", found=", ".join(repeated))
    return header, filled[1:]


def _read_counts(
    path: Path, header: list[str], rows: list[tuple[int, list[str]]], categories: Sequence[str] | None
) -> RatingTable:
    has_names = header[0].lower() == CLIP_COLUMN
    names = header[1:] if has_names else header
    if categories is not None and list(categories) != names:
        raise FileFormatError(
            "the categories of the header are not the ones asked for",
            where=f"{path}, line 1",
            found=f"{', '.join(names)}; asked for {', '.join(categories)}",
        )
    if len(names) < 2:
        raise FileFormatError(
            "a counts table needs at least two categories",
            where=f"{path}, line 1",
            found=", ".join(header),
            hint="for rows of clip, rater, rating name the columns so, or give --long",
        )
    counts = np.zeros((len(rows), len(names)), dtype=np.int64)
    for index, (n, row) in enumerate(rows):
        for column, cell in enumerate(row[1:] if has_names else row):
            counts[index, column] = _count(path, n, names[column], cell)
    clips = tuple(row[0] if has_names else str(index + 1) for index, (_, row) in enumerate(rows))
    return RatingTable(
        categories=tuple(names), clips=clips, counts=counts, ratings=np.zeros((len(rows), 0), dtype=np.int64)
    )


MAX_COUNT = 10**9  # more raters than people; keeps sums of squares exact in float64


def _count(path: Path, line: int, column: str, cell: str) -> int:
    if cell.isascii() and cell.isdigit() and int(cell) <= MAX_COUNT:
        return int(cell)
    raise FileFormatError(
        "a count is not a whole number",
        where=f"{path}, line {line}, column {column!r}",
        found=repr(cell),
        hint="write how many raters chose the category, 0 where none did",
    )


def _read_long(
    path: Path, header: list[str], rows: list[tuple[int, list[str]]], categories: Sequence[str] | None
) -> RatingTable:
    missing = [name for name in LONG_COLUMNS if name not in header]
    if missing:
        raise FileFormatError(
            f"long rows need the columns {', '.join(LONG_COLUMNS)}",
            where=f"{path}, line 1",
            found=f"{', '.join(header)}; missing {', '.join(missing)}",
            hint="rename the columns, or give --counts for a counts table",
        )
    notes: list[str] = []
    if categories is None:
        categories = DEFAULT_CATEGORIES
        notes.append("categories assumed to be 1 to 5; give --categories to say otherwise")
    at = {name: header.index(name) for name in LONG_COLUMNS}
    if REPEAT_COLUMN in header:
        column = header.index(REPEAT_COLUMN)
        kept = [(n, row) for n, row in rows if row[column] in ("0", "", "False", "false")]
        if len(kept) < len(rows):
            notes.append(f"{len(rows) - len(kept)} repeated showings left out")
        rows = kept
    seen: dict[tuple[str, str], int] = {}
    ratings: list[str | None] = []
    for n, row in rows:
        key = (row[at["clip"]], row[at["rater"]])
        if not all(key):
            raise FileFormatError("a row names no clip or no rater", where=f"{path}, line {n}", found=row)
        if key in seen:
            raise FileFormatError(
                "a rater rated the same clip twice",
                where=f"{path}, lines {seen[key]} and {n}",
                found=f"clip {key[0]!r}, rater {key[1]!r}",
                hint="keep one of them, or mark repeated showings in a column 'repeat'",
            )
        seen[key] = n
        ratings.append(_category(path, n, row[at["rating"]], categories))
    table = rating_table([k[0] for k in seen], [k[1] for k in seen], ratings, categories=categories)
    empty = ratings.count(None)
    if empty:
        notes.append(f"{empty} missing ratings")
    return RatingTable(
        categories=table.categories,
        clips=table.clips,
        counts=table.counts,
        raters=table.raters,
        ratings=table.ratings,
        notes=tuple(notes),
    )


def _category(path: Path, line: int, cell: str, categories: Sequence[str]) -> str | None:
    if cell in categories:
        return cell
    if cell.lower() in MISSING:
        return None
    # Spreadsheets and data frames turn a column with gaps into floats: 4.0 is the category 4.
    if cell.endswith(".0") and cell[:-2] in categories:
        return cell[:-2]
    raise FileFormatError(
        "a rating is not one of the categories",
        where=f"{path}, line {line}, column 'rating'",
        found=f"{cell!r}; categories: {', '.join(categories)}",
        hint="give all categories in order, e.g. --categories 1,2,3,4,5,6,7",
    )
