"""A table as a value: groups of columns, groups of rows, marks; rendered elsewhere."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from giveway.core.origins import banner

DECIMALS = 3
MAX_VALUE_COLUMNS = 12
"""More columns than this are set as blocks below one another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One number of a table.

    Attributes:
        value: NaN prints as a dash.
        sd: deviation, NaN if there is none.
        best: whether nothing in its column is better, at the printed precision.
        tied: not the best, but not significantly worse than it.
        num_samples: samples behind it.
        note: why there is no value.
    """

    value: float = math.nan
    sd: float = math.nan
    best: bool = False
    tied: bool = False
    num_samples: int = 0
    note: str = ""

    @property
    def is_missing(self) -> bool:
        """Whether there is no value."""
        return not math.isfinite(self.value)

    @property
    def shown_sd(self) -> str:
        """Deviation as printed; empty if there is none or it rounds to zero."""
        text = f"{self.sd:.{DECIMALS}f}" if math.isfinite(self.sd) else ""
        return "" if text and float(text) == 0 else text

    @property
    def shown(self) -> str:
        """Value as printed."""
        return "–" if self.is_missing else f"{self.value:.{DECIMALS}f}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnGroup:
    """Columns that belong to one model.

    Attributes:
        title: for text.
        latex: LaTeX mathematics without dollar signs.
        columns: one heading per column, e.g. ``("2", "3", "8")``.
    """

    title: str
    latex: str
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of a row group: a label and one entry per column, all groups after one another."""

    label: str
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RowGroup:
    """Lines that belong to one dataset."""

    title: str
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table.

    Attributes:
        title: one line, e.g. ``"AUC at constant gaps"``.
        caption: what the numbers and marks mean, which test, how many samples.
        column_title: what the columns of a group count, e.g. ``"n_I"``.
        groups: column groups from left to right.
        rows: row groups from top to bottom.
        origins: of the recordings behind it, see :mod:`giveway.core.origins`; empty if nobody says.
    """

    title: str
    caption: str
    column_title: str
    groups: tuple[ColumnGroup, ...]
    rows: tuple[RowGroup, ...]
    origins: tuple[str, ...] = ()

    @property
    def banner(self) -> str:
        """What is said before anything else if not all of it was recorded."""
        return banner("the traffic behind these numbers", self.origins) if self.origins else ""

    @property
    def num_columns(self) -> int:
        """Value columns."""
        return sum(len(group.columns) for group in self.groups)

    def text(self) -> str:
        """Aligned columns for a terminal; see :mod:`giveway.reports.formats` for what the marks mean."""
        return self._rendered("text")

    def markdown(self) -> str:
        """Markdown, the best value bold."""
        return self._rendered("markdown")

    def latex(self) -> str:
        """LaTeX in the layout of the papers."""
        return self._rendered("latex")

    def csv(self) -> str:
        """One line per number with all digits."""
        return self._rendered("csv")

    def html(self) -> str:
        """A ``<figure>`` without any style of its own."""
        return self._rendered("html")

    def _repr_html_(self) -> str:
        return self.html()

    def _rendered(self, form: str) -> str:
        from giveway.reports.formats import render  # formats import this module

        return render(self, form)

    def blocks(self) -> list[Table]:
        """The table cut into blocks of at most twelve value columns.

            models per block = ceil(M / ceil(M / floor(12 / n))),   n columns per model, M models

        34 models with one column each give 12 + 12 + 10.
        """
        if self.num_columns <= MAX_VALUE_COLUMNS:
            return [self]
        width = max(len(group.columns) for group in self.groups)
        count = len(self.groups)
        fitting = max(1, MAX_VALUE_COLUMNS // width)
        size = math.ceil(count / math.ceil(count / fitting))
        return [self._cut(start, min(start + size, count)) for start in range(0, count, size)]

    def _cut(self, first: int, last: int) -> Table:
        left = sum(len(group.columns) for group in self.groups[:first])
        right = left + sum(len(group.columns) for group in self.groups[first:last])
        rows = tuple(
            replace(row, lines=tuple(replace(line, entries=line.entries[left:right]) for line in row.lines))
            for row in self.rows
        )
        return replace(self, groups=self.groups[first:last], rows=rows)
