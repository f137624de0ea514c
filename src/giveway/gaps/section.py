"""What results of the gap-acceptance benchmark say about themselves: tables, figures, comparisons."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from giveway.core.errors import EmptySelectionError
from giveway.core.origins import Origin, banner
from giveway.gaps import boards
from giveway.gaps.answer import gap_answer
from giveway.gaps.compare import NUM_RESAMPLES, ComparisonReport, compare_models
from giveway.gaps.extraction_pages import extraction_pages
from giveway.gaps.figures import benchmark_figure
from giveway.gaps.frame import gap_frame
from giveway.gaps.learning import calibration_figure
from giveway.gaps.prediction_time import choice_named
from giveway.gaps.replays import gap_replays, guesses, sample_sets
from giveway.gaps.tables import PAPER_TABLES, benchmark_table, paper_table, with_origins
from giveway.reports.cells import Overview
from giveway.reports.content import Block, Page, PageLimits, Paragraph, origin_blocks
from giveway.reports.section import Compared, Section, checked_name, selected, with_choices
from giveway.reports.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from giveway.reports.results import Results


class GapsSection(Section):
    """Tables ``benchmark`` and ``III`` to ``X`` of the papers, figures ``splits`` and ``calibration``."""

    kind = "gaps"
    title = "Gap acceptance"
    tables = ("benchmark", *PAPER_TABLES)
    figures = ("splits", "calibration")

    def frame(self, results: Results) -> pl.DataFrame:
        """See :func:`giveway.gaps.frame.gap_frame`."""
        return gap_frame(results.store)

    def table(self, results: Results, name: str, **choices: Any) -> Table:
        """Mean, deviation, critical split and significance marks, see :func:`gap_table`."""
        number = name.upper() if name.upper() in PAPER_TABLES else name
        return with_choices(gap_table, choices, results, checked_name("table", number, self.tables))

    def figure(self, results: Results, name: str, **choices: Any) -> Figure:
        """See :func:`splits_figure` and :func:`calibration_of`."""
        chosen = checked_name("figure", name, self.figures)
        return with_choices(splits_figure if chosen == "splits" else calibration_of, choices, results)

    def compare(self, results: Results, a: str, b: str, **choices: Any) -> Compared:
        """Paired tests and a bootstrap interval per dataset, see :func:`compare_in`."""
        return with_choices(compare_in, choices, results, a, b)

    def origin(self, results: Results) -> str:
        """Whether recordings behind the numbers were computed."""
        origins = _origins(self.frame(results), None)
        return banner("the traffic behind these numbers", origins) if origins else ""

    def overview(self, results: Results, limits: PageLimits) -> Overview:
        """Leaders and the figure of the papers; a leaderboard per metric and time, drop reasons, learning curves."""
        frame = results.frame()
        if frame.is_empty():
            return Overview(blocks=(Paragraph(text="No cell is finished yet."),))
        pages, notes = boards.board_pages(frame, real_datasets=_real_datasets(frame), store=results.store)
        leaders = boards.overview_blocks(pages)
        origins = _origins(frame, None)
        said = origin_blocks("the traffic behind these numbers", origins) if origins else []
        curves = boards.curve_blocks(boards.learning_curves(results.store, frame))
        pages += extraction_pages(list(sample_sets(results.store)), limits)
        if curves:
            pages.append(Page(file="learning.html", title="Learning curves", blocks=tuple(curves)))
        blocks: list[Block] = [*said, *leaders, *notes, boards.paper_figure(frame)]
        return Overview(
            blocks=blocks,
            pages=pages,
            answer=gap_answer(results.store, frame, origins),
            sample_replays=gap_replays(results.store) if limits.samples and limits.replays else {},
        )


def gap_table(
    results: Results,
    name: str,
    *,
    metric: str = "auc",
    t0: str = "constant",
    split: str = "random",
    profile: str | None = None,
    models: Collection[str] | None = None,
    datasets: Collection[str] | None = None,
    changes: Mapping[str, Any] | None = None,
) -> Table:
    """A leaderboard in the layout of the papers, or one of their numbered tables.

    Args:
        results: of a benchmark run.
        name: ``benchmark``, or ``III`` to ``X``, which have a metric and prediction time of their own.
        metric: registered name.
        t0: prediction time.
        split: the repeated split of the upper lines.
        profile: needed if the store holds several.
        models: subset; all by default.
        datasets: subset; all by default.
        changes: ``ddof`` or ``critical_bound`` to judge by instead of those of the run.
    """
    choice_named(t0)
    frame = GAPS.frame(results)
    common: dict[str, Any] = {
        "profile": profile,
        "split": split,
        "models": models or None,
        "datasets": datasets or None,
        "real_datasets": _real_datasets(frame),
        "changes": changes or {},
    }
    if name in PAPER_TABLES:
        made = paper_table(name, frame, **common)
    else:
        made = benchmark_table(frame, metric=metric, t0=t0, **common)
    shortfall = results.status.shortfall
    if shortfall:
        made = replace(made, notes=(f"{shortfall}. {made.caption}",))
    made = replace(made, notes=(*made.notes, *(f"Warning: {guess}." for guess in guesses(results.store, datasets))))
    return with_origins(made, _origins(frame, datasets))


def splits_figure(
    results: Results,
    *,
    profile: str | None = None,
    models: Collection[str] | None = None,
    datasets: Collection[str] | None = None,
) -> Figure:
    """All splits of all models as marks, the critical split as a cross."""
    return benchmark_figure(GAPS.frame(results), profile=profile, models=models or None, datasets=datasets or None)


def calibration_of(results: Results, *, model: str, **filters: Any) -> Figure:
    """Observed against predicted acceptance of one model, over the test samples of all random splits."""
    samples = GAPS.samples(results, {"split": "random", "model": model, **filters})
    if "p" not in samples.columns:
        raise EmptySelectionError("no predictions of this model in the store", where=results.place, found=model)
    known = samples.filter(pl.col("p").is_not_null())
    accepted, p = known["accepted"].to_numpy().astype(np.bool_), known["p"].to_numpy().astype(np.float64)
    cells = selected(GAPS.frame(results), {"split": "random", "model": model, **filters})["key"].n_unique()
    return calibration_figure(accepted, p, title=f"{model}, {len(p)} predictions in {cells} splits")


def compare_in(
    results: Results,
    a: str,
    b: str,
    *,
    metric: str = "auc",
    t0: str = "constant",
    profile: str | None = None,
    draws: int = NUM_RESAMPLES,
    seed: int = 0,
    changes: Mapping[str, Any] | None = None,
) -> ComparisonReport:
    """Is model A better than model B? See :func:`giveway.gaps.compare.compare_models`."""
    choice_named(t0)
    return compare_models(
        results.store,
        a,
        b,
        metric=metric,
        t0=t0,
        profile=profile,
        num_resamples=draws,
        seed=seed,
        changes=changes or {},
    )


def _origins(frame: pl.DataFrame, datasets: Collection[str] | None) -> tuple[str, ...]:
    """Origins of the recordings behind the rows of a store; empty if its cells do not say."""
    if "synthetic" not in frame.columns:
        return ()
    shown = frame.filter(pl.col("dataset").is_in(list(datasets))) if datasets else frame
    found = set(shown["synthetic"].drop_nulls().to_list())
    return tuple(str(o) for o, flag in ((Origin.RECORDED, False), (Origin.SYNTHETIC, True)) if flag in found)


def _real_datasets(frame: pl.DataFrame) -> list[str]:
    """Datasets of the store that were not generated."""
    if "synthetic" not in frame.columns or frame["synthetic"].dtype != pl.Boolean:
        return []
    return sorted(frame.filter(pl.col("synthetic").not_())["dataset"].drop_nulls().unique().to_list())


GAPS = GapsSection()
