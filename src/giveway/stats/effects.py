"""How large a difference is, apart from whether it is there."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.stats.mann_whitney import mann_whitney

Size = Literal["negligible", "small", "medium", "large"]


def vargha_delaney(first: FloatArray, second: FloatArray) -> float:
    """Probability that a value of ``first`` is larger than one of ``second``, ties counting half.

        A = P(X > Y) + 0.5 P(X = Y)

    Returns:
        0.5 for no difference; NaN if one side is empty.

    Reference:
        Vargha and Delaney 2000, Journal of Educational and Behavioral Statistics 25, 101-132.
    """
    if len(first) == 0 or len(second) == 0:
        return math.nan
    label = np.repeat([True, False], [len(first), len(second)])
    return mann_whitney(label, np.concatenate([first, second]).astype(np.float64))


def effect_size(a: float) -> Size:
    """Name of a Vargha-Delaney A by the bounds 0.56, 0.64, 0.71 of its authors, either direction."""
    names: tuple[Size, ...] = ("negligible", "small", "medium", "large")
    return names[int(np.searchsorted((0.06, 0.14, 0.21), abs(a - 0.5) + 1e-12, side="right"))]
