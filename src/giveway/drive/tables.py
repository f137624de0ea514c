"""Tables, differences and a figure of closed-loop drives, from the summary of a store."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from giveway.core.errors import EmptySelectionError, UnknownNameError
from giveway.drive.document import document_of
from giveway.drive.experiment import RECORDED
from giveway.drive.summary import TERMS
from giveway.metrics import metrics_of
from giveway.reports.difference import Difference
from giveway.reports.drawing import new_figure
from giveway.reports.section import checked_name
from giveway.reports.table import Block, Column, Table, entry

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from giveway.reports.results import Results

HEADS = {"S_eff": 8, "S_jer": 8, "S_vel": 8, "S_cou": 8, "Score": 9}
"""Terms of the challenge score and the width of their columns."""
MORE_WIDTH = 11
SCORES = {"challenge": "score"}
"""Other names of the terms of the score."""


def leaderboard(document: Mapping[str, Any]) -> Table:
    """The table that ``giveway drive run`` prints, from its JSON document."""
    planner, rows = document["planner"], _shown(document)
    heads = {"n_col": 6, "fault": 6, **HEADS}
    against = _reference_name(document)
    width = max(len(row["name"]) for row in rows) + 2
    first = Block(
        columns=(
            Column(head="", width=width),
            Column(head="cases", width=10),
            *(Column(head=head, width=wide) for head, wide in heads.items()),
            Column(head="95 % interval", width=18),
            Column(head=f"- {against}", left=True),
        ),
        rows=tuple(
            (
                entry(row["name"] + (" †" if row["partial"] and row["score"] is not None else "")),
                entry(f"{row['cases'] - row['failed']}/{row['cases']}"),
                entry(row["n_col"]),
                entry(row["n_col_at_fault"]),
                *(entry(row[head.lower()]) for head in HEADS),
                entry(_ends(row)),
                entry(_against(document, row["name"], against)),
            )
            for row in rows
        ),
    )
    more = [measure.info for measure in metrics_of("drive") if measure.info.heading]
    second = Block(
        columns=(
            Column(head="", width=width),
            *(Column(head=info.heading, width=max(MORE_WIDTH, len(info.heading) + 1)) for info in more),
        ),
        rows=tuple(
            (entry(row["name"]), *(entry(row["means"].get(info.name)) for info in more))
            for row in document["predictors"]
        ),
    )
    version = f"planner {planner['name']} version {planner['version']}"
    last = f"{rows[0]['coverage']}, metric {rows[0]['metric']}, {version}; {document['note']}"
    return Table(
        title="Closed-loop scores", blocks=(first, second), banner=document["banner"], notes=(*_notes(document), last)
    )


def leaderboard_of(results: Results, *, metric: str | None = None, partial: bool = False) -> Table:
    """Scores of all predictors in a store beside those of the recorded drivers, and how many drives are missing."""
    made = leaderboard(document_of(results.store, metric, partial=partial))
    missing = results.status.missing
    note = f"{missing} drives are missing: start the same run again to go on"
    return replace(made, notes=(*made.notes, note)) if missing else made


def measures_table(results: Results) -> Table:
    """The mean of every registered metric over the cases in which it is defined, one line per metric."""
    rows = document_of(results.store)["predictors"]
    infos = [measure.info for measure in metrics_of("drive")]
    lines = tuple(
        (entry(info.title.replace("$", "")), entry(info.unit), *(entry(row["means"].get(info.name)) for row in rows))
        for info in infos
        if any(row["means"].get(info.name) is not None for row in rows)
    )
    columns = (Column(head="metric"), Column(head="unit"), *(Column(head=row["name"]) for row in rows))
    return Table(title="All measures", blocks=(Block(columns=columns, rows=lines),))


def cases_table(results: Results, *, predictor: str | None = None) -> Table:
    """Terms of the challenge score of every case, one block per predictor."""
    terms = ("efficiency", "jerk", "velocity", "courtesy")
    columns = (Column(head="case"), Column(head="collided"), Column(head="at fault"), *map(_column, terms))
    rows = document_of(results.store)["predictors"]
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
    """A minus B with a paired bootstrap interval over the cases that both have driven.

    Args:
        results: of a drive run.
        a: predictor by registered name or title, or ``recorded`` for the recorded drivers.
        b: likewise.
        metric: ``score`` (or ``challenge``), ``s_eff``, ``s_jer``, ``s_vel`` or ``s_cou``.
    """
    term = checked_name("metric", SCORES.get(metric, metric), TERMS)
    document = document_of(results.store)
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
        note=f"95 %, paired bootstrap over {document['resampled']}, {found[term]['cases']} cases",
    )


def scores_figure(results: Results, *, metric: str = "score") -> Figure:
    """Means and 95 % intervals over cases of all predictors and of the recorded drivers."""
    term = checked_name("metric", SCORES.get(metric, metric), TERMS)
    document = document_of(results.store)
    rows = _shown(document)
    figure = new_figure(6.5, 1.2 + 0.4 * len(rows))
    axes: Any = figure.add_subplot()
    for place, row in enumerate(reversed(rows)):
        low, high = row["intervals"].get(term, [None, None])
        if low is not None and high is not None:
            axes.plot([low, high], [place, place], color="#8a9097")
        if row[term] is not None:
            axes.plot([row[term]], [place], marker="o", color="#0072b2")
    axes.set_yticks(range(len(rows)), [row["name"] for row in reversed(rows)])
    axes.set_xlabel(f"{term}, mean and 95 % interval over {document['resampled'] or 'cases'}")
    axes.set_title(document["banner"], fontsize=8)
    return figure


def _shown(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Rows of the predictors, and of the recorded drivers."""
    return [*document["predictors"], *([] if document["humans"] is None else [document["humans"]])]


def _column(head: str) -> Column:
    return Column(head=head)


def _name(document: Mapping[str, Any], wanted: str) -> str:
    """How the summary calls a predictor, or the recorded drivers."""
    humans = document["humans"]
    if humans is not None and wanted in (RECORDED, humans["name"]):
        return str(humans["name"])
    return str(_row(document["predictors"], wanted)["name"])


def _row(rows: list[dict[str, Any]], wanted: str) -> dict[str, Any]:
    found = [row for row in rows if wanted in (row["name"], row.get("predictor"))]
    if not found:
        raise UnknownNameError(
            "predictor of these drives", wanted, [row.get("predictor") or row["name"] for row in rows]
        )
    return found[0]


def _pair(document: Mapping[str, Any], a: str, b: str) -> tuple[int, Mapping[str, Any]]:
    """The intervals of a pair, and -1 if they are those of B minus A."""
    humans = (document["humans"] or {}).get("name")
    against = {row["name"]: row["against_humans"] for row in document["predictors"]}
    for sign, first, second in ((1, a, b), (-1, b, a)):
        if second == humans:
            return sign, against[first]
        if f"{first} - {second}" in document["differences"]:
            return sign, document["differences"][f"{first} - {second}"]
    return 1, {}


def _ends(row: Mapping[str, Any]) -> str:
    low, high = row["intervals"].get("score", [None, None])
    return "" if low is None else f"[{low:.2f}, {high:.2f}]"


def _reference_name(document: Mapping[str, Any]) -> str:
    """Predictor that every line is compared with: constant velocity if it was driven, else the first."""
    rows = document["predictors"]
    return str(next((row["name"] for row in rows if row["predictor"] == "constant_velocity"), rows[0]["name"]))


def _against(document: Mapping[str, Any], name: str, reference: str) -> str:
    """Paired difference of a line to the reference, with its interval."""
    sign, found = _pair(document, name, reference)
    return "" if name == reference or not found else _interval(_signed(found["score"], sign))


def _signed(found: Mapping[str, Any], sign: int) -> dict[str, Any]:
    """The interval of B minus A, from that of A minus B."""
    if sign > 0 or found["low"] is None:
        return dict(found)
    return {**found, "estimate": -found["estimate"], "low": -found["high"], "high": -found["low"]}


def _notes(document: Mapping[str, Any]) -> Iterator[str]:
    for row in document["predictors"]:
        name = row["name"]
        if row["failed"]:
            yield f"{name}: {row['coverage']}, {row['failed_are']}"
        if row["partial"]:
            yield f"{name}: more than a tenth of the cases failed: no Score (--partial shows it, marked †)"
        if row["against_humans"]:
            yield f"{name} - {document['humans']['name']}: {_interval(row['against_humans']['score'])}"
        if row["fallbacks"]:
            yield f"{name}: {row['fallbacks']} of {row['predictions']} predictions replaced by constant velocity"
        for case, reason in row["failed_cases"].items():
            yield f"{name}: case {case} failed: {reason}"
    for name, found in document["differences"].items():
        yield f"{name}: {_interval(found['score'])}"
    for found in document["open_loop_agreement"]:
        yield f"rank agreement of {agreement_text(found)}"
    speeds = document["speeds"].values()
    ranges = [
        f"{words} {min(s[name][0] for s in speeds):.1f} to {max(s[name][2] for s in speeds):.1f} m/s"
        for name, words in (("v_d_mps", "v_d of the metric"), ("cruise_mps", "cruising speed of the ego"))
    ]
    yield "; ".join(ranges)
    if document["resampled"]:
        few = "" if document["resampled"] == "recordings" else ", too few to resample"
        yield (
            f"intervals resample {document['resampled']} ({document['recordings']} recordings{few}); case set "
            + (document["case_set"][:12])
        )


def agreement_text(found: Mapping[str, Any]) -> str:
    """Rank agreement of one planner, always with its interval."""
    rho, low, high = (entry(found[name]).text for name in ("spearman", "low", "high"))
    return (
        f"open-loop error and closed-loop score (Spearman, {found['predictors']} predictors, planner "
        f"{found['planner']}): {rho} [{low}, {high}]"
    )


def _interval(found: Mapping[str, float | None]) -> str:
    if any(found[name] is None for name in ("estimate", "low", "high")):
        return "-"
    return f"{found['estimate']:+.2f} [{found['low']:+.2f}, {found['high']:+.2f}]"
