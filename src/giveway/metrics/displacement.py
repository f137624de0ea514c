"""How far predicted paths are from the driven one: ADE_beta and FDE_beta."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from giveway.core.arrays import FloatArray, IntArray
from giveway.core.errors import PredictionError
from giveway.core.predictions import OutputKind, Prediction
from giveway.core.samples import GapTruth
from giveway.metrics.metric import metric
from giveway.metrics.predictions import paths_of

BLOCK = 64
"""Samples handled at once, to bound memory."""

SUPPLEMENT = "Schumann et al. 2023 (supplement)"


def _ade_facts(beta: float, name: str, title: str, reference: str) -> dict[str, Any]:
    return {
        "name": name,
        "title": title,
        "formula": f"D_ip = mean over T_O of |x_hat - x|; mean of the ceil({beta:g} n_p) least D_ip of a sample",
        "unit": "m",
        "better": "lower",
        "range": (0.0, math.inf),
        "of": "gaps",
        "items": "samples",
        "needs": OutputKind.TRAJECTORIES,
        "reference": reference,
    }


@metric(
    **_ade_facts(1.0, "ade", "$ADE_1$", f"{SUPPLEMENT}, beta = 1; samples without observed step are left out."),
    prediction_times=("constant",),
)
def ade(truth: GapTruth, prediction: Prediction) -> FloatArray:
    """Average displacement of all predicted paths; (N,) meters, NaN where n_O = 0."""
    return best_share(average_displacement(truth, prediction), 1.0)


@metric(**_ade_facts(0.05, "ade_05", "$ADE_{0.05}$", "Benchmark paper, beta = 0.05."))
def ade_05(truth: GapTruth, prediction: Prediction) -> FloatArray:
    """Average displacement of the best twentieth of the paths; (N,) meters, NaN where n_O = 0."""
    return best_share(average_displacement(truth, prediction), 0.05)


def _fde_facts(beta: float, name: str, title: str) -> dict[str, Any]:
    return {
        "name": name,
        "title": title,
        "formula": f"D_ip = |x_hat - x| at the last step of T_O; mean of the ceil({beta:g} n_p) least D_ip of a sample",
        "unit": "m",
        "better": "lower",
        "range": (0.0, math.inf),
        "of": "gaps",
        "items": "samples",
        "needs": OutputKind.TRAJECTORIES,
        "reference": f"Benchmark paper, beta = {beta:g}; samples without observed step are left out.",
    }


@metric(**_fde_facts(1.0, "fde", "$FDE_1$"))
def fde(truth: GapTruth, prediction: Prediction) -> FloatArray:
    """Final displacement of all predicted paths; (N,) meters, NaN where n_O = 0."""
    return best_share(final_displacement(truth, prediction), 1.0)


@metric(**_fde_facts(0.05, "fde_05", "$FDE_{0.05}$"))
def fde_05(truth: GapTruth, prediction: Prediction) -> FloatArray:
    """Final displacement of the best twentieth of the paths; (N,) meters, NaN where n_O = 0."""
    return best_share(final_displacement(truth, prediction), 0.05)


def average_displacement(truth: GapTruth, prediction: Prediction) -> FloatArray:
    """(N, n_p) mean distance over the n_O observed steps [m]; NaN where n_O = 0.

    Raises:
        PredictionError: if a predicted position on an observed step is not finite.
    """
    xy = paths_of(prediction, truth).xy
    steps = int(truth.num_observed.max(initial=0))
    mean = np.full(xy.shape[:2], np.nan)
    for start in range(0, xy.shape[0], BLOCK):
        block = slice(start, start + BLOCK)
        count = truth.num_observed[block]
        observed = np.arange(steps) < count[:, None]
        offset = xy[block, :, :steps] - truth.future_xy[block, None, :steps]
        distance = np.hypot(offset[..., 0], offset[..., 1])
        np.copyto(distance, 0.0, where=~observed[:, None, :])
        some = count > 0
        mean[block][some] = distance[some].sum(axis=2) / count[some, None]
    require_finite(mean, truth.num_observed)
    return mean


def final_displacement(truth: GapTruth, prediction: Prediction) -> FloatArray:
    """(N, n_p) distance at the last observed step [m]; NaN where n_O = 0.

    Raises:
        PredictionError: if a predicted position on that step is not finite.
    """
    xy = paths_of(prediction, truth).xy
    last = np.full(xy.shape[:2], np.nan)
    some = np.flatnonzero(truth.num_observed > 0)
    step = truth.num_observed[some] - 1
    offset = xy[some, :, step] - truth.future_xy[some, step][:, None]
    last[some] = np.hypot(offset[..., 0], offset[..., 1])
    require_finite(last, truth.num_observed)
    return last


def best_share(distance: FloatArray, beta: float) -> FloatArray:
    """(N,) mean of the ``ceil(beta n_p)`` least entries of each row; NaN rows stay NaN."""
    num_paths = distance.shape[1]
    count = max(1, math.ceil(beta * num_paths - 1e-9))  # 0.07 * 100 is a little more than 7
    if count == num_paths:
        return distance.mean(axis=1)
    return np.partition(distance, count - 1, axis=1)[:, :count].mean(axis=1)


def require_finite(distance: FloatArray, num_observed: IntArray) -> None:
    """Refuse rows of (N, ...) values that are not finite although the sample has observed steps.

    Raises:
        PredictionError: naming the first such sample.
    """
    bad = ~np.isfinite(distance).all(axis=1) & (num_observed > 0)
    if bad.any():
        raise PredictionError(
            "predicted paths must be finite on every step with ground truth",
            where=f"sample {int(np.flatnonzero(bad)[0])}",
            found=f"NaN or infinite positions in {int(bad.sum())} of {bad.size} samples",
            hint="check the model's predict",
        )
