"""Results of closed-loop runs: predictors beside the recorded humans, open loop against closed loop, every case."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from giveway.core.errors import EmptySelectionError
from giveway.experiments import Store
from giveway.reports.section import SECTIONS
from giveway.reports.site.charts import Point, scatter
from giveway.reports.site.content import Block, Chart, Entry, Paragraph, Table, number, origin_blocks, value_entry

TERMS = (("score", "score"), ("s_eff", "efficiency"), ("s_jer", "jerk"), ("s_vel", "velocity"), ("s_cou", "courtesy"))


def read_summary(root: Path) -> dict[str, Any] | None:
    """Summary of all drives in a store, or None if nothing has been driven yet."""
    section: Any = SECTIONS.get("drive")
    try:
        return section.summary(Store(root))
    except EmptySelectionError:
        return None


def summary_facts(summary: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Scores of all predictors and of the recorded humans, for the first page of the site."""
    rows = [*summary["predictors"], *([summary["humans"]] if summary.get("humans") else [])]
    scored = [row for row in rows if row.get("score") is not None]
    return [
        (
            f"{row['name'].replace('_', ' ')}, score",
            f"{row['score']:.2f}, {row['n_col']} collisions{_failures(row)}",
        )
        for row in sorted(scored, key=lambda row: -row["score"])
    ]


def summary_blocks(summary: Mapping[str, Any]) -> list[Block]:
    """Leaderboard, differences, and the scatter of open-loop error against closed-loop score."""
    rows = list(summary["predictors"])
    ranked = sorted(rows, key=lambda r: -(r["score"] if r.get("score") is not None else -math.inf))
    tied = _tied(ranked, summary.get("differences") or {})
    human = summary.get("humans")
    others = [human] if human else []
    more = sorted({name for row in rows for name in row.get("means", {})})
    columns = (
        "rank",
        "predictor",
        "score",
        "95 % interval",
        *(title for _, title in TERMS[1:]),
        "collisions",
        "at fault",
        "ADE [m]",
        "cases",
        "fallbacks",
        "latency [ms]",
    )
    entries = [
        _row(row, rank, "best" if rank == 1 else "tied" if row["name"] in tied else "")
        for rank, row in enumerate(ranked, start=1)
    ] + [_row(row, None, "") for row in others]
    planner = summary.get("planner") or {}
    cases = rows[0].get("cases") if rows else 0
    caption = (
        f"{cases} cases; failed ones are {_failed_are(rows)}. "
        f"Planner {planner.get('name', '')} version {planner.get('version', '')}. Underlined: best. "
        "≈: the paired 95 % interval of its difference to the best contains zero. Intervals resample cases. "
        f"{str(summary.get('note', '')).capitalize()}."
    )
    blocks: list[Block] = origin_blocks("the reference traffic", summary.get("origin") or ())
    blocks += [
        Table(
            title="Leaderboard",
            columns=columns,
            rows=tuple(entries),
            numeric=frozenset(set(range(len(columns))) - {1}),
            caption=caption,
        )
    ]
    blocks += _scatter(summary)
    blocks += _differences(summary)
    if more:
        blocks.append(_further(ranked, more))
    return blocks


def _further(rows: list[Any], names: list[str]) -> Table:
    """Means of everything else that was measured, one line per measure."""
    columns = ("measure", *(row["name"] for row in rows))
    lines = tuple((Entry(text=name), *(value_entry(row.get("means", {}).get(name)) for row in rows)) for name in names)
    return Table(
        title="Further measures",
        columns=columns,
        rows=lines,
        numeric=frozenset(range(1, len(columns))),
        caption="Means over the cases in which a measure is defined.",
    )


def _row(row: Mapping[str, Any], rank: int | None, mark: Any) -> tuple[Entry, ...]:
    low, high = (row.get("intervals") or {}).get("score") or (None, None)
    means = row.get("means", {})
    return (
        Entry(text="" if rank is None else str(rank), order=math.nan if rank is None else float(rank)),
        Entry(text=row["name"]),
        value_entry(row.get("score"), mark=mark),
        Entry(
            text="–" if low is None else f"{number(low, 2)} to {number(high, 2)}",
            order=math.nan if low is None else low,
        ),
        *(value_entry(row.get(name)) for name, _ in TERMS[1:]),
        _count(row.get("n_col"), bad=True),
        _count(row.get("n_col_at_fault"), bad=True),
        value_entry(means.get("ade_m")),
        _coverage(row),
        _count(row.get("fallbacks")),
        value_entry(row.get("latency_ms"), 1),
    )


def _failed_are(rows: Sequence[Mapping[str, Any]]) -> str:
    return str(rows[0].get("failed_are") or "scored with the worst values of the rest") if rows else "left out"


def _failures(row: Mapping[str, Any]) -> str:
    return f", {_coverage(row).text}" if row.get("failed") else ""


def _coverage(row: Mapping[str, Any]) -> Entry:
    """Over how many cases a row speaks; summaries of earlier releases only list the failed ones."""
    cases = int(row.get("cases") or 0)
    failed = int(row.get("failed") or len(row.get("failed_cases") or {}))
    text = f"{cases - failed} of {cases} cases, {failed} failed" if failed else str(cases)
    return Entry(text=text, order=float(cases - failed), mark="bad" if failed else "")


def _count(value: int | None, *, bad: bool = False) -> Entry:
    if value is None:
        return Entry(text="–", order=math.nan)
    return Entry(text=str(value), order=float(value), mark="bad" if bad and value else "")


def _tied(ranked: list[Any], differences: Mapping[str, Any]) -> set[str]:
    """Names whose paired interval against the best contains zero."""
    if not ranked:
        return set()
    best = ranked[0]["name"]
    tied: set[str] = set()
    for row in ranked[1:]:
        for pair in (f"{best} - {row['name']}", f"{row['name']} - {best}"):
            found = (differences.get(pair) or {}).get("score")
            if found and found["low"] is not None and found["low"] <= 0 <= found["high"]:
                tied.add(row["name"])
    return tied


def _differences(summary: Mapping[str, Any]) -> list[Block]:
    reference = (summary.get("humans") or {}).get("name", "recorded humans")
    found = {f"{r['name']} − {reference}": r.get("against_humans") for r in summary["predictors"]}
    found |= {name.replace(" - ", " − "): terms for name, terms in (summary.get("differences") or {}).items()}
    rows = tuple(
        (
            Entry(text=name),
            *(_difference((terms or {}).get(term)) for term, _ in TERMS),
        )
        for name, terms in found.items()
        if terms
    )
    if not rows:
        return []
    caption = "Paired differences with 95 % intervals over cases; underlined where the interval excludes zero."
    heads = ("difference", *(title for _, title in TERMS))
    return [
        Table(title="Differences", columns=heads, rows=rows, numeric=frozenset(range(1, len(heads))), caption=caption)
    ]


def _difference(found: Mapping[str, float | None] | None) -> Entry:
    value, low, high = (found or {}).get("estimate"), (found or {}).get("low"), (found or {}).get("high")
    if value is None or low is None or high is None:
        return Entry(text="–", order=math.nan)
    clear = low > 0 or high < 0
    return Entry(text=f"{value:+.2f} [{low:+.2f}, {high:+.2f}]", order=value, mark="best" if clear else "")


def _scatter(summary: Mapping[str, Any]) -> list[Block]:
    points: list[Point] = []
    for row in summary["predictors"]:
        error, score = row.get("means", {}).get("ade_m"), row.get("score")
        low, high = (row.get("intervals") or {}).get("score") or (None, None)
        if error is not None and score is not None:
            points.append(
                Point(
                    name=row["name"],
                    x=error,
                    y=score,
                    low=math.nan if low is None else low,
                    high=math.nan if high is None else high,
                )
            )
    if len(points) < 2:
        return [
            Paragraph(text="Open loop against closed loop needs at least two predictors with a displacement error.")
        ]
    agreement = summary.get("open_loop_agreement") or {}
    rank = agreement.get("spearman")
    caption = (
        "Mean displacement error of the predictions against the score of the drive, with its 95 % interval over cases."
    )
    if rank is not None:
        count = agreement["predictors"]
        caption += f" Rank agreement (Spearman, smaller error with better drive): {rank:.2f}, {count} predictors."
    svg = scatter(
        points, x_title="open loop: ADE [m], smaller is better", y_title="closed loop: score, larger is better"
    )
    return [Chart(title="Open loop against closed loop", svg=svg, caption=caption)]
