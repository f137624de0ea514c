"""How natural a car drives: log-density of what it does under a histogram prior; compiled."""

from __future__ import annotations

import math

from giveway.core.kernels import njit
from giveway.generate.objective.arrays import Naturalness

LOWEST = -5.0
VARIABLES = ("accel_mps2", "jerk_mps3", "yaw_rate_radps", "speed_over_limit_mps", "headway_s")


@njit(cache=True, nogil=True)
def log_density(prior: Naturalness, variable: int, value: float) -> float:
    """Of one variable; values beyond the ends count as the last bin there."""
    bins = prior.log_density.shape[1]
    at = math.floor((value - prior.low[variable]) / prior.width[variable])
    return prior.log_density[variable, min(max(at, 0), bins - 1)]


@njit(cache=True, nogil=True)
def naturalness(
    prior: Naturalness, accel: float, jerk: float, yaw_rate: float, over_limit: float, headway: float
) -> float:
    """N = clip(sum_v log p_v - median over recorded traffic, -5, 0): 0 for what people usually do.

    Args:
        prior: histograms.
        accel: [m/s^2].
        jerk: [m/s^3].
        yaw_rate: [rad/s].
        over_limit: speed minus the speed limit [m/s].
        headway: time headway to the car ahead [s]; inf without one.
    """
    total = log_density(prior, 0, accel) + log_density(prior, 1, jerk) + log_density(prior, 2, yaw_rate)
    total += log_density(prior, 3, over_limit)
    total += prior.typical_headway if math.isinf(headway) else log_density(prior, 4, headway)
    return min(max(total - prior.median, LOWEST), 0.0)
