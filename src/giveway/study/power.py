"""How large a difference a study of a given size can detect, by simulation, before anybody is asked."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from giveway.core.arrays import FloatArray
from giveway.core.errors import UsageError

THRESHOLDS = (-2.2, -0.85, 0.2, 1.6)
"""Shares of roughly 0.14, 0.18, 0.19, 0.23, 0.26 with the default spreads: all five options in use."""
MAX_CELLS = 20_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerPoint:
    """Power at one true difference.

    Attributes:
        effect_logit: shift of the latent scale.
        difference: the same as a difference of mean ratings.
        power: share of simulated studies with p < alpha.
    """

    effect_logit: float
    difference: float
    power: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerCurve:
    """Power against effect.

    Attributes:
        points: increasing effects, the first is 0 (its power is the error rate).
        detectable_logit: smallest effect with the wanted power, interpolated; NaN if beyond the largest effect.
        detectable_difference: the same in mean ratings.
    """

    points: tuple[PowerPoint, ...]
    detectable_logit: float
    detectable_difference: float


def simulate_power(
    *,
    num_raters: int = 30,
    clips_per_condition: int = 12,
    rater_sd: float = 0.8,
    clip_sd: float = 0.7,
    alpha: float = 0.05,
    power: float = 0.8,
    draws: int = 1000,
    effects: FloatArray | None = None,
    thresholds: tuple[float, ...] = THRESHOLDS,
    rng: np.random.Generator,
) -> PowerCurve:
    """Simulate studies from the cumulative-link mixed model and test two conditions.

    Every rater sees all clips of both conditions. The test compares the mean ratings of the clips (Welch), so clips are
    the sampling unit and the raters' habits cancel; it stands in for the mixed model, which takes seconds per draw.

    Args:
        num_raters: raters.
        clips_per_condition: clips in each of two conditions, at least 2.
        rater_sd: spread of the raters [logit].
        clip_sd: spread of the clips within a condition [logit].
        alpha: two-sided level.
        power: wanted.
        draws: simulated studies per effect.
        effects: latent shifts to try; default 0 to 3 in steps of 0.25.
        thresholds: of the latent scale.
        rng: source of randomness.
    """
    if num_raters < 2 or clips_per_condition < 2:
        raise UsageError("a power simulation needs at least two raters and two clips per condition")
    if draws * num_raters * clips_per_condition * 2 > MAX_CELLS * 10:
        raise UsageError("this simulation is too large", hint="lower --draws")
    grid = np.arange(0, 3.01, 0.25) if effects is None else effects
    points = [
        _point(float(e), num_raters, clips_per_condition, rater_sd, clip_sd, alpha, draws, thresholds, rng)
        for e in grid
    ]
    reached = np.maximum.accumulate([p.power for p in points])
    detectable = difference = float("nan")
    if reached[-1] >= power:
        index = int(np.argmax(reached >= power))
        before = points[max(0, index - 1)]
        here = points[index]
        share = 1.0 if here.power <= before.power else (power - before.power) / (here.power - before.power)
        detectable = before.effect_logit + share * (here.effect_logit - before.effect_logit)
        difference = before.difference + share * (here.difference - before.difference)
    return PowerCurve(points=tuple(points), detectable_logit=detectable, detectable_difference=difference)


def _point(
    effect: float,
    num_raters: int,
    num_clips: int,
    rater_sd: float,
    clip_sd: float,
    alpha: float,
    draws: int,
    thresholds: tuple[float, ...],
    rng: np.random.Generator,
) -> PowerPoint:
    block = max(1, min(draws, MAX_CELLS // (num_raters * num_clips * 2)))
    hits, total = 0, 0.0
    for start in range(0, draws, block):
        size = min(block, draws - start)
        clip = rng.normal(0, clip_sd, (size, 1, 2 * num_clips))
        clip[..., num_clips:] += effect
        rater = rng.normal(0, rater_sd, (size, num_raters, 1))
        latent = clip + rater + rng.logistic(size=(size, num_raters, 2 * num_clips))
        means = (1 + np.searchsorted(np.array(thresholds), latent)).mean(axis=1)
        first, second = means[:, :num_clips], means[:, num_clips:]
        with warnings.catch_warnings():
            # With few clips a draw may give all of them the same mean: no variance, p is 0 or NaN as it should be.
            warnings.filterwarnings("ignore", message="Precision loss", category=RuntimeWarning)
            test: Any = stats.ttest_ind(second, first, axis=1, equal_var=False)
        hits += int((np.asarray(test.pvalue) < alpha).sum())
        total += float((second.mean(axis=1) - first.mean(axis=1)).sum())
    return PowerPoint(effect_logit=effect, difference=total / draws, power=hits / draws)
