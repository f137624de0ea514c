"""Published reference values, to be shown beside ours where the data are the published ones."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from giveway.metrics import PAPER_FORMS, PRINTED_FORMS


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedValue:
    """Mean and deviation (divisor 10) over ten random splits, and the value on the critical split."""

    mean: float
    sd: float
    critical: float


def published_value(*, metric: str, t0: str, dataset: str, model: str, n_input: int) -> PublishedValue | None:
    """The published numbers of one table cell, or None if the papers have none.

    Args:
        metric: registered name; the published form of a metric stands for the metric itself.
        t0: prediction time.
        dataset: name of the extraction, e.g. ``"round_2v"``.
        model: registered name.
        n_input: n_I.
    """
    plain = {form: name for forms in (PAPER_FORMS, PRINTED_FORMS) for name, form in forms.items()}.get(metric, metric)
    found = _values().get(plain, {}).get(t0, {}).get(dataset, {}).get(model, {}).get(str(n_input))
    return None if found is None else PublishedValue(mean=found[0], sd=found[1], critical=found[2])


@cache
def _values() -> dict[str, dict[str, dict[str, dict[str, dict[str, list[float]]]]]]:
    text = files("giveway.gaps").joinpath("published.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)
