"""Intervals for means of samples that come in clusters, e.g. cases of recordings: whole clusters are resampled.

One :class:`ClusterDraws` serves every quantity measured on the same samples, so differences, ratios and rank
agreements are paired by construction: draw b of every quantity is made from the same clusters.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Literal

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.errors import UsageError
from giveway.stats.bootstrap import NUM_RESAMPLES, Interval, interval_of_draws

MIN_CLUSTERS = 5
"""With fewer clusters their spread is not known: percentile intervals over clusters would be far too narrow."""


class ClusterDraws:
    """B resamples of clusters with replacement.

    Args:
        clusters: sample to its cluster, in the order of the samples.
        rng: generator.
        num_resamples: B.

    Samples are their own clusters if there are fewer than :data:`MIN_CLUSTERS` clusters; ``unit`` says which.
    """

    def __init__(
        self, clusters: Mapping[str, Hashable], *, rng: np.random.Generator, num_resamples: int = NUM_RESAMPLES
    ) -> None:
        if len(clusters) < 2:
            raise UsageError("resampling needs at least two samples", found=len(clusters))
        found = list(dict.fromkeys(clusters.values()))
        self.num_clusters = len(found)
        self.unit: Literal["clusters", "samples"] = "clusters" if len(found) >= MIN_CLUSTERS else "samples"
        at = {name: k for k, name in enumerate(found)}
        self._row = {s: at[c] if self.unit == "clusters" else k for k, (s, c) in enumerate(clusters.items())}
        self.num_units = len(found) if self.unit == "clusters" else len(clusters)
        self._chosen = rng.integers(0, self.num_units, (num_resamples, self.num_units))

    def means(self, names: Sequence[str], values: FloatArray) -> FloatArray:
        """Resampled means of columns over the samples where each is known.

        Args:
            names: (N,) samples.
            values: (N, K), NaN where unknown.

        Returns:
            (1 + B, K): the mean of all samples, then of every resample; NaN where a resample has no known value.
        """
        table = np.asarray(values, dtype=np.float64).reshape(len(names), -1)
        known = np.isfinite(table)
        rows = np.array([self._row[name] for name in names], dtype=np.int64)
        sums, counts = (np.zeros((self.num_units, table.shape[1])) for _ in range(2))
        np.add.at(sums, rows, np.where(known, table, 0.0))
        np.add.at(counts, rows, known.astype(np.float64))
        # Gathered and added in order: a matrix product would depend on the BLAS in its last bits.
        total, count = (
            np.concatenate([part.sum(axis=0)[None], part[self._chosen].sum(axis=1)]) for part in (sums, counts)
        )
        return np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)

    def interval(self, values: FloatArray, *, confidence: float = 0.95) -> Interval:
        """Percentile interval of (1 + B,) values: the estimate, then those of the resamples."""
        return interval_of_draws(float(values[0]), values[1:], confidence=confidence, num_units=self.num_units)


def within_cluster_correlation(values: FloatArray, clusters: Sequence[Hashable]) -> float:
    """Share of the variance that clusters explain, by analysis of variance; 0 where it comes out negative.

        rho = (MSB - MSW) / (MSB + (m_0 - 1) MSW),   m_0 = (N - sum m_k^2 / N) / (K - 1)

    Returns:
        NaN with fewer than two clusters, or without a cluster of two.

    Reference:
        Donner 1986, International Statistical Review 54, 67-82.
    """
    _, inverse = np.unique(np.array([str(c) for c in clusters]), return_inverse=True)
    sizes = np.bincount(inverse).astype(np.float64)
    groups, total = sizes.size, values.size
    if groups < 2 or total <= groups:
        return float("nan")
    means = np.bincount(inverse, weights=values) / sizes
    between = float((sizes * (means - values.mean()) ** 2).sum()) / (groups - 1)
    within = float(((values - means[inverse]) ** 2).sum()) / (total - groups)
    typical = (total - float((sizes**2).sum()) / total) / (groups - 1)
    scale = between + (typical - 1.0) * within
    return max((between - within) / scale, 0.0) if scale > 0 else 0.0
