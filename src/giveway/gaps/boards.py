"""Pages of the gap-acceptance benchmark: leaderboards, figure of the papers, learning curves."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from giveway.core.arrays import FloatArray
from giveway.core.errors import EmptySelectionError, GivewayError, MissingDependencyError
from giveway.experiments.store import Store
from giveway.gaps.judgment import is_published_test
from giveway.gaps.metric_table import CRITICAL, MetricTable, Selection, saturation_notes, select_results
from giveway.gaps.naming import dataset_title, order_datasets, order_models
from giveway.gaps.published import published_value
from giveway.gaps.significance import (
    NO_TIES,
    tie_caption,
    tie_groups,
    tied_on_critical_split,
    tied_on_random_splits,
)
from giveway.gaps.standings import board_of, cells_at, class_counts, interval
from giveway.metrics import METRICS, MetricInfo
from giveway.reports.charts import Line, curves
from giveway.reports.content import Block, Chart, Page, Paragraph, Picture
from giveway.reports.drawing import svg_of
from giveway.reports.leaderboard import Segments
from giveway.reports.table import Entry, Table, entry, number, table_of, tied_ranks

TIMES = ("initial", "constant", "critical")
HEADLINES = ("auc", "auc_paper", "ade", "ade_paper", "tnr_pr", "tnr_pr_paper", "brier")
MAX_CURVES = 8
COLUMNS = (
    "dataset",
    "n_I",
    "rank",
    "model",
    "mean",
    "95 % interval",
    "deviation",
    "critical split",
    "published",
    "published critical",
    "splits",
    "samples",
)


def board_pages(
    frame: pl.DataFrame, *, real_datasets: Collection[str], store: Store | None = None
) -> tuple[list[Page], list[Block]]:
    """A leaderboard per profile, prediction time and metric; and what the overview says about them.

    Args:
        frame: tidy results.
        real_datasets: datasets whose recordings are the published ones; only these get published numbers beside ours.
        store: whose cells say how large the classes of a test are; without it an AUC has no interval.
    """
    made: list[tuple[str, str, Page]] = []
    notes: list[Block] = []
    profiles = _values(frame, "profile") or [None]
    for profile in profiles:
        for t0 in sorted(_values(frame, "t0"), key=lambda t: TIMES.index(t) if t in TIMES else len(TIMES)):
            for metric in _metrics_at(frame, t0):
                try:
                    results = select_results(frame, Selection(metric=metric, t0=t0, profile=profile))
                except EmptySelectionError:
                    continue
                except GivewayError as error:
                    notes.append(Paragraph(text=f"No leaderboard of {metric} at {t0} gaps: {error}", warning=True))
                    continue
                several = profile if len(profiles) > 1 else None
                info = METRICS.get(metric).info
                page = _board_page(results, info, several, real_datasets, frame, store)
                made.append((f"{t0} gaps{f' ({several})' if several else ''}", info.title.replace("$", ""), page))
    return [_with_segments(time, title, page, made) for time, title, page in made], notes


def _with_segments(time: str, title: str, page: Page, made: Sequence[tuple[str, str, Page]]) -> Page:
    """A page with links to the other measures at its prediction time, and to its measure at the others."""
    times = tuple((t, p.file) for t, other, p in made if other == title)
    measures = tuple((other, p.file) for t, other, p in made if t == time)
    segments = tuple(
        Segments(label=label, items=items, current=page.file)
        for label, items in (("Prediction time", times), ("Measure", measures))
        if len(items) > 1
    )
    return replace(page, blocks=(*segments, *page.blocks))


def _board_page(
    results: MetricTable,
    info: MetricInfo,
    profile: str | None,
    real: Collection[str],
    frame: pl.DataFrame,
    store: Store | None,
) -> Page:
    t0, title = results.selection.t0, info.title.replace("$", "")
    unit = f" [{info.unit}]" if info.unit else ""
    places = sorted(
        {(d, n) for d, _, n in results.scores}, key=lambda p: (order_datasets([*_datasets(results)]).index(p[0]), p[1])
    )
    rows = [row for dataset, n in places for row in _ranked(results, info, dataset, n, real)]
    boards: list[Block] = []
    for dataset, n in places:
        here = cells_at(frame, results, dataset, n)
        splits = (results.selection.split, CRITICAL)
        random, critical = ((0, 0) if store is None else class_counts(store, here, split) for split in splits)
        boards.append(board_of(results, dataset, n, here=here, random=random, critical=critical))
    table = table_of(
        "All numbers",
        COLUMNS,
        rows,
        numeric={1, 2, 4, 6, 7, 8, 9, 10, 11},
        filters={0, 1, 3},
        caption=_caption(results, info),
    )
    suffix = f" ({profile})" if profile else ""
    return Page(
        file=f"board-{t0}-{info.name}{'-' + profile if profile else ''}.html",
        title=f"{title}, {t0} gaps{suffix}",
        lead=f"{title}{unit} at {t0} gaps; {info.better} is better. {info.formula}",
        blocks=(*(Paragraph(text=note, warning=True) for note in saturation_notes(results)), *boards, table),
        group="Leaderboards",
    )


def _ranked(
    results: MetricTable, info: MetricInfo, dataset: str, n: int, real: Collection[str]
) -> Iterator[tuple[Entry, ...]]:
    """Models of one dataset and input length, best first."""
    scores = {m: s for (d, m, k), s in results.scores.items() if (d, k) == (dataset, n)}
    means = {m: _mean(s.value) for m, s in scores.items()}
    worst = -math.inf
    ordered = sorted(order_models(scores), key=lambda m: -(info.orient(means[m]) if math.isfinite(means[m]) else worst))
    best = ordered[0] if ordered and math.isfinite(means[ordered[0]]) else None
    best_critical = max(
        (m for m in scores if math.isfinite(scores[m].critical)),
        key=lambda m: info.orient(scores[m].critical),
        default=None,
    )
    tied = tied_on_random_splits(scores, best, info, results.judgment)
    tied_critical = tied_on_critical_split(scores, best_critical, info, results.judgment)
    ranks = tied_ranks(tie_groups(scores, info, results.judgment))
    for model in ordered:
        s = scores[model]
        ends = np.clip(interval(s.value, corrected=not is_published_test(results.profile)), *info.range)
        low, high = float(ends[0]), float(ends[1])
        known = published_value(metric=info.name, t0=results.selection.t0, dataset=dataset, model=model, n_input=n)
        published = known if dataset in real else None
        sd = results.judgment.deviation(s.value[np.isfinite(s.value)])
        yield (
            entry(dataset_title(dataset)),
            entry(n),
            ranks.get(model, Entry()),
            entry(model),
            entry(means[model], 3, mark="best" if model == best else "tied" if model in tied else ""),
            entry(low, text=f"{number(low)} to {number(high)}") if high > low else Entry(),
            entry(sd, 3),
            entry(s.critical, 3, mark="best" if model == best_critical else "tied" if model in tied_critical else ""),
            Entry()
            if published is None
            else entry(published.mean, text=f"{number(published.mean)} ± {number(published.sd)}"),
            entry(None if published is None else published.critical, 3),
            entry(len(s.repetition)),
            entry(s.num_samples),
        )


def paper_figure(frame: pl.DataFrame) -> Picture | Paragraph:
    """Figures 5 and 6 of the papers as an SVG for the section, or a sentence why there is none."""
    from giveway.gaps.figures import benchmark_figure

    try:
        figure = benchmark_figure(frame)
    except MissingDependencyError as error:
        return Paragraph(text=f"Figures need matplotlib: {error.hint or error}")
    except GivewayError as error:
        return Paragraph(text=f"No figure like those of the papers: {error}")
    caption = "Short marks: random splits. Longer mark: their mean. Cross: critical split. One color per input length."
    alt = "Every result at a glance: a plot per metric and dataset with all models side by side"
    title = "All results (figures 5 and 6)"
    return Picture(title=title, file="figure.svg", alt=alt, data=svg_of(figure), caption=caption)


def curve_blocks(trainings: Mapping[str, Sequence[Mapping[str, float | None]]]) -> list[Block]:
    """Learning curves of cells that kept one; at most eight are drawn."""
    blocks: list[Block] = []
    shown = dict(list(trainings.items())[:MAX_CURVES])
    for name, title in (("loss", "training loss"), ("validation_ade_m", "ADE on validation samples [m]")):
        lines = [
            Line(
                name=label,
                x=tuple(float(e.get("epoch") or k + 1) for k, e in enumerate(epochs)),
                y=tuple(math.nan if e.get(name) is None else float(e[name] or 0.0) for e in epochs),
            )
            for label, epochs in shown.items()
        ]
        if any(math.isfinite(v) for line in lines for v in line.y):
            blocks.append(Chart(title=title.capitalize(), svg=curves(lines, x_title="epoch", y_title=title)))
    if len(trainings) > MAX_CURVES:
        blocks.append(Paragraph(text=f"{len(trainings)} models were trained; the first {MAX_CURVES} are drawn."))
    return blocks


def _datasets(results: MetricTable) -> set[str]:
    return {d for d, _, _ in results.scores}


def _metrics_at(frame: pl.DataFrame, t0: str) -> list[str]:
    found = _values(frame.filter(pl.col("t0") == t0), "metric")
    known: list[str] = []
    for name in found:
        with contextlib.suppress(GivewayError):
            METRICS.get(name)
            known.append(name)
    return sorted(known, key=lambda m: (HEADLINES.index(m) if m in HEADLINES else len(HEADLINES), m))


def _values(frame: pl.DataFrame, name: str) -> list[str]:
    return sorted(str(v) for v in frame[name].drop_nulls().unique()) if name in frame.columns else []


def _mean(values: FloatArray) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if known.size else math.nan


def _caption(results: MetricTable, info: MetricInfo) -> str:
    paper = is_published_test(results.profile)
    test = "paired t-test" if paper else "corrected resampled t-test with Holm's correction"
    sentences = [
        "Underlined: best of its dataset and input length.",
        tie_caption(max((len(s.repetition) for s in results.scores.values()), default=0), test),
        f"Interval: 95 % over random splits{'' if paper else ', widened because splits share samples'}.",
        f"Profile {results.profile}, metric {info.name} version {results.metric_version}. {info.reference}",
        "Published numbers stand only beside recordings they were made from.",
    ]
    if results.old_versions:
        sentences.append("Results of older versions of the metric are left out.")
    return " ".join(sentences)


def overview_blocks(pages: Sequence[Page]) -> list[Block]:
    """The best model of every leaderboard, with a link to it."""
    rows: list[tuple[Entry, ...]] = []
    for page in pages:
        table = next(block for block in page.blocks if isinstance(block, Table))
        winners = list({(row[0].text, row[1].text): row for row in reversed(table.rows)}.values())[::-1]
        ties = {
            (row[0].text, row[1].text): [r[3].text for r in table.rows if r[:2] == row[:2] and r[4].mark == "tied"]
            for row in winners
        }
        for row in winners:
            tied = ties[row[0].text, row[1].text]
            shown = ", ".join(tied[:4]) + (f" and {len(tied) - 4} more" if len(tied) > 4 else "")
            shown = "too few splits to tell" if NO_TIES in table.caption else shown
            rows.append((entry(page.title, link=page.file), *row[:2], *row[3:6], entry(shown or "–")))
    columns = ("leaderboard", "dataset", "n_I", "best model", "mean", "95 % interval", "not significantly worse")
    caption = "One line per leaderboard, dataset and input length; the heading of a line leads to all models."
    table = table_of("Leaders", columns, rows, numeric={2, 4, 5}, filters={1, 2}, caption=caption)
    return [table] if rows else []


def learning_curves(store: Store, tidy: pl.DataFrame) -> dict[str, list[Mapping[str, float | None]]]:
    """Learning curves that cells of trained models keep; one cell per dataset, time and model is looked at."""
    names = [c for c in ("dataset", "t0", "n_input", "model") if c in tidy.columns]
    if "model" not in names:
        return {}
    firsts = tidy.unique(names, keep="first", maintain_order=True)
    found: dict[str, list[Mapping[str, float | None]]] = {}
    for row in firsts.iter_rows(named=True):
        try:
            training = store.read_record(row["key"])["info"].get("learning_curve")
        except GivewayError:
            continue
        if training:
            found[", ".join(str(row[n]) for n in names)] = training
    return found
