"""People who drive: how they differ, and whether they take a gap.

A driver takes a gap that looks longer than its critical gap. Critical gaps differ between drivers (lognormal, as usual
in the analysis of gap acceptance: Troutbeck 2014, Transp. Res. Rec. 2461) and from one decision of a driver to the
next, because nobody perceives time exactly; long waiting makes them shorter. In logarithms::

    x = ln(gap) + speed_bias ln(v / v_ref) - ln(critical gap) + between * boldness + impatience * waited
    p = 1 / (1 + exp(-x / within))

A positive speed bias means that distance counts besides time: of two gaps of the same duration the one before the
faster, more distant car looks longer (Zgonnikov, Abbink, Markkula 2022, Hum. Factors).

Boldness is a standard normal trait that also shows in the motion (reaction, acceleration, creeping), so that a model
which sees more of the past can do better. Ranges of reaction and acceleration are those of section 2.8 of the protocol
note; the parameters of each dataset are choices of this project, made so that shares of accepted gaps are near the
published ones and logistic regression is neither lost nor perfect.
"""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass

import numpy as np

from giveway.core import elementary
from giveway.core.arrays import FloatArray
from giveway.core.kernels import njit

MEDIAN_REACTION_S = 0.8
SIGMA_REACTION = 0.3
MIN_ACCEL_MPS2 = 1.5
MAX_ACCEL_MPS2 = 3.0
SHORTEST_GAP_S = 0.05
SLOWEST_MPS = 0.5
"""Shorter gaps and slower cars count as these, so that the logarithms stay finite."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Population:
    """How the drivers of one place accept gaps.

    Attributes:
        critical_gap_s: median critical gap over drivers.
        between: spread of the logarithm of the critical gap over drivers, per unit of boldness.
        within: scale of the logistic noise of the logarithm, from one decision of a driver to the next.
        speed_bias: how much the speed of the approaching car makes a gap look longer.
        reference_mps: speed at which a gap looks as long as it is.
        impatience_per_s: by how much waiting shortens the critical gap, in logarithms per second.
    """

    critical_gap_s: float
    between: float
    within: float
    speed_bias: float = 0.0
    reference_mps: float = 12.0
    impatience_per_s: float = 0.0

    def coefficients(self) -> FloatArray:
        """(6,) the attributes in their order, for :func:`chance`."""
        return np.array(astuple(self), dtype=np.float64)

    def probability(
        self, gap_s: FloatArray, speed_mps: FloatArray, boldness: FloatArray, waited_s: FloatArray | float = 0.0
    ) -> FloatArray:
        """Of acceptance, elementwise, in (0, 1)."""
        every = np.broadcast_arrays(gap_s, speed_mps, boldness, waited_s)
        people = self.coefficients()
        return np.array([chance(people, *one) for one in zip(*(a.ravel().tolist() for a in every), strict=True)])


@njit(cache=True, nogil=True)
def chance(people: FloatArray, gap_s: float, speed_mps: float, boldness: float, waited_s: float) -> float:
    """Probability that a driver takes a gap; ``people`` as from :meth:`Population.coefficients`."""
    critical_gap_s, between, within, speed_bias, reference_mps, impatience = people
    looks = math.log(max(gap_s, SHORTEST_GAP_S) / critical_gap_s)
    looks += speed_bias * math.log(max(speed_mps, SLOWEST_MPS) / reference_mps)
    return 1.0 / (1.0 + math.exp(-(looks + between * boldness + impatience * waited_s) / within))


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
