"""Write tables the way the originals look."""

from __future__ import annotations

from pathlib import Path

import polars as pl


def write_table(
    path: Path,
    table: pl.DataFrame,
    *,
    decimals: int | None = None,
    separator: str = ",",
    first_header: str | None = None,
) -> None:
    """Comma- or tab-separated text with one header line and line feeds; nothing is quoted.

    Args:
        path: file to create; its folder must exist.
        table: columns in the order of the file.
        decimals: digits after the point of every float column; None for the shortest exact form.
        separator: between cells.
        first_header: text of the first header cell, where it is not a possible column name.
    """
    names = list(table.columns)
    if first_header is not None:
        names[0] = first_header
    with path.open("wb") as file:
        file.write((separator.join(names) + "\n").encode())
        table.write_csv(
            file,
            include_header=False,
            separator=separator,
            float_precision=decimals,
            quote_style="never",
            null_value="",
        )
