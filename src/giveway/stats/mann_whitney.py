"""Share of pairs that a score orders rightly: the Mann-Whitney statistic, which is the area under the ROC curve."""

from __future__ import annotations

import math

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray


def mann_whitney(positive: BoolArray, score: FloatArray) -> float:
    """AUC by mid-ranks with one sort of packed integers.

    A non-negative double orders like its bits read as an integer, and doubles up to 1 leave the two highest bits free.
    So score and label fit into one 64-bit key (bits shifted by one, label last); sorting the keys puts negative
    before positive within equal scores, the pairs won by positive samples are then counted exactly in integers, and
    half of the tied pairs is taken off again.

    Args:
        positive: (N,) labels.
        score: (N,) finite numbers; values outside [0, 1] are replaced by their ranks first.

    Returns:
        NaN if only one class is present.
    """
    num_positive = int(np.count_nonzero(positive))
    num_negative = positive.size - num_positive
    if num_positive == 0 or num_negative == 0:
        return math.nan
    keys = np.sort((_ordered_bits(score) << np.uint64(1)) | positive.astype(np.uint64))
    label = (keys & np.uint64(1)).astype(bool)
    position = np.flatnonzero(label)
    # The k-th positive sample (from 0) at position i has i - k negative ones at or below it.
    twice = 2 * (int(position.sum()) - num_positive * (num_positive - 1) // 2)
    keys >>= np.uint64(1)
    twice -= _tied_pairs(keys, label)
    return twice / (2 * num_positive * num_negative)


def _ordered_bits(score: FloatArray) -> np.ndarray[tuple[int, ...], np.dtype[np.uint64]]:
    if score.min() >= 0.0 and score.max() <= 1.0:
        return (score + 0.0).view(np.uint64)  # adding zero turns -0.0 into 0.0
    return np.unique(score, return_inverse=True)[1].astype(np.uint64)


def _tied_pairs(values: np.ndarray[tuple[int, ...], np.dtype[np.uint64]], label: BoolArray) -> int:
    """Number of (positive, negative) pairs with equal score, given both in ascending order of score."""
    equal = values[1:] == values[:-1]
    if not equal.any():
        return 0
    change = np.flatnonzero(~equal) + 1
    edges = np.concatenate([[0], change, [values.size]])
    size = np.diff(edges)
    tied = np.flatnonzero(size > 1)
    positive_before = np.concatenate([[0], np.cumsum(label)])
    positive = positive_before[edges[tied + 1]] - positive_before[edges[tied]]
    return int(np.sum(positive * (size[tied] - positive)))
