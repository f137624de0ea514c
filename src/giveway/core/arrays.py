"""Names for the array types in signatures; shape and unit are in the docstrings."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.floating[Any]]
"""Always float64 where we make it; the stubs of numpy 2 know some results only as ``floating[Any]``."""
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
StrArray = NDArray[np.str_]
AnyArray = NDArray[Any]
