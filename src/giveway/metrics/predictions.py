"""Predictions as metrics of gaps need them: of the right kind and shape, finite, probabilities within [0, 1]."""

from __future__ import annotations

import math

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.errors import PredictionError
from giveway.core.predictions import Prediction, Probability, TimeDistribution, Trajectories
from giveway.core.samples import GapTruth


def probability_of(prediction: Prediction, truth: GapTruth) -> FloatArray:
    """(N,) checked acceptance probabilities.

    Raises:
        PredictionError: if the prediction has none, or they are not N finite numbers in [0, 1].
    """
    if isinstance(prediction, Trajectories):
        raise PredictionError(
            "this metric needs acceptance probabilities",
            found="trajectories",
            hint="convert the prediction first (paths to probability)",
        )
    assert isinstance(prediction, Probability | TimeDistribution)
    p = np.asarray(prediction.p, dtype=np.float64)
    num_samples = truth.accepted.size
    if p.shape != (num_samples,):
        raise PredictionError(
            "a prediction has the wrong shape", found=f"p of shape {p.shape} for {num_samples} samples"
        )
    if not np.all((p >= 0) & (p <= 1)):
        bad = int(np.flatnonzero(~((p >= 0) & (p <= 1)))[0])
        raise PredictionError(
            "acceptance probabilities must be numbers between 0 and 1",
            where=f"sample {bad}",
            found=p[bad],
            hint="check the model's predict",
        )
    return p


def times_of(prediction: Prediction, truth: GapTruth) -> TimeDistribution:
    """The prediction as checked time distribution.

    Raises:
        PredictionError: if it is of another kind or malformed.
    """
    if not isinstance(prediction, TimeDistribution):
        raise PredictionError(
            "this metric needs a distribution of acceptance times",
            found=type(prediction).__name__,
            hint="convert the prediction first",
        )
    p = probability_of(prediction, truth)
    quantile_s = np.asarray(prediction.quantile_s, dtype=np.float64)
    if quantile_s.shape != (p.size, 9):
        raise PredictionError(
            "a prediction has the wrong shape", found=f"quantiles of shape {quantile_s.shape}, expected ({p.size}, 9)"
        )
    if np.any(np.diff(quantile_s, axis=1) < 0):
        bad = int(np.flatnonzero(np.any(np.diff(quantile_s, axis=1) < 0, axis=1))[0])
        raise PredictionError("quantiles of a time must not decrease", where=f"sample {bad}", found=quantile_s[bad])
    return TimeDistribution(p=p, quantile_s=quantile_s)


def paths_of(prediction: Prediction, truth: GapTruth) -> Trajectories:
    """The prediction as checked set of paths, finite on every step with ground truth.

    Raises:
        PredictionError: if it is of another kind or malformed.
    """
    if not isinstance(prediction, Trajectories):
        raise PredictionError(
            "this metric needs predicted paths", found=type(prediction).__name__, hint="convert the prediction first"
        )
    xy = prediction.xy
    needed = int(truth.num_observed.max(initial=0))
    if xy.ndim != 4 or xy.shape[0] != truth.accepted.size or xy.shape[3] != 2 or xy.shape[1] == 0:
        raise PredictionError(
            "a prediction has the wrong shape",
            found=f"paths of shape {xy.shape}, expected ({truth.accepted.size}, n_p, steps, 2)",
        )
    if xy.shape[2] < needed:
        raise PredictionError(
            "predicted paths are too short", found=f"{xy.shape[2]} steps", hint=f"{needed} steps have ground truth"
        )
    if not math.isclose(prediction.dt_s, truth.dt_s):
        raise PredictionError(
            "predicted paths have another time step", found=f"{prediction.dt_s} s, ground truth {truth.dt_s} s"
        )
    return prediction
