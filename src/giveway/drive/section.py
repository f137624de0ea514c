"""What results of closed-loop drives say about themselves: leaderboard, differences, logs, cases."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from giveway.core.checked import Expect, read_sealed
from giveway.core.errors import EmptySelectionError, MissingDependencyError, StoreError, UnknownNameError, UsageError
from giveway.drive.pages import summary_blocks, summary_facts, worst_first
from giveway.drive.replay import drive_document
from giveway.drive.results import TERMS
from giveway.drive.roads import road_of
from giveway.drive.runs import SUMMARY, log_folder
from giveway.experiments import Cell
from giveway.reports.cells import Overview
from giveway.reports.content import PageLimits, Paragraph
from giveway.reports.difference import Difference
from giveway.reports.section import Compared, Section, checked_name, selected, with_choices
from giveway.reports.table import Block, Column, Table, entry
from giveway.sim.case_sets import CaseSet
from giveway.sim.log_files import logs_below, read_log
from giveway.sim.logs import DriveLog

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from giveway.reports.results import Results

HEADS = {"S_eff": 8, "S_jer": 8, "S_vel": 8, "S_cou": 8, "Score": 9}
"""Terms of the challenge score and the width of their columns."""
MORE = {
    "gated": "gated_score",
    "fault/case": "at_fault_collisions",
    "TTC s": "min_ttc_s",
    "PET s": "post_encroachment_s",
    "comfort": "comfortable",
    "delay s": "courtesy_delay_s",
    "realism": "realism",
    "ADE m": "ade_m",
}
"""Further means over cases that are printed; all of them are in the JSON document."""
MORE_WIDTH = 11
CELLS = "Cases"
SHORT_KEY = 8
"""Digits of a cell's key at the end of the name of its log folder."""
METRICS = {"challenge": "score"}
"""Other names of the terms of the score."""


class DriveSection(Section):
    """Tables ``leaderboard`` and ``cases``, figure ``scores``."""

    kind = "drive"
    title = "Closed loop"
    tables = ("leaderboard", "cases")
    figures = ("scores",)

    def table(self, results: Results, name: str, **choices: Any) -> Table:
        """Scores of the predictors beside those of the recorded drivers, or the terms of every case."""
        chosen = checked_name("table", name, self.tables)
        return with_choices(_leaderboard if chosen == "leaderboard" else cases_table, choices, results)

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
        return read_log(log_folder(results.place, keys[0]))

    def cases(self, results: Results, **filters: Any) -> CaseSet:
        """The cases that were driven, each once."""
        found = {cell.params["case"]: cell for cell in _keys(results, filters)}
        logs = (read_log(log_folder(results.place, cell)) for _, cell in sorted(found.items()))
        return CaseSet(cases=tuple(log.case for log in logs))

    def origin(self, results: Results) -> str:
        """Whether the reference traffic was recorded."""
        try:
            return str(summary_of(results.place)["banner"])
        except (EmptySelectionError, StoreError):
            return ""

    def overview(self, results: Results, limits: PageLimits) -> Overview:
        """Leaderboard, open against closed loop, differences; every drive can be watched, collisions first."""
        try:
            summary = summary_of(results.place)
        except EmptySelectionError as error:
            return Overview(blocks=(Paragraph(text=f"{error.what}; {error.hint}."),), cells=CELLS)
        logs = {log.name[-SHORT_KEY:] for log in logs_below(results.place / "logs")}
        return Overview(
            blocks=summary_blocks(summary),
            facts=summary_facts(summary),
            cells=CELLS,
            replays=[key for key in worst_first(results.frame()) if key[:SHORT_KEY] in logs],
            order="drives, collisions first",
        )

    def replay(self, results: Results, key: str) -> Mapping[str, Any]:
        """One drive, with the map of its recording where that is at hand."""
        log = read_log(log_folder(results.place, Cell.from_json(results.store.read_record(key)["cell"])))
        return drive_document(log, road_of(log.case, results.options.get("data")))


def summary_of(folder: Path) -> dict[str, Any]:
    """The summary that the last run into a folder has written.

    Raises:
        EmptySelectionError: no run has finished yet.
        StoreError: it is damaged.
    """
    file = folder / SUMMARY
    if not file.is_file():
        raise EmptySelectionError(
            "no run into this folder has finished yet", where=folder, hint="start the same run again to go on"
        )
    expect = Expect(
        error=StoreError, what="the summary of the drives", hint="start the same run again: it drives nothing"
    )
    return read_sealed(file, expect=expect).document


def leaderboard(document: Mapping[str, Any]) -> Table:
    """The table that ``giveway drive run`` prints, from its JSON document."""
    planner, rows = document["planner"], [*document["predictors"], document["humans"]]
    heads = {"n_col": 6, "fault": 6, **HEADS}
    width = max(len(row["name"]) for row in rows) + 2
    first = Block(
        columns=(
            Column(head="", width=width),
            *(Column(head=head, width=wide) for head, wide in heads.items()),
            Column(head="95 % interval", left=True),
        ),
        rows=tuple(
            (
                entry(row["name"]),
                entry(row["n_col"]),
                entry(row["n_col_at_fault"]),
                *(entry(row[head.lower()]) for head in HEADS),
                entry(_end(row)),
            )
            for row in rows
        ),
    )
    second = Block(
        columns=(Column(head="", width=width), *(Column(head=head, width=MORE_WIDTH) for head in MORE)),
        rows=tuple(
            (entry(row["name"]), *(entry(row["means"].get(key)) for key in MORE.values()))
            for row in document["predictors"]
        ),
    )
    version = f"planner {planner['name']} version {planner['version']}"
    last = f"{rows[0]['coverage']}, metric {rows[0]['metric']}, {version}; {document['note']}"
    return Table(
        title="Closed-loop scores", blocks=(first, second), banner=document["banner"], notes=(*_notes(document), last)
    )


def _leaderboard(results: Results) -> Table:
    """The leaderboard of the last run, and which predictors of earlier runs it leaves out."""
    document = summary_of(results.place)
    made = leaderboard(document)
    shown = {row.get("predictor") for row in document["predictors"]}
    others = sorted({str(name) for name in DRIVE.frame(results)["predictor"].unique()} - shown)
    if None in shown or not others:
        return made
    note = f"not shown: {', '.join(others)} of earlier runs; run all predictors together to compare them"
    return replace(made, notes=(*made.notes, note))


def cases_table(results: Results, *, predictor: str | None = None) -> Table:
    """Terms of the challenge score of every case, one block per predictor."""
    terms = ("efficiency", "jerk", "velocity", "courtesy")
    columns = tuple(Column(head=head) for head in ("case", "collided", "at fault", *terms))
    rows = summary_of(results.place)["predictors"]
    shown = rows if predictor is None else [_row(rows, predictor)]
    blocks = tuple(
        Block(
            title=row["name"],
            columns=columns,
            rows=tuple(
                (
                    entry(case["case"]),
                    entry(case["failed"] or ("yes" if case["collided"] else "no")),
                    entry("yes" if case["at_fault"] else "no"),
                    *(entry(case[term]) for term in terms),
                )
                for case in row["per_case"]
            ),
        )
        for row in shown
    )
    return Table(title="Terms of every case", blocks=blocks)


def difference(results: Results, a: str, b: str, *, metric: str = "score") -> Difference:
    """A minus B with a paired bootstrap interval over cases, as the last run has computed it.

    Args:
        results: of a drive run.
        a: predictor by registered name or title, or ``recorded`` for the recorded drivers.
        b: likewise.
        metric: ``score`` (or ``challenge``), ``s_eff``, ``s_jer``, ``s_vel`` or ``s_cou``.
    """
    term = checked_name("metric", METRICS.get(metric, metric), TERMS)
    document = summary_of(results.place)
    names = [_name(document, wanted) for wanted in (a, b)]
    sign, found = _pair(document, *names)
    if not found:
        raise EmptySelectionError(
            "there is no interval for this pair", where=f"{a}, {b}", found="fewer than two cases that both have driven"
        )
    low, high = (math.nan if v is None else sign * v for v in (found[term]["low"], found[term]["high"]))
    estimate = found[term]["estimate"]
    return Difference(
        first=names[0],
        second=names[1],
        metric=term,
        estimate=math.nan if estimate is None else sign * estimate,
        low=min(low, high),
        high=max(low, high),
        note="95 %, paired bootstrap over cases",
    )


def scores_figure(results: Results, *, metric: str = "score") -> Figure:
    """Means and 95 % intervals over cases of all predictors and of the recorded drivers."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingDependencyError("matplotlib", extra="plot", purpose="drawing a figure") from error
    term = checked_name("metric", METRICS.get(metric, metric), TERMS)
    document = summary_of(results.place)
    rows = [*document["predictors"], document["humans"]]
    figure = Figure(figsize=(6.5, 1.2 + 0.4 * len(rows)), layout="constrained")
    axes: Any = figure.add_subplot()
    for place, row in enumerate(reversed(rows)):
        low, high = row["intervals"].get(term, [None, None])
        if low is not None and high is not None:
            axes.plot([low, high], [place, place], color="#8a9097")
        if row[term] is not None:
            axes.plot([row[term]], [place], marker="o", color="#0072b2")
    axes.set_yticks(range(len(rows)), [row["name"] for row in reversed(rows)])
    axes.set_xlabel(f"{term}, mean and 95 % interval over cases")
    axes.set_title(document["banner"], fontsize=8)
    return figure


def _keys(results: Results, filters: Mapping[str, Any]) -> list[Cell]:
    """Cells that the filters leave, in order of case and predictor."""
    frame = DRIVE.frame(results).unique(subset="key", maintain_order=True)
    left = selected(frame, {name: v for name, v in filters.items() if name != "first"})
    ordered = left.sort("case", "predictor", "key")["key"].to_list()
    return [Cell.from_json(results.store.read_record(key)["cell"]) for key in ordered]


def _label(cell: Cell) -> str:
    return f"{cell.params['case']} {cell.params['predictor']}"


def _name(document: Mapping[str, Any], wanted: str) -> str:
    """How the summary calls a predictor, or the recorded drivers."""
    if wanted in ("recorded", document["humans"]["name"]):
        return str(document["humans"]["name"])
    return str(_row(document["predictors"], wanted)["name"])


def _row(rows: list[dict[str, Any]], wanted: str) -> dict[str, Any]:
    found = [row for row in rows if wanted in (row["name"], row.get("predictor"))]
    if not found:
        raise UnknownNameError(
            "predictor of the last run", wanted, [row.get("predictor") or row["name"] for row in rows]
        )
    return found[0]


def _pair(document: Mapping[str, Any], a: str, b: str) -> tuple[int, Mapping[str, Any]]:
    """The intervals of a pair, and -1 if they are those of B minus A."""
    humans = document["humans"]["name"]
    against = {row["name"]: row["against_humans"] for row in document["predictors"]}
    for sign, first, second in ((1, a, b), (-1, b, a)):
        if second == humans:
            return sign, against[first]
        if f"{first} - {second}" in document["differences"]:
            return sign, document["differences"][f"{first} - {second}"]
    return 1, {}


def _end(row: Mapping[str, Any]) -> str:
    low, high = row["intervals"].get("score", [None, None])
    end = "" if low is None else f"[{low:.2f}, {high:.2f}]"
    return end + (f"  {row['coverage']}, {row['failed_are']}" if row["failed"] else "")


def _notes(document: Mapping[str, Any]) -> Iterator[str]:
    for row in document["predictors"]:
        name = row["name"]
        if row["against_humans"]:
            yield f"{name} - {document['humans']['name']}: {_interval(row['against_humans']['score'])}"
        if row["fallbacks"]:
            yield f"{name}: {row['fallbacks']} of {row['predictions']} predictions replaced by constant velocity"
        for case, reason in row["failed_cases"].items():
            yield f"{name}: case {case} failed: {reason}"
    for name, found in document["differences"].items():
        yield f"{name}: {_interval(found['score'])}"
    agreement = document["open_loop_agreement"]
    if agreement:
        found = entry(agreement["spearman"]).text
        yield f"rank agreement of open-loop error and closed-loop score (Spearman): {found}"


def _interval(found: Mapping[str, float | None]) -> str:
    if any(number is None for number in found.values()):
        return "-"
    return f"{found['estimate']:+.2f} [{found['low']:+.2f}, {found['high']:+.2f}]"


DRIVE = DriveSection()
