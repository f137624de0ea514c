"""The answer of the gap-acceptance benchmark: who leads, who is tied, and what the critical cases say."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
import polars as pl

from giveway.core.errors import GivewayError
from giveway.experiments.store import Store
from giveway.gaps.metric_table import (
    CRITICAL,
    SATURATED_AUC,
    MetricTable,
    Scores,
    Selection,
    saturating,
    select_results,
)
from giveway.gaps.naming import dataset_title
from giveway.gaps.significance import can_decide, tie_groups, tied_on_critical_split
from giveway.metrics import METRICS
from giveway.reports.content import Answer, origin_badges
from giveway.reports.live_charts import Forest, Mark, Row
from giveway.stats.proportions import auc_interval

QUESTION = "Does a model know whether a driver takes the gap?"
METRIC = ("auc", "auc_paper", "auc_printed")
TIMES = ("constant", "initial", "critical")
MIN_OF_CLASS, ONE_ANSWER = 10, 1e-3
"""Smallest class that decides something; range of p of a model that answers alike."""
NAMED = 3


def gap_answer(store: Store, frame: pl.DataFrame, origins: Sequence[str]) -> Answer | None:
    """The AUC on the dataset with most test samples at constant gaps (or else initial, critical); None without one."""
    results = _board(frame)
    if results is None:
        return None
    found = {k: bool(np.isfinite(s.value).any()) for k, s in results.scores.items()}
    dataset, _, n_input = max(results.scores, key=lambda k: (found[k], results.scores[k].num_samples, -k[2]))
    scores = {m: s for (d, m, n), s in results.scores.items() if (d, n) == (dataset, n_input)}
    here = frame.filter(
        pl.col("dataset") == dataset, pl.col("n_input") == n_input, pl.col("t0") == results.selection.t0
    )
    random, critical = (_classes(store, here, split) for split in (results.selection.split, CRITICAL))
    info = METRICS.get(results.selection.metric).info
    groups = tie_groups(scores, info, results.judgment)
    leaders = groups[0] if groups else ()
    splits = max(len(s.repetition) for s in scores.values())
    measured = [m for m in scores if math.isfinite(scores[m].critical)]
    best = max(measured, key=lambda m: scores[m].critical, default=None)
    hard = {best, *(tied_on_critical_split(scores, best, info, results.judgment) if can_decide(splits) else measured)}
    rows = [
        Row(
            label=model,
            marks=_marks(scores[model], random, critical, tied=(model in leaders, model in hard)),
            strong=model in leaders and len(leaders) < len(scores),
        )
        for group in groups
        for model in group
    ]
    t0 = results.selection.t0
    return Answer(
        question=QUESTION,
        sentence=f"{_who(groups, splits)} {_hard(scores, critical)}".strip(),
        chart=None
        if not rows
        else Forest(
            rows=rows,
            label="AUC; dotted line: chance",
            alt=f"AUC of {len(rows)} models on {dataset_title(dataset)} with intervals, random and critical split",
            start=0.5,
            end=1.0,
            chance=0.5,
        ),
        foot=f"{dataset_title(dataset)}, {t0} gaps: {sum(random)} cases × {splits} splits; {sum(critical)} critical",
        badges=origin_badges(origins),
        warnings=tuple(_warnings(scores, random, critical, _alike(store, here))),
    )


def _board(frame: pl.DataFrame) -> MetricTable | None:
    profiles = frame["profile"].drop_nulls().unique().sort().to_list() if "profile" in frame.columns else [None]
    for metric in METRIC:
        for t0 in TIMES:
            for profile in profiles or [None]:
                try:
                    return select_results(frame, Selection(metric=metric, t0=t0, profile=profile))
                except GivewayError:
                    continue
    return None


def _classes(store: Store, here: pl.DataFrame, split: str) -> tuple[int, int]:
    """Accepted and rejected test samples of the first cell of a split that can be read."""
    for key in here.filter(pl.col("split") == split)["key"].unique(maintain_order=True):
        try:
            found = store.read_record(key)["info"]
        except GivewayError:
            continue  # damaged: the status of the store says so
        accepted = int(found.get("num_test_accepted", 0))
        return accepted, int(found.get("num_test", 0)) - accepted
    return 0, 0


def _marks(
    scores: Scores, random: tuple[int, int], critical: tuple[int, int], *, tied: tuple[bool, bool]
) -> tuple[Mark, ...]:
    known = scores.value[np.isfinite(scores.value)]
    marks: list[Mark] = []
    for value, classes, is_critical in (
        (float(known.mean()) if known.size else math.nan, random, False),
        (scores.critical, critical, True),
    ):
        if math.isfinite(value):
            low, high = auc_interval(value, *classes)
            marks.append(
                Mark(value=value, low=low, high=high, critical=is_critical, tied=tied[is_critical], text=f"{value:.2f}")
            )
    return tuple(marks)


def _who(groups: Sequence[Sequence[str]], splits: int) -> str:
    if not groups:
        return "No model has an AUC here."
    leaders, count = groups[0], sum(map(len, groups))
    if count == 1:
        return f"{leaders[0]} was the only model."
    if not can_decide(splits):
        return f"{splits} splits are too few to rank {count} models."
    if len(leaders) == count:
        return f"No model is shown to be better than another: all {count} are tied."
    if len(leaders) == 1:
        return f"{leaders[0]} leads alone."
    named = _listed(leaders) if len(leaders) <= NAMED else f"{len(leaders)} of {count} models"
    return f"{named} lead, tied."


def _hard(scores: dict[str, Scores], critical: tuple[int, int]) -> str:
    if not min(critical):
        return ""
    measured = [s.critical for s in scores.values() if math.isfinite(s.critical)]
    chance = sum(auc_interval(value, *critical)[0] <= 0.5 for value in measured)
    if not chance:
        return "On the critical cases all of them are better than chance."
    which = "all" if chance == len(measured) else f"{chance} of {len(measured)}"
    return f"On the critical cases {which} are no better than chance."


def _warnings(
    scores: dict[str, Scores], random: tuple[int, int], critical: tuple[int, int], alike: Sequence[str]
) -> Iterable[str]:
    if top := [model for _, model in saturating(scores)]:
        yield f"Saturated: {_listed(top)} reach {SATURATED_AUC}. Rank models on the critical split or by log loss."
    for name, classes in (("test", random), ("critical test", critical)):
        if 0 < min(classes) < MIN_OF_CLASS or (sum(classes) and not min(classes)):
            yield f"Nothing is decided by the {name}: one class has {min(classes)} of {sum(classes)} cases."
    if alike:
        yield f"One answer for all critical cases: {_listed(alike)}."


def _alike(store: Store, here: pl.DataFrame) -> list[str]:
    """Models that give every critical case the same probability."""
    found: list[str] = []
    cells = here.filter(pl.col("split") == CRITICAL).unique("model", keep="first", maintain_order=True)
    for model, key in cells.select("model", "key").iter_rows():
        try:
            samples = store.read_samples(key)
        except GivewayError:
            continue
        known = None if samples is None or "p" not in samples.columns else samples["p"].drop_nulls()
        if known is not None and len(known) > 1 and float(known.max()) - float(known.min()) < ONE_ANSWER:  # type: ignore[arg-type]
            found.append(str(model))
    return found


def _listed(names: Sequence[str]) -> str:
    shown, more = list(names[:NAMED]), len(names) - NAMED
    last = f"{more} more" if more > 0 else shown.pop()
    return f"{', '.join(shown)} and {last}" if shown else last
