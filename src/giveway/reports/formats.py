"""One table, many formats: text, Markdown, LaTeX, CSV, HTML, JSON."""

from __future__ import annotations

import csv
import io
import json
import math
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from giveway.core.errors import UnknownNameError
from giveway.reports.latex import render_latex
from giveway.reports.table import Block, Entry, Table


def render(table: Table, form: str) -> str:
    """The table in one of :data:`FORMATS`.

    Raises:
        UnknownNameError: for another format.
    """
    if form not in FORMATS:
        raise UnknownNameError("table format", form, FORMATS)
    return FORMATS[form](table)


MIN_TEXT = 24
"""A last column of text is not wrapped into less than this; the table is cut then."""


def render_text(table: Table, width: int | None = None) -> str:
    """Aligned columns; ``*`` is the best value, ``~`` one that is not significantly worse.

    Args:
        table: what to print.
        width: of the terminal: sentences are wrapped, columns that do not fit stand below; None for any width.
    """
    said, notes = ([] if not text else [_wrapped(text, width)] for text in (table.banner, "\n".join(table.notes)))
    if _is_grouped(table):
        pieces = [
            piece for block in table.blocks for piece in block.pieces(None if width is None else _fit(block, width))
        ]
        return "\n\n".join([*said, table.title, *map(_grouped_text, pieces), *notes]) + "\n"
    for block in table.blocks:
        said += [*([block.title] if block.title else []), *_fitted_lines(block, width)]
    return "\n".join([*said, *notes]) + "\n"


def _wrapped(text: str, width: int | None) -> str:
    if width is None:
        return text
    return "\n".join(textwrap.fill(line, width, break_long_words=False) for line in text.split("\n"))


def _fit(block: Block, width: int) -> int:
    """Number of value columns of a grouped block that fit, at least one."""
    labels = sum(max(len(row[n].text) for row in block.rows) + 2 for n in range(block.labels))
    widest = [max(len(_text_entry(row[n])) for row in block.rows) for n in range(block.labels, len(block.columns))]
    heads = [len(column.group) for column in block.columns[block.labels :]]
    return max(1, (width - labels) // (max(map(max, zip(widest, heads, strict=True))) + 4))


def _fitted_lines(block: Block, width: int | None) -> Iterator[str]:
    """Lines of a block; a last column of text is wrapped, other columns that do not fit follow below."""
    if width is None or max(map(len, _text_lines(block))) <= width:
        yield from _text_lines(block)
        return
    *others, last = range(len(block.columns))
    rest = max(map(len, _text_lines(_with_columns(block, others)))) + 2
    if block.columns[last].left and width - rest >= MIN_TEXT:
        for line in _text_lines(block):
            first, *more = textwrap.wrap(line[rest:], width - rest) or [""]
            yield (line[:rest] + first).rstrip()
            yield from (" " * rest + text for text in more)
        return
    shown = [0]
    for n in range(1, len(block.columns)):
        if len(shown) > 1 and max(map(len, _text_lines(_with_columns(block, [*shown, n])))) > width:
            yield from _text_lines(_with_columns(block, shown))
            shown = [0]
        shown.append(n)
    yield from _text_lines(_with_columns(block, shown))


def _with_columns(block: Block, which: Sequence[int]) -> Block:
    rows = tuple(tuple(row[n] for n in which) for row in block.rows)
    return replace(block, columns=tuple(block.columns[n] for n in which), rows=rows)


def render_markdown(table: Table) -> str:
    """A table per block; the best value is bold."""
    parts = [*([table.banner] if table.banner else []), f"**{table.title}**"]
    for block in [piece for whole in table.blocks for piece in whole.pieces()]:
        parts += [block.title] if block.title else []
        rule = ["---" if column.left or n < block.labels else "--:" for n, column in enumerate(block.columns)]
        body = [
            ["" if span == 0 and n == 0 else _markdown_entry(cell) for n, cell in enumerate(row)]
            for row, span in zip(block.rows, block.spans(), strict=True)
        ]
        lines = [_headings(block), rule, *body]
        parts.append("\n".join(f"| {' | '.join(map(_bar, line))} |" for line in lines))
    return "\n\n".join([*parts, *table.notes]) + "\n"


def render_csv(table: Table) -> str:
    """One row per value, all digits."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    records = list(_records(table))
    writer.writerow(records[0] if records else ["block", "row", "column", "value"])
    for record in records:
        writer.writerow(["" if v is None else v for v in record.values()])
    return buffer.getvalue()


def render_json(table: Table) -> str:
    """The whole table with all digits; missing values are null."""
    document: dict[str, Any] = {
        "origin": list(table.origins),
        "banner": table.banner,
        "title": table.title,
        "caption": table.caption,
    }
    if _is_grouped(table):
        block = table.blocks[0]
        columns = block.columns[block.labels :]
        document |= {
            "column_title": "n_I",
            "models": [
                {"model": first.group, "columns": [c.head for c in columns if c.group == first.group]}
                for first, _ in block.groups
            ],
            "datasets": list(dict.fromkeys(row[0].text for row in block.rows)),
        }
    document["values"] = list(_records(table))
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def render_html(table: Table) -> str:
    """A ``<figure>`` with a ``<table>`` per block, without any style of its own."""
    from giveway.reports.rendering import table_html  # needs the templates, the other formats do not

    return table_html(table)


FORMATS: dict[str, Callable[[Table], str]] = {
    "text": render_text,
    "markdown": render_markdown,
    "latex": render_latex,
    "csv": render_csv,
    "html": render_html,
    "json": render_json,
}


def _is_grouped(table: Table) -> bool:
    """Whether the table has the layout of the papers: groups of columns, two labels per row."""
    return any(block.labels > 1 for block in table.blocks)


def _bar(text: str) -> str:
    return text.replace("|", r"\|")


def _headings(block: Block) -> list[str]:
    heads = [column.head for column in block.columns[: block.labels]]
    for column in block.columns[block.labels :]:
        joined = f"{column.group} {column.head}" if block.has_subheads else column.group
        heads.append(joined if column.group else column.head)
    return heads


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


def _grouped_text(block: Block) -> str:
    groups = block.groups
    head = ["", ""]
    for first, width in groups:
        head += [first.group, *[""] * (width - 1)]
    rows = [head]
    if block.has_subheads:
        rows.append(["", "n_I", *(column.head for column in block.columns[2:])])
    spans = block.spans()
    body = [
        [row[0].text if span else "", row[1].text, *map(_text_entry, row[2:])]
        for row, span in zip(block.rows, spans, strict=True)
    ]
    widths = [max(len(row[k]) for row in [*rows, *body]) for k in range(len(head))]
    starts = {2 + sum(width for _, width in groups[:k]) for k in range(len(groups))}
    rule = "-" * (sum(widths) + 2 * len(widths) + len(starts) * 2 - 2)
    lines = [_text_line(row, widths, starts) for row in rows]
    for cells, span in zip(body, spans, strict=True):
        lines += [rule] if span else []
        lines.append(_text_line(cells, widths, starts))
    return "\n".join(lines)


def _text_line(cells: list[str], widths: list[int], starts: set[int]) -> str:
    parts = [
        ("| " if k in starts else "") + text.ljust(width)
        for k, (text, width) in enumerate(zip(cells, widths, strict=True))
    ]
    return "  ".join(parts).rstrip()


def _text_entry(entry: Entry) -> str:
    mark = {"best": "*", "tied": "~"}.get(entry.mark, "")
    return f"{entry.text}{mark}" + (f" ±{entry.shown_sd}" if entry.shown_sd else "")


def _markdown_entry(entry: Entry) -> str:
    shown = {"best": f"**{entry.text}**", "tied": f"{entry.text}~"}.get(entry.mark, entry.text)
    return f"{shown} ±{entry.shown_sd}" if entry.shown_sd else shown


def _records(table: Table) -> Iterator[dict[str, Any]]:
    """One dictionary per value: where it stands, and what is known of it."""
    for block in table.blocks:
        values = block.columns[block.labels :]
        for row in block.rows:
            for column, cell in zip(values, row[block.labels :], strict=True):
                if block.labels < 2:
                    yield {"block": block.title, "row": row[0].text, "column": column.head, "value": cell.value}
                    continue
                yield {
                    **{c.head.lower(): row[n].text for n, c in enumerate(block.columns[: block.labels])},
                    "model": column.group,
                    "column": column.head,
                    "value": cell.value,
                    "sd": cell.sd if math.isfinite(cell.sd) else None,
                    "best": cell.mark == "best",
                    "tied": cell.mark == "tied",
                    "num_samples": cell.num_samples,
                    "note": cell.note,
                }
