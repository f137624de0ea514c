"""A drift-diffusion baseline: evidence for going grows until it reaches a bound, or E arrives first."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.predictions import QUANTILES, OutputKind, TimeDistribution
from giveway.core.samples import GapInputs, GapSamples
from giveway.models.logistic_regression import require_both_classes
from giveway.models.npz import load_arrays, save_arrays
from giveway.models.protocol import PredictorInfo

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
        drift = _design(_features(inputs), self.mean, self.scale) @ self.weight
        thinking = np.maximum(inputs.num_predict * inputs.dt_s - self.non_decision_s, 0.0)
        reached = first_passage_cdf(thinking, drift, self.bound)
        quantiles = _quantiles(thinking, drift, self.bound, reached) + self.non_decision_s
        return TimeDistribution(p=(1 - LAPSE) * reached + LAPSE / 2, quantile_s=quantiles)

    def save(self, folder: Path) -> None:
        """All parameters as plain arrays."""
        save_arrays(
            folder,
            kind=self.info.name,
            arrays={
                "mean": self.mean,
                "scale": self.scale,
                "weight": self.weight,
                "bound": np.array(self.bound),
                "non_decision_s": np.array(self.non_decision_s),
            },
        )


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

        def loss(parameters: FloatArray) -> float:
            weight, bound, shift = _unpack(parameters)
            drift = design @ weight
            late = np.maximum(horizon - shift, 0.0)
            density = first_passage_density(np.maximum(t_accept - shift, 0.0), drift, bound)
            likelihood = np.where(
                accepted,
                (1 - LAPSE) * density + LAPSE / 2 / np.maximum(horizon, samples.inputs.dt_s),
                (1 - LAPSE) * (1 - first_passage_cdf(late, drift, bound)) + LAPSE / 2,
            )
            return float(-np.log(likelihood).mean() + RIDGE * (weight[1:] ** 2).sum())

        start = np.concatenate([np.zeros(design.shape[1]), [0.5, 0.0]])
        best = minimize(loss, start, method="L-BFGS-B", bounds=[(-20, 20)] * design.shape[1] + [(-3, 4), (-6, 6)])
        weight, bound, shift = _unpack(best.x)
        return FittedDriftDiffusion(
            info=self.info, mean=mean, scale=scale, weight=weight, bound=bound, non_decision_s=shift
        )

    def load(self, folder: Path) -> FittedDriftDiffusion:
        """Read what :meth:`FittedDriftDiffusion.save` wrote."""
        names = ("mean", "scale", "weight", "bound", "non_decision_s")
        arrays = load_arrays(folder, kind=self.info.name, names=names)
        return FittedDriftDiffusion(
            info=self.info,
            mean=arrays["mean"],
            scale=arrays["scale"],
            weight=arrays["weight"],
            bound=float(arrays["bound"]),
            non_decision_s=float(arrays["non_decision_s"]),
        )


def first_passage_density(t: FloatArray, drift: FloatArray, bound: float) -> FloatArray:
    """Density of the first time a Wiener process with this drift reaches ``bound`` > 0; 0 at t <= 0."""
    safe = np.where(t > 0, t, 1.0)
    log_density = np.log(bound) - 0.5 * np.log(2 * np.pi * safe**3) - (bound - drift * safe) ** 2 / (2 * safe)
    return np.where(t > 0, np.exp(log_density), 0.0)


def first_passage_cdf(t: FloatArray, drift: FloatArray, bound: float) -> FloatArray:
    """Probability that the bound is reached by t; tends to exp(2 drift bound) < 1 for negative drift."""
    from scipy.special import log_ndtr, ndtr

    root = np.sqrt(np.where(t > 0, t, 1.0))
    direct = ndtr((drift * root**2 - bound) / root)
    reflected = np.exp(2 * drift * bound + log_ndtr(-(drift * root**2 + bound) / root))
    return np.where(t > 0, np.clip(direct + reflected, 0.0, 1.0), 0.0)


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
    shift = MAX_NON_DECISION_S / (1 + np.exp(-parameters[-1]))
    return parameters[:-2], float(np.exp(parameters[-2])), float(shift)


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
        output=OutputKind.TIME,
        uses="1d",
        min_input=2,
        references=(
            "A. Zgonnikov, D. Abbink, G. Markkula, Should I stay or should I go? Cognitive modeling of left-turn gap "
            "acceptance decisions in human drivers, Human Factors 2022",
            "J. L. Folks, R. S. Chhikara, The inverse Gaussian distribution and its statistical application, "
            "J. R. Stat. Soc. B 40, 1978",
        ),
    )
)
"""Drift diffusion with one bound."""
