"""Numbers of one run of many tests."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.generate.evaluation.results import TestResult

TOP = 10
"""TOP-10: tests until the tenth violation."""


def effect(results: Sequence[TestResult]) -> dict[str, float]:
    """How much the traffic brought about.

    Returns:
        ``violation_rate``, ``at_fault_rate``, ``avoidable_at_fault_rate`` (the headline), shares of all tests;
        ``avoidable_at_fault_share`` of the failures (NaN without any); ``top_10`` tests until the tenth failure that
        counts and ``top_10_any`` until the tenth failure (NaN if there were fewer); ``steps_per_failure`` of those that
        count; median ``min_ttc_s`` and mean ``impact_speed_mps`` of failures; ``near_miss_rate``; ``findings``.
    """
    count = max(len(results), 1)
    failures = [r for r in results if r.failed]
    counting = [r for r in results if r.counts]
    impact = [r.impact_speed_mps for r in failures if math.isfinite(r.impact_speed_mps)]
    ttc = [r.min_ttc_s for r in results if math.isfinite(r.min_ttc_s)]
    return {
        "tests": float(len(results)),
        "violation_rate": len(failures) / count,
        "at_fault_rate": sum(r.at_fault for r in results) / count,
        "avoidable_at_fault_rate": len(counting) / count,
        "avoidable_at_fault_share": len(counting) / len(failures) if failures else math.nan,
        "top_10": tests_until(results, TOP),
        "top_10_any": tests_until(results, TOP, any_failure=True),
        "steps_per_failure": sum(r.steps for r in results) / len(counting) if counting else math.nan,
        "near_miss_rate": sum(r.near_miss for r in results) / count,
        "min_ttc_s": float(np.median(ttc)) if ttc else math.nan,
        "impact_speed_mps": float(np.mean(impact)) if impact else math.nan,
        "findings": float(sum(bool(r.finding) for r in results)),
    }


def tests_until(results: Sequence[TestResult], number: int, *, any_failure: bool = False) -> float:
    """Tests until the given number of failures that count, or of failures at all; NaN if there were fewer."""
    seen = 0
    for done, result in enumerate(results, 1):
        seen += result.failed if any_failure else result.counts
        if seen >= number:
            return float(done)
    return math.nan


tests_until.__test__ = False  # pyright: ignore[reportFunctionMemberAccess]


def plausibility(results: Sequence[TestResult]) -> dict[str, float]:
    """How the learning cars drove: shares of their steps over all tests, weighted by length."""
    weight = np.array([max(r.steps, 1) for r in results], dtype=np.float64)

    def mean(name: str) -> float:
        values = np.array([getattr(r, name) for r in results], dtype=np.float64)
        return float(np.average(values, weights=weight)) if len(values) else math.nan

    return {
        "infeasible_share": mean("infeasible_share"),
        "off_road_share": mean("off_road_share"),
        "responsibility_per_100_s": mean("responsibility_per_100_s"),
    }


def diversity(results: Sequence[TestResult]) -> dict[str, float]:
    """How different the failures that count are.

    Returns:
        ``parameter_distance``: mean pairwise L1 distance of their genes, each scaled by its range over all tests,
        divided by the number of genes (NaN with fewer than two); ``archive_cells``: occupied cells of side x manoeuvre
        x speed band; ``failure_kinds``: the same over all failures.
    """
    counting = [r for r in results if r.counts]
    return {
        "parameter_distance": parameter_distance(
            np.array([r.genes for r in counting]), np.array([r.genes for r in results])
        ),
        "archive_cells": float(len({r.kind for r in counting})),
        "failure_kinds": float(len({r.kind for r in results if r.failed})),
    }


def parameter_distance(genes: FloatArray, everything: FloatArray) -> float:
    """Mean pairwise L1 distance, each gene scaled to [0, 1] by its range over ``everything``."""
    if len(genes) < 2:
        return math.nan
    span = everything.max(axis=0) - everything.min(axis=0)
    scaled = genes / np.where(span > 0, span, 1.0)
    # Sum over pairs of |a - b| per column from the sorted values: no pair loop.
    ordered = np.sort(scaled, axis=0)
    count = len(genes)
    weight = 2 * np.arange(count) - count + 1
    total = float((weight[:, None] * ordered).sum())
    return total / (count * (count - 1) / 2) / genes.shape[1]


def all_measures(results: Sequence[TestResult]) -> dict[str, float]:
    """Effect, plausibility and diversity of one run."""
    return {**effect(results), **plausibility(results), **diversity(results)}
