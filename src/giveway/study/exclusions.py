"""Applying the exclusion rules that the study file declares, and counting what each of them does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from giveway.study.design import Exclusions


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleResult:
    """One rule and whom it excludes (a rater can be excluded by several rules).

    Attributes:
        rule: name in the study file.
        threshold: declared value; None if the rule is off.
        raters: codes.
    """

    rule: str
    threshold: float | None
    raters: tuple[str, ...]


def rater_quality(
    long: pl.DataFrame, checks: pl.DataFrame, people: pl.DataFrame, *, duration_s: Mapping[str, float], broken: set[str]
) -> pl.DataFrame:
    """One row per rater with at least one answer: what the rules look at.

    Args:
        long: answers to clips.
        checks: answers to instructed-response items.
        people: all raters.
        duration_s: length of every clip.
        broken: clips with broken motion.

    Returns:
        Columns rater, complete, failed_checks, median_rt_share (response time over clip length),
        rating_variance (population variance of first ratings), anchor_mean (null without anchors).
    """
    failed = {r: int(n) for r, n in checks.filter(~pl.col("passed")).group_by("rater").len().iter_rows()}
    complete = dict(people.select("rater", pl.col("step").is_in(["comment", "done"])).iter_rows())
    rows: list[tuple[str, bool, int, float, float, float | None]] = []
    for (code,), part in long.group_by("rater", maintain_order=True):
        first = part.filter(pl.col("repeat") == 0)
        length = np.array([1000 * duration_s[c] for c in part["clip"].to_list()])
        anchors = first.filter(pl.col("clip").is_in(list(broken)))["rating"]
        rows.append(
            (
                str(code),
                bool(complete.get(str(code), False)),
                failed.get(str(code), 0),
                float(np.median(part["rt_ms"].to_numpy() / length)),
                float(np.var(first["rating"].to_numpy())) if first.height else 0.0,
                float(anchors.to_numpy().mean()) if len(anchors) else None,
            )
        )
    schema = {
        "rater": pl.String,
        "complete": pl.Boolean,
        "failed_checks": pl.Int64,
        "median_rt_share": pl.Float64,
        "rating_variance": pl.Float64,
        "anchor_mean": pl.Float64,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


def apply_exclusions(quality: pl.DataFrame, rules: Exclusions) -> list[RuleResult]:
    """Whom each declared rule excludes."""

    def who(condition: pl.Expr) -> tuple[str, ...]:
        return tuple(quality.filter(condition.fill_null(False))["rater"].to_list())

    def rule(name: str, threshold: float | None, condition: pl.Expr | None) -> RuleResult:
        return RuleResult(rule=name, threshold=threshold, raters=() if condition is None else who(condition))

    checks, share = rules.max_failed_checks, rules.min_median_rt_share
    variance, anchor = rules.min_rating_variance, rules.max_anchor_mean
    return [
        rule(
            "require_complete", float(rules.require_complete), ~pl.col("complete") if rules.require_complete else None
        ),
        rule("max_failed_checks", checks, None if checks is None else pl.col("failed_checks") > checks),
        rule("min_median_rt_share", share, None if share is None else pl.col("median_rt_share") < share),
        rule("min_rating_variance", variance, None if variance is None else pl.col("rating_variance") < variance),
        rule("max_anchor_mean", anchor, None if anchor is None else pl.col("anchor_mean") > anchor),
    ]
