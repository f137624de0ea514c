"""Accept or reject: measures of a decision made by comparing p with a threshold."""

from __future__ import annotations

import math

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray
from giveway.core.predictions import OutputKind
from giveway.metrics.metric import metric

NUM_THRESHOLDS = 51
"""Thresholds tried for the accuracy: 0, 0.02, ..., 1."""

BENCHMARK = "Schumann, Kober, Zgonnikov 2023 (benchmark)"
TINY = 1e-9


@metric(
    name="accuracy",
    title="Accuracy",
    of="gaps",
    items="samples",
    needs=OutputKind.PROBABILITY,
    decomposes=False,
    formula="max over 51 thresholds tau of the share of samples with [p > tau] = a",
    better="higher",
    range=(0.0, 1.0),
    reference=f"{BENCHMARK}. Optimistic, as the threshold is chosen on the test samples.",
)
def accuracy(accepted: BoolArray, p: FloatArray) -> float:
    """Share of right decisions at the best of 51 thresholds.

    Returns:
        NaN without samples; defined with one class only.
    """
    if accepted.size == 0:
        return math.nan
    correct, _ = _best_threshold(accepted, p)
    return correct / accepted.size


@metric(
    name="miss_rate",
    title="Miss rate",
    of="gaps",
    items="samples",
    needs=OutputKind.PROBABILITY,
    decomposes=False,
    formula="share of accepted samples with p <= tau, tau the first threshold with the highest accuracy",
    better="lower",
    range=(0.0, 1.0),
    reference=f"{BENCHMARK}, eq. 7, which prints the opposite inequality.",
)
def miss_rate(accepted: BoolArray, p: FloatArray) -> float:
    """Share of accepted gaps that are predicted as rejected at the most accurate threshold.

    Returns:
        NaN without accepted samples.
    """
    if not accepted.any():
        return math.nan
    _, threshold = _best_threshold(accepted, p)
    return float(np.mean(p[accepted] <= threshold))


@metric(
    name="tnr_pr",
    title="TNR-PR",
    of="gaps",
    items="samples",
    needs=OutputKind.PROBABILITY,
    decomposes=False,
    formula="share of rejected samples with p < theta, theta = min of p over accepted samples",
    better="higher",
    range=(0.0, 1.0),
    reference="Schumann et al. 2023 (supplement), eq. 24, with the number of rejected samples in the denominator "
    "(the equation prints the number of all samples; benchmark and code use the rejected ones).",
    prediction_times=("critical",),
)
def tnr_pr(accepted: BoolArray, p: FloatArray) -> float:
    """True negative rate at perfect recall; a rejected sample tied with the least accepted one is a false alarm.

    A predictor without information scores 1 / (N_A + 1) on average. One accepted sample with p = 0 forces 0.

    Returns:
        NaN if only one class is present.
    """
    if not accepted.any() or accepted.all():
        return math.nan
    return _share_below(p[~accepted], float(p[accepted].min()))


@metric(
    name="tnr_pr_printed",
    title="TNR-PR",
    of="gaps",
    items="samples",
    needs=OutputKind.PROBABILITY,
    decomposes=False,
    formula="number of rejected samples with p < theta, divided by that of all samples; theta as in tnr_pr",
    better="higher",
    range=(0.0, 1.0),
    reference="Schumann et al. 2023 (supplement), eq. 24 as printed (profile `printed`): at most N_R / N.",
)
def tnr_pr_printed(accepted: BoolArray, p: FloatArray) -> float:
    """TNR-PR times the share of rejected samples.

    Returns:
        NaN if only one class is present.
    """
    if not accepted.any() or accepted.all():
        return math.nan
    return float(np.mean(~accepted & (p < p[accepted].min())))


@metric(
    name="tnr_pr_10",
    title="TNR-PR (10 %)",
    of="gaps",
    items="samples",
    needs=OutputKind.PROBABILITY,
    decomposes=False,
    formula="share of rejected samples with p < theta, theta = 0.1-quantile of p over accepted samples",
    better="higher",
    range=(0.0, 1.0),
    reference="Variant of TNR-PR that a single accepted sample cannot decide; quantile with linear interpolation.",
)
def tnr_pr_10(accepted: BoolArray, p: FloatArray) -> float:
    """TNR-PR with the tenth of the accepted samples with the least p left out of account.

    Returns:
        NaN if only one class is present.
    """
    if not accepted.any() or accepted.all():
        return math.nan
    return _share_below(p[~accepted], float(np.quantile(p[accepted], 0.1)))


@metric(
    name="tnr_at_90",
    title="TNR at 90 % recall",
    of="gaps",
    items="samples",
    needs=OutputKind.PROBABILITY,
    decomposes=False,
    formula="share of rejected samples with p < theta, theta = largest score with #{accepted: p >= theta} >= 0.9 N_A",
    better="higher",
    range=(0.0, 1.0),
    reference=f"{BENCHMARK}; theta is a score that occurs, so recall is never below 0.9.",
)
def tnr_at_90(accepted: BoolArray, p: FloatArray) -> float:
    """True negative rate at the strictest threshold that still finds nine of ten accepted gaps.

    Returns:
        NaN if only one class is present.
    """
    if not accepted.any() or accepted.all():
        return math.nan
    ordered = np.sort(p[accepted])
    may_miss = math.floor(0.1 * ordered.size + TINY)
    return _share_below(p[~accepted], float(ordered[may_miss]))


def _best_threshold(accepted: BoolArray, p: FloatArray) -> tuple[int, float]:
    """Most right decisions, and the first threshold that reaches them."""
    thresholds = np.linspace(0.0, 1.0, NUM_THRESHOLDS)
    hits = np.count_nonzero(accepted) - np.searchsorted(np.sort(p[accepted]), thresholds, side="right")
    rejections = np.searchsorted(np.sort(p[~accepted]), thresholds, side="right")
    best = int(np.argmax(hits + rejections))
    return int(hits[best] + rejections[best]), float(thresholds[best])


def _share_below(p: FloatArray, threshold: float) -> float:
    return float(np.mean(p < threshold))
