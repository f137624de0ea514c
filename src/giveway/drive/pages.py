"""Blocks of a report about closed-loop runs: predictors beside the recorded humans, open against closed loop."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

import polars as pl

from giveway.reports.content import Block, Paragraph, origin_blocks
from giveway.reports.leaderboard import Board, Standing
from giveway.reports.live_charts import Mark
from giveway.reports.table import Entry, Table, entry, number, table_of, tied_ranks
from giveway.stats.ranks import tied_runs

TERMS = (("score", "score"), ("s_eff", "efficiency"), ("s_jer", "jerk"), ("s_vel", "velocity"), ("s_cou", "courtesy"))


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
    groups = _tie_groups(ranked, summary.get("differences") or {})
    ranks = tied_ranks(groups)
    entries = [
        _row(row, ranks[row["name"]], "best" if row is ranked[0] else "tied" if row["name"] in tied else "")
        for row in ranked
    ] + [_row(row, entry(None, missing=""), "") for row in others]
    planner = summary.get("planner") or {}
    cases = rows[0].get("cases") if rows else 0
    caption = (
        f"{cases} cases; failed ones are {_failed_are(rows)}. "
        f"Planner {planner.get('name', '')} version {planner.get('version', '')}. Underlined: best. "
        "≈: the paired 95 % interval of its difference to the best contains zero. "
        f"Intervals resample {summary.get('resampled') or 'cases'} ({summary.get('recordings', 0)} recordings); "
        f"case set {str(summary.get('case_set', ''))[:12]}. "
        f"{str(summary.get('note', '')).capitalize()}."
    )
    blocks: list[Block] = origin_blocks("the reference traffic", summary.get("origin") or ())
    numeric = set(range(len(columns))) - {1}
    if len(ranked) > 1:
        blocks.append(_board(ranked, ranks, groups, others))
    blocks.append(table_of("All numbers", columns, entries, numeric=numeric, caption=caption))
    blocks += _speeds(summary)
    blocks += _agreement(summary)
    blocks += _differences(summary)
    if more:
        blocks.append(_further(ranked, more))
    return blocks


def _board(
    ranked: Sequence[Mapping[str, Any]],
    ranks: Mapping[str, Entry],
    groups: Sequence[Sequence[str]],
    others: Sequence[Mapping[str, Any]],
) -> Board:
    """Scores with intervals; a predictor leads to its drives. The recorded drivers stand below, without a place."""
    leaders = groups[0] if groups else ()
    rows: list[Standing] = []
    for row in (*ranked, *others):
        name, is_ranked = str(row["name"]), row["name"] in ranks
        low, high = (row.get("intervals") or {}).get("score") or (None, None)
        mark = None if row.get("score") is None else Mark(
            value=float(row["score"]), low=math.nan if low is None else float(low),
            high=math.nan if high is None else float(high), tied=name in leaders, text=number(row["score"], 2),
        )  # fmt: skip
        rows.append(
            Standing(
                rank=ranks[name].text if is_ranked else "",
                name=name,
                marks=() if mark is None else (mark,),
                strong=name in leaders and len(leaders) < len(ranked),
                link=f"cells.html#predictor={quote(str(row.get('predictor') or name))}" if is_ranked else "",
            )
        )
    return Board(title="Leaderboard", measure="score", rows=tuple(rows), estimate="mean score", what="predictor")


def _speeds(summary: Mapping[str, Any]) -> list[Block]:
    """Speeds that cases ask for, by site."""
    names = ("v_d_mps", "cruise_mps")
    rows = [
        (entry(site), entry(found["cases"]), *(entry(value, 1) for name in names for value in found[name]))
        for site, found in (summary.get("speeds") or {}).items()
    ]
    heads = [f"{word} {end}" for word in ("v_d", "cruise") for end in ("min", "median", "max")]
    caption = "Desired speed of the metric (v_d) and cruising speed of the ego's planner by site [m/s]."
    return [table_of("Speeds", ("site", "cases", *heads), rows, caption=caption)] if rows else []


def _further(rows: list[Any], names: list[str]) -> Table:
    """Means of everything else that was measured, one line per measure."""
    columns = ("measure", *(row["name"] for row in rows))
    lines = ((entry(name), *(entry(row.get("means", {}).get(name), 3) for row in rows)) for name in names)
    caption = "Means over the cases in which a measure is defined."
    return table_of("Further measures", columns, lines, caption=caption)


def _row(row: Mapping[str, Any], rank: Entry, mark: Any) -> tuple[Entry, ...]:
    low, high = (row.get("intervals") or {}).get("score") or (None, None)
    means = row.get("means", {})
    return (
        rank,
        entry(row["name"]),
        entry(row.get("score"), 3, mark=mark),
        Entry() if low is None else entry(low, text=f"{number(low, 2)} to {number(high, 2)}"),
        *(entry(row.get(name), 3) for name, _ in TERMS[1:]),
        *(entry(row.get(name), mark="bad" if row.get(name) else "") for name in ("n_col", "n_col_at_fault")),
        entry(means.get("ade_m"), 3),
        _coverage(row),
        entry(row.get("fallbacks")),
        entry(row.get("latency_ms"), 1),
    )


def _failed_are(rows: Sequence[Mapping[str, Any]]) -> str:
    return str(rows[0].get("failed_are") or "scored with the worst values of the rest") if rows else "left out"


def _coverage(row: Mapping[str, Any]) -> Entry:
    """Over how many cases a row speaks; summaries of earlier releases only list the failed ones."""
    cases = int(row.get("cases") or 0)
    failed = int(row.get("failed") or len(row.get("failed_cases") or {}))
    text = f"{cases - failed} of {cases} cases, {failed} failed" if failed else str(cases)
    return entry(cases - failed, text=text, mark="bad" if failed else "")


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


def _tie_groups(ranked: Sequence[Mapping[str, Any]], differences: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Names from best to worst in runs of ties, see :func:`giveway.stats.ranks.tied_runs`."""
    rows = {row["name"]: row for row in ranked}
    return tied_runs(list(rows), lambda best, name: name in _tied([rows[best], rows[name]], differences))


def _differences(summary: Mapping[str, Any]) -> list[Block]:
    reference = (summary.get("humans") or {}).get("name", "recorded humans")
    found = {f"{r['name']} − {reference}": r.get("against_humans") for r in summary["predictors"]}
    found |= {name.replace(" - ", " − "): terms for name, terms in (summary.get("differences") or {}).items()}
    rows = [
        (entry(name), *(_difference(terms.get(term)) for term, _ in TERMS)) for name, terms in found.items() if terms
    ]
    if not rows:
        return []
    caption = "Paired differences with 95 % intervals over cases; underlined where the interval excludes zero."
    return [table_of("Differences", ("difference", *(title for _, title in TERMS)), rows, caption=caption)]


def _difference(found: Mapping[str, float | None] | None) -> Entry:
    value, low, high = (found or {}).get("estimate"), (found or {}).get("low"), (found or {}).get("high")
    if value is None or low is None or high is None:
        return Entry()
    clear = low > 0 or high < 0
    return entry(value, text=f"{value:+.2f} [{low:+.2f}, {high:+.2f}]", mark="best" if clear else "")


def _agreement(summary: Mapping[str, Any]) -> list[Block]:
    said = [
        f"Rank agreement of open-loop error and score (Spearman), planner {found['planner']}: "
        f"{number(found['spearman'], 2)} [{number(found['low'], 2)}, {number(found['high'], 2)}], "
        f"{found['predictors']} predictors."
        for found in summary.get("open_loop_agreement") or []
    ]
    return [Paragraph(text=" ".join(said))] if said else []


def worst_first(frame: pl.DataFrame) -> list[str]:
    """Keys of all cells, those with most collisions first."""
    bad = pl.when(pl.col("metric").str.contains("collision")).then(pl.col("value")).otherwise(0.0)
    found = frame.group_by("key", maintain_order=True).agg(bad.sum().alias("collisions"))
    return found.sort("collisions", descending=True, maintain_order=True)["key"].to_list()
