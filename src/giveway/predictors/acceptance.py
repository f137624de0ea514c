"""Inspection of what a predictor gave back, the same in process and over the wire."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray
from giveway.core.errors import PredictionError
from giveway.core.histories import (
    FUTURE_STEPS,
    STATE_SIZE,
    STEP_S,
    MotionInputs,
    constant_velocity_states,
)
from giveway.core.predictions import Prediction, Trajectories

PROBABILITY_TOLERANCE = 0.01
"""How far the probabilities of the modes may be from adding up to one."""

MAX_MODES = 64

LARGEST = 1e5
"""Predicted positions, speeds and headings beyond this are mistakes, and would keep the planner busy for ever."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptedPredictions:
    """Predictions after inspection.

    Attributes:
        states: (R, K, 30, 5); zeros in modes of probability 0.
        probability: (R, K), normalized to add up to one.
        reasons: (R,) why the row was replaced by constant velocity, or what the predictor itself fell back to; empty
            where neither happened.
    """

    states: FloatArray
    probability: FloatArray
    reasons: tuple[str, ...]

    @property
    def fallback(self) -> BoolArray:
        """(R,) whether there is a reason."""
        return np.array([bool(reason) for reason in self.reasons], dtype=np.bool_)


def check_shapes(prediction: Trajectories, requests: int) -> None:
    """Refuse arrays of the wrong shape: that is a mistake in the predictor, not a bad prediction.

    Raises:
        PredictionError: naming the shape.
    """
    xy = prediction.xy
    if xy.ndim != 4 or xy.shape[0] != requests or xy.shape[2] < 1 or xy.shape[3] != 2:
        raise PredictionError(
            "trajectories must be (requests, modes, steps, 2)", found=f"shape {xy.shape} for {requests} requests"
        )
    probability = prediction.weights
    modes = probability.shape[1] if probability.ndim == 2 else 0
    if probability.ndim != 2 or probability.shape[0] != requests or not 1 <= modes <= MAX_MODES:
        raise PredictionError(
            f"probabilities must be (requests, modes) with 1 to {MAX_MODES} modes",
            found=f"shape {probability.shape} for {requests} requests",
        )
    if prediction.dt_s * xy.shape[2] < FUTURE_STEPS * STEP_S - 1e-9:
        raise PredictionError(
            f"trajectories must reach {FUTURE_STEPS * STEP_S:g} s, as {FUTURE_STEPS} steps of {STEP_S} s do",
            found=f"shape {xy.shape}: {xy.shape[2]} steps of {prediction.dt_s} s",
        )
    for name, array, shape in (
        ("positions", xy, (requests, modes, *xy.shape[2:])),
        ("headings", prediction.heading, (requests, modes, xy.shape[2])),
        ("velocities", prediction.velocity, (requests, modes, xy.shape[2], 2)),
    ):
        if array is not None and array.shape != shape:
            raise PredictionError(
                f"{name} must have the shape {shape}",
                found=f"shape {array.shape} for {requests} requests, {modes} modes",
            )


def on_drive_grid(prediction: Prediction, inputs: MotionInputs) -> tuple[FloatArray, FloatArray]:
    """(R, K, 30, 5) states and (R, K) probabilities of trajectories on any grid that reaches 3 s.

    Raises:
        PredictionError: another kind of prediction, or arrays of the wrong shape.
    """
    if not isinstance(prediction, Trajectories):
        raise PredictionError(
            "a drive needs trajectories", found=type(prediction).__name__, hint="giveway.predictors.views.as_motion"
        )
    check_shapes(prediction, inputs.num_requests)
    now = inputs.history[:, -1]
    states = prediction.on_grid(now[:, :2], STEP_S, FUTURE_STEPS).states(now)
    return states.astype(np.float64, copy=False), np.array(prediction.weights, dtype=np.float64)


def accept(
    prediction: Prediction, inputs: MotionInputs, *, missing: Sequence[str] | None = None
) -> AcceptedPredictions:
    """Inspect predictions; unusable rows become constant velocity, with the reason.

    Args:
        prediction: what came back.
        inputs: what was asked.
        missing: (R,) reasons why there is no answer at all, empty where there is one; None takes what the prediction
            says itself.

    Raises:
        PredictionError: another kind of prediction, or arrays of the wrong shape.
    """
    states, probability = on_drive_grid(prediction, inputs)
    assert isinstance(prediction, Trajectories)
    reasons = row_faults(states, probability)
    missing = prediction.missing if missing is None else missing
    if missing is not None:
        reasons = tuple(absent or fault for absent, fault in zip(missing, reasons, strict=True))
    if any(reasons):
        fallback = np.array([bool(reason) for reason in reasons], dtype=np.bool_)
        states[fallback] = constant_velocity_states(inputs.history[fallback])[:, None]
        probability[fallback] = 0.0
        probability[fallback, 0] = 1.0
    unused = probability == 0.0
    if unused.any():
        states[unused] = 0.0
    probability /= probability.sum(axis=1, keepdims=True)
    if prediction.fallback is not None:
        reasons = tuple(fault or own for fault, own in zip(reasons, prediction.fallback, strict=True))
    return AcceptedPredictions(states=states, probability=probability, reasons=reasons)


def row_faults(states: FloatArray, probability: FloatArray) -> tuple[str, ...]:
    """(R,) what is wrong with each row; empty text if nothing."""
    summed = probability.sum(axis=1)
    usable = (np.abs(states) <= LARGEST).all() and (probability >= 0).all()
    if usable and (np.abs(summed - 1.0) < PROBABILITY_TOLERANCE).all():
        return ("",) * states.shape[0]
    bad_number = np.asarray(~np.isfinite(states).all(axis=(1, 2, 3)) | ~np.isfinite(probability).all(axis=1))
    with np.errstate(invalid="ignore"):
        negative = np.asarray((probability < 0).any(axis=1))
        far = np.asarray((np.abs(states) > LARGEST).any(axis=(1, 2, 3)))
        off = np.abs(summed - 1.0) >= PROBABILITY_TOLERANCE
    reasons: list[str] = []
    for row in range(states.shape[0]):
        if bad_number[row]:
            reasons.append("not a finite number")
        elif far[row]:
            reasons.append(f"a number beyond {LARGEST:g}")
        elif negative[row]:
            reasons.append("a negative probability")
        elif off[row]:
            reasons.append(f"probabilities add up to {summed[row]:.4f}")
        else:
            reasons.append("")
    return tuple(reasons)


def stack_rows(rows: Sequence[tuple[FloatArray, FloatArray]]) -> Trajectories:
    """One batch from rows with different numbers of modes; missing modes get probability 0.

    Args:
        rows: ((K, 30, 5), (K,)) per car.
    """
    modes = max((states.shape[0] for states, _ in rows), default=1)
    states = np.zeros((len(rows), modes, FUTURE_STEPS, STATE_SIZE))
    probability = np.zeros((len(rows), modes))
    for row, (part, weight) in enumerate(rows):
        states[row, : part.shape[0]] = part
        probability[row, : part.shape[0]] = weight
    return Trajectories.of_states(states, probability)
