"""Floors: T keeps its velocity, or its acceleration.

Both give paths. The spread of the paths is what the rule got wrong on the training samples: every path draws the
error of one training sample, expressed as a constant error of velocity (or acceleration), and carries it along.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.errors import PredictionError
from giveway.core.predictions import NUM_PATHS, OutputKind, PathSet
from giveway.core.samples import GapInputs, GapSamples
from giveway.predictors.npz import load_arrays, save_arrays
from giveway.predictors.path_draws import cut_at_horizon, sample_streams, times_after
from giveway.predictors.protocol import PredictorInfo

Order = Literal[1, 2]
MIN_SPEED_MPS = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedConstantMotion:
    """Attributes:
    info: fact sheet.
    order: 1 keeps the velocity, 2 the acceleration.
    error: (M, 2) errors of velocity [m/s] or acceleration [m/s²] on M training samples, in the frame of the samples.
    num_paths: n_p.
    """

    info: PredictorInfo
    order: Order
    error: FloatArray
    num_paths: int

    def predict(self, inputs: GapInputs, rng: np.random.Generator) -> PathSet:
        """n_p paths; each continues the motion of T with one drawn training error."""
        steps = int(inputs.num_predict.max(initial=0))
        t = times_after(steps, inputs.dt_s)
        xy = np.empty((inputs.num_samples, self.num_paths, steps, 2))
        nominal = continued(inputs, steps, self.order)
        for i, own in enumerate(sample_streams(inputs, rng)):
            drawn = self.error[own.integers(len(self.error), size=self.num_paths)]
            growth = t if self.order == 1 else t**2 / 2
            xy[i] = nominal[i][None] + drawn[:, None, :] * growth[None, :, None]
        return PathSet(xy=cut_at_horizon(xy, inputs.num_predict), dt_s=inputs.dt_s)

    def save(self, folder: Path) -> None:
        """The errors as a plain array."""
        save_arrays(folder, kind=self.info.name, arrays={"error": self.error, "num_paths": np.array(self.num_paths)})


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstantMotion:
    """Recipe for both floors.

    ::

        velocity:      x(t) = x_0 + (v_0 + e) t
        acceleration:  x(t) = x_0 + v_0 t + a_0 t²/2 + e t²/2,  the nominal part stops instead of reversing

    with v_0, a_0 from the last two (three) inputs, and e the error that makes the rule right at the last observed step
    of a training sample. A sample without an observed step gives no error.

    Attributes:
        info: fact sheet.
        order: 1 or 2.
        num_paths: n_p.
    """

    info: PredictorInfo
    order: Order
    num_paths: int = NUM_PATHS

    def fit(self, samples: GapSamples, rng: np.random.Generator) -> FittedConstantMotion:
        """Collect the errors of the training samples."""
        observed = samples.truth.num_observed
        steps = int(observed.max(initial=0))
        nominal = continued(samples.inputs, steps, self.order)
        some = np.flatnonzero(observed > 0)
        last = observed[some] - 1
        missed = samples.truth.future_xy[some, last] - nominal[some, last]
        t = (last + 1) * samples.inputs.dt_s
        error = missed / (t if self.order == 1 else t**2 / 2)[:, None]
        error = error[np.isfinite(error).all(axis=1)]
        if len(error) == 0:
            raise PredictionError(
                f"{self.info.name} has nothing to learn from",
                where=f"{samples.dataset}, {samples.prediction_time} gaps, training part",
                found="no training sample has a step after its prediction time",
                hint="use more recordings, or another prediction time",
            )
        return FittedConstantMotion(info=self.info, order=self.order, error=error, num_paths=self.num_paths)

    def load(self, folder: Path) -> FittedConstantMotion:
        """Read what :meth:`FittedConstantMotion.save` wrote."""
        arrays = load_arrays(folder, kind=self.info.name, names=("error", "num_paths"))
        return FittedConstantMotion(
            info=self.info, order=self.order, error=arrays["error"], num_paths=int(arrays["num_paths"])
        )


def continued(inputs: GapInputs, num_steps: int, order: Order) -> FloatArray:
    """(N, S, 2) positions of T if it keeps its velocity (1) or acceleration (2) [m].

    With constant acceleration T decelerates to a stop along its direction of travel, but does not reverse.
    """
    target = inputs.xy[:, inputs.roles.index("T")]
    t = times_after(num_steps, inputs.dt_s)[None, :, None]
    velocity = (target[:, -1] - target[:, -2]) / inputs.dt_s
    straight = target[:, -1, None] + velocity[:, None] * t
    if order == 1:
        return straight
    acceleration = (target[:, -1] - 2 * target[:, -2] + target[:, -3]) / inputs.dt_s**2
    speed = np.hypot(velocity[:, 0], velocity[:, 1])
    along = (velocity * acceleration).sum(axis=1) / np.maximum(speed, MIN_SPEED_MPS)
    stops = np.where(along < 0, speed / np.maximum(-along, 1e-9), np.inf)
    until = np.minimum(t, stops[:, None, None])
    return target[:, -1, None] + velocity[:, None] * until + acceleration[:, None] * until**2 / 2


CV = ConstantMotion(
    info=PredictorInfo(name="CV", title="CV", output=OutputKind.PATHS, uses="2d", min_input=2, stochastic=True), order=1
)
"""Constant velocity."""

CA = ConstantMotion(
    info=PredictorInfo(name="CA", title="CA", output=OutputKind.PATHS, uses="2d", min_input=3, stochastic=True), order=2
)
"""Constant acceleration."""
