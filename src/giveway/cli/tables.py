"""Tables of commands whose results are in no store."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from giveway.reports.table import Raw, Table


def listing(
    title: str, heads: Sequence[str], rows: Iterable[Sequence[Raw]], *, notes: Sequence[str] = (), form: str = ".3f"
) -> Table:
    """A table of plain values; columns of text are aligned to the left."""
    from giveway.reports.table import Block, Column, Table, entry

    made = [tuple(entry(raw, form) for raw in row) for row in rows]
    columns = tuple(
        Column(head=head, left=any(isinstance(row[n].value, str) for row in made)) for n, head in enumerate(heads)
    )
    return Table(title=title, blocks=(Block(columns=columns, rows=tuple(made)),), notes=tuple(notes))
