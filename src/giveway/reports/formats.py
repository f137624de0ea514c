"""One table, many formats: text, Markdown, LaTeX, CSV, HTML, JSON."""

from __future__ import annotations

import csv
import html
import io
import json
import math
from collections.abc import Callable, Iterator
from typing import Any

from giveway.core.errors import UnknownNameError
from giveway.reports.latex import render_latex
from giveway.reports.table import Entry, Table


def render(table: Table, format: str) -> str:
    """The table in one of :data:`FORMATS`.

    Raises:
        UnknownNameError: for another format.
    """
    if format not in FORMATS:
        raise UnknownNameError("table format", format, FORMATS)
    return FORMATS[format](table)


def render_text(table: Table) -> str:
    """Aligned columns; ``*`` is the best value, ``~`` one that is not significantly worse."""
    parts = [
        *([table.banner] if table.banner else []),
        table.title,
        *(_text_block(block) for block in table.blocks()),
        table.caption,
    ]
    return "\n\n".join(parts) + "\n"


def render_markdown(table: Table) -> str:
    """A table per block; the best value is bold."""
    parts = [*([table.banner] if table.banner else []), f"**{table.title}**"]
    for block in table.blocks():
        head = ["Dataset", "Split", *_headings(block)]
        rows = [
            ["" if i else row.title, line.label, *map(_markdown_entry, line.entries)] for row, i, line in _lines(block)
        ]
        rule = ["---", "---", *["--:"] * block.num_columns]
        parts.append(
            "\n".join(f"| {' | '.join(c.replace('|', chr(92) + '|') for c in r)} |" for r in [head, rule, *rows])
        )
    return "\n\n".join([*parts, table.caption]) + "\n"


def render_csv(table: Table) -> str:
    """One row per number, all digits."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(["dataset", "split", "model", "column", "value", "sd", "best", "tied", "num_samples", "note"])
    for item in _records(table):
        writer.writerow(["" if v is None else v for v in item.values()])
    return buffer.getvalue()


def render_json(table: Table) -> str:
    """The whole table with all digits; missing values are null."""
    document = {
        "origin": list(table.origins),
        "banner": table.banner,
        "title": table.title,
        "caption": table.caption,
        "column_title": table.column_title,
        "models": [{"model": g.title, "columns": list(g.columns)} for g in table.groups],
        "datasets": [row.title for row in table.rows],
        "values": list(_records(table)),
    }
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def render_html(table: Table) -> str:
    """A ``<figure>`` with a ``<table>`` per block, without any style of its own."""
    said = [f"<p><strong>{html.escape(table.banner)}</strong></p>"] if table.banner else []
    parts = ['<figure class="gw-table">', *said, f"<figcaption><b>{html.escape(table.title)}</b></figcaption>"]
    for block in table.blocks():
        parts += [
            "<table>",
            "<thead>",
            *_html_head(block),
            "</thead>",
            "<tbody>",
            *_html_rows(block),
            "</tbody>",
            "</table>",
        ]
    return "\n".join([*parts, f"<p>{html.escape(table.caption)}</p>", "</figure>"]) + "\n"


FORMATS: dict[str, Callable[[Table], str]] = {
    "text": render_text,
    "markdown": render_markdown,
    "latex": render_latex,
    "csv": render_csv,
    "html": render_html,
    "json": render_json,
}


def _lines(table: Table) -> Iterator[tuple[Any, int, Any]]:
    for row in table.rows:
        for number, line in enumerate(row.lines):
            yield row, number, line


def _headings(table: Table) -> list[str]:
    several = any(len(group.columns) > 1 for group in table.groups)
    return [f"{g.title} {c}" if several else g.title for g in table.groups for c in g.columns]


def _text_block(table: Table) -> str:
    several = any(len(group.columns) > 1 for group in table.groups)
    head = ["", "", *(g.title if i == 0 else "" for g in table.groups for i in range(len(g.columns)))]
    rows = [head]
    if several:
        rows.append(["", table.column_title, *(c for g in table.groups for c in g.columns)])
    body = [["" if i else row.title, line.label, *map(_text_entry, line.entries)] for row, i, line in _lines(table)]
    widths = [max(len(r[k]) for r in [*rows, *body]) for k in range(len(head))]
    starts = {sum(len(g.columns) for g in table.groups[:k]) + 2 for k in range(len(table.groups))}
    rule = "-" * (sum(widths) + 2 * len(widths) + len(starts) * 2 - 2)
    out = [_text_line(r, widths, starts) for r in rows]
    for (row, number, _), cells in zip(_lines(table), body, strict=True):
        if number == 0 and row is not None:
            out.append(rule)
        out.append(_text_line(cells, widths, starts))
    return "\n".join(out)


def _text_line(cells: list[str], widths: list[int], starts: set[int]) -> str:
    parts = [
        ("| " if k in starts else "") + text.ljust(width)
        for k, (text, width) in enumerate(zip(cells, widths, strict=True))
    ]
    return "  ".join(parts).rstrip()


def _text_entry(entry: Entry) -> str:
    mark = "*" if entry.best else "~" if entry.tied else ""
    deviation = f" ±{entry.shown_sd}" if entry.shown_sd else ""
    return f"{entry.shown}{mark}{deviation}"


def _markdown_entry(entry: Entry) -> str:
    value = f"**{entry.shown}**" if entry.best else f"{entry.shown}~" if entry.tied else entry.shown
    return f"{value} ±{entry.shown_sd}" if entry.shown_sd else value


def _html_head(table: Table) -> Iterator[str]:
    groups = "".join(
        f'<th colspan="{len(g.columns)}" scope="colgroup">{html.escape(g.title)}</th>' for g in table.groups
    )
    yield f'<tr><th scope="col">Dataset</th><th scope="col">Split</th>{groups}</tr>'
    if any(len(group.columns) > 1 for group in table.groups):
        columns = "".join(f'<th scope="col">{html.escape(c)}</th>' for g in table.groups for c in g.columns)
        yield f"<tr><th></th><th>{html.escape(table.column_title)}</th>{columns}</tr>"


def _html_rows(table: Table) -> Iterator[str]:
    for row, number, line in _lines(table):
        head = f'<th scope="rowgroup" rowspan="{len(row.lines)}">{html.escape(row.title)}</th>' if number == 0 else ""
        cells = "".join(_html_entry(entry) for entry in line.entries)
        yield f"<tr>{head}<td>{html.escape(line.label)}</td>{cells}</tr>"


def _html_entry(entry: Entry) -> str:
    if entry.is_missing:
        return f'<td title="{html.escape(entry.note)}">–</td>' if entry.note else "<td>–</td>"
    value = f"<u>{entry.shown}</u>" if entry.best else entry.shown
    mark = '<span title="not significantly worse than the best">≈</span>' if entry.tied else ""
    deviation = f" <small>±{entry.shown_sd}</small>" if entry.shown_sd else ""
    return f"<td>{value}{mark}{deviation}</td>"


def _records(table: Table) -> Iterator[dict[str, Any]]:
    columns = [(group.title, column) for group in table.groups for column in group.columns]
    for row, _, line in _lines(table):
        for (model, column), entry in zip(columns, line.entries, strict=True):
            yield {
                "dataset": row.title,
                "split": line.label,
                "model": model,
                "column": column,
                "value": _number(entry.value),
                "sd": _number(entry.sd),
                "best": entry.best,
                "tied": entry.tied,
                "num_samples": entry.num_samples,
                "note": entry.note,
            }


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
