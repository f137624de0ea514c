"""The random numbers of the kernel in plain NumPy: Philox 4x32-10 and Box-Muller."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from giveway.core.arrays import FloatArray
from giveway.predictors.commotions.encounter import UintArray
from giveway.predictors.commotions.reference.rollout import Noise

_LOW = np.uint64(0xFFFFFFFF)


def philox(counter: NDArray[np.uint64], key: tuple[int, int]) -> NDArray[np.uint64]:
    """Philox 4x32-10 (Salmon, Moraes, Dror, Shaw 2011): (B, 4) counters of 32-bit words to (B, 4) random words."""
    c0, c1, c2, c3 = (counter[:, i] for i in range(4))
    k0, k1 = key
    for _ in range(10):
        p0, p1 = c0 * np.uint64(0xD2511F53), c2 * np.uint64(0xCD9E8D57)
        c0, c1, c2, c3 = (
            (p1 >> np.uint64(32)) ^ c1 ^ np.uint64(k0),
            p1 & _LOW,
            (p0 >> np.uint64(32)) ^ c3 ^ np.uint64(k1),
            p0 & _LOW,
        )
        k0, k1 = (k0 + 0x9E3779B9) % 2**32, (k1 + 0xBB67AE85) % 2**32
    return np.stack([c0, c1, c2, c3], axis=1)


def random_noise(key: UintArray, path: NDArray[np.int64], seed: int) -> Noise:
    """ε of step i and vehicle κ for B paths: words of counter (key low, key high, path, 2 i + κ).

    ε₁, ε₂ = Box-Muller of the first two words, ε₃ = the cosine branch of the other two.

    Args:
        key: (B,) names of the streams.
        path: (B,) number of the path within its sample.
        seed: any integer; its 64 low bits are the key of the generator.
    """
    word = seed % 2**64

    def noise(step: int, vehicle: int) -> FloatArray:
        last = np.full(key.shape, 2 * step + vehicle, dtype=np.uint64)
        counter = np.stack([key & _LOW, key >> np.uint64(32), path.astype(np.uint64), last], axis=1)
        uniform = (philox(counter, (word % 2**32, word >> 32)).astype(np.float64) + 0.5) / 4294967296.0
        radius_1, radius_2 = np.sqrt(-2 * np.log(uniform[:, 0])), np.sqrt(-2 * np.log(uniform[:, 2]))
        angle_1, angle_2 = 2 * np.pi * uniform[:, 1], 2 * np.pi * uniform[:, 3]
        return np.array(
            [radius_1 * np.cos(angle_1), radius_1 * np.sin(angle_1), radius_2 * np.cos(angle_2)], dtype=np.float64
        ).T

    return noise
