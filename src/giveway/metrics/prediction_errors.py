"""Open loop in the closed one: displacement errors of predicted modes against what the cars then did."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray
from giveway.core.case import Role
from giveway.core.log import DriveLog
from giveway.metrics.metric import Metric, MetricValue, metric, undefined
from giveway.metrics.shared import once_per_log


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
        ``ade``, ``fde`` of the most likely mode (the first in a tie), ``min_ade``, ``min_fde`` of the best mode,
        each (N,) in meters; NaN where nothing is known.
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


@once_per_log
def errors_of(log: DriveLog) -> dict[str, FloatArray]:
    """``ade``, ``fde``, ``min_ade``, ``min_fde`` of every prediction of a log [m]; empty without predictions."""
    forecast = log.predictions
    if forecast is None:
        return {}
    steps = forecast.tick[:, None] + np.arange(1, forecast.states.shape[2] + 1)
    inside = steps < log.tracks.num_instants
    at = np.minimum(steps, log.tracks.num_instants - 1)
    truth = log.tracks.xy[forecast.agent[:, None], at]
    known = inside & log.tracks.observed[forecast.agent[:, None], at]
    return displacement_errors(
        forecast.states[..., :2], forecast.probability, np.where(known[..., None], truth, 0.0), known
    )


def _error(name: str, of: str, title: str, formula: str, *, role: Role | None = None, column: str = "") -> Metric:
    """A mean error over the predictions of a log, of all cars or of those with one role."""

    @metric(
        name=name,
        title=title,
        formula=formula,
        unit="m",
        better="lower",
        range=(0.0, math.inf),
        of="drive",
        items="predictions",
        needs="predictions",
        column=column,
        reference="Over the instants within the case at which the predicted car is present.",
    )
    def error(log: DriveLog) -> Any:
        errors = errors_of(log)
        if log.predictions is None:
            return undefined("the log holds no predictions")
        if role is None:
            return errors[of]
        return errors[of][np.array([log.roles[a] is role for a in log.predictions.agent.tolist()], dtype=np.bool_)]

    return error


_LIKELY, _BEST = "of the most likely mode", "of the best mode"
ade_m = _error("ade_m", "ade", "ADE", f"mean over steps of |x - x_hat| {_LIKELY}", column="ADE m")
fde_m = _error("fde_m", "fde", "FDE", f"|x - x_hat| at the last known step {_LIKELY}")
min_ade_m = _error("min_ade_m", "min_ade", "minADE", f"mean over steps of |x - x_hat| {_BEST}")
min_fde_m = _error("min_fde_m", "min_fde", "minFDE", f"|x - x_hat| at the last known step {_BEST}")
ade_replay_m = _error(
    "ade_replay_m", "ade", "ADE, replayed cars", "ADE of cars that follow their recording", role=Role.REPLAY
)
ade_reactive_m = _error(
    "ade_reactive_m", "ade", "ADE, reacting cars", "ADE of cars that react to the ego", role=Role.REACTIVE
)


@metric(
    name="fallbacks",
    title="Predictions replaced",
    formula="predictions that were missing or unusable and were replaced by constant velocity",
    better="lower",
    range=(0.0, math.inf),
    of="drive",
    column="",
    reference="Rules in docs/drive/predictors.md.",
)
def fallbacks(log: DriveLog) -> int:
    """Number of predictions that had to be replaced."""
    return log.num_fallbacks


@metric(
    name="predictions",
    title="Predictions",
    formula="predictions that the planner was given",
    better="neither",
    range=(0.0, math.inf),
    of="drive",
    column="",
    reference="One per predicted car and tick; 0 in a log without predictions.",
)
def predictions(log: DriveLog) -> MetricValue:
    """Number of predictions."""
    return MetricValue(value=0.0 if log.predictions is None else float(log.predictions.tick.size))
