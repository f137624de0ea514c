"""What results of closed-loop drives say about themselves: leaderboard, differences, logs, cases."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from giveway.core.errors import EmptySelectionError, UsageError
from giveway.core.log import DriveLog
from giveway.drive.answer import drive_answer
from giveway.drive.contact_tables import contacts_table
from giveway.drive.document import document_of
from giveway.drive.experiment import RECORDED
from giveway.drive.pages import summary_blocks, worst_first
from giveway.drive.replay import drive_document
from giveway.drive.roads import road_of_log
from giveway.drive.tables import cases_table, difference, leaderboard_of, measures_table, scores_figure
from giveway.experiments import Cell
from giveway.reports.cells import Overview
from giveway.reports.content import PageLimits, Paragraph
from giveway.reports.section import Compared, Section, checked_name, selected, with_choices
from giveway.reports.table import Table
from giveway.sim.case_files import case_from
from giveway.sim.case_sets import CaseSet
from giveway.sim.log_files import read_log

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from giveway.reports.results import Results

CELLS = "Cases"


class DriveSection(Section):
    """Tables ``leaderboard``, ``cases``, ``measures`` and ``contacts``, figure ``scores``."""

    kind = "drive"
    title = "Closed loop"
    tables = ("leaderboard", "cases", "measures", "contacts")
    figures = ("scores",)

    def table(self, results: Results, name: str, **choices: Any) -> Table:
        """Scores of the predictors beside those of the recorded drivers, or the terms of every case."""
        made = {
            "leaderboard": leaderboard_of,
            "cases": cases_table,
            "measures": measures_table,
            "contacts": contacts_table,
        }
        return with_choices(made[checked_name("table", name, self.tables)], choices, results)

    def figure(self, results: Results, name: str, **choices: Any) -> Figure:
        """See :func:`scores_figure`."""
        checked_name("figure", name, self.figures)
        return with_choices(scores_figure, choices, results)

    def compare(self, results: Results, a: str, b: str, **choices: Any) -> Compared:
        """Paired interval of the difference over cases, see :func:`difference`."""
        return with_choices(difference, choices, results, a, b)

    def log(self, results: Results, **which: Any) -> DriveLog:
        """The log of one drive.

        Raises:
            EmptySelectionError, UsageError: none or several drives are left.
        """
        keys = _keys(results, which)
        if len(keys) > 1 and not which.get("first"):
            raise UsageError(
                f"{len(keys)} drives fit",
                where=", ".join(f"{n}={v}" for n, v in which.items()) or results.place,
                found=", ".join(_label(cell) for cell in keys[:4]) + (" and others" if len(keys) > 4 else ""),
                hint="give case=... and predictor=..., or first=True",
            )
        return read_log(results.store.attachments(keys[0].key))

    def cases(self, results: Results, **filters: Any) -> CaseSet:
        """The cases that were driven, each once."""
        found = {cell.params["case"]: cell for cell in _keys(results, filters)}
        driven = [case_from(cell.settings["case"], cell.label()) for _, cell in sorted(found.items())]
        return CaseSet(cases=tuple(driven))

    def origin(self, results: Results) -> str:
        """Whether the reference traffic was recorded."""
        try:
            return str(document_of(results.store)["banner"])
        except EmptySelectionError:
            return ""

    def overview(self, results: Results, limits: PageLimits) -> Overview:
        """Leaderboard, open against closed loop, differences; every drive can be watched, collisions first."""
        try:
            summary = document_of(results.store)
        except EmptySelectionError as error:
            return Overview(blocks=(Paragraph(text=f"{error.what}; {error.hint}."),), cells=CELLS)
        driven = results.frame().filter(pl.col("predictor") != RECORDED)
        return Overview(
            blocks=summary_blocks(summary),
            answer=drive_answer(summary) if len(summary["predictors"]) > 1 else None,
            cells=CELLS,
            replays=worst_first(driven),
            rivals=_rivals(driven),
            order="drives, collisions first",
        )

    def replay(self, results: Results, key: str) -> Mapping[str, Any]:
        """One drive, with its map where that was kept or its recording is at hand."""
        log = read_log(results.store.attachments(key))
        return drive_document(log, road_of_log(log, results.options.get("data")))


def _keys(results: Results, filters: Mapping[str, Any]) -> list[Cell]:
    """Cells that the filters leave, in order of case and predictor."""
    frame = DRIVE.frame(results).unique(subset="key", maintain_order=True)
    left = selected(frame, {name: v for name, v in filters.items() if name != "first"})
    ordered = left.sort("case", pl.col("predictor") == RECORDED, "predictor", "key")["key"].to_list()
    return [Cell.from_json(results.store.read_record(key)["cell"]) for key in ordered]


def _rivals(driven: pl.DataFrame) -> dict[str, tuple[str, str]]:
    """Drives of the same case; named by what differs among all: predictor, then planner and driver."""
    differs = [name for name in ("planner", "driver") if name in driven.columns and driven[name].n_unique() > 1]
    rows = driven.unique(subset="key").sort("key").iter_rows(named=True)
    return {row["key"]: (str(row["case"]), ", ".join(str(row[n]) for n in ("predictor", *differs))) for row in rows}


def _label(cell: Cell) -> str:
    return f"{cell.params['case']} {cell.params['predictor']}"


DRIVE = DriveSection()
