"""How many paired samples a difference takes, and what a given number can show.

::

    n = ((z_{1-alpha/2} + z_power) sd / delta)^2 (1 + (m - 1) rho)

with ``sd`` the deviation of the paired differences, ``delta`` the difference of interest, m samples per cluster and
rho the correlation within clusters (1 + (m - 1) rho is the design effect).

Reference:
    Kish 1965, Survey Sampling, section 5.4 (design effect); any text on sample size for the normal approximation.
"""

from __future__ import annotations

import math

from scipy.special import ndtr, ndtri

from giveway.core.errors import UsageError

ALPHA = 0.05
POWER = 0.8


def design_effect(per_cluster: float, rho: float) -> float:
    """1 + (m - 1) rho, at least 1."""
    return 1.0 + max(per_cluster - 1.0, 0.0) * max(rho, 0.0)


def samples_needed(
    sd: float, effect: float, *, power: float = POWER, alpha: float = ALPHA, per_cluster: float = 1.0, rho: float = 0.0
) -> int:
    """Samples with which a two-sided test of ``effect`` has this power.

    Raises:
        UsageError: an effect of 0, a negative deviation, or a power outside (0, 1).
    """
    if not (abs(effect) > 0 and sd >= 0 and 0 < power < 1 and 0 < alpha < 1):
        raise UsageError(
            "a sample size needs an effect other than 0, a deviation of at least 0 and a power between 0 and 1",
            found=f"effect {effect}, deviation {sd}, power {power}, alpha {alpha}",
        )
    plain = ((float(ndtri(1 - alpha / 2)) + float(ndtri(power))) * sd / effect) ** 2
    return max(math.ceil(plain * design_effect(per_cluster, rho) - 1e-9), 2)


def samples_for_half_width(sd: float, half_width: float, *, alpha: float = ALPHA) -> int:
    """Independent samples whose interval is this much to either side; power one half at that effect."""
    return samples_needed(sd, half_width, power=0.5, alpha=alpha)


def power_of(sd: float, effect: float, samples: float, *, alpha: float = ALPHA) -> float:
    """Power of a two-sided test with so many independent samples; 1 if nothing varies."""
    if sd <= 0:
        return 1.0
    z, bound = abs(effect) * math.sqrt(samples) / sd, float(ndtri(1 - alpha / 2))
    return float(ndtr(z - bound) + ndtr(-z - bound))


def half_width(sd: float, samples: float, *, alpha: float = ALPHA) -> float:
    """Half of the interval of a mean of so many independent samples; infinite without samples."""
    return float(ndtri(1 - alpha / 2)) * sd / math.sqrt(samples) if samples > 0 else math.inf
