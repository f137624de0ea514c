"""How well probabilities order accepted before rejected gaps: AUC, exact and in the form of the papers."""

from __future__ import annotations

import math

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray
from giveway.metrics.metric import score_metric

NUM_THRESHOLDS = 101
"""Thresholds of the ``paper`` form: 0, 0.01, ..., 1."""


@score_metric(
    name="auc",
    title="AUC",
    formula="mean over pairs (i accepted, j rejected) of [p_i > p_j] + 0.5 [p_i = p_j]",
    unit="",
    better="higher",
    range=(0.0, 1.0),
    version=1,
    reference="Schumann et al. 2023 (supplement), eq. 22, with ties sharing the mean rank (Mann and Whitney 1947).",
    prediction_times=("initial", "constant"),
)
def auc(accepted: BoolArray, p: FloatArray) -> float:
    """Probability that a random accepted gap gets a higher p than a random rejected one; ties count half.

    Returns:
        NaN if only one class is present. 0.5 for a constant predictor, whatever the order of the samples.
    """
    return mann_whitney(accepted, p)


@score_metric(
    name="auc_paper",
    title="AUC",
    formula="trapezoids under (false, true positive rate) at 101 thresholds, decision p > threshold",
    unit="",
    better="higher",
    range=(0.0, 1.0),
    version=1,
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


def mann_whitney(accepted: BoolArray, score: FloatArray) -> float:
    """AUC by mid-ranks with one sort of packed integers.

    A non-negative double orders like its bits read as an integer, and doubles up to 1 leave the two highest bits free.
    So score and label fit into one 64-bit key (bits shifted by one, label last); sorting the keys puts rejected
    before accepted within equal scores, the pairs won by accepted samples are then counted exactly in integers, and
    half of the tied pairs is taken off again.

    Args:
        accepted: (N,) labels.
        score: (N,) finite numbers; values outside [0, 1] are replaced by their ranks first.

    Returns:
        NaN if only one class is present.
    """
    num_accepted = int(np.count_nonzero(accepted))
    num_rejected = accepted.size - num_accepted
    if num_accepted == 0 or num_rejected == 0:
        return math.nan
    keys = np.sort((_ordered_bits(score) << np.uint64(1)) | accepted.astype(np.uint64))
    label = (keys & np.uint64(1)).astype(bool)
    position = np.flatnonzero(label)
    # The k-th accepted sample (from 0) at position i has i - k rejected ones at or below it.
    twice = 2 * (int(position.sum()) - num_accepted * (num_accepted - 1) // 2)
    keys >>= np.uint64(1)
    twice -= _tied_pairs(keys, label)
    return twice / (2 * num_accepted * num_rejected)


def _ordered_bits(score: FloatArray) -> np.ndarray[tuple[int, ...], np.dtype[np.uint64]]:
    if score.min() >= 0.0 and score.max() <= 1.0:
        return (score + 0.0).view(np.uint64)  # adding zero turns -0.0 into 0.0
    return np.unique(score, return_inverse=True)[1].astype(np.uint64)


def _tied_pairs(values: np.ndarray[tuple[int, ...], np.dtype[np.uint64]], label: BoolArray) -> int:
    """Number of (accepted, rejected) pairs with equal score, given both in ascending order of score."""
    equal = values[1:] == values[:-1]
    if not equal.any():
        return 0
    change = np.flatnonzero(~equal) + 1
    edges = np.concatenate([[0], change, [values.size]])
    size = np.diff(edges)
    tied = np.flatnonzero(size > 1)
    accepted_before = np.concatenate([[0], np.cumsum(label)])
    accepted = accepted_before[edges[tied + 1]] - accepted_before[edges[tied]]
    return int(np.sum(accepted * (size[tied] - accepted)))


def _share_above(p: FloatArray, thresholds: FloatArray) -> FloatArray:
    return 1.0 - np.searchsorted(np.sort(p), thresholds, side="right") / p.size
