"""Figures 5 and 6 of the papers: every single result at a glance.

A grid of small plots: columns are datasets, rows are metrics grouped by prediction time. Within a plot the models
stand side by side, each with one slot per input length. A slot shows ten short marks (random splits, moved sideways
by their number so that runs can be matched), a longer mark at their mean and a cross for the critical split.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from giveway.core.errors import EmptySelectionError, MissingDependencyError, UsageError
from giveway.gaps.judgment import metric_form
from giveway.gaps.metric_table import MetricTable, Scores, Selection, select_results
from giveway.gaps.naming import dataset_title, model_latex, order_datasets, order_models
from giveway.metrics import METRICS, MetricInfo

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROWS = (("auc", "initial"), ("auc", "constant"), ("ade", "constant"), ("tnr_pr", "critical"))
COLORS = ((94, 60, 153), (174, 122, 126), (253, 184, 99))
"""RGB by input length, shortest first."""

ROW_HEIGHT_CM, MARGIN_CM, SPACING_CM = 2.0, 1.5, 0.3
LEGEND_CM = 1.0
CM = 1 / 2.54
FORMATS = (".png", ".pdf", ".svg")


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureRow:
    """One row of plots: a metric at a prediction time."""

    info: MetricInfo
    t0: str
    results: MetricTable


def benchmark_figure(
    frame: pl.DataFrame,
    *,
    rows: Sequence[tuple[str, str]] = ROWS,
    profile: str | None = None,
    models: Collection[str] | None = None,
    datasets: Collection[str] | None = None,
    n_inputs: Collection[int] | None = None,
) -> Figure:
    """The figure as a matplotlib figure; rows without any result are left out.

    Args:
        frame: tidy results, see :func:`giveway.experiments.collect`.
        rows: (metric, prediction time) from top to bottom.
        profile: needed if the frame holds several.
        models: subset; all by default.
        datasets: subset; all by default.
        n_inputs: subset; all by default.

    Raises:
        EmptySelectionError: if no row has a result.
        MissingDependencyError: without matplotlib.
    """
    figure_class = _matplotlib_figure()
    shown = _rows(frame, rows, profile, models, datasets, n_inputs)
    places = [place for row in shown for place in row.results.scores]
    names = order_models(m for _, m, _ in places)
    columns = order_datasets(d for d, _, _ in places)
    lengths = sorted({n for _, _, n in places})
    width_cm, _ = figure_width(len(columns) * len(names) * len(lengths))
    height_cm = len(shown) * ROW_HEIGHT_CM + (len(shown) - 1) * SPACING_CM + 2 * MARGIN_CM + LEGEND_CM
    figure = figure_class(figsize=(width_cm * CM, height_cm * CM), dpi=200)
    axes: Any = figure.subplots(len(shown), len(columns), squeeze=False)
    for i, row in enumerate(shown):
        limits = value_range(list(row.results.scores.values()), row.info)
        for j, dataset in enumerate(columns):
            _plot(axes[i, j], row, dataset, names, lengths, limits)
            _decorate(axes[i, j], row, dataset, names, first=j == 0, top=i == 0, bottom=i == len(shown) - 1)
    _legend(figure, lengths)
    _arrange(figure, width_cm, height_cm, len(columns))
    return figure


def save_figure(figure: Figure, path: Path) -> None:
    """Write as PNG, PDF or SVG, without dates, so that equal results give equal files."""
    if path.suffix not in FORMATS:
        raise UsageError("unknown picture format", where=path, found=path.suffix, hint=f"one of {', '.join(FORMATS)}")
    stamp: Any = {".png": {"Software": None}, ".pdf": {"CreationDate": None}, ".svg": {"Date": None}}[path.suffix]
    path.parent.mkdir(parents=True, exist_ok=True)
    import matplotlib as mpl

    with mpl.rc_context({"svg.hashsalt": "giveway"}):
        figure.savefig(path, metadata=stamp)


def slot_position(model: int, length: int, num_lengths: int) -> float:
    """Place of the k-th input length of the m-th model on the x axis: ``m + (k + 1)/(n + 1)``."""
    return model + (length + 1) / (num_lengths + 1)


def value_range(scores: Sequence[Scores], info: MetricInfo) -> tuple[float, float]:
    """[floor(min), ceil(max)] over a whole row, within what the metric can be; at least one unit high."""
    values = np.concatenate([*(s.value for s in scores), [s.critical for s in scores]])
    values = np.clip(values[np.isfinite(values)], *info.range)
    if values.size == 0:
        return 0.0, 1.0
    low, high = math.floor(values.min()), math.ceil(values.max())
    if low == high:
        low, high = (low - 1, high) if high + 1 > info.range[1] else (low, high + 1)
    return float(low), float(high)


def figure_width(num_slots: int) -> tuple[float, bool]:
    """Total width [cm] for a number of value slots, and whether the page is to be rotated."""
    if num_slots > 60:
        return 22.0, True
    return (18.13, False) if num_slots >= 31 else (8.86, False)


def _rows(
    frame: pl.DataFrame,
    rows: Sequence[tuple[str, str]],
    profile: str | None,
    models: Collection[str] | None,
    datasets: Collection[str] | None,
    n_inputs: Collection[int] | None,
) -> list[FigureRow]:
    if profile is None and "profile" in frame.columns:
        found = sorted({str(p) for p in frame["profile"].drop_nulls()})
        profile = found[0] if len(found) == 1 else None
    shown: list[FigureRow] = []
    last: EmptySelectionError | None = None
    for metric, t0 in rows:
        info = METRICS.get(metric_form(frame, metric, profile or "clean")).info
        selection = Selection(
            metric=info.name, t0=t0, profile=profile, models=models, datasets=datasets, n_inputs=n_inputs
        )
        try:
            shown.append(FigureRow(info=info, t0=t0, results=select_results(frame, selection)))
        except EmptySelectionError as error:
            last = error
    if not shown:
        raise last or EmptySelectionError("no rows were asked for")
    return shown


def _plot(
    ax: Axes, row: FigureRow, dataset: str, models: list[str], lengths: list[int], limits: tuple[float, float]
) -> None:
    slot = 1 / (len(lengths) + 1)
    for m, model in enumerate(models):
        for k, length in enumerate(lengths):
            scores = row.results.scores.get((dataset, model, length))
            if scores is not None:
                _slot(ax, scores, slot_position(m, k, len(lengths)), slot, _color(k))
    for m in range(1, len(models)):
        ax.axvline(m, color="0.85", linewidth=0.4, zorder=0)
    ax.set_xlim(0, len(models))
    margin = 0.04 * (limits[1] - limits[0])
    ax.set_ylim(limits[0] - margin, limits[1] + margin)


def _slot(ax: Axes, scores: Scores, x: float, slot: float, color: tuple[float, float, float]) -> None:
    known = np.isfinite(scores.value)
    count = max((*scores.repetition, 0)) + 1
    offset = (np.array(scores.repetition) - (count - 1) / 2) / count * 0.7 * slot
    mark = 0.35 * slot / max(count, 1)
    if known.any():
        at = x + offset[known]
        ax.hlines(scores.value[known], at - mark, at + mark, color=color, linewidth=0.9)
        ax.hlines([float(scores.value[known].mean())], [x - 0.42 * slot], [x + 0.42 * slot], color=color, linewidth=0.7)
    if math.isfinite(scores.critical):
        ax.plot([x], [scores.critical], marker="x", markersize=2.6, markeredgewidth=0.8, color=color, linestyle="none")


def _decorate(
    ax: Axes, row: FigureRow, dataset: str, models: list[str], *, first: bool, top: bool, bottom: bool
) -> None:
    ax.tick_params(labelsize=5, length=2, width=0.4, pad=1.5)
    for spine in ax.spines.values():
        spine.set_linewidth(0.4)
    low, high = ax.get_ylim()
    ticks = np.linspace(math.ceil(low), math.floor(high), 3)
    ax.set_yticks(ticks, [f"{t:g}" for t in ticks] if first else [""] * 3)
    if first:
        unit = f" [{row.info.unit}]" if row.info.unit else ""
        ax.set_ylabel(f"{row.t0}\n{row.info.title}{unit}", fontsize=5.5, labelpad=2)
    if top:
        ax.set_title(dataset_title(dataset), fontsize=6.5, fontstyle="italic", pad=3)
    centers = [m + 0.5 for m in range(len(models))]
    ax.set_xticks(centers, [_label(m) for m in models] if bottom else [""] * len(models))
    if len(models) > 4:
        ax.tick_params(axis="x", labelrotation=90)


def _label(model: str) -> str:
    return f"${model_latex(model).replace('+', '{+}')}$"


def _legend(figure: Figure, lengths: list[int]) -> None:
    from matplotlib.lines import Line2D

    handles: list[Line2D] = []
    labels: list[str] = []
    for k, length in enumerate(lengths):
        handles.append(Line2D([], [], color=_color(k), linewidth=1.2))
        labels.append(f"$n_I = {length}$, Random split")
        handles.append(
            Line2D([], [], color=_color(k), marker="x", markersize=3.5, markeredgewidth=0.9, linestyle="none")
        )
        labels.append(f"$n_I = {length}$, Critical split")
    figure.legend(
        handles, labels, loc="lower center", ncol=len(lengths), fontsize=5.5, frameon=False, handlelength=1.4,
        columnspacing=1.2,
    )  # fmt: skip


def _arrange(figure: Figure, width_cm: float, height_cm: float, num_columns: int) -> None:
    """Margins and spacing in centimeters."""
    inner_width = (width_cm - 2 * MARGIN_CM - (num_columns - 1) * SPACING_CM) / num_columns
    figure.subplots_adjust(
        left=MARGIN_CM / width_cm,
        right=1 - MARGIN_CM / width_cm,
        top=1 - MARGIN_CM / height_cm,
        bottom=(MARGIN_CM + LEGEND_CM) / height_cm,
        wspace=SPACING_CM / max(inner_width, 0.1),
        hspace=SPACING_CM / ROW_HEIGHT_CM,
    )


def _color(index: int) -> tuple[float, float, float]:
    red, green, blue = COLORS[index % len(COLORS)]
    return red / 255, green / 255, blue / 255


def _matplotlib_figure() -> type[Figure]:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingDependencyError("matplotlib", extra="plot", purpose="drawing figures") from error

    return Figure
