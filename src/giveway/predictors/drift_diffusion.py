"""A drift-diffusion baseline: evidence for going grows until it reaches a bound, or E arrives first."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from giveway.core import elementary
from giveway.core.arrays import BoolArray, FloatArray
from giveway.core.predictions import QUANTILES, OutputKind, TimeDistribution
from giveway.core.samples import GapInputs, GapSamples
from giveway.predictors.checkpoints import load_fields, save_fields
from giveway.predictors.logistic_regression import require_both_classes
from giveway.predictors.newton import stationary
from giveway.predictors.protocol import PredictorInfo

LAPSE = 0.02  # share of decisions made by chance; keeps the likelihood of outliers finite
MAX_GAP_S = 20.0  # a standing E offers an endless gap; more than this changes nothing
MIN_SPEED_MPS = 0.1
RIDGE = 1e-3
MAX_NON_DECISION_S = 2.0
BISECTIONS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedDriftDiffusion:
    """Attributes:
    info: fact sheet.
    mean, scale: (F,) of the training features.
    weight: (F + 1,) drift per standardized feature, intercept first.
    bound: evidence needed to go.
    non_decision_s: time from the decision to the contested space that no evidence shortens [s].
    """

    info: PredictorInfo
    mean: FloatArray
    scale: FloatArray
    weight: FloatArray
    bound: float
    non_decision_s: float

    def predict(self, inputs: GapInputs, rng: np.random.Generator) -> TimeDistribution:
        """P(bound reached before the horizon) and the deciles of the time given that; draws nothing."""
        drift = _drift(_design(_features(inputs), self.mean, self.scale), self.weight)
        thinking = np.maximum(inputs.num_predict * inputs.dt_s - self.non_decision_s, 0.0)
        reached = first_passage_cdf(thinking, drift, self.bound)
        quantiles = _quantiles(thinking, drift, self.bound, reached) + self.non_decision_s
        return TimeDistribution(p=(1 - LAPSE) * reached + LAPSE / 2, quantile_s=quantiles)

    def save(self, folder: Path) -> None:
        """All parameters as plain arrays."""
        save_fields(folder, self)


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftDiffusion:
    """Recipe: a Wiener process with drift and one bound, fitted by maximum likelihood.

    ::

        dX = mu dt + dW,  X(0) = 0;  T enters at t_A = tau + inf{t: X(t) = b}
        mu = w . (1, gap [s], distance of E, distance of T, speed of T), standardized
        accepted:  (1 - l) f(t_A - tau) + l / (2 h)      f: inverse Gaussian density
        rejected:  (1 - l) (1 - F(h - tau)) + l / 2      F: its (defective) distribution, h: horizon n_pred dt

    With a negative drift the bound may never be reached, which is how gaps are rejected for good. The drift is constant
    over a sample; models with a drift that follows the shrinking gap (Zgonnikov, Abbink, Markkula 2022) have no closed
    form. A small ridge on w keeps separable training sets finite.

    Reference:
        First passage of Brownian motion with drift: Schrodinger 1915; Folks and Chhikara 1978.
    """

    info: PredictorInfo

    def fit(self, samples: GapSamples, rng: np.random.Generator) -> FittedDriftDiffusion:
        """Maximize the likelihood of acceptance times and rejections.

        Raises:
            PredictionError: if the samples are all accepted or all rejected.
        """
        from scipy.optimize import minimize

        require_both_classes(self.info.name, samples)
        features = _features(samples.inputs)
        scale = features.std(axis=0)
        scale = np.where(scale > 1e-9, scale, 1.0)
        mean = features.mean(axis=0)
        design = _design(features, mean, scale)
        horizon = samples.inputs.num_predict * samples.inputs.dt_s
        accepted, t_accept = samples.truth.accepted, samples.truth.t_accept_s

        problem = _Problem(
            design=design,
            accepted=accepted,
            t_accept=t_accept,
            horizon=horizon,
            floor=LAPSE / 2 / np.maximum(horizon, samples.inputs.dt_s),
        )
        start = np.concatenate([np.zeros(design.shape[1]), [0.5, 0.0]])
        bounds = np.array([(-20.0, 20.0)] * design.shape[1] + [(-3.0, 4.0), (-6.0, 6.0)])
        best = minimize(problem.loss, start, jac=True, method="L-BFGS-B", bounds=bounds)
        weight, bound, shift = _unpack(stationary(problem.loss, best.x, bounds))
        return FittedDriftDiffusion(
            info=self.info, mean=mean, scale=scale, weight=weight, bound=bound, non_decision_s=shift
        )

    def load(self, folder: Path) -> FittedDriftDiffusion:
        """Read what :meth:`FittedDriftDiffusion.save` wrote."""
        return load_fields(folder, FittedDriftDiffusion, self.info)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Problem:
    """The likelihood of one training set; attributes as in :meth:`DriftDiffusion.fit`, (N, F + 1) and (N,)."""

    design: FloatArray
    accepted: BoolArray
    t_accept: FloatArray
    horizon: FloatArray
    floor: FloatArray

    def loss(self, parameters: FloatArray) -> tuple[float, FloatArray]:
        """Mean negative log likelihood with ridge, and its gradient.

        With x = b - mu t, R = exp(2 mu b) Phi(-(mu t + b) / sqrt(t)) and f the density::

            f_mu = f x    f_b = f (1/b - x/t)                    f_t = f (-1.5/t + x mu/t + x²/(2 t²))
            F_mu = 2 b R  F_b = 2 mu R - 2 phi((mu t - b)/sqrt(t)) / sqrt(t)               F_t = f
        """
        weight, bound, shift = _unpack(parameters)
        drift = _drift(self.design, weight)
        entered = self.accepted
        t = np.where(entered, self.t_accept, self.horizon) - shift
        alive = t > 0
        t = np.where(alive, t, 1.0)
        x = bound - drift * t
        density = first_passage_density(t, drift, bound)
        reached = first_passage_cdf(t, drift, bound)
        again = _reflected(t, drift, bound)
        slope = elementary.exp(-(x**2) / (2 * t)) * np.sqrt(2 / (np.pi * t))
        by_drift = np.where(entered, density * x, -2 * bound * again)
        by_bound = np.where(entered, density * (1 / bound - x / t), slope - 2 * drift * again)
        by_time = np.where(entered, density * (-1.5 / t + x * drift / t + x**2 / (2 * t**2)), -density)
        value = np.where(entered, density, 1 - reached)
        value = np.where(alive, value, np.where(entered, 0.0, 1.0))
        likelihood = (1 - LAPSE) * value + np.where(entered, self.floor, LAPSE / 2)
        factor = -(1 - LAPSE) * alive / (likelihood * len(t))
        gradient = np.concatenate(
            [
                (self.design * (factor * by_drift)[:, None]).sum(axis=0),
                [(factor * by_bound).sum() * bound],
                [-(factor * by_time).sum() * shift * (1 - shift / MAX_NON_DECISION_S)],
            ]
        )
        gradient[1 : len(weight)] += 2 * RIDGE * weight[1:]
        return float(-elementary.log(likelihood).mean() + RIDGE * (weight[1:] ** 2).sum()), gradient


def _drift(design: FloatArray, weight: FloatArray) -> FloatArray:
    return (design * weight).sum(axis=1)  # not BLAS: its order of addition depends on the processor


def first_passage_density(t: FloatArray, drift: FloatArray, bound: float) -> FloatArray:
    """Density of the first time a Wiener process with this drift reaches ``bound`` > 0; 0 at t <= 0."""
    safe = np.where(t > 0, t, 1.0)
    spread = elementary.log(bound) - 0.5 * elementary.log(2 * np.pi * (safe * safe * safe))
    return np.where(t > 0, elementary.exp(spread - (bound - drift * safe) ** 2 / (2 * safe)), 0.0)


def first_passage_cdf(t: FloatArray, drift: FloatArray, bound: float) -> FloatArray:
    """Probability that the bound is reached by t; tends to exp(2 drift bound) < 1 for negative drift."""
    from scipy.special import ndtr

    safe = np.where(t > 0, t, 1.0)
    direct = ndtr((drift * safe - bound) / np.sqrt(safe))
    return np.where(t > 0, np.clip(direct + _reflected(safe, drift, bound), 0.0, 1.0), 0.0)


def _reflected(t: FloatArray, drift: FloatArray, bound: float) -> FloatArray:
    """exp(2 mu b) Phi(-(mu t + b) / sqrt(t)) for t > 0, without overflow."""
    from scipy.special import log_ndtr

    return elementary.exp(2 * drift * bound + log_ndtr(-(drift * t + bound) / np.sqrt(t)))


def _quantiles(limit: FloatArray, drift: FloatArray, bound: float, reached: FloatArray) -> FloatArray:
    """(N, 9) times at which the distribution cut at ``limit`` takes the decile values; NaN where it has no mass."""
    wanted = reached[:, None] * QUANTILES
    low = np.zeros_like(wanted)
    high = np.broadcast_to(limit[:, None], wanted.shape).copy()
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        below = first_passage_cdf(middle, drift[:, None], bound) < wanted
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.where(reached[:, None] > 0, high, np.nan)


def _unpack(parameters: FloatArray) -> tuple[FloatArray, float, float]:
    shift = MAX_NON_DECISION_S / (1 + elementary.exp(-parameters[-1]))
    return parameters[:-2], float(elementary.exp(parameters[-2])), float(shift)


def _features(inputs: GapInputs) -> FloatArray:
    """(N, 4) gap in seconds, distance of E, distance of T, speed of T, at t_0."""
    d_c, d_a = inputs.distance[:, 0], inputs.distance[:, 1]
    speed_e = np.maximum((d_c[:, -2] - d_c[:, -1]) / inputs.dt_s, MIN_SPEED_MPS)
    speed_t = (d_a[:, -2] - d_a[:, -1]) / inputs.dt_s
    gap = np.clip(d_c[:, -1] / speed_e, 0.0, MAX_GAP_S)
    return np.nan_to_num(np.stack([gap, d_c[:, -1], d_a[:, -1], speed_t], axis=1), nan=0.0)


def _design(features: FloatArray, mean: FloatArray, scale: FloatArray) -> FloatArray:
    return np.concatenate([np.ones((len(features), 1)), (features - mean) / scale], axis=1)


DDM = DriftDiffusion(
    info=PredictorInfo(
        name="DDM",
        title="DDM",
        gives=OutputKind.TIME,
        reads=frozenset({"distances"}),
        takes=frozenset({"gaps"}),
        learns=True,
        history_s=0.2,
        references=(
            "A. Zgonnikov, D. Abbink, G. Markkula, Should I stay or should I go? Cognitive modeling of left-turn gap "
            "acceptance decisions in human drivers, Human Factors 2022",
            "J. L. Folks, R. S. Chhikara, The inverse Gaussian distribution and its statistical application, "
            "J. R. Stat. Soc. B 40, 1978",
        ),
    )
)
"""Drift diffusion with one bound."""
