"""How much density predicted paths leave for what happened: KDE-NLL."""

from __future__ import annotations

import math

import numpy as np

from giveway.core import elementary
from giveway.core.arrays import FloatArray
from giveway.core.predictions import OutputKind, Prediction
from giveway.core.samples import GapTruth
from giveway.metrics.displacement import require_finite
from giveway.metrics.metric import metric
from giveway.metrics.predictions import paths_of

LOG_DENSITY_FLOOR = -20.0
"""Below this a log density counts as this value, so that single misses do not decide the mean."""

VARIANCE_FLOOR_M2 = 1e-4
"""Added to the variance of the paths (1 cm standard deviation): a density exists although all paths agree."""

BLOCK = 64
"""Samples handled at once, to bound memory."""


@metric(
    name="kde_nll",
    title="KDE-NLL",
    of="gaps",
    items="samples",
    formula="-mean over T_O of max(log KDE(x), -20), Gaussian kernels, Scott's bandwidth n_p^(-1/6)",
    unit="nat",
    better="lower",
    range=(-math.inf, 20.0),
    needs=OutputKind.TRAJECTORIES,
    reference="Ivanovic & Pavone 2019 (The Trajectron); variance floor of (1 cm)^2 added, so that paths that agree "
    "exactly have a density.",
)
def kde_nll(truth: GapTruth, prediction: Prediction) -> FloatArray:
    """Negative log density of the driven positions under a kernel estimate; (N,) nats, NaN where n_O = 0."""
    xy = paths_of(prediction, truth).xy
    steps = int(truth.num_observed.max(initial=0))
    observed = np.arange(steps) < truth.num_observed[:, None]
    density = np.zeros(observed.shape)
    for start in range(0, xy.shape[0], BLOCK):
        part = slice(start, start + BLOCK)
        density[part] = kernel_log_density(xy[part, :, :steps], truth.future_xy[part, :steps])
    per_step = np.where(observed, np.maximum(density, LOG_DENSITY_FLOOR), 0.0)
    require_finite(per_step, truth.num_observed)
    count = observed.sum(axis=1)
    return np.where(count > 0, -per_step.sum(axis=1) / np.maximum(count, 1), np.nan)


def kernel_log_density(paths: FloatArray, xy: FloatArray, weight: FloatArray | None = None) -> FloatArray:
    """Log of a Gaussian kernel density estimate, step by step.

        log sum_p w_p N(x; x_p, n^(-1/3) Cov + floor),   n = 1 / sum_p w_p^2

    Args:
        paths: (N, P, S, 2) predicted positions [m].
        xy: (N, S, 2) where to evaluate [m].
        weight: (N, P) probabilities of the paths; all equal without it.

    Returns:
        (N, S) nats; NaN where a position is NaN.
    """
    if weight is not None:
        return _weighted_log_density(paths, xy, weight)
    num_paths = paths.shape[1]
    center = paths - paths.mean(axis=1, keepdims=True)
    scale = num_paths ** (-1 / 3) / max(num_paths - 1, 1)
    var_x = scale * (center[..., 0] ** 2).sum(axis=1) + VARIANCE_FLOOR_M2
    var_y = scale * (center[..., 1] ** 2).sum(axis=1) + VARIANCE_FLOOR_M2
    cov = scale * (center[..., 0] * center[..., 1]).sum(axis=1)
    det = var_x * var_y - cov**2
    delta = xy[:, None] - paths
    quadratic = (
        var_y[:, None] * delta[..., 0] ** 2
        - 2 * cov[:, None] * delta[..., 0] * delta[..., 1]
        + var_x[:, None] * delta[..., 1] ** 2
    ) / det[:, None]
    least = quadratic.min(axis=1)
    total = elementary.log(elementary.exp(-0.5 * (quadratic - least[:, None])).mean(axis=1))
    return total - 0.5 * least - 0.5 * elementary.log(det) - math.log(2 * math.pi)


def _weighted_log_density(paths: FloatArray, xy: FloatArray, weight: FloatArray) -> FloatArray:
    """The same for paths with probabilities: n is their effective number, the covariance the weighted one."""
    w = (weight / weight.sum(axis=1, keepdims=True))[:, :, None]
    number = 1.0 / (w**2).sum(axis=1)
    center = paths - (w[..., None] * paths).sum(axis=1, keepdims=True)
    # n / (n - 1), as for equal weights; a single path has no covariance.
    scale = number ** (-1 / 3) * np.divide(number, number - 1, out=np.zeros_like(number), where=number > 1 + 1e-9)
    var_x = scale * (w * center[..., 0] ** 2).sum(axis=1) + VARIANCE_FLOOR_M2
    var_y = scale * (w * center[..., 1] ** 2).sum(axis=1) + VARIANCE_FLOOR_M2
    cov = scale * (w * center[..., 0] * center[..., 1]).sum(axis=1)
    det = var_x * var_y - cov**2
    delta = xy[:, None] - paths
    quadratic = (
        var_y[:, None] * delta[..., 0] ** 2
        - 2 * cov[:, None] * delta[..., 0] * delta[..., 1]
        + var_x[:, None] * delta[..., 1] ** 2
    ) / det[:, None]
    quadratic = np.where(w > 0, quadratic, np.inf)
    least = quadratic.min(axis=1)
    total = elementary.log((w * elementary.exp(-0.5 * (quadratic - least[:, None]))).sum(axis=1))
    return total - 0.5 * least - 0.5 * elementary.log(det) - math.log(2 * math.pi)
