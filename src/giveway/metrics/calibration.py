"""Whether probabilities mean what they say: Brier score, log loss, calibration error."""

from __future__ import annotations

import math

import numpy as np

from giveway.core import elementary
from giveway.core.arrays import BoolArray, FloatArray
from giveway.core.predictions import OutputKind, Prediction
from giveway.core.samples import GapTruth
from giveway.metrics.metric import metric
from giveway.metrics.predictions import probability_of

NUM_BINS = 10
SMALLEST_PROBABILITY = float(np.finfo(np.float64).eps)
"""Probabilities are moved this far from 0 and 1 before the logarithm, as scikit-learn does."""


@metric(
    name="brier",
    title="Brier score",
    of="gaps",
    items="samples",
    formula="(p - a)^2",
    better="lower",
    range=(0.0, 1.0),
    needs=OutputKind.PROBABILITY,
    reference="Brier 1950, for two classes in the form with one term.",
)
def brier(truth: GapTruth, prediction: Prediction) -> FloatArray:
    """Squared error of the probability, per sample."""
    return (probability_of(prediction, truth) - truth.accepted) ** 2


@metric(
    name="log_loss",
    title="Log loss",
    of="gaps",
    items="samples",
    formula="-log(p) if a = 1 else -log(1 - p), p kept 2.2e-16 away from 0 and 1",
    unit="nat",
    better="lower",
    range=(0.0, -math.log(SMALLEST_PROBABILITY)),
    needs=OutputKind.PROBABILITY,
    reference="Good 1952; natural logarithm.",
)
def log_loss(truth: GapTruth, prediction: Prediction) -> FloatArray:
    """Negative log likelihood of the label, per sample; at most 36 for a certain and wrong prediction."""
    p = np.clip(probability_of(prediction, truth), SMALLEST_PROBABILITY, 1 - SMALLEST_PROBABILITY)
    return -np.where(truth.accepted, elementary.log(p), elementary.log1p(-p))


@metric(
    name="ece",
    title="ECE",
    of="gaps",
    items="samples",
    needs=OutputKind.PROBABILITY,
    decomposes=False,
    formula="sum over 10 equal bins of p of (samples in bin / N) |mean of a - mean of p|",
    better="lower",
    range=(0.0, 1.0),
    reference="Naeini, Cooper, Hauskrecht 2015, for the probability of acceptance; bins [k/10, (k+1)/10), the last "
    "one closed.",
)
def ece(accepted: BoolArray, p: FloatArray) -> float:
    """Expected calibration error.

    Returns:
        NaN without samples; defined with one class only.
    """
    if accepted.size == 0:
        return math.nan
    bins = np.minimum((p * NUM_BINS).astype(np.int64), NUM_BINS - 1)
    gap = np.bincount(bins, weights=accepted - p, minlength=NUM_BINS)
    return float(np.abs(gap).sum() / accepted.size)
