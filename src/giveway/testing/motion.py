"""Conformance of predictors that take the states of cars, for ours and for yours."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.errors import PredictionError
from giveway.core.histories import MotionInputs, constant_velocity_states
from giveway.predictors.acceptance import accept, on_drive_grid
from giveway.predictors.protocol import FittedPredictor
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


class Answer(NamedTuple):
    """What a predictor said: (R, K, 30, 5) states and (R, K) probabilities, not yet inspected."""

    states: FloatArray
    probability: FloatArray


def answer_of(predictor: FittedPredictor, inputs: MotionInputs) -> Answer:
    """Ask a predictor as a drive does.

    Raises:
        PredictionError: another kind of prediction, or arrays of the wrong shape.
    """
    return Answer(*on_drive_grid(predictor.predict(inputs, inputs.generator()), inputs))


def check_motion_predictor(predictor: FittedPredictor) -> None:
    """Shapes, finite numbers, probabilities, independence of the batch, blindness to the future, unchanged inputs.

    Raises:
        PredictionError: naming what is broken.
    """
    name = predictor.info.name
    inputs = motion_inputs()
    if "future" not in predictor.info.reads:
        forged = replace(inputs, future=np.random.default_rng(1).normal(0.0, 50.0, (inputs.num_requests, 30, 5)))
        inputs = replace(inputs, future=None)
        if not _same(answer_of(predictor, inputs), answer_of(predictor, forged)):
            raise PredictionError("what happens later changes a prediction", where=name, hint="do not read the future")
    kept = inputs.history.copy(), inputs.others.copy()
    answer = answer_of(predictor, inputs)
    accepted = accept(predictor.predict(inputs, inputs.generator()), inputs)
    for row, reason in enumerate(accepted.reasons):
        if reason:
            raise PredictionError(f"prediction {row} is unusable", where=name, found=reason)
    if not (np.array_equal(kept[0], inputs.history) and np.array_equal(kept[1], inputs.others, equal_nan=True)):
        raise PredictionError("predict changed its inputs", where=name)
    if not _same(answer_of(predictor, inputs), answer):
        raise PredictionError("two calls with the same inputs differ", where=name)
    for row in range(inputs.num_requests):
        alone = accept(predictor.predict(one_request(inputs, row), inputs.generator()), one_request(inputs, row))
        modes = min(alone.states.shape[1], accepted.states.shape[1])
        if not np.array_equal(alone.states[0, :modes], accepted.states[row, :modes]):
            raise PredictionError("a prediction depends on the others in its batch", where=name)
    empty = one_request(inputs, slice(0, 0))
    if answer_of(predictor, empty).states.shape[0] != 0:
        raise PredictionError("no requests must give no predictions", where=name)


def _same(one: Answer, two: Answer) -> bool:
    return all(np.array_equal(a, b, equal_nan=True) for a, b in zip(one, two, strict=True))


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
        others_ids=inputs.others_ids[part],
        age_ticks=None if inputs.age_ticks is None else inputs.age_ticks[part],
        route=None if inputs.route is None else inputs.route[part],
    )


def _arc(start: FloatArray, heading: float, speed: float, turn_rate: float) -> FloatArray:
    time = 0.1 * np.arange(-9, 1)
    course = heading + turn_rate * time
    way = speed * time * np.sinc(0.5 * turn_rate * time / np.pi)
    direction = heading + 0.5 * turn_rate * time
    velocity = speed * np.stack([np.cos(course), np.sin(course)], axis=1)
    xy = start + way[:, None] * np.stack([np.cos(direction), np.sin(direction)], axis=1)
    return np.concatenate([xy, velocity, course[:, None]], axis=1)
