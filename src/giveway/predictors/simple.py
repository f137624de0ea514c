"""Predictors of motion that need no training: stay, keep turning, and the true future."""

from __future__ import annotations

import numpy as np

from giveway.core import elementary
from giveway.core.errors import PredictionError
from giveway.core.histories import (
    FUTURE_STEPS,
    HEADING,
    STEP_S,
    VX,
    VY,
    MotionInputs,
    X,
    Y,
)
from giveway.core.predictions import Trajectories
from giveway.predictors.base import Predictor

TURN_WINDOW = 5
"""Steps of history over which the turn rate is taken."""

MAX_TURN_RATE_RADPS = 1.0
MIN_TURNING_SPEED_MPS = 1.0
"""Below this the heading of a recording is too noisy to extrapolate."""


class Echo(Predictor, name="echo", title="echo"):
    """Every car stays where it is: the least a client can send, and a floor for everything else."""

    def predict(self, inputs: MotionInputs, rng: np.random.Generator) -> Trajectories:
        """The current state, thirty times, standing."""
        states = np.repeat(inputs.history[:, -1:], FUTURE_STEPS, axis=1)
        states[..., [VX, VY]] = 0.0
        return Trajectories.of_states(states[:, None])


class ConstantTurnRate(Predictor, name="constant_turn_rate", title="constant turn rate"):
    """Every car keeps its speed and its turn rate (the mean of the last half second)."""

    def predict(self, inputs: MotionInputs, rng: np.random.Generator) -> Trajectories:
        """A circular arc; straight on below 1 m/s."""
        current = inputs.history[:, -1]
        speed = np.hypot(current[:, VX], current[:, VY])
        recent = np.unwrap(inputs.history[:, -TURN_WINDOW - 1 :, HEADING], axis=1)
        rate = np.clip(
            (recent[:, -1] - recent[:, 0]) / (TURN_WINDOW * STEP_S), -MAX_TURN_RATE_RADPS, MAX_TURN_RATE_RADPS
        )
        rate = np.where(speed < MIN_TURNING_SPEED_MPS, 0.0, rate)
        ahead = STEP_S * np.arange(1, FUTURE_STEPS + 1)
        turn = rate[:, None] * ahead
        course = elementary.arctan2(current[:, VY], current[:, VX])
        course = np.where(speed < MIN_TURNING_SPEED_MPS, current[:, HEADING], course)[:, None]
        way = speed[:, None] * ahead * np.sinc(0.5 * turn / np.pi)
        states = np.repeat(current[:, None], FUTURE_STEPS, axis=1)
        states[..., X] += way * np.cos(course + 0.5 * turn)
        states[..., Y] += way * np.sin(course + 0.5 * turn)
        states[..., VX] = speed[:, None] * np.cos(course + turn)
        states[..., VY] = speed[:, None] * np.sin(course + turn)
        states[..., HEADING] += turn
        return Trajectories.of_states(states[:, None])


class Oracle(Predictor, name="oracle", title="oracle", reads=("future",)):
    """What will happen if the ego keeps to its plan: the recorded future of replay cars, all others simulated ahead.

    A reactive car does something else when the ego changes its plan, so even the oracle can be wrong.
    """

    def predict(self, inputs: MotionInputs, rng: np.random.Generator) -> Trajectories:
        """The true future.

        Raises:
            PredictionError: where nobody can know it, as over the wire.
        """
        if inputs.future is None:
            raise PredictionError("the oracle needs the true future", found="a request without one")
        return Trajectories.of_states(inputs.future[:, None])
