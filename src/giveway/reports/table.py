"""A table as a value: blocks of columns and rows, with marks; :mod:`giveway.reports.formats` prints it."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

Raw = float | int | str | bool | None
Mark = Literal["", "best", "tied", "bad"]
DECIMALS = 3
MISSING = "–"
MAX_VALUE_COLUMNS = 12
"""A block with groups of columns is cut where it has more value columns than this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One place of a table.

    Attributes:
        value: number with all its digits, or text; None if there is none.
        text: what is printed.
        sd: deviation, NaN if there is none.
        mark: ``best``: nothing beats it; ``tied``: not significantly worse than the best; ``bad``: a warning.
        note: shown on hover and to screen readers, e.g. why there is no value.
        link: relative address.
        num_samples: number of samples behind it.
    """

    value: Raw = None
    text: str = MISSING
    sd: float = math.nan
    mark: Mark = ""
    note: str = ""
    link: str = ""
    num_samples: int = 0

    @property
    def is_missing(self) -> bool:
        """Whether there is no value."""
        return self.value is None

    @property
    def order(self) -> float | None:
        """What a column is sorted by: NaN for a missing value, None for text, which sorts as such."""
        if isinstance(self.value, str):
            return None
        return math.nan if self.value is None else float(self.value)

    @property
    def shown_sd(self) -> str:
        """Deviation as printed; empty if there is none or it rounds to zero."""
        text = f"{self.sd:.{DECIMALS}f}" if math.isfinite(self.sd) else ""
        return "" if text and float(text) == 0 else text


def entry(value: Raw, form: str | int = f".{DECIMALS}f", *, missing: str = MISSING, **more: Any) -> Entry:
    """An entry that prints its value.

    Args:
        value: None, NaN and infinities print as ``missing``.
        form: format of floating-point numbers, or their number of decimals.
        missing: printed where there is no value.
        more: other attributes of :class:`Entry`; ``text`` replaces what is printed.
    """
    known: dict[str, Any] = {"value": value, "text": str(value)}
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        known = {"text": missing}
    elif isinstance(value, float):
        known["text"] = number(value, form) if isinstance(form, int) else format(value, form)
    return Entry(**(known | more))


def number(value: float | None, digits: int = DECIMALS) -> str:
    """A number for people; a dash where there is none."""
    if value is None or not math.isfinite(value):
        return MISSING
    return f"{value:.{digits}f}" if abs(value) < 1e5 else f"{value:.3g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column.

    Attributes:
        head: heading.
        group: heading of the columns it belongs with, e.g. a model; empty for none.
        latex: LaTeX mathematics of the group, without dollar signs.
        left: aligned to the left; numbers are aligned to the right.
        width: characters in text, spaces to the left included; 0 for the longest entry and two spaces.
        filter: pages offer a list of its values to filter by.
    """

    head: str
    group: str = ""
    latex: str = ""
    left: bool = False
    width: int = 0
    filter: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Rows with the same columns.

    Attributes:
        columns: from left to right.
        rows: one entry per column.
        title: line above; empty for none.
        labels: leading columns that name a row; where there are two, equal first labels are printed once.
        indent: spaces before each line of text.
        with_heads: whether text has a line of headings.
    """

    columns: tuple[Column, ...]
    rows: tuple[tuple[Entry, ...], ...]
    title: str = ""
    labels: int = 1
    indent: int = 0
    with_heads: bool = True

    @property
    def groups(self) -> list[tuple[Column, int]]:
        """First column and width of every group of value columns; empty where columns have no groups."""
        found: list[tuple[Column, int]] = []
        for column in self.columns[self.labels :]:
            if not column.group:
                return []
            if found and found[-1][0].group == column.group:
                found[-1] = (found[-1][0], found[-1][1] + 1)
            else:
                found.append((column, 1))
        return found

    @property
    def has_subheads(self) -> bool:
        """Whether some group has more than one column."""
        return any(width > 1 for _, width in self.groups)

    def spans(self) -> list[int]:
        """Per row: how many rows its first label names; 0 where the row above names it already."""
        if self.labels < 2:
            return [1] * len(self.rows)
        spans: list[int] = []
        first = 0
        for n, row in enumerate(self.rows):
            if n and row[0].text == self.rows[first][0].text:
                spans[first] += 1
                spans.append(0)
            else:
                first = n
                spans.append(1)
        return spans

    def pieces(self, most: int | None = None) -> list[Block]:
        """The block cut into pieces of at most ``most`` value columns, by default twelve; groups stay whole.

            groups per piece = ceil(M / ceil(M / floor(12 / n))),   n columns per group, M groups

        34 models with one column each give 12 + 12 + 10.
        """
        groups, most = self.groups, most or MAX_VALUE_COLUMNS
        if not groups or len(self.columns) - self.labels <= most:
            return [self]
        count = len(groups)
        fitting = max(1, most // max(width for _, width in groups))
        size = math.ceil(count / math.ceil(count / fitting))
        return [self._cut(groups, start, min(start + size, count)) for start in range(0, count, size)]

    def _cut(self, groups: Sequence[tuple[Column, int]], first: int, last: int) -> Block:
        left = self.labels + sum(width for _, width in groups[:first])
        right = left + sum(width for _, width in groups[first:last])

        def cut(row: tuple[Any, ...]) -> tuple[Any, ...]:
            return (*row[: self.labels], *row[left:right])

        return replace(self, columns=cut(self.columns), rows=tuple(map(cut, self.rows)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table in every format: of an application, of a paper, or of a page.

    Attributes:
        title: what it shows.
        blocks: from top to bottom.
        banner: said before anything else if not all of the traffic was recorded.
        origins: of the recordings behind it, see :mod:`giveway.core.origins`; empty if unknown.
        notes: lines below, e.g. what numbers and marks mean.
    """

    title: str
    blocks: tuple[Block, ...]
    banner: str = ""
    origins: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def caption(self) -> str:
        """All notes."""
        return " ".join(self.notes)

    @property
    def rows(self) -> tuple[tuple[Entry, ...], ...]:
        """Rows of all blocks."""
        return tuple(row for block in self.blocks for row in block.rows)

    def text(self, width: int | None = None) -> str:
        """Aligned columns, within the width of a terminal if one is given; see :mod:`giveway.reports.formats`."""
        from giveway.reports.formats import render_text  # formats import this module

        return render_text(self, width)

    def markdown(self) -> str:
        """Markdown, the best value bold."""
        return self.rendered("markdown")

    def latex(self) -> str:
        """LaTeX; groups of columns in the layout of the papers."""
        return self.rendered("latex")

    def csv(self) -> str:
        """One line per value with all digits."""
        return self.rendered("csv")

    def html(self) -> str:
        """A ``<figure>`` without any style of its own."""
        return self.rendered("html")

    def _repr_html_(self) -> str:
        return self.html()

    def rendered(self, form: str) -> str:
        """The table in one of :data:`giveway.reports.formats.FORMATS`."""
        from giveway.reports.formats import render  # formats import this module

        return render(self, form)


def table_of(
    title: str,
    heads: Iterable[str],
    rows: Iterable[Sequence[Entry]],
    *,
    numeric: Collection[int] | None = None,
    filters: Collection[int] = (),
    caption: str = "",
    **more: Any,
) -> Table:
    """A table of one block.

    Args:
        title: what it shows.
        heads: headings of the columns.
        rows: one entry per column.
        numeric: columns that are numbers and aligned to the right; all but the first without it.
        filters: columns to filter by.
        caption: what numbers and marks mean.
        more: other attributes of :class:`Table`.
    """
    columns = tuple(
        Column(head=head, left=n not in numeric if numeric is not None else n == 0, filter=n in filters)
        for n, head in enumerate(heads)
    )
    block = Block(columns=columns, rows=tuple(tuple(row) for row in rows))
    return Table(title=title, blocks=(block,), notes=(caption,) if caption else (), **more)


def tied_ranks(groups: Sequence[Sequence[str]]) -> dict[str, Entry]:
    """The same rank for all names of a group, e.g. ``1 =``, then that of the next group by counting."""
    ranks: dict[str, Entry] = {}
    for group in groups:
        rank = len(ranks) + 1
        ranks |= {name: entry(rank, text=f"{rank} =" if len(group) > 1 else str(rank)) for name in group}
    return ranks
