"""What path models share: one generator per sample, and paths that end at the horizon of their sample."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from giveway.core.arrays import FloatArray, IntArray
from giveway.core.samples import GapInputs
from giveway.core.seeds import stream


def sample_streams(inputs: GapInputs, rng: np.random.Generator) -> Iterator[np.random.Generator]:
    """One generator per sample, derived from a single draw and the sample's identifier.

    The paths of a sample then do not depend on which other samples are predicted with it.
    """
    root = int(rng.integers(2**62))
    for sample_id in inputs.sample_id:
        yield stream(root, sample_id)


def times_after(num_steps: int, dt_s: float) -> FloatArray:
    """(S,) dt, 2 dt .. [s]."""
    return np.arange(1, num_steps + 1) * dt_s


def cut_at_horizon(xy: FloatArray, num_predict: IntArray) -> FloatArray:
    """Set steps behind n_pred of a sample to NaN; (N, n_p, S, 2), in place."""
    beyond = np.arange(xy.shape[2]) >= num_predict[:, None]
    xy[np.broadcast_to(beyond[:, None, :], xy.shape[:3])] = np.nan
    return xy
