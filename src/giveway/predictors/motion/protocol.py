"""The contract between a drive and a predictor of where another car will be.

The same arrays travel in process and over the wire: ten past states of the car in question, the same of every other car
present, all in site coordinates minus ``origin_m``; back come K modes of thirty future states and their
probabilities.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from giveway.core import elementary
from giveway.core.arrays import FloatArray, IntArray
from giveway.core.lanes import LaneMap
from giveway.core.seeds import stream

HISTORY_STEPS = 10
"""States a predictor is given, 0.1 s apart, oldest first; the last one is the current state."""

FUTURE_STEPS = 30
"""States a predictor gives back, 0.1 s apart; the first one is at +0.1 s."""

STEP_S = 0.1

X, Y, VX, VY, HEADING = range(5)
"""Columns of a state: position [m], velocity [m/s], heading [rad]."""

STATE_SIZE = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class TrajectoryPredictorInfo:
    """What a predictor is and needs, known before any computing.

    Attributes:
        name: registered name.
        title: how tables print it.
        uses_others: whether ``MotionInputs.others`` must be filled; it costs time for large batches.
        privileged: whether it is shown the true future (the oracle); never true of something that can be deployed.
        stochastic: whether it draws random numbers, through :meth:`MotionInputs.rng` only.
        references: for ``giveway cite``.
    """

    name: str
    title: str
    uses_others: bool = False
    privileged: bool = False
    stochastic: bool = False
    references: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MotionInputs:
    """R cars to predict, each at its own instant; nothing in here is later than that instant except ``future``.

    Attributes:
        history: (R, 10, 5) states; the oldest one is repeated for a car that is younger than ten ticks.
        size: (R, 2) length and width [m].
        others: (R, M, 10, 5) histories of the other cars present, NaN where there is none; M may be 0.
        others_size: (R, M, 2) their sizes; NaN where there is none.
        road: (R,) lane map of each car's site in site coordinates, or None.
        origin_m: (2,) what was subtracted from site coordinates.
        case_ids: (R,) case of each car.
        car_ids: (R,) identifier of each car.
        tick: (R,) ticks since the start of the case.
        seed: root of the random streams.
        future: (R, 30, 5) what will happen, for privileged predictors; None for all others.
        others_ids: (R, M) identifiers of the others, also of those not present now, empty text for padding; () if
            ``others`` is not filled.
        age_ticks: (R, 1 + M) ticks since the first known state, of the car itself and then of the others; None if
            ``others`` is not filled.
    """

    history: FloatArray
    size: FloatArray
    others: FloatArray
    others_size: FloatArray
    road: tuple[LaneMap | None, ...]
    origin_m: FloatArray
    case_ids: tuple[str, ...]
    car_ids: tuple[str, ...]
    tick: IntArray
    seed: int = 0
    future: FloatArray | None = None
    others_ids: tuple[tuple[str, ...], ...] = ()
    age_ticks: IntArray | None = None

    @property
    def num_requests(self) -> int:
        """R."""
        return self.history.shape[0]

    def rng(self, row: int) -> np.random.Generator:
        """Random numbers for one car at one tick; the same whatever else is in the batch."""
        return stream(self.seed, "predict", self.case_ids[row], int(self.tick[row]), self.car_ids[row])


@dataclass(frozen=True, slots=True, kw_only=True)
class MotionPrediction:
    """Attributes:
    states: (R, K, 30, 5) in the coordinates of the inputs.
    probability: (R, K) of each mode; rows add up to one, unused modes have 0.
    missing: (R,) why there is no answer at all (a missed deadline), empty text where there is one; None if there is
        one everywhere.
    """

    states: FloatArray
    probability: FloatArray
    missing: tuple[str, ...] | None = None


@runtime_checkable
class TrajectoryPredictor(Protocol):
    """Predicts every car of a batch; the result for one car must not depend on the others in the batch."""

    @property
    def info(self) -> TrajectoryPredictorInfo:
        """Name and needs."""
        ...

    def predict(self, inputs: MotionInputs) -> MotionPrediction:
        """Where each car will be."""
        ...


def constant_velocity_states(history: FloatArray) -> FloatArray:
    """(R, 30, 5) straight on at the current velocity; also the declared fallback."""
    current = history[:, -1]
    ahead = STEP_S * np.arange(1, FUTURE_STEPS + 1)
    states = np.repeat(current[:, None, :], FUTURE_STEPS, axis=1)
    states[..., X] += ahead * current[:, None, VX]
    states[..., Y] += ahead * current[:, None, VY]
    return states


def states_from_positions(current: FloatArray, xy: FloatArray) -> FloatArray:
    """(..., S, 5) states whose velocities and headings follow from positions.

    Args:
        current: (..., 5) state before the first position.
        xy: (..., S, 2) positions 0.1 s apart.

    Returns:
        Velocity by backward differences; below 0.5 m/s the heading of the step before is kept.
    """
    before = np.concatenate([current[..., None, :2], xy[..., :-1, :]], axis=-2)
    velocity = (xy - before) / STEP_S
    heading = elementary.arctan2(velocity[..., 1], velocity[..., 0])
    moving = np.hypot(velocity[..., 0], velocity[..., 1]) > 0.5
    filled = np.where(moving, heading, np.nan)
    last = np.broadcast_to(current[..., HEADING], filled.shape[:-1]).copy()
    for step in range(filled.shape[-1]):
        last = np.where(np.isnan(filled[..., step]), last, filled[..., step])
        filled[..., step] = last
    return np.concatenate([xy, velocity, filled[..., None]], axis=-1)
