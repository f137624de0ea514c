"""Pieces of recordings a predictor learns from, and how training is asked for."""

from __future__ import annotations

from dataclasses import dataclass, field

from giveway.core.arrays import BoolArray, FloatArray
from giveway.predictors.protocol import FittedPredictor


@dataclass(frozen=True, slots=True, kw_only=True)
class MotionWindows:
    """N pieces of four seconds.

    Attributes:
        history: (N, 10, 5) states of a car up to now.
        others: (N, M, 10, 5) histories of the cars around it, nearest first; NaN where there is none.
        future: (N, 30, 2) where the car went [m].
    """

    history: FloatArray
    others: FloatArray
    future: FloatArray

    def take(self, rows: BoolArray) -> MotionWindows:
        """Some of the windows."""
        return MotionWindows(history=self.history[rows], others=self.others[rows], future=self.future[rows])


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingOptions:
    """Attributes:
    epochs: passes over the windows; the default of the predictor if None.
    seed: root of all random streams.
    device: ``"cpu"`` or ``"cuda"``, for predictors that can use it.
    patience: end when the error on held-out windows did not improve for so many epochs; 0 trains all epochs.
    """

    epochs: int | None = None
    seed: int = 0
    device: str = "cpu"
    patience: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainedPredictor:
    """Attributes:
    predictor: as read back from the file.
    loss: mean of each epoch.
    validation_ade_m: error on held-out windows after each epoch; None where it was not computed.
    """

    predictor: FittedPredictor
    loss: list[float] = field(default_factory=list[float])
    validation_ade_m: list[float | None] = field(default_factory=list[float | None])
