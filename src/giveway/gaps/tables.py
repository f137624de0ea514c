"""Tables III to X of the papers, and the same form for any metric, from the tidy frame of a store."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from giveway.core.errors import UnknownNameError
from giveway.core.origins import banner
from giveway.gaps.judgment import Judgment, is_published_test, metric_form
from giveway.gaps.metric_table import MetricTable, Scores, Selection, saturation_notes, select_results
from giveway.gaps.naming import COGNITIVE, dataset_title, model_latex, model_title, order_datasets, order_models
from giveway.gaps.published import published_value
from giveway.gaps.significance import tie_caption, tied_on_critical_split, tied_on_random_splits
from giveway.metrics import METRICS, MetricInfo
from giveway.reports.table import DECIMALS, Block, Column, Entry, Table, entry


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperTable:
    """What a numbered table of the papers shows.

    Attributes:
        metric: registered name of the clean form.
        t0: prediction time.
        n_inputs: input lengths.
        history: True for experiment II (more history), False for I and III (cognitive models).
        without: published datasets that the table leaves out; datasets of one's own are always shown.
    """

    metric: str
    t0: str
    n_inputs: tuple[int, ...]
    history: bool
    without: frozenset[str] = frozenset()


_KINDS = (("auc", "initial"), ("auc", "constant"), ("ade", "constant"), ("tnr_pr", "critical"))
PAPER_TABLES: dict[str, PaperTable] = {
    **{
        number: PaperTable(metric=metric, t0=t0, n_inputs=(2,), history=False, without=frozenset({"round", "leeds"}))
        for number, (metric, t0) in zip(("III", "IV", "V", "VI"), _KINDS, strict=True)
    },
    **{
        number: PaperTable(
            metric=metric,
            t0=t0,
            n_inputs=(2, 3, 8),
            history=True,
            without=frozenset({"lgap"}) if t0 == "initial" else frozenset(),
        )
        for number, (metric, t0) in zip(("VII", "VIII", "IX", "X"), _KINDS, strict=True)
    },
}


def paper_table(
    number: str,
    frame: pl.DataFrame,
    *,
    profile: str | None = None,
    split: str = "random",
    models: Collection[str] | None = None,
    datasets: Collection[str] | None = None,
    real_datasets: Collection[str] = (),
    changes: Mapping[str, Any] | None = None,
) -> Table:
    """A numbered table, for those of its models and datasets that the frame holds.

    Args:
        number: ``"III"`` to ``"X"``.
        frame: tidy results.
        profile: needed if the frame holds several.
        split: the repeated split of the upper lines.
        models: subset; by default those of the paper's table that are present.
        datasets: likewise.
        real_datasets: datasets whose recordings are the published ones; these get published values beside ours.
        changes: ``ddof`` or ``critical_bound`` to judge by instead of those of the run.
    """
    name = number.upper()
    if name not in PAPER_TABLES:
        raise UnknownNameError("table", number, PAPER_TABLES)
    paper = PAPER_TABLES[name]
    if models is None and "model" in frame.columns:
        models = [m for m in order_models(frame["model"].drop_nulls()) if _belongs(m, paper)]
    if datasets is None and paper.without and "dataset" in frame.columns:
        datasets = [d for d in order_datasets(frame["dataset"].drop_nulls()) if d not in paper.without]
    table = benchmark_table(
        frame,
        metric=paper.metric,
        t0=paper.t0,
        profile=profile,
        split=split,
        models=models,
        datasets=datasets,
        n_inputs=paper.n_inputs,
        real_datasets=real_datasets,
        changes=changes,
    )
    return replace(table, title=f"Table {name}: {table.title}")


def benchmark_table(
    frame: pl.DataFrame,
    *,
    metric: str,
    t0: str,
    profile: str | None = None,
    split: str = "random",
    models: Collection[str] | None = None,
    datasets: Collection[str] | None = None,
    n_inputs: Collection[int] | None = None,
    real_datasets: Collection[str] = (),
    changes: Mapping[str, Any] | None = None,
) -> Table:
    """Mean, deviation and critical split of every model, dataset and input length.

    Args:
        frame: tidy results, see :func:`giveway.experiments.collect`.
        metric: registered name; in profile ``paper`` its published form is used.
        t0: prediction time.
        profile: needed if the frame holds several.
        split: the repeated split of the upper lines.
        models: subset; all by default.
        datasets: subset; all by default.
        n_inputs: subset; all by default.
        real_datasets: datasets that get published values beside ours.
        changes: ``ddof`` or ``critical_bound`` to judge by instead of those of the run.

    Raises:
        EmptySelectionError: if nothing is left.
    """
    profile = profile or _only_profile(frame)
    info = METRICS.get(metric_form(frame, metric, profile or "clean")).info
    selection = Selection(
        metric=info.name,
        t0=t0,
        profile=profile,
        split=split,
        models=models,
        datasets=datasets,
        n_inputs=n_inputs,
        changes=changes,
    )
    results = select_results(frame, selection)
    shown_models = order_models(m for _, m, _ in results.scores)
    shown_datasets = order_datasets(d for d, _, _ in results.scores)
    lengths = sorted({n for _, _, n in results.scores})
    columns = [(n, False) for n in lengths]
    if any(d in real_datasets for d in shown_datasets):
        columns = [(n, published) for n in lengths for published in (False, True)]
    rows = tuple(
        row
        for dataset in shown_datasets
        for row in _rows(results, info, dataset, shown_models, columns, published=dataset in real_datasets)
    )
    heads = (Column(head="Dataset", left=True), Column(head="Split", left=True))
    values = (
        Column(head=f"{n} publ." if p else str(n), group=model_title(m), latex=model_latex(m))
        for m in shown_models
        for n, p in columns
    )
    unit = f" [{info.unit}]" if info.unit else ""
    return Table(
        title=f"{info.title.replace('$', '')}{unit} at {t0} gaps ({info.better} is better)",
        blocks=(Block(columns=(*heads, *values), rows=rows, labels=len(heads)),),
        notes=(_caption(results, info, shown_datasets), *saturation_notes(results)),
    )


def with_origins(table: Table, origins: Sequence[str]) -> Table:
    """The same table, saying first if not all of the traffic behind it was recorded."""
    said = banner("the traffic behind these numbers", origins) if origins else ""
    return replace(table, origins=tuple(origins), banner=said)


def _belongs(model: str, paper: PaperTable) -> bool:
    return model in (("T++", "LR_2D", "LR_1D") if paper.history else ("T++", "LR_1D")) or (
        not paper.history and COGNITIVE.fullmatch(model) is not None
    )


def _only_profile(frame: pl.DataFrame) -> str | None:
    found = sorted({str(p) for p in frame["profile"].drop_nulls()}) if "profile" in frame.columns else []
    return found[0] if len(found) == 1 else None


def _rows(
    results: MetricTable,
    info: MetricInfo,
    dataset: str,
    models: list[str],
    columns: list[tuple[int, bool]],
    *,
    published: bool,
) -> Iterator[tuple[Entry, ...]]:
    upper: dict[tuple[str, int, bool], Entry] = {}
    lower: dict[tuple[str, int, bool], Entry] = {}
    for n in sorted({n for n, _ in columns}):
        scores = {m: s for m in models if (s := results.scores.get((dataset, m, n))) is not None}
        means = {m: _mean_entry(s, results.judgment) for m, s in scores.items()}
        criticals = {m: entry(s.critical, num_samples=s.num_critical) for m, s in scores.items()}
        best_mean, best_critical = _best(means, info), _best(criticals, info)
        tied = tied_on_random_splits(scores, _first(best_mean), info, results.judgment)
        tied_critical = tied_on_critical_split(scores, _first(best_critical), info, results.judgment)
        for m in scores:
            upper[m, n, False] = _marked(means[m], m in best_mean, m in tied)
            lower[m, n, False] = _marked(criticals[m], m in best_critical, m in tied_critical)
        if published:
            for m in models:
                value = published_value(metric=info.name, t0=results.selection.t0, dataset=dataset, model=m, n_input=n)
                if value is not None:
                    upper[m, n, True] = entry(value.mean, sd=value.sd, note="published")
                    lower[m, n, True] = entry(value.critical, note="published")
    places = [(m, n, p) for m in models for n, p in columns]
    name = entry(dataset_title(dataset))
    yield name, entry(results.selection.split), *(upper.get(p, Entry()) for p in places)
    if any(not e.is_missing for e in lower.values()):
        yield name, entry("critical"), *(lower.get(p, Entry()) for p in places)


def _mean_entry(scores: Scores, judgment: Judgment) -> Entry:
    value = scores.value[np.isfinite(scores.value)]
    if value.size == 0:
        note = "undefined on every split" if scores.value.size else "not computed"
        return Entry(num_samples=scores.num_samples, note=note)
    sd = judgment.deviation(value)
    dropped = scores.value.size - value.size
    note = f"undefined on {dropped} of {scores.value.size} splits" if dropped else ""
    return entry(float(value.mean()), sd=sd, num_samples=scores.num_samples, note=note)


def _best(entries: dict[str, Entry], info: MetricInfo) -> list[str]:
    """Models that nothing beats at the printed precision; the one with most digits in its favor comes first."""
    known = {m: info.orient(float(e.value)) for m, e in entries.items() if e.value is not None}
    if not known:
        return []
    top = max(round(value, DECIMALS) for value in known.values())
    tied = [m for m, value in known.items() if round(value, DECIMALS) == top]
    return sorted(tied, key=lambda m: -known[m])


def _first(models: list[str]) -> str | None:
    return models[0] if models else None


def _marked(found: Entry, best: bool, tied: bool) -> Entry:
    return replace(found, mark="best" if best else "tied" if tied else "")


def _caption(results: MetricTable, info: MetricInfo, datasets: list[str]) -> str:
    scores = results.scores
    num_splits = max((len(s.repetition) for s in scores.values()), default=0)
    divisor = num_splits - results.judgment.ddof
    counts: list[str] = []
    for dataset in datasets:
        sizes = sorted({s.num_samples for (d, _, _), s in scores.items() if d == dataset and s.num_samples})
        counts.append(f"{dataset_title(dataset)} {'/'.join(map(str, sizes)) or 'none'}")
    published = is_published_test(results.profile)
    test = "paired t-test" if published else "corrected resampled t-test with Holm's correction"
    bound = results.judgment.bound(num_splits)
    sentences = [
        f"Mean and deviation (divisor {divisor}) over {num_splits} {results.selection.split} splits; "
        "below, the critical split.",
        "Best value per n_I marked (underlined, bold or *), with all ties at three decimals.",
        tie_caption(num_splits, test, f"; on the critical split: difference below {bound:.2f} deviations"),
        f"Test samples: {', '.join(counts)}.",
        f"Profile {results.profile}, metric {info.name} version {results.metric_version}.",
    ]
    if results.old_versions:
        sentences.append("Results of older versions of the metric are left out.")
    return " ".join(sentences)
