"""``check_metric``: what every metric promises, as a check you can run on your own.

::

    from giveway.testing.metrics import check_metric
    check_metric(my_metric)          # raises AssertionError with the promise that is broken
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from giveway.core.errors import PredictionError
from giveway.core.log import DriveLog
from giveway.core.predictions import QUANTILES, OutputKind, Prediction, Probability, TimeDistribution, Trajectories
from giveway.core.samples import GapTruth
from giveway.core.test_result import TestResult
from giveway.metrics.metric import Metric

TOLERANCE = 1e-12


def example_truth(rng: np.random.Generator, num_samples: int = 60) -> GapTruth:
    """Samples of both classes; the last one has no observed step after t_0."""
    accepted = np.arange(num_samples) % 3 == 0
    num_observed = rng.integers(3, 12, num_samples)
    num_observed[-1] = 0
    steps = int(num_observed.max())
    xy = np.cumsum(rng.normal(1.0, 0.3, (num_samples, steps, 2)), axis=1)
    xy[np.arange(steps) >= num_observed[:, None]] = np.nan
    t_close = 0.2 * np.maximum(num_observed, 1) + 0.5
    return GapTruth(
        accepted=accepted,
        t_accept_s=np.where(accepted, t_close * rng.uniform(0.2, 0.7, num_samples), t_close + 1.0),
        t_close_s=t_close,
        future_xy=xy,
        num_observed=num_observed,
    )


def example_prediction(kind: OutputKind, truth: GapTruth, rng: np.random.Generator, *, noise: float) -> Prediction:
    """A prediction of the truth: exact for ``noise`` 0, without information for 1."""
    p = (1 - noise) * truth.accepted + noise * rng.uniform(size=truth.accepted.size)
    if kind is OutputKind.PROBABILITY:
        return Probability(p=p)
    if kind is OutputKind.TIME:
        width = noise * 2.0
        center = np.where(truth.accepted, truth.t_accept_s, np.nan)
        return TimeDistribution(p=p, quantile_s=center[:, None] + width * (QUANTILES - 0.5))
    shape = (truth.accepted.size, 20, truth.future_xy.shape[1] + 2, 2)
    xy = np.zeros(shape)
    xy[:, :, : shape[2] - 2] = np.nan_to_num(truth.future_xy)[:, None]
    return Trajectories(xy=xy + 5.0 * noise * rng.normal(size=shape), dt_s=truth.dt_s)


def take_prediction(prediction: Prediction, index: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Prediction:
    """Some of the samples of a prediction."""
    if isinstance(prediction, Trajectories):
        return replace(prediction, xy=prediction.xy[index])
    if isinstance(prediction, TimeDistribution):
        return TimeDistribution(p=prediction.p[index], quantile_s=prediction.quantile_s[index])
    assert isinstance(prediction, Probability)
    return Probability(p=prediction.p[index])


def check_metric(metric: Metric, *, seed: int = 0) -> None:
    """Raise AssertionError, naming the promise, if a metric breaks one.

    The promises: the fact sheet is complete; values lie in the stated range; an exact prediction is no worse than a
    noisy one; the order of samples does not matter; inputs are not changed; per-sample values average to
    the value; resampling all samples gives the value; bad predictions raise PredictionError; one class only and no
    sample at all give a number or NaN, never an exception. Of drives and campaigns: values of example logs and results
    lie in the range or are NaN with a note, the same when asked again; logs are not changed.
    """
    info = metric.info
    _promise(bool(info.name and info.title and info.formula and info.reference), "the fact sheet is complete")
    _promise(info.version >= 1 and info.range[0] < info.range[1], "version and range make sense")
    if info.of == "drive":
        for log in example_logs():
            before = log.digest
            _check_measured(metric, log, replace(log))
            _promise(log.digest == before, "logs are not changed")
        return
    if info.of == "campaign":
        for results in ([], example_results(3), example_results(60)):
            _check_measured(metric, results, list(results))
        return
    _promise(info.of == "gaps", "there is a check for metrics of gaps, of drives and of campaigns")
    rng = np.random.default_rng(seed)
    truth = example_truth(rng)
    kind = OutputKind(info.needs)
    exact = metric(truth, example_prediction(kind, truth, rng, noise=0.0))
    noisy_prediction = example_prediction(kind, truth, rng, noise=1.0)
    _check_values(metric, truth, noisy_prediction, exact_value=exact.value)
    _check_order(metric, truth, noisy_prediction, rng)
    _check_bad_input(metric, truth, noisy_prediction)
    for keep in (truth.accepted, ~truth.accepted, np.zeros(truth.accepted.size, dtype=bool)):
        index = np.flatnonzero(keep)
        value = metric(truth.take(index), take_prediction(noisy_prediction, index))
        _promise(
            math.isnan(value.value) == bool(value.note),
            f"an undefined value has a note and a defined one has none (here: {value.value}, {value.note!r})",
        )


def example_logs() -> list[DriveLog]:
    """Drives through a crossing: with predictions and a collision, yielding, without predictions, and a failed one."""
    from giveway.drive.driving import Drive, drive_cases
    from giveway.drive.scenes import GivenScenes
    from giveway.planning.builtin import ConstantSpeedPlanner, LatticePlanner
    from giveway.predictors import make_predictor
    from giveway.testing.drive_scenes import crossing_case, crossing_scene

    source, predictor = GivenScenes({"crossing": crossing_scene()}), make_predictor("constant_velocity")
    driven = [
        found.log
        for planner in (ConstantSpeedPlanner(), LatticePlanner())
        for found in drive_cases([crossing_case(seconds=8.0)], source, predictor=predictor, planner=planner)
        if isinstance(found, Drive)
    ]
    return [*driven, replace(driven[0], predictions=None), replace(driven[1], failed="stopped")]


def example_results(num_tests: int) -> list[TestResult]:
    """Tests of a campaign: failures of all kinds, near misses, contacts, a finding; the first one is uneventful."""
    words = dict.fromkeys(("outcome", "conflict", "sentence", "other"), "")
    facts: dict[str, Any] = {**words, "scene": {}, "violators": (), "min_escape_ratio": 1.0}
    return [
        TestResult(
            number=n,
            genes=(n / num_tests, 0.5),
            failed=n % 3 > 0,
            grade="ABCD"[n % 4] if n % 3 > 0 else "",
            avoidable=n % 3 > 0,
            avoidable_plus=n % 3 > 0,
            near_miss=n % 5 == 1,
            kind=f"front-steady-{n % 4}" if n % 3 > 0 else "",
            finding="raised" if n == 7 else "",
            steps=10 * n,
            min_ttc_s=0.1 * n if n else math.inf,
            impact_speed_mps=0.2 * n if n % 3 == 2 else math.nan,
            infeasible_share=0.01 * (n % 3),
            off_road_share=0.0,
            responsibility_per_100_s=float(n % 7),
            **facts,
        )
        for n in range(num_tests)
    ]


def _check_measured(metric: Metric, measured: Any, same: Any) -> None:
    info, value = metric.info, metric(measured)
    _promise(value.metric == info.name and value.version == info.version, "a value carries name and version")
    _promise(not math.isnan(value.value) or bool(value.note), "an undefined value has a note")
    _promise(
        math.isnan(value.value) or info.range[0] <= value.value <= info.range[1],
        f"values lie in the range {info.range} (found {value.value})",
    )
    _promise(repr(metric(same).value) == repr(value.value), "the same input gives the same value")
    if value.per_item is not None and value.labels:
        _promise(len(value.labels) == value.per_item.size, "one label per item")


def _check_values(metric: Metric, truth: GapTruth, prediction: Prediction, *, exact_value: float) -> None:
    info = metric.info
    before = _bytes(truth, prediction)
    value = metric(truth, prediction)
    _promise(_bytes(truth, prediction) == before, "inputs are not changed")
    _promise(value.metric == info.name and value.version == info.version, "a value carries name and version")
    for number in (value.value, exact_value):
        _promise(info.range[0] <= number <= info.range[1], f"values lie in the range {info.range} (found {number})")
    _promise(info.orient(exact_value) >= info.orient(value.value), "an exact prediction is no worse than a noisy one")
    everything = np.arange(truth.accepted.size)
    _promise(
        abs(metric.resampler(truth, prediction)(everything) - value.value) <= TOLERANCE,
        "resampling all samples gives the value",
    )
    if value.per_item is not None:
        _promise(value.per_item.shape == truth.accepted.shape, "one value per sample")
        _promise(int(np.isfinite(value.per_item).sum()) == value.num_items, "num_items counts finite values")
        _promise(
            abs(float(np.nanmean(value.per_item)) - value.value) <= TOLERANCE, "the value is the mean over samples"
        )


def _check_order(metric: Metric, truth: GapTruth, prediction: Prediction, rng: np.random.Generator) -> None:
    order = rng.permutation(truth.accepted.size)
    there = metric(truth, prediction).value
    shuffled = metric(truth.take(order), take_prediction(prediction, order)).value
    _promise(abs(there - shuffled) <= TOLERANCE, "the order of samples does not matter")


def _check_bad_input(metric: Metric, truth: GapTruth, prediction: Prediction) -> None:
    fewer = take_prediction(prediction, np.arange(truth.accepted.size - 1))
    for bad, what in [(fewer, "a prediction of fewer samples"), (_with_nan(prediction), "NaN in a prediction")]:
        try:
            metric(truth, bad)
        except PredictionError:
            continue
        raise AssertionError(f"{metric.info.name}: {what} must raise PredictionError")


def _with_nan(prediction: Prediction) -> Prediction:
    if isinstance(prediction, Trajectories):
        xy = prediction.xy.copy()
        xy[0, 0, 0, 0] = xy[0, 0, 2:, 0] = np.nan
        return replace(prediction, xy=xy)
    assert isinstance(prediction, Probability | TimeDistribution)
    p = prediction.p.copy()
    p[0] = np.nan
    return replace(prediction, p=p)


def _bytes(truth: GapTruth, prediction: Prediction) -> list[bytes]:
    values = [truth.accepted, truth.t_accept_s, truth.t_close_s, truth.future_xy, truth.num_observed]
    values += [value for name in ("xy", "p") if (value := getattr(prediction, name, None)) is not None]
    return [np.ascontiguousarray(v).tobytes() for v in values]


def _promise(kept: bool, text: str) -> None:
    if not kept:
        raise AssertionError(text)
