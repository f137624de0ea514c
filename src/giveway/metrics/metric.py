"""What a metric is: a plain function with a fact sheet.

::

    @metric(
        name="mean_speed", title="Mean speed", formula="mean of |v| of the ego", unit="m/s", better="higher",
        range=(0.0, math.inf), of="drive", version=1, reference="own",
    )
    def mean_speed(log: DriveLog) -> float:
        return float(log.tracks.speed[log.ego].mean())

A metric of ``gaps`` is a function of (truth, prediction), one of ``drive`` a function of a log, one of ``campaign`` a
function of the results of a chain of tests, one of ``clips`` a function of a clip. It returns a :class:`MetricValue`,
a number, or one number per item, whose mean over the finite ones is then the value. A metric of gaps that does not
decompose (AUC, calibration error; ``decomposes=False``) is a function of labels and predicted probabilities; those two
arrays are what resampling needs. Either way :meth:`Metric.resampler` gives the value for any selection of samples.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray, IntArray
from giveway.core.errors import UsageError
from giveway.core.predictions import Prediction
from giveway.core.samples import GapTruth
from giveway.metrics.predictions import probability_of

Better = Literal["higher", "lower", "neither"]
Of = Literal["gaps", "drive", "campaign", "clips"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricInfo:
    """Fact sheet.

    Attributes:
        name: registered name.
        title: how tables print it; LaTeX mathematics is allowed inside dollar signs.
        formula: one line in plain text.
        unit: SI unit, empty for a pure number.
        better: direction; ``neither`` for counts that only describe.
        range: smallest and largest possible value.
        of: what it measures: outcomes of gaps, a driven case, a campaign or a clip.
        version: counts up when the definition changes; old numbers are then shown as old.
        reference: where it is defined, and in what we differ.
        items: what the values of :attr:`MetricValue.per_item` belong to (``samples``, ``cars``, ``terms``, ...); empty
            if there is one value only.
        needs: gaps: least kind of output it can be computed from; drive: what a log must hold beside motion
            (``predictions``, ``map``, ``recording``).
        column: heading in a leaderboard, the name if None; empty leaves it to the table of all measures.
        prediction_times: choices of t_0 at which the papers report it.
    """

    name: str
    title: str
    formula: str
    unit: str
    better: Better
    range: tuple[float, float]
    of: Of
    version: int
    reference: str
    items: str = ""
    needs: str = ""
    column: str | None = None
    prediction_times: tuple[str, ...] = ()

    @property
    def heading(self) -> str:
        """Heading of its column in a leaderboard; empty if it has none there."""
        return self.name if self.column is None else self.column

    def orient(self, value: float) -> float:
        """The value with its sign chosen so that larger is better."""
        return -value if self.better == "lower" else value


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricValue:
    """What a metric returns.

    Attributes:
        value: NaN where undefined, with the reason in ``note``.
        per_item: (N,) one value per item, NaN where one is excluded; None if there is one value only.
        mask: (N,) items that entered the value; None if there is one value only.
        note: why the value is undefined or special.
        labels: (N,) names of the items, e.g. identifiers of cars; empty if their order says enough.
        metric: registered name; filled in by :class:`Metric`.
        version: of the definition; filled in by :class:`Metric`.
    """

    value: float
    per_item: FloatArray | None = None
    mask: BoolArray | None = None
    note: str = ""
    labels: tuple[str, ...] = ()
    metric: str = ""
    version: int = 0

    @property
    def num_items(self) -> int:
        """Items that entered the value; 1 for a metric with one value only."""
        return 1 if self.mask is None else int(self.mask.sum())

    @property
    def items(self) -> dict[str, float]:
        """Name to value of the items that have one; empty without names."""
        if self.per_item is None or not self.labels:
            return {}
        return dict(zip(self.labels, self.per_item.tolist(), strict=True))


def undefined(note: str) -> MetricValue:
    """A value that does not exist, and why."""
    return MetricValue(value=math.nan, note=note)


Resampler = Callable[[IntArray], float]
Score = Callable[[BoolArray, FloatArray], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A registered metric; call it with what it measures.

    Attributes:
        info: fact sheet.
        function: what was decorated.
        score: for measures of gaps that do not decompose, the function of (accepted, p); None otherwise.
    """

    info: MetricInfo
    function: Callable[..., Any]
    score: Score | None = None

    def __call__(self, *measured: Any) -> MetricValue:
        """Value of (truth, prediction), of a log, of the results of a campaign, or of a clip.

        Raises:
            PredictionError: of gaps: wrong kind or shape, NaN, or probabilities outside [0, 1].
            UsageError: the function returned something else than numbers.
        """
        found = self._of_labels(*measured) if self.score is not None else self.function(*measured)
        return replace(_value(found, self.info), metric=self.info.name, version=self.info.version)

    def resampler(self, truth: GapTruth, prediction: Prediction) -> Resampler:
        """A function from sample indices (repetitions allowed) to the value of a metric of gaps on them."""
        if self.score is not None:
            return score_resampler(self.score, truth.accepted, probability_of(prediction, truth))
        per_sample = self(truth, prediction).per_item
        assert per_sample is not None
        return mean_resampler(per_sample)

    def _of_labels(self, truth: GapTruth, prediction: Prediction) -> MetricValue:
        assert self.score is not None
        p = probability_of(prediction, truth)
        value = self.score(truth.accepted, p)
        note = "" if math.isfinite(value) else _missing_class(truth.accepted)
        return MetricValue(value=value, mask=np.ones(p.shape, dtype=np.bool_), note=note)


def metric(
    *,
    name: str,
    title: str,
    formula: str,
    better: Better,
    range: tuple[float, float],
    of: Of,
    reference: str,
    unit: str = "",
    version: int = 1,
    items: str = "",
    needs: str = "",
    column: str | None = None,
    prediction_times: tuple[str, ...] = (),
    decomposes: bool = True,
) -> Callable[[Callable[..., Any]], Metric]:
    """Make a metric of a plain function; see :class:`MetricInfo` for the facts.

    Args:
        name, title, formula, better, range, of, reference: facts.
        unit, version, items, needs, column, prediction_times: further facts.
        decomposes: False for a metric of gaps that is a function (accepted, p) -> value of all samples together.
    """
    info = MetricInfo(
        name=name,
        title=title,
        formula=formula,
        unit=unit,
        better=better,
        range=range,
        of=of,
        version=version,
        reference=reference,
        items=items,
        needs=str(needs),
        column=column,
        prediction_times=prediction_times,
    )
    return lambda function: Metric(info=info, function=function, score=None if decomposes else function)


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


def _value(found: Any, info: MetricInfo) -> MetricValue:
    """What a function returned, as a value: the mean of one number per item, or the number itself."""
    if isinstance(found, MetricValue):
        return found
    if isinstance(found, np.ndarray) and found.ndim == 1 and found.dtype.kind == "f":
        mask = np.isfinite(found)
        if not mask.any():
            return replace(
                undefined(f"no {info.items.removesuffix('s') or 'item'} can be measured"), per_item=found, mask=mask
            )
        return MetricValue(value=float(found[mask].mean()), per_item=found, mask=mask)
    if isinstance(found, int | float | np.integer | np.floating | np.bool_):
        return MetricValue(value=float(found)) if math.isfinite(found) else undefined("not finite")
    raise UsageError(
        "a metric must return a number, an array of numbers or a MetricValue",
        where=f"metric {info.name!r}",
        found=type(found).__name__,
    )


def _missing_class(accepted: BoolArray) -> str:
    if accepted.size == 0:
        return "no samples"
    return "only accepted samples" if accepted.all() else "only rejected samples" if not accepted.any() else "undefined"
