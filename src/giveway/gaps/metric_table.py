"""The numbers of one table: from the tidy frame of a store to values per dataset, model and input length."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from giveway.core.arrays import FloatArray
from giveway.core.errors import EmptySelectionError, UsageError
from giveway.gaps.judgment import Judgment, judgment_of
from giveway.gaps.naming import dataset_title
from giveway.metrics import PAPER_FORMS, PRINTED_FORMS

NEEDED = (
    "dataset",
    "t0",
    "n_input",
    "split",
    "repetition",
    "model",
    "metric",
    "value",
    "num_samples",
    "metric_version",
)
CRITICAL = "critical"


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which results a table shows; None means all there are.

    Attributes:
        metric: registered name.
        t0: prediction time.
        profile: needed if the frame holds several.
        split: the repeated split of the upper lines.
        models: subset of models.
        datasets: subset of datasets.
        n_inputs: subset of input lengths.
        changes: switches to judge by instead of those of the run, see :mod:`giveway.gaps.judgment`.
    """

    metric: str
    t0: str
    profile: str | None = None
    split: str = "random"
    models: Collection[str] | None = None
    datasets: Collection[str] | None = None
    n_inputs: Collection[int] | None = None
    changes: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """Values of one (dataset, model, n_I).

    Attributes:
        repetition: (R,) numbers of the random splits, ascending.
        value: (R,) metric on them; NaN where undefined.
        critical: metric on the critical split; NaN if there is none.
        num_samples: test samples of a random split (the most common count).
        num_critical: test samples of the critical split.
    """

    repetition: tuple[int, ...]
    value: FloatArray
    critical: float
    num_samples: int
    num_critical: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricTable:
    """Everything one table shows.

    Attributes:
        selection: what was asked for.
        scores: (dataset, model, n_I) to values.
        profile: of the results.
        judgment: how differences between them are judged.
        metric_version: definition of the metric that all values share, the newest there is.
        old_versions: whether numbers of an older definition of the metric were left out.
    """

    selection: Selection
    scores: Mapping[tuple[str, str, int], Scores]
    profile: str
    judgment: Judgment
    metric_version: int
    old_versions: bool


TRIVIAL = ("LR_1D", "LR_2D", "DDM", "CV", "CA")
"""Models that anybody can write down in a line; what they solve is no test of others."""

SATURATED_AUC = 0.98


def saturating(scores: Mapping[str, Scores]) -> list[tuple[float, str]]:
    """Mean AUC and name of the models that leave nothing to tell apart, best first; empty if the cell is not saturated.

    A cell (dataset, prediction time, input length) is saturated if two models, or one of :data:`TRIVIAL`, have a mean
    AUC of at least 0.98 over its splits.
    """
    means = {model: float(np.nanmean(s.value)) for model, s in scores.items() if np.isfinite(s.value).any()}
    top = sorted(((mean, model) for model, mean in means.items() if mean >= SATURATED_AUC), reverse=True)
    return top if len(top) > 1 or any(model in TRIVIAL for _, model in top) else []


def saturation_notes(results: MetricTable) -> list[str]:
    """A sentence for every dataset and input length that is saturated, see :func:`saturating`."""
    if results.selection.metric not in ("auc", *(forms["auc"] for forms in (PAPER_FORMS, PRINTED_FORMS))):
        return []
    cells: dict[tuple[str, int], dict[str, Scores]] = {}
    for (dataset, model, n), scores in results.scores.items():
        cells.setdefault((dataset, n), {})[model] = scores
    found = {cell: saturating(scores) for cell, scores in cells.items()}
    return [
        f"{dataset_title(dataset)}, n_I {n}: saturated, AUC cannot tell models apart here "
        f"({', '.join(f'{model} {value:.3f}' for value, model in top[:3])}); see log loss, the critical split, the "
        "initial gaps."
        for (dataset, n), top in found.items()
        if top
    ]


def select_results(frame: pl.DataFrame, selection: Selection) -> MetricTable:
    """Pick the numbers of a table from a tidy frame (see :func:`giveway.experiments.collect`).

    Raises:
        EmptySelectionError: if nothing is left, naming the filter that removed the last rows.
        UsageError: if the frame holds several results for one place of the table.
    """
    missing = [name for name in NEEDED if name not in frame.columns]
    if missing:
        raise EmptySelectionError(
            "there are no benchmark results to tabulate",
            found=f"{frame.height} rows without the columns {', '.join(missing)}",
            hint="give the folder of a finished benchmark run",
        )
    kept, profile = _one_profile(frame, selection)  # before the metric, whose name may tell profiles apart
    kept = _filter(kept, selection)
    newest = max(kept["metric_version"])
    current = kept.filter(pl.col("metric_version") == newest)
    _refuse_duplicates(current)
    scores: dict[tuple[str, str, int], Scores] = {}
    for key, group in current.group_by("dataset", "model", "n_input", maintain_order=True):
        scores[str(key[0]), str(key[1]), int(str(key[2]))] = _scores(group, selection.split)
    return MetricTable(
        selection=selection,
        scores=scores,
        profile=profile,
        judgment=judgment_of(current, profile, selection.changes),
        metric_version=int(newest),
        old_versions=current.height < kept.height,
    )


def _filter(frame: pl.DataFrame, selection: Selection) -> pl.DataFrame:
    steps: list[tuple[str, pl.Expr]] = [
        (f"metric {selection.metric}", pl.col("metric") == selection.metric),
        (f"t0 {selection.t0}", pl.col("t0") == selection.t0),
        (f"split {selection.split} or {CRITICAL}", pl.col("split").is_in([selection.split, CRITICAL])),
    ]
    for name, wanted in (("model", selection.models), ("dataset", selection.datasets), ("n_input", selection.n_inputs)):
        if wanted is not None:
            steps.append((f"{name} in {', '.join(map(str, wanted))}", pl.col(name).is_in(list(wanted))))
    kept = frame
    removed: list[str] = []
    for label, condition in steps:
        before = kept.height
        kept = kept.filter(condition)
        removed.append(f"{label}: {before} -> {kept.height}")
        if kept.height == 0:
            metrics = sorted({str(m) for m in frame["metric"].drop_nulls()})
            raise EmptySelectionError(
                "no results are left for this table",
                found="rows " + "; ".join(removed),
                hint=f"metrics in this store: {', '.join(metrics) or 'none'}",
            )
    return kept


def _one_profile(frame: pl.DataFrame, selection: Selection) -> tuple[pl.DataFrame, str]:
    if "profile" not in frame.columns:
        return frame, selection.profile or "clean"
    if selection.profile is not None:
        frame = frame.filter(pl.col("profile") == selection.profile)
    found = sorted({str(p) for p in frame["profile"].drop_nulls()})
    if len(found) != 1:
        raise UsageError(
            "choose the profile to tabulate" if found else "no results of this profile",
            where="--profile",
            found=f"the store holds {', '.join(found) or 'others'}",
        )
    return frame, found[0]


def _refuse_duplicates(frame: pl.DataFrame) -> None:
    place = ["dataset", "model", "n_input", "split", "repetition"]
    twice = frame.filter(frame.select(place).is_duplicated())
    if twice.height == 0:
        return
    first = twice.filter(*(pl.col(c).eq_missing(twice[c][0]) for c in place))
    fixed = {*place, "key", "value", "num_samples", "note"}
    differing = [c for c in first.columns if c not in fixed and first[c].n_unique() > 1]
    raise UsageError(
        "several results stand for the same place of the table",
        where=", ".join(f"{c} {twice[c][0]}" for c in place),
        found=f"{first.height} results that differ in {', '.join(differing) or 'their data'}",
        hint="use one store per configuration",
    )


def _scores(group: pl.DataFrame, split: str) -> Scores:
    random = group.filter(pl.col("split") == split).sort("repetition")
    critical = group.filter(pl.col("split") == CRITICAL)
    counts = random["num_samples"].to_numpy()
    return Scores(
        repetition=tuple(int(r) for r in random["repetition"]),
        value=random["value"].fill_null(np.nan).to_numpy().astype(np.float64),
        critical=float(critical["value"].fill_null(np.nan)[0]) if critical.height else np.nan,
        num_samples=int(np.median(counts)) if counts.size else 0,
        num_critical=int(critical["num_samples"][0]) if critical.height else 0,
    )
