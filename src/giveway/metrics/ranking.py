"""How well probabilities order accepted before rejected gaps: AUC, exact and in the form of the papers."""

from __future__ import annotations

import math

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray
from giveway.core.predictions import OutputKind
from giveway.metrics.metric import metric
from giveway.stats.mann_whitney import mann_whitney

NUM_THRESHOLDS = 101
"""Thresholds of the ``paper`` form: 0, 0.01, ..., 1."""


@metric(
    name="auc",
    title="AUC",
    of="gaps",
    items="samples",
    needs=OutputKind.PROBABILITY,
    decomposes=False,
    formula="mean over pairs (i accepted, j rejected) of [p_i > p_j] + 0.5 [p_i = p_j]",
    better="higher",
    range=(0.0, 1.0),
    reference="Schumann et al. 2023 (supplement), eq. 22, with ties sharing the mean rank (Mann and Whitney 1947).",
    prediction_times=("initial", "constant"),
)
def auc(accepted: BoolArray, p: FloatArray) -> float:
    """Probability that a random accepted gap gets a higher p than a random rejected one; ties count half.

    Returns:
        NaN if only one class is present. 0.5 for a constant predictor, whatever the order of the samples.
    """
    return mann_whitney(accepted, p)


@metric(
    name="auc_paper",
    title="AUC",
    of="gaps",
    items="samples",
    needs=OutputKind.PROBABILITY,
    decomposes=False,
    formula="trapezoids under (false, true positive rate) at 101 thresholds, decision p > threshold",
    better="higher",
    range=(0.0, 1.0),
    reference="Form used for the tables of Schumann et al. 2023 (profile `paper`). Scores within the same hundredth "
    "count as ties, which is harmless for shares of 100 paths and severe for probabilities crowding near 0 or 1.",
)
def auc_paper(accepted: BoolArray, p: FloatArray) -> float:
    """Area under the curve through 101 thresholds, starting at (1, 1) and ending at (0, 0).

    Returns:
        NaN if only one class is present.
    """
    if not accepted.any() or accepted.all():
        return math.nan
    thresholds = np.linspace(0.0, 1.0, NUM_THRESHOLDS)
    true_rate = np.concatenate([[1.0], _share_above(p[accepted], thresholds), [0.0]])
    false_rate = np.concatenate([[1.0], _share_above(p[~accepted], thresholds), [0.0]])
    return float(np.sum((false_rate[:-1] - false_rate[1:]) * (true_rate[:-1] + true_rate[1:])) / 2)


@metric(
    name="auc_printed",
    title="AUC",
    of="gaps",
    items="samples",
    needs=OutputKind.PROBABILITY,
    decomposes=False,
    formula="(sum of the ranks of accepted samples - N_A (N_A + 1) / 2) / (N_A N_R), ranks 1 .. N in ascending order",
    better="higher",
    range=(0.0, 1.0),
    reference="Schumann et al. 2023 (supplement), eq. 22 as printed (profile `printed`): tied samples have ranks in "
    "the order in which they stand, so the value depends on that order.",
)
def auc_printed(accepted: BoolArray, p: FloatArray) -> float:
    """AUC from ordinal ranks; equal to ``auc`` without ties.

    Returns:
        NaN if only one class is present.
    """
    if not accepted.any() or accepted.all():
        return math.nan
    rank = np.empty(p.size)
    rank[np.argsort(p, kind="stable")] = np.arange(1, p.size + 1)
    hits = int(accepted.sum())
    return float((rank[accepted].sum() - hits * (hits + 1) / 2) / (hits * (p.size - hits)))


def _share_above(p: FloatArray, thresholds: FloatArray) -> FloatArray:
    return 1.0 - np.searchsorted(np.sort(p), thresholds, side="right") / p.size
