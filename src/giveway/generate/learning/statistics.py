"""Running mean and deviation, for observations and rewards of unknown size."""

from __future__ import annotations

import numpy as np

from giveway.core.arrays import AnyArray, FloatArray


class RunningStatistics:
    """Mean and variance of everything seen so far, per entry.

    Args:
        shape: of one value.

    Reference:
        Chan, Golub and LeVeque 1983, The American Statistician 37, 242-247 (merging two samples).
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.count = 0.0
        self.mean = np.zeros(shape)
        self.squares = np.zeros(shape)

    def add(self, values: AnyArray) -> None:
        """Take in (N, *shape) values."""
        n = len(values)
        if n == 0:
            return
        mean = values.mean(axis=0, dtype=np.float64)
        squares = ((values - mean) ** 2).sum(axis=0)
        shift, total = mean - self.mean, self.count + n
        self.squares = self.squares + squares + shift**2 * self.count * n / total
        self.mean = self.mean + shift * n / total
        self.count = total

    @property
    def deviation(self) -> FloatArray:
        """Population deviation; 1 before anything was seen and for entries that never vary."""
        if self.count == 0:
            return np.ones_like(self.mean)
        deviation = np.sqrt(self.squares / self.count)
        return np.where(deviation > 1e-6, deviation, 1.0)
