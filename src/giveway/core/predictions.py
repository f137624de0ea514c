"""The three kinds of output a predictor may give, as one family."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray
from giveway.core.errors import PredictionError
from giveway.core.histories import HEADING, STEP_S, states_from_positions
from giveway.core.samples import GapInputs

QUANTILES = np.arange(1, 10) / 10
"""Levels at which a distribution of acceptance times is described: 0.1 .. 0.9."""

NUM_PATHS = 100
"""n_p, sampled trajectories per prediction."""


class OutputKind(StrEnum):
    """What a predictor gives; ordered from least to most."""

    PROBABILITY = "probability"
    TIME = "time"
    TRAJECTORIES = "trajectories"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """What a predictor returns for N rows: one of three kinds, each with a constructor here.

    ::

        Prediction.probability(p)                 # (N,) that the gap is accepted
        Prediction.times(p, quantile_s)           # and the deciles of when, (N, 9)
        Prediction.trajectories(xy, dt_s=0.1)     # (N, K, S, 2) positions, K modes or samples

    Whatever is given can be turned into what a metric or a planner needs: trajectories into times and probabilities
    through the acceptance boundary of a gap, the others into trajectories by conditional models or by the view
    :func:`giveway.predictors.views.as_motion`.
    """

    @staticmethod
    def probability(p: FloatArray) -> Probability:
        """The probability that each gap is accepted, (N,)."""
        return Probability(p=p)

    @staticmethod
    def times(p: FloatArray, quantile_s: FloatArray) -> TimeDistribution:
        """Probability (N,) and the deciles 0.1 .. 0.9 of t_A - t_0 given acceptance, (N, 9) [s]; NaN where never."""
        return TimeDistribution(p=p, quantile_s=quantile_s)

    @staticmethod
    def trajectories(
        xy: FloatArray, dt_s: float, weight: FloatArray | None = None, heading: FloatArray | None = None
    ) -> Trajectories:
        """Positions (N, K, S, 2) at dt, 2 dt, .. [m], how likely each of the K is (N, K), and headings (N, K, S).

        Weights are equal and headings follow from the positions if they are left out. Positions beyond the horizon of
        a row are NaN.
        """
        return Trajectories(xy=xy, dt_s=dt_s, weight=weight, heading=heading)


@dataclass(frozen=True, slots=True, kw_only=True)
class Probability(Prediction):
    """Attributes:
    p: (N,) probability that T accepts.
    """

    p: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeDistribution(Prediction):
    """Attributes:
    p: (N,) probability that T accepts.
    quantile_s: (N, 9) quantiles of t_A - t_0 given acceptance, at :data:`QUANTILES`; NaN if never accepted.
    """

    p: FloatArray
    quantile_s: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Trajectories(Prediction):
    """Attributes:
    xy: (N, K, S, 2) positions at t_0 + j dt, j = 1 .. S [m]; NaN beyond the horizon of a row.
    dt_s: spacing [s].
    weight: (N, K) probability of each trajectory; rows add up to one, unused ones have 0. None: all equal.
    heading: (N, K, S) [rad]; None: of the steps between positions.
    velocity: (N, K, S, 2) [m/s]; None: differences of positions.
    missing: (N,) why there is no answer at all (a missed deadline), empty text where there is one; None if there is
        one everywhere.
    fallback: (N,) why the predictor made do with something simpler, empty text where it did not; counted, not replaced.
    """

    xy: FloatArray
    dt_s: float
    weight: FloatArray | None = None
    heading: FloatArray | None = None
    velocity: FloatArray | None = None
    missing: tuple[str, ...] | None = None
    fallback: tuple[str, ...] | None = None

    @staticmethod
    def of_states(
        states: FloatArray, weight: FloatArray | None = None, missing: tuple[str, ...] | None = None
    ) -> Trajectories:
        """From states (N, K, S, 5) 0.1 s apart: position, velocity, heading."""
        return Trajectories(
            xy=states[..., :2],
            dt_s=STEP_S,
            weight=weight,
            heading=states[..., HEADING],
            velocity=states[..., 2:4],
            missing=missing,
        )

    @property
    def weights(self) -> FloatArray:
        """(N, K) as numbers."""
        shape = self.xy.shape[:2]
        return np.full(shape, 1.0 / max(shape[1], 1)) if self.weight is None else self.weight

    def states(self, current: FloatArray) -> FloatArray:
        """(N, K, S, 5) states; what was not given follows from the positions.

        Args:
            current: (N, 5) states now, before the first position.
        """
        if self.heading is not None and self.velocity is not None:
            states = np.empty((*self.xy.shape[:3], 5), np.result_type(self.xy, self.velocity, self.heading))
            for axis in range(2):  # faster than to concatenate axes of two
                states[..., axis], states[..., 2 + axis] = self.xy[..., axis], self.velocity[..., axis]
            states[..., HEADING] = self.heading
            return states
        now = np.broadcast_to(current[:, None], (*self.xy.shape[:2], current.shape[-1]))
        states = states_from_positions(now, self.xy, self.dt_s)
        if self.heading is not None:
            states[..., HEADING] = self.heading
        return states

    def on_grid(self, start: FloatArray, dt_s: float, num_steps: int) -> Trajectories:
        """The same motion on another grid: linear between steps, with constant velocity beyond the last one.

        Args:
            start: (N, 2) positions now [m].
            dt_s: spacing wanted [s].
            num_steps: steps wanted.
        """
        if dt_s == self.dt_s and self.xy.shape[2] == num_steps:
            return self
        xy = np.concatenate([np.broadcast_to(start[:, None, None], (*self.xy.shape[:2], 1, 2)), self.xy], axis=2)
        at = np.arange(1, num_steps + 1) * dt_s / self.dt_s
        before = np.clip(np.ceil(at - 1e-9).astype(np.int64) - 1, 0, xy.shape[2] - 2)
        first, second = xy[:, :, before], xy[:, :, before + 1]
        return Trajectories(
            xy=first + (at - before)[:, None] * (second - first), dt_s=dt_s, weight=self.weight, missing=self.missing
        )


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
        OutputKind.TRAJECTORIES: Trajectories,
    }[kind]
    if type(prediction) is not expected:
        raise _unusable(
            model, "predicts another kind than it declares", type(prediction).__name__, f"return {expected.__name__}"
        )
    if isinstance(prediction, Trajectories):
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


def _check_paths(paths: Trajectories, inputs: GapInputs, model: str) -> None:
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
