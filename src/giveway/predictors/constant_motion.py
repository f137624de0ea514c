"""Floors: the car keeps its velocity, or its acceleration.

On gaps the spread of the trajectories is what the rule got wrong on the training samples: every trajectory draws the
error of one training sample, expressed as a constant error of velocity (or acceleration), and carries it along. In a
drive nothing was learned, and there is one trajectory.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.errors import PredictionError
from giveway.core.histories import (
    FUTURE_STEPS,
    STEP_S,
    VX,
    VY,
    MotionInputs,
    constant_velocity_states,
)
from giveway.core.predictions import NUM_PATHS, Trajectories
from giveway.core.samples import GapInputs, GapSamples
from giveway.predictors.checkpoints import load_arrays, save_arrays
from giveway.predictors.path_draws import cut_at_horizon, times_after
from giveway.predictors.protocol import PredictorInfo

Order = Literal[1, 2]
MIN_SPEED_MPS = 1e-3

ACCELERATION_WINDOW = 5
"""Steps of the history of a drive over which the acceleration is taken: half a second, as for the turn rate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstantMotion:
    """The car keeps its velocity or its acceleration: the floor for every other predictor.

    ::

        velocity:      x(t) = x_0 + (v_0 + e) t
        acceleration:  x(t) = x_0 + v_0 t + a_0 t²/2 + e t²/2,  the nominal part stops instead of reversing

    On gaps v_0, a_0 come from the last two (three) inputs, and e is the error that makes the rule right at the last
    observed step of a training sample; a sample without an observed step gives no error. In drives v_0 is the velocity
    of the car, a_0 its mean change over the last half second, and e = 0.

    Attributes:
        info: fact sheet.
        order: 1 keeps the velocity, 2 the acceleration.
        num_paths: n_p, trajectories per gap once fitted.
        error: (M, 2) errors of velocity [m/s] or acceleration [m/s²] on M training samples, in the frame of the
            samples; None before fitting, which means no error.
    """

    info: PredictorInfo
    order: Order
    num_paths: int = NUM_PATHS
    error: FloatArray | None = None

    def predict(self, inputs: GapInputs | MotionInputs, rng: np.random.Generator) -> Trajectories:
        """One trajectory without errors, n_p with one drawn training error each."""
        if isinstance(inputs, MotionInputs):
            states = constant_velocity_states(inputs.history) if self.order == 1 else _decelerated(inputs.history)
            return Trajectories.of_states(states[:, None])
        steps = int(inputs.num_predict.max(initial=0))
        nominal = continued(inputs, steps, self.order)
        if self.error is None:
            return Trajectories(xy=cut_at_horizon(nominal[:, None], inputs.num_predict), dt_s=inputs.dt_s)
        t = times_after(steps, inputs.dt_s)
        xy = np.empty((inputs.num_samples, self.num_paths, steps, 2))
        for i, own in enumerate(inputs.streams(rng)):
            drawn = self.error[own.integers(len(self.error), size=self.num_paths)]
            growth = t if self.order == 1 else t**2 / 2
            xy[i] = nominal[i][None] + drawn[:, None, :] * growth[None, :, None]
        return Trajectories(xy=cut_at_horizon(xy, inputs.num_predict), dt_s=inputs.dt_s)

    def fit(self, samples: GapSamples, rng: np.random.Generator) -> ConstantMotion:
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
        return replace(self, error=error)

    def save(self, folder: Path) -> None:
        """The errors as a plain array."""
        error = np.zeros((0, 2)) if self.error is None else self.error
        save_arrays(folder, kind=self.info.name, arrays={"error": error, "num_paths": np.array(self.num_paths)})

    def load(self, folder: Path) -> ConstantMotion:
        """Read what :meth:`save` wrote."""
        arrays = load_arrays(folder, kind=self.info.name, names=("error", "num_paths"))
        error = arrays["error"]
        return replace(self, error=error if len(error) else None, num_paths=int(arrays["num_paths"]))


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


def _decelerated(history: FloatArray) -> FloatArray:
    """(R, 30, 5) states at constant acceleration along the current course; a car that comes to a stop stands."""
    current = history[:, -1]
    velocity = current[:, [VX, VY]]
    change = velocity - history[:, -1 - ACCELERATION_WINDOW, [VX, VY]]
    speed = np.hypot(velocity[:, 0], velocity[:, 1])
    ahead = velocity / np.maximum(speed, MIN_SPEED_MPS)[:, None]
    along = (ahead * change).sum(axis=1) / (ACCELERATION_WINDOW * STEP_S)
    t = STEP_S * np.arange(1, FUTURE_STEPS + 1)
    stops = np.where(along < 0, speed / np.maximum(-along, 1e-9), np.inf)
    until = np.minimum(t, stops[:, None])
    way = speed[:, None] * until + along[:, None] * until**2 / 2
    pace = np.maximum(speed[:, None] + along[:, None] * until, 0.0)
    states = np.repeat(current[:, None], FUTURE_STEPS, axis=1)
    states[..., :2] += way[..., None] * ahead[:, None]
    states[..., VX : VY + 1] = pace[..., None] * ahead[:, None]
    return states


CONSTANT_VELOCITY = ConstantMotion(
    info=PredictorInfo(
        name="constant_velocity",
        title="CV",
        takes=frozenset({"gaps", "motion"}),
        history_s=0.2,
        stochastic=True,
    ),
    order=1,
)
"""Constant velocity."""

CONSTANT_ACCELERATION = ConstantMotion(
    info=PredictorInfo(
        name="constant_acceleration",
        title="CA",
        takes=frozenset({"gaps", "motion"}),
        history_s=0.4,
        stochastic=True,
    ),
    order=2,
)
"""Constant acceleration."""
