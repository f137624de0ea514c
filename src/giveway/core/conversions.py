"""Between the three kinds of prediction: probability, distribution of the acceptance time, sampled paths.

Reference:
    Schumann et al. 2023 (supplement), section on output conversion. Differs in: draws are seeded per sample unless the
    caller asks for one running legacy generator.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray, IntArray
from giveway.core.kernels import njit
from giveway.core.predictions import QUANTILES, Prediction, Probability, TimeDistribution, Trajectories
from giveway.core.samples import AcceptanceBoundary

EMPTY_BIN_GUARD = 1e-5


class Drawer(Protocol):
    """The part of a random generator that conversions use; numpy's Generator and RandomState both have it."""

    def choice(self, a: IntArray, size: int, replace: bool, p: FloatArray | None) -> IntArray:
        """Draw entries of ``a``."""
        ...


DrawerOf = Callable[[int], Drawer]
"""Sample number to its generator."""


def acceptance_times(paths: Trajectories, boundary: AcceptanceBoundary) -> FloatArray:
    """When each path first crosses the acceptance boundary.

    Linear between the two steps around the crossing; dt/2 before its time if already the first step is across. Steps
    that are NaN are passed over.

    Args:
        paths: (N, n_p, S, 2) positions of T at dt, 2 dt .. [m].
        boundary: of the N samples.

    Returns:
        (N, n_p) seconds after t_0; NaN where a path never accepts.
    """
    return _acceptance_times(
        np.ascontiguousarray(paths.xy, dtype=np.float64),
        float(paths.dt_s),
        boundary.normal,
        boundary.offset_m,
        boundary.radius_m,
    )


def paths_to_time(paths: Trajectories, boundary: AcceptanceBoundary) -> TimeDistribution:
    """Share of accepting paths and the deciles of their acceptance times (linear quantiles; NaN if none accepts)."""
    p, quantiles = _summarize(acceptance_times(paths, boundary), QUANTILES)
    return TimeDistribution(p=p, quantile_s=quantiles)


def probability_to_time(
    prediction: Probability, accepted: Trajectories, boundary: AcceptanceBoundary
) -> TimeDistribution:
    """Keep p, take the times from the conditional path model of accepted gaps."""
    return TimeDistribution(p=prediction.p, quantile_s=paths_to_time(accepted, boundary).quantile_s)


def to_probability(prediction: Prediction, boundary: AcceptanceBoundary) -> Probability:
    """Only the probability of acceptance."""
    if isinstance(prediction, Trajectories):
        return Probability(p=paths_to_time(prediction, boundary).p)
    assert isinstance(prediction, Probability | TimeDistribution)
    return Probability(p=prediction.p)


def to_time(prediction: Prediction, accepted: Trajectories | None, boundary: AcceptanceBoundary) -> TimeDistribution:
    """Probability and deciles of the acceptance time.

    Args:
        prediction: any kind.
        accepted: paths of the conditional model of accepted gaps; needed for a bare probability only.
        boundary: of the N samples.
    """
    if isinstance(prediction, TimeDistribution):
        return prediction
    if isinstance(prediction, Trajectories):
        return paths_to_time(prediction, boundary)
    if accepted is None:
        raise ValueError("a probability becomes a time distribution only with paths of accepted gaps")
    assert isinstance(prediction, Probability)
    return probability_to_time(prediction, accepted, boundary)


def to_paths(
    prediction: Prediction,
    accepted: Trajectories | None,
    rejected: Trajectories | None,
    boundary: AcceptanceBoundary,
    drawer_of: DrawerOf,
) -> Trajectories:
    """Paths that accept as often, and as early, as predicted.

    A share p of the paths comes from the conditional model of accepted gaps (those that accept, every non-empty bin
    between predicted deciles with equal mass), the rest from the model of rejected gaps (those that do not accept).
    Where a model offers no such path, all its paths are used.

    Args:
        prediction: any kind; paths are returned as they are.
        accepted: (N, n_p, S, 2) paths of the conditional model of accepted gaps.
        rejected: the same for rejected gaps.
        boundary: of the N samples.
        drawer_of: generator of each sample.

    Returns:
        n_p paths per sample, rejecting ones first.
    """
    if isinstance(prediction, Trajectories):
        return prediction
    if accepted is None or rejected is None:
        raise ValueError("a prediction becomes paths only with both conditional path models")
    if isinstance(prediction, TimeDistribution):
        quantiles = prediction.quantile_s
    else:
        quantiles = paths_to_time(accepted, boundary).quantile_s
    assert isinstance(prediction, Probability | TimeDistribution)
    t_of_accepted = acceptance_times(accepted, boundary)
    never = np.isnan(acceptance_times(rejected, boundary))
    n, num_paths, steps = _common_shape(accepted, rejected)
    out = np.full((n, num_paths, steps, 2), np.nan)
    for i in range(n):
        drawer = drawer_of(i)
        num_rejected = int(num_paths - np.round(num_paths * prediction.p[i]))
        from_rejected = _draw_rejecting(never[i], num_rejected, drawer)
        from_accepted = _draw_accepting(t_of_accepted[i], quantiles[i], num_paths - num_rejected, drawer)
        out[i, :num_rejected, : rejected.xy.shape[2]] = rejected.xy[i, from_rejected]
        out[i, num_rejected:, : accepted.xy.shape[2]] = accepted.xy[i, from_accepted]
    return Trajectories(xy=out, dt_s=accepted.dt_s)


def _common_shape(accepted: Trajectories, rejected: Trajectories) -> tuple[int, int, int]:
    n, num_paths = accepted.xy.shape[:2]
    return n, num_paths, max(accepted.xy.shape[2], rejected.xy.shape[2])


def _draw_rejecting(never: BoolArray, size: int, drawer: Drawer) -> IntArray:
    candidates = np.flatnonzero(never)
    if len(candidates) == 0:
        return drawer.choice(np.arange(len(never)), size, True, None)
    return drawer.choice(candidates, size, len(candidates) < size, None)


def _draw_accepting(times: FloatArray, quantiles: FloatArray, size: int, drawer: Drawer) -> IntArray:
    candidates = np.flatnonzero(~np.isnan(times))
    if len(candidates) == 0:
        return drawer.choice(np.arange(len(times)), size, True, None)
    if np.isnan(quantiles).any():
        bins = np.full(len(candidates), len(quantiles))
    else:
        bins = np.searchsorted(quantiles, times[candidates], side="right")
    sizes = np.bincount(bins, minlength=len(quantiles) + 1)
    weights = 1.0 / (EMPTY_BIN_GUARD + sizes[bins])
    return drawer.choice(candidates, size, True, weights / weights.sum())


@njit(cache=True)
def _acceptance_times(
    xy: FloatArray, dt: float, normal: FloatArray, offset: FloatArray, radius: FloatArray
) -> FloatArray:
    samples, num_paths, steps, _ = xy.shape
    out = np.full((samples, num_paths), np.nan)
    for i in range(samples):
        is_line = np.isnan(radius[i])
        for p in range(num_paths):
            before = np.nan
            t_before = np.nan
            for s in range(steps):
                x, y = xy[i, p, s, 0], xy[i, p, s, 1]
                if np.isnan(x) or np.isnan(y):
                    continue
                if is_line:
                    distance = normal[i, 0] * x + normal[i, 1] * y - offset[i]
                else:
                    distance = np.sqrt(x * x + y * y) - radius[i]
                t = (s + 1) * dt
                if distance < 0:
                    if np.isnan(before):
                        out[i, p] = t - dt / 2
                    else:
                        out[i, p] = t_before + (t - t_before) * before / (before - distance)
                    break
                before, t_before = distance, t
    return out


@njit(cache=True)
def _summarize(times: FloatArray, levels: FloatArray) -> tuple[FloatArray, FloatArray]:
    samples, num_paths = times.shape
    share = np.zeros(samples)
    quantiles = np.full((samples, len(levels)), np.nan)
    ordered = np.empty(num_paths)
    for i in range(samples):
        count = 0
        for p in range(num_paths):
            if not np.isnan(times[i, p]):
                ordered[count] = times[i, p]
                count += 1
        share[i] = count / num_paths
        if count == 0:
            continue
        ordered[:count].sort()
        for q in range(len(levels)):
            position = levels[q] * (count - 1)
            low = int(np.floor(position))
            high = min(low + 1, count - 1)
            quantiles[i, q] = ordered[low] + (position - low) * (ordered[high] - ordered[low])
    return share, quantiles
