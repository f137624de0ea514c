"""Logistic regression on positions (2D) or distances (1D)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.errors import MissingDependencyError, PredictionError
from giveway.core.predictions import OutputKind, Probability
from giveway.core.samples import GapInputs, GapSamples
from giveway.predictors.checkpoints import load_fields, save_fields
from giveway.predictors.protocol import PredictorInfo

PENALTY = 0.01
INVERSE_PENALTY = 1.0 / (PENALTY + 1e-7)  # C of the published code, about 100
MAX_ITERATIONS = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedLogisticRegression:
    """Attributes:
    info: fact sheet.
    mean: (F,) training mean of every feature.
    weight: (F,) and ``intercept``: of the centered features.
    num_input: n_I it was fitted with.
    """

    info: PredictorInfo
    mean: FloatArray
    weight: FloatArray
    intercept: float
    num_input: int

    def predict(self, inputs: GapInputs, rng: np.random.Generator) -> Probability:
        """P(accept) = 1 / (1 + exp(-(w . (x - mean) + b))); draws nothing."""
        from scipy.special import expit

        features = features_of(inputs, _form(self.info), self.num_input)
        if features.shape[1] != len(self.mean):
            raise PredictionError(
                f"{self.info.name} was fitted on other agents",
                found=f"{features.shape[1]} features instead of {len(self.mean)}",
                hint="fit and predict with samples of the same extraction",
            )
        centered = np.nan_to_num(features - self.mean, nan=0.0)
        return Probability(p=expit((centered * self.weight).sum(axis=1) + self.intercept))

    def save(self, folder: Path) -> None:
        """Mean, weights and intercept as plain arrays."""
        save_fields(folder, self)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogisticRegressionRecipe:
    """L2-penalized logistic regression, centered but not scaled.

        minimize 0.5 |w|^2 + C sum_i log(1 + exp(-y_i (w . (x_i - mean) + b))),   C = 1/(0.01 + 1e-7), y_i = +-1

    Features: all coordinates of all agents at all input steps (2D, agent and coordinate major, time minor), or the
    seven distances (1D). Missing values are replaced by the mean. The intercept is not penalized, classes are not
    weighted. With unscaled meters and a penalty the result depends on the coordinates.

    Reference:
        Schumann et al. 2023 (supplement). Differs from it in: nothing.
    """

    info: PredictorInfo

    def fit(self, samples: GapSamples, rng: np.random.Generator) -> FittedLogisticRegression:
        """Fit by L-BFGS.

        Raises:
            PredictionError: if the samples are all accepted or all rejected.
        """
        try:
            from sklearn.linear_model import LogisticRegression
        except ImportError as error:
            raise MissingDependencyError("sklearn", extra="models", purpose="logistic regression") from error
        accepted = samples.truth.accepted
        require_both_classes(self.info.name, samples)
        features = features_of(samples.inputs, _form(self.info), samples.inputs.num_input)
        mean = np.zeros(features.shape[1])
        present = ~np.isnan(features).all(axis=0)
        mean[present] = np.nanmean(features[:, present], axis=0)
        centered = np.nan_to_num(features - mean, nan=0.0)
        regression = LogisticRegression(C=INVERSE_PENALTY, solver="lbfgs", max_iter=MAX_ITERATIONS)
        regression.fit(centered, accepted.astype(np.int64))
        return FittedLogisticRegression(
            info=self.info,
            mean=mean,
            weight=np.asarray(regression.coef_, dtype=float)[0],
            intercept=float(np.asarray(regression.intercept_)[0]),
            num_input=samples.inputs.num_input,
        )

    def load(self, folder: Path) -> FittedLogisticRegression:
        """Read what :meth:`FittedLogisticRegression.save` wrote."""
        return load_fields(folder, FittedLogisticRegression, self.info)


def require_both_classes(model: str, samples: GapSamples) -> None:
    """Refuse to learn from one class.

    Raises:
        PredictionError: with the counts.
    """
    accepted = int(samples.truth.accepted.sum())
    if accepted in (0, samples.num_samples):
        raise PredictionError(
            f"{model} cannot learn from one class only",
            where=f"{samples.dataset}, {samples.prediction_time} gaps, training part",
            found=f"{accepted} accepted, {samples.num_samples - accepted} rejected",
            hint="use more recordings, or another prediction time or split",
        )


def _form(info: PredictorInfo) -> Literal["1d", "2d"]:
    return "2d" if "positions" in info.reads else "1d"


def features_of(inputs: GapInputs, uses: Literal["1d", "2d"], num_input: int) -> FloatArray:
    """(N, F) features; inputs shorter than ``num_input`` are right-aligned and padded with NaN."""
    if uses == "2d":
        blocks = inputs.xy.transpose(0, 1, 3, 2).reshape(inputs.num_samples, -1, inputs.num_input)
    else:
        blocks = inputs.distance
    if inputs.num_input < num_input:
        padding = np.full((*blocks.shape[:2], num_input - inputs.num_input), np.nan)
        blocks = np.concatenate([padding, blocks], axis=2)
    return blocks[..., blocks.shape[2] - num_input :].reshape(inputs.num_samples, -1)


_REFERENCES = (
    "J. F. Schumann et al., Using Models Based on Cognitive Theory to Predict Human Behavior in Traffic, 2023",
)

LR_1D = LogisticRegressionRecipe(
    info=PredictorInfo(
        name="LR_1D",
        title="LR_{1D}",
        gives=OutputKind.PROBABILITY,
        reads=frozenset({"distances"}),
        takes=frozenset({"gaps"}),
        learns=True,
        references=_REFERENCES,
    )
)
"""On the seven distances."""

LR_2D = LogisticRegressionRecipe(
    info=PredictorInfo(
        name="LR_2D",
        title="LR_{2D}",
        gives=OutputKind.PROBABILITY,
        reads=frozenset({"positions", "others"}),
        takes=frozenset({"gaps"}),
        learns=True,
        references=_REFERENCES,
    )
)
"""On all positions."""
