"""How far many raters agree on ordered categories, corrected for chance.

All coefficients work on a table of counts (clips x categories) and allow a different number of
ratings per clip. Bootstrap intervals are in :mod:`giveway.stats.agreement_bootstrap`, reading rating
files in :mod:`giveway.stats.agreement_table`, the summary that is printed in
:mod:`giveway.stats.agreement_summary`. Products are sums in NumPy's own order (``einsum``), not those of a BLAS, whose
order depends on the processor.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Decimal
from typing import Literal

import numpy as np

from giveway.core.arrays import FloatArray, IntArray
from giveway.core.errors import UsageError

WeightKind = Literal["quadratic", "linear", "identity"]
SelfPairs = Literal["exclude", "include"]
Prevalence = Literal["pooled", "mean"]
Singletons = Literal["drop", "zero"]
BandRule = Literal["printed", "half_open"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """A chance-corrected coefficient with its two ingredients.

    Attributes:
        coefficient: (observed - expected) / (1 - expected); NaN where that is not defined.
        observed: mean weighted agreement of pairs of raters.
        expected: the same under chance.
        per_clip: (N,) weighted agreement of each clip; NaN for clips that do not count.
        reason: why the coefficient is NaN, else empty.
    """

    coefficient: float
    observed: float
    expected: float
    per_clip: FloatArray
    reason: str = ""


def agreement_weights(num_categories: int, kind: WeightKind = "quadratic") -> FloatArray:
    """(k, k) weights of agreement between categories, one on the diagonal.

        quadratic  w_jl = 1 - (j - l)^2 / (k - 1)^2
        linear     w_jl = 1 - |j - l| / (k - 1)
        identity   w_jl = 1 if j = l else 0

    For k = 5 the quadratic weights are 1, 0.9375, 0.75, 0.4375, 0 at distance 0 .. 4.

    Raises:
        UsageError: with fewer than two categories or an unknown kind.
    """
    if num_categories < 2:
        raise UsageError("agreement needs at least two categories", found=num_categories)
    index = np.arange(num_categories)
    distance = np.abs(index[:, None] - index[None, :]) / (num_categories - 1)
    if kind == "quadratic":
        return 1.0 - distance**2
    if kind == "linear":
        return 1.0 - distance
    if kind == "identity":
        return np.eye(num_categories)
    raise UsageError(f"unknown weights {kind!r}", found="known: quadratic, linear, identity")


def weighted_fleiss(
    counts: IntArray,
    *,
    weights: WeightKind | FloatArray = "quadratic",
    self_pairs: SelfPairs = "exclude",
    prevalence: Prevalence = "pooled",
    singletons: Singletons = "drop",
) -> Agreement:
    """Weighted Fleiss kappa of a table of counts.

        kappa = (P - P_e) / (1 - P_e),   P_e = sum_jl w_jl p_j p_l,   P = mean_i P_i
        P_i = (sum_jl w_jl f_ij f_il - n_i) / (n_i (n_i - 1))   self_pairs="exclude"
        P_i =  sum_jl w_jl f_ij f_il        / (n_i (n_i - 1))   self_pairs="include"

    f_ij ratings of clip i in category j, n_i = sum_j f_ij. Without the subtraction every rater agrees with himself:
    P_i is larger by 1 / (n_i - 1) and can exceed 1. "include" exists only to reproduce a published formula.

    Args:
        counts: (N, k), how many raters put a clip into a category; rows may have different sums.
        weights: kind of weights or a (k, k) symmetric matrix with ones on the diagonal.
        self_pairs: leave out or count the pairs a rater forms with himself.
        prevalence: ``pooled`` p_j = sum_i f_ij / sum_i n_i; ``mean`` p_j = mean_i f_ij / n_i.
        singletons: clips with one rating are left out of P (``drop``) or enter it as 0 (``zero``).

    Returns:
        1 for unanimity, 0 at chance level, negative below. NaN with a reason if all ratings fall into
        one category (P_e = 1) or no clip has two ratings. Clips without any rating never count.

    Reference:
        Fleiss (1971), Psychological Bulletin 76; weights as in Gwet, Handbook of Inter-Rater Reliability (2021).
        ``prevalence="mean"`` is what Gwet's software does. self_pairs="include", prevalence="pooled",
        singletons="zero" is equation 3 of the SANDWICH supplement as printed.
    """
    table, matrix = _checked(counts, weights)
    per_clip = _pair_agreement(table, matrix, subtract_self=self_pairs == "exclude", singletons=singletons)
    shares = _prevalence(table, prevalence)
    return _chance_corrected(per_clip, float(np.einsum("j,jl,l->", shares, matrix, shares)))


def as_printed(counts: IntArray, *, weights: WeightKind | FloatArray = "quadratic") -> Agreement:
    """Weighted Fleiss kappa by the formula printed in the SANDWICH supplement, self-pairs included.

    Larger than the corrected value by 1 / ((n - 1)(1 - P_e)) for n ratings per clip. Never show it alone. P_i = 0 for
    a clip with one rating, and kappa = 0 where P = P_e, also if both are 1; P_e = 1 alone leaves it undefined.
    """
    found = weighted_fleiss(counts, weights=weights, self_pairs="include", prevalence="pooled", singletons="zero")
    return replace(found, coefficient=0.0, reason="") if abs(found.observed - found.expected) < ROUNDING else found


def gwet_ac2(counts: IntArray, *, weights: WeightKind | FloatArray = "quadratic") -> Agreement:
    """Gwet's AC2, which does not collapse when nearly all ratings fall into one category.

        P_e = (sum_jl w_jl) / (k (k - 1)) * sum_j p_j (1 - p_j),   p_j = mean_i f_ij / n_i

    Args:
        counts: (N, k) as in :func:`weighted_fleiss`.
        weights: as in :func:`weighted_fleiss`; with identity weights the coefficient is AC1.

    Returns:
        1 for unanimity, also in one category; NaN with a reason if no clip has two ratings.

    Reference:
        Gwet (2008), British Journal of Mathematical and Statistical Psychology 61; with weights in Gwet (2021).
    """
    table, matrix = _checked(counts, weights)
    k = table.shape[1]
    shares = _prevalence(table, "mean")
    expected = float(matrix.sum() / (k * (k - 1)) * (shares * (1 - shares)).sum())
    return _chance_corrected(_pair_agreement(table, matrix), expected)


def krippendorff_alpha(counts: IntArray, *, weights: WeightKind | FloatArray = "quadratic") -> Agreement:
    """Krippendorff's alpha; quadratic weights give the interval metric, identity weights the nominal one.

        alpha = 1 - D_o / D_e,  D_o = 1/n sum_i sum_jl d_jl f_ij f_il / (n_i - 1)
        D_e = sum_jl d_jl n_j n_l / (n (n - 1)),  d = 1 - w

    over clips with at least two ratings; n is their number of ratings.

    Returns:
        ``observed`` is 1 - D_o and ``expected`` 1 - D_e. NaN with a reason if D_e = 0 or no clip has two ratings.

    Reference:
        Krippendorff, Content Analysis (2004), chapter 11.
    """
    table, matrix = _checked(counts, weights)
    pairable = table.sum(axis=1) >= 2
    per_clip = _pair_agreement(table, matrix)
    units = table[pairable]
    total = units.sum()
    if total == 0:
        return _chance_corrected(per_clip, float("nan"))
    disagreement = 1.0 - matrix
    pooled = units.sum(axis=0)
    observed = 1.0 - float((units.sum(axis=1) * (1.0 - per_clip[pairable])).sum() / total)
    expected = 1.0 - float(np.einsum("j,jl,l->", pooled, disagreement, pooled) / (total * (total - 1)))
    return _chance_corrected(per_clip, expected, observed=observed)


def fleiss_standard_error(counts: IntArray, *, weights: WeightKind | FloatArray = "quadratic") -> float:
    """Large-sample standard error of the corrected kappa over clips.

        v = 1 / (N (N - 1)) sum_i (k_i - 2 (1 - kappa) (e_i - P_e) / (1 - P_e) - kappa)^2
        k_i = (N / N_2) (P_i - P_e) / (1 - P_e),   e_i = sum_jl w_jl p_j f_il / n_i

    with ``prevalence="mean"``; k_i = 0 for clips with one rating, N_2 clips with at least two.

    Returns:
        NaN with fewer than two clips or where kappa is not defined.

    Reference:
        Gwet (2021), chapter on Fleiss' generalised kappa; the bootstrap is what we print.
    """
    table, matrix = _checked(counts, weights)
    table = table[table.sum(axis=1) > 0]
    kappa = weighted_fleiss(counts, weights=matrix, prevalence="mean")
    num_clips = table.shape[0]
    if num_clips < 2 or np.isnan(kappa.coefficient):
        return float("nan")
    total = table.sum(axis=1, keepdims=True)
    shares = _prevalence(table, "mean")
    per_clip = _pair_agreement(table, matrix)
    pairable = np.isfinite(per_clip)
    scale = 1.0 - kappa.expected
    clip_kappa = np.where(pairable, (np.nan_to_num(per_clip) - kappa.expected) / scale, 0.0)
    clip_kappa *= num_clips / pairable.sum()
    clip_expected = np.einsum("ij,jl,l->i", table / total, matrix, shares)
    chance_part = 2 * (1 - kappa.coefficient) * (clip_expected - kappa.expected) / scale
    residual = clip_kappa - chance_part - kappa.coefficient
    return float(np.sqrt((residual**2).sum() / (num_clips * (num_clips - 1))))


BAND_NAMES = ("slight", "fair", "moderate", "substantial", "almost perfect")
PRINTED_ENDS = ("0.20", "0.40", "0.60", "0.80", "1.00")
"""Upper ends of the printed bands 0.00-0.20, 0.21-0.40 ... 0.81-1.00, two decimals."""
ROUNDING = 1e-12
"""A kappa of unanimous raters can exceed 1 by a few ulp."""


def band(kappa: float, rule: BandRule = "printed") -> str:
    """Landis and Koch's word for a kappa. Only ever a footnote: a convention of 1977 without a derivation.

    Args:
        kappa: coefficient.
        rule: ``printed``: the closed bands 0.00-0.20 slight, 0.21-0.40 fair, 0.41-0.60 moderate, 0.61-0.80
            substantial, 0.81-1.00 almost perfect of the SANDWICH supplement. They have two decimals, so kappa is first
            rounded half up to two decimals, as decimal text: the binary number nearest to 0.205 lies below 0.205.
            ``half_open``: [0, 0.2), [0.2, 0.4) ..., which puts 0.20, 0.40, 0.60 and 0.80 one band higher.

    Returns:
        Beyond the bands, below 0 and above 1 (the formula with self-pairs can give that): "no word" as printed,
        "below chance" and "not a kappa" half-open. "undefined" for NaN.
    """
    if np.isnan(kappa):
        return "undefined"
    if not 0 <= kappa <= 1 + ROUNDING:
        return "no word" if rule == "printed" else "below chance" if kappa < 0 else "not a kappa"
    if rule == "half_open":
        return next((name for n, name in enumerate(BAND_NAMES[:-1], start=1) if kappa < n / 5), BAND_NAMES[-1])
    rounded = Decimal(repr(float(kappa))).quantize(Decimal("0.01"), ROUND_HALF_UP)
    return next(name for end, name in zip(PRINTED_ENDS, BAND_NAMES, strict=True) if rounded <= Decimal(end))


def _checked(counts: IntArray, weights: WeightKind | FloatArray) -> tuple[FloatArray, FloatArray]:
    table = np.asarray(counts)
    if table.ndim != 2 or table.shape[1] < 2:
        raise UsageError(
            "counts must be a table of clips x categories with at least two categories", found=f"shape {table.shape}"
        )
    values = table.astype(np.float64)
    if not np.isfinite(values).all() or bool((values < 0).any()) or bool((values != np.round(values)).any()):
        raise UsageError("counts must be whole numbers, zero or larger", found=f"smallest {values.min()}")
    if isinstance(weights, str):
        return values, agreement_weights(table.shape[1], weights)
    matrix = np.asarray(weights, dtype=np.float64)
    if matrix.shape != (table.shape[1],) * 2:
        raise UsageError("weights do not fit the categories", found=f"{matrix.shape}, {table.shape[1]} categories")
    if not np.allclose(matrix, matrix.T) or not np.allclose(np.diag(matrix), 1.0):
        raise UsageError("weights must be symmetric with ones on the diagonal")
    return values, matrix


def _pair_agreement(
    table: FloatArray, matrix: FloatArray, *, subtract_self: bool = True, singletons: Singletons = "drop"
) -> FloatArray:
    total = table.sum(axis=1)
    pairs = np.einsum("ij,jl,il->i", table, matrix, table) - (total if subtract_self else 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        per_clip = np.where(total >= 2, pairs / (total * (total - 1)), np.nan)
    return np.where(total == 1, 0.0, per_clip) if singletons == "zero" else per_clip


def _prevalence(table: FloatArray, kind: Prevalence) -> FloatArray:
    total = table.sum(axis=1)
    rated = table[total > 0]
    if rated.size == 0:
        return np.full(table.shape[1], np.nan)
    if kind == "pooled":
        return rated.sum(axis=0) / rated.sum()
    return (rated / total[total > 0, None]).mean(axis=0)


def _chance_corrected(per_clip: FloatArray, expected: float, *, observed: float | None = None) -> Agreement:
    counted = per_clip[np.isfinite(per_clip)]
    if counted.size == 0:
        return Agreement(
            coefficient=float("nan"),
            observed=float("nan"),
            expected=expected,
            per_clip=per_clip,
            reason="no clip has two ratings",
        )
    mean = float(counted.mean()) if observed is None else observed
    # Shares of one category sum to 1 up to rounding, so "exactly one" needs a tolerance of a few ulp.
    if 1.0 - expected < 1e-12:
        reason = "all ratings fall into one category, so chance agreement is already 1"
        return Agreement(coefficient=float("nan"), observed=mean, expected=expected, per_clip=per_clip, reason=reason)
    return Agreement(
        coefficient=(mean - expected) / (1.0 - expected), observed=mean, expected=expected, per_clip=per_clip
    )
