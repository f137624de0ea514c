"""Cumulative-link mixed model for ratings: fixed effects of conditions, random effects of raters and of clips.

    P(y <= j) = logistic(theta_j - eta),  eta = x' beta + u_rater + v_clip,  u ~ N(0, s_u^2),  v ~ N(0, s_v^2)

statsmodels has the model without random effects only. Raters and clips are crossed, so the random effects do not
integrate out one by one; we use the Laplace approximation, as lme4 and the R package ``ordinal`` do by default.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg, optimize
from scipy.special import expit

from giveway.core.arrays import FloatArray, IntArray
from giveway.core.errors import UsageError

LOG_SD_RANGE = (-5.0, 2.5)
MAX_NEWTON = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class OrdinalMixedFit:
    """A fitted model.

    Attributes:
        thresholds: (k - 1,) theta, increasing [logit].
        effects: (p,) beta; positive means higher ratings [logit].
        standard_errors: (p,) from the curvature of the approximate likelihood; NaN where it is not positive.
        rater_sd: s_u [logit].
        clip_sd: s_v [logit].
        log_likelihood: Laplace approximation.
        converged: whether the optimizer says so.
    """

    thresholds: FloatArray
    effects: FloatArray
    standard_errors: FloatArray
    rater_sd: float
    clip_sd: float
    log_likelihood: float
    converged: bool


def fit_ordinal_mixed(
    rating: IntArray, design: FloatArray, rater: IntArray, clip: IntArray, *, num_categories: int
) -> OrdinalMixedFit:
    """Fit by maximum approximate likelihood.

    Args:
        rating: (n,) category index 0 .. k - 1. Categories that nobody used are merged into their neighbor below.
        design: (n, p) fixed effects without an intercept.
        rater: (n,) index 0 .. R - 1.
        clip: (n,) index 0 .. N - 1.
        num_categories: k.

    Raises:
        UsageError: if fewer than two categories were used.

    Reference:
        Agresti, Analysis of Ordinal Categorical Data (2010), chapter 10; Christensen, ordinal (R package).
    """
    if rating.size and (rating.min() < 0 or rating.max() >= num_categories):
        raise UsageError("a rating lies outside the categories", found=f"{rating.min()} to {rating.max()}")
    used, codes = np.unique(rating, return_inverse=True)
    if used.size < 2:
        raise UsageError("a rating model needs at least two different ratings", found=f"{used.size}")
    model = _Model(codes.astype(np.int64), design, rater, clip, int(used.size))
    start = model.start()
    bounds = [*[(-12.0, 12.0)] * (start.size - 2), LOG_SD_RANGE, LOG_SD_RANGE]
    found: Any = optimize.minimize(model.objective, start, method="L-BFGS-B", bounds=bounds, options={"maxiter": 200})
    parameters = np.asarray(found.x, dtype=np.float64)
    p = design.shape[1]
    covariance = _inverse(_hessian(model.objective, parameters))
    variance = np.diag(covariance)[used.size - 1 : used.size - 1 + p]
    return OrdinalMixedFit(
        thresholds=model.thresholds(parameters),
        effects=parameters[used.size - 1 : used.size - 1 + p],
        standard_errors=np.sqrt(np.where(variance > 0, variance, np.nan)),
        rater_sd=float(np.exp(parameters[-2])),
        clip_sd=float(np.exp(parameters[-1])),
        log_likelihood=-float(found.fun),
        converged=bool(found.success),
    )


class _Model:
    """Negative Laplace log-likelihood; keeps the last mode of the random effects as the next start."""

    def __init__(self, codes: IntArray, design: FloatArray, rater: IntArray, clip: IntArray, k: int) -> None:
        self.codes, self.design, self.rater, self.clip, self.k = codes, design, rater, clip, k
        self.num_raters, self.num_clips = int(rater.max()) + 1, int(clip.max()) + 1
        self.mode = np.zeros(self.num_raters + self.num_clips)

    def start(self) -> FloatArray:
        """Thresholds from the pooled shares, no effects, moderate spread."""
        shares = np.cumsum(np.bincount(self.codes, minlength=self.k) / self.codes.size)[:-1]
        theta = np.log(shares / (1 - shares))
        gaps = np.log(np.maximum(np.diff(theta), 1e-3))
        return np.concatenate([theta[:1], gaps, np.zeros(self.design.shape[1]), np.log([0.7, 0.7])])

    def thresholds(self, parameters: FloatArray) -> FloatArray:
        """Theta from the first one and the logarithms of the gaps."""
        return np.cumsum(np.concatenate([parameters[:1], np.exp(parameters[1 : self.k - 1])]))

    def objective(self, parameters: FloatArray) -> float:
        """Minus the Laplace log-likelihood."""
        edges = np.concatenate([[-np.inf], self.thresholds(parameters), [np.inf]])
        fixed = self.design @ parameters[self.k - 1 : -2]
        precision = np.exp(-2 * parameters[-2:])
        prior = np.repeat(precision, [self.num_raters, self.num_clips])
        mode = self.mode
        value, upper, lower = self._value(mode, fixed, edges, prior)
        hessian = np.diag(prior)
        for _ in range(MAX_NEWTON):
            slope = expit(upper) + expit(lower) - 1.0
            gradient = prior * mode - self._gather(slope)
            hessian = self._curvature(upper, lower, prior)
            step = linalg.solve(hessian, gradient, assume_a="pos")
            size = 1.0
            while True:
                trial = mode - size * step
                new, new_upper, new_lower = self._value(trial, fixed, edges, prior)
                if new <= value + 1e-12 or size < 1e-4:
                    break
                size /= 2
            gain, mode, value, upper, lower = value - new, trial, new, new_upper, new_lower
            if gain < 1e-10:
                break
        self.mode = mode
        hessian = self._curvature(upper, lower, prior)
        _, log_det = np.linalg.slogdet(hessian)
        return value - 0.5 * float(np.log(prior).sum()) + 0.5 * float(log_det)

    def _value(
        self, mode: FloatArray, fixed: FloatArray, edges: FloatArray, prior: FloatArray
    ) -> tuple[float, FloatArray, FloatArray]:
        eta = fixed + mode[self.rater] + mode[self.num_raters + self.clip]
        upper, lower = edges[self.codes + 1] - eta, edges[self.codes] - eta
        # log(F(a) - F(c)) = log F(a) + log F(-c) + log(1 - exp(c - a)); exact also far out in the tails.
        log_p = -np.logaddexp(0, -upper) - np.logaddexp(0, lower)
        log_p = log_p + np.log(-np.expm1(np.minimum(lower - upper, -1e-12)))
        return -float(log_p.sum()) + 0.5 * float((prior * mode**2).sum()), upper, lower

    def _gather(self, values: FloatArray) -> FloatArray:
        by_rater: FloatArray = np.bincount(self.rater, values, minlength=self.num_raters).astype(np.float64)
        by_clip: FloatArray = np.bincount(self.clip, values, minlength=self.num_clips).astype(np.float64)
        return np.concatenate([by_rater, by_clip])

    def _curvature(self, upper: FloatArray, lower: FloatArray, prior: FloatArray) -> FloatArray:
        weight = expit(upper) * expit(-upper) + expit(lower) * expit(-lower)
        matrix = np.diag(prior + self._gather(weight))
        cross = np.bincount(self.rater * self.num_clips + self.clip, weight, minlength=self.num_raters * self.num_clips)
        block = cross.reshape(self.num_raters, self.num_clips)
        matrix[: self.num_raters, self.num_raters :] = block
        matrix[self.num_raters :, : self.num_raters] = block.T
        return matrix


def _hessian(function: Any, at: FloatArray, step: float = 1e-3) -> FloatArray:
    """Central differences."""
    n = at.size
    matrix = np.zeros((n, n))
    unit = np.eye(n) * step
    for i in range(n):
        for j in range(i, n):
            matrix[i, j] = matrix[j, i] = (
                function(at + unit[i] + unit[j])
                - function(at + unit[i] - unit[j])
                - function(at - unit[i] + unit[j])
                + function(at - unit[i] - unit[j])
            ) / (4 * step**2)
    return matrix


def _inverse(matrix: FloatArray) -> FloatArray:
    try:
        return np.linalg.inv(matrix)
    except np.linalg.LinAlgError:
        return np.full_like(matrix, np.nan)
