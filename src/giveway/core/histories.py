"""What predictors are given: the past of some agents, up to the moment of the prediction.

A drive gives ten past states of the car in question and of every other car present, all in site coordinates minus
``origin_m``; the same arrays travel in process and over the wire.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from giveway.core import elementary
from giveway.core.arrays import BoolArray, FloatArray, IntArray
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


class Histories:
    """What every predictor is given: N rows, in each the past of A agents up to the moment of the prediction.

    ``GapInputs`` adds roles, distances and the acceptance boundary of a gap; ``MotionInputs`` adds maps, sizes and the
    case of a drive. Both have these attributes:

    * ``xy``: (N, A, H, 2) positions [m], oldest first, the last one now; NaN where an agent is absent. Axis 1 is the
      order of ``roles`` for gaps; for drives the car to predict comes first, the others after it.
    * ``dt_s``: spacing of the H instants [s].
    * ``num_predict``: (N,) steps of ``dt_s`` to predict.
    * ``row_names``: (N,) unique text, stable between runs.
    """

    __slots__ = ()

    xy: Any
    dt_s: Any
    num_predict: Any
    row_names: Any

    def streams(self, rng: np.random.Generator) -> Iterator[np.random.Generator]:
        """One random generator per row, derived from a single draw of ``rng`` and the row's name.

        What is drawn for a row then does not depend on which other rows are predicted with it.
        """
        root = int(rng.integers(2**62))
        for name in self.row_names:
            yield stream(root, name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """The area that the routes of the car to predict and of one other car share, for R rows.

    Rows without such an area ahead, or whose car is past it, have ``other`` -1 and NaN.

    Attributes:
        other: (R,) which of ``MotionInputs.others``.
        own_m: (R, H) distance from the front of the car to the area along its route, at each instant; negative inside.
        other_m: (R, H) the same of the other car along its own route.
        own_length_m: (R,) length of the area along the route of the car.
        other_length_m: (R,) along the route of the other.
        yields: (R,) bool, whether the car has to give way to the other.
    """

    other: IntArray
    own_m: FloatArray
    other_m: FloatArray
    own_length_m: FloatArray
    other_length_m: FloatArray
    yields: BoolArray


@dataclass(frozen=True, slots=True, kw_only=True)
class MotionInputs(Histories):
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
        route: (R, 61, 2) points of each car's route, one meter apart, the first one at the car; None if no predictor
            asked for conflicts.
        conflict: area shared with another car; None if no predictor asked for it.
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
    route: FloatArray | None = None
    conflict: Conflict | None = None

    @property
    def num_requests(self) -> int:
        """R."""
        return self.history.shape[0]

    @property
    def xy(self) -> FloatArray:
        """(R, 1 + M, 10, 2) positions of the car and then of the others."""
        return np.concatenate([self.history[:, None, :, :2], self.others[..., :2]], axis=1)

    @property
    def velocity(self) -> FloatArray:
        """(R, 1 + M, 10, 2) [m/s]."""
        return np.concatenate([self.history[:, None, :, 2:4], self.others[..., 2:4]], axis=1)

    @property
    def heading(self) -> FloatArray:
        """(R, 1 + M, 10) [rad]."""
        return np.concatenate([self.history[:, None, :, HEADING], self.others[..., HEADING]], axis=1)

    @property
    def dt_s(self) -> float:
        """0.1 s."""
        return STEP_S

    @property
    def num_predict(self) -> IntArray:
        """(R,) thirty steps for every car."""
        return np.full(self.num_requests, FUTURE_STEPS)

    @property
    def row_names(self) -> tuple[str, ...]:
        """(R,) case, tick and car of each row."""
        rows = zip(self.case_ids, self.tick.tolist(), self.car_ids, strict=True)
        return tuple(f"{case} {tick} {car}" for case, tick, car in rows)

    def generator(self) -> np.random.Generator:
        """What ``predict`` is called with: the same generator at every tick, rows are told apart by their names."""
        return stream(self.seed, "predict")


_AHEAD_S = STEP_S * np.arange(1, FUTURE_STEPS + 1)


def constant_velocity_states(history: FloatArray) -> FloatArray:
    """(R, 30, 5) straight on at the current velocity; also the declared fallback."""
    current = history[:, -1]
    states = np.repeat(current[:, None, :], FUTURE_STEPS, axis=1)
    states[..., X] += _AHEAD_S * current[:, None, VX]
    states[..., Y] += _AHEAD_S * current[:, None, VY]
    return states


def states_from_positions(current: FloatArray, xy: FloatArray, dt_s: float = STEP_S) -> FloatArray:
    """(..., S, 5) states whose velocities and headings follow from positions.

    Args:
        current: (..., 5) state before the first position.
        xy: (..., S, 2) positions.
        dt_s: their spacing [s].

    Returns:
        Velocity by backward differences; below 0.5 m/s the heading of the step before is kept.
    """
    before = np.concatenate([current[..., None, :2], xy[..., :-1, :]], axis=-2)
    velocity = (xy - before) / dt_s
    heading = elementary.arctan2(velocity[..., 1], velocity[..., 0])
    moving = np.hypot(velocity[..., 0], velocity[..., 1]) > 0.5
    filled = np.where(moving, heading, np.nan)
    last = np.broadcast_to(current[..., HEADING], filled.shape[:-1]).copy()
    for step in range(filled.shape[-1]):
        last = np.where(np.isnan(filled[..., step]), last, filled[..., step])
        filled[..., step] = last
    return np.concatenate([xy, velocity, filled[..., None]], axis=-1)
