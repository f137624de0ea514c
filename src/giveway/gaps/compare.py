"""Is model A better than model B? All tests side by side, for every dataset and input length.

The bootstrap needs per-sample values in the store, see :mod:`giveway.gaps.resampling`.
"""

from __future__ import annotations

import html
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from giveway.core.errors import EmptySelectionError, UnknownNameError
from giveway.core.seeds import stream
from giveway.experiments.store import Store
from giveway.gaps.frame import gap_frame
from giveway.gaps.judgment import Judgment, is_published_test, metric_form
from giveway.gaps.metric_table import CRITICAL, MetricTable, Scores, Selection, select_results
from giveway.gaps.naming import dataset_title, order_datasets, order_models
from giveway.gaps.resampling import UNKNOWN_GROUPS, Resampled, bootstrap_difference, defined_mean
from giveway.gaps.significance import paired_differences
from giveway.metrics import METRICS, Metric
from giveway.stats.bootstrap import Interval
from giveway.stats.effects import effect_size, vargha_delaney
from giveway.stats.multiple import holm
from giveway.stats.paired import PairedTest, corrected_t_test

NUM_RESAMPLES = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A against B on one dataset at one input length; every difference is positive if A is better.

    Attributes:
        dataset: name.
        n_input: n_I.
        first_mean: of A over the splits both have.
        second_mean: of B.
        t_test: paired t-test over random splits; None with fewer than two splits in common.
        corrected: corrected resampled t-test; None likewise.
        critical: critical-split bound; None without critical split.
        holm_p: p-value of ``corrected`` (``t_test`` in ``paper`` and ``printed``) after Holm over all comparisons.
        a_measure: Vargha-Delaney A over splits, 1 if A is always better.
        bootstrap: interval of the mean difference over random splits; None if there is none.
        resampling: what the bootstrap drew, or why there is no interval; empty if none was asked for.
    """

    dataset: str
    n_input: int
    first_mean: float
    second_mean: float
    t_test: PairedTest | None
    corrected: PairedTest | None
    critical: PairedTest | None
    holm_p: float
    a_measure: float
    bootstrap: Interval | None
    resampling: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonReport:
    """All comparisons of A and B for one metric and prediction time."""

    first: str
    second: str
    metric: str
    metric_version: int
    better: str
    t0: str
    profile: str
    judgment: Judgment
    comparisons: tuple[Comparison, ...]

    def text(self) -> str:
        """Readable lines, see :func:`render_comparison`."""
        return render_comparison(self)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.text())}</pre>"


def compare_models(
    store: Store,
    first: str,
    second: str,
    *,
    metric: str,
    t0: str,
    profile: str | None = None,
    num_resamples: int = NUM_RESAMPLES,
    seed: int = 0,
    changes: Mapping[str, Any] | None = None,
) -> ComparisonReport:
    """Compare two models on everything both were run on.

    Args:
        store: finished (or partly finished) run.
        first: A.
        second: B.
        metric: registered name.
        t0: prediction time.
        profile: needed if the store holds several.
        num_resamples: for the bootstrap; 0 leaves it out.
        seed: of the bootstrap.
        changes: ``ddof`` or ``critical_bound`` to judge by instead of those of the run.

    Raises:
        UnknownNameError: for a model that is not in the store.
        EmptySelectionError: if they have nothing in common.
    """
    frame = gap_frame(store)
    models = order_models(str(m) for m in frame["model"].drop_nulls()) if "model" in frame.columns else []
    for name in (first, second):
        if name not in models:
            raise UnknownNameError("model in this store", name, models)
    profiles = sorted({str(p) for p in frame["profile"].drop_nulls()}) if "profile" in frame.columns else []
    profile = profile or (profiles[0] if len(profiles) == 1 else None)
    measure = METRICS.get(metric_form(frame, metric, profile or "clean"))
    selection = Selection(metric=measure.info.name, t0=t0, profile=profile, models=(first, second), changes=changes)
    results = select_results(frame, selection)
    places = {(d, n) for d, m, n in results.scores if m == first} & {
        (d, n) for d, m, n in results.scores if m == second
    }
    if not places:
        raise EmptySelectionError(f"{first} and {second} were never run on the same dataset and input length")
    ordered = [(d, n) for d in order_datasets(d for d, _ in places) for n in sorted(n for e, n in places if e == d)]
    found: list[Comparison] = []
    for dataset, n_input in ordered:
        pair = results.scores[dataset, first, n_input], results.scores[dataset, second, n_input]
        comparison = _compare(measure, dataset, n_input, *pair, judgment=results.judgment)
        if num_resamples:
            rng = stream(seed, "compare", first, second, measure.info.name, dataset, n_input)
            keys = _keys(frame, results, dataset, n_input)
            pair = keys.get(first, {}), keys.get(second, {})
            resampled = _resampled(store, measure, results, *pair, rng=rng, num_resamples=num_resamples)
            comparison = replace(comparison, bootstrap=resampled.interval, resampling=resampled.account)
        found.append(comparison)
    return ComparisonReport(
        first=first,
        second=second,
        metric=measure.info.name,
        metric_version=results.metric_version,
        better=measure.info.better,
        t0=t0,
        profile=results.profile,
        judgment=results.judgment,
        comparisons=_with_holm(found, results.profile),
    )


def render_comparison(report: ComparisonReport) -> str:
    """Readable lines; ``>`` means that A is better."""
    lines = [
        f"{report.first} against {report.second}: {report.metric} (version {report.metric_version}) at {report.t0} "
        f"gaps ({report.better} is better), profile {report.profile}",
        f"{'dataset':<12}{'n_I':>4}{report.first[:10]:>12}{report.second[:10]:>12}{'t-test p':>10}{'corrected':>11}"
        f"{'Holm':>8}{'critical':>10}{'A':>7}  bootstrap of the difference",
    ]
    for c in report.comparisons:
        critical = "–" if c.critical is None else f"{c.critical.statistic:+.2f}{'*' if c.critical.significant else ' '}"
        lines.append(
            f"{dataset_title(c.dataset):<12}{c.n_input:>4}{c.first_mean:>12.3f}{c.second_mean:>12.3f}"
            f"{_p(c.t_test):>10}{_p(c.corrected):>11}{_number(c.holm_p):>8}{critical:>10}{_number(c.a_measure):>7}"
            f"  {_interval(c)}"
        )
    lines += _how(report)
    lines.append(
        "p-values are one-sided for the first model being better; Holm corrects over the rows. critical: difference on "
        "the critical split in deviations, * above the bound. A: chance that the first model scores better on some "
        "split than the second on another "
        f"({', '.join(sorted({effect_size(c.a_measure) for c in report.comparisons if math.isfinite(c.a_measure)}))}). "
        "Differences are positive where the first model is better."
    )
    if any(c.resampling.endswith(UNKNOWN_GROUPS) for c in report.comparisons):
        lines.append(
            "groups unknown: these cells do not say which samples belong to one driver, so samples were drawn one by "
            "one and intervals may be too narrow; compute them again in a new folder for intervals over drivers."
        )
    return "\n".join(lines) + "\n"


def _how(report: ComparisonReport) -> list[str]:
    """The numbers behind the words: divisor and bounds."""
    tests = [c.t_test for c in report.comparisons if c.t_test is not None]
    if not tests:
        return []
    pairs = tests[0].num_pairs
    return [
        f"t-test: mean/sd of {pairs} differences, divisor {pairs - report.judgment.ddof}, must exceed "
        f"{tests[0].bound:.4f}; on the critical split {report.judgment.bound(pairs):.2f} deviations."
    ]


def _compare(
    measure: Metric, dataset: str, n_input: int, first: Scores, second: Scores, *, judgment: Judgment
) -> Comparison:
    info = measure.info
    difference = paired_differences(first, second, info)
    enough = difference.size >= 2
    gap = info.orient(first.critical - second.critical)
    shared = [r for r in first.repetition if r in set(second.repetition)]
    values = [dict(zip(s.repetition, s.value, strict=True)) for s in (first, second)]
    oriented = [np.array([info.orient(v[r]) for r in shared], dtype=np.float64) for v in values]
    return Comparison(
        dataset=dataset,
        n_input=n_input,
        first_mean=defined_mean([values[0][r] for r in shared]),
        second_mean=defined_mean([values[1][r] for r in shared]),
        t_test=judgment.t_test(difference) if enough else None,
        corrected=corrected_t_test(difference) if enough else None,
        critical=judgment.critical_test(gap, difference) if enough and math.isfinite(gap) else None,
        holm_p=math.nan,
        a_measure=vargha_delaney(*(o[np.isfinite(o)] for o in oriented)),
        bootstrap=None,
    )


def _with_holm(comparisons: list[Comparison], profile: str) -> tuple[Comparison, ...]:
    tests = [c.t_test if is_published_test(profile) else c.corrected for c in comparisons]
    adjusted = holm(np.array([math.nan if t is None else t.p_value for t in tests]))
    return tuple(replace(c, holm_p=float(p)) for c, p in zip(comparisons, adjusted, strict=True))


def _resampled(
    store: Store,
    measure: Metric,
    results: MetricTable,
    first: Mapping[int, str],
    second: Mapping[int, str],
    *,
    rng: np.random.Generator,
    num_resamples: int,
) -> Resampled:
    """The interval, unless the results were measured with a definition that only another version of the code knows."""
    if measure.score is not None and measure.info.version != results.metric_version:
        account = f"version {results.metric_version} of the metric is not installed"
        return Resampled(interval=None, account=account)
    return bootstrap_difference(store, measure, first, second, rng=rng, num_resamples=num_resamples)


def _keys(frame: pl.DataFrame, results: MetricTable, dataset: str, n_input: int) -> Mapping[str, dict[int, str]]:
    """Model to repetition to key of the random splits that the results are taken from."""
    selection = results.selection
    rows = frame.filter(
        pl.col("metric") == selection.metric,
        pl.col("metric_version") == results.metric_version,
        pl.col("t0") == selection.t0,
        pl.col("split") == selection.split,
        pl.col("split") != CRITICAL,
        pl.col("dataset") == dataset,
        pl.col("n_input") == n_input,
        pl.col("profile") == results.profile if "profile" in frame.columns else pl.lit(True),
    )
    found: dict[str, dict[int, str]] = {}
    for model, repetition, key in rows.select("model", "repetition", "key").iter_rows():
        found.setdefault(model, {})[repetition] = key
    return found


def _interval(comparison: Comparison) -> str:
    found, account = comparison.bootstrap, comparison.resampling
    if found is None:
        return f"– ({account})" if account else "–"
    return f"{found.estimate:+.3f} [{found.low:+.3f}, {found.high:+.3f}] {account}"


def _p(test: PairedTest | None) -> str:
    return "–" if test is None else _number(test.p_value)


def _number(value: float) -> str:
    return "–" if not math.isfinite(value) else f"{value:.3f}"
