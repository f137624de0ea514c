"""What models of trajectories share: times of the steps, and an end at the horizon of each sample."""

from __future__ import annotations

import numpy as np

from giveway.core.arrays import FloatArray, IntArray


def times_after(num_steps: int, dt_s: float) -> FloatArray:
    """(S,) dt, 2 dt .. [s]."""
    return np.arange(1, num_steps + 1) * dt_s


def cut_at_horizon(xy: FloatArray, num_predict: IntArray) -> FloatArray:
    """Set steps behind n_pred of a sample to NaN; (N, n_p, S, 2), in place."""
    beyond = np.arange(xy.shape[2]) >= num_predict[:, None]
    xy[np.broadcast_to(beyond[:, None, :], xy.shape[:3])] = np.nan
    return xy
