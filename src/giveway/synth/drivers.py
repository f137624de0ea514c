"""Who drives: individual differences and the probability to accept a gap.

    p = sigma(b0 + b1 * gap_s + b2 * distance_m + individual * boldness)

Boldness is a standard normal trait that also shows in the motion (reaction, acceleration, creeping),
so that a model which sees more of the past can do better. The form and the ranges of reaction and
acceleration are those of section 2.8 of the protocol note; the coefficients are choices of this project.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from giveway.core import elementary
from giveway.core.arrays import FloatArray

MEDIAN_REACTION_S = 0.8
SIGMA_REACTION = 0.3
MIN_ACCEL_MPS2 = 1.5
MAX_ACCEL_MPS2 = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptanceRule:
    """Coefficients of the logistic rule.

    Attributes:
        intercept: b0.
        per_second: b1 [1/s].
        per_meter: b2 [1/m].
        individual: weight of the boldness trait.
    """

    intercept: float
    per_second: float
    per_meter: float
    individual: float

    def probability(self, gap_s: FloatArray, distance_m: FloatArray, boldness: FloatArray) -> FloatArray:
        """Elementwise, in (0, 1)."""
        score = self.intercept + self.per_second * gap_s + self.per_meter * distance_m + self.individual * boldness
        return 1.0 / (1.0 + elementary.exp(-score))


@dataclass(frozen=True, slots=True, kw_only=True)
class Drivers:
    """Traits of N drivers.

    Attributes:
        boldness: (N,) standard normal, clipped to [-2.5, 2.5].
        reaction_s: (N,) lognormal, median 0.8 s; bolder is quicker.
        accel_mps2: (N,) 1.5 to 3; bolder is stronger.
    """

    boldness: FloatArray
    reaction_s: FloatArray
    accel_mps2: FloatArray


def draw_drivers(rng: np.random.Generator, boldness: FloatArray) -> Drivers:
    """Reaction and acceleration for drivers of given boldness, (N,)."""
    count = boldness.shape[0]
    reaction = MEDIAN_REACTION_S * elementary.exp(SIGMA_REACTION * rng.standard_normal(count) - 0.1 * boldness)
    accel = 2.25 + 0.25 * boldness + 0.2 * rng.standard_normal(count)
    return Drivers(
        boldness=boldness,
        reaction_s=np.clip(reaction, 0.3, 1.9),
        accel_mps2=np.clip(accel, MIN_ACCEL_MPS2, MAX_ACCEL_MPS2),
    )


def draw_boldness(rng: np.random.Generator, count: int) -> FloatArray:
    """(count,) standard normal, clipped to [-2.5, 2.5]."""
    return np.clip(rng.standard_normal(count), -2.5, 2.5)
