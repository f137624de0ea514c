"""Looking at a difference several times and stopping early without claiming more than the level allows.

A plan of K looks spends the level by the O'Brien-Fleming-type function of Lan and DeMets: at information fraction t

    alpha*(t) = 4 - 4 Phi(z_{1-alpha/4} / sqrt(t))

has been spent, half of it on each side. Bounds b_1 > ... > b_K are solved for one after the other so that a difference
of zero crosses by look k with probability alpha*(t_k); the joint law of the looks is that of a Brownian motion
(recursive integration of Armitage, McPherson and Rowe). The clusters seen at a look are the units: the statistic is the
mean difference over its cluster-robust error, mapped through Student's t with one degree less than there are clusters.

Reference:
    Lan and DeMets 1983, Biometrika 70, 659-663; Armitage, McPherson and Rowe 1969, JRSS A 132, 235-244.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import special, stats
from scipy.optimize import brentq

from giveway.core import elementary
from giveway.core.arrays import FloatArray
from giveway.core.errors import UsageError

GRID = 1201
"""Points of the integration; bounds of five equal looks agree with published ones to 1e-3."""
FAR = 8.0
"""A bound beyond this is never crossed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What one look shows.

    Attributes:
        fraction: share of the planned information seen.
        samples: so far.
        clusters: so far.
        estimate: mean difference.
        z: standardized difference.
        bound: |z| beyond it decides.
    """

    fraction: float
    samples: int
    clusters: int
    estimate: float
    z: float
    bound: float

    @property
    def decides(self) -> bool:
        """Whether the looks end here."""
        return abs(self.z) >= self.bound


def spent(fraction: float, *, alpha: float = 0.05) -> float:
    """Level that may be spent up to an information fraction."""
    if fraction <= 0:
        return 0.0
    return float(4.0 * special.ndtr(-special.ndtri(1 - alpha / 4) / math.sqrt(min(fraction, 1.0))))


def bounds(fractions: Sequence[float], *, alpha: float = 0.05) -> FloatArray:
    """(K,) bounds for |z| at increasing information fractions.

    Raises:
        UsageError: fractions that do not increase within (0, 1].
    """
    return np.array(_bounds(tuple(float(f) for f in fractions), alpha))


@lru_cache(maxsize=64)
def _bounds(fractions: tuple[float, ...], alpha: float) -> tuple[float, ...]:
    t = np.asarray(fractions, dtype=np.float64)
    if t.ndim != 1 or t.size == 0 or t[0] <= 0 or t[-1] > 1 + 1e-9 or np.any(np.diff(t) <= 0):
        raise UsageError("information fractions must increase within (0, 1]", found=list(fractions))
    found: list[float] = []
    grid, density, before, used = np.zeros(1), np.ones(1), 0.0, 0.0
    for fraction in t.tolist():
        allowed = max(spent(fraction, alpha=alpha) - used, 0.0)
        step = math.sqrt(fraction - before)
        bound = _solve(grid, density, step, math.sqrt(fraction), allowed)
        found.append(bound)
        used += _crossing(grid, density, step, bound * math.sqrt(fraction))
        inside = np.linspace(-bound, bound, GRID) * math.sqrt(fraction)
        kernel = elementary.exp(-0.5 * ((inside[:, None] - grid) / step) ** 2) / (step * math.sqrt(2 * math.pi))
        density = kernel @ (density * _weights(grid))
        grid, before = inside, fraction
    return tuple(found)


def looks_at(
    values: FloatArray,
    clusters: Sequence[Hashable],
    fractions: Sequence[float],
    *,
    alpha: float = 0.05,
    planned: int | None = None,
) -> list[Look]:
    """Looks at growing parts of paired differences, until one decides.

    Args:
        values: (N,) paired differences in the order in which they came; whole clusters one after the other.
        clusters: (N,) cluster of each.
        fractions: shares of the planned clusters at each look made so far, increasing; 1 is the last.
        alpha: level of all looks together.
        planned: number of clusters at the last look; those given by default.

    Raises:
        UsageError: fewer than three clusters at the first look.
    """
    order = list(dict.fromkeys(clusters))
    where = {name: k for k, name in enumerate(order)}
    rank = np.array([where[c] for c in clusters])
    total = planned or len(order)
    counts = [max(round(f * total), 1) for f in fractions]
    if counts[0] < 3:
        raise UsageError(
            "a look needs at least three recordings", found=f"{counts[0]} of {len(order)}", hint="plan fewer looks"
        )
    seen: list[Look] = []
    for count, bound in zip(counts, bounds([c / total for c in counts], alpha=alpha).tolist(), strict=True):
        part = rank < count
        estimate, z = standardized(values[part], rank[part])
        share = count / total
        seen.append(Look(fraction=share, samples=int(part.sum()), clusters=count, estimate=estimate, z=z, bound=bound))
        if seen[-1].decides:
            break
    return seen


def standardized(values: FloatArray, clusters: Sequence[Hashable] | FloatArray) -> tuple[float, float]:
    """Mean difference, and its cluster-robust z: Student's t with K - 1 degrees of freedom as a normal score."""
    _, inverse = np.unique(np.asarray(clusters), return_inverse=True)
    num = int(inverse.max()) + 1
    mean = float(values.mean())
    residual = np.bincount(inverse, weights=values - mean)
    error = math.sqrt(float((residual**2).sum()) * num / max(num - 1, 1)) / values.size
    if error == 0:
        return mean, math.copysign(math.inf, mean) if mean else 0.0
    t = mean / error
    tail = float(stats.t.logsf(abs(t), num - 1))
    return mean, math.copysign(-float(special.ndtri_exp(tail)), t)


def _weights(grid: FloatArray) -> FloatArray:
    """Trapezoid weights; 1 for a single point."""
    if grid.size == 1:
        return np.ones(1)
    weights = np.full(grid.size, grid[1] - grid[0])
    weights[[0, -1]] *= 0.5
    return weights


def _crossing(grid: FloatArray, density: FloatArray, step: float, edge: float) -> float:
    outside = special.ndtr((-edge - grid) / step) + special.ndtr((grid - edge) / step)
    return float((outside * density * _weights(grid)).sum())


def _solve(grid: FloatArray, density: FloatArray, step: float, scale: float, allowed: float) -> float:
    """Bound for |z| that is crossed with the allowed probability."""

    def excess(bound: float) -> float:
        return _crossing(grid, density, step, bound * scale) - allowed

    if excess(FAR) >= 0:
        return FAR
    found: Any = brentq(excess, 0.0, FAR, xtol=1e-10)
    return float(found)
