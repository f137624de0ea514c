"""The three kinds of output a predictor of gap acceptance may give."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from giveway.core.arrays import FloatArray

QUANTILES = np.arange(1, 10) / 10
"""Levels at which a distribution of acceptance times is described: 0.1 .. 0.9."""

NUM_PATHS = 100
"""n_p, sampled trajectories per prediction."""


class OutputKind(StrEnum):
    """What a predictor gives; ordered from least to most."""

    PROBABILITY = "probability"
    TIME = "time"
    PATHS = "paths"


@dataclass(frozen=True, slots=True, kw_only=True)
class Probability:
    """Attributes:
    p: (N,) probability that T accepts.
    """

    p: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeDistribution:
    """Attributes:
    p: (N,) probability that T accepts.
    quantile_s: (N, 9) quantiles of t_A - t_0 given acceptance, at :data:`QUANTILES`; NaN if never accepted.
    """

    p: FloatArray
    quantile_s: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class PathSet:
    """Attributes:
    xy: (N, n_p, S, 2) positions of T at t_0 + j dt, j = 1 .. n_pred [m]; NaN beyond n_pred of a sample.
    dt_s: spacing [s].
    """

    xy: FloatArray
    dt_s: float


Prediction = Probability | TimeDistribution | PathSet
