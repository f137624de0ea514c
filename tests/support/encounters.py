"""Encounters of two cars at a conflict point, for tests and benchmarks of the Commotions model."""

from __future__ import annotations

import numpy as np

from giveway.predictors.commotions.encounter import Encounters, encounters_from_distances


def random_encounters(num: int, seed: int) -> Encounters:
    """Gaps of 2 to 8 s, T slow or standing near the contested space."""
    rng = np.random.default_rng(seed)
    v_e, v_t = rng.uniform(7, 14, num), rng.uniform(0, 5, num)
    d_c, d_a = v_e * rng.uniform(2, 8, num), rng.uniform(1, 12, num)
    return encounters_from_distances(
        d_c=np.stack([d_c + 0.2 * v_e, d_c], axis=1),
        d_a=np.stack([d_a + 0.2 * v_t, d_a], axis=1),
        l_e=rng.uniform(3, 7, num),
        l_t=np.full(num, 3.5),
        horizon_s=d_c / v_e,
    )
