"""Measures of a campaign: functions of the results of its tests, in order.

Failures are graded by :mod:`giveway.sim.responsibility`. One *counts* if its grade is A, B or C and a careful driver
would have avoided it (:attr:`giveway.core.test_result.TestResult.counts`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.test_result import TestResult
from giveway.metrics.metric import Better, Metric, metric

Results = Sequence[TestResult]
TOP = 10
"""TOP-10: tests until the tenth violation."""


def _measure(
    name: str,
    title: str,
    formula: str,
    *,
    unit: str = "",
    better: Better = "higher",
    highest: float = 1.0,
    column: str | None = None,
    version: int = 1,
) -> Callable[[Callable[..., Any]], Metric]:
    return metric(
        name=name,
        title=title,
        formula=formula,
        unit=unit,
        better=better,
        range=(0.0, highest),
        of="campaign",
        version=version,
        reference="own; docs/generate/protocol.md",
        column=column,
    )


@_measure("tests", "tests", "number of tests", better="neither", highest=math.inf)
def tests(results: Results) -> int:
    """How many tests there are."""
    return len(results)


@_measure("violation_rate", "violation rate", "tests in which the ego failed / tests")
def violation_rate(results: Results) -> float:
    """Share of tests in which the ego failed."""
    return _share(r.failed for r in results)


@_measure("at_fault_rate", "A: ego at fault", "failures of grade A / tests", version=2)
def at_fault_rate(results: Results) -> float:
    """Share of tests in which the ego failed by its own fault, perhaps shared."""
    return _share(r.at_fault for r in results)


@_measure("grade_a_avoidable_rate", "A and avoidable", "avoidable failures of grade A / tests")
def grade_a_avoidable_rate(results: Results) -> float:
    """Share of tests in which the ego failed by its own fault and a careful driver would not have."""
    return _share(r.at_fault and r.avoidable for r in results)


@_measure("grade_b_rate", "B: obliged", "failures of grade B / tests")
def grade_b_rate(results: Results) -> float:
    """Share of tests with a contact that another car caused and UN R157 obliges the ego to avoid."""
    return _share(r.grade == "B" for r in results)


@_measure("grade_c_rate", "C: avoidable", "failures of grade C / tests")
def grade_c_rate(results: Results) -> float:
    """Share of tests with a contact that another car caused and a careful driver would have avoided."""
    return _share(r.grade == "C" for r in results)


@_measure("grade_d_rate", "D: not the ego's", "failures of grade D / tests", better="lower")
def grade_d_rate(results: Results) -> float:
    """Share of tests with a contact that another car caused and a careful driver would not have avoided."""
    return _share(r.grade == "D" for r in results)


@_measure("avoidable_rate", "A, B or C, and avoidable (headline)", "failures that count / tests", version=2)
def avoidable_rate(results: Results) -> float:
    """Share of tests with a failure that counts: the headline."""
    return _share(r.counts for r in results)


@_measure("avoidable_share", "share of failures that count", "failures that count / failures", version=2)
def avoidable_share(results: Results) -> float:
    """NaN without a failure."""
    return _share((r.counts for r in results if r.failed), nobody=math.nan)


@_measure(
    "top_10",
    "TOP-10: tests until the tenth that counts",
    "number of tests until ten failures that count",
    better="lower",
    highest=math.inf,
)
def top_10(results: Results) -> float:
    """NaN if there were fewer than ten."""
    return tests_until((r.counts for r in results), TOP)


@_measure(
    "top_10_any",
    "tests until the tenth failure",
    "number of tests until ten failures",
    better="lower",
    highest=math.inf,
)
def top_10_any(results: Results) -> float:
    """NaN if there were fewer than ten."""
    return tests_until((r.failed for r in results), TOP)


@_measure(
    "steps_per_failure",
    "steps per failure that counts",
    "ticks of all tests / failures that count",
    better="lower",
    highest=math.inf,
)
def steps_per_failure(results: Results) -> float:
    """NaN without a failure that counts."""
    counting = sum(r.counts for r in results)
    return sum(r.steps for r in results) / counting if counting else math.nan


@_measure("near_miss_rate", "near misses", "tests with a time to collision below 0.5 s / tests", version=2)
def near_miss_rate(results: Results) -> float:
    """Share of tests in which the ego came within 0.5 s of a car ahead."""
    return _share(r.near_miss for r in results)


@_measure(
    "median_min_ttc_s",
    "median of the smallest time to collision",
    "median over tests of the smallest time to collision of the ego",
    unit="s",
    better="lower",
    highest=math.inf,
    column="min_ttc_s",
)
def median_min_ttc_s(results: Results) -> float:
    """Tests in which nobody ever closed in are left out; NaN without others."""
    times = [r.min_ttc_s for r in results if math.isfinite(r.min_ttc_s)]
    return float(np.median(times)) if times else math.nan


@_measure(
    "impact_speed_mps",
    "mean impact speed",
    "mean over failures with a contact of the relative speed at it",
    unit="m/s",
    highest=math.inf,
)
def impact_speed_mps(results: Results) -> float:
    """NaN without a contact."""
    speeds = [r.impact_speed_mps for r in results if r.failed and math.isfinite(r.impact_speed_mps)]
    return float(np.mean(speeds)) if speeds else math.nan


@_measure(
    "findings",
    "planner raised, hung or gave no plan",
    "tests that ended because of the planner as a program",
    better="lower",
    highest=math.inf,
)
def findings(results: Results) -> int:
    """Tests in which the planner failed as a program."""
    return sum(bool(r.finding) for r in results)


@_measure(
    "infeasible_share",
    "infeasible steps of the cars",
    "ticks of learned cars outside the hard bounds of motion / their ticks",
    better="lower",
)
def infeasible_share(results: Results) -> float:
    """Mean over tests, weighted by length."""
    return _mean_over_ticks(results, [r.infeasible_share for r in results])


@_measure("off_road_share", "steps off the road", "ticks of learned cars off the road / their ticks", better="lower")
def off_road_share(results: Results) -> float:
    """Mean over tests, weighted by length."""
    return _mean_over_ticks(results, [r.off_road_share for r in results])


@_measure(
    "responsibility_per_100_s",
    "unsafe seconds caused per 100 s",
    "100 x seconds that learned cars were unsafe by their own doing / seconds",
    better="lower",
    highest=math.inf,
)
def responsibility_per_100_s(results: Results) -> float:
    """Mean over tests, weighted by length."""
    return _mean_over_ticks(results, [r.responsibility_per_100_s for r in results])


@_measure(
    "parameter_distance",
    "diversity: mean distance of the scenes",
    "mean over pairs of failures that count of sum_g |a_g - b_g| / range_g / number of genes",
)
def parameter_distance(results: Results) -> float:
    """NaN with fewer than two failures that count; see :func:`pair_distance`."""
    return pair_distance(np.array([r.genes for r in results if r.counts]), np.array([r.genes for r in results]))


@_measure(
    "archive_cells",
    "diversity: occupied archive cells",
    "number of kinds (side x maneuver x speed band) among failures that count",
    highest=math.inf,
)
def archive_cells(results: Results) -> int:
    """How many kinds of failures that count there are."""
    return len({r.kind for r in results if r.counts})


@_measure(
    "failure_kinds",
    "diversity: kinds of failures",
    "number of kinds (side x maneuver x speed band) among all failures",
    highest=math.inf,
)
def failure_kinds(results: Results) -> int:
    """How many kinds of failures there are."""
    return len({r.kind for r in results if r.failed})


def _share(flags: Iterable[bool], *, nobody: float = 0.0) -> float:
    seen = list(flags)
    return sum(seen) / len(seen) if seen else nobody


def tests_until(flags: Iterable[bool], number: int) -> float:
    """Tests until the given number of them had the flag; NaN if there were fewer."""
    seen = 0
    for done, flag in enumerate(flags, 1):
        seen += flag
        if seen >= number:
            return float(done)
    return math.nan


def _mean_over_ticks(results: Results, values: Sequence[float]) -> float:
    weight = np.array([max(r.steps, 1) for r in results], dtype=np.float64)
    return float(np.average(np.array(values, dtype=np.float64), weights=weight)) if len(values) else math.nan


def pair_distance(genes: FloatArray, everything: FloatArray) -> float:
    """Mean pairwise L1 distance, each gene scaled to [0, 1] by its range over ``everything``, per gene."""
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
