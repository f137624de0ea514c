r"""Tables in the published LaTeX layout; needs the packages tabularx, booktabs and multirow.

The column type C is a centered X column; define it once in the preamble with :data:`COLUMN_TYPE`.
"""

from __future__ import annotations

from typing import Literal

from giveway.reports.table import ColumnGroup, Entry, RowGroup, Table

COLUMN_TYPE = r"\newcolumntype{C}{>{\centering\arraybackslash\hsize=0.61\hsize}X}"
NO_DEVIATION = r"^{\hphantom{\pm 0.000}}"
SPECIAL = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}

Emphasis = Literal["underline", "bold"]


def render_latex(table: Table, *, emphasis: Emphasis = "underline", marks: bool = False) -> str:
    r"""LaTeX source, one ``tabularx`` per block.

    Args:
        table: what to set.
        emphasis: how the best value is shown; the later paper underlines, the benchmark paper prints bold.
        marks: add a subscript for values that are not significantly worse than the best.
    """
    said = f"\\noindent\\textbf{{{escape(table.banner)}}}\\par\n" if table.banner else ""
    return said + "\n\\medskip\n\n".join(_block(block, emphasis, marks) for block in table.blocks())


def escape(text: str) -> str:
    """Plain text for LaTeX."""
    return "".join(SPECIAL.get(character, character) for character in text)


def _block(table: Table, emphasis: Emphasis, marks: bool) -> str:
    columns = " | ".join(["X", *("C" * len(group.columns) for group in table.groups)])
    heads = " & ".join(_head(group) for group in table.groups)
    every = rf"\multicolumn{{{table.num_columns}}}{{c}}{{\textbf{{Models}}}}"
    lines = [
        rf"\begin{{tabularx}}{{{_width(table.num_columns)}}}{{{columns}}}",
        r"\toprule",
        rf"\multirow{{2}}{{*}}{{\textbf{{Dataset}}}} & {every} \\",
        rf"& {heads} \\",
    ]
    for row in table.rows:
        lines += [r"\midrule", *_rows(row, emphasis, marks)]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabularx}", ""])


def _head(group: ColumnGroup) -> str:
    return rf"\multicolumn{{{len(group.columns)}}}{{c}}{{${group.latex}$}}"


def _rows(row: RowGroup, emphasis: Emphasis, marks: bool) -> list[str]:
    title = rf"\emph{{{escape(row.title)}}}"
    found: list[str] = []
    for number, line in enumerate(row.lines):
        first = title if number == 0 else " " * len(title)
        found.append(" & ".join([first, *(_entry(entry, emphasis, marks) for entry in line.entries)]) + r" \\")
    return found


def _entry(entry: Entry, emphasis: Emphasis, marks: bool) -> str:
    if entry.is_missing:
        return ""
    command = r"\underline" if emphasis == "underline" else r"\mathbf"
    value = f"{command}{{{entry.shown}}}" if entry.best else entry.shown
    deviation = rf"^{{\pm {entry.shown_sd}}}" if entry.shown_sd else NO_DEVIATION
    mark = r"_{\approx}" if marks and entry.tied else ""
    return rf"{{\scriptsize ${value}{deviation}{mark}$}}"


def _width(num_columns: int) -> str:
    if num_columns > 9:
        return r"\textheight"
    return r"\textwidth" if num_columns >= 5 else r"\linewidth"
