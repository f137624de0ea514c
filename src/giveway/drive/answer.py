"""The answer of closed-loop runs: does a better prediction make a better drive?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from giveway.reports.content import Answer, origin_badges
from giveway.reports.live_charts import Scatter, Spot

QUESTION = "Does a better prediction make a better drive?"
SAME_ERROR = 0.1
"""Displacement errors that differ by less than this share count as the same."""


def drive_answer(summary: Mapping[str, Any]) -> Answer:
    """Open-loop error beside closed-loop score, and the pair that says most about the question.

    Args:
        summary: see :func:`giveway.drive.document.document_of`.
    """
    rows = [row for row in summary["predictors"] if row.get("score") is not None]
    pair = telling_pair(summary)
    agreement = next(iter(summary.get("open_loop_agreement") or ()), None)
    cases = max((int(row.get("cases") or 0) for row in rows), default=0)
    foot = [f"{cases} cases"]
    if pair is not None:
        foot.append(f"paired [{pair['low']:+.2f}, {pair['high']:+.2f}]")
    if agreement is not None:
        ends = f" [{agreement['low']:.2f}, {agreement['high']:.2f}]" if _has_width(agreement) else ""
        foot.append(f"rank agreement {agreement['spearman']:.2f}{ends}, {agreement['predictors']} predictors")
    return Answer(
        question=QUESTION,
        sentence=_sentence(rows, pair, agreement, summary.get("differences") or {}),
        chart=scatter_of(summary, pair),
        foot="; ".join(foot),
        badges=origin_badges(summary.get("origin") or ()),
    )


def telling_pair(summary: Mapping[str, Any]) -> dict[str, Any] | None:
    """Two predictors of which the one that errs more, or as much, drives better, and the interval excludes zero.

    Returns:
        ``better``, ``worse``, ``estimate``, ``low``, ``high`` and whether the errors are the ``same``; the pair with
        the largest difference. None if there is none.
    """
    error = {row["name"]: (row.get("means") or {}).get("ade_m") for row in summary["predictors"]}
    best: dict[str, Any] | None = None
    for names, terms in (summary.get("differences") or {}).items():
        found, (first, _, second) = terms.get("score"), names.partition(" - ")
        if not found or found["low"] is None or found["low"] <= 0 <= found["high"]:
            continue
        up = found["estimate"] > 0
        better, worse = (first, second) if up else (second, first)
        low, high = (found["low"], found["high"]) if up else (-found["high"], -found["low"])
        a, b = error.get(better), error.get(worse)
        if a is None or b is None or a < b * (1 - SAME_ERROR):
            continue
        pair = {"better": better, "worse": worse, "estimate": abs(found["estimate"]), "low": low, "high": high,
                "same": a <= b * (1 + SAME_ERROR)}  # fmt: skip
        if best is None or pair["estimate"] > best["estimate"]:
            best = pair
    return best


def scatter_of(summary: Mapping[str, Any], pair: Mapping[str, Any] | None = None) -> Scatter | None:
    """Open against closed loop; None with fewer than two predictors."""
    named = () if pair is None else (pair["better"], pair["worse"])
    points: list[Spot] = []
    for row in summary["predictors"]:
        error, score = (row.get("means") or {}).get("ade_m"), row.get("score")
        if error is None or score is None:
            continue
        low, high = (
            math.nan if end is None else end for end in (row.get("intervals") or {}).get("score") or (None, None)
        )
        points.append(
            Spot(name=row["name"], x=error, y=score, low=low, high=high, strong=not named or row["name"] in named,
                 fault=bool(row.get("n_col_at_fault")))
        )  # fmt: skip
    if len(points) < 2:
        return None
    human, band = summary.get("humans"), None
    if human and human.get("score") is not None:
        low, high = (human.get("intervals") or {}).get("score") or (human["score"], human["score"])
        band = (str(human["name"]), human["score"], low, high)
    return Scatter(
        points=points,
        x_label="mean displacement error [m] in open loop, smaller is better",
        y_label="closed loop: score, larger is better",
        alt=f"Closed-loop score with intervals over open-loop error of {len(points)} predictors",
        band=band,
        pair=None if pair is None else (pair["better"], pair["worse"], f"+{pair['estimate']:.2f}"),
    )


def _sentence(
    rows: Sequence[Mapping[str, Any]],
    pair: Mapping[str, Any] | None,
    agreement: Mapping[str, Any] | None,
    differences: Mapping[str, Any],
) -> str:
    if pair is not None:
        how = "with the same error," if pair["same"] else "with a larger error,"
        return (
            f"Not by itself: {how} {pair['better']} drives {pair['estimate']:.1f} points better than {pair['worse']}."
        )
    if agreement is not None and _has_width(agreement):
        if agreement["low"] > 0:
            return "On the whole, yes: predictors that err less drive better."
        return "Not decided: the rank agreement of prediction and drive includes zero."
    if len(rows) < 2:
        return (
            f"{rows[0]['name']} scores {rows[0]['score']:.2f}; one predictor is no answer." if rows else "No score yet."
        )
    for names, terms in differences.items():
        found = terms.get("score")
        if found and found["low"] is not None and not found["low"] <= 0 <= found["high"]:
            first, _, second = names.partition(" - ")
            better, worse = (first, second) if found["estimate"] > 0 else (second, first)
            few = f"{len(rows)} predictors are too few to answer it."
            return f"{better} drives {abs(found['estimate']):.1f} points better than {worse}; {few}"
    return f"Not decided: {len(rows)} predictors are tied."


def _has_width(agreement: Mapping[str, Any]) -> bool:
    """Few predictors keep their order in every resample: such an interval says nothing."""
    return agreement["low"] is not None and agreement["high"] - agreement["low"] > 1e-9
