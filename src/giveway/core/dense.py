"""Evaluating networks of policies in a fixed order of addition.

A matrix product of BLAS depends on the processor and on the number of rows; an episode that follows from it would too.
Networks of policies are small, so plain loops, vectorized by the compiler over the outputs of a layer, do.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from giveway.core.kernels import njit

Float32Array = NDArray[np.float32]


@njit(cache=True, nogil=True)
def dense(inputs: Float32Array, weight: Float32Array, bias: Float32Array, rectify: bool) -> Float32Array:
    """One layer of each network of a stack.

    Args:
        inputs: (n, R, a).
        weight: (n, a, b).
        bias: (n, 1, b).
        rectify: whether negative outputs become 0.

    Returns:
        (n, R, b); row r depends on row r of the inputs only.
    """
    networks, rows, width = inputs.shape
    out = np.empty((networks, rows, weight.shape[2]), dtype=np.float32)
    for n in range(networks):
        for r in range(rows):
            # Inputs outside, outputs inside: the inner loop adds to independent sums, so vectorizing it reorders none.
            for j in range(out.shape[2]):
                out[n, r, j] = bias[n, 0, j]
            for i in range(width):
                x = inputs[n, r, i]
                for j in range(out.shape[2]):
                    out[n, r, j] += x * weight[n, i, j]
            if rectify:
                for j in range(out.shape[2]):
                    out[n, r, j] = max(out[n, r, j], np.float32(0))
    return out
