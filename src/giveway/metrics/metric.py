"""What a metric is: a function with a fact sheet.

A metric that decomposes returns one value per sample; its value is their mean, and intervals and paired tests work
on them directly. One that does not (AUC, calibration error) is a function of labels and predicted probabilities; those
two arrays are what resampling needs. Either way :meth:`Metric.resampler` gives the value for any selection of samples.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray, IntArray
from giveway.core.errors import PredictionError
from giveway.core.predictions import OutputKind, Prediction, Probability, TimeDistribution, Trajectories
from giveway.core.samples import GapTruth

Better = Literal["higher", "lower"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricInfo:
    """Fact sheet.

    Attributes:
        name: registered name.
        title: how tables print it; LaTeX mathematics is allowed inside dollar signs.
        formula: one line in plain text.
        unit: SI unit, empty for a pure number.
        better: direction.
        range: smallest and largest possible value.
        needs: least kind of output it can be computed from.
        version: counts up when the definition changes; old numbers are then shown as old.
        reference: where it is defined, and in what we differ.
        prediction_times: choices of t_0 at which the papers report it.
    """

    name: str
    title: str
    formula: str
    unit: str
    better: Better
    range: tuple[float, float]
    needs: OutputKind
    version: int
    reference: str
    prediction_times: tuple[str, ...] = ()

    def orient(self, value: float) -> float:
        """The value with its sign chosen so that larger is better."""
        return value if self.better == "higher" else -value


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricValue:
    """What a metric returns.

    Attributes:
        metric: name.
        version: of the definition.
        value: NaN where undefined, with the reason in ``note``.
        num_samples: samples that entered.
        per_sample: (N,) NaN where a sample is excluded; None if the metric does not decompose.
        note: why the value is undefined or special.
    """

    metric: str
    version: int
    value: float
    num_samples: int
    per_sample: FloatArray | None = None
    note: str = ""


Compute = Callable[[GapTruth, Prediction], MetricValue]
Resampler = Callable[[IntArray], float]
Score = Callable[[BoolArray, FloatArray], float]
PerSample = Callable[[GapTruth, Prediction], FloatArray]


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A registered metric; call it with truth and prediction.

    Attributes:
        info: fact sheet.
        compute: the measure itself.
        score: for measures that do not decompose, the function of (accepted, p); None otherwise.
    """

    info: MetricInfo
    compute: Compute
    score: Score | None = None

    def __call__(self, truth: GapTruth, prediction: Prediction) -> MetricValue:
        """Value over all samples.

        Raises:
            PredictionError: wrong kind or shape, NaN, or probabilities outside [0, 1].
        """
        return self.compute(truth, prediction)

    def resampler(self, truth: GapTruth, prediction: Prediction) -> Resampler:
        """A function from sample indices (repetitions allowed) to the value of the metric on them."""
        if self.score is not None:
            return score_resampler(self.score, truth.accepted, probability_of(prediction, truth))
        per_sample = self.compute(truth, prediction).per_sample
        assert per_sample is not None
        return mean_resampler(per_sample)


def score_metric(**facts: object) -> Callable[[Score], Metric]:
    """Make a metric of a function (accepted, p) -> value; both classes must be present, else it is undefined."""
    info = MetricInfo(needs=OutputKind.PROBABILITY, **facts)  # pyright: ignore[reportArgumentType]

    def wrap(score: Score) -> Metric:
        def compute(truth: GapTruth, prediction: Prediction) -> MetricValue:
            p = probability_of(prediction, truth)
            value = score(truth.accepted, p)
            note = "" if math.isfinite(value) else _missing_class(truth.accepted)
            return MetricValue(metric=info.name, version=info.version, value=value, num_samples=p.size, note=note)

        return Metric(info=info, compute=_documented(compute, score), score=score)

    return wrap


def sample_metric(**facts: object) -> Callable[[PerSample], Metric]:
    """Make a metric of a function (truth, prediction) -> (N,) values, NaN where a sample is excluded."""
    info = MetricInfo(**facts)  # pyright: ignore[reportArgumentType]

    def wrap(per_sample: PerSample) -> Metric:
        def compute(truth: GapTruth, prediction: Prediction) -> MetricValue:
            values = per_sample(truth, prediction)
            included = np.isfinite(values)
            count = int(included.sum())
            return MetricValue(
                metric=info.name,
                version=info.version,
                value=float(values[included].mean()) if count else math.nan,
                num_samples=count,
                per_sample=values,
                note="" if count else "no sample can be measured",
            )

        return Metric(info=info, compute=_documented(compute, per_sample))

    return wrap


def score_resampler(score: Score, accepted: BoolArray, p: FloatArray) -> Resampler:
    """See :meth:`Metric.resampler`; for values read back from a store."""
    return lambda index: score(accepted[index], p[index])


def mean_resampler(per_sample: FloatArray) -> Resampler:
    """See :meth:`Metric.resampler`; excluded samples stay excluded."""

    def value(index: IntArray) -> float:
        chosen = per_sample[index]
        chosen = chosen[np.isfinite(chosen)]
        return float(chosen.mean()) if chosen.size else math.nan

    return value


def probability_of(prediction: Prediction, truth: GapTruth) -> FloatArray:
    """(N,) checked acceptance probabilities.

    Raises:
        PredictionError: if the prediction has none, or they are not N finite numbers in [0, 1].
    """
    if isinstance(prediction, Trajectories):
        raise PredictionError(
            "this metric needs acceptance probabilities",
            found="trajectories",
            hint="convert the prediction first (paths to probability)",
        )
    assert isinstance(prediction, Probability | TimeDistribution)
    p = np.asarray(prediction.p, dtype=np.float64)
    num_samples = truth.accepted.size
    if p.shape != (num_samples,):
        raise PredictionError(
            "a prediction has the wrong shape", found=f"p of shape {p.shape} for {num_samples} samples"
        )
    if not np.all((p >= 0) & (p <= 1)):
        bad = int(np.flatnonzero(~((p >= 0) & (p <= 1)))[0])
        raise PredictionError(
            "acceptance probabilities must be numbers between 0 and 1",
            where=f"sample {bad}",
            found=p[bad],
            hint="check the model's predict",
        )
    return p


def times_of(prediction: Prediction, truth: GapTruth) -> TimeDistribution:
    """The prediction as checked time distribution.

    Raises:
        PredictionError: if it is of another kind or malformed.
    """
    if not isinstance(prediction, TimeDistribution):
        raise PredictionError(
            "this metric needs a distribution of acceptance times",
            found=type(prediction).__name__,
            hint="convert the prediction first",
        )
    p = probability_of(prediction, truth)
    quantile_s = np.asarray(prediction.quantile_s, dtype=np.float64)
    if quantile_s.shape != (p.size, 9):
        raise PredictionError(
            "a prediction has the wrong shape", found=f"quantiles of shape {quantile_s.shape}, expected ({p.size}, 9)"
        )
    if np.any(np.diff(quantile_s, axis=1) < 0):
        bad = int(np.flatnonzero(np.any(np.diff(quantile_s, axis=1) < 0, axis=1))[0])
        raise PredictionError("quantiles of a time must not decrease", where=f"sample {bad}", found=quantile_s[bad])
    return TimeDistribution(p=p, quantile_s=quantile_s)


def paths_of(prediction: Prediction, truth: GapTruth) -> Trajectories:
    """The prediction as checked set of paths, finite on every step with ground truth.

    Raises:
        PredictionError: if it is of another kind or malformed.
    """
    if not isinstance(prediction, Trajectories):
        raise PredictionError(
            "this metric needs predicted paths", found=type(prediction).__name__, hint="convert the prediction first"
        )
    xy = prediction.xy
    needed = int(truth.num_observed.max(initial=0))
    if xy.ndim != 4 or xy.shape[0] != truth.accepted.size or xy.shape[3] != 2 or xy.shape[1] == 0:
        raise PredictionError(
            "a prediction has the wrong shape",
            found=f"paths of shape {xy.shape}, expected ({truth.accepted.size}, n_p, steps, 2)",
        )
    if xy.shape[2] < needed:
        raise PredictionError(
            "predicted paths are too short", found=f"{xy.shape[2]} steps", hint=f"{needed} steps have ground truth"
        )
    if not math.isclose(prediction.dt_s, truth.dt_s):
        raise PredictionError(
            "predicted paths have another time step", found=f"{prediction.dt_s} s, ground truth {truth.dt_s} s"
        )
    return prediction


def _missing_class(accepted: BoolArray) -> str:
    if accepted.size == 0:
        return "no samples"
    return "only accepted samples" if accepted.all() else "only rejected samples" if not accepted.any() else "undefined"


def _documented(compute: Compute, source: Callable[..., object]) -> Compute:
    compute.__doc__, compute.__name__ = source.__doc__, getattr(source, "__name__", "metric")
    return compute
