"""Who drives around whom, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

from giveway.core.kernels import njit


@njit(cache=True)
def find_neighbors(starts: Any, center: Any, length: Any, lane: Any, ids: Any) -> Any:
    """(M, 8) ids of neighbors in one driving direction, 0 for none.

    Order: preceding, following, then preceding, alongside, following on the left, then on the right.

    Args:
        starts: (F + 1,) first row of each frame, and M.
        center: (M,) position along the direction of travel.
        length: (M,).
        lane: (M,) 0 for the right lane, 1 for the left.
        ids: (M,).
    """
    found = np.zeros((center.shape[0], 8), np.int64)
    for f in range(starts.shape[0] - 1):
        for i in range(starts[f], starts[f + 1]):
            best = np.full(8, np.inf)
            for j in range(starts[f], starts[f + 1]):
                if i == j:
                    continue
                apart = center[j] - center[i]
                overlap = abs(apart) < 0.5 * (length[i] + length[j])
                shift = lane[j] - lane[i]
                if shift == 0:
                    slot = 0 if apart > 0 else 1
                else:
                    slot = (2 if shift > 0 else 5) + (1 if overlap else (0 if apart > 0 else 2))
                if abs(apart) < best[slot]:
                    best[slot] = abs(apart)
                    found[i, slot] = ids[j]
    return found
