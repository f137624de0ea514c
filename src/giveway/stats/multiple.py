"""Many comparisons at once."""

from __future__ import annotations

import numpy as np

from giveway.core.arrays import FloatArray


def holm(p_values: FloatArray) -> FloatArray:
    """Adjusted p-values that keep the chance of any false claim below the level.

        p~_(i) = max over j <= i of min(1, (m - j + 1) p_(j)),   p_(1) <= ... <= p_(m)

    Args:
        p_values: (m,) in [0, 1]; NaN entries are not counted and stay NaN.

    Returns:
        (m,) in the order given; compare with the level directly.

    Reference:
        Holm 1979, Scandinavian Journal of Statistics 6, 65-70.
    """
    p = np.asarray(p_values, dtype=np.float64)
    adjusted = np.full(p.shape, np.nan)
    counted = np.flatnonzero(~np.isnan(p))
    order = counted[np.argsort(p[counted], kind="stable")]
    factor = np.arange(order.size, 0, -1)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * factor))
    return adjusted
