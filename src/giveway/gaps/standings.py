"""The models of one leaderboard as a forest plot: place, estimates with intervals, and the cells behind them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
from scipy import stats

from giveway.core.arrays import FloatArray
from giveway.core.errors import GivewayError
from giveway.experiments.store import Store
from giveway.gaps.judgment import is_published_test
from giveway.gaps.metric_table import CRITICAL, MetricTable, Scores
from giveway.gaps.naming import dataset_title
from giveway.gaps.significance import can_decide, tie_groups, tied_on_critical_split
from giveway.metrics import METRICS, MetricInfo
from giveway.reports.browsing import KEY_DIGITS
from giveway.reports.leaderboard import Board, Standing
from giveway.reports.live_charts import Mark
from giveway.reports.table import Entry, number, tied_ranks
from giveway.stats.paired import TEST_TO_TRAIN
from giveway.stats.proportions import auc_interval

AUC = ("auc", "auc_paper", "auc_printed")
"""Metrics with the interval of an AUC; all others have that of the mean over splits."""

Classes = tuple[int, int]
"""Accepted and rejected test samples of one cell."""


def interval(values: FloatArray, *, corrected: bool) -> tuple[float, float]:
    """95 % interval of the mean over random splits.

        mean ± t_{0.975, n-1} sqrt((1/n + r) var),   r = 1/4 corrects for samples that splits share, r = 0 does not

    Returns:
        NaN with fewer than two values.

    Reference:
        Nadeau and Bengio 2003, as an interval.
    """
    known = values[np.isfinite(values)]
    if known.size < 2:
        return math.nan, math.nan
    scale = 1 / known.size + (TEST_TO_TRAIN if corrected else 0.0)
    half = float(stats.t.ppf(0.975, known.size - 1)) * math.sqrt(scale * float(known.var(ddof=1)))
    mean = float(known.mean())
    return mean - half, mean + half


def cells_at(frame: pl.DataFrame, results: MetricTable, dataset: str, n_input: int) -> pl.DataFrame:
    """Rows of a tidy frame behind the numbers of one dataset and input length."""
    chosen = results.selection
    here = frame.filter(pl.col("dataset") == dataset, pl.col("n_input") == n_input, pl.col("t0") == chosen.t0)
    several = chosen.profile is not None and "profile" in frame.columns
    return here.filter(pl.col("profile") == chosen.profile) if several else here


def class_counts(store: Store, here: pl.DataFrame, split: str) -> Classes:
    """Accepted and rejected test samples of the first cell of a split that can be read."""
    for key in here.filter(pl.col("split") == split)["key"].unique(maintain_order=True):
        try:
            found = store.read_record(key)["info"]
        except GivewayError:
            continue  # damaged: the status of the store says so
        accepted = int(found.get("num_test_accepted", 0))
        return accepted, int(found.get("num_test", 0)) - accepted
    return 0, 0


def board_of(
    results: MetricTable, dataset: str, n_input: int, *, here: pl.DataFrame, random: Classes, critical: Classes
) -> Board:
    """The leaderboard of one dataset and input length, best first.

    Args:
        results: of a metric and prediction time.
        dataset: registered name.
        n_input: input length.
        here: rows of the tidy frame behind it, see :func:`cells_at`; they name the cells whose samples can be shown.
        random: classes of a random test, for the interval of an AUC; (0, 0) if unknown.
        critical: the same of the critical split.
    """
    info = METRICS.get(results.selection.metric).info
    scores = {m: s for (d, m, n), s in results.scores.items() if (d, n) == (dataset, n_input)}
    groups = tie_groups(scores, info, results.judgment)
    leaders = groups[0] if groups else ()
    splits = max((len(s.repetition) for s in scores.values()), default=0)
    hard = _leaders_when_critical(scores, results, info, splits)
    ranks, cells = tied_ranks(groups), _cells(here, results.selection.split)
    ordered = [model for group in groups for model in group]
    rows = [
        Standing(
            rank=ranks.get(model, Entry()).text,
            name=model,
            marks=_marks(scores[model], results, info, random, critical, tied=(model in leaders, model in hard)),
            repeats=tuple(float(v) for v in scores[model].value if math.isfinite(v)),
            cells=cells.get(model, {}),
            strong=model in leaders and len(leaders) < len(scores),
        )
        for model in (*ordered, *(m for m in scores if m not in ordered))
    ]
    is_auc = info.name in AUC
    return Board(
        title=dataset_title(dataset) if n_input == 2 else f"{dataset_title(dataset)}, {n_input} input instants",
        measure=info.title.replace("$", "") + (f" [{info.unit}]" if info.unit else ""),
        rows=tuple(rows),
        start=0.5 if is_auc else math.nan,
        end=1.0 if is_auc else math.nan,
        chance=0.5 if is_auc else math.nan,
        decided=can_decide(splits),
        outcomes=("took the gap", "waited"),
    )


def _leaders_when_critical(
    scores: Mapping[str, Scores], results: MetricTable, info: MetricInfo, splits: int
) -> frozenset[str]:
    measured = [m for m in scores if math.isfinite(scores[m].critical)]
    if not measured or not can_decide(splits):
        return frozenset(measured)
    best = max(measured, key=lambda m: info.orient(scores[m].critical))
    return frozenset({best, *tied_on_critical_split(scores, best, info, results.judgment)})


def _marks(
    scores: Scores, results: MetricTable, info: MetricInfo, random: Classes, critical: Classes, *,
    tied: tuple[bool, bool],
) -> tuple[Mark, ...]:  # fmt: skip
    known = scores.value[np.isfinite(scores.value)]
    mean = float(known.mean()) if known.size else math.nan
    marks: list[Mark] = []
    for value, classes, is_critical in ((mean, random, False), (scores.critical, critical, True)):
        if not math.isfinite(value):
            continue
        low, high = math.nan, math.nan
        if info.name in AUC:
            low, high = auc_interval(value, *classes)
        elif not is_critical:
            low, high = np.clip(interval(known, corrected=not is_published_test(results.profile)), *info.range)
        if not high > low:
            low, high = math.nan, math.nan  # no interval of zero width
        text = f"{value:.2f}" if info.name in AUC else number(value)
        marks.append(
            Mark(value=value, low=float(low), high=float(high), critical=is_critical, tied=tied[is_critical], text=text)
        )
    return tuple(marks)


def _cells(here: pl.DataFrame, split: str) -> dict[str, dict[str, str]]:
    """Model to split to the beginning of the key of its first cell."""
    found: dict[str, dict[str, str]] = {}
    rows = here.select("model", "split", "repetition", "key").unique().sort("repetition", "key")
    for model, name, _, key in rows.iter_rows():
        if name in (split, CRITICAL):
            found.setdefault(str(model), {}).setdefault(str(name), str(key)[:KEY_DIGITS])
    return found


def listed(names: Sequence[str], most: int = 3) -> str:
    """Names in a sentence: "a, b and c", or "a, b, c and 2 more"."""
    shown, more = list(names[:most]), len(names) - most
    last = f"{more} more" if more > 0 else shown.pop()
    return f"{', '.join(shown)} and {last}" if shown else last
