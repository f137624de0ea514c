"""Where two paths need the same area; one rule for mining cases and for driving them."""

from __future__ import annotations

from giveway.core.arrays import FloatArray
from giveway.core.kernels import njit

SHARED_M = 2.2
"""Centers of two cars closer than this would touch."""

APART_BEFORE_M = 4
"""A conflict starts only after both came from elsewhere for at least this far; otherwise one follows the other."""


@njit(cache=True, nogil=True)
def first_shared(one: FloatArray, two: FloatArray, near: float) -> tuple[int, int, int, int]:
    """Where two paths (P, 2) first come closer than ``near``, and where that run ends: (start, start, end, end).

    (-1, -1, -1, -1) if they never do. The run is followed along the first path; its partners are nearest points.
    """
    start = -1
    start_other = -1
    end = -1
    end_other = -1
    for i in range(one.shape[0]):
        best = near * near
        at = -1
        for j in range(two.shape[0]):
            d = (one[i, 0] - two[j, 0]) ** 2 + (one[i, 1] - two[j, 1]) ** 2
            if d < best:
                best = d
                at = j
        if at >= 0:
            if start < 0:
                start = i
                # The earliest point of the other path that is near as well: it may come in sideways.
                start_other = at
                for j in range(at):
                    if (one[i, 0] - two[j, 0]) ** 2 + (one[i, 1] - two[j, 1]) ** 2 < near * near:
                        start_other = j
                        break
            end = i
            end_other = at
        elif start >= 0:
            break
    return start, start_other, end, end_other
