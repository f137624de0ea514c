"""The three kinds of output a predictor of gap acceptance may give."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray
from giveway.core.errors import PredictionError
from giveway.core.samples import GapInputs

QUANTILES = np.arange(1, 10) / 10
"""Levels at which a distribution of acceptance times is described: 0.1 .. 0.9."""

NUM_PATHS = 100
"""n_p, sampled trajectories per prediction."""


class OutputKind(StrEnum):
    """What a predictor gives; ordered from least to most."""

    PROBABILITY = "probability"
    TIME = "time"
    PATHS = "paths"


@dataclass(frozen=True, slots=True, kw_only=True)
class Probability:
    """Attributes:
    p: (N,) probability that T accepts.
    """

    p: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeDistribution:
    """Attributes:
    p: (N,) probability that T accepts.
    quantile_s: (N, 9) quantiles of t_A - t_0 given acceptance, at :data:`QUANTILES`; NaN if never accepted.
    """

    p: FloatArray
    quantile_s: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class PathSet:
    """Attributes:
    xy: (N, n_p, S, 2) positions of T at t_0 + j dt, j = 1 .. n_pred [m]; NaN beyond n_pred of a sample.
    dt_s: spacing [s].
    """

    xy: FloatArray
    dt_s: float


Prediction = Probability | TimeDistribution | PathSet


def check_prediction(prediction: Prediction, inputs: GapInputs, kind: OutputKind, *, model: str) -> None:
    """Refuse what metrics and conversions could not use, with a message for the author of the model.

    Args:
        prediction: what the model returned.
        inputs: the N samples it was asked about.
        kind: what the model declared.
        model: its name, for messages.

    Raises:
        PredictionError: another kind than declared, wrong shapes, NaN where a number is needed, probabilities outside
            [0, 1], decreasing quantiles, or paths that do not cover their horizon exactly.
    """
    expected = {
        OutputKind.PROBABILITY: Probability,
        OutputKind.TIME: TimeDistribution,
        OutputKind.PATHS: PathSet,
    }[kind]
    if type(prediction) is not expected:
        raise _unusable(
            model, "predicts another kind than it declares", type(prediction).__name__, f"return {expected.__name__}"
        )
    if isinstance(prediction, PathSet):
        _check_paths(prediction, inputs, model)
        return
    n = inputs.num_samples
    _check_shape(model, "p", prediction.p, (n,))
    bad = ~((prediction.p >= 0) & (prediction.p <= 1))
    _check_none(model, "returned probabilities that are NaN or outside [0, 1]", bad, prediction.p, inputs)
    if isinstance(prediction, TimeDistribution):
        _check_shape(model, "quantile_s", prediction.quantile_s, (n, len(QUANTILES)))
        missing = np.isnan(prediction.quantile_s)
        decreasing = (np.diff(prediction.quantile_s, axis=1) < 0).any(axis=1)
        broken = np.asarray((missing.any(axis=1) & ~missing.all(axis=1)) | decreasing)
        _check_none(model, "returned quantiles that decrease or are partly NaN", broken, prediction.quantile_s, inputs)


def _check_paths(paths: PathSet, inputs: GapInputs, model: str) -> None:
    n, steps = inputs.num_samples, int(inputs.num_predict.max(initial=0))
    shape = paths.xy.shape
    if len(shape) != 4 or shape[0] != n or shape[1] < 1 or shape[2] < steps or shape[3] != 2:
        raise _unusable(model, "returned paths of a wrong shape", shape, f"return ({n}, n_p, {steps}, 2)")
    if paths.dt_s != inputs.dt_s:
        raise _unusable(model, "returned paths on another grid", f"dt = {paths.dt_s}", f"use dt = {inputs.dt_s}")
    finite = np.isfinite(paths.xy).all(axis=3)
    within = np.arange(shape[2]) < inputs.num_predict[:, None]
    _check_none(model, "returned NaN within the horizon", (~finite & within[:, None]).any(axis=(1, 2)), None, inputs)
    beyond = (finite & ~within[:, None]).any(axis=(1, 2))
    _check_none(model, "returned positions behind the horizon n_pred; they must be NaN", beyond, None, inputs)


def _check_shape(model: str, name: str, values: FloatArray, shape: tuple[int, ...]) -> None:
    if np.shape(values) != shape:
        raise _unusable(model, f"returned {name} of a wrong shape", np.shape(values), f"return {shape}")


def _check_none(model: str, what: str, bad: BoolArray, values: FloatArray | None, inputs: GapInputs) -> None:
    if bad.any():
        first = int(np.flatnonzero(bad)[0])
        example = f"; first at sample {inputs.sample_id[first]}" + ("" if values is None else f": {values[first]}")
        raise _unusable(model, what, f"{int(bad.sum())} of {len(bad)} samples{example}", "check the model's predict")


def _unusable(model: str, what: str, found: object, hint: str) -> PredictionError:
    return PredictionError(f"{model} {what}", where="prediction", found=found, hint=hint)
