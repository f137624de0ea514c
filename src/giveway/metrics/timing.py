"""When a gap is accepted: distance between the predicted distribution of t_A and what happened."""

from __future__ import annotations

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.predictions import QUANTILES, OutputKind, Prediction
from giveway.core.samples import GapTruth
from giveway.metrics.metric import metric
from giveway.metrics.predictions import times_of


@metric(
    name="time_cdf",
    title="Time-CDF error",
    of="gaps",
    items="samples",
    formula="0.5 ((1/T_end) (int_0^t* F + int_t*^T_end (1 - F)) + (1 - p) a), F piecewise linear through "
    "(0, 0), (q_k, 0.1 k p), (T_end, p)",
    better="lower",
    range=(0.0, 1.0),
    needs=OutputKind.TIME,
    reference="Code of Schumann et al. 2023, with both parts also for p = 0 (the code omits the first one there) and "
    "without overwriting the labels.",
)
def time_cdf(truth: GapTruth, prediction: Prediction) -> FloatArray:
    """Area between the predicted and the true distribution function of the acceptance time.

    The true one is a step at t* = t_A for an accepted gap and zero for a rejected one (t* = T_end, the last observed
    step). An acceptance after T_end counts as accepted with t* = T_end. Quantiles beyond [0, T_end] are moved to its
    ends; without quantiles (NaN) the distribution rises evenly from 0 to p.

    Returns:
        (N,) 0 for a perfect and certain prediction; NaN where n_O = 0.
    """
    predicted = times_of(prediction, truth)
    end = truth.num_observed * truth.dt_s
    happened = np.where(truth.accepted, np.minimum(truth.t_accept_s, end), end)
    knot_x, knot_y = _distribution(predicted.p, predicted.quantile_s, end)
    before = _integral_until(knot_x, knot_y, happened)
    whole = _integral_until(knot_x, knot_y, end)
    after = (end - happened) - (whole - before)
    with np.errstate(divide="ignore", invalid="ignore"):
        shape = (before + after) / end
    return np.where(end > 0, 0.5 * (shape + (1 - predicted.p) * truth.accepted), np.nan)


def _distribution(p: FloatArray, quantile_s: FloatArray, end: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(N, 11) knots of the predicted distribution function."""
    even = QUANTILES * end[:, None]
    inner = np.clip(np.where(np.isnan(quantile_s), even, quantile_s), 0.0, end[:, None])
    x = np.column_stack([np.zeros_like(end), inner, end])
    levels = np.concatenate([[0.0], QUANTILES, [1.0]])
    return x, p[:, None] * levels


def _integral_until(x: FloatArray, y: FloatArray, limit: FloatArray) -> FloatArray:
    """(N,) integral of each piecewise linear function from its first knot to ``limit``."""
    left, right = x[:, :-1], x[:, 1:]
    reach = np.clip(limit[:, None], left, right)
    width = right - left
    share = np.divide(reach - left, width, out=np.zeros_like(width), where=width > 0)
    height = y[:, :-1] + share * (y[:, 1:] - y[:, :-1])
    return np.sum(0.5 * (y[:, :-1] + height) * (reach - left), axis=1)
