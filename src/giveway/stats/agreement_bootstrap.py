"""Bootstrap intervals for the corrected weighted Fleiss kappa, over clips, over raters, or both.

Nothing is resampled row by row: a draw is a vector of multiplicities (how often each clip or rater was
drawn), and the counts of all draws at once are one matrix product. Products of whole numbers are exact in any order, so
they may go through a BLAS; everything else is summed in NumPy's own order, which no processor changes.
"""

from __future__ import annotations

import numpy as np

from giveway.core.arrays import FloatArray, IntArray
from giveway.core.errors import UsageError
from giveway.stats.agreement import WeightKind, agreement_weights
from giveway.stats.agreement_interval import LABELS, Interval, Unit


def bootstrap_over_clips(
    counts: IntArray,
    *,
    weights: WeightKind | FloatArray = "quadratic",
    draws: int = 2000,
    level: float = 0.95,
    rng: np.random.Generator,
) -> Interval:
    """Interval of kappa when other clips of the same kind had been rated by the same people.

    Args:
        counts: (N, k) ratings per clip and category; clips without ratings are never drawn.
        weights: as in :func:`~giveway.stats.agreement.weighted_fleiss`.
        draws: bootstrap draws.
        level: nominal coverage.
        rng: source of randomness.
    """
    table = np.asarray(counts, dtype=np.float64)
    table = table[table.sum(axis=1) > 0]
    values = [
        kappa_of_clip_draws(table, multiplicities(table.shape[0], size, rng), weights)
        for size in _blocks(draws, table.shape[0])
    ]
    return _interval(np.concatenate(values), level=level, over="clips")


def bootstrap_over_raters(
    ratings: IntArray,
    *,
    num_categories: int,
    weights: WeightKind | FloatArray = "quadratic",
    draws: int = 2000,
    level: float = 0.95,
    also_clips: bool = False,
    rng: np.random.Generator,
) -> Interval:
    """Interval of kappa when other raters (``also_clips``: and other clips) had taken part.

    A rater who is drawn twice would agree perfectly with his copy and push kappa up, so pairs of copies of one
    rater are left out of the observed agreement, as a rater's pair with himself is left out of kappa itself.

    Args:
        ratings: (N, R) category index 0 .. k - 1, or -1 where a rater did not rate the clip.
        num_categories: k.
        weights: as in :func:`~giveway.stats.agreement.weighted_fleiss`.
        draws: bootstrap draws.
        level: nominal coverage.
        also_clips: resample clips as well, independently (crossed bootstrap; Owen 2007 shows it is conservative).
        rng: source of randomness.
    """
    num_clips, num_raters = ratings.shape
    values: list[FloatArray] = []
    for size in _blocks(draws, num_clips * num_categories + num_raters):
        raters = multiplicities(num_raters, size, rng)
        clips = multiplicities(num_clips, size, rng) if also_clips else None
        values.append(kappa_of_rater_draws(ratings, raters, num_categories, weights, clips))
    return _interval(np.concatenate(values), level=level, over="both" if also_clips else "raters")


def multiplicities(size: int, draws: int, rng: np.random.Generator) -> FloatArray:
    """(draws, size) how often each of ``size`` units is drawn when ``size`` are drawn with replacement."""
    if size < 1:
        raise UsageError("nothing to resample", found="no rated clip")
    picks = rng.integers(0, size, size=(draws, size))
    picks += np.arange(draws)[:, None] * size
    return np.bincount(picks.ravel(), minlength=draws * size).reshape(draws, size).astype(np.float64)


def kappa_of_clip_draws(
    table: FloatArray, multiplicity: FloatArray, weights: WeightKind | FloatArray = "quadratic"
) -> FloatArray:
    """(B,) corrected pooled kappa of each draw of clips.

    Args:
        table: (N, k) counts, every row with at least one rating.
        multiplicity: (B, N) how often each clip was drawn.
        weights: kind or matrix.
    """
    matrix = agreement_weights(table.shape[1], weights) if isinstance(weights, str) else weights
    total = table.sum(axis=1)
    pairable = total >= 2
    pairs = _weighted(table, matrix) - total
    per_clip = np.where(pairable, pairs / np.where(pairable, total * (total - 1), 1.0), 0.0)
    sums = multiplicity @ np.column_stack([pairable, table])  # whole numbers
    with np.errstate(invalid="ignore", divide="ignore"):
        observed = np.einsum("bn,n->b", multiplicity, per_clip) / sums[:, 0]
        shares = sums[:, 1:] / sums[:, 1:].sum(axis=1, keepdims=True)
    return _kappa(observed, _weighted(shares, matrix))


def kappa_of_rater_draws(
    ratings: IntArray,
    raters: FloatArray,
    num_categories: int,
    weights: WeightKind | FloatArray = "quadratic",
    clips: FloatArray | None = None,
) -> FloatArray:
    """(B,) corrected pooled kappa of each draw of raters, and of clips if their multiplicities are given.

        P_i = (sum_jl w_jl f_ij f_il - s_i) / (n_i^2 - s_i),  s_i = sum_r m_r^2 over the raters of clip i

    Args:
        ratings: (N, R) category index or -1.
        raters: (B, R) how often each rater was drawn.
        num_categories: k.
        weights: kind or matrix.
        clips: (B, N) how often each clip was drawn; None for once each.
    """
    matrix = agreement_weights(num_categories, weights) if isinstance(weights, str) else weights
    num_clips = ratings.shape[0]
    member = (ratings[:, None, :] == np.arange(num_categories)[None, :, None]).astype(np.float64)
    flat = member.reshape(num_clips * num_categories, -1)
    table = (raters @ flat.T).reshape(-1, num_clips, num_categories)
    copies = (raters**2) @ (ratings >= 0).astype(np.float64).T
    total = table.sum(axis=2)
    num_pairs = total**2 - copies
    pairable = num_pairs > 0
    pairs = _weighted(table, matrix) - copies
    per_clip = np.where(pairable, pairs / np.where(pairable, num_pairs, 1.0), 0.0)
    often = np.ones_like(total) if clips is None else clips
    with np.errstate(invalid="ignore", divide="ignore"):
        observed = (often * per_clip).sum(axis=1) / (often * pairable).sum(axis=1)
        shares = np.einsum("bn,bnk->bk", often, table)
        shares /= shares.sum(axis=1, keepdims=True)
    return _kappa(observed, _weighted(shares, matrix))


def _weighted(shares: FloatArray, matrix: FloatArray) -> FloatArray:
    """(...,) sum_jl w_jl f_j f_l, category after category: a fixed order, and no (..., k, k) array in between."""
    total = np.zeros(shares.shape[:-1])
    for j in range(matrix.shape[0]):
        inner = np.zeros(shares.shape[:-1])
        for i in range(matrix.shape[0]):
            inner += matrix[j, i] * shares[..., i]
        total += shares[..., j] * inner
    return total


def _blocks(draws: int, numbers_per_draw: int) -> list[int]:
    """Sizes of blocks of draws such that one block needs some 32 MB."""
    block = max(1, 4_000_000 // max(1, numbers_per_draw))
    return [min(block, draws - start) for start in range(0, draws, block)]


def _kappa(observed: FloatArray, expected: FloatArray) -> FloatArray:
    defined = 1.0 - expected > 1e-12
    return np.where(defined, (observed - expected) / np.where(defined, 1.0 - expected, 1.0), np.nan)


def _interval(values: FloatArray, *, level: float, over: Unit) -> Interval:
    defined = values[np.isfinite(values)]
    tail = (1.0 - level) / 2
    low, high = np.quantile(defined, [tail, 1.0 - tail]) if defined.size else (np.nan, np.nan)
    return Interval(
        low=float(low),
        high=float(high),
        level=level,
        over=over,
        label=LABELS[over],
        method="bootstrap",
        draws=values.size,
        undefined=values.size - defined.size,
    )
