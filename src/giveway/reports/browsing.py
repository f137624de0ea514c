"""Data for tables that a script draws: columns of numbers, of a few distinct values, or of text, in a script file.

A page opened from disk may not ``fetch`` its neighbors, but it may load them as scripts. A data file is one call,
``giveway.data("cells.js", JSON.parse('...'))``: text that is parsed as JSON is read several times faster than code.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

MAX_CHOICES = 60
CHUNK_CELLS = 100
"""Approximate number of cells whose details share one file."""
KEY_DIGITS = 16


def script(name: str, value: Any) -> str:
    """A file that hands a value to the page when it is loaded; nothing in it can be anything but data."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False, ensure_ascii=True)
    quoted = text.replace("\\", "\\\\").replace("'", "\\'").replace("<", "\\x3c")
    return f"giveway.data({json.dumps(name)},JSON.parse('{quoted}'));\n"


def table_data(frame: pl.DataFrame, *, titles: Mapping[str, str] | None = None) -> dict[str, Any]:
    """A table as columns; missing values are null.

    Args:
        frame: one row per line; text, numbers and booleans.
        titles: column to heading; the name of the column otherwise.
    """
    columns = [_column(frame[name], (titles or {}).get(name, name)) for name in frame.columns]
    return {"rows": frame.height, "columns": columns}


def _column(values: pl.Series, title: str) -> dict[str, Any]:
    if values.dtype.is_float():
        rounded = values.fill_nan(None).round_sig_figs(6)
        finite = rounded.is_finite()
        return {"title": title, "kind": "number", "values": rounded.set(~finite.fill_null(False), None).to_list()}
    is_number = values.dtype.is_integer()
    texts = values if is_number or values.dtype == pl.String else values.cast(pl.String)
    labels = texts.drop_nulls().unique().sort().to_list()
    if len(labels) <= MAX_CHOICES and len(labels) < max(2, values.len()):
        code = {label: n for n, label in enumerate(labels)}
        codes = texts.replace_strict(code, return_dtype=pl.Int64, default=None) if labels else texts.cast(pl.Int64)
        kind = "number" if is_number else "text"
        return {"title": title, "kind": "choice", "of": kind, "labels": labels, "codes": codes.to_list()}
    return {"title": title, "kind": "number" if is_number else "text", "values": texts.to_list()}


def detail_digits(count: int) -> int:
    """How many leading digits of a key name the file with its details."""
    return max(0, math.ceil(math.log(max(1, count / CHUNK_CELLS), 16)))


def chunks(keys: Sequence[str], digits: int) -> Iterator[tuple[str, list[str]]]:
    """Keys by their first digits; ``all`` if there are none."""
    groups: dict[str, list[str]] = {}
    for key in keys:
        groups.setdefault(key[:digits] or "all", []).append(key)
    yield from groups.items()


def finite(value: Any) -> Any:
    """The same value with NaN and infinities as null, and everything unknown as text."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, str | int | bool) or value is None:
        return value
    if isinstance(value, Mapping):
        return {str(k): finite(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [finite(v) for v in value]
    as_list = getattr(value, "tolist", None)  # arrays and their scalars
    return str(value) if as_list is None else finite(as_list())
