"""Intervals from the per-sample values of a store.

A draw takes samples with replacement from all that occur in any test part (or whole groups, if the values name
them), and evaluates both models on those drawn samples that are in the test part of each split. Needed columns:
``sample_id``, ``group`` (stores of older versions lack it), and either the column named like the metric or, for metrics
of labels and probabilities, ``accepted`` and ``p``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from giveway.core.arrays import IntArray, StrArray
from giveway.experiments.store import Store
from giveway.metrics import Metric
from giveway.metrics.metric import Resampler, mean_resampler, score_resampler
from giveway.stats.bootstrap import Interval, paired_bootstrap

UNKNOWN_GROUPS = "groups unknown"
"""Ends the account of draws that took samples one by one because the store does not say which belong together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resampled:
    """An interval and what it rests on.

    Attributes:
        interval: None if there is none.
        account: what was drawn, e.g. ``20 groups``, or why there is no interval.
    """

    interval: Interval | None
    account: str


def bootstrap_difference(
    store: Store,
    measure: Metric,
    first: Mapping[int, str],
    second: Mapping[int, str],
    *,
    rng: np.random.Generator,
    num_resamples: int,
) -> Resampled:
    """Percentile interval of the mean difference over splits, positive if the first model is better.

    Args:
        store: where the per-sample values are.
        measure: metric.
        first: repetition to key of the first model's cells.
        second: the same for the second model.
        rng: generator.
        num_resamples: how many draws.

    Returns:
        No interval if any split lacks per-sample values, if both models were tested on different samples, or if there
        is nothing to draw from: a single sample, or a single group.
    """
    shared = sorted(first.keys() & second.keys())
    splits = [(store.read_samples(first[r]), store.read_samples(second[r])) for r in shared]
    pairs = [(a.sort("sample_id"), b.sort("sample_id")) for a, b in splits if a is not None and b is not None]
    if not pairs or len(pairs) < len(splits) or not all(_usable(measure, f) for pair in pairs for f in pair):
        return Resampled(interval=None, account="no values per sample")
    if not all(a["sample_id"].equals(b["sample_id"]) for a, b in pairs):
        return Resampled(interval=None, account="tested on different samples")
    ids = sorted({i for a, _ in pairs for i in a["sample_id"]})
    group = _groups(ids, [frame for pair in pairs for frame in pair])
    num_groups = len(ids) if group is None else np.unique(group).size
    if num_groups < 2:
        return Resampled(interval=None, account="a single sample" if group is None else "a single group")
    number = {sample: k for k, sample in enumerate(ids)}
    evaluations: list[tuple[IntArray, Resampler, Resampler]] = []
    for a, b in pairs:
        position = np.full(len(ids), -1, dtype=np.int64)
        position[[number[i] for i in a["sample_id"]]] = np.arange(a.height)
        evaluations.append((position, _resampler(measure, a), _resampler(measure, b)))
    is_grouped = num_groups < len(ids)
    interval = paired_bootstrap(
        lambda index: _over_splits(evaluations, index, 0, measure),
        lambda index: _over_splits(evaluations, index, 1, measure),
        len(ids),
        rng=rng,
        group=group if is_grouped else None,
        num_resamples=num_resamples,
        method="percentile",
    )
    drawn = f"{num_groups} groups" if is_grouped else f"{len(ids)} samples"
    return Resampled(interval=interval, account=f"{drawn}, {UNKNOWN_GROUPS}" if group is None else drawn)


def defined_mean(values: list[float]) -> float:
    """Mean of the finite entries; NaN if there is none."""
    known = [v for v in values if math.isfinite(v)]
    return sum(known) / len(known) if known else math.nan


def _groups(ids: Sequence[str], frames: Sequence[pl.DataFrame]) -> StrArray | None:
    """(N,) group of every sample; None unless all are known. Any cell that names the group of a sample will do."""
    known: dict[str, str] = {}
    for frame in frames:
        if "group" in frame.columns:
            known.update(frame.select("sample_id", "group").drop_nulls().iter_rows())
    return np.array([known[i] for i in ids], dtype=np.str_) if known.keys() >= set(ids) else None


def _over_splits(evaluations: list[Any], index: IntArray, which: int, measure: Metric) -> float:
    """Mean of the metric over splits, each on the drawn samples that are in its test part."""
    values: list[float] = []
    for position, *resamplers in evaluations:
        drawn = position[index]
        values.append(resamplers[which](drawn[drawn >= 0]))
    return measure.info.orient(defined_mean(values))


def _resampler(measure: Metric, samples: pl.DataFrame) -> Resampler:
    if measure.score is None:
        return mean_resampler(samples[measure.info.name].fill_null(np.nan).to_numpy().astype(np.float64))
    accepted = samples["accepted"].to_numpy().astype(bool)
    return score_resampler(measure.score, accepted, samples["p"].to_numpy().astype(np.float64))


def _usable(measure: Metric, samples: pl.DataFrame) -> bool:
    needed = {"accepted", "p"} if measure.score is not None else {measure.info.name}
    return {"sample_id", *needed} <= set(samples.columns)
