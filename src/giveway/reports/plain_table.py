"""Tables of an application: named columns of values with notes below, in every format of a table."""

from __future__ import annotations

import csv
import html
import io
import math
from collections.abc import Iterator
from dataclasses import dataclass

from giveway.reports.latex import escape

Raw = float | int | str | bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """A value with all its digits, and as it is printed."""

    raw: Raw
    text: str


def value(raw: Raw, form: str = ".3f", *, missing: str = "-") -> Value:
    """A value of a table.

    Args:
        raw: number or text; None and NaN print as ``missing``.
        form: format of floating-point numbers.
        missing: printed where there is no value.
    """
    if raw is None or (isinstance(raw, float) and math.isnan(raw)):
        return Value(raw=None, text=missing)
    return Value(raw=raw, text=format(raw, form) if isinstance(raw, float) else str(raw))


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """Attributes:
    head: heading.
    width: characters in text, spaces to the left included; 0 for the longest entry and two spaces.
    left: aligned to the left, after two spaces.
    """

    head: str
    width: int = 0
    left: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Rows with the same columns; the first column names the row.

    Attributes:
        columns: from left to right.
        rows: one value per column.
        title: line above; empty for none.
        indent: spaces before each line of text.
        with_heads: whether text has a line of headings.
    """

    columns: tuple[Column, ...]
    rows: tuple[tuple[Value, ...], ...]
    title: str = ""
    indent: int = 0
    with_heads: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainTable:
    """A table of an application.

    Attributes:
        title: what it shows; the heading in Markdown, LaTeX and HTML.
        blocks: from top to bottom.
        banner: said before anything else if not all of the traffic was recorded.
        notes: lines below.
    """

    title: str
    blocks: tuple[Block, ...]
    banner: str = ""
    notes: tuple[str, ...] = ()

    def text(self) -> str:
        """Aligned columns for a terminal."""
        lines = [self.banner] if self.banner else []
        for block in self.blocks:
            lines += [*([block.title] if block.title else []), *_text_lines(block)]
        return "\n".join([*lines, *self.notes]) + "\n"

    def markdown(self) -> str:
        """One Markdown table per block."""
        parts = [*([self.banner] if self.banner else []), f"**{self.title}**"]
        for block in self.blocks:
            heads = [column.head for column in block.columns]
            rule = ["---" if column.left or n == 0 else "--:" for n, column in enumerate(block.columns)]
            body = [[cell.text for cell in row] for row in block.rows]
            parts += [block.title] if block.title else []
            parts.append("\n".join(f"| {' | '.join(_bar(c) for c in row)} |" for row in [heads, rule, *body]))
        return "\n\n".join([*parts, *self.notes]) + "\n"

    def latex(self) -> str:
        r"""One ``tabular`` per block; needs the package booktabs."""
        parts = [f"\\noindent\\textbf{{{escape(self.banner)}}}\\par\n"] if self.banner else []
        for block in self.blocks:
            form = "".join("l" if column.left or n == 0 else "r" for n, column in enumerate(block.columns))
            rows = [[column.head for column in block.columns], *([cell.text for cell in row] for row in block.rows)]
            head, *body = (" & ".join(escape(cell) for cell in row) + r" \\" for row in rows)
            lines = [rf"\begin{{tabular}}{{{form}}}", r"\toprule", head, r"\midrule", *body, r"\bottomrule"]
            title = [f"% {block.title}"] if block.title else []
            parts.append("\n".join([*title, *lines, r"\end{tabular}", ""]))
        return "\n\\medskip\n\n".join(parts)

    def csv(self) -> str:
        """One line per value with all digits: block, row, column, value."""
        buffer = io.StringIO()
        writer = csv.writer(buffer, lineterminator="\n")
        writer.writerow(["block", "row", "column", "value"])
        for block in self.blocks:
            for row in block.rows:
                for column, cell in zip(block.columns[1:], row[1:], strict=True):
                    writer.writerow([block.title, row[0].text, column.head, "" if cell.raw is None else cell.raw])
        return buffer.getvalue()

    def html(self) -> str:
        """A ``<figure>`` with a ``<table>`` per block, without any style of its own."""
        said = [f"<p><strong>{html.escape(self.banner)}</strong></p>"] if self.banner else []
        title = f"<figcaption><b>{html.escape(self.title)}</b></figcaption>"
        notes = (f"<p>{html.escape(note)}</p>" for note in self.notes)
        blocks = (line for block in self.blocks for line in _html_lines(block))
        return "\n".join(['<figure class="gw-table">', *said, title, *blocks, *notes, "</figure>"]) + "\n"

    def _repr_html_(self) -> str:
        return self.html()


def _bar(text: str) -> str:
    return text.replace("|", r"\|")


def _text_lines(block: Block) -> Iterator[str]:
    heads = [column.head for column in block.columns]
    rows = [[cell.text for cell in row] for row in block.rows]
    longest = [max(len(row[n]) for row in [heads, *rows]) for n in range(len(heads))]
    for row in [heads, *rows] if block.with_heads else rows:
        parts = [row[0].ljust(max(block.columns[0].width, longest[0]))]
        for text, column, size in zip(row[1:], block.columns[1:], longest[1:], strict=True):
            wide = max(column.width, size + 1) if column.width else size + 2
            parts.append(f"  {text:<{size}}" if column.left else f"{text:>{wide}}")
        yield (" " * block.indent + "".join(parts)).rstrip()


def _html_lines(block: Block) -> Iterator[str]:
    if block.title:
        yield f"<p><b>{html.escape(block.title)}</b></p>"
    heads = "".join(f'<th scope="col">{html.escape(column.head)}</th>' for column in block.columns)
    yield f"<table><thead><tr>{heads}</tr></thead><tbody>"
    for row in block.rows:
        cells = "".join(f"<td>{html.escape(cell.text)}</td>" for cell in row[1:])
        yield f'<tr><th scope="row">{html.escape(row[0].text)}</th>{cells}</tr>'
    yield "</tbody></table>"
