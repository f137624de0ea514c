"""Intervals from the per-sample values of a store.

A draw takes samples with replacement from all that occur in any test part (or whole groups, if the values name
them), and evaluates both models on those drawn samples that are in the test part of each split. Needed columns:
``sample_id``, ``group`` (optional), and either the column named like the metric or, for metrics of labels and
probabilities, ``accepted`` and ``p``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from giveway.core.arrays import AnyArray, IntArray
from giveway.metrics import Metric
from giveway.metrics.metric import Resampler, mean_resampler, score_resampler
from giveway.runs.store import Store
from giveway.stats.bootstrap import Interval, paired_bootstrap


def bootstrap_difference(
    store: Store,
    measure: Metric,
    first: Mapping[int, str],
    second: Mapping[int, str],
    *,
    rng: np.random.Generator,
    num_resamples: int,
) -> Interval | None:
    """Percentile interval of the mean difference over splits, positive if the first model is better.

    Args:
        store: where the per-sample values are.
        measure: metric.
        first: repetition to key of the first model's cells.
        second: the same for the second model.
        rng: generator.
        num_resamples: how many draws.

    Returns:
        None if any split lacks per-sample values, or both models were tested on different samples.
    """
    shared = sorted(first.keys() & second.keys())
    splits = [(store.read_samples(first[r]), store.read_samples(second[r])) for r in shared]
    pairs = [(a, b) for a, b in splits if _usable(measure, a) and _usable(measure, b)]
    if not pairs or len(pairs) < len(splits):
        return None
    ids = sorted({i for a, _ in pairs for i in _ids(a)})
    number = {sample: k for k, sample in enumerate(ids)}
    evaluations: list[tuple[IntArray, Resampler, Resampler]] = []
    group = np.array(ids, dtype=object)
    for a, b in pairs:
        a, b = (f.sort("sample_id") for f in (a, b) if f is not None)
        if not a["sample_id"].equals(b["sample_id"]):
            return None
        position = np.full(len(ids), -1, dtype=np.int64)
        where = np.array([number[i] for i in a["sample_id"]])
        position[where] = np.arange(a.height)
        if "group" in a.columns:
            group[where] = a["group"].to_list()
        evaluations.append((position, _resampler(measure, a), _resampler(measure, b)))
    labels: AnyArray | None = group.astype(str) if len(set(group)) < len(ids) else None
    return paired_bootstrap(
        lambda index: _over_splits(evaluations, index, 0, measure),
        lambda index: _over_splits(evaluations, index, 1, measure),
        len(ids),
        rng=rng,
        group=labels,
        num_resamples=num_resamples,
        method="percentile",
    )


def defined_mean(values: list[float]) -> float:
    """Mean of the finite entries; NaN if there is none."""
    known = [v for v in values if math.isfinite(v)]
    return sum(known) / len(known) if known else math.nan


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


def _usable(measure: Metric, samples: pl.DataFrame | None) -> bool:
    needed = {"accepted", "p"} if measure.score is not None else {measure.info.name}
    return samples is not None and {"sample_id", *needed} <= set(samples.columns)


def _ids(samples: pl.DataFrame | None) -> list[str]:
    return [] if samples is None else samples["sample_id"].to_list()
