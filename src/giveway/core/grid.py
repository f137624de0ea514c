"""Integers at the border: the grid on which ids and written decimals are made.

A position, an angle or a time becomes a whole number of grid steps by one multiplication and one rounding, both exact
operations of IEEE 754. From there on only integers are added, interpolated and divided, so equal motion gives equal
bytes on every machine, and a world that is moved by any whole number of steps gives the same bytes as well.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from giveway.core.arrays import FloatArray, IntArray

STEPS_PER_M = 10_000
"""Positions: 0.1 mm."""

STEPS_PER_RAD = 100_000
"""Angles: 10 µrad."""

STEPS_PER_S = 1_000_000
"""Times: 1 µs."""


def snapped(values: ArrayLike, steps_per_unit: int) -> FloatArray:
    """The nearest grid step, a whole number as float64, ties to even; NaN stays NaN.

    Below 2**53 steps sums and differences of such numbers are exact; positions on earth are far below.
    """
    return np.rint(np.asarray(values, dtype=np.float64) * steps_per_unit)


def steps(values: ArrayLike, steps_per_unit: int) -> IntArray:
    """The nearest grid step as int64; NaN, which has none, becomes 0."""
    return np.nan_to_num(snapped(values, steps_per_unit)).astype(np.int64)


def divided(numerator: ArrayLike, denominator: ArrayLike) -> IntArray:
    """The integer nearest to a quotient of integers, ties to even; the denominator is positive.

    Changing the sign of the numerator changes the sign of the result and nothing else.
    """
    whole = np.asarray(numerator, dtype=np.int64)
    by = np.asarray(denominator, dtype=np.int64)
    down = whole // by
    rest = 2 * (whole - down * by)
    return down + ((rest > by) | ((rest == by) & (down % 2 != 0)))
