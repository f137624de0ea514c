"""Does a trajectory predictor keep the contract? For ours and for yours."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.errors import PredictionError
from giveway.predictors.motion.acceptance import accept, check_shapes
from giveway.predictors.motion.protocol import MotionInputs, TrajectoryPredictor, constant_velocity_states
from giveway.testing.drive_scenes import crossing_road


def motion_inputs(*, seed: int = 0, requests: int = 6, others: int = 3) -> MotionInputs:
    """Cars that drive in all directions, at all speeds from standstill, among others, with a map."""
    rng = np.random.default_rng(seed)
    start, heading = (
        rng.uniform(-40.0, 40.0, (requests * (others + 1), 2)),
        rng.uniform(-3.0, 3.0, requests * (others + 1)),
    )
    speed = np.where(rng.random(heading.size) < 0.2, 0.0, rng.uniform(0.0, 12.0, heading.size))
    turn = rng.uniform(-0.4, 0.4, heading.size)
    states = np.stack([_arc(p, h, v, w) for p, h, v, w in zip(start, heading, speed, turn, strict=True)])
    states = states.reshape(requests, others + 1, 10, 5)
    seen = states[:, 1:].copy()
    seen[:, -1] = np.nan
    history = states[:, 0].copy()
    return MotionInputs(
        history=history,
        size=np.tile([4.5, 1.8], (requests, 1)),
        others=seen,
        others_size=np.where(np.isnan(seen[:, :, -1, :2]), np.nan, 4.0),
        road=(crossing_road(),) * requests,
        origin_m=np.array([1000.0, 1000.0]),
        case_ids=tuple(f"case{i}" for i in range(requests)),
        car_ids=tuple(str(i) for i in range(requests)),
        tick=np.arange(requests, dtype=np.int64),
        seed=seed,
        future=constant_velocity_states(history),
    )


def check_trajectory_predictor(predictor: TrajectoryPredictor) -> None:
    """Shapes, finite numbers, probabilities, independence of the batch, reproducibility, no changed inputs.

    Raises:
        PredictionError: naming what is broken.
    """
    inputs = motion_inputs()
    if not predictor.info.privileged:
        inputs = replace(inputs, future=None)
    kept = inputs.history.copy(), inputs.others.copy()
    answer = predictor.predict(inputs)
    check_shapes(answer, inputs.num_requests)
    accepted = accept(answer, inputs)
    for row, reason in enumerate(accepted.reasons):
        if reason:
            raise PredictionError(f"prediction {row} is unusable", where=predictor.info.name, found=reason)
    if not (np.array_equal(kept[0], inputs.history) and np.array_equal(kept[1], inputs.others, equal_nan=True)):
        raise PredictionError("predict changed its inputs", where=predictor.info.name)
    again = accept(predictor.predict(inputs), inputs)
    if not np.array_equal(again.states, accepted.states):
        raise PredictionError("two calls with the same inputs differ", where=predictor.info.name)
    for row in range(inputs.num_requests):
        alone = accept(predictor.predict(one_request(inputs, row)), one_request(inputs, row))
        modes = min(alone.states.shape[1], accepted.states.shape[1])
        if not np.array_equal(alone.states[0, :modes], accepted.states[row, :modes]):
            raise PredictionError("a prediction depends on the others in its batch", where=predictor.info.name)
    empty = one_request(inputs, slice(0, 0))
    if predictor.predict(empty).states.shape[0] != 0:
        raise PredictionError("no requests must give no predictions", where=predictor.info.name)


def one_request(inputs: MotionInputs, rows: int | slice) -> MotionInputs:
    """Some of the requests of a batch."""
    part = slice(rows, rows + 1) if isinstance(rows, int) else rows
    return replace(
        inputs,
        history=inputs.history[part],
        size=inputs.size[part],
        others=inputs.others[part],
        others_size=inputs.others_size[part],
        road=inputs.road[part],
        case_ids=inputs.case_ids[part],
        car_ids=inputs.car_ids[part],
        tick=inputs.tick[part],
        future=None if inputs.future is None else inputs.future[part],
    )


def _arc(start: FloatArray, heading: float, speed: float, turn_rate: float) -> FloatArray:
    time = 0.1 * np.arange(-9, 1)
    course = heading + turn_rate * time
    way = speed * time * np.sinc(0.5 * turn_rate * time / np.pi)
    direction = heading + 0.5 * turn_rate * time
    velocity = speed * np.stack([np.cos(course), np.sin(course)], axis=1)
    xy = start + way[:, None] * np.stack([np.cos(direction), np.sin(direction)], axis=1)
    return np.concatenate([xy, velocity, course[:, None]], axis=1)
