"""Displacement errors of predicted modes against what the cars then did."""

from __future__ import annotations

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray


def displacement_errors(
    predicted: FloatArray, probability: FloatArray, truth: FloatArray, known: BoolArray
) -> dict[str, FloatArray]:
    """Average and final displacement of each prediction.

        ade = mean over known steps of ||x - x_hat||,   fde = the same at the last known step

    Args:
        predicted: (N, K, S, 2) positions of the modes [m].
        probability: (N, K) weights; modes with 0 do not exist.
        truth: (N, S, 2) what happened.
        known: (N, S) where that is known.

    Returns:
        ``ade``, ``fde`` of the most likely mode (the first in a tie) and ``min_ade``, ``min_fde`` of the best mode,
        each
        (N,) in meters; NaN where nothing is known.
    """
    gap = np.hypot(*np.moveaxis(predicted - truth[:, None], -1, 0))
    gap = np.where(known[:, None], gap, np.nan)
    steps = known.sum(axis=1)
    any_known = steps > 0
    mean = np.where(known[:, None], gap, 0.0).sum(axis=-1) / np.maximum(steps, 1)[:, None]
    last = known.shape[1] - 1 - known[:, ::-1].argmax(axis=1)
    rows = np.arange(len(gap))
    final = gap[rows, :, np.where(any_known, last, 0)]
    exists = probability > 0
    likely = probability.argmax(axis=1)

    def best(values: FloatArray) -> FloatArray:
        return np.where(exists, values, np.inf).min(axis=1)

    out = {"ade": mean[rows, likely], "fde": final[rows, likely], "min_ade": best(mean), "min_fde": best(final)}
    return {name: np.where(any_known, values, np.nan) for name, values in out.items()}
