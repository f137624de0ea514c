r"""Tables in LaTeX: groups of columns in the published layout, everything else as a plain ``tabular``.

The published layout needs the packages tabularx, booktabs and multirow, and the column type C, a centered X column;
define it once in the preamble with :data:`COLUMN_TYPE`. A plain table needs booktabs.
"""

from __future__ import annotations

from typing import Literal

from giveway.reports.table import Block, Entry, Table

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
    r"""LaTeX source, one ``tabularx`` or ``tabular`` per block.

    Args:
        table: what to set.
        emphasis: how the best value is shown; the later paper underlines, the benchmark paper prints bold.
        marks: add a subscript for values that are not significantly worse than the best.
    """
    said = f"\\noindent\\textbf{{{escape(table.banner)}}}\\par\n" if table.banner else ""
    pieces = [piece for block in table.blocks for piece in block.pieces()]
    return said + "\n\\medskip\n\n".join(
        _published(piece, emphasis, marks) if piece.groups else _plain(piece) for piece in pieces
    )


def escape(text: str) -> str:
    """Plain text for LaTeX."""
    return "".join(SPECIAL.get(character, character) for character in text)


def _plain(block: Block) -> str:
    form = "".join("l" if column.left or n == 0 else "r" for n, column in enumerate(block.columns))
    rows = [[column.head for column in block.columns], *([cell.text for cell in row] for row in block.rows)]
    head, *body = (" & ".join(escape(cell) for cell in row) + r" \\" for row in rows)
    title = [f"% {block.title}"] if block.title else []
    lines = [rf"\begin{{tabular}}{{{form}}}", r"\toprule", head, r"\midrule", *body, r"\bottomrule"]
    return "\n".join([*title, *lines, r"\end{tabular}", ""])


def _published(block: Block, emphasis: Emphasis, marks: bool) -> str:
    count = len(block.columns) - block.labels
    columns = " | ".join(["X", *("C" * width for _, width in block.groups)])
    heads = " & ".join(rf"\multicolumn{{{width}}}{{c}}{{${first.latex}$}}" for first, width in block.groups)
    lines = [
        rf"\begin{{tabularx}}{{{_width(count)}}}{{{columns}}}",
        r"\toprule",
        rf"\multirow{{2}}{{*}}{{\textbf{{Dataset}}}} & \multicolumn{{{count}}}{{c}}{{\textbf{{Models}}}} \\",
        rf"& {heads} \\",
    ]
    for row, span in zip(block.rows, block.spans(), strict=True):
        title = rf"\emph{{{escape(row[0].text)}}}"
        lines += [r"\midrule"] if span else []
        entries = (_entry(cell, emphasis, marks) for cell in row[block.labels :])
        lines.append(" & ".join([title if span else " " * len(title), *entries]) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabularx}", ""])


def _entry(entry: Entry, emphasis: Emphasis, marks: bool) -> str:
    if entry.is_missing:
        return ""
    command = r"\underline" if emphasis == "underline" else r"\mathbf"
    value = f"{command}{{{entry.text}}}" if entry.mark == "best" else entry.text
    deviation = rf"^{{\pm {entry.shown_sd}}}" if entry.shown_sd else NO_DEVIATION
    mark = r"_{\approx}" if marks and entry.mark == "tied" else ""
    return rf"{{\scriptsize ${value}{deviation}{mark}$}}"


def _width(num_columns: int) -> str:
    if num_columns > 9:
        return r"\textheight"
    return r"\textwidth" if num_columns >= 5 else r"\linewidth"
