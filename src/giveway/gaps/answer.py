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
from giveway.gaps.significance import can_decide, tie_groups
from giveway.gaps.standings import AUC, board_of, cells_at, class_counts, listed
from giveway.metrics import METRICS
from giveway.reports.content import Answer, origin_badges
from giveway.reports.live_charts import Forest, Row
from giveway.reports.table import MISSING
from giveway.stats.proportions import auc_interval

QUESTION = "Does a model know whether a driver takes the gap?"
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
    here = cells_at(frame, results, dataset, n_input)
    random, critical = (class_counts(store, here, split) for split in (results.selection.split, CRITICAL))
    groups = tie_groups(scores, METRICS.get(results.selection.metric).info, results.judgment)
    splits = max(len(s.repetition) for s in scores.values())
    board = board_of(results, dataset, n_input, here=here, random=random, critical=critical)
    rows = [Row(label=s.name, marks=s.marks, strong=s.strong) for s in board.rows if s.rank != MISSING]
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
    for metric in AUC:
        for t0 in TIMES:
            for profile in profiles or [None]:
                try:
                    return select_results(frame, Selection(metric=metric, t0=t0, profile=profile))
                except GivewayError:
                    continue
    return None


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
    named = listed(leaders) if len(leaders) <= NAMED else f"{len(leaders)} of {count} models"
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
        yield f"Saturated: {listed(top)} reach {SATURATED_AUC}. Rank models on the critical split or by log loss."
    for name, classes in (("test", random), ("critical test", critical)):
        if 0 < min(classes) < MIN_OF_CLASS or (sum(classes) and not min(classes)):
            yield f"Nothing is decided by the {name}: one class has {min(classes)} of {sum(classes)} cases."
    if alike:
        yield f"One answer for all critical cases: {listed(alike)}."


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
