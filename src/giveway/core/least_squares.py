"""Least squares with a few unknowns in a fixed order of operations.

LAPACK and BLAS order their sums by processor, so a fitted circle would differ in its last bits from machine to
machine, and everything extracted with it.
"""

from __future__ import annotations

import numpy as np

from giveway.core.arrays import FloatArray


def least_squares(design: FloatArray, target: FloatArray) -> FloatArray:
    """The (K,) vector x that minimizes the norm of A x - b, by modified Gram-Schmidt with one reorthogonalization.

    Args:
        design: (M, K) matrix A, K small; each column is summed by NumPy's pairwise summation.
        target: (M,) vector b.

    Returns:
        (K,) solution; unknowns whose column depends linearly on earlier ones (to 1e-12 of its norm) are 0.
    """
    count = design.shape[1]
    basis = np.zeros_like(design, dtype=np.float64)
    upper = np.zeros((count, count))
    for k in range(count):
        column = design[:, k].astype(np.float64)
        norm = np.sqrt((column * column).sum())
        for _ in range(2):  # the second pass removes what cancellation left of the earlier directions
            for i in range(k):
                share = (basis[:, i] * column).sum()
                upper[i, k] += share
                column = column - share * basis[:, i]
        length = np.sqrt((column * column).sum())
        if length > 1e-12 * norm:
            upper[k, k] = length
            basis[:, k] = column / length
    solution = np.zeros(count)
    for k in range(count - 1, -1, -1):
        if upper[k, k] > 0:
            rest = (basis[:, k] * target).sum() - (upper[k, k + 1 :] * solution[k + 1 :]).sum()
            solution[k] = rest / upper[k, k]
    return solution
